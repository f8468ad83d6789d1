/** Orders of every rail on the wire (contract, CreateOrderRequest). */
import typia, { type tags } from 'typia';
import { tiers, type Rail, type Tier } from './pricing.js';
import { information, kibibyte, privateFields, stored } from './route.js';
import { getOther } from './schema/route.js';
import type { Integer, MaxCodePoints } from './schema/tags.js';
import { annotated, bodyType, wireTypes } from './schema/wireType.js';

/** An order for a tier's key. */
export interface CreateOrderRequest {
  tier: Tier;
  /** Stored as sent; nothing is mailed to it. */
  email?: string | null;
  source?: (string & MaxCodePoints<32>) | null;
  segment?: (string & MaxCodePoints<64>) | null;
  campaign?: (string & MaxCodePoints<64>) | null;
  event_id?: (string & MaxCodePoints<64>) | null;
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

/** Whether an order's key can be seen; `claim_required`: only a poll with the claim token gets it. */
export type KeyStatus =
  'none' | 'claim_required' | 'revealed_now' | 'already_revealed' | 'suspended' | 'revoked';

/** Members about the key in the answer of a poll; they come last. */
export interface PolledKey {
  /** The raw key, once, with `key_status` `revealed_now`; else null. */
  api_key: string | null;
  key_status: KeyStatus;
  /** How to get the key, with `claim_required`; else null. */
  key_detail: string | null;
  /** Expiry of the key (RFC 3339 UTC); null: there is no key yet, or it does not expire. */
  key_expires_at: string | null;
}

/** Members of every order's answer, on chain and over Lightning. */
export interface Order extends PolledKey {
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
  /** True if the price was covered only after the order expired. */
  late: boolean;
  /** RFC 3339 UTC. */
  created_at: string;
  /** RFC 3339 UTC. */
  expires_at: string;
  status_url: string;
  qr_url: string;
}

const [requestType, queryType, headersType] = wireTypes(
  typia.json.schemas<[CreateOrderRequest, ClaimQuery, ClaimHeaders]>(),
  { tier: tiers },
);

const createOrderRequestType = bodyType(requestType, typia.createIs<CreateOrderRequest>());

/** The claim token as a query parameter. */
export const claimQueryType = annotated(queryType, { extensions: ['claim'] });

/** The claim token as a header. */
export const claimHeadersType = annotated(headersType, { extensions: ['x-claim-token'] });

const svg = 'image/svg+xml; charset=utf-8';

/** Members common to routes of the checkout that change nothing. */
export const checkout = {
  ...information,
  tag: 'checkout',
  unprocessable: true,
  limit: 'polls',
  problems: { 404: ['order_not_found'], 429: ['rate_limited'], 503: ['store_unavailable'] },
  headers: ['ratelimit', 'ratelimit-policy'],
  fields: privateFields,
} as const;

/** Members common to routes that show an order's payment request as a QR code. */
export const qrCode = {
  ...checkout,
  problems: { ...checkout.problems, 410: ['order_paid'] },
  limit: 'pages',
  answers: { 200: { type: svg, description: 'The QR code.' } },
} as const;

/** The example of such a route. */
export const qrExample = (path: string) => getOther(`${path}/qr.svg`, svg);

/** Members common to routes that make orders. */
export const ordered = {
  ...stored,
  tag: 'checkout',
  body: { kind: 'json', schema: createOrderRequestType, other: 'none', limit: 16 * kibibyte },
  limit: 'checkout',
  storesFromStrangers: true,
  problems: {
    ...stored.problems,
    429: ['rate_limited'],
    503: [...stored.problems[503], 'storage_reserved', 'rail_unavailable'],
  },
  headers: ['ratelimit', 'ratelimit-policy'],
  fields: privateFields,
} as const;

/** The body that orders a key, in examples. */
export const orderRequest: CreateOrderRequest = {
  tier: 'growth',
  email: 'ada@example.com',
  source: 'pricing',
  segment: null,
  campaign: null,
  event_id: null,
};

/** A claim token, in examples. */
export const claimToken = 'ct_4mJv2Tt9cYq0H8n3rXoWbK6sPZ1eLdUaGfQ7xVyIiBw';

/** No key yet, in examples. */
export const noKey = { api_key: null, key_status: 'none', key_detail: null, key_expires_at: null } as const;

/** An order whose price is covered, in examples; `path`: of its poll. */
export function coveredOrder(
  { order_id, rail, status, expires_at }: Pick<Order, 'order_id' | 'rail' | 'status' | 'expires_at'>,
  path: string,
): Order {
  return {
    ...{ order_id, rail, tier: 'growth', status, network: 'mainnet', btc: '0.00250000', sat: 250_000 },
    ...{ received_sat: 250_000, missing_sat: 0, overpaid_sat: 0, late: false },
    ...{ created_at: '2026-11-21T09:30:00.000Z', expires_at },
    ...{ status_url: path, qr_url: `${path}/qr.svg` },
    ...noKey,
  };
}
