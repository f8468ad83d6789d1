/**
 * A test collection ranked as POST /v1/fuse ranks it: each query over the whole collection, and over its best
 * candidates as one request. The same native calls answer.
 */
import { createHash } from 'node:crypto';
import type { FuseCorpus } from '../contract/corpus.js';
import type { FuseRequest, FuseResponse } from '../contract/fuse.js';
import type { FuseOutcome, Fuser, PendingFuse } from '../native/index.js';

/** A doc or a query. */
export interface CollectionText {
  readonly id: string;
  readonly text: string;
}

/** The lists that fusion begins with, and the two ways of fusing them. */
export const legs = ['bm25', 'dense', 'rrf', 'maxnorm'] as const;

/** One of them. */
export type Leg = (typeof legs)[number];

/** For each leg places of docs in the collection, the best first; `legs`: fused by legs of one's own. */
export type Rankings = Readonly<Record<Leg, readonly number[]>> & { readonly legs?: readonly number[] };

/** Scores of a query's docs, by their places in the collection. */
export type SentScores = ReadonlyMap<number, number>;

/** Legs of requests, as POST /v1/fuse has them, and the scores that an engine gave. */
export interface OwnLegs {
  readonly legs: NonNullable<FuseRequest['legs']>;
  /** Of each leg but `bm25` and `dense` the scores by query. */
  readonly runs: ReadonlyMap<string, ReadonlyMap<string, SentScores>>;
}

/** Ranking of a collection. */
export interface EvaluationParts {
  readonly fuser: Fuser;
  readonly FuseOutcome: typeof FuseOutcome;
  readonly model: string;
  readonly tokenizer: NonNullable<FuseRequest['tokenizer']>;
  /** `plain`, or a language. */
  readonly analyzer: string;
  /** Docs of a query that make its request. */
  readonly candidates: number;
  /** Docs whose statistics its BM25 has, or statistics by name; absent: its own. */
  readonly sample?: Sample | NamedSample;
  /** Legs that are fused once more; absent: none. */
  readonly own?: OwnLegs;
  /** Brings the vectors that are missing. @throws Error where it cannot */
  readonly bring: (pending: PendingFuse) => Promise<void>;
}

/** Rankings of one query. */
export interface QueryRankings {
  /** Over the whole collection. */
  readonly whole: Rankings;
  /** Over its candidates: the best of the whole collection by BM25 of plain words. */
  readonly request: Rankings;
}

let out = Buffer.alloc(1 << 20);
const facts = new Float64Array(2);

/** A request of the evaluation: any number of docs, those without scores scored by the model. */
type Asked = Pick<EvaluationParts, 'fuser' | 'FuseOutcome' | 'bring'>;

/** Answers a request that waits. @throws Error where a model brings no vectors */
async function brought(parts: Asked, pending: PendingFuse): Promise<void> {
  try {
    await parts.bring(pending);
    let outcome;
    do {
      // More of it may be needed once the results are known.
      if (pending.room > out.length) out = Buffer.alloc(pending.room);
      outcome = pending.answer(out, facts);
    } while (outcome === parts.FuseOutcome.NeedsRoom);
  } finally {
    pending.release();
  }
}

/** Answers a request. @throws Error where it is refused, or a model brings no vectors */
export async function ask(parts: Asked, request: FuseRequest): Promise<FuseResponse> {
  const { fuser, FuseOutcome: outcomes } = parts;
  const body = Buffer.from(JSON.stringify(request));
  const { length } = request.docs;
  let outcome = fuser.fuse(body, out, facts, length);
  if (outcome === outcomes.NeedsRoom) {
    out = Buffer.alloc(facts[0] ?? 0);
    outcome = fuser.fuse(body, out, facts, length);
  }
  if (outcome === outcomes.Pending) await brought(parts, fuser.takePending());
  else if (outcome !== outcomes.Written)
    throw new Error(`a request of the evaluation was refused (${outcome})`);
  return JSON.parse(out.toString('utf8', 0, facts[0])) as FuseResponse;
}

/** Places by a rank that each result tells. */
function byRank({ results }: FuseResponse, rank: 'bm25_rank' | 'dense_rank'): number[] {
  const places: number[] = [];
  for (const { id, explain } of results) places[(explain?.[rank] ?? 0) - 1] = Number(id);
  return places;
}

/** Docs that stand for the collection that requests come from, as a server may have met them. */
export interface Sample {
  readonly texts: readonly string[];
  /** Their mean length in tokens. */
  readonly averageLength: number;
}

/** Statistics that the fuser knows by name. */
export interface NamedSample {
  readonly name: string;
}

/** Number of a text's tokens. */
function tokensOf(text: string, tokenizer: EvaluationParts['tokenizer']): number {
  const words = text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  if (tokenizer === 'ws') return words.length;
  return words.reduce((sum, word) => sum + Math.max(1, Array.from(word).length - 1), 0);
}

/** The docs with the smallest digests: neither their order nor how often each is met changes which. */
export function sampleOf(
  docs: readonly CollectionText[],
  count: number,
  tokenizer: EvaluationParts['tokenizer'],
): Sample {
  const digests = new Map(docs.map(({ text }) => [text, createHash('sha256').update(text).digest('hex')]));
  const sorted = [...digests].sort(([, left], [, right]) => (left < right ? -1 : 1));
  const texts = sorted.slice(0, count).map(([text]) => text);
  const tokens = texts.reduce((sum, text) => sum + tokensOf(text, tokenizer), 0);
  return { texts, averageLength: Math.max(0.01, tokens / texts.length) };
}

