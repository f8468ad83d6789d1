/** The route table: every route that has a handler, and all that http and the OpenAPI document need of it. */
import type { OtherMediaType } from './body.js';
import type { Handler } from './exchange.js';
import type { ProblemCode } from './problem.js';
import type { ParameterSets, RequestBodies, ResponseBodies } from './schemas.js';

/** How a request's body reaches the handler. */
export type RouteBody =
  | { readonly kind: 'none' }
  | {
      /** The handler gets the bytes, whatever they are and whatever media type names them. */
      readonly kind: 'any';
      readonly limit: number;
    }
  | {
      /**
       * `json`: checked before the handler runs, which gets the value as `input`. `raw`: the handler gets the
       * bytes and checks them itself; only the media type is checked before.
       */
      readonly kind: 'json' | 'raw';
      readonly schema: keyof RequestBodies;
      /** Media type taken besides JSON. */
      readonly other: OtherMediaType;
      /** Bytes; a longer body is refused before it is read. */
      readonly limit: number;
    };

/** The body of a documented answer: JSON of a schema, or a media type. */
export type RouteAnswer =
  | {
      readonly schema: keyof ResponseBodies;
      readonly description: string;
      /** Other media types that `Accept` may ask for. */
      readonly also?: readonly string[];
    }
  | { readonly type: string; readonly description: string };

/** Header fields an answer may carry besides those that all do. */
export type AnswerHeader =
  'server-timing' | 'ratelimit' | 'ratelimit-policy' | 'location' | 'idempotent-replayed';

/** A limit by address that some routes have, besides or in place of a key's. */
export type RouteLimit =
  | 'audits'
  | 'leads'
  | 'checkout'
  | 'submissions'
  | 'markers'
  | 'previews'
  | 'clicks'
  | 'explorations'
  | 'polls'
  | 'pages'
  | 'cardEvents';

