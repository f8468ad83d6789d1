/** What every page of ours has: its frame, its policy (CSP Level 3), and the files it loads. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { notFound } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';

const folder = fileURLToPath(new URL('../../../src/pages', import.meta.url));

const style = 'text/css; charset=utf-8';
const script = 'text/javascript; charset=utf-8';

/** The files of ours under `/pages/` and what they are. */
const ownFiles = [
  ['site.css', style],
  ['unsubscribe.js', script],
  ['buy.css', style],
  ['buy.js', script],
  ['graph.css', style],
  ['graph.js', script],
  ['graphDetail.js', script],
  ['graphLayout.js', script],
  ['icon.svg', 'image/svg+xml'],
] as const;

/** The files of packages under `/pages/`, each beside the module that its package gives. */
const packageFiles = [
  ['sigma', 'sigma.min.js'],
  ['graphology', 'graphology.umd.min.js'],
  ['d3-dispatch', '../dist/d3-dispatch.min.js'],
  ['d3-quadtree', '../dist/d3-quadtree.min.js'],
  ['d3-timer', '../dist/d3-timer.min.js'],
  ['d3-force', '../dist/d3-force.min.js'],
] as const;

/** Every file under `/pages/`: its name, where it lies, what it is. */
function servedFiles(): (readonly [name: string, path: string, type: string])[] {
  const { resolve } = createRequire(import.meta.url);
  return [
    ...ownFiles.map(([name, type]) => [name, join(folder, name), type] as const),
    ...packageFiles.map(([module, file]) => {
      return [basename(file), join(dirname(resolve(module)), file), script] as const;
    }),
  ];
}

/** Text as HTML shows it, in elements and in quoted attributes. */
export function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** An address or key as HTML that may break a line behind its marks; what is copied has no breaks. */
export function breakable(text: string): string {
  return text
    .split(/(?<=[.@_+/:-])/)
    .map(escapeHtml)
    .join('<wbr>');
}

/** Nothing from elsewhere, nothing inline; forms and requests go to this site alone. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** What a page is made of. */
export interface PageParts {
  readonly title: string;
  /** Content of `main`, as HTML. */
  readonly main: string;
  /** Scripts of `/pages/` that the page can do without, in their order. */
  readonly scripts?: readonly string[];
  /** Style sheets of `/pages/` besides the one of every page. */
  readonly styles?: readonly string[];
  /** Without script the page is loaded anew after so many seconds. */
  readonly refreshSeconds?: number;
}

function html({ title, main, scripts: files = [], styles: sheets = [], refreshSeconds }: PageParts): string {
  const scripts = files.map((file) => `<script src="/pages/${file}" defer></script>\n`).join('');
  const styles = ['site.css', ...sheets]
    .map((file) => `<link rel="stylesheet" href="/pages/${file}">\n`)
    .join('');
  const refresh =
    refreshSeconds === undefined
      ? ''
      : `<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>\n`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" type="image/svg+xml" href="/pages/icon.svg">
${refresh}${styles}${scripts}</head>
<body>
<main>
${main}
</main>
</body>
</html>
`;
}

/** A page that is kept by no cache and tells no other site where its reader came from. */
export function page(parts: PageParts): Answer {
  return {
    status: 200,
    body: { bytes: html(parts), type: 'text/html; charset=utf-8' },
    headers: {
      'content-security-policy': contentSecurityPolicy,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    },
    charge: 0,
  };
}

/** Serves the pages' files, read into memory once. */
export function pageFile(): (request: RouteRequest) => Answer {
  const answers = new Map<string, Answer>(
    servedFiles().map(([name, path, type]) => {
      const body = { bytes: new Uint8Array(readFileSync(path)), type, immutable: true } as const;
      const headers = { 'cache-control': 'public, max-age=3600' };
      return [name, { status: 200, body, headers, charge: 0 }];
    }),
  );
  return ({ path }) => answers.get(path['file'] ?? '') ?? notFound();
}
