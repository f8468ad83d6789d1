/** The home page and its playground, in a real Chromium against a real server, and the page of a 404. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { routes } from '../../src/contract/routes.js';
import type { ServedPart } from '../../src/contract/served.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { banner } from '../../src/info/banner.js';
import { native } from '../../src/native/addon.js';
import { noOperator } from '../../src/outreach/operator.js';
import { homeForAll } from '../../src/pages/home.js';
import {
  doorLinks,
  gatewayLinks,
  pageFile,
  pageMaker,
  unnamedPage,
  type SiteLink,
} from '../../src/pages/page.js';
import { openTiers, testAccess } from '../support/access.js';
import { startServer } from '../support/http.js';
import { request } from '../support/serving.js';
import { assertAccessible } from './axe.js';
import { asOptions, forms, launch, openPage, picture, skipBrowser } from './browser.js';
import { startSite } from './site.js';

const origin = await startSite();
const skip = { skip: skipBrowser };
const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

let browser: Browser;
before(async () => {
  if (skipBrowser === false) browser = await launch();
});
after(async () => {
  if (skipBrowser === false) await browser.close();
});

async function get(path: string, accept?: string): Promise<Response> {
  return fetch(`${origin}${path}`, accept === undefined ? {} : { headers: { accept } });
}

describe('by Accept', () => {
  test('programs get the banner byte for byte, browsers the page', async () => {
    const { body } = banner();
    const json = JSON.stringify('json' in body ? body.json : undefined);
    for (const accept of [undefined, '*/*', 'application/json', 'text/html;q=0.5,application/json']) {
      const answer = await get('/', accept);
      assert.equal(answer.headers.get('content-type'), 'application/json', accept);
      assert.match(answer.headers.get('vary') ?? '', /\bAccept\b/);
      assert.equal(await answer.text(), json);
    }
    const page = await get('/', browserAccept);
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(page.headers.get('vary') ?? '', /\bAccept\b/);
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'.*script-src 'self'/);
    const html = await page.text();
    assert.doesNotMatch(html, /<script>|<style>| style=| on[a-z]+=/, 'nothing inline');
  });

  test('links lead to the fragments only where this address has them', () => {
    const hrefs = (links: readonly SiteLink[]): string[] => {
      const answer = pageMaker(noOperator, links)({ title: 'x', main: '', headed: true });
      const html = 'bytes' in answer.body ? answer.body.bytes.toString() : '';
      const [nav = ''] = /<nav[^]*<\/nav>/.exec(html) ?? [];
      return [...nav.matchAll(/href="([^"]+)"/g)].map((match) => match[1] ?? '');
    };
    assert.deepEqual(hrefs(gatewayLinks({ explores: true, sells: true })), ['/', '/docs', '/graph', '/buy']);
    assert.deepEqual(hrefs(gatewayLinks({ explores: false, sells: true })), ['/', '/docs', '/buy']);
    assert.deepEqual(hrefs(gatewayLinks({ explores: false, sells: false })), ['/', '/docs']);
    assert.deepEqual(hrefs(doorLinks), ['/graph']);
  });

  test('a wrong path is JSON for programs and a page that leads back for browsers', async () => {
    const json = await get('/nothing/here');
    assert.equal(json.status, 404);
    assert.deepEqual(await json.json(), {
      detail: 'Not Found',
      message: 'There is no such path. /docs lists all paths.',
      docs: '/docs',
    });
    const page = await get('/nothing/here', browserAccept);
    assert.equal(page.status, 404);
    assert.match(page.headers.get('vary') ?? '', /\bAccept\b/);
    assert.match(await page.text(), /<h1>There is no page at this address<\/h1>[^]*href="\/docs"/);
  });
});

interface Results {
  /** First words of each result, in their order. */
  readonly after: readonly string[];
  readonly state: string;
}

/** What the playground shows once its answer is there. */
async function ranked(page: Page): Promise<Results> {
  const state = page.locator('#state.good');
  await state.filter({ hasText: 'results in' }).waitFor();
  const after = await page.locator('#after > li .text').allInnerTexts();
  return { after, state: await state.innerText() };
}

