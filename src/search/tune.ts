/**
 * Settings of POST /v1/fuse chosen by judgements: every setting of a grid ranks each query's candidates; what
 * is chosen on four fifths of the queries is measured on the last one (five-fold cross-validation), so that
 * the gain is one that queries nobody has seen would have.
 */
import type { FuseRequest } from '../contract/fuse.js';
import { ask, candidatesOf, type CollectionText, type EvaluationParts } from './evaluate.js';
import { bootstrapped, measured, type Interval, type Judgements } from './measures.js';

/** Members of a request that are chosen. */
export interface Setting {
  readonly method: 'maxnorm' | 'rrf';
  readonly weights: { readonly bm25: number; readonly dense: number };
  readonly rrf_k: number;
  readonly k1: number;
  readonly b: number;
  /** `plain`, or a language. */
  readonly analyzer: string;
}

/** Today's setting of a request that says nothing. */
export const usualSetting: Setting = {
  method: 'maxnorm',
  weights: { bm25: 0.5, dense: 0.5 },
  rrf_k: 60,
  k1: 1.5,
  b: 0.75,
  analyzer: 'plain',
};

/** The settings that BM25 has. */
type Lexical = Pick<Setting, 'analyzer' | 'k1' | 'b'>;

/** The settings that fusion has. */
type Fusion = Omit<Setting, keyof Lexical>;

const k1s = [0.9, 1.2, 1.5, 2] as const;
const bs = [0.4, 0.75, 0.9] as const;
const tenths = Array.from({ length: 11 }, (_, at) => at);
const rrfs = [10, 60] as const;

function lexicals(analyzers: readonly string[]): Lexical[] {
  return analyzers.flatMap((analyzer) => k1s.flatMap((k1) => bs.map((b) => ({ analyzer, k1, b }))));
}

const fusions: readonly Fusion[] = tenths.flatMap((bm25) => {
  const weights = { bm25: bm25 / 10, dense: (10 - bm25) / 10 };
  return [
    { method: 'maxnorm', weights, rrf_k: 60 },
    ...rrfs.map((rrf) => ({ method: 'rrf', weights, rrf_k: rrf }) as const),
  ];
});

/** Every setting that is tried, today's among them. */
export function gridOf(analyzers: readonly string[]): Setting[] {
  return lexicals(analyzers).flatMap((lexical) => fusions.map((fusion) => ({ ...fusion, ...lexical })));
}

/** Both lists of one query's candidates, by their places in the request. */
interface ScoredLists {
  /** Places of the candidates in the collection. */
  readonly places: readonly number[];
  readonly bm25: readonly { readonly norm: number; readonly rank: number }[];
  readonly dense: readonly { readonly norm: number; readonly rank: number }[];
}

/** A query and its judgements. */
export interface TunedQuery {
  readonly text: string;
  readonly judged: Judgements;
}

/** The candidates in the order of a fusion, which computes what the native module computes. */
function orderOf({ places, bm25, dense }: ScoredLists, { method, weights, rrf_k: rrf }: Fusion): number[] {
  const rrfPart = (weight: number, rank: number): number => (2 * weight) / (rrf + rank);
  const scores = places.map((_, at) => {
    const [lexical, vector] = [bm25[at], dense[at]];
    if (lexical === undefined || vector === undefined) throw new Error('a candidate has no scores');
    return method === 'maxnorm'
      ? weights.bm25 * lexical.norm + weights.dense * vector.norm
      : rrfPart(weights.bm25, lexical.rank) + rrfPart(weights.dense, vector.rank);
  });
  const order = places.map((_, at) => at);
  // Sorting keeps the order of equal ones, as the native module does.
  order.sort((left, right) => (scores[right] ?? 0) - (scores[left] ?? 0));
  return order.map((at) => places[at] ?? 0);
}

