/** Figures of several rounds. */

/** Median, least and greatest of some rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Spread of at least one value. */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length / 2;
  const [low = NaN, high = NaN] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return { median: (low + high) / 2, min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN };
}

/** Round by round, one value divided by another. */
export function ratios(values: readonly number[], by: readonly number[]): Spread {
  return spread(values.map((value, round) => value / (by[round] ?? NaN)));
}

/** A figure for reading: three significant digits or whole, thousands apart. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '-';
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

/** Median with its least and greatest. */
export function figures({ median, min, max }: Spread): string {
  return `${figure(median)} (${figure(min)}–${figure(max)})`;
}
