/** The opt-out page in a real Chromium: light, dark, narrow, by keyboard, without script, failing. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, test } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { storeUnavailable } from '../../src/contract/answer.js';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { optOut, optoutState, unsubscribe, type OptoutParts } from '../../src/outreach/optout.js';
import { optoutToken } from '../../src/outreach/tokens.js';
import { pageFile } from '../../src/pages/page.js';
import { unsubscribeForAll, unsubscribePage } from '../../src/pages/unsubscribe.js';
import { findOptout } from '../../src/store/tables/optouts.js';
import { whenUnavailable } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { FailingStore, openTestStore, request, secrets } from '../support/serving.js';
import { launch, sheetForms, skipBrowser } from './browser.js';
import { assertReadable } from './readable.js';

const failing = new FailingStore(await openTestStore());
const parts: OptoutParts = { store: failing.seen, clock: systemClock, secrets };
const handlers = {
  page: unsubscribePage(optoutState(parts)),
  post: unsubscribeForAll(optOut(parts), unsubscribe(parts)),
  file: pageFile(),
};

async function answer(method: string, url: URL, accept = ''): Promise<Answer> {
  const query = Object.fromEntries(url.searchParams);
  const file = url.pathname.replace('/pages/', '');
  const header = (name: string): string => (name === 'accept' ? accept : '');
  const given: RouteRequest = { ...request({ input: undefined, query, path: { file } }), header };
  if (url.pathname !== '/unsubscribe') return handlers.file(given);
  const handler = method === 'POST' ? handlers.post : handlers.page;
  const ask = async (): Promise<Answer> => handler(given);
  return whenUnavailable(ask(), storeUnavailable);
}

let browser: Browser;
let server: Server;
let origin: string;

before(async () => {
  if (skipBrowser !== false) return;
  browser = await launch();
  server = createServer((incoming, outgoing) => {
    const { method = '', url = '/', headers: sent } = incoming;
    void answer(method, new URL(url, 'http://x'), sent.accept).then(({ status, body, headers }) => {
      const [type, bytes] =
        'json' in body ? ['application/json', JSON.stringify(body.json)] : [body.type, body.bytes];
      outgoing.writeHead(status, { ...headers, 'content-type': type }).end(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  origin = `http://127.0.0.1:${address.port}`;
});
after(async () => {
  if (skipBrowser !== false) return;
  await browser.close();
  server.close();
});

function linkOf(email: string): string {
  return `/unsubscribe?e=${encodeURIComponent(email)}&t=${optoutToken(secrets[0], email)}`;
}

async function isOptedOut(email: string): Promise<boolean> {
  return (await findOptout(parts.store, secrets, email)) !== undefined;
}

interface Opened {
  readonly page: Page;
  readonly complaints: string[];
}

async function open(path: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1000, height: 700 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (sent) => {
    if (new URL(sent.url()).origin !== origin) complaints.push(`asked ${sent.url()}`);
  });
  await page.goto(`${origin}${path}`);
  return { page, complaints };
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder !== undefined)
    await page.screenshot({ path: `${folder}/unsubscribe-${name}.png`, fullPage: true });
}

const skip = { skip: skipBrowser };
const long = 'a.very.long.address.that.does.not.fit.on.any.narrow.phone@department.of.long.names.example';

for (const [width, colorScheme] of sheetForms) {
  test(`${width} px, ${colorScheme}: question, answer, afterwards, bad link`, skip, async () => {
    const email = `${width}.${colorScheme}.${long}`;
    const options = { colorScheme, viewport: { width, height: 640 } };
    const { page, complaints } = await open(linkOf(email), options);
    await assertReadable(page);
    await picture(page, `${width}-${colorScheme}-question`);
    assert.equal(await isOptedOut(email), false, 'showing the page changes nothing');
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    const heading = page.getByRole('heading', { name: 'You are unsubscribed' });
    await heading.waitFor();
    assert.equal(await page.title(), 'You are unsubscribed');
    assert.equal(await page.getByRole('button').count(), 0);
    assert.equal(await page.evaluate('document.activeElement.id'), 'done', 'a screen reader goes on there');
    await assertReadable(page);
    await picture(page, `${width}-${colorScheme}-done`);
    assert.equal(await isOptedOut(email), true);
    await page.reload();
    await heading.waitFor();
    assert.ok((await page.locator('.value').innerText()).includes(email));
    await page.goto(`${origin}/unsubscribe?e=x&t=y`);
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor();
    assert.equal(await page.getByRole('button').count(), 0);
    await assertReadable(page);
    await picture(page, `${width}-${colorScheme}-bad`);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });
}

test('by keyboard alone, with a ring around the focus', skip, async () => {
  const { page } = await open(linkOf('keys@example.com'));
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'BUTTON');
  const ring = String(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'));
  assert.equal(ring, 'solid');
  await picture(page, 'keyboard');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
  assert.equal(await isOptedOut('keys@example.com'), true);
  await page.context().close();
});

test('without script the form works, and a page says so', skip, async () => {
  const { page } = await open(linkOf('plain+form@example.com'), { javaScriptEnabled: false });
  await picture(page, 'without-script');
  failing.failure = 'not written';
  await page.getByRole('button', { name: 'Unsubscribe' }).click();
  await page.getByRole('heading', { name: 'That did not work' }).waitFor();
  await picture(page, 'without-script-failed');
  failing.failure = undefined;
  assert.equal(await isOptedOut('plain+form@example.com'), false);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
  assert.ok((await page.locator('.value').innerText()).includes('plain+form@example.com'));
  await picture(page, 'without-script-done');
  assert.equal(await isOptedOut('plain+form@example.com'), true);
  await page.context().close();
});

test('a program gets JSON unless it prefers a page', async () => {
  const link = new URL(linkOf('program@example.com'), 'http://x');
  for (const accept of ['', '*/*', 'application/json', 'text/html, application/json']) {
    const { status, body } = await answer('POST', link, accept);
    assert.deepEqual([status, 'json' in body && body.json], [200, { ok: true, unsubscribed: true }]);
  }
  const bad = await answer('POST', new URL('http://x/unsubscribe?e=x&t=y'), 'text/html,*/*;q=0.8');
  assert.ok('bytes' in bad.body && bad.status === 200);
  assert.match(String(bad.body.bytes), /This link does not work/);
});

