/** The reference page in a real Chromium: every operation shows, nothing breaks the page's own policy. */
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import type { Server } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { notFound } from '../../src/contract/answer.js';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { routeList } from '../../src/contract/routes.js';
import { openapi } from '../../src/info/openapi.js';
import { docsHandlers } from '../../src/pages/docs.js';
import { launch, serve, skipBrowser } from './browser.js';

const { docs, docsFile } = docsHandlers();
const description = (openapi() as unknown as () => Answer)();

function fileAt(file: string): Answer {
  return docsFile({ path: { file } } as unknown as RouteRequest);
}

function answer(path: string): Answer {
  if (path === '/docs') return docs();
  if (path === '/openapi.json') return description;
  return path.startsWith('/docs/') ? fileAt(path.slice('/docs/'.length)) : notFound();
}

let browser: Browser;
let server: Server;
let url: string;

before(async () => {
  if (skipBrowser !== false) return;
  browser = await launch();
  ({ server, url } = await serve(answer));
});
after(async () => {
  if (skipBrowser !== false) return;
  await browser.close();
  server.close();
});

async function open(
  width: number,
  colorScheme: 'light' | 'dark',
): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && origin !== url) complaints.push(`asked ${request.url()}`);
  });
  await page.goto(`${url}/docs`);
  await page.locator('.opblock').first().waitFor();
  return { page, complaints };
}

const documented = routeList.filter((route) => route.documented && route.part === 'gateway');

for (const [width, scheme] of [
  [1280, 'light'],
  [320, 'dark'],
] as const) {
  test(
    `at ${width} px, ${scheme}: every operation opens, nothing overflows`,
    { skip: skipBrowser },
    async () => {
      const { page, complaints } = await open(width, scheme);
      assert.equal(await page.locator('.opblock').count(), documented.length);
      for (const { id, tag, path } of documented) {
        const block = page.locator(`#operations-${tag}-${id}`);
        await block.locator('.opblock-summary-control').click();
        await block.locator('.responses-wrapper').waitFor();
        const shown = (await block.locator('.opblock-summary-path').innerText()).replaceAll('\u200b', '');
        assert.equal(shown, path);
      }
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      assert.ok(Number(overflow) <= 0, `${String(overflow)} px wider than the window`);
      const folder = process.env['SCREENSHOTS'];
      if (folder !== undefined)
        await page.screenshot({ path: `${folder}/docs-${width}.png`, fullPage: true });
      assert.deepEqual(complaints, []);
      await page.close();
    },
  );
}

test('it works by keyboard alone', { skip: skipBrowser }, async () => {
  const { page } = await open(1280, 'light');
  for (let i = 0; i < 40 && (await page.locator('.opblock.is-open').count()) === 0; i++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate('document.activeElement.className');
    if (String(focused).includes('opblock-summary-control')) await page.keyboard.press('Enter');
  }
  assert.equal(await page.locator('.opblock.is-open').count(), 1);
  await page.close();
});

test('a file that is not there is not found', () => {
  assert.equal(fileAt('index.html').status, 404);
  assert.equal(fileAt('../package.json').status, 404);
  assert.equal(fileAt('docs.js').status, 200);
});
