/** The Wilson score interval of a share (E. B. Wilson, JASA 22, 1927), at 95 %. */
import type { AuditShare } from '../contract/audit.js';

/** The 97.5th percentile of the standard normal distribution. */
const Z = 1.959963984540054;

/** The share of `count` in `of` with its interval; for `of` 0, a share of 0 within the whole range. */
export function wilson(count: number, of: number): AuditShare {
  if (of === 0) return { share: 0, low: 0, high: 1 };
  const share = count / of;
  const square = (Z * Z) / of;
  const centre = (share + square / 2) / (1 + square);
  const reach = (Z / (1 + square)) * Math.sqrt((share * (1 - share)) / of + square / (4 * of));
  // At both ends the formula is exact, but binary64 is not.
  return {
    share,
    low: count === 0 ? 0 : Math.max(0, centre - reach),
    high: count === of ? 1 : Math.min(1, centre + reach),
  };
}