test('a failure is shown, nothing is lost, and the button works again', skip, async () => {
  const email = 'retry@example.com';
  const { page } = await open(linkOf(email));
  failing.failure = 'not written';
  await page.getByRole('button', { name: 'Unsubscribe' }).click();
  const alert = page.getByRole('alert');
  await alert.filter({ hasText: 'That did not work' }).waitFor();
  await assertReadable(page);
  await picture(page, 'failed');
  failing.failure = undefined;
  assert.equal(await isOptedOut(email), false);
  await page.getByRole('button', { name: 'Unsubscribe' }).click();
  await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
  assert.equal(await isOptedOut(email), true);
  await page.context().close();
});

test('reduced motion moves nothing', skip, async () => {
  const { page } = await open(linkOf('still@example.com'), { reducedMotion: 'reduce' });
  const property = await page.evaluate(
    'getComputedStyle(document.querySelector("button")).transitionProperty',
  );
  assert.equal(property, 'none');
  await page.context().close();
});

test('a file that is not there is not found', () => {
  const status = (file: string): number =>
    handlers.file(request({ input: undefined, path: { file } })).status;
  assert.deepEqual(['site.css', 'unsubscribe.js', 'icon.svg'].map(status), [200, 200, 200]);
  assert.deepEqual(['', 'page.ts', '../pages/site.css', 'docs.ts'].map(status), [404, 404, 404, 404]);
});
