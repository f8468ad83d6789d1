/**
 * `GET /docs` and the pages under it: both OpenAPI documents, a page for each operation, and the guides. They
 * work without script, including the search; a script adds the forms that send requests.
 */
import { prefers } from '../contract/accept.js';
import { notFound } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { OpenApiDocument } from '../contract/schema/document.js';
import { notFoundPage } from './notFound.js';
import { builtFile, escapeHtml, unnamedPage, type PageMaker } from './page.js';
import { referenceOf, type Reference } from './reference.js';

/** A guide as `build.mjs` writes it. */
interface Guide {
  readonly name: string;
  readonly title: string;
  readonly headings: readonly { readonly id: string; readonly depth: number; readonly text: string }[];
  /** Its text without markup. */
  readonly words: string;
  readonly html: string;
}

/** Guides under their headings, by name; unlisted guides come last. */
const shelves: readonly (readonly [heading: string, names: readonly string[]])[] = [
  ['Guides', ['readme', 'fuse', 'normalize', 'audit', 'rerank', 'mcp', 'models', 'http', 'errors']],
  ['Rerank from', ['elasticsearch', 'opensearch', 'open-webui', 'dify', 'ragflow']],
  [
    'For operators',
    [
      'operating',
      'metrics',
      'configuration',
      'keys',
      'checkout',
      'outreach',
      'webhooks',
      'store',
      'scale',
      'backup',
    ],
  ],
  ['Fragments', ['door', 'receipt', 'log', 'exploration']],
];

/** Titles of guides whose own heading is only a route or the product. */
const otherTitles: Readonly<Record<string, string>> = {
  readme: 'Install and first request',
  fuse: 'How fuse ranks',
  normalize: 'Normalize text',
  audit: 'Audit records',
  rerank: 'In the place of another reranker',
  mcp: 'Tools for AI systems (MCP)',
  elasticsearch: 'Elasticsearch',
  opensearch: 'OpenSearch',
  'open-webui': 'Open WebUI',
  dify: 'Dify',
  ragflow: 'RAGFlow',
};

/** A page that the search can find. */
interface Entry {
  readonly title: string;
  readonly kind: string;
  readonly href: string;
  readonly words: string;
  /** Title and kind, and words, in lower case: the search compares these. */
  readonly lower: { readonly head: string; readonly body: string };
}

function entry(title: string, kind: string, href: string, words: string): Entry {
  const lower = { head: `${title} ${kind}`.toLowerCase(), body: words.toLowerCase() };
  return { title, kind, href, words, lower };
}

/** The contents of all pages, and their makers. */
interface Library {
  readonly page: PageMaker;
  readonly references: readonly Reference[];
  readonly guides: ReadonlyMap<string, Guide>;
  readonly entries: readonly Entry[];
  /** The page that lists and searches everything; undefined if this address has only guides. */
  readonly overview: '/docs' | undefined;
}

function titleOf({ name, title }: Guide): string {
  return otherTitles[name] ?? title;
}

function guidesOf(): ReadonlyMap<string, Guide> {
  const guides = JSON.parse(builtFile('guides.json').toString()) as Guide[];
  return new Map(guides.map((guide) => [guide.name, guide]));
}

function shelved(guides: ReadonlyMap<string, Guide>): readonly (readonly [string, readonly Guide[]])[] {
  const named = new Set(shelves.flatMap(([, names]) => names));
  const others = [...guides.values()].filter(({ name }) => !named.has(name));
  const found = shelves.map(([heading, names]) => {
    return [heading, names.flatMap((name) => guides.get(name) ?? [])] as const;
  });
  return others.length === 0 ? found : [...found, ['More', others]];
}

function entriesOf(references: readonly Reference[], guides: ReadonlyMap<string, Guide>): Entry[] {
  const operations = references.flatMap((reference) =>
    reference.operations.map(({ id, method, path, summary, words }) =>
      entry(summary, `${method} ${path}`, `/docs/api/${id}`, words),
    ),
  );
  const read = [...guides.values()].map((guide) =>
    entry(titleOf(guide), 'Guide', `/docs/guides/${guide.name}`, guide.words),
  );
  return [...operations, ...read];
}

const searchForm = (text: string): string => `<form role="search" action="/docs" class="search">
<label for="q">Search the reference and the guides</label>
<div><input id="q" name="q" type="search" value="${escapeHtml(text)}" maxlength="${longestSearch}"
autocomplete="off">
<button>Search</button></div></form>`;

