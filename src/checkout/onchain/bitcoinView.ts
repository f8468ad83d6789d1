/** On-chain orders as their buyers see them. */
import type { BitcoinOrder } from '../../contract/bitcoin.js';
import { amountDueSat, confirmations, isWatched, receivedSat } from '../../store/tables/bitcoinOrder.js';
import type { BtcOrder } from '../../store/tables/bitcoinOrder.js';
import { btcText } from '../money.js';
import { isPaid, orderView } from '../order/orderView.js';
import type { Polled } from '../order/poll.js';

/** The URI of a payment (BIP 21): address and amount in bitcoin. */
export function bip21(address: string, sat: bigint): string {
  return `bitcoin:${address}?amount=${btcText(sat)}`;
}

/** The URI that requests the amount due of an order. */
export function paymentUri(order: BtcOrder): string {
  return bip21(order.place, amountDueSat(order.sat, receivedSat(order)));
}

/**
 * The payment request of an order; null: it asks for no money. A payment that arrives after the watch has
 * ended is lost to its buyer until the operator looks for it.
 */
export function requestedUri(order: BtcOrder, nowMs: number): string | null {
  // An order that is not open is not looked up, even if the clock was set back since.
  const isLookedUp = order.open && isWatched(order, nowMs);
  return isLookedUp && !isPaid(order) ? paymentUri(order) : null;
}

/** The order as polls show it. */
export function viewOnChain(polled: Polled<BtcOrder>, nowMs: number): BitcoinOrder {
  const { order } = polled;
  return {
    ...orderView(polled, `/v1/checkout/btc/${order.id}`),
    address: order.place,
    bip21: requestedUri(order, nowMs),
    confirmations: confirmations(order),
    confirmations_required: order.confirmationsRequired,
  };
}
