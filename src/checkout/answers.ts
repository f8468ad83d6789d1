/** Answers of the checkout: never cached, never indexed, one 404 for unknown orders. */
import { jsonAnswer } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { KeyStatus, Order as OrderAnswer } from '../contract/orders.js';
import type { Tier } from '../contract/pricing.js';
import type { Problem, ProblemCode } from '../contract/problem.js';
import { privateFields } from '../contract/route.js';
import type { OrderRecord } from '../store/orders.js';
import { stateOf, type Polled, type PollWish } from './book.js';
import { btcText } from './money.js';
import { receivedSat } from './orders.js';
import type { Network } from './lightning.js';

/** An answer of the checkout. */
export function checkoutAnswer(status: number, json: unknown): Answer {
  return { ...jsonAnswer(status, json), headers: privateFields };
}

/** A problem that the checkout answers. */
export function checkoutProblem(status: number, code: ProblemCode, detail: string): Answer {
  const problem: Problem = { detail, code };
  return checkoutAnswer(status, problem);
}

/** The one answer to an unknown, a malformed and a foreign id. */
export function orderNotFound(): Answer {
  return checkoutProblem(404, 'order_not_found', 'There is no such order.');
}

/** Whether an order's price is covered for good: it asks for no more money. */
export function isPaid({ status }: OrderRecord): boolean {
  return status === 'confirmed' || status === 'settled';
}

/** The answer to whoever asks how to pay an order that is paid. */
export function orderPaid(): Answer {
  return checkoutProblem(
    410,
    'order_paid',
    'This order is paid. Send no more money to it; poll it for its key.',
  );
}

/** The sentence that goes with a key's status; null where there is nothing to do. */
export function keyDetail(status: KeyStatus): string | null {
  return status === 'claim_required'
    ? 'The key waits for a poll with the claim token that the order’s creation answered (X-Claim-Token).'
    : null;
}

/** End of the key, as answers show it. */
export function keyExpiresAt({ keyExpiresAtMs }: Polled): string | null {
  return keyExpiresAtMs === null ? null : new Date(keyExpiresAtMs).toISOString();
}

/** Answer to an order on a rail that cannot take the money now. */
export function railUnavailable(reason: string): Answer {
  const problem: Problem = { detail: `${reason} Nothing was ordered or charged.`, code: 'rail_unavailable' };
  const answer = checkoutAnswer(503, problem);
  return { ...answer, headers: { ...answer.headers, 'retry-after': '30' } };
}

/** Rights of a poll: its claim token, from the header or the query, and whether it may act. */
export function pollWish(
  request: RouteRequest,
  demanded: Pick<PollWish, 'claimRequired' | 'bareMs'>,
): PollWish {
  return {
    claim: request.header('x-claim-token') || (request.query['claim'] ?? ''),
    ...demanded,
    // A key that is revealed to nobody is lost.
    mayAct: request.mayAct && !request.aborted(),
  };
}

/** A QR code as SVG, with the quiet zone of four modules that ISO/IEC 18004 asks for. */
export const qrOptions = { type: 'svg', margin: 4 } as const;

/** A QR code's answer. */
export function svgAnswer(svg: string): Answer {
  const body = { bytes: svg, type: 'image/svg+xml; charset=utf-8' } as const;
  return { status: 200, body, headers: privateFields, charge: 0 };
}

/** Members of every order's answer. `path`: of its route, from which its links are made. */
export function orderAnswer(polled: Polled, path: string): OrderAnswer {
  const { order, apiKey, keyStatus } = polled;
  const received = receivedOf(order);
  const price = BigInt(order.sat);
  return {
    order_id: order.id,
    rail: order.rail,
    tier: order.tier as Tier,
    status: order.status as OrderAnswer['status'],
    network: order.network as Network,
    btc: btcText(price),
    sat: order.sat,
    received_sat: Number(received),
    missing_sat: Number(received < price ? price - received : 0n),
    overpaid_sat: Number(received > price ? received - price : 0n),
    late: order.late,
    created_at: new Date(order.createdAtMs).toISOString(),
    expires_at: new Date(order.expiresAtMs).toISOString(),
    status_url: path,
    qr_url: `${path}/qr.svg`,
    api_key: apiKey,
    key_status: keyStatus,
    key_detail: keyDetail(keyStatus),
    key_expires_at: keyExpiresAt(polled),
  };
}

function receivedOf(order: OrderRecord): bigint {
  const state = stateOf(order);
  return state.rail === 'btc' ? receivedSat(state) : BigInt(order.paid);
}