async function open(
  path = '/',
  options: BrowserContextOptions = {},
): Promise<Awaited<ReturnType<typeof openPage>>> {
  return openPage(browser, `${origin}${path}`, options);
}

/** Types candidates anew, and ranks them. */
async function rank(page: Page, docs: string, query?: string): Promise<Results> {
  await page.locator('#docs').fill(docs);
  if (query !== undefined) await page.locator('#query').fill(query);
  await page.evaluate('document.getElementById("state").className = "state"');
  await page.getByRole('button', { name: 'Rank', exact: true }).click();
  return ranked(page);
}

/** Where the links of a page's main part lead on this site. */
function leads(html: string): string[] {
  const main = html.replace(/^[^]*<main/, '');
  return [...main.matchAll(/href="(\/[^"]*)"/g)].map((match) => match[1] ?? '');
}

describe('without fuse', () => {
  const of = (serve: readonly ServedPart[]): string => {
    const handler = homeForAll([], banner, unnamedPage, serve) as (asked: RouteRequest) => Answer;
    const { body } = handler(request({ input: undefined, header: () => browserAccept }));
    return 'bytes' in body ? body.bytes.toString() : '';
  };

  test('there is no playground, and no link leads to what is not served', () => {
    const all = ['/docs/guides/readme', '/docs', '/docs', '/openapi.json'];
    const [guides, texts] = ['/docs/guides/configuration', '/docs/guides/'];
    const html = of(['checkout']);
    assert.doesNotMatch(html, /#playground|playground\.js|<form|<textarea/);
    assert.match(html, /<h2 id="playground-title">Ranking is off on this server<\/h2>/);
    assert.deepEqual(leads(html).sort(), [guides, '/docs', ...all].sort());
    const lists = (serve: readonly ServedPart[]): string[] =>
      leads(of(serve)).filter((to) => !all.includes(to));
    assert.deepEqual(lists(['normalize']), [guides, `${texts}normalize`]);
    assert.deepEqual(lists(['audit', 'explore']), [guides, `${texts}audit`]);
    assert.deepEqual(lists(['door']), [guides, `${texts}door`, `${texts}receipt`]);
    assert.deepEqual(lists(['normalize', 'audit', 'fuse']), [
      `${texts}readme#start`,
      `${texts}normalize`,
      `${texts}audit`,
    ]);
    assert.match(of(['fuse']), /playground\.js/);
  });

  for (const form of forms) {
    const { width, colorScheme } = form;
    test(`${width} px, ${colorScheme}: axe finds nothing`, skip, async () => {
      const parts = { ...native, access: testAccess({ tiers: openTiers() }) };
      const home = homeForAll([], banner, unnamedPage, ['normalize']);
      const { port } = await startServer({
        routes: [
          servedRoute({ ...routes.banner, id: 'banner' }, home, parts),
          servedRoute({ ...routes.pageFile, id: 'pageFile' }, pageFile(), parts),
        ],
      });
      const { page, complaints } = await openPage(browser, `http://127.0.0.1:${port}/`, asOptions(form));
      await page.getByRole('heading', { name: 'Ranking is off on this server' }).waitFor();
      await assertAccessible(page);
      await picture(page, `home-without-fuse-${width}-${colorScheme}`);
      assert.deepEqual(complaints, []);
      // What is not there leads to what is: this address has neither a reference nor keys.
      const missing = await fetch(`http://127.0.0.1:${port}/no`, { headers: { accept: browserAccept } });
      assert.deepEqual(leads(await missing.text()), []);
      await page.context().close();
    });
  }
});

describe('the playground', () => {
  for (const form of forms) {
    test(
      `${form.width} px, ${form.colorScheme}: the example is ranked, axe finds nothing`,
      skip,
      async () => {
        const { page, complaints } = await open('/', asOptions(form));
        const { after, state } = await ranked(page);
        assert.match(after[0] ?? '', /^Leather hiking boots/);
        assert.match(state, /5 results in [\d.]+ ms \([\d.]+ ms of them in the server\)\. .*static-256/);
        assert.equal(await page.locator('#after svg.bar rect.bm25').count(), 5);
        await assertAccessible(page);
        await picture(page, `home-${form.width}-${form.colorScheme}`);
        await page.goto(`${origin}/nothing/here`);
        await page.getByRole('heading', { name: 'There is no page' }).waitFor();
        await assertAccessible(page);
        await picture(page, `notfound-${form.width}-${form.colorScheme}`);
        assert.deepEqual(
          complaints.filter((text) => !/404/.test(text)),
          [],
        );
        await page.context().close();
      },
    );
  }

  test('lines, JSON and an Elasticsearch response are read, with their scores and fields', skip, async () => {
    const { page } = await open();
    await ranked(page);
    const lines = await rank(page, 'red shoe\t0.2\nblue shoe\t0.9', 'shoe');
    assert.deepEqual(lines.after, ['blue shoe', 'red shoe']);
    assert.match(lines.state, /Dense scores: caller/);
    const hits = [
      { _id: 'a', _score: 3.1, _source: { title: 'Tea', body: 'Green tea from the hills' } },
      { _id: 'b', _score: 2.2, _source: { title: 'Cup', body: 'A cup for coffee' } },
    ];
    const response = await rank(page, JSON.stringify({ took: 3, hits: { hits } }), 'coffee cup');
    assert.deepEqual(response.after, ['A cup for coffee', 'Green tea from the hills']);
    assert.match(await page.locator('#docs-state').innerText(), /search response: 2 candidates. 2 of them/);
    await page.locator('#field').selectOption('title');
    await page.locator('#after .text').filter({ hasText: /^Cup$/ }).waitFor();
    const body = {
      query: 'beans',
      docs: [
        { id: 'x', text: 'rice' },
        { id: 'y', text: 'beans' },
      ],
    };
    const fused = await rank(page, JSON.stringify(body));
    assert.equal(await page.locator('#query').inputValue(), 'beans');
    assert.deepEqual(fused.after, ['beans', 'rice']);
    await page.context().close();
  });

  test('wrong JSON, missing scores and a refusal of the server are said in words', skip, async () => {
    const { page } = await open();
    await ranked(page);
    const bad = page.locator('#state.bad');
    await page.locator('#docs').fill('{"docs": [');
    await page.getByRole('button', { name: 'Rank', exact: true }).click();
    await bad.filter({ hasText: 'begins like JSON' }).waitFor();
    await page.locator('#docs').fill('one\ntwo');
    await page.locator('#dense').selectOption('given');
    await bad.filter({ hasText: '2 of 2 candidates have no score' }).waitFor();
    await page.locator('#dense').selectOption('model');
    await page.locator('#docs').fill(Array.from({ length: 51 }, (_, at) => `text ${at}`).join('\n'));
    await page.getByRole('button', { name: 'Rank', exact: true }).click();
    await bad.filter({ hasText: /docs: .*50/ }).waitFor();
    await page.context().close();
  });

  test('what strangers wrote is shown as text', skip, async () => {
    const { page, complaints } = await open();
    await ranked(page);
    const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    const { after } = await rank(page, `${hostile}\nplain`, 'plain');
    assert.ok(after.includes(hostile));
    assert.match(await page.title(), /^Fusegate/);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  test('weights change the order, and a link brings everything back but the key', skip, async () => {
    const { page } = await open('/', { permissions: ['clipboard-read', 'clipboard-write'] });
    await ranked(page);
    await rank(page, 'shoe\t0.1\nboat\t0.9', 'shoe');
    await page.locator('#bm25').fill('0.1');
    await page.locator('#after > li:first-child .text').filter({ hasText: 'boat' }).waitFor();
    await page.locator('#bm25').fill('1');
    await page.locator('#after > li:first-child .text').filter({ hasText: 'shoe' }).waitFor();
    await page.locator('#key').fill('fg_secret');
    await page.getByRole('button', { name: 'Copy a link to this' }).click();
    await page.locator('#copied').filter({ hasText: 'copied' }).waitFor();
    const link = String(await page.evaluate('navigator.clipboard.readText()'));
    assert.equal(new URL(link).pathname + new URL(link).search, '/');
    const opened = await openPage(browser, link);
    const again = await ranked(opened.page);
    assert.deepEqual(again.after, ['shoe', 'boat']);
    assert.equal(await opened.page.locator('#bm25').inputValue(), '1');
    assert.equal(await opened.page.locator('#key').inputValue(), '');
    await opened.page.context().close();
    await page.context().close();
  });

  test(
    'words are ranked by their stems if a language is chosen, and bigrams have no stems',
    skip,
    async () => {
      const { page } = await open();
      await ranked(page);
      const [docs, query] = ['charged batteries\t0.5\ncharging\t0.5', 'charging the battery'];
      assert.deepEqual((await rank(page, docs, query)).after, ['charging', 'charged batteries']);
      await page.locator('#analyzer').selectOption('english');
      await page.locator('#after > li:first-child .text').filter({ hasText: 'charged batteries' }).waitFor();
      await page.locator('#tokenizer').selectOption('ngram');
      await page.locator('#analyzer:disabled').waitFor();
      assert.equal((await rank(page, docs, query)).after.length, 2, 'the server takes it');
      await page.context().close();
    },
  );

  test('the copied curl command gets the same ranking, and does not contain the key', skip, async () => {
    const { page } = await open('/', { permissions: ['clipboard-read', 'clipboard-write'] });
    await ranked(page);
    await page.locator('#key').fill('fg_secret');
    const copied = async (name: string): Promise<string> => {
      await page.evaluate('document.getElementById("copied").textContent = ""');
      await page.getByRole('button', { name }).click();
      await page.locator('#copied').filter({ hasText: 'copied' }).waitFor();
      return String(await page.evaluate('navigator.clipboard.readText()'));
    };
    const curl = await copied('Copy as curl');
    assert.match(curl, /-H "X-API-Key: \$FUSEGATE_API_KEY"/);
    const body = /<<'JSON'\n([^]*)\nJSON\n$/.exec(curl)?.[1] ?? '';
    const answer = await fetch(`${origin}/v1/fuse`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const { results } = (await answer.json()) as { results: { text: string }[] };
    assert.deepEqual(
      (await ranked(page)).after,
      results.map(({ text }) => text),
    );
    const python = await copied('Copy as Python');
    assert.match(python, /"explain": True/);
    assert.match(python, /os\.environ\["FUSEGATE_API_KEY"\]/);
    const typescript = await copied('Copy as TypeScript');
    assert.match(typescript, /process\.env\.FUSEGATE_API_KEY/);
    for (const text of [curl, python, typescript]) assert.doesNotMatch(text, /fg_secret/);
    await page.context().close();
  });

  test('by keyboard alone: past the head of the site, a query, a ranking', skip, async () => {
    const { page } = await open();
    await ranked(page);
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.className'), 'skip');
    await page.keyboard.press('Enter');
    for (let presses = 0; presses < 20; presses += 1) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate('document.activeElement.id')) === 'query') break;
    }
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type('city zip');
    await page.evaluate('document.getElementById("state").className = "state"');
    await page.keyboard.press('Enter');
    assert.match((await ranked(page)).after[0] ?? '', /^City boots/);
    await page.context().close();
  });

  test('without script it says what Fusegate is, and leads to the guides', skip, async () => {
    const { page } = await open('/', { javaScriptEnabled: false });
    await page.getByRole('heading', { level: 1 }).waitFor();
    assert.equal(await page.locator('#form').isVisible(), false);
    await page.getByText('The playground needs JavaScript').waitFor();
    await page.getByText('curl -s ADDRESS/v1/fuse').waitFor();
    await picture(page, 'home-without-script');
    await page.getByRole('link', { name: 'Install and first request' }).click();
    await page.getByRole('heading', { name: 'Start', exact: true }).waitFor();
    await page.context().close();
  });

  test('the page and all that it loads are under 200 kB', skip, async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    let bytes = 0;
    const loaded: Promise<unknown>[] = [];
    page.on('response', (response) => {
      const counted = response.body().then(({ length }) => (bytes += length));
      loaded.push(counted);
    });
    await page.goto(origin);
    await ranked(page);
    await Promise.all(loaded);
    assert.ok(bytes > 10_000 && bytes < 200_000, `${bytes} bytes`);
    await context.close();
  });
});
