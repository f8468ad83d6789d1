/** Lengths of tests: `npm test` runs a short form of what takes minutes, `npm run test:long` all of it. */

/** True in `npm run test:long`. */
export const isLong = process.env['FUSEGATE_LONG'] === '1';

/** A count that depends on the length of the run. */
export function forLength({ short, long }: { readonly short: number; readonly long: number }): number {
  return isLong ? long : short;
}

/** Draws of a property: all of them in `npm run test:long`, the first quarter of them in `npm test`. */
export function draws(all: number): number {
  return forLength({ short: Math.ceil(all / 4), long: all });
}
