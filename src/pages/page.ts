/** The frame of every page, its content policy (CSP Level 3), and the files it loads. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { notFound } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import { noOperator, type Operator } from '../outreach/operator.js';

/** The folder, beside the compiled program, where `build.mjs` puts all files that a server sends. */
const folder = fileURLToPath(new URL('../../pages', import.meta.url));

/** Reads a file of that folder. */
export function builtFile(name: string): Buffer {
  return readFileSync(join(folder, name));
}

/**
 * The files under `/pages/`, by extension; `report.css` is embedded in reports, the guides are under `/docs`.
 */
const served: Readonly<Record<string, readonly string[]>> = {
  'text/css; charset=utf-8': ['site.css', 'buy.css', 'docs.css', 'graph.css', 'home.css', 'receipt.css'],
  'text/javascript; charset=utf-8': [
    ...['buy.js', 'docs.js', 'receipt.js', 'shop.js', 'unsubscribe.js'],
    ...['graph.js', 'graphDetail.js', 'graphLayout.js'],
    ...['playground.js', 'playgroundBars.js', 'playgroundCode.js', 'playgroundDocs.js', 'playgroundLink.js'],
    ...['sigma.min.js', 'graphology.umd.min.js'],
    ...['d3-dispatch.min.js', 'd3-force.min.js', 'd3-quadtree.min.js', 'd3-timer.min.js'],
  ],
  'image/svg+xml': ['icon.svg'],
};

/** Text escaped for HTML, in elements and in quoted attributes. */
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

/** An address or key as HTML that may break lines after punctuation; copied text has no breaks. */
export function breakable(text: string): string {
  return text
    .split(/(?<=[.@_+/:-])/)
    .map(escapeHtml)
    .join('<wbr>');
}

/** Nothing external, nothing inline; forms and requests go to this site alone. */
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

/** Parts of a page. */
export interface PageParts {
  readonly title: string;
  /** Content of `main`, as HTML. */
  readonly main: string;
  /** Optional scripts of `/pages/`, in order. */
  readonly scripts?: readonly string[];
  /** The same, as modules. */
  readonly modules?: readonly string[];
  /** True if the page is as wide as the window, for several columns. */
  readonly wide?: boolean;
  /** True if the site's header with its links is shown. */
  readonly headed?: boolean;
  /** Further style sheets of `/pages/`. */
  readonly styles?: readonly string[];
  /** Without script the page reloads after this time (s). */
  readonly refreshSeconds?: number;
}

/** A link in the site's header. */
export interface SiteLink {
  readonly href: string;
  readonly words: string;
}

const fragmentsLink: SiteLink = { href: '/graph', words: 'Fragments' };

/** Links of the gateway's pages. `explores`: it serves the graph; `sells`: it serves the checkout. */
export function gatewayLinks(serves: { explores: boolean; sells: boolean }): readonly SiteLink[] {
  return [
    { href: '/', words: 'Fusegate' },
    { href: '/docs', words: 'Reference' },
    ...(serves.explores ? [fragmentsLink] : []),
    ...(serves.sells ? [{ href: '/buy', words: 'API keys' }] : []),
  ];
}

/** Links on the pages of a door with its own port. */
export const doorLinks: readonly SiteLink[] = [fragmentsLink];

/** The site's header with its links. */
function headOf(links: readonly SiteLink[]): string {
  const anchors = links.map(({ href, words }, index) => {
    return `<a${index === 0 ? ' class="name"' : ''} href="${href}">${words}</a>`;
  });
  return `<a class="skip" href="#main">Skip to the content</a>
<header class="site"><nav aria-label="Site">${anchors.join('\n')}</nav></header>
`;
}

/** Elements of a page's `head` that load its scripts and styles. */
function loading({ scripts = [], modules = [], styles = [] }: PageParts): string {
  return [
    ...['site.css', ...styles].map((file) => `<link rel="stylesheet" href="/pages/${file}">\n`),
    ...scripts.map((file) => `<script src="/pages/${file}" defer></script>\n`),
    ...modules.map((file) => `<script type="module" src="/pages/${file}"></script>\n`),
  ].join('');
}

/** The operator's contact, as a link if it is an address. */
export function contactHtml(contact: string): string {
  const words = escapeHtml(contact);
  if (/^https?:\/\/\S+$/.test(contact)) return `<a href="${words}" rel="noreferrer">${words}</a>`;
  return /^[^\s@]+@[^\s@]+$/.test(contact) ? `<a href="mailto:${words}">${words}</a>` : words;
}

/** The footer of every page: the operator; empty if none is named. */
function footOf({ name, contact, terms, privacy }: Operator): string {
  const link = (href: string, words: string): string =>
    `<a href="${escapeHtml(href)}" rel="noreferrer">${words}</a>`;
  const shown = [
    ...(name === null ? [] : [`Operated by ${escapeHtml(name)}`]),
    ...(contact === null ? [] : [`Contact: ${contactHtml(contact)}`]),
    ...(terms === null ? [] : [link(terms, 'Terms')]),
    ...(privacy === null ? [] : [link(privacy, 'Privacy')]),
  ];
  if (shown.length === 0) return '';
  return `<footer class="site"><ul>${shown.map((each) => `<li>${each}</li>`).join('\n')}</ul></footer>\n`;
}

function html(parts: PageParts, top: string, foot: string): string {
  const { title, main, refreshSeconds, wide = false, headed = false } = parts;
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
${refresh}${loading(parts)}</head>
<body>
${headed ? top : ''}<main id="main"${wide ? ' class="wide"' : ''}>
${main}
</main>
${foot}</body>
</html>
`;
}

/** Makes a page that no cache stores and that sends no Referer to other sites. */
export type PageMaker = (parts: PageParts) => Answer;

/** A maker of pages with links in the header and the operator's name in the footer. */
export function pageMaker(
  operator: Operator,
  links: readonly SiteLink[] = gatewayLinks({ explores: true, sells: true }),
): PageMaker {
  const [top, foot] = [headOf(links), footOf(operator)];
  return (parts) => ({
    status: 200,
    body: { bytes: html(parts, top, foot), type: 'text/html; charset=utf-8' },
    headers: {
      'content-security-policy': contentSecurityPolicy,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    },
    charge: 0,
  });
}

/** Makes pages for a server without a named operator. */
export const unnamedPage: PageMaker = pageMaker(noOperator);

/** Serves the pages' files, which are read into memory once. */
export function pageFile(): (request: RouteRequest) => Answer {
  const answers = new Map<string, Answer>(
    Object.entries(served).flatMap(([type, names]) =>
      names.map((name): [string, Answer] => {
        const body = { bytes: new Uint8Array(builtFile(name)), type, immutable: true } as const;
        const headers = { 'cache-control': 'public, max-age=3600' };
        return [name, { status: 200, body, headers, charge: 0 }];
      }),
    ),
  );
  return ({ path }) => answers.get(path['file'] ?? '') ?? notFound();
}
