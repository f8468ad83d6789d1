/**
 * Ranks a test collection as POST /v1/fuse does, with the same native calls: each query over the whole
 * collection, and over its best candidates as one request.
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

/** The lists that are fused, and the two methods of fusion. */
export const legs = ['bm25', 'dense', 'rrf', 'maxnorm'] as const;

/** One of the lists. */
export type Leg = (typeof legs)[number];

/**
 * For each list the indexes of docs in the collection, best first; `legs`: fused by the caller's own legs.
 */
export type Rankings = Readonly<Record<Leg, readonly number[]>> & { readonly legs?: readonly number[] };

/** Scores of a query's docs, by their index in the collection. */
export type SentScores = ReadonlyMap<number, number>;

/** Legs of requests, as POST /v1/fuse has them, and the scores of another engine. */
export interface OwnLegs {
  readonly legs: NonNullable<FuseRequest['legs']>;
  /** For each leg except `bm25` and `dense`, its scores by query. */
  readonly runs: ReadonlyMap<string, ReadonlyMap<string, SentScores>>;
}

/** Parts of an evaluation. */
export interface EvaluationParts {
  readonly fuser: Fuser;
  readonly FuseOutcome: typeof FuseOutcome;
  readonly model: string;
  readonly tokenizer: NonNullable<FuseRequest['tokenizer']>;
  /** `plain`, or a language. */
  readonly analyzer: string;
  /** Number of docs in each query's request. */
  readonly candidates: number;
  /** Docs whose statistics BM25 uses, or named statistics; absent: those of the request. */
  readonly sample?: Sample | NamedSample;
  /** Legs for one more ranking; absent: none. */
  readonly own?: OwnLegs;
  /** Computes the missing vectors. @throws Error if it cannot */
  readonly bring: (pending: PendingFuse) => Promise<void>;
}

/** Rankings of one query. */
export interface QueryRankings {
  /** Over the whole collection. */
  readonly whole: Rankings;
  /** Over its candidates: the best docs of the whole collection by BM25 with the plain analyzer. */
  readonly request: Rankings;
}

let out = Buffer.alloc(1 << 20);
const facts = new Float64Array(2);

/**
 * Parts that answer a request of the evaluation: it may have any number of docs, and the model computes
 * missing scores.
 */
type Asked = Pick<EvaluationParts, 'fuser' | 'FuseOutcome' | 'bring'>;

const refused = (outcome: FuseOutcome): Error =>
  new Error(`a request of the evaluation was refused (${outcome})`);

/** Answers a pending request in the thread pool. @throws Error as `ask` */
async function askOffLoop(parts: Asked, pending: PendingFuse): Promise<FuseResponse> {
  const { FuseOutcome: outcomes } = parts;
  const room = Buffer.alloc(pending.room);
  const attempt = await pending.answerAsync(room);
  if (attempt.outcome === outcomes.Pending) return brought(parts, attempt.takePending());
  if (attempt.outcome !== outcomes.Written) throw refused(attempt.outcome);
  return JSON.parse((attempt.takeAnswer() ?? room).toString('utf8', 0, attempt.length)) as FuseResponse;
}

/** Answers a request that waits for vectors. @throws Error as `ask` */
async function brought(parts: Asked, pending: PendingFuse): Promise<FuseResponse> {
  try {
    await parts.bring(pending);
    return await askOffLoop(parts, pending);
  } finally {
    pending.release();
  }
}

/** Answers a request. @throws Error if it is refused, or a model computes no vectors */
export async function ask(parts: Asked, request: FuseRequest): Promise<FuseResponse> {
  const { fuser, FuseOutcome: outcomes } = parts;
  const body = Buffer.from(JSON.stringify(request));
  const { length } = request.docs;
  let outcome = fuser.fuse(body, out, facts, length);
  if (outcome === outcomes.NeedsRoom) {
    out = Buffer.alloc(facts[0] ?? 0);
    outcome = fuser.fuse(body, out, facts, length);
  }
  if (outcome === outcomes.Deferred) return askOffLoop(parts, fuser.takePending(body));
  if (outcome === outcomes.Pending) return brought(parts, fuser.takePending(body));
  if (outcome !== outcomes.Written) throw refused(outcome);
  return JSON.parse((fuser.takeAnswer() ?? out).toString('utf8', 0, facts[0])) as FuseResponse;
}

/** Indexes of docs, ordered by one of the ranks in the results. */
function byRank({ results }: FuseResponse, rank: 'bm25_rank' | 'dense_rank'): number[] {
  const places: number[] = [];
  for (const { id, explain } of results) places[(explain?.[rank] ?? 0) - 1] = Number(id);
  return places;
}

/** A sample of the collection that requests come from, like the sample that a server learns. */
export interface Sample {
  readonly texts: readonly string[];
  /** Their mean length in tokens. */
  readonly averageLength: number;
}

/** Statistics that the fuser has under a name. */
export interface NamedSample {
  readonly name: string;
}

/** Number of a text's tokens. */
function tokensOf(text: string, tokenizer: EvaluationParts['tokenizer']): number {
  const words = text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  if (tokenizer === 'ws') return words.length;
  return words.reduce((sum, word) => sum + Math.max(1, Array.from(word).length - 1), 0);
}

/** A sample of the docs with the smallest digests; their order and repetitions do not matter. */
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

/** A sample's statistics for a query's terms, which are counted as in a request. */
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

/** The order of a request's docs by the caller's legs, without legs for which no doc has a score. */
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

/** The rankings of some docs. @throws Error if a model computes no vectors */
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
  // The same scores again: numbers come back from JSON unchanged.
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

/** Ranks a collection for a query. @throws Error if a model computes no vectors */
export async function rankQuery(
  parts: EvaluationParts,
  { id, text: query }: CollectionText,
  docs: readonly CollectionText[],
): Promise<QueryRankings> {
  const all = docs.map((_, place) => place);
  const whole = await rankPlaces(parts, query, docs, all, undefined, id);
  // The same candidates for every analyzer, so that their figures can be compared.
  const plain = parts.analyzer === 'plain';
  const engine = plain ? whole : await rankPlaces({ ...parts, analyzer: 'plain' }, query, docs, all);
  const best = engine.bm25.slice(0, parts.candidates);
  return { whole, request: await rankPlaces(parts, query, docs, best, parts.sample, id) };
}

/**
 * A query's candidates, the best docs of the collection by BM25 with the plain analyzer, and their dense
 * scores.
 */
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
