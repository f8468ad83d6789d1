/** BTC and Lightning checkout on the wire (contract, CreateOrderRequest; BIP 21, BOLT 11). */
import type { tags } from 'typia';
import type { Integer, MaxCodePoints } from './tags.js';
import type { Rail, Tier } from './pricing.js';

/** An order for a tier's key. */
export interface CreateOrderRequest {
  tier: Tier;
  /** Kept as it came; nothing is sent to it. */
  email?: string | null;
  source?: (string & MaxCodePoints<32>) | null;
  segment?: (string & MaxCodePoints<64>) | null;
  campaign?: (string & MaxCodePoints<64>) | null;
  event_id?: (string & MaxCodePoints<64>) | null;
}

/** Path of an on-chain order. */
export interface BitcoinOrderPath {
  order_id: string;
}

/** Path of a Lightning order. */
export interface LightningOrderPath {
  payment_hash: string;
}

/** Path of an order's page. */
export interface BuyOrderPath {
  rail: string;
  /** What the rail knows the order by. */
  order: string;
}

/** Query of the page that sells keys. */
export interface BuyQuery {
  /** The tier that is chosen already. */
  tier?: string;
}

/** The claim token as a query parameter. */
export interface ClaimQuery {
  /** Token given at creation; once used, only polls that carry it reveal the key. */
  claim?: string;
}

/** The claim token as a header. */
export interface ClaimHeaders {
  /** Token given at creation; once used, only polls that carry it reveal the key. */
  'x-claim-token'?: string;
}

/** Whether an order's key can be seen. */
export type KeyStatus = 'none' | 'revealed_now' | 'already_revealed' | 'suspended' | 'revoked';

/** What every order answers. */
export interface Order {
  order_id: string;
  rail: Rail;
  tier: Tier;
  status: 'pending' | 'seen' | 'underpaid' | 'confirmed' | 'settled' | 'expired';
  network: 'mainnet' | 'testnet' | 'signet' | 'regtest';
  /** Amount in BTC with 8 decimals. */
  btc: string;
  sat: number & Integer & tags.Minimum<0>;
  received_sat: number & Integer & tags.Minimum<0>;
  missing_sat: number & Integer & tags.Minimum<0>;
  overpaid_sat: number & Integer & tags.Minimum<0>;
  /** Paid after the order's end. */
  late: boolean;
  /** RFC 3339 UTC. */
  created_at: string;
  /** RFC 3339 UTC. */
  expires_at: string;
  status_url: string;
  qr_url: string;
  /** The raw key, once, with `key_status` `revealed_now`; else null. */
  api_key: string | null;
  key_status: KeyStatus;
}

/** An on-chain order. */
export interface BitcoinOrder extends Order {
  address: string;
  /** BIP 21 URI; of an underpaid order for what is missing. */
  bip21: string;
  confirmations: number & Integer & tags.Minimum<0>;
  confirmations_required: number & Integer & tags.Minimum<0>;
}

/** A Lightning order. */
export interface LightningOrder extends Order {
  /** 64 hex characters. */
  payment_hash: string;
  /** BOLT 11 invoice. */
  bolt11: string;
}

/** An on-chain order just made. */
export interface BitcoinOrderCreated extends BitcoinOrder {
  /** Proves who made the order; keep it. */
  claim_token: string;
}

/** A Lightning order just made. */
export interface LightningOrderCreated extends LightningOrder {
  /** Proves who made the order; keep it. */
  claim_token: string;
}

/** Whether one tier can be paid over Lightning now. */
export interface LightningTierCapacity {
  tier: Tier;
  sat: number & Integer & tags.Minimum<0>;
  can_receive: boolean;
}

/** What Lightning can receive now. */
export interface LightningCapacityResponse {
  configured: boolean;
  ready: boolean;
  /** Why not; null when ready. */
  reason: string | null;
  network: 'mainnet' | 'testnet' | 'signet' | 'regtest' | null;
  /** Live inbound liquidity. */
  inbound_sat: (number & Integer & tags.Minimum<0>) | null;
  tiers: LightningTierCapacity[];
  /** RFC 3339 UTC. */
  checked_at: string | null;
}
