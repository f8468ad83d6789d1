/** On-chain checkout on the wire (contract, CreateOrderRequest; BIP 21). */
import typia, { type tags } from 'typia';
import { checkout, claimHeadersType, claimQueryType, claimToken, ordered, orderRequest } from './orders.js';
import { coveredOrder, qrCode, qrExample, type Order } from './orders.js';
import { tiers } from './pricing.js';
import type { ResourceRoutes } from './route.js';
import { get, post } from './schema/route.js';
import type { Integer } from './schema/tags.js';
import { wireTypes } from './schema/wireType.js';

/** Path of an on-chain order. */
export interface BitcoinOrderPath {
  order_id: string;
}

/** An on-chain order. */
export interface BitcoinOrder extends Order {
  address: string;
  /**
   * BIP 21 URI, for the missing amount if the order is underpaid; null once the order is confirmed, or no
   * longer watched, 30 days after its end.
   */
  bip21: string | null;
  confirmations: number & Integer & tags.Minimum<0>;
  confirmations_required: number & Integer & tags.Minimum<0>;
}

/** A new on-chain order. */
export interface BitcoinOrderCreated extends BitcoinOrder {
  /** BIP 21 URI. */
  bip21: string;
  /** Proves who made the order; keep it. */
  claim_token: string;
}

const [bitcoinOrderPathType, bitcoinOrderType, bitcoinOrderCreatedType] = wireTypes(
  typia.json.schemas<[BitcoinOrderPath, BitcoinOrder, BitcoinOrderCreated]>(),
  { tier: tiers },
);

/** The first address of the account in BIP 84, "Test vectors". */
const address = 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu';
const onChainPath = '/v1/checkout/btc/hq5vbd2gkzx3yodu7rnwtc4maq';

const covered = {
  order_id: 'hq5vbd2gkzx3yodu7rnwtc4maq',
  rail: 'btc',
  status: 'seen',
  expires_at: '2026-11-21T10:30:00.000Z',
} as const;

const bitcoinOrder: BitcoinOrder = {
  ...coveredOrder(covered, onChainPath),
  address,
  bip21: `bitcoin:${address}?amount=0.00250000`,
  confirmations: 1,
  confirmations_required: 2,
};

const bitcoinCreated: BitcoinOrderCreated = {
  ...bitcoinOrder,
  bip21: `bitcoin:${address}?amount=0.00250000`,
  status: 'pending',
  received_sat: 0,
  missing_sat: 250_000,
  confirmations: 0,
  claim_token: claimToken,
};

/** Orders paid on chain. */
export const bitcoinRoutes = {
  createBitcoinOrder: {
    ...ordered,
    path: '/v1/checkout/btc',
    summary: 'Order a key, paid on chain',
    description:
      'Returns an address that no other order ever gets, and the tier’s price. `claim_token` proves who ' +
      'made the order: keep it, and send it with the polls as `X-Claim-Token`.',
    answers: { 200: { schema: bitcoinOrderCreatedType, description: 'The order is on disk.' } },
    problems: { ...ordered.problems, 503: [...ordered.problems[503], 'rail_busy'] },
    example: post('/v1/checkout/btc', orderRequest, bitcoinCreated),
  },
  bitcoinOrder: {
    ...checkout,
    path: '/v1/checkout/btc/{order_id}',
    summary: 'Poll an on-chain order',
    description:
      'Shows the order and its known payments, unconfirmed ones included. The first poll after the order ' +
      'is confirmed returns the key, once: `api_key` with `key_status` `revealed_now`. Once a poll has ' +
      'carried the claim token, only polls that carry it reveal the key.',
    parameters: { path: bitcoinOrderPathType, query: claimQueryType, header: claimHeadersType },
    answers: { 200: { schema: bitcoinOrderType, description: 'The order.' } },
    acts: true,
    example: get(onChainPath, bitcoinOrder, { 'x-claim-token': claimToken }),
  },
  bitcoinQr: {
    ...qrCode,
    problems: { ...qrCode.problems, 410: [...qrCode.problems[410], 'order_closed'] },
    path: '/v1/checkout/btc/{order_id}/qr.svg',
    summary: 'An on-chain order’s payment as a QR code',
    description:
      'Encodes the BIP 21 URI: `bitcoin:`, address and amount. 410 once the order is confirmed, or is no ' +
      'longer watched.',
    parameters: { path: bitcoinOrderPathType },
    example: qrExample(onChainPath),
  },
} as const satisfies ResourceRoutes;
