/** `GET /v1/pricing` and `POST /v1/quote` on the wire (contract, QuoteRequest; money in integer units). */
import typia, { type tags } from 'typia';
import { bodyProblems, information, kibibyte, read, type ResourceRoutes } from './route.js';
import { get, post } from './schema/route.js';
import type { Integer } from './schema/tags.js';
import { bodyType, wireTypes } from './schema/wireType.js';

/** Products. */
export const tiers = ['developer', 'growth', 'enterprise'] as const;

/** Products. */
export type Tier = (typeof tiers)[number];

/** Currencies of a quote. */
const currencies = ['btc', 'fiat'] as const;

/** Ways to pay, in the order of answers. */
export const rails = ['btc', 'lightning', 'card'] as const;

/** A way to pay. */
export type Rail = (typeof rails)[number];

/** The quote that is asked for. */
export interface QuoteRequest {
  tier: Tier;
  currency: (typeof currencies)[number];
}

/** A price in US cents and how it was computed. */
export interface FiatPrice {
  /** Currency code in lower case. */
  currency: 'usd';
  amount_cents: number & Integer & tags.Minimum<0>;
  /** Surcharge over the BTC price, in basis points. */
  surcharge_bps: number & Integer & tags.Minimum<0>;
  /** US cents per BTC. */
  rate_cents: number & Integer & tags.Minimum<0>;
  rate_source: string;
  /** Time of the rate (RFC 3339 UTC). */
  rate_at: string;
}

/** Readiness of a rail. */
export interface PaymentPath {
  rail: Rail;
  ready: boolean;
  /** Why not; null when ready. */
  reason: string | null;
}

/** A quote; it locks nothing. */
export interface QuoteResponse {
  tier: Tier;
  currency: (typeof currencies)[number];
  /** Amount in BTC with 8 decimals. */
  btc: string;
  sat: number & Integer & tags.Minimum<0>;
  fiat: FiatPrice | null;
  /** Why `fiat` is null; null when it is not. */
  fiat_reason: string | null;
  /** Days until a key expires; 0: never. */
  term_days: number & Integer & tags.Minimum<0>;
  payment_paths: PaymentPath[];
  /** RFC 3339 UTC. */
  valid_until: string;
}

/** Limits of a tier's key; 0: no limit. */
export interface TierLimits {
  requests_per_minute: number & Integer & tags.Minimum<0>;
  characters_per_month: number & Integer & tags.Minimum<0>;
}

/** One tier's price. */
export interface TierPrice {
  tier: Tier;
  /** Amount in BTC with 8 decimals. */
  btc: string;
  sat: number & Integer & tags.Minimum<0>;
  fiat: FiatPrice | null;
  limits: TierLimits;
  /** Each way to pay, for an order of this tier made now. */
  payment_paths: PaymentPath[];
}

/** The price list. */
export interface PricingResponse {
  base_currency: 'BTC';
  surcharge_bps: number & Integer & tags.Minimum<0>;
  term_days: number & Integer & tags.Minimum<0>;
  /** Why every `fiat` is null; null when they are not. */
  fiat_reason: string | null;
  tiers: TierPrice[];
  /** Each way to pay, whatever the tier. */
  rails: PaymentPath[];
}

const [requestType, quoteResponseType, pricingResponseType] = wireTypes(
  typia.json.schemas<[QuoteRequest, QuoteResponse, PricingResponse]>(),
  { tier: tiers, currency: currencies },
);

const quoteRequestType = bodyType(requestType, typia.createIs<QuoteRequest>());

/** A price at $60,000 a bitcoin, with 10 % added for fiat. */
function dollars(amount_cents: number): FiatPrice {
  return {
    currency: 'usd',
    amount_cents,
    surcharge_bps: 1_000,
    rate_cents: 6_000_000,
    rate_source: 'coinbase, kraken',
    rate_at: '2026-11-21T09:30:00.000Z',
  };
}

const paymentPaths: PaymentPath[] = [
  { rail: 'btc', ready: true, reason: null },
  { rail: 'lightning', ready: true, reason: null },
  { rail: 'card', ready: false, reason: 'Card payments are not configured on this server.' },
];

const pricing: PricingResponse = {
  base_currency: 'BTC',
  surcharge_bps: 1_000,
  term_days: 30,
  fiat_reason: null,
  tiers: [
    {
      tier: 'developer',
      btc: '0.00050000',
      sat: 50_000,
      fiat: dollars(3_300),
      limits: { requests_per_minute: 600, characters_per_month: 50_000_000 },
      payment_paths: paymentPaths,
    },
    {
      tier: 'growth',
      btc: '0.00250000',
      sat: 250_000,
      fiat: dollars(16_500),
      limits: { requests_per_minute: 6_000, characters_per_month: 1_000_000_000 },
      payment_paths: paymentPaths,
    },
    {
      tier: 'enterprise',
      btc: '0.02000000',
      sat: 2_000_000,
      fiat: dollars(132_000),
      limits: { requests_per_minute: 60_000, characters_per_month: 20_000_000_000 },
      payment_paths: paymentPaths,
    },
  ],
  rails: paymentPaths,
};

const quoteResponse: QuoteResponse = {
  tier: 'growth',
  currency: 'fiat',
  btc: '0.00250000',
  sat: 250_000,
  fiat: dollars(16_500),
  fiat_reason: null,
  term_days: 30,
  payment_paths: paymentPaths,
  valid_until: '2026-11-21T09:40:00.000Z',
};

/** GET /v1/pricing and POST /v1/quote. */
export const pricingRoutes = {
  pricing: {
    ...information,
    tag: 'checkout',
    path: '/v1/pricing',
    summary: 'What keys cost',
    description:
      'Prices in BTC, the surcharge, what each tier may use, and whether each way to pay can be used now. ' +
      'The price in US dollars is at the current rate, and null if no rate can be trusted.',
    answers: { 200: { schema: pricingResponseType, description: 'The price list.' } },
    ...read,
    example: get('/v1/pricing', pricing),
  },
  quote: {
    ...information,
    method: 'POST',
    tag: 'checkout',
    path: '/v1/quote',
    summary: 'What one tier costs now',
    description:
      'Locks and stores nothing. A way to pay is `ready` only if it could take the money now; else the ' +
      'reason is given.',
    body: { kind: 'json', schema: quoteRequestType, other: 'none', limit: 16 * kibibyte },
    answers: { 200: { schema: quoteResponseType, description: 'The quote.' } },
    unprocessable: true,
    ...read,
    problems: { ...bodyProblems, 429: ['rate_limited'], 503: ['overloaded'] },
    example: post('/v1/quote', { tier: 'growth', currency: 'fiat' }, quoteResponse),
  },
} as const satisfies ResourceRoutes;
