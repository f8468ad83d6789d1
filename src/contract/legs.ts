/**
 * `legs` and `boosts` of POST /v1/fuse: the lists to fuse, and numbers of docs that raise or lower the fused
 * score.
 */
import type { tags } from 'typia';
import { codePoints } from './schema/explain.js';
import type { Integer, MaxCodePoints, MinCodePoints } from './schema/tags.js';
import { type ValidationError, valueError } from './schema/validation.js';

/** Ways to make a list's scores comparable. */
export const legNorms = ['max', 'minmax', 'zscore', 'log1p', 'rank', 'none'] as const;

/** Ways to score a doc that has no score in a list. */
export const legMissing = ['zero', 'min'] as const;

/** Shapes of a boost. */
export const boostFunctions = ['exp', 'gauss', 'linear'] as const;

/** Most legs of a request. */
const maxLegs = 16;

/** Most code points of a leg's name. */
const maxName = 64;

/** One of the lists to fuse. */
export interface FuseLeg {
  /** Its weight in the fused score, 1 where absent; only the ratio to the others counts. */
  weight?: number & tags.Minimum<0>;
  /**
   * How its scores are made comparable. `max` (default) divides by the largest absolute value; `minmax` maps
   * the lowest to 0 and the highest to 1; `zscore` is the distance from the mean in standard deviations.
   * `log1p` takes ln(1 + score) and then `max`; `rank` is the share of docs that rank no higher; `none`
   * changes nothing.
   */
  normalize?: (typeof legNorms)[number];
  /**
   * The score of a doc that has none in this list: 0 (default), or the lowest that was sent. Not for `bm25`
   * and `dense`.
   */
  missing?: (typeof legMissing)[number];
}

/** A number of each doc that scales its score: by 1 at the best value, by less the farther away it is. */
export interface FuseBoost {
  /** Its name in the docs' `values`. */
  value: string & MinCodePoints<1> & MaxCodePoints<64>;
  /** The best value. */
  origin: number & tags.Minimum<-1e300> & tags.Maximum<1e300>;
  /** Distance from the origin, beyond the offset, at which the factor is `decay`. */
  scale: number & tags.Minimum<1e-9> & tags.Maximum<1e300>;
  /** Distance up to which the factor is 1; 0 where absent. */
  offset?: number & tags.Minimum<0> & tags.Maximum<1e300>;
  /** The factor at `scale`; 0.5 where absent. */
  decay?: number & tags.Minimum<0.001> & tags.Maximum<0.999>;
  /** The factor's shape; `exp` where absent. */
  function?: (typeof boostFunctions)[number];
  /** Share w of the score that the boost affects, 1 where absent: score · (1 − w + w · factor). */
  weight?: number & tags.Minimum<0> & tags.Maximum<1>;
}

/** A number of a doc, by name. */
export type NamedNumber = number & tags.Minimum<-1e300> & tags.Maximum<1e300>;

/** Contribution of a leg to a result. */
export interface LegExplanation {
  /** The doc's score in the list. */
  score: number;
  /** The same after `normalize`. */
  norm: number;
  /** Its part of the fused score. */
  part: number;
  /** Rank by this score alone, from 1. */
  rank: number & Integer & tags.Minimum<1>;
}

/** Effect of a boost on a result. */
export interface BoostExplanation {
  /** Its name. */
  value: string;
  /** The doc's number; null where it has none: the factor is then 1. */
  number: number | null;
  /** The factor of the score. */
  factor: number;
}

/** Legs and boosts of a request. */
export interface Weighted {
  readonly legs?: Readonly<Record<string, FuseLeg>>;
  readonly boosts?: readonly FuseBoost[];
  readonly weights?: unknown;
}

/** Errors of names of legs, and of settings that exclude each other. */
function legFaults({ legs, weights }: Weighted): ValidationError[] {
  if (legs === undefined) return [];
  const errors: ValidationError[] = [];
  const names = Object.keys(legs);
  if (names.length === 0 || names.length > maxLegs) {
    errors.push(valueError(['body', 'legs'], `1 to ${maxLegs} legs are fused`, undefined));
  }
  for (const name of names) {
    if (name === '' || codePoints(name) > maxName) {
      const shown = Array.from(name.slice(0, 2 * maxName))
        .slice(0, maxName)
        .join('');
      const sentence = `the name of a leg has 1 to ${maxName} characters`;
      errors.push(valueError(['body', 'legs', shown], sentence, undefined));
    }
  }
  for (const name of ['bm25', 'dense']) {
    if (Object.hasOwn(legs, name) && legs[name]?.missing !== undefined) {
      const sentence =
        name === 'dense' ? 'on_missing_dense says it for the dense list' : 'BM25 has a score of every doc';
      errors.push(valueError(['body', 'legs', name, 'missing'], sentence, legs[name].missing));
    }
  }
  if (names.length > 0 && Object.values(legs).every(({ weight }) => weight === 0)) {
    errors.push(valueError(['body', 'legs'], 'not all weights may be 0', legs));
  }
  if (weights !== undefined) {
    errors.push(valueError(['body', 'weights'], 'legs have weights of their own', weights));
  }
  return errors;
}

/** Errors of legs and boosts that fit their schemas. The native module finds names that no doc has. */
export function weightFaults(request: Weighted): ValidationError[] {
  const errors = legFaults(request);
  const values = (request.boosts ?? []).map(({ value }) => value);
  for (const [at, value] of values.entries()) {
    if (values.indexOf(value) < at) {
      errors.push(valueError(['body', 'boosts', at, 'value'], 'another boost has this value', value));
    }
  }
  return errors;
}