/** The lists of a query's candidates under each setting of BM25. */
async function listsOf(
  parts: EvaluationParts,
  query: string,
  docs: readonly CollectionText[],
  grid: readonly Lexical[],
): Promise<ScoredLists[]> {
  const { places, dense } = await candidatesOf(parts, query, docs);
  const listed = places.map((place, at) => ({
    ...{ id: String(at), text: docs[place]?.text ?? '' },
    dense_score: dense[at] ?? 0,
  }));
  const lists: ScoredLists[] = [];
  for (const { analyzer, k1, b } of grid) {
    const request: FuseRequest = { query, docs: listed, k1, b, tokenizer: parts.tokenizer };
    const analyzed = analyzer === 'plain' ? {} : { analyzer };
    const { results } = await ask(parts, { ...request, ...analyzed, explain: true, return_text: false });
    const found: { bm25: ScoredLists['bm25'][number][]; dense: ScoredLists['dense'][number][] } = {
      bm25: [],
      dense: [],
    };
    for (const { id, explain } of results) {
      if (explain === undefined) throw new Error('a result is not explained');
      found.bm25[Number(id)] = { norm: explain.bm25_norm, rank: explain.bm25_rank };
      found.dense[Number(id)] = { norm: explain.dense_norm, rank: explain.dense_rank };
    }
    lists.push({ places, ...found });
  }
  return lists;
}

/** nDCG@10 of each query under each setting of the grid, in their orders. */
export async function tryGrid(
  parts: EvaluationParts,
  queries: readonly TunedQuery[],
  docs: readonly CollectionText[],
  analyzers: readonly string[],
  progress: (done: number) => void,
): Promise<number[][]> {
  const grid = lexicals(analyzers);
  const values: number[][] = [];
  for (const [at, { text, judged }] of queries.entries()) {
    progress(at);
    const lists = await listsOf(parts, text, docs, grid);
    values.push(
      lists.flatMap((list) => fusions.map((each) => measured(orderOf(list, each), judged).ndcg_at_10)),
    );
  }
  progress(queries.length);
  return values;
}

/** Parts of the queries that take turns as those that nothing is chosen on. */
export const folds = 5;

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Index of the setting with the best mean over some queries; of equal ones the first. */
function bestOf(rows: readonly (readonly number[])[], settings: number): number {
  const means = Array.from({ length: settings }, (_, setting) => mean(rows.map((row) => row[setting] ?? 0)));
  return means.indexOf(Math.max(...means));
}

/** What tuning came to. */
export interface Tuned {
  /** The setting that is best over all queries; without a gain the usual one. */
  readonly setting: Setting;
  readonly gains: boolean;
  /** nDCG@10 of the usual setting. */
  readonly usual: Interval;
  /** nDCG@10 of settings that were chosen without the queries that they are measured on. */
  readonly tuned: Interval;
  /** The difference, query by query. */
  readonly gain: Interval;
  /** Settings that were tried. */
  readonly settings: number;
}

/** Chooses by the values of {@link tryGrid}. The queries of a fold are every fifth. */
export function chosen(grid: readonly Setting[], values: readonly (readonly number[])[]): Tuned {
  const text = (setting: Setting): string => JSON.stringify(Object.entries(setting).sort());
  const usualAt = grid.findIndex((each) => text(each) === text(usualSetting));
  if (usualAt < 0) throw new Error('the usual setting is not in the grid');
  const usual = values.map((row) => row[usualAt] ?? 0);
  const tuned = values.map(() => 0);
  for (let fold = 0; fold < folds; fold += 1) {
    const best = bestOf(
      values.filter((_, at) => at % folds !== fold),
      grid.length,
    );
    for (let at = fold; at < values.length; at += folds) tuned[at] = values[at]?.[best] ?? 0;
  }
  const gain = bootstrapped(tuned.map((value, at) => value - (usual[at] ?? 0)));
  const gains = gain.low > 0;
  const setting = gains ? grid[bestOf(values, grid.length)] : usualSetting;
  return {
    setting: setting ?? usualSetting,
    gains,
    usual: bootstrapped(usual),
    tuned: bootstrapped(tuned),
    gain,
    settings: grid.length,
  };
}
