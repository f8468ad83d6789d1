/** Card checkout on the wire (contract, card endpoints). */
import typia, { type tags } from 'typia';
import { checkout, claimHeadersType, claimQueryType, claimToken, ordered, orderRequest } from './orders.js';
import type { PolledKey } from './orders.js';
import { tiers, type Tier } from './pricing.js';
import { html, information, mebibyte, privateFields, read, stored, type ResourceRoutes } from './route.js';
import { get, getOther, post } from './schema/route.js';
import type { Integer } from './schema/tags.js';
import { annotated, wireTypes } from './schema/wireType.js';

/** Tier of the card status. */
export interface CardStatusQuery {
  tier?: Tier;
}

/** Defaults of absent parameters. */
export const cardStatusDefaults = { tier: 'growth' } as const satisfies CardStatusQuery;

/** Path of a card order. */
export interface CardOrderPath {
  session_id: string;
}

/** Query of the success page. */
export interface CardSuccessQuery {
  session_id?: string;
}

/** Defaults of absent parameters. */
export const cardSuccessDefaults = { session_id: '' } as const satisfies CardSuccessQuery;

/** Availability of card payments for a tier. */
export interface CardStatusResponse {
  rail: 'card';
  provider: 'stripe';
  configured: boolean;
  ready: boolean;
  /** Why not; null when ready. */
  reason: string | null;
  tier: Tier;
  amount_cents: (number & Integer & tags.Minimum<0>) | null;
  currency: 'usd' | null;
  /** Payment methods that Stripe reports for this account, by Stripe's names; empty where it reports none. */
  methods: string[];
  checkout_url: string | null;
}

/** A new card order. */
export interface CardOrderCreated {
  /** Identifies the order to the operator. */
  order_id: string;
  session_id: string;
  checkout_url: string;
  tier: Tier;
  amount_cents: number & Integer & tags.Minimum<0>;
  currency: 'usd';
  /** RFC 3339 UTC. */
  expires_at: string;
  /** Proves who made the order; keep it. */
  claim_token: string;
}

/** Effect of a webhook's event. */
export interface CardWebhookResponse {
  received: true;
  result: 'minted' | 'duplicate' | 'pending' | 'ignored' | 'mismatch' | 'recorded' | 'suspended' | 'revoked';
}

/** Readiness of card settlement. */
export interface CardWebhookStatusResponse {
  configured: boolean;
  /** Number of verification secrets in force. */
  secrets: number & Integer & tags.Minimum<0>;
  /** RFC 3339 UTC. */
  last_event_at: string | null;
  ready: boolean;
  /** Why not; null when ready. */
  reason: string | null;
}

/** Pickup of a card order. */
export interface CardPickupResponse extends PolledKey {
  /** Identifies the order to the operator; null until it is paid. */
  order_id: string | null;
  session_id: string;
  status: 'pending' | 'paid' | 'expired' | 'refunded';
  tier: Tier | null;
}

const [statusQuery, cardOrderPathType, successQuery] = wireTypes(
  typia.json.schemas<[CardStatusQuery, CardOrderPath, CardSuccessQuery]>(),
  { tier: tiers },
);

const cardStatusQueryType = annotated(statusQuery, { defaults: cardStatusDefaults });
const cardSuccessQueryType = annotated(successQuery, { defaults: cardSuccessDefaults });

const [
  cardOrderCreatedType,
  cardStatusResponseType,
  cardWebhookResponseType,
  cardWebhookStatusResponseType,
  cardPickupResponseType,
] = wireTypes(
  typia.json.schemas<
    [CardOrderCreated, CardStatusResponse, CardWebhookResponse, CardWebhookStatusResponse, CardPickupResponse]
  >(),
  { tier: tiers },
);

const cardSession = 'cs_test_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0';

const cardCreated: CardOrderCreated = {
  order_id: 'hq5vbd2gkzx3yodu7rnwtc4maq',
  session_id: cardSession,
  checkout_url: `https://checkout.stripe.com/c/pay/${cardSession}`,
  tier: 'growth',
  amount_cents: 16_500,
  currency: 'usd',
  expires_at: '2026-11-21T10:01:00.000Z',
  claim_token: claimToken,
};

const cardStatus: CardStatusResponse = {
  rail: 'card',
  provider: 'stripe',
  configured: true,
  ready: true,
  reason: null,
  tier: 'growth',
  amount_cents: 16_500,
  currency: 'usd',
  methods: ['card', 'paypal'],
  checkout_url: '/v1/checkout/card',
};

const cardWebhookStatus: CardWebhookStatusResponse = {
  configured: true,
  secrets: 1,
  last_event_at: '2026-11-21T09:30:00.000Z',
  ready: true,
  reason: null,
};

const cardPickup: CardPickupResponse = {
  order_id: 'hq5vbd2gkzx3yodu7rnwtc4maq',
  session_id: cardSession,
  status: 'pending',
  tier: null,
  api_key: null,
  key_status: 'none',
  key_detail: null,
  key_expires_at: null,
};

