/** Orders and polls of a rail: functions for pages, and the API's routes. */
import type { Tiers } from '../access/tiers.js';
import type { CardOrderCreated } from '../contract/card.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { CreateOrderRequest, Order as OrderAnswer } from '../contract/orders.js';
import type { PricingResponse, Rail, Tier } from '../contract/pricing.js';
import { problemOf, type Problem } from '../contract/problem.js';
import type { OrderRecord } from '../store/tables/order.js';
import { checkoutAnswer, orderClosed, orderNotFound, orderPaid, svgAnswer } from './answers.js';
import type { OrderWish } from './order/book.js';
import { isPaid } from './order/orderView.js';
import type { PollRequest } from './order/poll.js';

/** The buyer, by the request; read before the order first awaits anything. */
export type Buyer = Pick<RouteRequest, 'caller' | 'header'>;

/** Why an order was refused. */
export interface Refusal {
  readonly ok: false;
  readonly status: 429 | 503;
  readonly problem: Problem;
  readonly retryAfterS: number;
}

/** Outcome of ordering. */
export type Ordered<Created> = { readonly ok: true; readonly order: Created } | Refusal;

/** Orders on a rail. */
export interface RailOrders<Created, View> {
  readonly order: (input: CreateOrderRequest, buyer: Buyer) => Promise<Ordered<Created>>;
  /** Polls the order at a place; undefined: there is none. */
  readonly poll: (place: string, request: PollRequest) => Promise<View | undefined>;
}

/** A rail's texts for pages that sell. */
interface RailWords {
  readonly title: string;
  /** When the key comes, or where the order is paid: a sentence. */
  readonly note: string;
}

/** The payment of an order. */
export interface HowToPay {
  /** The text to copy into a wallet. */
  readonly target: string;
  /** The URI that opens a wallet. */
  readonly uri: string;
  /** Noun for the target. */
  readonly noun: string;
}

/** An order as a page shows it; on chain with its payment's depth. */
export type OrderView = OrderAnswer & {
  readonly confirmations?: number;
  readonly confirmations_required?: number;
};

/** Orders of a rail that have pages on this server. */
export interface PagedOrders<Created extends OrderView = OrderView, View extends OrderView = OrderView>
  extends RailOrders<Created & { readonly claim_token: string }, View>, RailWords {
  readonly paid: 'here';
  /** The name of an order in the address of its page. */
  placeOf(order: Created): string;
  /** Undefined: the order asks for no money. */
  howToPay(order: View): HowToPay | undefined;
  /** Says what a payment does to an order that has ended: a sentence, or several. */
  latePayment(order: View): string;
}

/** Orders that are paid on the processor's page, which leads back here. */
export interface SentOrders extends Pick<RailOrders<CardOrderCreated, unknown>, 'order'>, RailWords {
  readonly paid: 'elsewhere';
}

/** Prices and orders, for pages that sell. */
export interface Shop {
  readonly prices: () => Promise<PricingResponse>;
  readonly orders: Readonly<Record<Rail, PagedOrders | SentOrders>>;
}

/** Refuses an order because its rail cannot accept the money now. */
export function railUnavailable(reason: string): Refusal {
  const problem = problemOf('rail_unavailable', `${reason} Nothing was ordered or charged.`);
  return { ok: false, status: 503, problem, retryAfterS: 30 };
}

/** The order that a request asks for, with its tier's price. */
export function wishOf(input: CreateOrderRequest, tiers: Tiers): OrderWish & { readonly tier: Tier } {
  return {
    tier: input.tier,
    sat: BigInt(tiers[input.tier].price_sat),
    termDays: tiers.term_days,
    email: input.email ?? null,
    source: input.source ?? null,
    segment: input.segment ?? null,
    campaign: input.campaign ?? null,
    eventId: input.event_id ?? null,
  };
}

/** A route that makes orders. */
export function createRoute({ order }: RailOrders<object, unknown>): Handler<CreateOrderRequest> {
  return async (request) => {
    const ordered = await order(request.input, request);
    if (ordered.ok) return checkoutAnswer(200, ordered.order);
    const answer = checkoutAnswer(ordered.status, ordered.problem);
    return { ...answer, headers: { ...answer.headers, 'retry-after': String(ordered.retryAfterS) } };
  };
}

/** The poll that a request asks for: its claim token is in a header or in the query. */
export function pollRequest(request: RouteRequest): PollRequest {
  return {
    claim: request.header('x-claim-token') || (request.query['claim'] ?? ''),
    mayAct: request.mayAct,
    aborted: () => request.aborted(),
  };
}

/** A route that polls orders; `parameter` names the path parameter with their place. */
export function pollRoute({ poll }: RailOrders<unknown, object>, parameter: string): Handler {
  return async (request) => {
    const view = await poll(request.path[parameter] ?? '', pollRequest(request));
    return view === undefined ? orderNotFound() : checkoutAnswer(200, view);
  };
}

/** A QR code as SVG, with the quiet zone of four modules that ISO/IEC 18004 requires. */
const qrOptions = { type: 'svg', margin: 4 } as const;

/**
 * Longest text whose code gets the best of the eight masks (bytes). To find it for a longer one, such as an
 * invoice with the names of many channels, takes milliseconds; a scanner reads every mask.
 */
const mostMasked = 512;

/** Draws a code. The text is taken as bytes: to search it for shorter notations takes most of the time. */
async function drawn(text: string): Promise<string> {
  // Loaded for the first code that is requested.
  const { toString: qrCode } = await import('qrcode');
  const data = Buffer.from(text);
  const mask = data.byteLength > mostMasked ? ({ maskPattern: 0 } as const) : {};
  return qrCode([{ data, mode: 'byte' }], { ...qrOptions, ...mask });
}

/**
 * A route that draws an order's payment request; `parameter` names the path parameter with its place. `uri`:
 * of the request; null: an order that is not paid asks for no money any more.
 */
export function qrRoute<Order extends OrderRecord>(
  find: (place: string) => Promise<Order | undefined>,
  parameter: string,
  uri: (order: Order) => string | null,
): Handler {
  return async (request): Promise<Answer> => {
    const found = await find(request.path[parameter] ?? '');
    if (found === undefined) return orderNotFound();
    if (isPaid(found)) return orderPaid();
    const requested = uri(found);
    return requested === null ? orderClosed() : svgAnswer(await drawn(requested));
  };
}
