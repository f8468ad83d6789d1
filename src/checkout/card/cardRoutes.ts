/** The card endpoints (contract, Checkout and Events): session, status, webhook, pickup, success page. */
import type { Tiers } from '../../access/tiers.js';
import { storeUnavailable } from '../../contract/answer.js';
import {
  cardStatusDefaults,
  type CardOrderCreated,
  type CardPickupResponse,
  type CardStatusResponse,
  type CardWebhookResponse,
  type CardWebhookStatusResponse,
} from '../../contract/card.js';
import type { Answer, Handler } from '../../contract/exchange.js';
import type { Tier } from '../../contract/pricing.js';
import { lastEventMs } from '../../store/tables/cardEvents.js';
import type { CardOrder } from '../../store/tables/cardOrder.js';
import { findOrderAt } from '../../store/tables/orders.js';
import { whenUnavailable } from '../../store/store.js';
import { timeOrNull, timeText, type Clock } from '../../system/clock.js';
import { checkoutAnswer, checkoutProblem } from '../answers.js';
import type { BookParts } from '../order/book.js';
import type { Card } from './card.js';
import { readCardEvent } from './cardEvents.js';
import { unknownSession, viewCard, type CardPickup } from './cardView.js';
import type { PollRequest } from '../order/poll.js';
import { createRoute, pollRoute, railUnavailable, wishOf } from '../orderRoutes.js';
import type { RailOrders, SentOrders } from '../orderRoutes.js';
import { fiatPrice } from '../pricing.js';
import { checkRoom, closedRail, notConfigured, pollOrder } from '../rail.js';
import type { StorageLimit } from '../rail.js';
import type { Rates } from '../rates.js';

/** Parts of the endpoints. */
export interface CardRoutesParts extends BookParts, StorageLimit {
  /** Undefined if the operator has not set up the rail. */
  readonly card: Card | undefined;
  readonly clock: Clock;
  readonly tiers: Tiers;
  readonly rates: Rates;
  /** Secrets that verify the webhook's signatures; none: it answers 503. */
  readonly webhookSecrets: readonly string[];
}

const payments = 'Card payments';

/** Readiness of a tier by card. */
export function cardStatus(parts: CardRoutesParts): Handler {
  const { card, tiers, rates } = parts;
  return async ({ query }) => {
    const tier = (query['tier'] ?? cardStatusDefaults.tier) as Tier;
    const readiness =
      card === undefined ? notConfigured(payments) : await checkRoom(parts, () => card.check());
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

/** Accepts an event of the processor whose signature matches the body's exact bytes. */
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
    const { verifiedEvent } = await import('./stripe.js');
    const signed = verifiedEvent(body, request.header('stripe-signature'), webhookSecrets, clock.wallMs());
    if (signed === undefined) {
      return checkoutProblem(
        400,
        'bad_signature',
        'No secret of this server signed this body within 5 minutes.',
      );
    }
    const event = readCardEvent(signed.event);
    // Signed by Stripe, but of another shape (a thin event, for example): a retry would be no different.
    if (event === undefined) return taken('ignored');
    const settled = await card.settle(event);
    return settled.kind === 'unanswered' ? storeUnavailable() : taken(settled.result);
  };
}

/** Readiness of card settlement; reveals no secret. */
export function cardWebhookStatus({ store, card, webhookSecrets }: CardRoutesParts): Handler {
  return async () => {
    const last = await lastEventMs(store);
    const ready = card !== undefined && webhookSecrets.length > 0;
    const missing = card === undefined ? notConfigured(payments).reason : 'The webhook has no secret.';
    const body: CardWebhookStatusResponse = {
      configured: ready,
      secrets: webhookSecrets.length,
      last_event_at: timeOrNull(last),
      ready,
      reason: ready ? null : missing,
    };
    return checkoutAnswer(200, body);
  };
}

/** Form of Stripe's session ids; any other text is unknown. */
const sessionForm = /^cs_(test|live)_\w{1,180}$/;

/** The order of a session, polled: every session has an answer. Undefined if the id is not a session's. */
function pickedUp(
  parts: CardRoutesParts,
): (session: string, request: PollRequest) => Promise<CardPickup | undefined> {
  // Only events report payments: a poll asks nobody, whether the rail is set up or not.
  const rail = closedRail<CardOrder>(payments);
  const find = (session: string): Promise<CardOrder | undefined> => findOrderAt(parts.store, 'card', session);
  const polled = { parts, rail, view: viewCard, find, demanded: { claimRequired: false } };
  return async (session, request) => {
    if (!sessionForm.test(session)) return undefined;
    return (await pollOrder(polled, session, request)) ?? unknownSession(session);
  };
}

/** Orders by card: each has a session at Stripe. */
export function cardOrders(
  parts: CardRoutesParts,
): RailOrders<CardOrderCreated, CardPickupResponse> & SentOrders {
  const { card } = parts;
  const pickUp = pickedUp(parts);
  return {
    paid: 'elsewhere',
    title: 'Card',
    note: 'Paid at Stripe, in US dollars.',
    async order(input) {
      if (card === undefined) return railUnavailable(notConfigured(payments).reason);
      const made = await card.create(wishOf(input, parts.tiers));
      if (made.kind === 'rail unavailable') return railUnavailable(made.reason);
      const { order, claimToken, url } = made;
      return {
        ok: true,
        order: {
          order_id: order.id,
          session_id: order.place,
          checkout_url: url,
          tier: input.tier,
          amount_cents: Number(order.cents),
          currency: 'usd',
          expires_at: timeText(order.expiresAtMs),
          claim_token: claimToken,
        },
      };
    },
    poll: async (session, request) => (await pickUp(session, request))?.pickup,
  };
}

/** The handlers of the endpoints. */
export function cardHandlers(parts: CardRoutesParts) {
  const orders = cardOrders(parts);
  return {
    createCardOrder: createRoute(orders),
    cardStatus: cardStatus(parts),
    cardWebhook: cardWebhook(parts),
    cardWebhookStatus: cardWebhookStatus(parts),
    cardOrder: pollRoute(orders, 'session_id'),
  };
}

/** A poll for the page to which a buyer returns; undefined while the store cannot be read. */
export type PickUpCard = (request: PollRequest, session: string) => Promise<CardPickup | undefined>;

/** Makes a {@link PickUpCard}. */
export function pickUpCard(parts: CardRoutesParts): PickUpCard {
  const pickUp = pickedUp(parts);
  return (request, session) => {
    const picked = pickUp(session, request).then((found) => found ?? unknownSession(session));
    return whenUnavailable(picked, () => undefined);
  };
}
