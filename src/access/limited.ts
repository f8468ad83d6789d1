/** Limits of callers, and of addresses on routes with a limit by address. */
import type { TierLimits } from '../contract/pricing.js';
import type { RouteLimit } from '../contract/routes.js';
import { single, type Metric } from '../system/metrics.js';
import { rateLimitPolicy } from './rateLimit.js';
import { liftRoute } from './refusals.js';

/** Limits, whom they apply to, and how a 429 names them. */
export interface Limited {
  readonly limits: TierLimits;
  readonly policy: string;
  readonly who: string;
  /** Advice on lifting the limit a minute and the limit a month: each a sentence after a blank. */
  readonly lift: { readonly minute: string; readonly month: string };
}

/** Limits with the texts of their 429. `minute` and `month`: how the operator lifts each. */
export function limitedAs(limits: TierLimits, who: string, minute: string, month = minute): Limited {
  const { requests_per_minute: perMinute } = limits;
  return { limits, policy: perMinute === 0 ? '' : rateLimitPolicy(perMinute), who, lift: { minute, month } };
}

/** The routes' limits by address, from requests a minute; 0: no limit. */
export function limitedByRoute(
  routeLimits: Readonly<Record<RouteLimit, number>>,
): Readonly<Record<RouteLimit, Limited>> {
  const limits = Object.entries(routeLimits) as [RouteLimit, number][];
  const limited = limits.map(([limit, perMinute]): [RouteLimit, Limited] => {
    const who = `an address on this path${limit === 'markers' ? ', where each marker counts as one' : ''}`;
    const given = { requests_per_minute: perMinute, characters_per_month: 0 };
    return [limit, limitedAs(given, who, liftRoute(limit))];
  });
  // As many as there are limits.
  return Object.fromEntries(limited) as Record<RouteLimit, Limited>;
}

/**
 * Metrics of requests at limits: those that passed uncounted, those that shared a bucket, and charges that
 * were not stored.
 */
export function limitMetrics(uncounted: number, crowded: number, unstored: number): Metric[] {
  return [
    single(
      'counter',
      'fusegate_limits_uncounted_total',
      'Requests that passed uncounted because every slot for their limit was busy.',
      uncounted,
    ),
    single(
      'counter',
      'fusegate_limits_crowded_total',
      'Requests of addresses that found every slot busy and shared one bucket, refused ones included.',
      crowded,
    ),
    single(
      'counter',
      'fusegate_usage_unstored_total',
      'Charges of addresses without a key that were not stored: their network had reached its storage limit.',
      unstored,
    ),
  ];
}
