/**
 * `GET /` for a browser: an introduction, and a playground that ranks. Other clients get the JSON banner
 * (contract, service banner).
 */
import { prefers } from '../contract/accept.js';
import { stemmers } from '../contract/analyzer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import { fuseDefaults, fuseMethods, tokenizers } from '../contract/fuse.js';
import { servedParts, type ServedPart } from '../contract/served.js';
import { escapeHtml, unnamedPage, type PageMaker } from './page.js';

/** An embedding model in the playground's list. */
export interface OfferedModel {
  readonly id: string;
  /** True if it answers within the call, without a queue. */
  readonly immediate: boolean;
}

const install = '<a class="button" href="/docs/guides/readme">Install and first request</a>';

const tryIt = '<a class="button primary" href="#playground">Try it below</a>\n';

/** The introduction; a button leads to the playground if there is one. */
const introOf = (ranks: boolean): string => `<section class="intro">
<h1>Put search results into a better order</h1>
<p class="lead">Fusegate takes a query and the candidates that your search found. It scores them by BM25 and
by dense similarity, fuses the two lists, and answers with the new order and the reason for it. It runs on
your own server and stores no query and no text of a search.</p>
<div class="columns">
<div><h2>Use it when</h2>
<ul>
<li>a vector search finds the meaning but misses exact words, names and part numbers;</li>
<li>a keyword search finds the words but misses the meaning, and you cannot change its index;</li>
<li>you want the reason for each score, and the same answer to the same request.</li>
</ul></div>
<div><h2>Use something else when</h2>
<ul>
<li>you need an index: Elasticsearch, OpenSearch, Qdrant and pgvector store documents and find candidates;
Fusegate stores none;</li>
<li>quality matters more than time: a cross-encoder reads query and text together, at a higher cost;</li>
<li>the hybrid search of your engine already ranks well: measure before you add a step.</li>
</ul></div>
</div>
<p class="ways">${ranks ? tryIt : ''}${install}
<a class="button" href="/docs">Reference</a></p>
</section>`;

const exampleQuery = 'waterproof hiking boots';

const exampleDocs = [
  'Trail running shoes, light and breathable',
  'Waterproof spray for boots and jackets',
  'Shoes that keep feet dry on wet mountain paths',
  'Leather hiking boots with a waterproof membrane',
  'City boots with a side zip',
].join('\n');

function options(values: readonly string[], chosen: string, words: Readonly<Record<string, string>>): string {
  return values
    .map((value) => {
      const selected = value === chosen ? ' selected' : '';
      return `<option value="${escapeHtml(value)}"${selected}>${escapeHtml(words[value] ?? value)}</option>`;
    })
    .join('\n');
}

/** Preselects the first model that answers without a queue, so that the first ranking is immediate. */
function modelChoice(models: readonly OfferedModel[]): string {
  const chosen = models.find(({ immediate }) => immediate) ?? models[0];
  return options(
    models.map(({ id }) => id),
    chosen?.id ?? '',
    Object.fromEntries(
      models.map(({ id, immediate }) => [id, immediate ? `${id} (fast)` : `${id} (better, slower)`]),
    ),
  );
}

const howToPaste = `<p class="note" id="docs-help">One text a line. Or paste JSON: an array of texts or docs,
a body of /v1/fuse, or a response of Elasticsearch or OpenSearch. A tab and a number at the end of each line,
a <code>dense_score</code> or a <code>_score</code> can be the dense score.</p>`;

function slider(id: string, label: string): string {
  return `<label for="${id}">${label} <output id="${id}-value" for="${id}">0.50</output></label>
<input id="${id}" type="range" min="0" max="1" step="0.05" value="0.5">`;
}

function form(models: readonly OfferedModel[]): string {
  const tokenizerWords = { ws: 'ws: words', ngram: 'ngram: for CJK' };
  const analyzerWords = {
    plain: 'as they stand',
    ...Object.fromEntries(stemmers.map((language) => [language, `stems: ${language}`])),
  };
  const methodWords = { maxnorm: 'maxnorm', rrf: 'rrf: by ranks' };
  return `<form id="form">
<label for="query">Query</label>
<input id="query" type="text" value="${exampleQuery}" autocomplete="off">
<label for="docs">Candidates, in the order that your search gave them</label>
<textarea id="docs" rows="8" spellcheck="false"
aria-describedby="docs-help docs-state">${exampleDocs}</textarea>
${howToPaste}
<p class="note" id="docs-state" role="status"></p>
<div class="fields">
<div id="field-box" hidden><label for="field">Field with the text</label><select id="field"></select></div>
<div><label for="dense">Dense scores</label><select id="dense">
<option value="model">computed by a model</option><option value="given">given with the candidates</option>
</select></div>
<div id="model-box"><label for="model">Model</label><select id="model">${modelChoice(models)}</select></div>
<div><label for="tokenizer">Tokenizer</label><select id="tokenizer">
${options(tokenizers, fuseDefaults.tokenizer, tokenizerWords)}</select></div>
<div><label for="analyzer">Words</label><select id="analyzer">
${options(['plain', ...stemmers], 'plain', analyzerWords)}</select></div>
<div><label for="method">Method</label><select id="method">
${options(fuseMethods, fuseDefaults.method, methodWords)}</select></div>
<div>${slider('bm25', 'Weight of BM25')}</div>
<div>${slider('dense-weight', 'Weight of dense')}</div>
<div><label for="key">API key, if needed</label>
<input id="key" type="password" autocomplete="off" spellcheck="false"></div>
</div>
<p class="ways"><button id="rank">Rank</button></p>
</form>`;
}

