/**
 * The obvious reading of a FuseRequest's `legs` and `boosts`. Sums run over `bm25`, `dense`, then the other
 * legs by the bytes of their names.
 */
import { exponential } from './exponential.js';
import { logarithm } from './logarithm.js';

/** One of the lists that are fused. */
export interface ReferenceLeg {
  readonly weight?: number | undefined;
  readonly normalize?: 'max' | 'minmax' | 'zscore' | 'log1p' | 'rank' | 'none' | undefined;
  readonly missing?: 'zero' | 'min' | undefined;
}

/** A number of docs that raises or lowers their scores. */
export interface ReferenceBoost {
  readonly value: string;
  readonly origin: number;
  readonly scale: number;
  readonly offset?: number | undefined;
  readonly decay?: number | undefined;
  readonly function?: 'exp' | 'gauss' | 'linear' | undefined;
  readonly weight?: number | undefined;
}

/** Numbers of a doc. */
export type Numbers = Readonly<Record<string, number>>;

/** The share of a leg in one doc's score. */
export interface LegPart {
  readonly score: number;
  readonly norm: number;
  readonly part: number;
  readonly rank: number;
}

/** A request, as far as legs go. */
interface Weighted {
  readonly docs: readonly { readonly scores?: Numbers | undefined }[];
  readonly legs?: Readonly<Record<string, ReferenceLeg>> | undefined;
  readonly method?: string | undefined;
  readonly rrf_k?: number | undefined;
}

/** The legs in the order in which they are summed. */
function inOrder(names: readonly string[]): string[] {
  const usual = ['bm25', 'dense'];
  const order = (name: string): number => (usual.includes(name) ? usual.indexOf(name) : usual.length);
  const bytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
  return [...names].sort((one, other) => order(one) - order(other) || bytes(one, other));
}

/** Weights of the legs in order, of which the sum is 1. */
function shares(legs: readonly ReferenceLeg[]): number[] {
  const weights = legs.map(({ weight = 1 }) => weight);
  const larger = Math.max(...weights);
  const sum = weights.reduce((total, weight) => total + weight / larger, 0);
  return weights.map((weight) => weight / larger / sum);
}

/** A list of which a doc may have no score. */
function filled(scores: readonly (number | undefined)[], { missing = 'zero' }: ReferenceLeg): number[] {
  const sent = scores.filter((score) => score !== undefined);
  const other = missing === 'min' ? Math.min(...sent) : 0;
  return scores.map((score) => score ?? other);
}

/** Scores made comparable. */
function norms(scores: readonly number[], ranks: readonly number[], how: string): number[] {
  const count = scores.length;
  const largest = Math.max(...scores.map(Math.abs));
  if (how === 'rank') return ranks.map((rank) => (count - rank + 1) / count);
  if (largest === 0) return scores.map(() => 0);
  const scaled = scores.map((score) => score / largest);
  const [least, most] = [Math.min(...scaled), Math.max(...scaled)];
  if (how === 'max') return scaled;
  // Too small for a logarithm of 1 and more.
  if (how === 'log1p' && 1 + largest === 1) return scaled;
  if (how === 'log1p') {
    const part = (score: number): number => logarithm(1 + Math.abs(score)) * (score < 0 ? -1 : 1);
    return scores.map((score) => part(score) / logarithm(1 + largest));
  }
  if (how === 'minmax') {
    if (least === most) return scaled.map(() => (most > 0 ? 1 : 0));
    return scaled.map((norm) => (norm - least) / (most - least));
  }
  if (how === 'zscore') {
    const mean = scaled.reduce((sum, norm) => sum + norm, 0) / count;
    const squares = scaled.reduce((sum, norm) => sum + (norm - mean) * (norm - mean), 0);
    const deviation = Math.sqrt(squares / count);
    return scaled.map((norm) => (least === most || deviation === 0 ? 0 : (norm - mean) / deviation));
  }
  return [...scores];
}

/** What a boost multiplies a doc's score by. */
export function factorOf(boost: ReferenceBoost, values: Numbers = {}): number {
  const { value, origin, scale, offset = 0, decay = 0.5, function: shape = 'exp', weight = 1 } = boost;
  if (!Object.hasOwn(values, value)) return 1;
  const distance = Math.max(0, Math.abs((values[value] ?? NaN) - origin) - offset);
  const ratio = distance / scale;
  const slope = -logarithm(1 / decay);
  const kept = {
    exp: () => exponential(slope * ratio),
    gauss: () => exponential(slope * (ratio * ratio)),
    linear: () => Math.max(0, 1 - (1 - decay) * ratio),
  };
  return 1 - weight + weight * kept[shape]();
}

/** Each leg's share in every doc's score, by its name, in the order of their sum. */
export function legParts(
  request: Weighted,
  [lexical, dense]: readonly [number[], number[]],
  ranks: (scores: readonly number[]) => number[],
): [string, LegPart[]][] {
  const { legs = {}, docs, rrf_k: k = 60 } = request;
  const names = inOrder(Object.keys(legs));
  const weights = shares(names.map((name) => legs[name] ?? {}));
  return names.map((name, at) => {
    const leg = legs[name] ?? {};
    const sent = docs.map(({ scores = {} }) => (Object.hasOwn(scores, name) ? scores[name] : undefined));
    const own = new Map([
      ['bm25', lexical],
      ['dense', dense],
    ]);
    const scores = own.get(name) ?? filled(sent, leg);
    const places = ranks(scores);
    const normed = norms(scores, places, leg.normalize ?? 'max');
    const weight = weights[at] ?? NaN;
    const parts = scores.map((score, doc) => {
      const [norm = NaN, rank = NaN] = [normed[doc], places[doc]];
      const part = request.method === 'rrf' ? (names.length * weight) / (k + rank) : weight * norm;
      return { score, norm, part, rank };
    });
    return [name, parts];
  });
}
