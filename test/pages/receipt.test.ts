/**
 * The pages of a receipt and of the log, in a real Chromium, which verifies the proof, whatever is served.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page, Route } from 'playwright-core';
import { verifierText } from '../../src/log/note.js';
import { keepNotice } from '../../src/store/tables/notices.js';
import { startLog } from '../log/served.js';
import { keyOf, sealOf } from '../log/world.js';
import { assertAccessible } from './axe.js';
import { asOptions, forms, launch, openPage, picture, skipBrowser } from './browser.js';

const skip = { skip: skipBrowser };
const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const name = 'fuse.example.com/fragments';
const log = await startLog(name);
const origin = `http://127.0.0.1:${log.door.port}`;
const early = await startLog(name);
const text = {
  title: 'A lattice keeps its load without one strut <b>&',
  content:
    'Remove one strut, and the “load” divides.\n\n<script>document.title="x"</script>\tNone carries more.',
  mechanism: 'Each joint has more struts than it needs.',
  test: 'Remove one strut of a model; measure.',
  kind: 'bridge',
  visitor: 'Ada </main>',
};
await log.fill(300);
const id = await log.submit(text);
await log.fill(421);
const hidden = await log.submit({ title: 'Hidden', content: 'Hidden content.' });
await keepNotice(log.store, hidden, { hidden: true, reason: 'names <a> person', atMs: 1 });
await log.sign();
const late = await log.submit({ title: 'Late', content: 'No checkpoint has it.' });

let browser: Browser;
before(async () => {
  if (skipBrowser === false) browser = await launch();
});
after(async () => {
  if (skipBrowser === false) await browser.close();
});

async function htmlOf(path: string, at = origin): Promise<{ status: number; html: string; vary: string }> {
  const answer = await fetch(`${at}${path}`, { headers: { accept: browserAccept } });
  assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
  return { status: answer.status, html: await answer.text(), vary: answer.headers.get('vary') ?? '' };
}

describe('by Accept', () => {
  test('programs get the receipt as data, browsers its page, and caches tell them apart', async () => {
    for (const accept of [undefined, '*/*', 'application/json']) {
      const answer = await fetch(
        `${origin}/receipt/${id}`,
        accept === undefined ? {} : { headers: { accept } },
      );
      assert.equal(answer.headers.get('content-type'), 'application/json');
      assert.match(answer.headers.get('vary') ?? '', /\bAccept\b/);
      assert.deepEqual(await answer.json(), JSON.parse(JSON.stringify(await log.receipt(id))));
    }
    const { html, vary, status } = await htmlOf(`/receipt/${id}`);
    assert.equal(status, 200);
    assert.match(vary, /\bAccept\b/);
    assert.doesNotMatch(html, /<script>|<style>| style=| on[a-z]+=/, 'nothing inline');
    for (const value of Object.values((await log.receipt(id)).envelope ?? {}).filter(
      (each) => each.length === 64,
    )) {
      assert.ok(html.includes(value), 'every digest is shown');
    }
  });

  test('a missing receipt is a 404, as a page and as data', async () => {
    const path = '/receipt/fr_00000000000000000000000001';
    const { status, html } = await htmlOf(path);
    assert.equal(status, 404);
    assert.match(html, /<h1>There is no such receipt<\/h1>/);
    assert.equal((await fetch(`${origin}${path}`)).headers.get('content-type'), 'application/json');
  });

  test('a withheld text is not on the page, but its reason is', async () => {
    const { html } = await htmlOf(`/receipt/${hidden}`);
    assert.doesNotMatch(html, /Hidden content/);
    assert.match(html, /names &lt;a&gt; person/);
  });

  test('a receipt that is in no checkpoint yet says so', async () => {
    const { html } = await htmlOf(`/receipt/${late}`);
    assert.match(html, /No signed checkpoint has this receipt yet/);
    assert.doesNotMatch(html, /id="check"/);
  });

  test('the log before its first checkpoint says so', async () => {
    const { html } = await htmlOf('/log', `http://127.0.0.1:${early.door.port}`);
    assert.match(html, /Nothing is signed yet/);
  });
});

const verdict = (page: Page) => page.locator('#verdict');
const settled = async (page: Page): Promise<string> => {
  await verdict(page)
    .filter({ hasText: /erified[,.]|could not/ })
    .waitFor();
  return (await verdict(page).textContent()) ?? '';
};

for (const form of forms) {
  const where = `${form.width} px, ${form.colorScheme}`;
  test(`${where}: a receipt is verified in the browser`, skip, async () => {
    const { page, complaints } = await openPage(browser, `${origin}/receipt/${id}`, asOptions(form));
    assert.match(await settled(page), /^Verified, by the key that this server answers/);
    // Digests, seal, leaf, nine levels and the lone edge, root, signature.
    const steps = await page.locator('#steps > li').count();
    assert.ok(steps >= 12 && steps <= 15, `${steps} steps`);
    assert.equal(await page.getByText('Recomputed in this browser: matches.').count(), 7);
    assert.equal(await page.title(), text.title, 'a text is no script');
    await assertAccessible(page);
    await picture(page, `receipt-${form.width}-${form.colorScheme}`);
    assert.deepEqual(complaints, []);
  });

  test(`${where}: the log`, skip, async () => {
    const { page, complaints } = await openPage(browser, `${origin}/log`, asOptions(form));
    await page.getByText(log.vkey, { exact: true }).waitFor();
    await page.getByText('422', { exact: true }).waitFor();
    await assertAccessible(page);
    await picture(page, `log-${form.width}-${form.colorScheme}`);
    assert.deepEqual(complaints, []);
  });
}

