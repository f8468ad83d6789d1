/** Card checkout on the wire (contract, card endpoints). */
import type { tags } from 'typia';
import type { Integer } from './tags.js';
import type { KeyStatus } from './orders.js';
import type { Tier } from './pricing.js';

/** Which tier the card status is about. */
export interface CardStatusQuery {
  tier?: Tier;
}

/** What a query that leaves a parameter out gets. */
export const cardStatusDefaults = { tier: 'growth' } as const satisfies CardStatusQuery;

/** Path of a card order. */
export interface CardOrderPath {
  session_id: string;
}

/** Query of the success page. */
export interface CardSuccessQuery {
  session_id?: string;
}

/** What a query that leaves a parameter out gets. */
export const cardSuccessDefaults = { session_id: '' } as const satisfies CardSuccessQuery;

/** Whether a tier can be paid by card now. */
export interface CardStatusResponse {
  rail: 'card';
  provider: 'stripe';
  configured: boolean;
  ready: boolean;
  /** Why not; null when ready. */
  reason: string | null;
  tier: Tier;
  amount_cents: (number & Integer & tags.Minimum<0>) | null;
  currency: 'usd' | null;
  methods: string[];
  checkout_url: string | null;
}

/** A card session made here. */
export interface CardOrderCreated {
  session_id: string;
  checkout_url: string;
  tier: Tier;
  amount_cents: number & Integer & tags.Minimum<0>;
  currency: 'usd';
  /** RFC 3339 UTC. */
  expires_at: string;
  /** Proves who made the order; keep it. */
  claim_token: string;
}

/** What the webhook did with an event. */
export interface CardWebhookResponse {
  received: true;
  result: 'minted' | 'duplicate' | 'pending' | 'ignored' | 'mismatch' | 'recorded' | 'suspended' | 'revoked';
}

/** Whether card settlement can run. */
export interface CardWebhookStatusResponse {
  configured: boolean;
  /** Verification secrets in force. */
  secrets: number & Integer & tags.Minimum<0>;
  /** RFC 3339 UTC. */
  last_event_at: string | null;
  ready: boolean;
  /** Why not; null when ready. */
  reason: string | null;
}

/** Pickup of a card order. */
export interface CardPickupResponse {
  session_id: string;
  status: 'pending' | 'paid' | 'expired' | 'refunded';
  tier: Tier | null;
  /** The raw key, once, with `key_status` `revealed_now`; else null. */
  api_key: string | null;
  key_status: KeyStatus;
}
