/**
 * Chooses settings of POST /v1/fuse by judgements. Every setting of a grid ranks each query's candidates. The
 * setting chosen on four fifths of the queries is measured on the last fifth (five-fold cross-validation), so
 * the gain is that of queries which did not take part in the choice.
 */
import type { FuseRequest } from '../contract/fuse.js';
import type { ProfileSettings } from '../contract/profiles.js';
import { ask, candidatesOf, type CollectionText, type EvaluationParts } from './evaluate.js';
import { bootstrapped, measured, type Interval, type Judgements } from './measures.js';

/** Normalizations of a list's scores that are tried; `max` is that of `maxnorm`. */
const tunedNorms = ['max', 'minmax', 'zscore'] as const;

/** One of the normalizations. */
type TunedNorm = (typeof tunedNorms)[number];

/** The settings of a request that are tuned. */
export interface Setting {
  readonly method: 'maxnorm' | 'rrf';
  /** Without effect for `rrf`. */
  readonly normalize: TunedNorm;
  readonly weights: { readonly bm25: number; readonly dense: number };
  readonly rrf_k: number;
  readonly k1: number;
  readonly b: number;
  /** `plain`, or a language. */
  readonly analyzer: string;
}

/** The default setting of a request. */
export const usualSetting: Setting = {
  method: 'maxnorm',
  normalize: 'max',
  weights: { bm25: 0.5, dense: 0.5 },
  rrf_k: 60,
  k1: 1.5,
  b: 0.75,
  analyzer: 'plain',
};

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The members of a request that select a setting, without those that are defaults. */
export function membersOf({ method, normalize, weights, rrf_k, k1, b, analyzer }: Setting): ProfileSettings {
  const leg = (weight: number): { weight: number; normalize: TunedNorm } => ({ weight, normalize });
  const weighted =
    normalize === 'max'
      ? same(weights, usualSetting.weights)
        ? {}
        : { weights }
      : { legs: { bm25: leg(weights.bm25), dense: leg(weights.dense) } };
  return {
    ...(method === 'rrf' ? { method, ...(rrf_k === usualSetting.rrf_k ? {} : { rrf_k }) } : {}),
    ...weighted,
    ...(k1 === usualSetting.k1 ? {} : { k1 }),
    ...(b === usualSetting.b ? {} : { b }),
    ...(analyzer === usualSetting.analyzer ? {} : { analyzer }),
  };
}

/** The settings of BM25. */
type Lexical = Pick<Setting, 'analyzer' | 'k1' | 'b'>;

/** The settings of fusion. */
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
    ...tunedNorms.map((normalize) => ({ method: 'maxnorm', normalize, weights, rrf_k: 60 }) as const),
    ...rrfs.map((rrf) => ({ method: 'rrf', normalize: 'max', weights, rrf_k: rrf }) as const),
  ];
});

/** Every setting that is tried, the default among them. */
export function gridOf(analyzers: readonly string[]): Setting[] {
  return lexicals(analyzers).flatMap((lexical) => fusions.map((fusion) => ({ ...fusion, ...lexical })));
}

/** A list of one query's candidates, by their index in the request. */
interface ScoredList {
  readonly norms: Readonly<Record<TunedNorm, readonly number[]>>;
  readonly ranks: readonly number[];
}

/** Both lists of one query's candidates. */
interface ScoredLists {
  /** Indexes of the candidates in the collection. */
  readonly places: readonly number[];
  readonly bm25: ScoredList;
  readonly dense: ScoredList;
}

function standardized(scores: readonly number[], equal: boolean): number[] {
  const average = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const squares = scores.reduce((sum, score) => sum + (score - average) * (score - average), 0);
  const deviation = Math.sqrt(squares / scores.length);
  return scores.map((score) => (equal || deviation === 0 ? 0 : (score - average) / deviation));
}

/** Normalized scores, computed with the same steps as in the native module. */
function normsOf(scores: readonly number[]): ScoredList['norms'] {
  const largest = scores.reduce((most, score) => Math.max(most, Math.abs(score)), 0);
  const max = scores.map((score) => (largest === 0 ? 0 : score / largest));
  if (largest === 0) return { max, minmax: max, zscore: max };
  const [least, most] = [Math.min(...max), Math.max(...max)];
  const spread = (norm: number): number =>
    least < most ? (norm - least) / (most - least) : Number(most > 0);
  return { max, minmax: max.map(spread), zscore: standardized(max, least === most) };
}

/** A query and its judgements. */
export interface TunedQuery {
  readonly text: string;
  readonly judged: Judgements;
}

/** Weights scaled to a sum of 1, as the native module scales them. */
function sharesOf({ bm25, dense }: Setting['weights']): [bm25: number, dense: number] {
  const larger = Math.max(bm25, dense);
  const [one, other] = [bm25 / larger, dense / larger];
  return [one / (one + other), other / (one + other)];
}

