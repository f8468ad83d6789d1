/** The on-chain endpoints (contract, Checkout): order, poll, QR code. */
import { toString as qrCode } from 'qrcode';
import type { Tiers } from '../access/tiers.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { BitcoinOrder, BitcoinOrderCreated } from '../contract/bitcoin.js';
import type { CreateOrderRequest } from '../contract/orders.js';
import type { Problem } from '../contract/problem.js';
import { findOrder, type OrderRecord } from '../store/orders.js';
import { bip21 } from './addresses.js';
import {
  checkoutAnswer,
  checkoutProblem,
  isPaid,
  orderAnswer,
  orderNotFound,
  orderPaid,
  qrOptions,
  railUnavailable,
  svgAnswer,
} from './answers.js';
import type { AddressBusy, Bitcoin } from './bitcoin.js';
import { stateOf, unpolled, type BookParts, type Polled } from './book.js';
import { amountDueSat, confirmations, receivedSat, type BtcOrder } from './orders.js';
import { pollRoute } from './pollRoute.js';
import { derive } from '../system/masterSecret.js';

/** Parts of the endpoints. */
export interface BitcoinRoutesParts extends BookParts {
  /** Undefined where the operator has not set up the rail. */
  readonly bitcoin: Bitcoin | undefined;
  readonly tiers: Tiers;
}

const notConfigured = 'On-chain payments are not configured on this server.';

const path = '/v1/checkout/btc';

function onChain(order: OrderRecord): BtcOrder {
  const state = stateOf(order);
  if (state.rail !== 'btc') throw new Error(`Order ${order.id} is not on chain`);
  return state;
}

/** The URI that asks for what is due of an order. */
function paymentUri(order: OrderRecord): string {
  const state = onChain(order);
  return bip21(order.place, amountDueSat(state.price, receivedSat(state)));
}

function answerOf(polled: Polled): BitcoinOrder {
  const { order } = polled;
  return {
    ...orderAnswer(polled, `${path}/${order.id}`),
    address: order.place,
    bip21: isPaid(order) ? null : paymentUri(order),
    confirmations: confirmations(onChain(order)),
    confirmations_required: order.confirmationsRequired,
  };
}

/** Answer to an order while the limit of unpaid orders is reached. */
function railBusy(): Answer {
  const problem: Problem = {
    detail: 'Too many on-chain orders wait for their payment. Try again in a few minutes.',
    code: 'rail_busy',
  };
  const answer = checkoutAnswer(503, problem);
  return { ...answer, headers: { ...answer.headers, 'retry-after': '120' } };
}

/** Answer to an order of an address that has as many unpaid ones as it may. */
function addressBusy({ unpaid, untilMs }: AddressBusy, nowMs: number): Answer {
  const detail =
    `This address has ${unpaid} on-chain orders that wait for their payment, as many as it may. ` +
    'Pay one, wait until one ends, or pay another way. Nothing was ordered or charged.';
  const answer = checkoutProblem(429, 'rate_limited', detail);
  const seconds = Math.max(1, Math.ceil((untilMs - nowMs) / 1_000));
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(seconds) } };
}

/** Name under which an address' unpaid orders are counted: nobody reads the address from it. */
function nameOfAddress({ secrets }: BitcoinRoutesParts, address: Uint8Array): Uint8Array | undefined {
  if (address.byteLength === 0) return undefined;
  // The oldest secret: the name stays what it is when a new one is put before it.
  const oldest = secrets.at(-1) ?? secrets[0];
  return derive(oldest, 'ordered-by', Buffer.from(address).toString('hex')).subarray(0, 16);
}

/** Makes an order for a tier, with an address of its own. */
export function createBitcoinOrder(parts: BitcoinRoutesParts): Handler<CreateOrderRequest> {
  const { bitcoin, tiers, clock } = parts;
  return async (request) => {
    const { input } = request;
    if (bitcoin === undefined) return railUnavailable(notConfigured);
    const orderedBy = nameOfAddress(parts, request.caller());
    const made = await bitcoin.create({
      ...(orderedBy === undefined ? {} : { orderedBy }),
      tier: input.tier,
      sat: tiers[input.tier].price_sat,
      cents: null,
      rateCents: null,
      termDays: tiers.term_days,
      email: input.email ?? null,
      source: input.source ?? null,
      segment: input.segment ?? null,
      campaign: input.campaign ?? null,
      eventId: input.event_id ?? null,
    });
    if (made.kind === 'rail unavailable') return railUnavailable(made.reason);
    if (made.kind === 'rail busy') return railBusy();
    if (made.kind === 'address busy') return addressBusy(made, clock.wallMs());
    const body: BitcoinOrderCreated = {
      ...answerOf(unpolled(made.order)),
      bip21: paymentUri(made.order),
      claim_token: made.claimToken,
    };
    return checkoutAnswer(200, body);
  };
}

/** An order's id; anything else is nobody's. */
const idForm = /^[a-z2-7]{26}$/;

/** The order of a request as the store has it; undefined: there is none on chain. */
async function storedOrder(
  { store }: BitcoinRoutesParts,
  request: RouteRequest,
): Promise<OrderRecord | undefined> {
  const id = request.path['order_id'] ?? '';
  const found = await findOrder(store, idForm.test(id) ? id : '');
  return found?.rail === 'btc' ? found : undefined;
}

/** Polls an order, and hands out its key to the first poll after it is confirmed. */
export function bitcoinOrder(parts: BitcoinRoutesParts): Handler {
  const { bitcoin } = parts;
  return pollRoute({
    parts,
    stored: (request) => storedOrder(parts, request),
    refresh: bitcoin === undefined ? undefined : (order) => bitcoin.refresh(order),
    // The id of an on-chain order is known to its maker alone: it needs no second proof.
    demanded: { claimRequired: false },
    answerOf,
  });
}

/** An order's payment request, as a QR code. */
export function bitcoinQr(parts: BitcoinRoutesParts): Handler {
  return async (request): Promise<Answer> => {
    const found = await storedOrder(parts, request);
    if (found === undefined) return orderNotFound();
    if (isPaid(found)) return orderPaid();
    return svgAnswer(await qrCode(paymentUri(found), qrOptions));
  };
}
