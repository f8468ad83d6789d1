/**
 * The audit report in a real Chromium: light, dark, narrow, on paper; and inert with HTML and script in
 * every field that a caller fills.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { auditUseCases, type FreeAuditRequest } from '../../src/contract/audit.js';
import { native } from '../../src/native/addon.js';
import { reportPage } from '../../src/pages/auditReport.js';
import { answerAudit } from '../../src/text/auditAnswer.js';
import { launch, sheetForms, skipBrowser } from './browser.js';
import { assertReadable } from './readable.js';

const wallMs = Date.UTC(2026, 10, 21);
const skip = { skip: skipBrowser };
const folder = mkdtempSync(join(tmpdir(), 'fusegate-report-'));
let browser: Browser;

before(async () => {
  if (skipBrowser === false) browser = await launch();
});
after(async () => {
  rmSync(folder, { recursive: true });
  if (skipBrowser === false) await browser.close();
});

function pageOf(request: FreeAuditRequest): string {
  const answer = answerAudit(Buffer.from(JSON.stringify(request)), native, 2);
  assert.ok('report' in answer, JSON.stringify(answer));
  return reportPage(answer.report, { company: request.company ?? '', wallMs });
}

interface Opened {
  readonly page: Page;
  /** Requests, dialogs, errors and whatever else an inert page does not make. */
  readonly seen: string[];
}

async function open(html: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const file = join(folder, 'report.html');
  writeFileSync(file, html);
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, ...options });
  const page = await context.newPage();
  const seen: string[] = [];
  page.on('console', (message) => seen.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => seen.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    seen.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('popup', () => seen.push('popup'));
  page.on('request', (sent) => {
    if (sent.url() !== pathToFileURL(file).href) seen.push(`request: ${sent.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  return { page, seen };
}

const records = [
  'CafÃ© crÃ¨me',
  'pass\u200Bword',
  'p\u0430ypal',
  'Tent for ２ persons',
  'I ❤️ it',
  'cafe\u0301',
  'a\u0007b',
  '<p>x</p>',
  'plain',
  'plain',
  'Café crème',
  '…',
  '黑豹队的防守球员',
  'word '.repeat(300),
];

async function picture(page: Page, name: string): Promise<void> {
  const to = process.env['SCREENSHOTS'];
  if (to !== undefined) await page.screenshot({ path: `${to}/audit-${name}.png`, fullPage: true });
}

for (const [width, colorScheme] of sheetForms) {
  test(`${width} px, ${colorScheme}: every issue with its bar and examples`, skip, async () => {
    const html = pageOf({ records, company: 'Example', monthly_queries: 1000, use_case: 'both' });
    const { page, seen } = await open(html, { colorScheme, viewport: { width, height: 640 } });
    await page.getByRole('heading', { name: 'Search audit for Example' }).waitFor();
    assert.equal(await page.locator('.bars tbody tr').count(), 13);
    assert.equal(await page.locator('.bars tbody svg[aria-label*="95 % interval"]').count(), 13);
    assert.ok((await page.locator('dl').count()) >= 13);
    await assertReadable(page);
    await picture(page, `${width}-${colorScheme}`);
    assert.deepEqual(seen, []);
    await page.context().close();
  });
}

test('words for readers: no member names, no number parted from its unit', () => {
  const html = pageOf({ records, monthly_queries: 1000, use_case: 'both' });
  assert.doesNotMatch(html, /corpus_records_total|monthly_queries|months_running|aov_usd|ticket_cost_usd/);
  assert.match(html, /the number of queries a month × share/);
  assert.match(html, /the number of all records was not given/);
  const [, headline = ''] = /aria-label="Headline">([^]*?)<\/section>/.exec(html) ?? [];
  assert.doesNotMatch(headline.replaceAll(/aria-label="[^"]*"/g, ''), /\d %/);
  assert.match(pageOf({ records: ['CafÃ©'] }), /Send the number of all records and the number of queries/);
});

test('one record is called one record, and no vertical is shown if none was given', () => {
  const html = pageOf({ records: ['CafÃ© crÃ¨me'] });
  assert.match(html, /<li>1 record<\/li>/);
  assert.match(html, /data-things="record">1</);
  assert.doesNotMatch(html, /vertical:/);
  assert.match(pageOf({ records: ['a', 'b'], vertical: 'retail' }), /2 records<[^]*<li>vertical: retail</);
});

test('on paper: black on white, whole in A4, in dark mode too', skip, async () => {
  const { page } = await open(pageOf({ records, monthly_queries: 1000 }), { colorScheme: 'dark' });
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  assert.equal(await page.evaluate('getComputedStyle(document.body).color'), 'rgb(0, 0, 0)');
  assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)');
  await page.setViewportSize({ width: 680, height: 970 });
  assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth')) <= 0);
  await picture(page, 'print');
  const pdf = await page.pdf({ format: 'A4', preferCSSPageSize: true });
  assert.match(pdf.subarray(0, 5).toString(), /^%PDF-/);
  await page.context().close();
});

/** Strings that do something where a page takes them for more than text. */
const attacks = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'><svg onload=alert(1)>",
  '</style><script>alert(1)</script>',
  '</title><script>alert(1)</script>',
  '<a href="javascript:alert(1)">x</a><b>CafÃ©</b>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<meta http-equiv=refresh content="0;url=https://evil.example/">',
  '<link rel=stylesheet href="https://evil.example/x.css">',
  '<form action="https://evil.example/"><input name=x autofocus onfocus=alert(1)>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '\u202E<b onmouseover=alert(1)>\u200BCafÃ©',
  '<!--<script>alert(1)//--></script>',
  '{{7*7}}${7*7}<%= 7*7 %>',
];

test('HTML and script in every field stay text', skip, async () => {
  for (const attack of attacks) {
    for (const useCase of auditUseCases.slice(0, 2)) {
      const html = pageOf({
        records: [attack, `${attack} CafÃ© ❤️`, `❤️ ${attack}`, attack],
        company: attack,
        stack: attack.slice(0, 80),
        vertical: attack.slice(0, 80),
        use_case: useCase,
        monthly_queries: 1,
      });
      const { page, seen } = await open(html);
      assert.deepEqual(seen, [], attack);
      const active =
        'script, iframe, img, form, input, link, object, embed, base, meta[http-equiv=refresh], a[href^=j]';
      assert.equal(await page.locator(active).count(), 0, attack);
      const handlers =
        '[...document.querySelectorAll("*")].some((each) => [...each.attributes].some(({ name }) => ' +
        '/^on/.test(name)))';
      assert.equal(await page.evaluate(handlers), false, attack);
      const shown = await page.locator('h1').innerText();
      const plain = attack.replaceAll(/[\u202E\u200B]/g, '').slice(0, 12);
      assert.ok(shown.replaceAll(/U\+20[0-9A-F]{2}/g, '').includes(plain), shown);
      await page.context().close();
    }
  }
});

test('even unescaped, a script does not run and nothing is loaded, by the page’s policy', skip, async () => {
  const html = pageOf({ records }).replace(
    '</article>',
    '<script>document.title = "ran"</script><img src="https://evil.example/x.png"></article>',
  );
  const { page, seen } = await open(html);
  assert.equal(await page.title(), 'Search audit');
  const blocked = seen.filter((each) => each.includes('violates the following Content Security Policy'));
  assert.equal(blocked.length, 2, seen.join('\n'));
  await page.context().close();
});
