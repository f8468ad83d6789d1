/** The reference in a real Chromium: every page, searched, sent, by keyboard, without script. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { Answer } from '../../src/contract/exchange.js';
import { problemOf, type ProblemCode } from '../../src/contract/problem.js';
import { routeList, routes } from '../../src/contract/routes.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { native } from '../../src/native/addon.js';
import { noOperator } from '../../src/outreach/operator.js';
import { docsHandlers, guidesAlone } from '../../src/pages/docs.js';
import { doorLinks, pageMaker } from '../../src/pages/page.js';
import { openTiers, testAccess } from '../support/access.js';
import { requestWith } from '../support/embedding.js';
import { door, gateway } from '../support/examples.js';
import { startServer } from '../support/http.js';
import { isLong } from '../support/length.js';
import { assertAccessible } from './axe.js';
import { assertReadable } from './readable.js';
import { asOptions, forms, launch, openPage, picture, skipBrowser } from './browser.js';
import { startSite } from './site.js';

const origin = await startSite();
const skip = { skip: skipBrowser };
const documented = routeList.filter((route) => route.documented);
const guides = ['readme', ...readdirSync('docs').filter((name) => name.endsWith('.md'))].map((name) =>
  name.replace(/\.md$/, ''),
);

let browser: Browser;
before(async () => {
  if (skipBrowser === false) browser = await launch();
});
after(async () => {
  if (skipBrowser === false) await browser.close();
});

/** A request for a page. */
function asking(query: Readonly<Record<string, string>>, path: Readonly<Record<string, string>> = {}) {
  return { ...requestWith(Buffer.alloc(0)), query, path };
}

async function html(path: string): Promise<string> {
  const answer = await fetch(`${origin}${path}`);
  assert.equal(answer.status, 200, path);
  assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  return answer.text();
}

