/** Outcome of an evaluation, and its printed form. */
import { bootstrapped, measured, measures, SAMPLES } from '../search/measures.js';
import type { Interval, Measure } from '../search/measures.js';
import { legs, type Leg, type OwnLegs, type QueryRankings } from '../search/evaluate.js';
import type { Collection, JudgedQuery } from './collection.js';

/** Every measure of one ranking. */
export type Measured = Readonly<Record<Measure, Interval>>;

/** Measures of each list; `legs`: of the file's legs, fused. */
type Scope = Readonly<Record<Leg, Measured>> & { readonly legs?: Measured };

/** Figures of a collection, as `--json` prints them. */
export interface Evaluation {
  readonly docs: number;
  readonly judged: number;
  readonly model: string;
  /** SHA-256 of the model. */
  readonly digest: string;
  readonly tokenizer: string;
  readonly analyzer: string;
  /** Number of the docs whose statistics the requests used; absent: each request has its own. */
  readonly corpus?: number;
  /** The file's legs, if there is one. */
  readonly legs?: OwnLegs['legs'];
  readonly candidates: number;
  /** Confidence level of the intervals. */
  readonly confidence: number;
  readonly samples: number;
  /** Over the whole collection. */
  readonly whole: Scope;
  /** Over each query's candidates as one request. */
  readonly request: Scope;
}

/** Subject and method of an evaluation. */
export type EvaluationFacts = Pick<
  Evaluation,
  'model' | 'digest' | 'tokenizer' | 'analyzer' | 'corpus' | 'legs' | 'candidates'
>;

function summed(
  queries: readonly JudgedQuery[],
  rankings: readonly QueryRankings[],
  scope: keyof QueryRankings,
): Scope {
  const ofLeg = (leg: Leg | 'legs'): Measured => {
    const values = queries.map(({ judged }, at) => measured(rankings[at]?.[scope][leg] ?? [], judged));
    const entries = measures.map((measure) => [measure, bootstrapped(values.map((value) => value[measure]))]);
    return Object.fromEntries(entries) as Measured;
  };
  const names = rankings[0]?.[scope].legs === undefined ? legs : ([...legs, 'legs'] as const);
  return Object.fromEntries(names.map((leg) => [leg, ofLeg(leg)])) as Scope;
}

/** The figures of a collection's rankings, in the order of its queries. */
export function evaluationOf(
  { docs, queries }: Collection,
  rankings: readonly QueryRankings[],
  facts: EvaluationFacts,
): Evaluation {
  return {
    docs: docs.length,
    judged: queries.length,
    ...facts,
    confidence: 0.95,
    samples: SAMPLES,
    whole: summed(queries, rankings, 'whole'),
    request: summed(queries, rankings, 'request'),
  };
}

const headings: Readonly<Record<Measure, string>> = {
  ndcg_at_10: 'nDCG@10',
  mrr_at_10: 'MRR@10',
  recall_at_100: 'recall@100',
};

const columnWidth = 22;

function cell({ mean, low, high }: Interval): string {
  return `${mean.toFixed(4)} [${low.toFixed(3)}, ${high.toFixed(3)}]`.padEnd(columnWidth);
}

function table(title: string, scope: Scope): string[] {
  const heads = measures.map((measure) => headings[measure].padEnd(columnWidth));
  const rows = Object.entries(scope).map(
    ([leg, of]) => `  ${leg.padEnd(10)}${measures.map((measure) => cell(of[measure])).join('')}`,
  );
  return [title, `  ${''.padEnd(10)}${heads.join('')}`, ...rows, ''].map((line) => line.trimEnd());
}

/** The tables for people. */
export function renderEvaluation(name: string, evaluation: Evaluation): string {
  const { docs, judged, model, tokenizer, analyzer, corpus, candidates, samples, whole, request } =
    evaluation;
  const by = corpus === undefined ? '' : `, by the statistics of ${corpus} docs`;
  const cut = analyzer === 'plain' ? tokenizer : `${tokenizer}, analyzer ${analyzer}`;
  return [
    `${name}: ${docs} docs, ${judged} judged queries, model ${model}, tokenizer ${cut}`,
    '',
    ...table('Whole collection', whole),
    ...table(`The ${candidates} best of each query by BM25 as the request${by}`, request),
    `In brackets: 95 % intervals (bootstrap over the queries, ${samples} samples).`,
    '',
  ].join('\n');
}
