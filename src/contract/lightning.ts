/** Lightning checkout on the wire (contract, CreateOrderRequest; BOLT 11). */
import typia, { type tags } from 'typia';
import { checkout, claimHeadersType, claimQueryType, claimToken, ordered, orderRequest } from './orders.js';
import { coveredOrder, noKey, qrCode, qrExample, type Order } from './orders.js';
import { tiers, type Tier } from './pricing.js';
import { information, privateFields, read, type ResourceRoutes } from './route.js';
import { get, post } from './schema/route.js';
import type { Integer } from './schema/tags.js';
import { wireTypes } from './schema/wireType.js';

/** Path of a Lightning order. */
export interface LightningOrderPath {
  payment_hash: string;
}

/** A Lightning order. */
export interface LightningOrder extends Order {
  /** 64 hex characters. */
  payment_hash: string;
  /** BOLT 11 invoice; null once it is settled. */
  bolt11: string | null;
}

/** A new Lightning order. */
export interface LightningOrderCreated extends LightningOrder {
  /** BOLT 11 invoice. */
  bolt11: string;
  /** Proves who made the order; keep it. */
  claim_token: string;
}

/** Availability of Lightning payments for a tier. */
export interface LightningTierCapacity {
  tier: Tier;
  sat: number & Integer & tags.Minimum<0>;
  can_receive: boolean;
}

/** Amount that Lightning can receive now. */
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

const [lightningOrderPathType, lightningOrderType, lightningOrderCreatedType, lightningCapacityResponseType] =
  wireTypes(
    typia.json.schemas<
      [LightningOrderPath, LightningOrder, LightningOrderCreated, LightningCapacityResponse]
    >(),
    { tier: tiers },
  );

/** The payment hash of the invoice in the examples of BOLT 11. */
export const paymentHash = '0001020304050607080900010203040506070809000102030405060708090102';

const covered = {
  order_id: 'u4vzmvkyqbmb2lwyvswkpkxe6a',
  rail: 'lightning',
  status: 'settled',
  expires_at: '2026-11-21T09:45:00.000Z',
} as const;

const lightningOrder: LightningOrder = {
  ...coveredOrder(covered, `/v1/checkout/lightning/${paymentHash}`),
  api_key: 'fg_rMsLLdgJvAYk16LZJjBycLdhSUboUx9_dTDOuRg3ZeU1iwCpL',
  key_status: 'revealed_now',
  key_expires_at: '2026-12-21T09:31:00.000Z',
  payment_hash: paymentHash,
  bolt11: null,
};

const lightningCreated: LightningOrderCreated = {
  ...lightningOrder,
  status: 'pending',
  received_sat: 0,
  missing_sat: 250_000,
  ...noKey,
  bolt11:
    'lnbc2500u1pvjluezpp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu' +
    '9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven0' +
    '9sam30g4vgpfna3rh',
  claim_token: claimToken,
};

const capacity: LightningCapacityResponse = {
  configured: true,
  ready: true,
  reason: null,
  network: 'mainnet',
  inbound_sat: 1_830_000,
  tiers: [
    { tier: 'developer', sat: 50_000, can_receive: true },
    { tier: 'growth', sat: 250_000, can_receive: true },
    { tier: 'enterprise', sat: 2_000_000, can_receive: false },
  ],
  checked_at: '2026-11-21T09:30:00.000Z',
};

/** Orders paid over Lightning. */
export const lightningRoutes = {
  createLightningOrder: {
    ...ordered,
    path: '/v1/checkout/lightning',
    summary: 'Order a key, paid over Lightning',
    description:
      'Makes a BOLT 11 invoice for the tier’s price. `claim_token` proves who made the order: keep it, and ' +
      'send it with the polls as `X-Claim-Token`. With `Prefer: claim`, only polls that carry it reveal ' +
      'the key.',
    reads: ['prefer'],
    answers: { 200: { schema: lightningOrderCreatedType, description: 'The order is on disk.' } },
    example: post('/v1/checkout/lightning', orderRequest, lightningCreated),
  },
  lightningCapacity: {
    ...information,
    tag: 'checkout',
    fields: privateFields,
    path: '/v1/checkout/lightning/capacity',
    summary: 'Whether Lightning can receive a tier now',
    description: 'Compares the node’s live inbound liquidity with the price of each tier.',
    answers: { 200: { schema: lightningCapacityResponseType, description: 'What can be received.' } },
    ...read,
    example: get('/v1/checkout/lightning/capacity', capacity),
  },
  lightningOrder: {
    ...checkout,
    path: '/v1/checkout/lightning/{payment_hash}',
    summary: 'Poll a Lightning order',
    description:
      'Shows the order. The first poll after the invoice is settled returns the key, once: `api_key` with ' +
      '`key_status` `revealed_now`. Once a poll has carried the claim token, or ten minutes after the ' +
      'payment, only polls that carry the token reveal the key.',
    parameters: { path: lightningOrderPathType, query: claimQueryType, header: claimHeadersType },
    answers: { 200: { schema: lightningOrderType, description: 'The order.' } },
    acts: true,
    example: get(`/v1/checkout/lightning/${paymentHash}`, lightningOrder, { 'x-claim-token': claimToken }),
  },
  lightningQr: {
    ...qrCode,
    path: '/v1/checkout/lightning/{payment_hash}/qr.svg',
    summary: 'A Lightning order’s invoice as a QR code',
    description: 'Encodes `lightning:` and the invoice. 410 once the order is settled.',
    parameters: { path: lightningOrderPathType },
    example: qrExample(`/v1/checkout/lightning/${paymentHash}`),
  },
} as const satisfies ResourceRoutes;
