/** On-chain orders as their buyers see them. */
import type { BitcoinOrder } from '../../contract/bitcoin.js';
import { receivedSat, type BtcOrder } from '../../store/tables/bitcoinOrder.js';
import { btcText } from '../money.js';
import { isPaid, orderView } from '../order/orderView.js';
import { amountDueSat, confirmations } from '../../store/tables/bitcoinOrder.js';
import type { Polled } from '../order/poll.js';

/** The URI of a payment (BIP 21): address and amount in bitcoin. */
export function bip21(address: string, sat: bigint): string {
  return `bitcoin:${address}?amount=${btcText(sat)}`;
}

/** The URI that requests the amount due of an order. */
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