/** What a sample says of a query's terms: they are counted as a request counts them. */
export async function statisticsOf(
  parts: Asked,
  asked: Pick<FuseRequest, 'query' | 'tokenizer' | 'analyzer'>,
  { texts, averageLength }: Sample,
): Promise<FuseCorpus> {
  const docs = texts.map((text) => ({ id: '', text, dense_score: 0 }));
  const explained = { analyzer: 'plain', ...asked, explain: true, return_text: false };
  const { results } = await ask(parts, { ...explained, docs });
  const terms = results.flatMap(({ explain }) => explain?.terms ?? []);
  const df = Object.fromEntries(terms.map(({ term, df: count }) => [term, count]));
  return { docs: texts.length, average_length: averageLength, df };
}

/** The order of a request's docs by legs of one's own, less those that none of its docs has a score of. */
async function rankLegs(
  parts: Asked,
  request: FuseRequest,
  { legs: all, runs }: OwnLegs,
  id: string,
): Promise<number[]> {
  const sent = [...runs].map(([name, run]) => [name, run.get(id)] as const);
  const docs = request.docs.map((doc) => {
    const found = sent.map(([name, scores]) => [name, scores?.get(Number(doc.id))] as const);
    const scores = found.filter((each): each is readonly [string, number] => each[1] !== undefined);
    return scores.length === 0 ? doc : { ...doc, scores: Object.fromEntries(scores) };
  });
  const met = new Set(['bm25', 'dense', ...docs.flatMap(({ scores = {} }) => Object.keys(scores))]);
  const legs = Object.fromEntries(Object.entries(all).filter(([name]) => met.has(name)));
  if (Object.keys(legs).length === 0) return docs.map((doc) => Number(doc.id));
  const { results } = await ask(parts, { ...request, docs, legs });
  return results.map((result) => Number(result.id));
}

/** The rankings of the docs at some places. @throws Error where a model brings no vectors */
export async function rankPlaces(
  parts: EvaluationParts,
  query: string,
  docs: readonly CollectionText[],
  places: readonly number[],
  sample?: Sample | NamedSample,
  id = '',
): Promise<Rankings> {
  const { model, tokenizer, analyzer, own } = parts;
  const analyzed = { query, tokenizer, ...(analyzer === 'plain' ? {} : { analyzer }) };
  const corpus =
    sample === undefined || 'name' in sample ? sample : await statisticsOf(parts, analyzed, sample);
  const asked = {
    ...analyzed,
    ...(corpus === undefined ? {} : { corpus }),
    explain: true,
    return_text: false,
  };
  const listed = places.map((place) => ({ id: String(place), text: docs[place]?.text ?? '' }));
  const rrf = await ask(parts, { ...asked, method: 'rrf', embed_model: model, docs: listed });
  // The same scores once more: numbers come back from JSON as they were.
  const scores = new Map(rrf.results.map(({ id, dense_score: score }) => [id, score]));
  const scored = listed.map((doc) => ({ ...doc, dense_score: scores.get(doc.id) ?? null }));
  const maxnorm = await ask(parts, { ...asked, method: 'maxnorm', docs: scored });
  const order = ({ results }: FuseResponse): number[] => results.map((result) => Number(result.id));
  return {
    ...(own === undefined ? {} : { legs: await rankLegs(parts, { ...asked, docs: scored }, own, id) }),
    bm25: byRank(rrf, 'bm25_rank'),
    dense: byRank(rrf, 'dense_rank'),
    rrf: order(rrf),
    maxnorm: order(maxnorm),
  };
}

/** Ranks a collection for a query. @throws Error where a model brings no vectors */
export async function rankQuery(
  parts: EvaluationParts,
  { id, text: query }: CollectionText,
  docs: readonly CollectionText[],
): Promise<QueryRankings> {
  const all = docs.map((_, place) => place);
  const whole = await rankPlaces(parts, query, docs, all, undefined, id);
  // The same candidates for every analyzer, so that their figures compare.
  const plain = parts.analyzer === 'plain';
  const engine = plain ? whole : await rankPlaces({ ...parts, analyzer: 'plain' }, query, docs, all);
  const best = engine.bm25.slice(0, parts.candidates);
  return { whole, request: await rankPlaces(parts, query, docs, best, parts.sample, id) };
}

/** A query's candidates, the best of the collection by BM25 of plain words, and their dense scores. */
export async function candidatesOf(
  parts: EvaluationParts,
  query: string,
  docs: readonly CollectionText[],
): Promise<{ readonly places: readonly number[]; readonly dense: readonly number[] }> {
  const { model, tokenizer, candidates } = parts;
  const unscored = docs.map(({ text }, place) => ({ id: String(place), text, dense_score: 0 }));
  const weights = { bm25: 1, dense: 0 };
  const asked = { query, tokenizer, weights, return_text: false };
  const { results } = await ask(parts, { ...asked, docs: unscored, top_k: candidates });
  const places = results.map(({ id }) => Number(id));
  const listed = places.map((place, at) => ({ id: String(at), text: docs[place]?.text ?? '' }));
  const scored = await ask(parts, { ...asked, embed_model: model, docs: listed });
  const dense: number[] = [];
  for (const { id, dense_score: score } of scored.results) dense[Number(id)] = score;
  return { places, dense };
}