/** The candidates in the order of a fusion, computed as in the native module. */
function orderOf(
  { places, bm25, dense }: ScoredLists,
  { method, normalize, weights, rrf_k: rrf }: Fusion,
): number[] {
  const [lexical, vector] = sharesOf(weights);
  const rrfPart = (weight: number, rank = NaN): number => (2 * weight) / (rrf + rank);
  const [lexicalNorms, vectorNorms] = [bm25.norms[normalize], dense.norms[normalize]];
  const scores = places.map((_, at) =>
    method === 'maxnorm'
      ? lexical * (lexicalNorms[at] ?? NaN) + vector * (vectorNorms[at] ?? NaN)
      : rrfPart(lexical, bm25.ranks[at]) + rrfPart(vector, dense.ranks[at]),
  );
  if (scores.some((score) => Number.isNaN(score))) throw new Error('a candidate has no scores');
  const order = places.map((_, at) => at);
  // The sort is stable, as in the native module.
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
  const { places, dense: similarities } = await candidatesOf(parts, query, docs);
  const listed = places.map((place, at) => ({
    ...{ id: String(at), text: docs[place]?.text ?? '' },
    dense_score: similarities[at] ?? 0,
  }));
  const lists: ScoredLists[] = [];
  for (const { analyzer, k1, b } of grid) {
    const request: FuseRequest = { query, docs: listed, k1, b, tokenizer: parts.tokenizer };
    const analyzed = analyzer === 'plain' ? {} : { analyzer };
    const { results } = await ask(parts, { ...request, ...analyzed, explain: true, return_text: false });
    const [bm25, dense] = [new Array<number>(), new Array<number>()];
    const [bm25Ranks, denseRanks] = [new Array<number>(), new Array<number>()];
    for (const { id, bm25_score, dense_score, explain } of results) {
      if (explain === undefined) throw new Error('a result is not explained');
      const at = Number(id);
      [bm25[at], dense[at]] = [bm25_score, dense_score];
      [bm25Ranks[at], denseRanks[at]] = [explain.bm25_rank, explain.dense_rank];
    }
    const list = (scores: number[], ranks: number[]): ScoredList => ({ norms: normsOf(scores), ranks });
    lists.push({ places, bm25: list(bm25, bm25Ranks), dense: list(dense, denseRanks) });
  }
  return lists;
}

/** nDCG@10 of each query under each setting of the grid, in the order of both. */
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

/** Number of folds of the queries; each in turn is left out of the choice. */
export const folds = 5;

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Index of the setting with the best mean over some queries; the first of equal ones. */
function bestOf(rows: readonly (readonly number[])[], settings: number): number {
  const means = Array.from({ length: settings }, (_, setting) => mean(rows.map((row) => row[setting] ?? 0)));
  return means.indexOf(Math.max(...means));
}

/** Result of tuning. */
export interface Tuned {
  /** The best setting over all queries; without a gain, the default. */
  readonly setting: Setting;
  readonly gains: boolean;
  /** nDCG@10 of the default setting. */
  readonly usual: Interval;
  /** nDCG@10 of settings, each measured on queries that it was not chosen with. */
  readonly tuned: Interval;
  /** The difference, by query. */
  readonly gain: Interval;
  /** Settings that were tried. */
  readonly settings: number;
}

const usualEntries = Object.entries(usualSetting).sort();

/** Chooses from the values of {@link tryGrid}. A fold is every fifth query. */
export function chosen(grid: readonly Setting[], values: readonly (readonly number[])[]): Tuned {
  const usualAt = grid.findIndex((each) => same(Object.entries(each).sort(), usualEntries));
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

/** Values of a method of fusion, by the weight of BM25. */
export interface Curve {
  readonly name: string;
  readonly points: readonly { readonly bm25: number; readonly mean: number }[];
}

/** A curve for each method of fusion, with the BM25 settings of the best setting. */
export function curvesOf(
  grid: readonly Setting[],
  values: readonly (readonly number[])[],
): { readonly curves: readonly Curve[]; readonly best: Setting } {
  const best = grid[bestOf(values, grid.length)] ?? usualSetting;
  const curves = new Map<string, Curve['points'][number][]>();
  for (const [at, { method, normalize, rrf_k, weights, k1, b, analyzer }] of grid.entries()) {
    if (k1 !== best.k1 || b !== best.b || analyzer !== best.analyzer) continue;
    const name = method === 'rrf' ? `rrf ${rrf_k}` : normalize;
    const point = { bm25: weights.bm25, mean: mean(values.map((row) => row[at] ?? 0)) };
    curves.set(name, [...(curves.get(name) ?? []), point]);
  }
  return { curves: [...curves].map(([name, points]) => ({ name, points })), best };
}
