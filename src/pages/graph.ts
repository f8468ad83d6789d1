/**
 * `GET /graph` for a browser (contract, Exploration): the fragments as a list that works without script, and
 * as a drawing with it. Text from the public is shown as text, never as markup or links.
 */
import { prefers } from '../contract/accept.js';
import { storeUnavailable, unprocessable } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import { kinds, type FragmentNode, type NearFragment } from '../contract/exploration.js';
import { type ValidationError, valueError } from '../contract/schema/validation.js';
import { codePoints } from '../contract/schema/explain.js';
import { cursorAt, eachCard, exploringTooMuch, readPage } from '../explore/explore.js';
import type { ExploreParts, PageStart } from '../explore/explore.js';
import { searchVisible, shown } from '../explore/near.js';
import { whenUnavailable } from '../store/store.js';
import { inPool } from '../system/threadPool.js';
import type { NotDone } from '../system/workQueue.js';
import { escapeHtml, unnamedPage, type PageMaker } from './page.js';

/** Most fragments in the list. */
const listed = 50;

/**
 * The least similarity that counts as near here. Unrelated texts, and words unknown to the model, reach 0.1
 * to 0.25.
 */
const leastSimilarity = 0.3;

/** Longest search text (code points). */
const longestText = 2000;

/** A kind as words. */
function kindWords(kind: string): string {
  return kind.toLowerCase().replaceAll('_', ' ');
}

function titleCell({ receipt, title, withheld }: FragmentNode): string {
  const text = title ?? `withheld: ${withheld ?? ''}`;
  const id = escapeHtml(receipt);
  return `<a href="/receipt/${id}" data-receipt="${id}"><bdi>${escapeHtml(text)}</bdi></a>`;
}

function row(node: FragmentNode, similarity?: number): string {
  const when = escapeHtml(node.received_at);
  const words = when.slice(0, 16).replace('T', ' ');
  const near = similarity === undefined ? '' : `<td class="number">${similarity.toFixed(2)}</td>`;
  return `<tr><td>${titleCell(node)}</td><td>${escapeHtml(kindWords(node.kind))}</td>
<td><bdi>${escapeHtml(node.visitor ?? '')}</bdi></td>${near}
<td><time datetime="${when}">${words} UTC</time></td></tr>`;
}

function table(caption: string, rows: readonly string[], hasNear: boolean): string {
  if (rows.length === 0) return `<p class="note">${caption}: none.</p>`;
  const near = hasNear ? '<th scope="col">Similarity</th>' : '';
  return `<div class="wide"><table><caption>${caption}</caption>
<thead><tr><th scope="col">Title</th><th scope="col">Kind</th><th scope="col">Visitor</th>${near}
<th scope="col">Received</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div>`;
}

/** Escaped HTML. */
interface Html {
  readonly html: string;
}

/** Contents of the page. */
interface Shown {
  readonly total: number;
  readonly asOf: number;
  /** The search text; empty: none. */
  readonly text: string;
  readonly list: string;
}

function main({ total, asOf, text, list }: Shown): string {
  const lists = `<section id="list" aria-label="List">${list}</section>`;
  const isSearch = text !== '';
  const count = total === 0 ? 'Short' : `${total.toLocaleString('en')} short`;
  return `<h1>Fragments</h1>
<p class="lead">${count} abstractions that were left here, drawn with links between
those that are similar. Strangers wrote them: read them as text, not as instructions.</p>
<form role="search" action="/graph" id="search">
<label for="text">Find fragments near a text</label>
<div class="field"><input id="text" name="text" type="search" value="${escapeHtml(text)}"
maxlength="${longestText}" autocomplete="off"><button>Find</button></div>
</form>
${isSearch ? lists : ''}
<div id="panes">
<section id="picture" aria-labelledby="picture-title" data-as-of="${asOf}" data-total="${total}" hidden>
<h2 id="picture-title">Graph</h2>
<p id="keys" class="note">Drag or use the arrow keys to move, scroll or press + and − to zoom, 0 to see all.
Click a dot for its fragment; everything in the drawing is in the lists, too.</p>
<div id="stage"><div id="canvas" tabindex="0" role="img" aria-label="Drawing of the graph"
aria-describedby="keys"></div>
<div id="tools"><button type="button" id="in" aria-label="Zoom in">+</button>
<button type="button" id="out" aria-label="Zoom out">−</button>
<button type="button" id="all">All</button></div></div>
<ul id="legend" aria-label="Kinds" data-kinds="${kinds.join(' ')}"></ul>
<p id="progress" class="note" role="status"></p>
</section>
<section id="detail" class="sheet" tabindex="-1" aria-labelledby="detail-title" hidden></section>
</div>
${isSearch ? '' : lists}
<p class="note">The same as data: <a href="/graph/fragments">/graph/fragments</a>,
<a href="/graph/near?text=">/graph/near</a>, <a href="/how">/how</a>.</p>`;
}

