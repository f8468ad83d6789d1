/** `GET /v1/pricing` and `POST /v1/quote` (contract, QuoteRequest): what a key costs now. */
import type { Tiers } from '../access/tiers.js';
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import { tiers as tierNames } from '../contract/pricing.js';
import type { FiatPrice, PricingResponse, QuoteRequest, QuoteResponse, Tier } from '../contract/pricing.js';
import { timeText, type Clock } from '../system/clock.js';
import { btcText, centsOf } from './money.js';
import { paymentPaths, type RailChecks } from './rail.js';
import type { Rate, Rates } from './rates.js';

/** Parts of prices. */
export interface PricingParts {
  readonly tiers: Tiers;
  readonly rates: Rates;
  readonly rails: RailChecks;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** Time for which a quote may be shown (ms); it does not lock the price. */
const quoteMs = 600_000;

/** The price in US dollars of an amount, by a rate; null if there is no rate. */
export function fiatPrice(sat: bigint, surchargeBps: number, rate: Rate): FiatPrice | null {
  if ('reason' in rate) return null;
  return {
    currency: 'usd',
    amount_cents: Number(centsOf(sat, rate.cents, BigInt(surchargeBps))),
    surcharge_bps: surchargeBps,
    rate_cents: Number(rate.cents),
    rate_source: rate.source,
    rate_at: timeText(rate.atMs),
  };
}

/** The price of a tier in bitcoin. */
function bitcoinPrice(tiers: Tiers, tier: Tier): { btc: string; sat: number } {
  const { price_sat } = tiers[tier];
  return { btc: btcText(BigInt(price_sat)), sat: price_sat };
}

/** The price list. */
export async function pricesOf({ tiers, rates, rails }: PricingParts): Promise<PricingResponse> {
  const { surcharge_bps, term_days } = tiers;
  const [rate, paths, ...ofTiers] = await Promise.all([
    rates.current(),
    paymentPaths(rails, undefined),
    ...tierNames.map(async (tier) => ({ tier, payment_paths: await paymentPaths(rails, tier) })),
  ]);
  return {
    base_currency: 'BTC',
    surcharge_bps,
    term_days,
    fiat_reason: 'reason' in rate ? rate.reason : null,
    tiers: ofTiers.map(({ tier, payment_paths }) => {
      const { requests_per_minute, characters_per_month, price_sat } = tiers[tier];
      return {
        tier,
        ...bitcoinPrice(tiers, tier),
        fiat: fiatPrice(BigInt(price_sat), surcharge_bps, rate),
        limits: { requests_per_minute, characters_per_month },
        payment_paths,
      };
    }),
    rails: paths,
  };
}

/** Answers with the price list. */
export function pricing(parts: PricingParts): Handler {
  return async () => jsonAnswer(200, await pricesOf(parts));
}

/** Answers with one tier's price; nothing is locked or stored. */
export function quote({ tiers, rates, rails, clock }: PricingParts): Handler<QuoteRequest> {
  const { surcharge_bps, term_days } = tiers;
  return async ({ input: { tier, currency } }) => {
    const [rate, paths] = await Promise.all([rates.current(), paymentPaths(rails, tier)]);
    const { btc, sat } = bitcoinPrice(tiers, tier);
    const sinceMs = 'reason' in rate || rate.stays === true ? clock.wallMs() : rate.atMs;
    const body: QuoteResponse = {
      tier,
      currency,
      btc,
      sat,
      fiat: fiatPrice(BigInt(sat), surcharge_bps, rate),
      fiat_reason: 'reason' in rate ? rate.reason : null,
      term_days,
      payment_paths: paths,
      valid_until: timeText(sinceMs + quoteMs),
    };
    return jsonAnswer(200, body);
  };
}
