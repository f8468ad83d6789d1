/** The card endpoints (contract, Checkout and Events): session, status, webhook, pickup, success page. */
import type { Tiers } from '../access/tiers.js';
import {
  cardStatusDefaults,
  type CardOrderCreated,
  type CardPickupResponse,
  type CardStatusResponse,
  type CardWebhookResponse,
  type CardWebhookStatusResponse,
} from '../contract/card.js';
import { storeUnavailable } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { CreateOrderRequest } from '../contract/orders.js';
import type { Tier } from '../contract/pricing.js';
import { lastEventMs } from '../store/cardEvents.js';
import { findOrderAt } from '../store/orders.js';
import type { Clock } from '../system/clock.js';
import {
  checkoutAnswer,
  checkoutProblem,
  keyDetail,
  keyExpiresAt,
  orderNotFound,
  pollWish,
  railUnavailable,
} from './answers.js';
import { centsAskedFor, poll, type BookParts, type Polled } from './book.js';
import type { Card } from './card.js';
import { readCardEvent } from './cardEvents.js';
import { fiatPrice } from './pricing.js';
import type { Rates } from './rates.js';
import { verifiedEvent } from './stripe.js';
import { whenUnavailable } from '../store/store.js';

/** Parts of the endpoints. */
export interface CardRoutesParts extends BookParts {
  /** Undefined where the operator has not set up the rail. */
  readonly card: Card | undefined;
  readonly clock: Clock;
  readonly tiers: Tiers;
  readonly rates: Rates;
  /** Secrets that sign the webhook's events; none: it answers 503. */
  readonly webhookSecrets: readonly string[];
}

const notConfigured = 'Card payments are not configured on this server.';

/** Makes a session at the processor, and the order for it. */
export function createCardOrder({ card }: CardRoutesParts): Handler<CreateOrderRequest> {
  return async ({ input }) => {
    if (card === undefined) return railUnavailable(notConfigured);
    const made = await card.create({
      tier: input.tier,
      email: input.email ?? null,
      source: input.source ?? null,
      segment: input.segment ?? null,
      campaign: input.campaign ?? null,
      eventId: input.event_id ?? null,
    });
    if (made.kind === 'rail unavailable') return railUnavailable(made.reason);
    const { order, claimToken, url } = made;
    const body: CardOrderCreated = {
      order_id: order.id,
      session_id: order.place,
      checkout_url: url,
      tier: input.tier,
      amount_cents: Number(centsAskedFor(order)),
      currency: 'usd',
      expires_at: new Date(order.expiresAtMs).toISOString(),
      claim_token: claimToken,
    };
    return checkoutAnswer(200, body);
  };
}

/** Readiness of a tier by card. */
export function cardStatus({ card, tiers, rates }: CardRoutesParts): Handler {
  return async ({ query }) => {
    const tier = (query['tier'] ?? cardStatusDefaults.tier) as Tier;
    const readiness = card === undefined ? { ready: false, reason: notConfigured } : await card.check();
    const sat = BigInt(tiers[tier].price_sat);
    const price = fiatPrice(sat, tiers.surcharge_bps, await rates.current());
    const body: CardStatusResponse = {
      rail: 'card',
      provider: 'stripe',
      configured: card !== undefined,
      ready: readiness.ready,
      reason: 'reason' in readiness ? readiness.reason : null,
      tier,
      amount_cents: price?.amount_cents ?? null,
      currency: price?.currency ?? null,
      methods: card === undefined ? [] : [...(await card.methods())],
      checkout_url: readiness.ready ? '/v1/checkout/card' : null,
    };
    return checkoutAnswer(200, body);
  };
}

function taken(result: CardWebhookResponse['result']): Answer {
  const told: CardWebhookResponse = { received: true, result };
  return checkoutAnswer(200, told);
}