/** A webhook's event, shortened; its signature is over these bytes. */
const cardEvent = {
  id: 'evt_1S8yGf2eZvKYlo2C',
  object: 'event',
  type: 'checkout.session.completed',
  created: 1_795_253_400,
  livemode: false,
  data: { object: { id: cardSession, object: 'checkout.session', payment_status: 'paid' } },
};

/** Orders paid by card. */
export const cardRoutes = {
  createCardOrder: {
    ...ordered,
    path: '/v1/checkout/card',
    summary: 'Order a key, paid by card',
    description:
      'Creates a Stripe session for the tier’s price in US dollars at the current rate, which the order ' +
      'locks. Send the buyer to `checkout_url`, and pick up the key at ' +
      '`GET /v1/checkout/card/{session_id}`. `claim_token` proves who made the order: keep it, and send it ' +
      'with the polls as `X-Claim-Token`.',
    answers: { 200: { schema: cardOrderCreatedType, description: 'The order is on disk.' } },
    example: post('/v1/checkout/card', orderRequest, cardCreated),
  },
  cardStatus: {
    ...information,
    tag: 'checkout',
    fields: privateFields,
    path: '/v1/checkout/card/status',
    summary: 'Whether a tier can be paid by card now',
    description: '`ready` only if Stripe accepts the server’s key, settlement can run and there is a price.',
    parameters: { query: cardStatusQueryType },
    unprocessable: true,
    answers: { 200: { schema: cardStatusResponseType, description: 'The rail.' } },
    ...read,
    example: get('/v1/checkout/card/status?tier=growth', cardStatus),
  },
  cardWebhook: {
    ...stored,
    tag: 'checkout',
    fields: privateFields,
    path: '/v1/checkout/card/webhook',
    summary: 'Events of the card processor',
    description:
      'Stripe’s webhook: the signature in `Stripe-Signature` is verified over the bytes as received, ' +
      'before anything is parsed. Only this webhook settles card payments. An event takes effect once; ' +
      'later deliveries of it get `duplicate`. One that was a `mismatch` is judged again. Without a secret ' +
      'the webhook answers 503 and trusts nothing.',
    body: { kind: 'any', limit: mebibyte },
    reads: ['stripe-signature'],
    answers: { 200: { schema: cardWebhookResponseType, description: 'The effect of the event is on disk.' } },
    unprocessable: false,
    problems: {
      ...stored.problems,
      400: ['bad_signature'],
      429: ['rate_limited'],
      503: [...stored.problems[503], 'webhook_not_configured'],
    },
    limit: 'cardEvents',
    headers: ['ratelimit', 'ratelimit-policy'],
    cors: false,
    example: {
      request: {
        method: 'POST',
        path: '/v1/checkout/card/webhook',
        headers: {
          'content-type': 'application/json',
          'stripe-signature': `t=1795253400,v1=${'5f'.repeat(32)}`,
        },
        body: cardEvent,
      },
      response: { status: 200, type: 'application/json', body: { received: true, result: 'minted' } },
    },
  },
  cardWebhookStatus: {
    ...information,
    tag: 'checkout',
    fields: privateFields,
    path: '/v1/checkout/card/webhook/status',
    summary: 'Whether card settlement can run',
    description: 'Reveals no secret.',
    answers: { 200: { schema: cardWebhookStatusResponseType, description: 'The settlement.' } },
    ...read,
    problems: { ...read.problems, 503: ['store_unavailable'] },
    example: get('/v1/checkout/card/webhook/status', cardWebhookStatus),
  },
  cardOrder: {
    ...checkout,
    path: '/v1/checkout/card/{session_id}',
    summary: 'Pick up a key that was paid by card',
    description:
      'The first retrieval after the payment returns the key, once: `api_key` with `key_status` ' +
      '`revealed_now`. An open session is `pending`, and so is one that this server does not know.',
    parameters: { path: cardOrderPathType, query: claimQueryType, header: claimHeadersType },
    answers: { 200: { schema: cardPickupResponseType, description: 'The order.' } },
    acts: true,
    example: get(`/v1/checkout/card/${cardSession}`, cardPickup),
  },
  cardSuccess: {
    ...information,
    tag: 'checkout',
    fields: privateFields,
    path: '/card/success',
    summary: 'Page that a buyer returns to from the card processor',
    description:
      'A page, always with status 200. It waits for the payment; the first request after the payment is ' +
      'settled reveals the key, once.',
    parameters: { query: cardSuccessQueryType },
    answers: { 200: { type: html, description: 'The page.' } },
    unprocessable: true,
    cors: false,
    acts: true,
    ...read,
    limit: 'polls',
    example: getOther(`/card/success?session_id=${cardSession}`, html),
  },
} as const satisfies ResourceRoutes;