/** Links to all pages, with the open one marked. */
function contents({ references, guides }: Library, open = ''): string {
  const link = (href: string, words: string): string => {
    const here = href === open ? ' aria-current="page"' : '';
    return `<li><a href="${href}"${here}>${words}</a></li>`;
  };
  const shelf = shelved(guides).map(([heading, list]) => {
    const links = list.map((guide) => link(`/docs/guides/${guide.name}`, escapeHtml(titleOf(guide))));
    return `<h2>${heading}</h2>\n<ul>${links.join('\n')}</ul>`;
  });
  const groups = references.flatMap(({ tags, operations }) =>
    tags.map(({ name, description }) => {
      const links = operations
        .filter(({ tag }) => tag === name)
        .map(({ id, method, path, summary }) => {
          const place = `<span class="method">${method}</span> <code>${escapeHtml(path)}</code>`;
          return link(`/docs/api/${id}`, `${place} <span class="summary">${escapeHtml(summary)}</span>`);
        });
      return links.length === 0
        ? ''
        : `<h2 id="${name}">${escapeHtml(name)}</h2>\n<p class="note">${escapeHtml(description)}</p>
<ul class="operations">${links.join('\n')}</ul>`;
    }),
  );
  return `<div class="guides">${shelf.join('\n')}</div>\n<div>${groups.join('\n')}</div>`;
}

/** Longest search text (code points), and most words in it. */
const longestSearch = 100;
const mostWords = 8;
const mostFound = 30;

/** Most occurrences of a word in a text that are counted, and of all words of a search together. */
const mostOccurrences = 50;
const mostOccurrencesOfAll = 100;

function occurrences(text: string, word: string, most: number): number {
  let count = 0;
  for (let at = text.indexOf(word); at >= 0 && count < most; at = text.indexOf(word, at + word.length)) {
    count += 1;
  }
  return count;
}

/** The score of a page for a search; 0 if it lacks one of the words. */
function scoreOf({ lower: { head, body } }: Entry, wanted: readonly string[]): number {
  // A search of many short words would hold up the event loop: they are counted less far.
  const most = Math.min(mostOccurrences, Math.floor(mostOccurrencesOfAll / wanted.length));
  let score = 0;
  for (const word of wanted) {
    const one = 100 * occurrences(head, word, most) + occurrences(body, word, most);
    if (one === 0) return 0;
    score += one;
  }
  return score;
}

/** The words around a position in a text. */
function excerpt(words: string, at: number): string {
  const from = Math.max(0, at - 60);
  const cut = Array.from(words.slice(from, at + 120)).join('');
  return `${from === 0 ? '' : '… '}${cut} …`;
}

/** Entries that contain every word; those with it in the title or path come first. */
function find(entries: readonly Entry[], text: string): readonly (Entry & { readonly shown: string })[] {
  const cut = Array.from(text).slice(0, longestSearch).join('').toLowerCase();
  const wanted = cut
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, mostWords);
  const first = wanted[0];
  if (first === undefined) return [];
  return entries
    .map((found) => ({ found, score: scoreOf(found, wanted) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, mostFound)
    .map(({ found }) => {
      const at = Math.max(0, found.lower.body.indexOf(first));
      return { ...found, shown: excerpt(found.words, at) };
    });
}

function foundHtml(entries: readonly Entry[], text: string): string {
  const found = find(entries, text);
  const items = found.map(({ title, kind, href, shown }) => {
    return `<li><a href="${href}">${escapeHtml(title)}</a> <span class="note">${escapeHtml(kind)}</span>
<p class="note">${escapeHtml(shown)}</p></li>`;
  });
  const count = found.length === 0 ? 'Nothing has all of these words.' : `${found.length} places found.`;
  return `<section aria-labelledby="found"><h2 id="found">Found</h2>
<p role="status">${count}</p><ol class="found">${items.join('\n')}</ol></section>`;
}

function shown({ page }: Library, title: string, main: string): Answer {
  const answer = page({
    title,
    main,
    wide: true,
    headed: true,
    styles: ['docs.css'],
    scripts: ['docs.js'],
  });
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'no-cache' } };
}