const outcome = `<div id="outcome" hidden>
<p id="state" class="state" role="status"></p>
<ul id="warnings" aria-label="Warnings"></ul>
<div id="orders" class="columns">
<section aria-labelledby="before-title"><h3 id="before-title">Before</h3><ol id="before"></ol></section>
<section aria-labelledby="after-title"><h3 id="after-title">After</h3>
<p class="note legend"><span class="key bm25">BM25</span> <span class="key dense">dense</span>: the parts of
each score.</p>
<ol id="after"></ol></section>
</div>
<h3>The same request</h3>
<p class="ways"><button type="button" class="plain" data-code="curl">Copy as curl</button>
<button type="button" class="plain" data-code="python">Copy as Python</button>
<button type="button" class="plain" data-code="typescript">Copy as TypeScript</button>
<button type="button" class="plain" id="link">Copy a link to this</button></p>
<p class="note">The link holds the query, the candidates and the settings behind its #, which browsers do not
send to a server. It holds no API key.</p>
<p id="copied" role="status" class="note"></p>
</div>`;

/** Shown if the page's script does not run; works in a terminal. */
const curl = `curl -s ADDRESS/v1/fuse -H 'Content-Type: application/json' -d '{
  "query": "electric bicycle battery",
  "docs": [
    {"id": "a", "text": "How to charge the battery of an electric bicycle", "dense_score": 0.71},
    {"id": "b", "text": "Bicycle tyres and tubes", "dense_score": 0.42},
    {"id": "c", "text": "E-bike power packs compared", "dense_score": 0.78}
  ]
}'`;

const withoutScript = `<div id="without-script"><p>The playground needs JavaScript. A first request from a
terminal, with the address of this server in place of ADDRESS:</p>
<pre tabindex="0"><code>${escapeHtml(curl)}</code></pre>
<p><a href="/docs/guides/readme#start">The guide</a> shows the answer.</p></div>`;

function playground(models: readonly OfferedModel[]): string {
  return `<section class="sheet" id="playground" aria-labelledby="playground-title">
<h2 id="playground-title">Playground</h2>
${withoutScript}
<div id="bench" hidden>
${form(models)}
${outcome}
</div>
</section>`;
}

/** Replaces the playground on a server that does not rank. */
const withoutRanking = `<section class="sheet" aria-labelledby="playground-title">
<h2 id="playground-title">Ranking is off on this server</h2>
<p>Its operator serves other parts of Fusegate. <a href="/docs">The reference</a> lists them.</p>
<p class="note">Operators: the setting <a href="/docs/guides/configuration"><code>SERVE</code></a> names the
parts; <code>fuse</code> brings the playground.</p>
</section>`;

/** Links to the other parts that are served. */
function others(serve: readonly ServedPart[]): string {
  const normalize =
    '<a href="/docs/guides/normalize">Normalize</a> repairs text that plain words do not find';
  const audit = (name: string): string =>
    `<a href="/docs/guides/audit">${name}</a> counts how many of your records`;
  const [normalizes, audits] = [serve.includes('normalize'), serve.includes('audit')];
  const both = `${normalize};\n${audit('audit')} that concerns`;
  const one = normalizes ? normalize : audits ? `${audit('Audit')} plain words miss` : undefined;
  const fragments = `<a href="/docs/guides/door">Fragments</a>: short abstractions of AI systems, with
<a href="/docs/guides/receipt">receipts that anyone can verify</a>`;
  const found = [normalizes && audits ? both : one, serve.includes('door') ? fragments : undefined];
  return found.flatMap((each) => (each === undefined ? [] : `<li>${each}.</li>\n`)).join('');
}

function homeAnswer(models: readonly OfferedModel[], page: PageMaker, serve: readonly ServedPart[]): Answer {
  const ranks = serve.includes('fuse');
  const main = `${introOf(ranks)}
${ranks ? playground(models) : withoutRanking}
<section class="more"><h2>More</h2>
<ul>
<li><a href="/docs">Reference and guides</a>: every operation and field, searchable, with a form to send each
request.</li>
${others(serve)}<li><a href="/openapi.json">OpenAPI document</a>, for programs.</li>
</ul></section>`;
  const answer = page({
    title: 'Fusegate: re-rank search results by BM25 and dense similarity',
    main,
    wide: true,
    headed: true,
    styles: ['home.css'],
    modules: ranks ? ['playground.js'] : [],
  });
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'no-cache', vary: 'Accept' } };
}

/** Answers browsers with the page and other clients with `banner`, the route's JSON. `serve`: its parts. */
export function homeForAll(
  models: readonly OfferedModel[],
  banner: () => Answer,
  page: PageMaker = unnamedPage,
  serve: readonly ServedPart[] = servedParts,
): Handler {
  const home = homeAnswer(models, page, serve);
  const json = banner();
  const data: Answer = { ...json, headers: { ...json.headers, vary: 'Accept' } };
  return (request: RouteRequest) => (prefers(request.header('accept'), 'text/html') ? home : data);
}