describe('the pages', () => {
  test('the overview leads to every operation of both documents and to every guide', async () => {
    const text = await html('/docs');
    for (const { id, path } of documented) {
      assert.ok(text.includes(`href="/docs/api/${id}"`), id);
      const page = await html(`/docs/api/${id}`);
      assert.ok(page.includes(`<code>${path}</code>`), path);
    }
    for (const name of guides) {
      assert.ok(text.includes(`href="/docs/guides/${name}"`), name);
      await html(`/docs/guides/${name}`);
    }
  });

  test('every problem links to a guide here, and also at a door with its own address', async () => {
    const parts = { ...native, access: testAccess({ tiers: openTiers() }) };
    const alone = guidesAlone(pageMaker(noOperator, doorLinks)).docsGuide;
    const guide = servedRoute({ ...routes.docsGuide, id: 'docsGuide' }, alone, parts);
    const { port } = await startServer({ routes: [guide] });
    const named = routeList.flatMap(({ problems }) => Object.values<readonly ProblemCode[]>(problems).flat());
    for (const code of new Set(named)) {
      const { docs } = problemOf(code, '');
      await html(docs);
      const apart = await fetch(`http://127.0.0.1:${port}${docs}`);
      assert.equal(apart.status, 200, docs);
      const page = await apart.text();
      // Everything that it leads to is a guide, or what a door serves.
      const [, body = ''] = page.split('<body>');
      for (const [, href = ''] of body.matchAll(/href="(\/[^"#]*)/g)) {
        assert.match(href, /^\/(?:docs\/guides\/\w|graph$|api\/agent\/openapi$|openapi.json$)/, docs);
      }
    }
    const missing = await fetch(`http://127.0.0.1:${port}/docs/guides/no`, {
      headers: { accept: 'text/html' },
    });
    assert.equal(missing.status, 404);
    assert.doesNotMatch(await missing.text(), /href="\/(?:docs|buy)?"/);
  });

  test('links inside lead somewhere, anchors too', async () => {
    const read = new Map<string, Promise<string>>();
    const at = (path: string): Promise<string> => {
      const known = read.get(path) ?? html(path);
      read.set(path, known);
      return known;
    };
    for (const from of guides.map((name) => `/docs/guides/${name}`)) {
      const article = (await at(from)).replace(/^[^]*<article>/, '');
      for (const [, href = ''] of article.matchAll(/href="([^"]+)"/g)) {
        if (!/^(?:#|\/docs)/.test(href)) continue;
        const [path, anchor] = href.split('#');
        const page = await at(path === '' || path === undefined ? from : path);
        if (anchor !== undefined) assert.ok(page.includes(`id="${anchor}"`), `${from}: ${href}`);
      }
    }
  });

  test('an operation shows every field of its body and of its answer', async () => {
    const page = await html('/docs/api/fuse');
    for (const name of [
      'query',
      'docs',
      'dense_score',
      'weights',
      'bm25',
      'rrf_k',
      'results',
      'bm25_norm',
      'warnings',
    ]) {
      assert.ok(page.includes(`<dt><code>${name}</code>`), name);
    }
    assert.match(page, /<dt><code>method<\/code>[^]{0,80}one of <code>&quot;maxnorm&quot;<\/code>/);
    assert.match(page, /401<\/th>[^]{0,80}key is not accepted/);
  });

  test('what is not there is a 404: JSON for programs, a page for browsers', async () => {
    for (const path of ['/docs/api/nothing', '/docs/guides/nothing', '/docs/guides/..%2Freadme']) {
      const json = await fetch(origin + path);
      assert.equal(json.status, 404);
      assert.match(json.headers.get('vary') ?? '', /Accept/);
      assert.deepEqual(await json.json(), { detail: 'Not Found' });
      const page = await fetch(origin + path, { headers: { accept: 'text/html' } });
      assert.equal(page.status, 404);
      assert.match(await page.text(), /There is no page at this address/);
    }
  });

  test('the search finds what has all words, shows the query as text, and says if nothing has', async () => {
    const found = await html('/docs?q=dense_score');
    assert.match(found, /<ol class="found">[^]*href="\/docs\/api\/fuse"/);
    assert.match(await html('/docs?q=reciprocal%20rank'), /href="\/docs\/guides\/fuse"/);
    assert.match(await html('/docs?q=zzzqqq'), /Nothing has all of these words/);
    const hostile = await html(`/docs?q=${encodeURIComponent('"><script>alert(1)</script>')}`);
    assert.ok(!hostile.includes('<script>alert'));
    assert.match(await html(`/docs?q=${'a%20'.repeat(500)}`), /places found/);
  });

  test('a search of many short words looks at each page a limited number of times', (context) => {
    const { docs } = docsHandlers({ gateway: gateway(), door: door('/'), doorAddress: null });
    const looks = context.mock.method(String.prototype, 'indexOf').mock;
    const search = (q: string): number => {
      const before = looks.callCount();
      assert.equal((docs(asking({ q })) as Answer).status, 200);
      return looks.callCount() - before;
    };
    const pages = documented.length + guides.length;
    const one = search('zzzqqq');
    assert.ok(one <= 3 * pages, `${one} for a word that no page has`);
    assert.ok(search('zzzqqq the of and to in is it') <= one, 'a page without the first word is left');
    assert.ok(search('the of and to in is it on') <= 150 * pages);
  });

  test('pages are made once', () => {
    const made = docsHandlers({ gateway: gateway(), door: door('/'), doorAddress: null });
    const operation = (name: string) => made.docsOperation(asking({}, { operation: name }));
    const guide = (name: string) => made.docsGuide(asking({}, { guide: name }));
    assert.equal(operation('fuse'), operation('fuse'));
    assert.equal(guide('fuse'), guide('fuse'));
    assert.notEqual(operation('normalize'), operation('fuse'));
  });

  test('a door at another address is described, and its forms are left out', async () => {
    const other = await startSite('https://door.example');
    const page = await (await fetch(`${other}/docs/api/dream`)).text();
    assert.match(page, /Served at https:\/\/door\.example/);
    assert.doesNotMatch(page, /id="try"/);
    assert.match(await (await fetch(`${other}/docs/api/fuse`)).text(), /id="try"/);
  });
});

describe('in a browser', () => {
  const kinds = ['/docs', '/docs?q=score', '/docs/api/fuse', '/docs/api/dream', '/docs/guides/checkout'];
  const others = [
    ...documented.map(({ id }) => `/docs/api/${id}`),
    ...guides.map((name) => `/docs/guides/${name}`),
  ];

  for (const form of forms) {
    test(`${form.width} px, ${form.colorScheme}: axe finds nothing, nothing overflows`, skip, async () => {
      const { page, complaints } = await openPage(browser, `${origin}/docs`, asOptions(form));
      for (const path of kinds) {
        await page.goto(origin + path);
        await assertAccessible(page, path);
        const name = path.replaceAll(/[^a-z]+/gi, '-');
        await picture(page, `${name.slice(1)}-${form.width}-${form.colorScheme}`);
      }
      assert.deepEqual(complaints, []);
      await page.context().close();
    });
  }

  for (const [at, form] of [forms[0], forms[3]].entries()) {
    const looked = isLong ? 'every operation and guide' : 'every fourth operation and guide';
    test(`${form.width} px, ${form.colorScheme}: ${looked} passes axe`, skip, async () => {
      const { page } = await openPage(browser, `${origin}/docs`, asOptions(form));
      // In a short run the two forms together look at every second one.
      for (const path of others.filter((_, index) => isLong || index % 4 === at * 2)) {
        await page.goto(origin + path);
        // Contrasts of one page take axe-core as long as all its other rules.
        await assertReadable(page, path, isLong ? [] : ['color-contrast']);
      }
      await page.context().close();
    });
  }

  test('a request is sent from the page, and its answer shown', skip, async () => {
    const { page, complaints } = await openPage(browser, `${origin}/docs/api/fuse`);
    await page.getByRole('button', { name: 'Send POST' }).click();
    const state = page.locator('#try-state');
    await state.filter({ hasText: '200 OK in' }).waitFor();
    const answer = JSON.parse(await page.locator('#try-answer').innerText()) as { results: unknown[] };
    assert.equal(answer.results.length, 2);
    await assertAccessible(page);
    await page.locator('#try-body').fill('{"query": 1}');
    await page.getByRole('button', { name: 'Send POST' }).click();
    await state.filter({ hasText: '422' }).waitFor();
    assert.match(await page.locator('#try-answer').innerText(), /"loc"/);
    assert.deepEqual(
      complaints.filter((text) => !/422/.test(text)),
      [],
    );
    await page.context().close();
  });

  test('a key is sent, and is kept for the next page of the tab', skip, async () => {
    const { page } = await openPage(browser, `${origin}/docs/api/fuse`);
    await page.getByLabel('API key').fill('fg_nobody');
    await page.getByRole('button', { name: 'Send POST' }).click();
    await page.locator('#try-answer').filter({ hasText: 'invalid_api_key' }).waitFor();
    await page.goto(`${origin}/docs/api/normalize`);
    assert.equal(await page.getByLabel('API key').inputValue(), 'fg_nobody');
    await page.context().close();
  });

  test('by keyboard alone: search, open, send', skip, async () => {
    const { page } = await openPage(browser, `${origin}/docs`);
    for (let presses = 0; presses < 15; presses += 1) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate('document.activeElement.id')) === 'q') break;
    }
    await page.keyboard.type('version');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=version/);
    await page.locator('.found a[href="/docs/api/version"]').focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/api\/version/);
    await page.getByRole('button', { name: 'Send GET' }).focus();
    await page.keyboard.press('Enter');
    await page
      .locator('#try-state')
      .filter({ hasText: /404|200/ })
      .waitFor();
    await page.context().close();
  });

  test('without script everything can be read and searched', skip, async () => {
    const { page } = await openPage(browser, `${origin}/docs`, { javaScriptEnabled: false });
    await page.getByLabel('Search the reference').fill('bigrams');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.locator('.found a[href="/docs/api/fuse"]').click();
    await page.getByRole('heading', { level: 1, name: 'Re-rank' }).waitFor();
    assert.equal(await page.locator('#try').isVisible(), false);
    await page.context().close();
  });
});
