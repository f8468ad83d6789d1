/** Members of an order that buyers see on every rail. */
import type { KeyStatus, Order as OrderAnswer } from '../../contract/orders.js';
import type { Tier } from '../../contract/pricing.js';
import { heldOf, type OrderRecord } from '../../store/tables/order.js';
import type { Network } from '../../store/tables/orderRow.js';
import { btcText } from '../money.js';
import type { Polled } from './poll.js';
import { timeOrNull, timeText } from '../../system/clock.js';

/** True if an order's price is finally covered: it asks for no more money. */
export function isPaid({ status }: OrderRecord): boolean {
  return status === 'confirmed' || status === 'settled';
}

/** The sentence for a key's status; null if the buyer has nothing to do. */
export function keyDetail(status: KeyStatus): string | null {
  return status === 'claim_required'
    ? 'The key waits for a poll with the claim token that the order’s creation answered (X-Claim-Token).'
    : null;
}

/** An order that is paid in bitcoin. */
type BitcoinPaid = Extract<OrderRecord, { readonly network: Network }>;

/** Members of every order's answer. `path`: its route's path, from which its links are made. */
export function orderView(polled: Polled<BitcoinPaid>, path: string): OrderAnswer {
  const { order, apiKey, keyStatus } = polled;
  const [received, price] = [heldOf(order), order.sat];
  return {
    order_id: order.id,
    rail: order.rail,
    tier: order.tier as Tier,
    status: order.status,
    network: order.network,
    btc: btcText(price),
    sat: Number(price),
    received_sat: Number(received),
    missing_sat: Number(received < price ? price - received : 0n),
    overpaid_sat: Number(received > price ? received - price : 0n),
    late: order.late,
    created_at: timeText(order.createdAtMs),
    expires_at: timeText(order.expiresAtMs),
    status_url: path,
    qr_url: `${path}/qr.svg`,
    api_key: apiKey,
    key_status: keyStatus,
    key_detail: keyDetail(keyStatus),
    key_expires_at: timeOrNull(polled.keyExpiresAtMs),
  };
}