/** Takes an event of the processor, which its signature over these very bytes proves. */
export function cardWebhook(parts: CardRoutesParts): Handler {
  const { card, webhookSecrets, clock } = parts;
  return async (request): Promise<Answer> => {
    if (card === undefined || webhookSecrets.length === 0) {
      return checkoutProblem(
        503,
        'webhook_not_configured',
        'This server takes no card events: no secret is set.',
      );
    }
    const body = Buffer.from(request.body);
    const signed = verifiedEvent(body, request.header('stripe-signature'), webhookSecrets, clock.wallMs());
    if (signed === undefined) {
      return checkoutProblem(
        400,
        'bad_signature',
        'No secret of this server signed this body within 5 minutes.',
      );
    }
    const event = readCardEvent(signed.event);
    // Stripe's, but of another shape (thin events, say): sent again it would be no other.
    if (event === undefined) return taken('ignored');
    const settled = await card.settle(event);
    return settled.kind === 'unanswered' ? storeUnavailable() : taken(settled.result);
  };
}

/** Readiness of card settlement; tells nothing secret. */
export function cardWebhookStatus({ store, card, webhookSecrets }: CardRoutesParts): Handler {
  return async () => {
    const last = await lastEventMs(store);
    const ready = card !== undefined && webhookSecrets.length > 0;
    const missing = card === undefined ? notConfigured : 'The webhook has no secret.';
    const body: CardWebhookStatusResponse = {
      configured: ready,
      secrets: webhookSecrets.length,
      last_event_at: last === undefined ? null : new Date(last).toISOString(),
      ready,
      reason: ready ? null : missing,
    };
    return checkoutAnswer(200, body);
  };
}

/** Session ids as Stripe makes them; anything else is nobody's. */
const sessionForm = /^cs_(test|live)_\w{1,180}$/;

/** State of a session, for its buyer. */
const shownStatus = {
  open: 'pending',
  paid: 'paid',
  revealed: 'paid',
  disputed: 'paid',
  expired: 'expired',
  failed: 'expired',
  refunded: 'refunded',
  revoked: 'refunded',
} as const;

function pickupOf(session: string, polled: Polled | undefined): CardPickupResponse {
  if (polled === undefined) {
    const noKey = { api_key: null, key_status: 'none', key_detail: null, key_expires_at: null } as const;
    return { ...noKey, order_id: null, tier: null, session_id: session, status: 'pending' };
  }
  const { order, apiKey, keyStatus } = polled;
  const isOpen = order.status === 'open';
  return {
    // Until it is paid an order looks like one that does not exist.
    order_id: isOpen ? null : order.id,
    session_id: session,
    status: shownStatus[order.status as keyof typeof shownStatus],
    tier: isOpen ? null : (order.tier as Tier),
    api_key: apiKey,
    key_status: keyStatus,
    key_detail: keyDetail(keyStatus),
    key_expires_at: keyExpiresAt(polled),
  };
}

/** The order of a session, polled; undefined: there is none, or its session is not one. */
async function pickUp(
  parts: CardRoutesParts,
  request: RouteRequest,
  session: string,
): Promise<Polled | undefined> {
  if (!sessionForm.test(session)) return undefined;
  const found = await findOrderAt(parts.store, 'card', session);
  if (found === undefined) return undefined;
  return poll(parts, found, pollWish(request, { claimRequired: false }));
}

/** Shows a session's order, and hands out its key to the first poll after it was paid. */
export function cardOrder(parts: CardRoutesParts): Handler {
  return async (request) => {
    const session = request.path['session_id'] ?? '';
    if (!sessionForm.test(session)) return orderNotFound();
    const polled = await pickUp(parts, request, session);
    return checkoutAnswer(200, pickupOf(session, polled));
  };
}

/** State of a session for its buyer, and when its key was handed out (ms since 1970), if it was. */
export interface CardPickup {
  readonly pickup: CardPickupResponse;
  readonly revealedAtMs: number | null;
}

/**
 * {@link cardOrder} for the page that a buyer comes back to: any session has an answer. Undefined while the
 * store cannot be read.
 */
export type PickUpCard = (request: RouteRequest, session: string) => Promise<CardPickup | undefined>;

/** Makes a {@link PickUpCard}. */
export function pickUpCard(parts: CardRoutesParts): PickUpCard {
  return async (request, session) => {
    const picked = pickUp(parts, request, session).then((polled) => {
      return { pickup: pickupOf(session, polled), revealedAtMs: polled?.order.revealedAtMs ?? null };
    });
    return whenUnavailable(picked, () => undefined);
  };
}
