/**
 * Chooses a threshold for `min_score` by judgements: the greatest one that keeps nearly all relevant
 * candidates. Measures the share of the others that it removes.
 */
import type { ProfileSettings } from '../contract/profiles.js';
import { ask, candidatesOf, type CollectionText, type EvaluationParts } from './evaluate.js';
import type { Judgements } from './measures.js';

/** Share of the relevant candidates that a threshold must keep. */
const keptShare = 0.95;

/** Least share of the other candidates that it must remove; below, it does not separate them. */
const leastCut = 0.5;

/** Fused scores of one query's candidates. */
export interface JudgedScores {
  readonly relevant: readonly number[];
  readonly others: readonly number[];
}

/** Why settings cannot be calibrated; undefined: they can. The collection has only texts. */
export function calibrationObstacle({
  legs = {},
  boosts = [],
  corpus,
  dense_kind: kind,
}: ProfileSettings): string | undefined {
  const sent = Object.keys(legs).filter((name) => name !== 'bm25' && name !== 'dense');
  if (sent.length > 0) return `Its legs need scores that a collection does not have: ${sent.join(', ')}.`;
  if (boosts.length > 0) return 'Its boosts need numbers that a collection does not have.';
  if (corpus?.name !== undefined) return 'It names a corpus: scores depend on its statistics.';
  return kind === 'distance' ? 'Its dense scores are distances, and a model makes similarities.' : undefined;
}

/** The settings that decide a candidate's score, without those that filter or reorder scored candidates. */
function scoring(settings: ProfileSettings): ProfileSettings {
  const afterwards = new Set(['min_score', 'collapse', 'diversify']);
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !afterwards.has(name)));
}

/** Scores the candidates of a query as a request with these settings does. */
export async function judgedScores(
  parts: EvaluationParts,
  query: string,
  judged: Judgements,
  docs: readonly CollectionText[],
  settings: ProfileSettings = {},
): Promise<JudgedScores> {
  const { tokenizer, analyzer } = parts;
  const { places, dense } = await candidatesOf(parts, query, docs);
  const listed = places.map((place, at) => ({
    ...{ id: String(place), text: docs[place]?.text ?? '' },
    dense_score: dense[at] ?? 0,
  }));
  const analyzed = analyzer === 'plain' ? {} : { analyzer };
  const request = { query, tokenizer, ...analyzed, ...scoring(settings), docs: listed, return_text: false };
  const { results } = await ask(parts, request);
  const scores = { relevant: [] as number[], others: [] as number[] };
  for (const { id, fused_score: score } of results) {
    scores[judged.has(Number(id)) ? 'relevant' : 'others'].push(score);
  }
  return scores;
}

/** Effect of a threshold on some queries' candidates. */
export interface Effect {
  /** Share of the relevant candidates that it keeps. */
  readonly kept: number;
  /** Share of the others that it removes. */
  readonly cut: number;
}

function shareOf(values: readonly number[], holds: (value: number) => boolean): number {
  return values.length === 0 ? 0 : values.filter(holds).length / values.length;
}

function effectOf(queries: readonly JudgedScores[], threshold: number): Effect {
  return {
    kept: shareOf(
      queries.flatMap(({ relevant }) => relevant),
      (score) => score >= threshold,
    ),
    cut: shareOf(
      queries.flatMap(({ others }) => others),
      (score) => score < threshold,
    ),
  };
}

/** The greatest threshold that keeps enough of the relevant candidates, rounded down to four digits. */
function thresholdOf(queries: readonly JudgedScores[]): number {
  const relevant = queries.flatMap((query) => query.relevant).sort((left, right) => left - right);
  const least = relevant[Math.floor((1 - keptShare) * relevant.length)] ?? 0;
  return Math.floor(least * 1e4) / 1e4;
}

/** Result of a calibration. */
export interface Calibrated {
  readonly threshold: number;
  /** On the queries that it was chosen with. */
  readonly chosen: Effect;
  /**
   * On queries that it was not chosen with: each half of them is measured with the threshold of the other
   * half.
   */
  readonly unseen: Effect;
  /** True if it removes enough of the others, on queries that it was not chosen with. */
  readonly separates: boolean;
}

/** Chooses the threshold; undefined if a half has no relevant candidate. */
export function calibrated(queries: readonly JudgedScores[]): Calibrated | undefined {
  const halves = [0, 1].map((half) => queries.filter((_, at) => at % 2 === half));
  if (halves.some((half) => half.every(({ relevant }) => relevant.length === 0))) return undefined;
  const threshold = thresholdOf(queries);
  // Scores are reduced by the other half's threshold, so both halves are counted as one, with 0 as theirs.
  const moved = halves.flatMap((half, at) => {
    const other = thresholdOf(halves[1 - at] ?? []);
    const against = (scores: readonly number[]): number[] => scores.map((score) => score - other);
    return half.map(({ relevant, others }) => ({ relevant: against(relevant), others: against(others) }));
  });
  const unseen = effectOf(moved, 0);
  return {
    threshold,
    chosen: effectOf(queries, threshold),
    unseen,
    separates: unseen.cut >= leastCut,
  };
}
