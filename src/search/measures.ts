/**
 * Measures of a ranking against judgements, as in trec_eval (Järvelin and Kekäläinen 2002 for nDCG), and the
 * confidence interval of a mean over queries.
 */

/** Grade of each judged doc above 0, by its index in the collection. */
export type Judgements = ReadonlyMap<number, number>;

/** Measures of a ranking. */
export const measures = ['ndcg_at_10', 'mrr_at_10', 'recall_at_100'] as const;

/** One of the measures. */
export type Measure = (typeof measures)[number];

function discounted(grades: readonly number[]): number {
  return grades.reduce((sum, grade, at) => sum + grade / Math.log2(at + 2), 0);
}

/** Discounted cumulative gain of the first ten, divided by that of the best ranking; gains are the grades. */
function ndcg(ranking: readonly number[], judged: Judgements): number {
  const best = [...judged.values()].sort((left, right) => right - left).slice(0, 10);
  return discounted(ranking.slice(0, 10).map((doc) => judged.get(doc) ?? 0)) / discounted(best);
}

/** 1 / rank of the first relevant doc among the first ten; 0 if there is none. */
function reciprocalRank(ranking: readonly number[], judged: Judgements): number {
  const first = ranking.slice(0, 10).findIndex((doc) => judged.has(doc));
  return first < 0 ? 0 : 1 / (first + 1);
}

/** Share of the relevant docs that are among the first hundred. */
function recall(ranking: readonly number[], judged: Judgements): number {
  return ranking.slice(0, 100).filter((doc) => judged.has(doc)).length / judged.size;
}

/** Every measure of a ranking: indexes of docs, best first. `judged`: at least one. */
export function measured(ranking: readonly number[], judged: Judgements): Record<Measure, number> {
  return {
    ndcg_at_10: ndcg(ranking, judged),
    mrr_at_10: reciprocalRank(ranking, judged),
    recall_at_100: recall(ranking, judged),
  };
}

/** A mean and its confidence interval. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** Number of samples of a bootstrap. */
export const SAMPLES = 2_000;

/** Pseudorandom numbers below `count` with a fixed seed: Park and Miller's minimal standard generator. */
function chooser(count: number): () => number {
  let state = 20_261_121;
  return () => {
    state = (state * 48_271) % 0x7fff_ffff;
    return state % count;
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * The mean of a value for each query with its 95 % interval (percentile bootstrap over the queries, Efron
 * 1979). Equal values give equal intervals: the seed is fixed.
 */
export function bootstrapped(values: readonly number[]): Interval {
  const choose = chooser(values.length);
  const means = Array.from({ length: SAMPLES }, () => mean(values.map(() => values[choose()] ?? 0)));
  means.sort((left, right) => left - right);
  const at = (share: number): number => means[Math.round(share * (SAMPLES - 1))] ?? 0;
  return { mean: mean(values), low: at(0.025), high: at(0.975) };
}