/** One page of the reference beside the list of all. */
function article(library: Library, href: string, title: string, html: string): Answer {
  const { overview: home } = library;
  const search = home === undefined ? '' : `<p><a href="${home}">Search and overview</a></p>\n`;
  const back =
    home === undefined ? '' : `<p class="back"><a href="${home}">All operations and guides</a></p>\n`;
  return shown(
    library,
    `${title} · Fusegate reference`,
    `<div class="reference"><nav class="contents" aria-label="Reference">
${search}${contents(library, href)}</nav>
<article>${back}${html}</article></div>`,
  );
}

/** The overview with the result of a search; `list`: {@link contents}, which is always the same. */
function overview(library: Library, list: string, text: string): Answer {
  const documents = library.references.map(({ title, version, description }) => {
    const name = escapeHtml(`${title} ${version}`);
    return `<li><strong>${name}</strong>: ${escapeHtml(description)}</li>`;
  });
  const main = `<h1>Reference</h1>
${searchForm(text)}
${text === '' ? '' : foundHtml(library.entries, text)}
<ul class="documents">${documents.join('\n')}</ul>
<p class="note">For programs: <a href="/openapi.json">/openapi.json</a> and
<a href="/api/agent/openapi">/api/agent/openapi</a>.</p>
<div class="overview">${list}</div>`;
  return shown(library, 'Fusegate reference', main);
}

/** Parts of the pages. */
export interface DocsParts {
  readonly gateway: OpenApiDocument;
  readonly door: OpenApiDocument;
  /** Address of the door, if it has its own. */
  readonly doorAddress: string | null;
  readonly page?: PageMaker;
}

/** The handlers of the reference and the guides. */
export interface DocsHandlers {
  readonly docs: Handler;
  readonly docsOperation: (request: RouteRequest) => Answer;
  readonly docsGuide: (request: RouteRequest) => Answer;
}

/** The answer to a path without a page. */
function missingIn({ page, references, overview: home }: Library): (request: RouteRequest) => Answer {
  const paths = references.flatMap(({ operations }) => operations.map(({ path }) => path));
  const missing = notFoundPage(page, new Set(home === undefined ? paths : [home, ...paths]));
  const forPrograms = { ...notFound(), headers: { vary: 'Accept' } };
  return (request) => (prefers(request.header('accept'), 'text/html') ? missing : forPrograms);
}

/** Makes each page at its first request, and keeps it: it never changes. */
function madeOnce(): (name: string, make: () => Answer) => Answer {
  const pages = new Map<string, Answer>();
  return (name, make) => {
    const page = pages.get(name) ?? make();
    pages.set(name, page);
    return page;
  };
}

/** The page of a guide. */
function guideOf(library: Library): (request: RouteRequest) => Answer {
  const missing = missingIn(library);
  const made = madeOnce();
  return (request) => {
    const found = library.guides.get(request.path['guide'] ?? '');
    if (found === undefined) return missing(request);
    const { name, html } = found;
    return made(name, () => article(library, `/docs/guides/${name}`, titleOf(found), html));
  };
}

/** The guides of a door with its own address, to which its problems link; it has no reference. */
export function guidesAlone(page: PageMaker): Pick<DocsHandlers, 'docsGuide'> {
  const library = { page, references: [], guides: guidesOf(), entries: [], overview: undefined };
  return { docsGuide: guideOf(library) };
}

/** Reads the guides and the documents, once. */
export function docsHandlers({ gateway, door, doorAddress, page = unnamedPage }: DocsParts): DocsHandlers {
  const references = [
    referenceOf(gateway, { elsewhere: null }),
    referenceOf(door, { elsewhere: doorAddress }),
  ];
  const guides = guidesOf();
  const entries = entriesOf(references, guides);
  const library = { page, references, guides, entries, overview: '/docs' } as const;
  const missing = missingIn(library);
  const operations = new Map(references.flatMap((each) => each.operations).map((each) => [each.id, each]));
  const made = madeOnce();
  const list = contents(library);
  const plain = overview(library, list, '');
  return {
    docs: ({ query }) => {
      const text = (query['q'] ?? '').trim();
      return text === '' ? plain : overview(library, list, text);
    },
    docsOperation: (request) => {
      const found = operations.get(request.path['operation'] ?? '');
      if (found === undefined) return missing(request);
      const { id, method, path } = found;
      return made(id, () => article(library, `/docs/api/${id}`, `${method} ${path}`, found.html()));
    },
    docsGuide: guideOf(library),
  };
}