test('the key that the reader enters is the one that counts', skip, async () => {
  const { page } = await openPage(browser, `${origin}/receipt/${id}`);
  const verify = async (vkey: string): Promise<string> => {
    await settled(page);
    await page.getByLabel('Verifier key of the log').fill(vkey);
    await page.keyboard.press('Enter');
    await verdict(page).filter({ hasNotText: 'Verifying …' }).waitFor();
    return settled(page);
  };
  assert.match(await verify(log.vkey), /^Verified, by your key\./);
  const other = verifierText({ name, publicKey: keyOf(2).publicKey });
  assert.match(await verify(other), /^Not verified\. The checkpoint is not signed by this key\./);
  assert.match(await verify(verifierText({ name: 'x', publicKey: keyOf(1).publicKey })), /is of another log/);
  assert.match(await verify(log.vkey.slice(0, -3)), /^Not verified\. This is not a verifier key/);
  assert.match(await verify(log.vkey), /^Verified, by your key\./);
});

test('a withheld text’s receipt is verified without its digests', skip, async () => {
  const { page } = await openPage(browser, `${origin}/receipt/${hidden}`);
  assert.match(await settled(page), /^Verified/);
  assert.equal(await page.getByText('Recomputed in this browser: matches.').count(), 1);
});

/** A page whose server's answers are changed on their way. */
async function lied(path: string, change: (body: string) => string, kind = 'fetch'): Promise<string> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route(`**${path}`, async (route: Route) => {
    if (route.request().resourceType() !== kind) return route.continue();
    const answer = await route.fetch();
    const body = await answer.text();
    assert.notEqual(change(body), body);
    return route.fulfill({ response: answer, body: change(body) });
  });
  await page.goto(`${origin}/receipt/${id}`);
  const said = await settled(page);
  await context.close();
  return said;
}

test('whatever the server changes, the browser finds', skip, async () => {
  const receipt = `/receipt/${id}`;
  const hash = sealOf(1).toString('base64');
  const lies: readonly (readonly [string, (body: string) => string, RegExp])[] = [
    [receipt, (body) => body.replace('divides', 'doubles'), /This page shows another text/],
    [
      receipt,
      (body) => body.replace('"kind":"BRIDGE","visitor', '"kind":"TEST","visitor'),
      /The text is not the/,
    ],
    [receipt, (body) => body.replace('"unicode":"1', '"unicode":"2'), /The seal is not that of the envelope/],
    [receipt, (body) => body.replaceAll(id, hidden), /The envelope is of another receipt/],
    [`${receipt}/proof`, (body) => body.replace('index 300', 'index 301'), /does not lead to the root/],
    [`${receipt}/proof`, (body) => body.replace('\n\n', `\n${hash}\n\n`), /too long|does not lead/],
    [`${receipt}/proof`, (body) => body.replace(/\n[^\n]+\n\n/, '\n\n'), /does not lead to the root/],
    [`${receipt}/proof`, (body) => body.replace(/(\n422\n).*/, `$1${hash}`), /does not lead to the root/],
    [`${receipt}/proof`, (body) => body.replace(/.{9}=\n$/, 'AAAAAAAAA=\n'), /not signed by this key/],
    ['/log/vkey', () => verifierText({ name, publicKey: keyOf(2).publicKey }), /not signed by this key/],
  ];
  for (const [path, change, words] of lies) {
    const said = await lied(path, change);
    assert.match(said, /^Not verified\./, said);
    assert.match(said, words);
  }
  for (const [change, words] of [
    [(body: string) => body.replace('divides', 'doubles'), /This page shows another text/],
    [(body: string) => body.replace('Ada ', 'Eve '), /This page shows another text/],
    [(body: string) => body.replace(/(data-value="content_sha256">)./, '$1g'), /shows another digest/],
  ] as const) {
    assert.match(await lied(receipt, change, 'document'), words);
  }
});

test('without script the text, the digests and the commands are there', skip, async () => {
  const { page, complaints } = await openPage(browser, `${origin}/receipt/${id}`, {
    javaScriptEnabled: false,
  });
  await page.getByRole('heading', { name: text.title }).waitFor();
  assert.equal(await page.locator('#check').isVisible(), false);
  assert.equal(await page.getByText('Recomputed by the server: matches.').count(), 8);
  await page.getByText('fusegate receipts verify receipt.json').waitFor();
  assert.deepEqual(complaints, []);
});
