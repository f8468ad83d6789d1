/** The page that shows what a key has used: in a browser, by its form only, and what it never shows. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { usageReader } from '../../src/access/keyUsage.js';
import { routes } from '../../src/contract/routes.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { native } from '../../src/native/addon.js';
import { pageFile, unnamedPage } from '../../src/pages/page.js';
import { usagePages } from '../../src/pages/usage.js';
import { MemoryKeys, MemoryUsage, SetClock, shippedTiers, testAccess } from '../support/access.js';
import { startServer } from '../support/http.js';
import { exchange, post } from '../support/raw.js';
import { assertAccessible } from './axe.js';
import { asOptions, forms, launch, picture, skipBrowser } from './browser.js';

const [keys, usage, clock, tiers] = [new MemoryKeys(), new MemoryUsage(), new SetClock(), shippedTiers()];
const access = testAccess({ tiers, keys, usage, clock });
const read = usageReader({ access, keys, usage, hashKey: native.hashKey, tiers, clock });
const pages = usagePages(read, unnamedPage);
const parts = { ...native, access };
const { port } = await startServer({
  routes: [
    servedRoute({ ...routes.usagePage, id: 'usagePage' }, pages.usagePage, parts),
    servedRoute({ ...routes.usageShown, id: 'usageShown' }, pages.usageShown, parts),
    servedRoute({ ...routes.pageFile, id: 'pageFile' }, pageFile(), parts),
  ],
});
const end = Date.UTC(2027, 1, 14, 8);
const { key, hash } = keys.issue({ expiresAtMs: end });
const subject = Buffer.concat([Uint8Array.of(0), hash]).toString('hex');
usage.months.set(subject, { monthStartMs: end - 30 * 86_400_000, characters: 1_234_567, days: [] });

const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' };

describe('the form', () => {
  test('shows the usage of its key, and never the key', async () => {
    const answer = await exchange(port, post('/usage', `key=${key}`, urlencoded));
    assert.equal(answer.status, 200);
    const html = answer.body.toString();
    assert.match(html, /1,234,567 of 50,000,000 used, 48,765,433 left/);
    assert.match(html, /599 of 600 left/);
    assert.match(html, /Valid until<\/th><td>.*Sun, 14 Feb 2027 08:00:00 GMT/);
    assert.ok(!html.includes(key));
    const fields = ['cache-control', 'referrer-policy', 'x-robots-tag'].map((name) =>
      answer.headers.get(name),
    );
    assert.deepEqual(fields, ['no-store', 'no-referrer', 'noindex']);
  });

  test('says what is wrong with a key, and ignores a key in the address', async () => {
    const other = await exchange(port, post('/usage', `key=${'fg_' + 'a'.repeat(49)}`, urlencoded));
    assert.equal(other.status, 401);
    assert.match(other.body.toString(), /role="alert"/);
    const none = await exchange(port, post(`/usage?key=${key}`, '', urlencoded));
    assert.equal(none.status, 401);
    assert.equal(none.headers.get('www-authenticate'), 'ApiKey');
    assert.match(none.body.toString(), /role="alert">Enter an API key\./);
    assert.doesNotMatch(none.body.toString(), /left/);
  });
});

describe('in a browser', { skip: skipBrowser }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  for (const form of forms) {
    const { width, colorScheme } = form;
    test(`${width} px, ${colorScheme}: asked and shown, by keyboard`, async () => {
      const context = await browser.newContext(asOptions(form));
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${port}/usage`);
      await assertAccessible(page);
      await picture(page, `usage-asked-${width}-${colorScheme}`);
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
      await page.getByText('of 50,000,000 used').waitFor();
      assert.equal(new URL(page.url()).search, '');
      await assertAccessible(page);
      await picture(page, `usage-shown-${width}-${colorScheme}`);
      await context.close();
    });
  }
});
