/** On-chain orders as their buyers see them. */
import type { BitcoinOrder } from '../contract/bitcoin.js';
import { receivedSat, type BtcOrder } from '../store/order.js';
import { bip21 } from './addresses.js';
import { isPaid, orderView } from './orderView.js';
import { amountDueSat, confirmations } from './orders.js';
import type { Polled } from './poll.js';

/** The URI that requests the amount due of an order (BIP 21). */
export function paymentUri(order: BtcOrder): string {
  return bip21(order.place, amountDueSat(order.sat, receivedSat(order)));
}

/** The order as polls show it. */
export function viewOnChain(polled: Polled<BtcOrder>): BitcoinOrder {
  const { order } = polled;
  return {
    ...orderView(polled, `/v1/checkout/btc/${order.id}`),
    address: order.place,
    bip21: isPaid(order) ? null : paymentUri(order),
    confirmations: confirmations(order),
    confirmations_required: order.confirmationsRequired,
  };
}
