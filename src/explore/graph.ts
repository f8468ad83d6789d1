/** `GET /graph` as data and `GET /graph/fragments` (contract, Exploration), with pages. */
import { unprocessable } from '../contract/answer.js';
import type { Handler, RouteRequest } from '../contract/exchange.js';
import { kinds, type FragmentCard, type FragmentNode } from '../contract/exploration.js';
import { graphDefaults } from '../contract/graph.js';
import type { FragmentsResponse, GraphEdge, GraphResponse } from '../contract/graph.js';
import { type ValidationError, valueError } from '../contract/schema/validation.js';
import type { FragmentFilter, FragmentSelection, Neighbour } from '../native/index.js';
import { cursorAt, eachCard, frame, longAnswer, nodeOf, numberOf, readPage, rounded } from './explore.js';
import type { ExploreParts, PageStart } from './explore.js';
import { inPool } from '../system/threadPool.js';
import type { NotDone } from '../system/workQueue.js';

/** Edges between visible fragments only: a withheld fragment's similarities would reveal its content. */
function edgesOf(
  receipts: readonly string[],
  links: readonly Neighbour[][],
  hidden: ReadonlySet<string>,
): GraphEdge[] {
  const edges = links.flatMap((each, index) =>
    each.map(({ receipt, similarity }) => ({
      from: receipts[index] ?? '',
      to: receipt,
      similarity: rounded(similarity),
    })),
  );
  return hidden.size === 0 ? edges : edges.filter(({ from, to }) => !hidden.has(from) && !hidden.has(to));
}

/** Fragments whose links are looked up in one task, which does not stop before its end. */
const linkedAtOnce = 50;

/** One page of the graph. Links lead to earlier fragments, so a page never changes. */
async function graphPage(
  parts: ExploreParts,
  { asOf, from }: PageStart,
  limit: number,
  signal: AbortSignal,
): Promise<GraphResponse | NotDone> {
  const { store, vectors, embedding } = parts;
  const to = Math.min(from + limit, vectors.count(asOf));
  const receipts = vectors.receipts(from, to);
  const hidden = await parts.hidden();
  const links = await inPool(async () => {
    const found: Neighbour[][] = [];
    for (let at = from; at < to && !signal.aborted; at += linkedAtOnce) {
      found.push(...(await vectors.links(asOf, at, Math.min(at + linkedAtOnce, to), hidden.places)));
    }
    return found;
  }, signal);
  if (links === 'busy') return links;
  // Without their contents, which are most of a card.
  const nodes: FragmentNode[] = [];
  await eachCard(store, receipts, signal, (card) => nodes.push(nodeOf(card)));
  const made = frame(parts, asOf);
  return {
    ...made,
    embedding,
    nodes,
    edges: edgesOf(receipts, links, hidden.receipts),
    next_cursor: to < made.total ? cursorAt({ asOf, from: to }) : null,
  };
}

/** Answers with the graph as data. */
export function graph(parts: ExploreParts): Handler {
  return async (request) => {
    const { query } = request;
    const signal = request.signal();
    const start = readPage(parts, query);
    if ('loc' in start) return unprocessable([start]);
    const limit = numberOf(query['limit'], graphDefaults.limit);
    return longAnswer(parts.inTurn, () => graphPage(parts, start, limit, signal), signal);
  };
}

/** RFC 3339 date-time, or a date alone. */
const timeForm = /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2}))?$/;

function sinceOf(text: string): number | ValidationError {
  const sinceMs = timeForm.test(text) ? Date.parse(text.replace(' ', 'T').toUpperCase()) : NaN;
  // Date.parse takes 30 February for 2 March.
  const isDay = new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10));
  if (Number.isFinite(sinceMs) && isDay) return Math.max(0, sinceMs);
  return valueError(['query', 'since'], 'since must be a time of RFC 3339', text);
}

function kindOf(text: string): number | ValidationError {
  const kind = kinds.findIndex((name) => name === text.trim().toUpperCase());
  if (kind >= 0) return kind;
  return valueError(['query', 'kind'], `kind must be one of ${kinds.join(', ')}`, text);
}

/** The filter of a request, or every error in it. */
function filterOf(
  { visitorId }: ExploreParts,
  { kind, visitor, since }: RouteRequest['query'],
): FragmentFilter | ValidationError[] {
  const read = {
    kind: kind === undefined ? undefined : kindOf(kind),
    sinceMs: since === undefined ? undefined : sinceOf(since),
  };
  const errors = [read.kind, read.sinceMs].filter((value) => typeof value === 'object');
  if (errors.length > 0) return errors;
  const { kind: number, sinceMs } = read as { kind?: number; sinceMs?: number };
  return {
    ...(number === undefined ? {} : { kind: number }),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(visitor === undefined ? {} : { visitor: visitorId(visitor) }),
  };
}

/**
 * Fragments that match a filter. A filter by visitor leaves out withheld fragments, because the visitor's
 * name is part of what is withheld.
 */
async function selectVisible(
  { vectors, hidden }: ExploreParts,
  asOf: number,
  filter: FragmentFilter,
  { from, most }: { readonly from: number; readonly most: number },
): Promise<FragmentSelection> {
  const { places } = await hidden();
  return vectors.select(asOf, filter, from, most, filter.visitor === undefined ? [] : places);
}

/** One page of the fragments that match a filter. */
async function fragmentsPage(
  parts: ExploreParts,
  { asOf, from }: PageStart,
  filter: FragmentFilter,
  limit: number,
  signal: AbortSignal,
): Promise<FragmentsResponse | NotDone> {
  // One more shows whether there is a next page.
  const select = () => selectVisible(parts, asOf, filter, { from, most: limit + 1 });
  const selected = await inPool(select, signal);
  if (selected === 'busy') return selected;
  const { matching, places } = selected;
  const after = places[limit];
  const receipts = places.slice(0, limit).map(({ receipt }) => receipt);
  const fragments: FragmentCard[] = [];
  await eachCard(parts.store, receipts, signal, (card) => fragments.push(card));
  return {
    ...frame(parts, asOf),
    matching,
    fragments,
    next_cursor: after === undefined ? null : cursorAt({ asOf, from: after.index }),
  };
}

/** Lists fragments with their content. */
export function graphFragments(parts: ExploreParts): Handler {
  return async (request) => {
    const { query } = request;
    const signal = request.signal();
    const start = readPage(parts, query);
    const filter = filterOf(parts, query);
    const errors = ['loc' in start ? [start] : [], Array.isArray(filter) ? filter : []].flat();
    if ('loc' in start || Array.isArray(filter)) return unprocessable(errors);
    const limit = numberOf(query['limit'], graphDefaults.limit);
    return longAnswer(parts.inListTurn, () => fragmentsPage(parts, start, filter, limit, signal), signal);
  };
}
