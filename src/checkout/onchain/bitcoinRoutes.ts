/** The on-chain endpoints (contract, Checkout): order, poll, QR code. */
import type { Tiers } from '../../access/tiers.js';
import type { Handler } from '../../contract/exchange.js';
import type { BitcoinOrder, BitcoinOrderCreated } from '../../contract/bitcoin.js';
import { problemOf } from '../../contract/problem.js';
import { networkNameBytes, watchedUntilMs, type BtcOrder } from '../../store/tables/bitcoinOrder.js';
import { findOrderOn } from '../../store/tables/orders.js';
import { deriveLasting } from '../../system/masterSecret.js';
import { networkOf } from '../../system/network.js';
import type { AddressBusy, Bitcoin } from './bitcoin.js';
import { paymentUri, requestedUri, viewOnChain } from './bitcoinView.js';
import type { BookParts } from '../order/book.js';
import { createRoute, pollRoute, qrRoute, railUnavailable, wishOf } from '../orderRoutes.js';
import type { PagedOrders, Refusal } from '../orderRoutes.js';
import { unpolled, type Polled } from '../order/poll.js';
import { closedRail, pollOrder } from '../rail.js';

/** Parts of the endpoints. */
export interface BitcoinRoutesParts extends BookParts {
  /** Undefined if the operator has not set up the rail. */
  readonly bitcoin: Bitcoin | undefined;
  readonly tiers: Tiers;
}

/** Refuses an order while the limit of unpaid orders is reached. */
const railBusy: Refusal = {
  ok: false,
  status: 503,
  problem: problemOf(
    'rail_busy',
    'Too many on-chain orders wait for their payment. Try again in a few minutes.',
  ),
  retryAfterS: 120,
};

/** Refuses an order: the client's address, or its network, has as many unconfirmed orders as it may. */
function addressBusy({ of, unpaid, untilMs }: AddressBusy, nowMs: number): Refusal {
  const detail =
    `This ${of} has ${unpaid} on-chain orders without a confirmed payment, as many as it may. ` +
    'Wait until one is confirmed or ends, or pay another way. Nothing was ordered or charged.';
  const retryAfterS = Math.max(1, Math.ceil((untilMs - nowMs) / 1_000));
  return { ok: false, status: 429, problem: problemOf('rate_limited', detail), retryAfterS };
}

/**
 * Id under which the unpaid orders of a client address and of its network are counted: keyed hashes of the
 * network and of the address, which hide them.
 */
function nameOfAddress({ secrets }: BitcoinRoutesParts, address: Uint8Array): Uint8Array | undefined {
  if (address.byteLength === 0) return undefined;
  const hashOf = (bytes: Uint8Array): Buffer =>
    deriveLasting(secrets, 'ordered-by', Buffer.from(bytes).toString('hex'));
  return Buffer.concat([
    hashOf(networkOf(address)).subarray(0, networkNameBytes),
    hashOf(address).subarray(0, 16),
  ]);
}

/** Says what a payment does to an order that has ended. */
function latePayment({ bip21, received_sat: received, expires_at: end }: BitcoinOrder): string {
  if (bip21 === null) {
    return (
      'Its address is no longer watched: send no money to it. ' +
      'About money that you have sent, ask the operator.'
    );
  }
  const until = new Date(watchedUntilMs({ expiresAtMs: Date.parse(end) })).toUTCString();
  if (received > 0) return `They still complete it until ${until}.`;
  return `A late payment still counts until ${until}; or make a new order.`;
}

/** Form of an order's id; any other text is unknown. */
const idForm = /^[a-z2-7]{26}$/;

function findOnChain({ store }: BookParts): (id: string) => Promise<BtcOrder | undefined> {
  return (id) => findOrderOn(store, 'btc', idForm.test(id) ? id : '');
}

/** Orders on chain: each has an address of its own. */
export function bitcoinOrders(parts: BitcoinRoutesParts): PagedOrders<BitcoinOrderCreated, BitcoinOrder> {
  const { bitcoin, tiers, clock } = parts;
  const rail = bitcoin ?? closedRail<BtcOrder>('On-chain payments');
  // Only the buyer knows the id of an on-chain order, so no claim token is needed.
  const unclaimed = { claimRequired: false };
  const view = (polled: Polled<BtcOrder>): BitcoinOrder => viewOnChain(polled, clock.wallMs());
  const polled = { parts, rail, view, find: findOnChain(parts), demanded: unclaimed };
  return {
    paid: 'here',
    title: 'Bitcoin, on chain',
    note: 'The key comes with the confirmations.',
    placeOf: (order) => order.order_id,
    howToPay: ({ address, bip21 }) =>
      bip21 === null ? undefined : { target: address, uri: bip21, noun: 'address' },
    latePayment,
    async order(input, buyer) {
      const orderedBy = nameOfAddress(parts, buyer.caller());
      const made = await rail.create({ ...wishOf(input, tiers), ...(orderedBy && { orderedBy }) });
      if (made.kind === 'rail unavailable') return railUnavailable(made.reason);
      if (made.kind === 'rail busy') return railBusy;
      if (made.kind === 'address busy') return addressBusy(made, clock.wallMs());
      const { order, claimToken } = made;
      const shown = { ...view(unpolled(order)), bip21: paymentUri(order) };
      return { ok: true, order: { ...shown, claim_token: claimToken } };
    },
    poll: (id, request) => pollOrder(polled, id, request),
  };
}

/** An order's payment request, as a QR code. */
export function bitcoinQr(parts: BookParts): Handler {
  const { clock } = parts;
  return qrRoute(findOnChain(parts), 'order_id', (order) => requestedUri(order, clock.wallMs()));
}

/** The handlers of the endpoints. */
export function bitcoinHandlers(parts: BitcoinRoutesParts) {
  const orders = bitcoinOrders(parts);
  return {
    createBitcoinOrder: createRoute(orders),
    bitcoinOrder: pollRoute(orders, 'order_id'),
    bitcoinQr: bitcoinQr(parts),
  };
}
