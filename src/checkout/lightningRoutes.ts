/** The Lightning endpoints (contract, Checkout): order, capacity, poll, QR code. */
import { toString as qrCode } from 'qrcode';
import type { Tiers } from '../access/tiers.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type {
  LightningCapacityResponse,
  LightningOrder,
  LightningOrderCreated,
} from '../contract/lightning.js';
import type { CreateOrderRequest } from '../contract/orders.js';
import { tiers as tierNames } from '../contract/pricing.js';
import { findOrderAt, type OrderRecord } from '../store/orders.js';
import {
  checkoutAnswer,
  isPaid,
  orderAnswer,
  orderNotFound,
  orderPaid,
  qrOptions,
  railUnavailable,
  svgAnswer,
} from './answers.js';
import { unpolled, type BookParts, type Polled } from './book.js';
import type { Lightning, Network } from './lightning.js';
import { pollRoute } from './pollRoute.js';

/** Parts of the endpoints. */
export interface LightningRoutesParts extends BookParts {
  /** Undefined where the operator has not set up the rail. */
  readonly lightning: Lightning | undefined;
  readonly tiers: Tiers;
  /** True if a key is handed out only to polls that carry the claim token. */
  readonly claimRequired: boolean;
}

const notConfigured = 'Lightning payments are not configured on this server.';

const path = '/v1/checkout/lightning';

/** The invoice of an order. */
function invoiceOf({ id, reference }: OrderRecord): string {
  if (reference === null) throw new Error(`Lightning order ${id} has no invoice`);
  return reference;
}

function answerOf(polled: Polled): LightningOrder {
  const { place } = polled.order;
  return {
    ...orderAnswer(polled, `${path}/${place}`),
    payment_hash: place,
    bolt11: isPaid(polled.order) ? null : invoiceOf(polled.order),
  };
}

/** True if a `Prefer` field (RFC 7240) asks that the order be bound to its claim token. */
function prefersClaim(prefer: string): boolean {
  return prefer.split(',').some((each) => /^\s*claim\s*(?:$|[;=])/i.test(each));
}

/** Makes an invoice for a tier. */
export function createLightningOrder(parts: LightningRoutesParts): Handler<CreateOrderRequest> {
  const { lightning, tiers } = parts;
  return async (request) => {
    const { input } = request;
    if (lightning === undefined) return railUnavailable(notConfigured);
    const made = await lightning.create({
      claimed: prefersClaim(request.header('prefer')),
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
    const body: LightningOrderCreated = {
      ...answerOf(unpolled(made.order)),
      bolt11: invoiceOf(made.order),
      claim_token: made.claimToken,
    };
    return checkoutAnswer(200, body);
  };
}

/** A payment hash as LND writes it; anything else is nobody's. */
const hashForm = /^[0-9a-f]{64}$/;

/**
 * How long after its payment an order's key is handed out to a poll without a claim token (ms): every node on
 * the route of a payment knows its hash, and need not be faster than the buyer later on.
 */
const bareMs = 600_000;

/** The order of a request as the store has it; undefined: there is none. */
function storedOrder(
  { store }: LightningRoutesParts,
  request: RouteRequest,
): Promise<OrderRecord | undefined> {
  const hash = request.path['payment_hash'] ?? '';
  if (!hashForm.test(hash)) return Promise.resolve(undefined);
  return findOrderAt(store, 'lightning', hash);
}

/** Polls an order, and hands out its key to the first poll after it settled. */
export function lightningOrder(parts: LightningRoutesParts): Handler {
  const { lightning, claimRequired } = parts;
  return pollRoute({
    parts,
    stored: (request) => storedOrder(parts, request),
    refresh: lightning === undefined ? undefined : (order) => lightning.refresh(order),
    demanded: { claimRequired, bareMs },
    answerOf,
  });
}

/** The invoice of an order as a QR code. */
export function lightningQr(parts: LightningRoutesParts): Handler {
  return async (request): Promise<Answer> => {
    const found = await storedOrder(parts, request);
    if (found === undefined) return orderNotFound();
    if (isPaid(found)) return orderPaid();
    return svgAnswer(await qrCode(`lightning:${invoiceOf(found)}`, qrOptions));
  };
}

/** Readiness of each tier. */
export function lightningCapacity({ lightning, tiers }: LightningRoutesParts): Handler {
  return async () => {
    const liquidity = await lightning?.liquidity();
    const inbound = liquidity?.inboundSat ?? null;
    const reason = liquidity === undefined ? notConfigured : liquidity.reason;
    const body: LightningCapacityResponse = {
      configured: lightning !== undefined,
      ready: reason === null,
      reason,
      network: (liquidity?.network ?? null) as Network | null,
      inbound_sat: inbound === null ? null : Number(inbound),
      tiers: tierNames.map((tier) => {
        const sat = tiers[tier].price_sat;
        return { tier, sat, can_receive: reason === null && inbound !== null && inbound >= BigInt(sat) };
      }),
      checked_at: liquidity === undefined ? null : new Date(liquidity.checkedAtMs).toISOString(),
    };
    return checkoutAnswer(200, body);
  };
}
