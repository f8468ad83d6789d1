/** `GET /v1/pricing` and `POST /v1/quote` on the wire (contract, QuoteRequest; money in integer units). */
import type { tags } from 'typia';
import type { Integer } from './tags.js';

/** What is sold. */
export const tiers = ['developer', 'growth', 'enterprise'] as const;

/** What is sold. */
export type Tier = (typeof tiers)[number];

/** What a quote can be in. */
export const currencies = ['btc', 'fiat'] as const;

/** A way to pay. */
export type Rail = 'btc' | 'lightning' | 'card';

/** Which price is wanted. */
export interface QuoteRequest {
  tier: Tier;
  currency: (typeof currencies)[number];
}

/** A price in US cents and how it came about. */
export interface FiatPrice {
  /** Currency code in lower case. */
  currency: 'usd';
  amount_cents: number & Integer & tags.Minimum<0>;
  /** Surcharge over the BTC price, in basis points. */
  surcharge_bps: number & Integer & tags.Minimum<0>;
  /** Cents a BTC. */
  rate_cents: number & Integer & tags.Minimum<0>;
  rate_source: string;
  /** When the rate was taken (RFC 3339 UTC). */
  rate_at: string;
}

/** Whether a rail can be used now. */
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
  /** Days a key lasts; 0: without end. */
  term_days: number & Integer & tags.Minimum<0>;
  payment_paths: PaymentPath[];
  /** RFC 3339 UTC. */
  valid_until: string;
}

/** What a tier's key may use; 0: no limit. */
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
}

/** The price list. */
export interface PricingResponse {
  base_currency: 'BTC';
  surcharge_bps: number & Integer & tags.Minimum<0>;
  term_days: number & Integer & tags.Minimum<0>;
  tiers: TierPrice[];
  rails: PaymentPath[];
}
