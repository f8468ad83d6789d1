/**
 * A test collection ranked as POST /v1/fuse ranks it: each query over the whole collection, and over its best
 * candidates as one request. The same native calls answer.
 */
import type { FuseResponse } from '../contract/fuse.js';
import type { DenseModels, GatheredTexts } from '../native/index.js';
import type { Tokenizer } from './tokenize.js';

/** A doc or a query. */
export interface CollectionText {
  readonly id: string;
  readonly text: string;
}

/** The lists that fusion begins with, and the two ways of fusing them. */
export const legs = ['bm25', 'dense', 'rrf', 'maxnorm'] as const;

/** One of them. */
export type Leg = (typeof legs)[number];

/** For each leg places of docs in the collection, the best first. */
export type Rankings = Readonly<Record<Leg, readonly number[]>>;

/** What a collection is ranked by. */
export interface EvaluationParts {
  readonly dense: DenseModels;
  readonly model: string;
  readonly tokenizer: Tokenizer;
  /** Docs of a query that make its request. */
  readonly candidates: number;
  /** Brings the vectors that are missing. @throws Error where it cannot */
  readonly bring: (gathered: GatheredTexts) => Promise<void>;
}

/** Rankings of one query. */
export interface QueryRankings {
  /** Over the whole collection. */
  readonly whole: Rankings;
  /** Over its candidates: the best of the whole collection by BM25. */
  readonly request: Rankings;
}

let out = Buffer.alloc(1 << 20);
const facts = new Float64Array(1);

/** Answers a body with the scores that were gathered for it. @throws Error where the body is refused */
function fused(gathered: GatheredTexts, body: Buffer): FuseResponse {
  let length = gathered.fuse(body, out, facts);
  if (length < -3) {
    out = Buffer.alloc(-length);
    length = gathered.fuse(body, out, facts);
  }
  if (length < 0) throw new Error(`a request of the evaluation was refused (${length})`);
  return JSON.parse(out.toString('utf8', 0, length)) as FuseResponse;
}

/** Places by a rank that each result tells. */
function byRank({ results }: FuseResponse, rank: 'bm25_rank' | 'dense_rank'): number[] {
  const places: number[] = [];
  for (const { id, explain } of results) places[(explain?.[rank] ?? 0) - 1] = Number(id);
  return places;
}

/** The rankings of the docs at some places. */
async function rank(
  { dense, model, tokenizer, bring }: EvaluationParts,
  query: string,
  docs: readonly CollectionText[],
  places: readonly number[],
): Promise<Rankings> {
  const texts = places.map((place) => docs[place]?.text ?? '');
  const gathered = dense.gather(model, query, texts, []);
  if (typeof gathered === 'string') throw new Error(gathered);
  await bring(gathered);
  const request = { query, tokenizer, explain: true, return_text: false };
  const listed = places.map((place, at) => ({ id: String(place), text: texts[at] ?? '' }));
  const answer = (method: 'rrf' | 'maxnorm'): FuseResponse =>
    fused(gathered, Buffer.from(JSON.stringify({ ...request, method, docs: listed })));
  const [rrf, maxnorm] = [answer('rrf'), answer('maxnorm')];
  gathered.release();
  const order = ({ results }: FuseResponse): number[] => results.map(({ id }) => Number(id));
  return {
    bm25: byRank(rrf, 'bm25_rank'),
    dense: byRank(rrf, 'dense_rank'),
    rrf: order(rrf),
    maxnorm: order(maxnorm),
  };
}

/** Ranks a collection for a query. @throws Error where a model brings no vectors */
export async function rankQuery(
  parts: EvaluationParts,
  query: string,
  docs: readonly CollectionText[],
): Promise<QueryRankings> {
  const whole = await rank(
    parts,
    query,
    docs,
    docs.map((_, place) => place),
  );
  const best = whole.bm25.slice(0, parts.candidates);
  return { whole, request: await rank(parts, query, docs, best) };
}