/** One route. */
export interface Route {
  readonly method: 'GET' | 'POST';
  /** Path template; `{name}` stands for one segment. */
  readonly path: string;
  /** Which address serves it: `gateway` is contract part A, `door` part B. */
  readonly part: 'gateway' | 'door';
  /** Whether every address serves it, whatever its part. */
  readonly everywhere?: boolean;
  /** Heading in the reference page. */
  readonly tag: 'fuse' | 'normalize' | 'audit' | 'checkout' | 'outreach' | 'information' | 'door';
  /** Shown beside the path. */
  readonly summary: string;
  /** Markdown. */
  readonly description: string;
  readonly body: RouteBody;
  /** Largest answer (bytes) to a caller without a key; any where absent. */
  readonly keylessAnswerLimit?: number;
  readonly parameters: {
    readonly path?: keyof ParameterSets;
    readonly query?: keyof ParameterSets;
    readonly header?: keyof ParameterSets;
  };
  /** `public`: no key is looked at. `key`: an `X-API-Key` may come and decides the limits. */
  readonly access: 'public' | 'key';
  /** The limit by address that counts requests to a public route; none where absent. */
  readonly limit?: RouteLimit;
  /** A second limit by address, which counts what an answer charges: a request alone does not tell it. */
  readonly counts?: RouteLimit;
  /** Whether it stores what a stranger sends: refused while little of the disk is left. */
  readonly storesFromStrangers?: boolean;
  /** Answers by status, problems and 422 left out. */
  readonly answers: Readonly<Record<number, RouteAnswer>>;
  /** Whether a 422 is declared. */
  readonly unprocessable: boolean;
  /** Every problem code the route may send, by status. */
  readonly problems: Readonly<Record<number, readonly ProblemCode[]>>;
  readonly headers: readonly AnswerHeader[];
  /** Request header fields that the handler reads besides its parameters, in lower case. */
  readonly reads?: readonly string[];
  /** Whether pages of other origins may read the answers. */
  readonly cors: boolean;
  /** Whether a GET changes something; HEAD and prefetches must not reach its action. */
  readonly acts: boolean;
  /** Whether the OpenAPI document lists it. */
  readonly documented: boolean;
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** What most information routes have in common. */
const information = {
  method: 'GET',
  part: 'gateway',
  tag: 'information',
  body: { kind: 'none' },
  parameters: {},
  access: 'public',
  unprocessable: false,
  problems: {},
  headers: [],
  cors: true,
  acts: false,
  documented: true,
} as const;

/** What routes have that people and their programs read, by address, often and cheaply. */
const read = {
  limit: 'pages',
  problems: { 429: ['rate_limited'] },
  headers: ['ratelimit', 'ratelimit-policy'],
} as const;

/** Every problem of a route whose callers may bring a key and whose body the handler reads. */
const keyedProblems = {
  401: ['invalid_api_key', 'key_expired', 'key_revoked', 'key_suspended'],
  408: ['body_timeout'],
  413: ['body_too_large'],
  415: ['unsupported_encoding'],
  429: ['rate_limited'],
} as const;

const html = 'text/html; charset=utf-8';

/** What routes that store a JSON body have in common. */
const stored = {
  method: 'POST',
  part: 'gateway',
  tag: 'outreach',
  parameters: {},
  access: 'public',
  unprocessable: true,
  problems: {
    408: ['body_timeout'],
    413: ['body_too_large'],
    415: ['unsupported_encoding'],
    503: ['overloaded', 'store_unavailable'],
  },
  headers: [],
  cors: true,
  acts: false,
  documented: true,
} as const;

/** What routes that store what a stranger sends have besides. */
const storedFromStrangers = {
  ...stored,
  limit: 'leads',
  storesFromStrangers: true,
  problems: {
    ...stored.problems,
    429: ['rate_limited'],
    503: [...stored.problems[503], 'storage_reserved'],
  },
  headers: ['ratelimit', 'ratelimit-policy'],
} as const;

/** What routes of the checkout that only show have in common. */
const checkout = {
  ...information,
  tag: 'checkout',
  unprocessable: true,
  limit: 'polls',
  problems: { 404: ['order_not_found'], 429: ['rate_limited'], 503: ['store_unavailable'] },
  headers: ['ratelimit', 'ratelimit-policy'],
} as const;

/** What routes that make orders have in common. */
const ordered = {
  ...stored,
  tag: 'checkout',
  body: { kind: 'json', schema: 'CreateOrderRequest', other: 'none', limit: 16 * KIB },
  limit: 'checkout',
  storesFromStrangers: true,
  problems: {
    ...stored.problems,
    429: ['rate_limited'],
    503: [...stored.problems[503], 'storage_reserved', 'rail_unavailable'],
  },
  headers: ['ratelimit', 'ratelimit-policy'],
} as const;

/** What the routes of the fragment door have in common. */
const door = {
  part: 'door',
  tag: 'door',
  access: 'public',
  parameters: {},
  unprocessable: true,
  cors: true,
  acts: false,
  documented: true,
} as const;

/** What routes that store fragments have besides. */
const submission = {
  ...door,
  method: 'POST',
  limit: 'submissions',
  storesFromStrangers: true,
  problems: {
    408: ['body_timeout'],
    413: ['body_too_large'],
    415: ['unsupported_encoding'],
    429: ['rate_limited'],
    503: ['overloaded', 'store_unavailable', 'storage_reserved'],
  },
  headers: ['ratelimit', 'ratelimit-policy'],
} as const;

/** What the routes that explore have besides. */
const exploration = {
  ...door,
  method: 'GET',
  body: { kind: 'none' },
  limit: 'explorations',
  problems: { 429: ['rate_limited'], 503: ['overloaded', 'store_unavailable'] },
  headers: ['ratelimit', 'ratelimit-policy'],
} as const;

const markdown = 'text/markdown; charset=utf-8';

/** Every route, by id. */
export const routes = {
  fuse: {
    method: 'POST',
    path: '/v1/fuse',
    part: 'gateway',
    tag: 'fuse',
    summary: 'Re-rank candidates by BM25 and dense similarity',
    description:
      'Scores the candidates with BM25 against the query, normalises that list and the list of dense ' +
      'scores, and orders the candidates by their weighted sum. Statistics come from the docs of the ' +
      'request alone. Where a doc has no `dense_score`, an embedding model computes those of all docs: ' +
      'of 50 without a key, of 1,000 with one.',
    body: { kind: 'raw', schema: 'FuseRequest', other: 'none', limit: 32 * MIB },
    keylessAnswerLimit: 64 * MIB,
    parameters: { header: 'KeyHeaders' },
    access: 'key',
    answers: { 200: { schema: 'FuseResponse', description: 'The re-ranked candidates.' } },
    unprocessable: true,
    problems: {
      ...keyedProblems,
      413: [...keyedProblems[413], 'answer_too_large'],
      429: ['rate_limited', 'queue_full'],
      503: ['no_model', 'embed_timeout', 'embed_failed', 'overloaded', 'store_unavailable'],
    },
    headers: ['server-timing', 'ratelimit', 'ratelimit-policy'],
    cors: false,
    acts: false,
    documented: true,
  },
  normalize: {
    method: 'POST',
    path: '/v1/normalize',
    part: 'gateway',
    tag: 'normalize',
    summary: 'Repair a text and gloss what words do not find',
    description:
      'Repairs mojibake, compatibility forms, invisible characters, typographic signs and look-alike ' +
      'letters, gives emoji and symbols their names, and tells every change by its place, so that it can ' +
      'be undone.',
    body: { kind: 'raw', schema: 'NormalizeRequest', other: 'none', limit: 2 * MIB },
    parameters: { header: 'KeyHeaders' },
    access: 'key',
    answers: { 200: { schema: 'NormalizeResponse', description: 'The text, and every change made.' } },
    unprocessable: true,
    problems: { ...keyedProblems, 503: ['overloaded', 'store_unavailable'] },
    headers: ['server-timing', 'ratelimit', 'ratelimit-policy'],
    cors: false,
    acts: false,
    documented: true,
  },
  audit: {
    method: 'POST',
    path: '/v1/audit',
    part: 'gateway',
    tag: 'audit',
    summary: 'What keeps plain words from finding your records',
    description:
      'Counts what is wrong in up to 500 records or a text, with intervals and examples, measures how many ' +
      'of them plain words do not find today, and says what the named search engine makes of it. Personal ' +
      'data is masked in the examples; nothing is stored.',
    body: { kind: 'raw', schema: 'FreeAuditRequest', other: 'none', limit: 128 * MIB },
    parameters: {},
    access: 'public',
    limit: 'audits',
    answers: { 200: { schema: 'AuditResponse', description: 'The report.' } },
    unprocessable: true,
    problems: {
      408: ['body_timeout'],
      413: ['body_too_large'],
      415: ['unsupported_encoding'],
      429: ['rate_limited'],
      503: ['overloaded'],
    },
    headers: ['ratelimit', 'ratelimit-policy'],
    cors: true,
    acts: false,
    documented: true,
  },
  auditStacks: {
    ...information,
    tag: 'audit',
    path: '/v1/audit/stacks',
    summary: 'The search engines and verticals that an audit knows',
    description:
      'What the default analyzer of each does to each issue, every claim with where it is documented.',
    answers: { 200: { schema: 'AuditStacksResponse', description: 'The engines and verticals.' } },
  },
  pricing: {
    ...information,
    tag: 'checkout',
    path: '/v1/pricing',
    summary: 'What keys cost',
    description:
      'Prices in BTC, the surcharge and the price in US dollars at the present rate (null where there is ' +
      'none that can be trusted), what each tier may use, and whether each way to pay can be used now.',
    answers: { 200: { schema: 'PricingResponse', description: 'The price list.' } },
    ...read,
  },
  quote: {
    ...information,
    method: 'POST',
    tag: 'checkout',
    path: '/v1/quote',
    summary: 'What one tier costs now',
    description:
      'Locks and stores nothing. A way to pay is `ready` only where it would take the money now; else the ' +
      'reason is told.',
    body: { kind: 'json', schema: 'QuoteRequest', other: 'none', limit: 16 * KIB },
    answers: { 200: { schema: 'QuoteResponse', description: 'The quote.' } },
    unprocessable: true,
    ...read,
    problems: {
      408: ['body_timeout'],
      413: ['body_too_large'],
      415: ['unsupported_encoding'],
      429: ['rate_limited'],
      503: ['overloaded'],
    },
  },
  createBitcoinOrder: {
    ...ordered,
    path: '/v1/checkout/btc',
    summary: 'Order a key, paid on chain',
    description:
      'Gives a fresh address, which no other order ever has, and the tier’s price. `claim_token` proves ' +
      'who made the order: keep it, and send it with the polls as `X-Claim-Token`.',
    answers: { 200: { schema: 'BitcoinOrderCreated', description: 'The order is on disk.' } },
    problems: { ...ordered.problems, 503: [...ordered.problems[503], 'rail_busy'] },
  },
  bitcoinOrder: {
    ...checkout,
    path: '/v1/checkout/btc/{order_id}',
    summary: 'Poll an on-chain order',
    description:
      'Shows the order and what is known of its payment, unconfirmed included. The first poll after it is ' +
      'confirmed carries the key, once: `api_key` with `key_status` `revealed_now`. Once a poll carried ' +
      'the claim token, only such polls reveal it.',
    parameters: { path: 'BitcoinOrderPath', query: 'ClaimQuery', header: 'ClaimHeaders' },
    answers: { 200: { schema: 'BitcoinOrder', description: 'The order.' } },
    acts: true,
  },
  bitcoinQr: {
    ...checkout,
    path: '/v1/checkout/btc/{order_id}/qr.svg',
    summary: 'An on-chain order’s payment as a QR code',
    description: 'Encodes the BIP 21 URI: `bitcoin:`, address and amount.',
    parameters: { path: 'BitcoinOrderPath' },
    answers: { 200: { type: 'image/svg+xml; charset=utf-8', description: 'The QR code.' } },
    limit: 'pages',
  },
  createLightningOrder: {
    ...ordered,
    path: '/v1/checkout/lightning',
    summary: 'Order a key, paid over Lightning',
    description:
      'Makes a BOLT 11 invoice for the tier’s price. `claim_token` proves who made the order: keep it, and ' +
      'send it with the polls as `X-Claim-Token`.',
    answers: { 200: { schema: 'LightningOrderCreated', description: 'The order is on disk.' } },
  },
  lightningCapacity: {
    ...information,
    tag: 'checkout',
    path: '/v1/checkout/lightning/capacity',
    summary: 'Whether Lightning can receive a tier now',
    description: 'The node’s live inbound liquidity against the price of each tier.',
    answers: { 200: { schema: 'LightningCapacityResponse', description: 'What can be received.' } },
    ...read,
  },
  lightningOrder: {
    ...checkout,
    path: '/v1/checkout/lightning/{payment_hash}',
    summary: 'Poll a Lightning order',
    description:
      'Shows the order. The first poll after the invoice was settled carries the key, once: `api_key` with ' +
      '`key_status` `revealed_now`. Once a poll carried the claim token, only such polls reveal it.',
    parameters: { path: 'LightningOrderPath', query: 'ClaimQuery', header: 'ClaimHeaders' },
    answers: { 200: { schema: 'LightningOrder', description: 'The order.' } },
    acts: true,
  },
  lightningQr: {
    ...checkout,
    path: '/v1/checkout/lightning/{payment_hash}/qr.svg',
    summary: 'A Lightning order’s invoice as a QR code',
    description: 'Encodes `lightning:` and the invoice.',
    parameters: { path: 'LightningOrderPath' },
    answers: { 200: { type: 'image/svg+xml; charset=utf-8', description: 'The QR code.' } },
    limit: 'pages',
  },
  createCardOrder: {
    ...ordered,
    path: '/v1/checkout/card',
    summary: 'Order a key, paid by card',
    description:
      'Makes a session at Stripe for the tier’s price in US dollars at the present rate, which the order ' +
      'locks. Send the buyer to `checkout_url`; the key is picked up at ' +
      '`GET /v1/checkout/card/{session_id}`. `claim_token` proves who made the order: keep it, and send it ' +
      'with the polls as `X-Claim-Token`.',
    answers: { 200: { schema: 'CardOrderCreated', description: 'The order is on disk.' } },
  },
  cardStatus: {
    ...information,
    tag: 'checkout',
    path: '/v1/checkout/card/status',
    summary: 'Whether a tier can be paid by card now',
    description: '`ready` only where Stripe takes the key, settlement can run and there is a price.',
    parameters: { query: 'CardStatusQuery' },
    unprocessable: true,
    answers: { 200: { schema: 'CardStatusResponse', description: 'The rail.' } },
    ...read,
  },
  cardWebhook: {
    ...stored,
    tag: 'checkout',
    path: '/v1/checkout/card/webhook',
    summary: 'Events of the card processor',
    description:
      'Stripe’s webhook: the signature in `Stripe-Signature` is verified over the bytes as they came, ' +
      'before anything is read. It alone settles card payments. An event has its effect once; later ' +
      'deliveries of it answer `duplicate`. Without a secret it answers 503 and trusts nothing.',
    body: { kind: 'any', limit: MIB },
    reads: ['stripe-signature'],
    answers: { 200: { schema: 'CardWebhookResponse', description: 'The event has its effect on disk.' } },
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
  },
  cardWebhookStatus: {
    ...information,
    tag: 'checkout',
    path: '/v1/checkout/card/webhook/status',
    summary: 'Whether card settlement can run',
    description: 'Tells nothing secret.',
    answers: { 200: { schema: 'CardWebhookStatusResponse', description: 'The settlement.' } },
    ...read,
    problems: { ...read.problems, 503: ['store_unavailable'] },
  },
  cardOrder: {
    ...checkout,
    path: '/v1/checkout/card/{session_id}',
    summary: 'Pick up a key that was paid by card',
    description:
      'The first retrieval after the payment carries the key, once: `api_key` with `key_status` ' +
      '`revealed_now`. A session that is not known to be paid is `pending`, whether it is known or not.',
    parameters: { path: 'CardOrderPath', query: 'ClaimQuery', header: 'ClaimHeaders' },
    answers: { 200: { schema: 'CardPickupResponse', description: 'The order.' } },
    acts: true,
  },
  cardSuccess: {
    ...information,
    tag: 'checkout',
    path: '/card/success',
    summary: 'Where a buyer comes back to from the card processor',
    description:
      'A page, always with status 200: it waits for the payment, and the first look after it settled hands ' +
      'out the key, once.',
    parameters: { query: 'CardSuccessQuery' },
    answers: { 200: { type: html, description: 'The page.' } },
    unprocessable: true,
    cors: false,
    acts: true,
    ...read,
    limit: 'polls',
  },
  buyPage: {
    ...information,
    tag: 'checkout',
    path: '/buy',
    summary: 'A page that sells keys',
    description: 'Tiers, prices and the ways to pay that are ready; for people.',
    parameters: { query: 'BuyQuery' },
    answers: { 200: { type: html, description: 'The page.' } },
    unprocessable: true,
    cors: false,
    ...read,
  },
  buy: {
    ...ordered,
    path: '/buy',
    summary: 'Order by the form of that page',
    description:
      'Leads to the page of the order, or shows it where it is paid by card; a choice that is missing ' +
      'shows the form again.',
    body: { kind: 'any', limit: 16 * KIB },
    answers: {
      200: { type: html, description: 'A card order with the way to pay, or the form with what is missing.' },
      303: { type: 'text/plain; charset=utf-8', description: 'The way to the order.' },
      429: { type: html, description: 'The page of too many orders; `Retry-After` says when to try again.' },
    },
    problems: { ...stored.problems, 503: ordered.problems[503] },
    headers: [...ordered.headers, 'location'],
    unprocessable: true,
    cors: false,
  },
  buyOrder: {
    ...information,
    tag: 'checkout',
    path: '/buy/{rail}/{order}',
    summary: 'The page of an order',
    description: 'How to pay, and what became of it. Showing it changes nothing.',
    parameters: { path: 'BuyOrderPath', query: 'ClaimQuery' },
    answers: {
      200: { type: html, description: 'The page.' },
      404: { type: html, description: 'There is no such order.' },
    },
    unprocessable: true,
    cors: false,
    ...read,
    limit: 'polls',
  },
  buyReveal: {
    ...stored,
    tag: 'checkout',
    path: '/buy/{rail}/{order}',
    summary: 'Show an order’s key',
    description: 'What the page’s button does: hands out the key, once, to who carries the claim token.',
    body: { kind: 'any', limit: 1_024 },
    parameters: { path: 'BuyOrderPath', query: 'ClaimQuery' },
    answers: {
      200: { type: html, description: 'The page, with the key.' },
      404: { type: html, description: 'There is no such order.' },
    },
    cors: false,
    limit: 'polls',
    problems: { ...stored.problems, 429: ['rate_limited'] },
    headers: ['ratelimit', 'ratelimit-policy'],
  },
  leads: {
    ...storedFromStrangers,
    path: '/v1/leads',
    summary: 'Leave an address for the operator',
    description:
      'Appends the lead to durable storage: it is on disk before the answer leaves. No email is sent and ' +
      'nothing is provisioned.',
    body: { kind: 'json', schema: 'LeadRequest', other: 'none', limit: 64 * KIB },
    answers: { 200: { schema: 'LeadResponse', description: 'The lead is on disk.' } },
  },
  deliveryModels: {
    ...information,
    tag: 'outreach',
    path: '/v1/delivery-models',
    summary: 'How an enterprise may run the service',
    description:
      'Three models, each by agreement: none can be bought here, and every price is an indication.',
    answers: { 200: { schema: 'DeliveryModelsResponse', description: 'The models.' } },
  },
  deliveryInterest: {
    ...storedFromStrangers,
    path: '/v1/delivery-interest',
    summary: 'Say that a delivery model is of interest',
    description:
      'Appends the interest to durable storage: it is on disk before the answer leaves. A human replies; ' +
      'no key, order or invoice comes of it.',
    body: { kind: 'json', schema: 'DeliveryInterestRequest', other: 'none', limit: 64 * KIB },
    answers: { 200: { schema: 'DeliveryInterestResponse', description: 'The interest is on disk.' } },
  },
  unsubscribePage: {
    ...information,
    tag: 'outreach',
    path: '/unsubscribe',
    summary: 'The opt-out page',
    description: 'Shows a button that opts out; showing it changes nothing.',
    parameters: { query: 'UnsubscribeQuery' },
    answers: { 200: { type: html, description: 'The page.' } },
    unprocessable: true,
    cors: false,
    ...read,
  },
  unsubscribe: {
    ...stored,
    path: '/unsubscribe',
    summary: 'Opt out with one click',
    description:
      'The target of RFC 8058 one-click links. The link decides, the body is not looked at. A token that ' +
      'is not good changes nothing and is told by `unsubscribed: false`, with status 200.',
    body: { kind: 'any', limit: MIB },
    parameters: { query: 'UnsubscribeQuery' },
    answers: { 200: { schema: 'UnsubscribeResponse', description: 'Whether the address is opted out.' } },
    cors: false,
  },
  click: {
    ...information,
    tag: 'outreach',
    path: '/c/{token}',
    summary: 'Follow a counted link',
    description:
      'Redirects to `d` where the token was made for it, which is logged, where it is a path of this site, ' +
      'or where its host is one of the operator’s; else to `/`.',
    parameters: { path: 'ClickPath', query: 'ClickQuery' },
    answers: { 302: { type: 'text/plain; charset=utf-8', description: 'The way to the destination.' } },
    unprocessable: true,
    limit: 'clicks',
    problems: { 429: ['rate_limited'] },
    headers: ['location', 'ratelimit', 'ratelimit-policy'],
    reads: ['user-agent', 'sec-purpose', 'purpose', 'x-moz'],
    cors: false,
    acts: true,
  },
  dream: {
    ...submission,
    path: '/dream',
    summary: 'Store a fragment and get its receipt',
    description:
      'Stores the abstraction and answers with a receipt whose every digest can be recomputed. The same ' +
      'content again gets the original receipt with status `duplicate`. Fragments must hold no private data.',
    body: { kind: 'json', schema: 'DreamRequest', other: 'none', limit: 64 * KIB },
    parameters: { header: 'DreamHeaders' },
    answers: { 200: { schema: 'DreamResponse', description: 'The receipt; the fragment is on disk.' } },
    problems: { ...submission.problems, 409: ['idempotency_conflict'] },
    headers: [...submission.headers, 'idempotent-replayed'],
  },
  dreamPreview: {
    ...door,
    method: 'GET',
    path: '/dream_get',
    summary: 'Preview a fragment without storing it',
    description:
      'Answers with the digests that the fragment would have and a token to confirm it by. Stores nothing; ' +
      'the preview waits for half an hour.',
    body: { kind: 'none' },
    parameters: { query: 'DreamGetQuery' },
    limit: 'previews',
    answers: { 200: { schema: 'DreamPreviewResponse', description: 'The preview and its token.' } },
    problems: { 429: ['rate_limited'] },
    headers: ['ratelimit', 'ratelimit-policy'],
  },
  dreamConfirmState: {
    ...door,
    method: 'GET',
    path: '/dream_confirm',
    summary: 'How a confirmation stands',
    description: 'Says whether a token waits, was confirmed or is unknown, and how to confirm it.',
    body: { kind: 'none' },
    parameters: { query: 'DreamConfirmQuery' },
    answers: { 200: { schema: 'DreamConfirmStateResponse', description: 'How it stands.' } },
    problems: { 503: ['store_unavailable'] },
    headers: [],
  },
  dreamConfirm: {
    ...submission,
    path: '/dream_confirm',
    summary: 'Confirm a preview and get its receipt',
    description:
      'Stores the fragment of a preview. A repeated confirmation gets the original receipt. Send the ' +
      "preview's fields too once it has expired.",
    body: { kind: 'json', schema: 'DreamConfirmRequest', other: 'form', limit: 64 * KIB },
    answers: {
      200: { schema: 'DreamConfirmResponse', description: 'The receipt; the fragment is on disk.' },
    },
    problems: { ...submission.problems, 404: ['preview_not_found'], 409: ['token_mismatch'] },
    headers: [...submission.headers, 'idempotent-replayed'],
  },
  harvest: {
    ...submission,
    path: '/harvest',
    summary: 'Store every fragment in a pasted reply',
    description:
      'Reads every `<<SHARD>>{…}<</SHARD>>` in the text, each an object with title, content, kind, ' +
      'mechanism and test, and stores it. A marker that cannot be read is rejected and stops no other.',
    body: { kind: 'json', schema: 'HarvestRequest', other: 'none', limit: 2 * MIB },
    counts: 'markers',
    answers: { 200: { schema: 'HarvestResponse', description: 'What became of each marker.' } },
  },
  receipt: {
    ...door,
    method: 'GET',
    path: '/receipt/{id}',
    summary: 'A receipt, read again and verified',
    description: 'The stored fragment, its envelope and digests, recomputed from what was read back.',
    body: { kind: 'none' },
    parameters: { path: 'ReceiptPath' },
    answers: { 200: { schema: 'ReceiptResponse', description: 'The receipt.' } },
    problems: { 404: ['receipt_not_found'], 503: ['store_unavailable'] },
    headers: [],
  },
  near: {
    ...exploration,
    path: '/graph/near',
    summary: 'The fragments nearest to one, or to a text',
    description:
      'Compares vectors: give `receipt` or `text`. The most similar come first, of equals the earlier; ' +
      'none whose similarity is not above 0. The answer names what made the vectors.',
    parameters: { query: 'NearQuery' },
    answers: { 200: { schema: 'NearResponse', description: 'The neighbours.' } },
    problems: { ...exploration.problems, 404: ['receipt_not_found'] },
  },
  walk: {
    ...exploration,
    path: '/walk',
    summary: 'A walk from neighbour to neighbour',
    description:
      'Each turn goes to one of the five nearest that the walk has not seen, as the seed decides: the same ' +
      '`from`, `steps`, `seed` and `as_of` give the same walk. It ends early where nothing near is left.',
    parameters: { query: 'WalkQuery' },
    answers: { 200: { schema: 'WalkResponse', description: 'The walk.' } },
    problems: { ...exploration.problems, 404: ['receipt_not_found'] },
  },
  graph: {
    ...exploration,
    path: '/graph',
    summary: 'The graph of fragments, page by page',
    description:
      'Nodes in the order in which they were stored, and edges from each to the nearest among those before ' +
      'it, at most three. A browser gets a page that draws it.',
    parameters: { query: 'GraphQuery' },
    reads: ['accept'],
    answers: { 200: { schema: 'GraphResponse', description: 'One page of the graph.', also: [html] } },
  },
  graphFragments: {
    ...exploration,
    path: '/graph/fragments',
    summary: 'Fragments with their content, page by page',
    description: 'In the order in which they were stored; `kind`, `visitor` and `since` leave others out.',
    parameters: { query: 'FragmentsQuery' },
    answers: { 200: { schema: 'FragmentsResponse', description: 'One page of them.' } },
  },
  focus: {
    ...exploration,
    path: '/focus',
    summary: 'Where there are few fragments',
    description:
      'Kinds, and regions of fragments that are near one another (k-means, at most twelve, each named by ' +
      'the fragment in its middle), those with fewest first.',
    parameters: { query: 'AsOfQuery' },
    answers: { 200: { schema: 'FocusResponse', description: 'Kinds and regions.' } },
  },
  leaderboard: {
    ...exploration,
    path: '/leaderboard',
    summary: 'Visitors by their fragments',
    description:
      'Counts fragments of different content; probes and fragments without a visitor are left out.',
    parameters: { query: 'AsOfQuery' },
    answers: { 200: { schema: 'LeaderboardResponse', description: 'The first hundred.' } },
  },
  how: {
    ...exploration,
    path: '/how',
    summary: 'How to use the door',
    description: 'What to do, step by step.',
    unprocessable: false,
    reads: ['accept'],
    answers: { 200: { schema: 'HowResponse', description: 'The steps.', also: [markdown] } },
    ...read,
  },
  doorOpenapi: {
    ...information,
    part: 'door',
    tag: 'door',
    path: '/api/agent/openapi',
    summary: 'This description',
    description: 'The OpenAPI 3.1 description of the fragment door, for platforms that call tools.',
    answers: { 200: { type: 'application/json', description: 'An OpenAPI 3.1.0 document.' } },
    reads: ['host', 'x-forwarded-host', 'x-forwarded-proto'],
  },
  banner: {
    ...information,
    path: '/',
    summary: 'What this service is',
    description: 'Names the service and where its reference lies.',
    answers: { 200: { schema: 'BannerResponse', description: 'The banner.' } },
  },
  health: {
    ...information,
    path: '/health',
    summary: 'Whether the process answers',
    description: 'For liveness probes: it answers as long as the process runs.',
    answers: { 200: { schema: 'HealthResponse', description: 'It answers.' } },
  },
  ready: {
    ...information,
    path: '/ready',
    summary: 'Whether requests can be served',
    description:
      'For readiness probes: what has to work for requests to be served, each with its reason when not.',
    answers: {
      200: { schema: 'ReadyResponse', description: 'Every check passed.' },
      503: { schema: 'ReadyResponse', description: 'A check failed; its reason says which and why.' },
    },
  },
  version: {
    ...information,
    path: '/version',
    summary: 'Versions in force',
    description: 'Versions of the service, its contracts and what it runs on; every value is a string.',
    answers: { 200: { schema: 'VersionResponse', description: 'The versions.' } },
  },
  privacy: {
    ...information,
    path: '/privacy',
    summary: 'What is kept about callers',
    description: 'What is stored and logged, why, where and how long.',
    answers: { 200: { schema: 'PrivacyResponse', description: 'What is kept.' } },
  },
  limits: {
    ...information,
    path: '/v1/limits',
    summary: 'Every limit in force',
    description: 'Limits of bodies and fields, and limits by time or number.',
    answers: { 200: { schema: 'LimitsResponse', description: 'The limits.' } },
  },
  openapi: {
    ...information,
    path: '/openapi.json',
    summary: 'This description',
    description: 'The OpenAPI 3.1.0 description of the gateway.',
    answers: { 200: { type: 'application/json', description: 'An OpenAPI 3.1.0 document.' } },
  },
  docs: {
    ...information,
    path: '/docs',
    summary: 'The reference as a page',
    description: 'Shows this description and sends requests from the browser.',
    answers: { 200: { type: html, description: 'The page.' } },
    cors: false,
    ...read,
  },
  docsFile: {
    ...information,
    path: '/docs/{file}',
    summary: 'Files of the reference page',
    description: 'Scripts and styles of the reference page.',
    parameters: { path: 'DocsPath' },
    answers: { 200: { type: 'text/javascript; charset=utf-8', description: 'The file.' } },
    cors: false,
    documented: false,
    ...read,
  },
  pageFile: {
    ...information,
    path: '/pages/{file}',
    summary: 'Files of the pages',
    description: 'Scripts, styles and images of the pages.',
    everywhere: true,
    parameters: { path: 'PageFilePath' },
    answers: { 200: { type: 'text/css; charset=utf-8', description: 'The file.' } },
    cors: false,
    documented: false,
    ...read,
  },
} as const satisfies Readonly<Record<string, Route>>;

/** Every route's id. */
export type RouteId = keyof typeof routes;

/** What a route's handler gets as `input`. */
export type RouteInput<Id extends RouteId> = (typeof routes)[Id]['body'] extends {
  readonly kind: 'json';
  readonly schema: infer Name extends keyof RequestBodies;
}
  ? RequestBodies[Name]
  : undefined;

/** A handler for every route: a missing one does not compile. */
export type Handlers = { readonly [Id in RouteId]: Handler<RouteInput<Id>> };

/** Every route with its id, in the order of the table. */
export const routeList: readonly (Route & { readonly id: RouteId })[] = (
  Object.entries(routes) as [RouteId, Route][]
).map(([id, route]) => ({ ...route, id }));
