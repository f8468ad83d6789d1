/** The Lightning endpoints (contract, Checkout): order, capacity, poll, QR code. */
import type { Tiers } from '../../access/tiers.js';
import type { Handler } from '../../contract/exchange.js';
import type {
  LightningCapacityResponse,
  LightningOrder as LightningOrderView,
  LightningOrderCreated,
} from '../../contract/lightning.js';
import { tiers as tierNames } from '../../contract/pricing.js';
import type { LightningOrder } from '../../store/tables/lightningOrder.js';
import type { Network } from '../../store/tables/orderRow.js';
import { findOrderAt } from '../../store/tables/orders.js';
import { checkoutAnswer } from '../answers.js';
import type { BookParts } from '../order/book.js';
import type { Lightning } from './lightning.js';
import { viewLightning } from './lightningView.js';
import {
  createRoute,
  pollRoute,
  qrRoute,
  railUnavailable,
  wishOf,
  type PagedOrders,
} from '../orderRoutes.js';
import { unpolled } from '../order/poll.js';
import { closedRail, notConfigured, pollOrder } from '../rail.js';
import { timeOrNull } from '../../system/clock.js';

/** Parts of the endpoints. */
export interface LightningRoutesParts extends BookParts {
  /** Undefined if the operator has not set up the rail. */
  readonly lightning: Lightning | undefined;
  readonly tiers: Tiers;
  /** True if a key is handed out only to polls that carry the claim token. */
  readonly claimRequired: boolean;
}

const payments = 'Lightning payments';

/** True if a `Prefer` field (RFC 7240) asks to bind the order to its claim token. */
function prefersClaim(prefer: string): boolean {
  return prefer.split(',').some((each) => /^\s*claim\s*(?:$|[;=])/i.test(each));
}

/** Form of a payment hash as LND writes it; any other text is unknown. */
const hashForm = /^[0-9a-f]{64}$/;

/**
 * Time after payment in which a poll without a claim token gets the order's key (ms). Every node on a
 * payment's route knows its hash: after this time such a node could still poll for an uncollected key.
 */
const bareMs = 600_000;

function findByHash({ store }: BookParts): (hash: string) => Promise<LightningOrder | undefined> {
  return async (hash) => (hashForm.test(hash) ? findOrderAt(store, 'lightning', hash) : undefined);
}

/** Orders over Lightning: each has an invoice. */
export function lightningOrders(
  parts: LightningRoutesParts,
): PagedOrders<LightningOrderCreated, LightningOrderView> {
  const { lightning, tiers, claimRequired } = parts;
  const rail = lightning ?? closedRail<LightningOrder>(payments);
  const demanded = { claimRequired, bareMs };
  const polled = { parts, rail, view: viewLightning, find: findByHash(parts), demanded };
  return {
    paid: 'here',
    title: 'Lightning',
    note: 'The key comes as soon as the invoice is settled.',
    placeOf: (order) => order.payment_hash,
    howToPay({ bolt11 }) {
      if (bolt11 === null) return undefined;
      return { target: bolt11, uri: `lightning:${bolt11}`, noun: 'invoice' };
    },
    // Only LND ends an order, and it accepts no payment of an invoice that it has canceled.
    latePayment: () => 'Its invoice has ended and cannot be paid: make a new order.',
    async order(input, buyer) {
      const claimed = prefersClaim(buyer.header('prefer'));
      const made = await rail.create({ ...wishOf(input, tiers), claimed });
      if (made.kind === 'rail unavailable') return railUnavailable(made.reason);
      const { order, claimToken } = made;
      const view = { ...viewLightning(unpolled(order)), bolt11: order.bolt11 };
      return { ok: true, order: { ...view, claim_token: claimToken } };
    },
    poll: (hash, request) => pollOrder(polled, hash, request),
  };
}

/** The invoice of an order as a QR code. */
export function lightningQr(parts: BookParts): Handler {
  return qrRoute(findByHash(parts), 'payment_hash', ({ bolt11 }) => `lightning:${bolt11}`);
}

/** Readiness of each tier. */
export function lightningCapacity({ lightning, tiers }: LightningRoutesParts): Handler {
  return async () => {
    const liquidity = await lightning?.liquidity();
    const inbound = liquidity?.inboundSat ?? null;
    const reason = liquidity === undefined ? notConfigured(payments).reason : liquidity.reason;
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
      checked_at: timeOrNull(liquidity?.checkedAtMs),
    };
    return checkoutAnswer(200, body);
  };
}

/** The handlers of the endpoints. */
export function lightningHandlers(parts: LightningRoutesParts) {
  const orders = lightningOrders(parts);
  return {
    createLightningOrder: createRoute(orders),
    lightningCapacity: lightningCapacity(parts),
    lightningOrder: pollRoute(orders, 'payment_hash'),
    lightningQr: lightningQr(parts),
  };
}
