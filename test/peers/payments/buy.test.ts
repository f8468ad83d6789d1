/** Buying a key in a real Chromium, from choosing a tier to holding the key, paid on real Lightning nodes. */
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { exchange, post } from '../../support/raw.js';
import { launch as launchBrowser, skipBrowser } from '../../pages/browser.js';
import { run, temporaryFolder, type Running } from '../../support/run.js';
import { until } from '../../support/until.js';
import { nodesSkip, PaymentNodes } from './nodes.js';

const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url));
const data = temporaryFolder();
const skip = nodesSkip === false ? skipBrowser : nodesSkip;

describe('buying a key', { skip, timeout: 300_000 }, () => {
  let nodes: PaymentNodes;
  let browser: Browser;
  let server: Running;
  let port = 0;

  const launch = AsyncResource.bind(() =>
    run(main, ['serve'], {
      ...{ STORE_URL: `lmdb:${data}/store`, PORT: '0', WORKERS: '1', RATE_SOURCE: 'fixed:60000' },
      ...{ BTC_NETWORK: 'regtest', LND_REST_URL: nodes.merchant.url, LND_MACAROON_HEX: nodes.macaroon },
      LND_TLS_CERT: nodes.merchant.certificatePath,
    }),
  );

  before(async () => {
    [nodes, browser] = await Promise.all([PaymentNodes.start(), launchBrowser()]);
    server = launch();
    port = Number((await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/))[1]);
  });
  after(async () => {
    await browser.close();
    await nodes.stop();
  });

  /** Chooses the developer tier over Lightning, and orders. */
  async function order(options: BrowserContextOptions): Promise<Page> {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${port}/buy`);
    await page.getByRole('radio', { name: /^Developer/ }).check();
    await page.getByRole('radio', { name: /^Lightning/ }).check();
    assert.ok(await page.getByRole('radio', { name: /^Card/ }).isDisabled());
    await page.getByRole('button', { name: 'Order' }).click();
    await page.getByRole('heading', { name: 'Your order: Developer' }).waitFor();
    return page;
  }

  async function invoiceOf(page: Page): Promise<string> {
    const text = await page.locator('.value').textContent();
    assert.match(text ?? '', /^lnbcrt500u1/);
    return text ?? '';
  }

  async function works(key: string | null): Promise<void> {
    const body = JSON.stringify({ query: 'a', docs: [{ id: '1', text: 'a', dense_score: 1 }] });
    const fields = { 'Content-Type': 'application/json', 'X-API-Key': key ?? '' };
    assert.equal((await exchange(port, post('/v1/fuse', body, fields))).status, 200);
  }

  for (const [name, options] of [
    ['light', { viewport: { width: 1000, height: 900 }, colorScheme: 'light' }],
    ['a phone, dark', { viewport: { width: 320, height: 700 }, colorScheme: 'dark' }],
  ] as const) {
    test(`${name}: the state is live, and the key is shown once`, async () => {
      const page = await order({ ...options, permissions: ['clipboard-read', 'clipboard-write'] });
      await page.getByText('Waiting for your payment.').waitFor();
      await page.getByAltText('QR code of the invoice').waitFor();
      const drawn = "document.querySelector('img.code').naturalWidth";
      await until(async () => Number(await page.evaluate(drawn)) > 0, 5_000);
      await page.getByText(/\(1[45]:\d\d left\)/).waitFor();
      const width = await page.evaluate('document.documentElement.scrollWidth');
      assert.ok(Number(width) <= options.viewport.width, 'nothing overflows');
      await nodes.payInvoice(await invoiceOf(page));
      await page.getByText('Your payment is settled.').waitFor({ timeout: 15_000 });
      await page.getByRole('button', { name: 'Show my key' }).click();
      const key = await page.locator('.key').textContent();
      assert.match(key ?? '', /^fg_/);
      let asked = 0;
      page.on('dialog', (dialog) => {
        asked += 1;
        void dialog.accept();
      });
      await page.getByRole('button', { name: 'Copy key' }).click();
      assert.equal(await page.evaluate('navigator.clipboard.readText()'), key);
      await works(key);
      await page.reload();
      await page.getByText('The key was handed out.').waitFor();
      assert.equal(asked, 0, 'who has copied the key is not asked');
      await page.context().close();
    });
  }

  test('leaving the page before the key is saved has to be confirmed', async () => {
    const page = await order({});
    await nodes.payInvoice(await invoiceOf(page));
    await page.getByRole('button', { name: 'Show my key' }).click({ timeout: 15_000 });
    await page.locator('.key').click();
    const asked = new Promise<string>((resolve) => {
      page.on('dialog', (dialog) => {
        resolve(dialog.type());
        void dialog.accept();
      });
    });
    await page.goto(`http://127.0.0.1:${port}/buy`);
    assert.equal(await asked, 'beforeunload');
    await page.context().close();
  });

  test('without script: the same, by forms and by loading anew', async () => {
    const page = await order({ javaScriptEnabled: false });
    await nodes.payInvoice(await invoiceOf(page));
    await page.getByRole('button', { name: 'Show my key' }).click({ timeout: 30_000 });
    await works(await page.locator('.key').textContent());
    await page.context().close();
  });

  test('an unknown order is not found, and an incomplete form orders nothing', async () => {
    const page = await (await browser.newContext()).newPage();
    for (const path of ['lightning/x', 'btc/x', 'cash/x']) {
      const response = await page.goto(`http://127.0.0.1:${port}/buy/${path}`);
      assert.equal(response?.status(), 404);
      await page.getByText('There is no such order').waitFor();
    }
    for (const form of ['', 'tier=developer', 'tier=gold&rail=lightning', 'tier=developer&rail=card']) {
      const answer = await exchange(port, post('/buy', form, { 'Content-Type': 'text/plain' }));
      assert.equal(answer.status, 200);
      assert.match(answer.body.toString(), /Nothing was ordered|not configured on this server/);
    }
  });
});
