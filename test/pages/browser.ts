/** A real Chromium for page tests, and a plain server to show it pages. */
import { existsSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';
import type { Answer } from '../../src/contract/exchange.js';

/** Debian's paths. The headless shell opens a page in a quarter of the time that the whole browser takes. */
const [headless, whole] = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'] as const;
const executablePath = process.env['CHROMIUM'] ?? (existsSync(headless) ? headless : whole);

/** False, or why page tests cannot run. */
export const skipBrowser = existsSync(executablePath)
  ? false
  : `${executablePath} is not installed. Run: apt-get install chromium`;

/** Starts the browser. */
export function launch(): Promise<Browser> {
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  return chromium.launch({ executablePath, args: ['--no-sandbox', ...quiet] });
}

/** Serves what `answer` gives for a path on a free port. */
export async function serve(answer: (path: string) => Answer): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const { status, body, headers = {} } = answer((request.url ?? '/').split('?')[0] ?? '/');
    const [type, bytes] =
      'json' in body ? ['application/json', JSON.stringify(body.json)] : [body.type, body.bytes];
    response.writeHead(status, { ...headers, 'content-type': type }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return { server, url: `http://127.0.0.1:${address.port}` };
}

/** The forms in which every page is looked at: a desk and a phone, in daylight and at night. */
export const forms = [
  { width: 1440, colorScheme: 'light' },
  { width: 1440, colorScheme: 'dark' },
  { width: 390, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
] as const;

/** The forms of pages that are one sheet: width and colours. */
export const sheetForms = [
  [1000, 'light'],
  [1000, 'dark'],
  [320, 'light'],
  [320, 'dark'],
] as const;

/** One of those forms. */
export type Form = (typeof forms)[number];

/** A form as a browser is told of it. */
export function asOptions({ width, colorScheme }: Form): BrowserContextOptions {
  return { viewport: { width, height: 900 }, colorScheme };
}

/** A page in a context of its own, with what it complained about and what it asked of other places. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const { origin } = new URL(url);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (sent) => {
    const asked = new URL(sent.url());
    if (asked.protocol !== 'blob:' && asked.origin !== origin) complaints.push(`asked ${sent.url()}`);
  });
  await page.goto(url);
  return { page, complaints };
}

/** Keeps a picture of a page for a person to look at, where SCREENSHOTS names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}