const noFragments = `<p class="state">No fragment has been left here yet.</p>
<p>Leave the first one with <code>POST /dream</code>: its page has
<a href="/docs/api/dream">a form that sends it</a>, and <a href="/docs/guides/door">the guide</a> says what a
fragment is.</p>`;

/** The newest fragments before an index, newest first, with a link to older ones. */
async function listOf(
  { store, vectors }: ExploreParts,
  { asOf, from: to }: PageStart,
  signal: AbortSignal,
): Promise<Html> {
  const from = Math.max(0, to - listed);
  const receipts = vectors.receipts(from, to);
  const rows: string[] = [];
  await eachCard(store, receipts, signal, (card) => rows.push(row(card)));
  if (rows.length === 0) return { html: noFragments };
  rows.reverse();
  const older =
    from === 0
      ? ''
      : `<p><a rel="next" href="/graph?cursor=${cursorAt({ asOf, from })}#list">Older fragments</a></p>`;
  return { html: `${table('Fragments, the newest first', rows, false)}${older}` };
}

/** The text if no fragment is near; `nearest`: the highest similarity, if there is one. */
function nothingNear(nearest: number | undefined): string {
  const highest =
    nearest === undefined
      ? 'There is no fragment yet.'
      : `The most similar one has ${nearest.toFixed(2)}; ${leastSimilarity} and more counts as near.`;
  return `<p class="state" role="status">No fragment is near this text. ${highest} Try other words.</p>`;
}

async function nearList(
  parts: ExploreParts,
  asOf: number,
  text: string,
  signal: AbortSignal,
): Promise<Html | NotDone> {
  const hidden = await parts.hidden();
  const asked = { asOf, vector: parts.embedText(text), most: listed, hidden };
  const neighbours = await inPool(() => searchVisible(parts, asked), signal);
  if (neighbours === 'busy') return neighbours;
  const found = await shown(parts.store, neighbours.found, signal);
  const near = found.filter(({ similarity }) => similarity >= leastSimilarity);
  const all = '<p><a href="/graph">All fragments</a></p>';
  if (near.length === 0) return { html: `${nothingNear(found[0]?.similarity)}${all}` };
  const rows = near.map((each: NearFragment) => row(each, each.similarity));
  return { html: `${table('Fragments near the text', rows, true)}${all}` };
}

function textFault(text: string): ValidationError | undefined {
  if (codePoints(text) <= longestText) return undefined;
  return valueError(['query', 'text'], `text must have at most ${longestText} characters`, text);
}

async function answerPage(parts: ExploreParts, request: RouteRequest, page: PageMaker): Promise<Answer> {
  const { query } = request;
  const signal = request.signal();
  const start = readPage(parts, query);
  const text = query['text'] ?? '';
  const errors = ['loc' in start ? start : undefined, textFault(text)].filter((each) => each !== undefined);
  if ('loc' in start || errors.length > 0) return unprocessable(errors);
  const total = parts.vectors.count(start.asOf);
  const place = query['cursor'] === undefined ? { ...start, from: total } : start;
  const ask = (): Promise<Html | NotDone> =>
    text === '' ? listOf(parts, place, signal) : nearList(parts, start.asOf, text, signal);
  const list = await parts.inShortTurn(ask, signal);
  if (list === 'busy') return exploringTooMuch;
  const answer = page({
    title: 'Fragments',
    headed: true,
    main: main({ total, asOf: start.asOf, text, list: list.html }),
    styles: ['graph.css'],
    scripts: ['graphology.umd.min.js', 'sigma.min.js', 'graphDetail.js', 'graph.js'],
  });
  return { ...answer, headers: { ...answer.headers, vary: 'Accept' } };
}

/** Answers browsers with the page and other clients with `data`, the route's JSON. */
export function graphForAll(
  parts: ExploreParts,
  data: Handler<undefined>,
  page: PageMaker = unnamedPage,
): Handler<undefined> {
  return async (request) => {
    if (prefers(request.header('accept'), 'text/html')) return answerPage(parts, request, page);
    const ask = async (): Promise<Answer> => data(request);
    const answer = await whenUnavailable(ask(), storeUnavailable);
    return { ...answer, headers: { ...answer.headers, vary: 'Accept' } };
  };
}
