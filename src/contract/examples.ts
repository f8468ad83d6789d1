/** One full example a route: in the OpenAPI document, and as the files under `docs/examples`. */
import { auditRequest, auditResponse, auditStacksResponse } from './auditExamples.js';
import { MAX_NESTING } from './body.js';
import type {
  DeliveryInterestRequest,
  DeliveryInterestResponse,
  DeliveryModelsResponse,
} from './delivery.js';
import { catalogue } from './deliveryCatalogue.js';
import {
  confirmRequest,
  confirmResponse,
  dreamRequest,
  dreamResponse,
  harvestRequest,
  harvestResponse,
  previewQuery,
  previewResponse,
  receiptPath,
  receiptResponse,
  stateQuery,
  stateResponse,
} from './doorExamples.js';
import {
  focusResponse,
  fragmentsPath,
  fragmentsResponse,
  graphResponse,
  leaderboardResponse,
  nearPath,
  nearResponse,
  walkPath,
  walkResponse,
} from './exploreExamples.js';
import type { FuseRequest, FuseResponse } from './fuse.js';
import type {
  BannerResponse,
  HealthResponse,
  LimitsResponse,
  PrivacyResponse,
  ReadyResponse,
  StoredData,
  VersionResponse,
} from './info.js';
import type { LeadRequest, LeadResponse } from './leads.js';
import { how } from './how.js';
import { bodyLimits, fieldLimits } from './limits.js';
import type {
  CardOrderCreated,
  CardPickupResponse,
  CardStatusResponse,
  CardWebhookStatusResponse,
} from './card.js';
import type { NormalizeRequest, NormalizeResponse } from './normalize.js';
import type { UnsubscribeResponse } from './optout.js';
import type {
  BitcoinOrder,
  BitcoinOrderCreated,
  CreateOrderRequest,
  LightningCapacityResponse,
  LightningOrder,
  LightningOrderCreated,
} from './orders.js';
import type { FiatPrice, PaymentPath, PricingResponse, QuoteResponse } from './pricing.js';
import type { RouteId } from './routes.js';
import { MAX_ERRORS, MAX_INPUT_BYTES } from './validation.js';

/** A request and the answer it gets. */
export interface Example {
  readonly request: {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  };
  readonly response: {
    readonly status: number;
    readonly type: string;
    /** The JSON body; absent where the body is not JSON of a fixed shape. */
    readonly body?: unknown;
  };
}

const json = 'application/json';

const fuseRequest: FuseRequest = {
  query: 'waterproof hiking boots',
  docs: [
    { id: 'sku-1042', text: 'Leather hiking boots with a waterproof membrane', dense_score: 0.82 },
    { id: 'sku-2210', text: 'Trail running shoes, light and breathable', dense_score: 0.64 },
    { id: 'sku-0077', text: 'Waterproof spray for boots and jackets', dense_score: 0.58 },
  ],
  top_k: 2,
};

const fuseResponse: FuseResponse = {
  query: 'waterproof hiking boots',
  method: 'maxnorm',
  tokenizer: 'ws',
  dense_source: 'caller',
  results: [
    {
      id: 'sku-1042',
      text: 'Leather hiking boots with a waterproof membrane',
      dense_score: 0.82,
      bm25_score: 0.7335858033881559,
      fused_score: 1,
      rank: 1,
    },
    {
      id: 'sku-0077',
      text: 'Waterproof spray for boots and jackets',
      dense_score: 0.58,
      bm25_score: 0.38512426762992885,
      fused_score: 0.6161528936538814,
      rank: 2,
    },
  ],
};

const normalizeRequest: NormalizeRequest = {
  text: 'CafÃ© “Zürich” ① ❤️ pаypal',
  mode: 'augment',
};

const normalizeResponse: NormalizeResponse = {
  text: 'CafÃ© “Zürich” ① ❤️ pаypal',
  normalized: 'Café "Zürich" 1 ❤️ (red heart) paypal',
  mode: 'augment',
  changed: true,
  changes: [
    {
      start: 3,
      end: 5,
      original: 'Ã©',
      replacement: 'é',
      kind: 'mojibake',
      reason: 'UTF-8 that was read as Latin-1',
    },
    {
      start: 6,
      end: 7,
      original: '“',
      replacement: '"',
      kind: 'quote',
      reason: 'typographic quote',
    },
    {
      start: 13,
      end: 14,
      original: '”',
      replacement: '"',
      kind: 'quote',
      reason: 'typographic quote',
    },
    {
      start: 15,
      end: 16,
      original: '①',
      replacement: '1',
      kind: 'enclosed',
      reason: 'enclosed character',
    },
    {
      start: 17,
      end: 19,
      original: '❤️',
      replacement: '❤️ (red heart)',
      kind: 'emoji',
      reason: 'name of the emoji (CLDR)',
    },
    {
      start: 21,
      end: 22,
      original: 'а',
      replacement: 'a',
      kind: 'confusable',
      reason: 'looks like a Latin letter (UTS #39)',
    },
  ],
  stats: {
    mojibake: 1,
    emoji: 1,
    quote: 2,
    enclosed: 1,
    confusable: 1,
  },
  data_versions: {
    unicode: '17.0.0',
    cldr: '48.2.0',
  },
  chars: 26,
};

const leadRequest: LeadRequest = {
  email: 'ada@example.com',
  tier: 'growth',
  message: 'We re-rank product search in three languages.',
  source: 'docs',
  segment: null,
  campaign: 'autumn',
  event_id: 'e-1842',
};

const leadResponse: LeadResponse = {
  ok: true,
  id: 'lead_019aa4e2c0007d1f2b6c9a40e15f3d88',
  received_at: '2026-11-21T09:30:00.000Z',
};

/** A price at 60,000 $ a bitcoin and 10 % more for fiat. */
function dollars(amount_cents: number): FiatPrice {
  return {
    currency: 'usd',
    amount_cents,
    surcharge_bps: 1_000,
    rate_cents: 6_000_000,
    rate_source: 'coinbase, kraken',
    rate_at: '2026-11-21T09:30:00.000Z',
  };
}

const paymentPaths: PaymentPath[] = [
  { rail: 'btc', ready: true, reason: null },
  { rail: 'lightning', ready: true, reason: null },
  { rail: 'card', ready: false, reason: 'Card payments are not configured on this server.' },
];

const pricing: PricingResponse = {
  base_currency: 'BTC',
  surcharge_bps: 1_000,
  term_days: 30,
  tiers: [
    {
      tier: 'developer',
      btc: '0.00050000',
      sat: 50_000,
      fiat: dollars(3_300),
      limits: { requests_per_minute: 600, characters_per_month: 50_000_000 },
    },
    {
      tier: 'growth',
      btc: '0.00250000',
      sat: 250_000,
      fiat: dollars(16_500),
      limits: { requests_per_minute: 6_000, characters_per_month: 1_000_000_000 },
    },
    {
      tier: 'enterprise',
      btc: '0.02000000',
      sat: 2_000_000,
      fiat: dollars(132_000),
      limits: { requests_per_minute: 60_000, characters_per_month: 20_000_000_000 },
    },
  ],
  rails: paymentPaths,
};

const quoteResponse: QuoteResponse = {
  tier: 'growth',
  currency: 'fiat',
  btc: '0.00250000',
  sat: 250_000,
  fiat: dollars(16_500),
  fiat_reason: null,
  term_days: 30,
  payment_paths: paymentPaths,
  valid_until: '2026-11-21T09:40:00.000Z',
};

const orderRequest: CreateOrderRequest = {
  tier: 'growth',
  email: 'ada@example.com',
  source: 'pricing',
  segment: null,
  campaign: null,
  event_id: null,
};

/** The invoice and its payment hash stand in BOLT 11, "Examples". */
const paymentHash = '0001020304050607080900010203040506070809000102030405060708090102';

const lightningOrder: LightningOrder = {
  order_id: 'u4vzmvkyqbmb2lwyvswkpkxe6a',
  rail: 'lightning',
  tier: 'growth',
  status: 'settled',
  network: 'mainnet',
  btc: '0.00250000',
  sat: 250_000,
  received_sat: 250_000,
  missing_sat: 0,
  overpaid_sat: 0,
  late: false,
  created_at: '2026-11-21T09:30:00.000Z',
  expires_at: '2026-11-21T09:45:00.000Z',
  status_url: `/v1/checkout/lightning/${paymentHash}`,
  qr_url: `/v1/checkout/lightning/${paymentHash}/qr.svg`,
  api_key: 'fg_rMsLLdgJvAYk16LZJjBycLdhSUboUx9_dTDOuRg3ZeU1iwCpL',
  key_status: 'revealed_now',
  payment_hash: paymentHash,
  bolt11:
    'lnbc2500u1pvjluezpp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu' +
    '9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven0' +
    '9sam30g4vgpfna3rh',
};

const claimToken = 'ct_4mJv2Tt9cYq0H8n3rXoWbK6sPZ1eLdUaGfQ7xVyIiBw';

const lightningCreated: LightningOrderCreated = {
  ...lightningOrder,
  status: 'pending',
  received_sat: 0,
  missing_sat: 250_000,
  api_key: null,
  key_status: 'none',
  claim_token: claimToken,
};

/** The first address of the account in BIP 84, "Test vectors". */
const address = 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu';
const onChainPath = '/v1/checkout/btc/hq5vbd2gkzx3yodu7rnwtc4maq';

const bitcoinOrder: BitcoinOrder = {
  order_id: 'hq5vbd2gkzx3yodu7rnwtc4maq',
  rail: 'btc',
  tier: 'growth',
  status: 'seen',
  network: 'mainnet',
  btc: '0.00250000',
  sat: 250_000,
  received_sat: 250_000,
  missing_sat: 0,
  overpaid_sat: 0,
  late: false,
  created_at: '2026-11-21T09:30:00.000Z',
  expires_at: '2026-11-21T10:30:00.000Z',
  status_url: onChainPath,
  qr_url: `${onChainPath}/qr.svg`,
  api_key: null,
  key_status: 'none',
  address,
  bip21: `bitcoin:${address}?amount=0.00250000`,
  confirmations: 1,
  confirmations_required: 2,
};

const bitcoinCreated: BitcoinOrderCreated = {
  ...bitcoinOrder,
  status: 'pending',
  received_sat: 0,
  missing_sat: 250_000,
  confirmations: 0,
  claim_token: claimToken,
};

const cardSession = 'cs_test_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0';

const cardCreated: CardOrderCreated = {
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
  methods: ['card'],
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
  session_id: cardSession,
  status: 'pending',
  tier: null,
  api_key: null,
  key_status: 'none',
};

/** A webhook's event, cut short; its signature is over these bytes. */
const cardEvent = {
  id: 'evt_1S8yGf2eZvKYlo2C',
  object: 'event',
  type: 'checkout.session.completed',
  created: 1_795_253_400,
  livemode: false,
  data: { object: { id: cardSession, object: 'checkout.session', payment_status: 'paid' } },
};

const capacity: LightningCapacityResponse = {
  configured: true,
  ready: true,
  reason: null,
  network: 'mainnet',
  inbound_sat: 1_830_000,
  tiers: [
    { tier: 'developer', sat: 50_000, can_receive: true },
    { tier: 'growth', sat: 250_000, can_receive: true },
    { tier: 'enterprise', sat: 2_000_000, can_receive: false },
  ],
  checked_at: '2026-11-21T09:30:00.000Z',
};

const models: DeliveryModelsResponse = { models: [...catalogue] };

const interestRequest: DeliveryInterestRequest = {
  email: 'ada@example.com',
  delivery_model: 'dedicated_byoc',
  company: 'Example Ltd',
  cloud: 'aws',
  monthly_chars: 'about 2 billion',
  timeline: 'next_quarter',
  compliance: 'ISO 27001; data stays in the EU',
  message: null,
  source: null,
  segment: null,
  campaign: null,
  event_id: null,
};

const interestResponse: DeliveryInterestResponse = {
  ok: true,
  id: 'interest_019aa4e2c3e87a904d5e6f708192a3b4',
  received_at: '2026-11-21T09:30:01.000Z',
  delivery_model: 'dedicated_byoc',
  next_step:
    'A human reads this and replies to the address you gave. Nothing has been provisioned, billed or ' +
    'emailed.',
};

// Tokens under the secret of the example in docs/outreach.md.
const unsubscribeQuery = 'e=ada%2Bnews%40example.com&t=20tyMpLC-2W9jIOCY-JjGt';
const unsubscribed: UnsubscribeResponse = { ok: true, unsubscribed: true };

const banner: BannerResponse = {
  service: 'Fusegate',
  version: '0.4.0',
  documentation: '/docs',
  openapi: '/openapi.json',
};

const health: HealthResponse = { status: 'ok' };

const ready: ReadyResponse = {
  ready: true,
  checks: [
    { check: 'data_folder', ok: true, code: null, reason: null },
    { check: 'store', ok: true, code: null, reason: null },
    { check: 'native_module', ok: true, code: null, reason: null },
  ],
  warnings: [],
};

const version: VersionResponse = {
  service: '0.4.0',
  door_contract: '6.4',
  hash_contract: 'fragment-receipt-hash-v2',
  canonicalization: 'accepted-fields-json-v1',
  native: '0.4.0',
  unicode: '17.0.0',
  node: '22.15.0',
  platform: 'linux-x64',
};

const privacyStored: StoredData[] = [
  {
    what: 'Leads: time, email, tier, message, source, segment, campaign and event id as they were sent.',
    why: 'So that the operator can answer.',
    retention: 'Until it is forgotten on request.',
    where: 'Table leads of the store.',
  },
];

const privacy: PrivacyResponse = {
  stored: privacyStored,
  logged: [
    {
      what:
        'Route, status, sizes, duration and request id of requests that ended in a fault of ours (5xx); ' +
        'of every request where the operator set LOG_LEVEL to debug.',
      why: 'To run the service and find faults.',
      retention: "As long as the operator's log collector keeps standard error.",
      where: 'Standard error.',
    },
  ],
  not_stored: [
    'Bodies of requests and answers, but for what is listed above.',
    'Paths with their values, and queries, but for the tokens and destinations of counted links.',
    'API keys, idempotency keys and tokens of opt-out links.',
    'IP addresses, Referer and User-Agent.',
  ],
};

const limits: LimitsResponse = {
  bodies: bodyLimits(),
  fields: fieldLimits(),
  rates: [
    { name: 'anonymous.requests', limit: 60, unit: 'requests a minute for an address without a key' },
    {
      name: 'anonymous.characters',
      limit: 1_000_000,
      unit: 'characters of 200 answers in 30 days for an address without a key',
    },
  ],
  json_nesting: MAX_NESTING,
  validation_errors: MAX_ERRORS,
  validation_input_bytes: MAX_INPUT_BYTES,
};

function get(path: string, body: unknown): Example {
  return { request: { method: 'GET', path }, response: { status: 200, type: json, body } };
}

function post(path: string, request: unknown, response: unknown): Example {
  return {
    request: { method: 'POST', path, headers: { 'content-type': json }, body: request },
    response: { status: 200, type: json, body: response },
  };
}

/** One example a route. */
export const examples: Readonly<Record<RouteId, Example>> = {
  fuse: post('/v1/fuse', fuseRequest, fuseResponse),
  audit: post('/v1/audit', auditRequest, auditResponse),
  auditStacks: get('/v1/audit/stacks', auditStacksResponse),
  pricing: get('/v1/pricing', pricing),
  quote: post('/v1/quote', { tier: 'growth', currency: 'fiat' }, quoteResponse),
  createBitcoinOrder: post('/v1/checkout/btc', orderRequest, bitcoinCreated),
  bitcoinOrder: {
    request: { method: 'GET', path: onChainPath, headers: { 'x-claim-token': claimToken } },
    response: { status: 200, type: json, body: bitcoinOrder },
  },
  bitcoinQr: {
    request: { method: 'GET', path: `${onChainPath}/qr.svg` },
    response: { status: 200, type: 'image/svg+xml; charset=utf-8' },
  },
  createLightningOrder: post('/v1/checkout/lightning', orderRequest, lightningCreated),
  lightningCapacity: get('/v1/checkout/lightning/capacity', capacity),
  lightningOrder: {
    request: {
      method: 'GET',
      path: `/v1/checkout/lightning/${paymentHash}`,
      headers: { 'x-claim-token': claimToken },
    },
    response: { status: 200, type: json, body: lightningOrder },
  },
  lightningQr: {
    request: { method: 'GET', path: `/v1/checkout/lightning/${paymentHash}/qr.svg` },
    response: { status: 200, type: 'image/svg+xml; charset=utf-8' },
  },
  createCardOrder: post('/v1/checkout/card', orderRequest, cardCreated),
  cardStatus: get('/v1/checkout/card/status?tier=growth', cardStatus),
  cardWebhook: {
    request: {
      method: 'POST',
      path: '/v1/checkout/card/webhook',
      headers: { 'content-type': json, 'stripe-signature': `t=1795253400,v1=${'5f'.repeat(32)}` },
      body: cardEvent,
    },
    response: { status: 200, type: json, body: { received: true, result: 'minted' } },
  },
  cardWebhookStatus: get('/v1/checkout/card/webhook/status', cardWebhookStatus),
  cardOrder: get(`/v1/checkout/card/${cardSession}`, cardPickup),
  normalize: post('/v1/normalize', normalizeRequest, normalizeResponse),
  cardSuccess: {
    request: { method: 'GET', path: `/card/success?session_id=${cardSession}` },
    response: { status: 200, type: 'text/html; charset=utf-8' },
  },
  buyPage: {
    request: { method: 'GET', path: '/buy?tier=growth' },
    response: { status: 200, type: 'text/html; charset=utf-8' },
  },
  buy: {
    request: {
      method: 'POST',
      path: '/buy',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'tier=growth&rail=lightning&email=',
    },
    response: { status: 303, type: 'text/plain; charset=utf-8' },
  },
  buyOrder: {
    request: { method: 'GET', path: `/buy/lightning/${paymentHash}?claim=${claimToken}` },
    response: { status: 200, type: 'text/html; charset=utf-8' },
  },
  buyReveal: {
    request: { method: 'POST', path: `/buy/lightning/${paymentHash}?claim=${claimToken}` },
    response: { status: 200, type: 'text/html; charset=utf-8' },
  },
  leads: post('/v1/leads', leadRequest, leadResponse),
  deliveryModels: get('/v1/delivery-models', models),
  deliveryInterest: post('/v1/delivery-interest', interestRequest, interestResponse),
  unsubscribePage: {
    request: { method: 'GET', path: `/unsubscribe?${unsubscribeQuery}` },
    response: { status: 200, type: 'text/html; charset=utf-8' },
  },
  unsubscribe: {
    request: {
      method: 'POST',
      path: `/unsubscribe?${unsubscribeQuery}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    },
    response: { status: 200, type: json, body: unsubscribed },
  },
  click: {
    request: {
      method: 'GET',
      path: '/c/YXV0dW1u.IPJQl2EL-exm8iFaYmQPOw?d=https%3A%2F%2Fexample.com%2Foffer',
    },
    response: { status: 302, type: 'text/plain; charset=utf-8' },
  },
  dream: post('/dream', dreamRequest, dreamResponse),
  dreamPreview: get(`/dream_get?${previewQuery}`, previewResponse),
  dreamConfirmState: get(`/dream_confirm?${stateQuery}`, stateResponse),
  dreamConfirm: post('/dream_confirm', confirmRequest, confirmResponse),
  harvest: post('/harvest', harvestRequest, harvestResponse),
  receipt: get(receiptPath, receiptResponse),
  near: get(nearPath, nearResponse),
  walk: get(walkPath, walkResponse),
  graph: get('/graph', graphResponse),
  graphFragments: get(fragmentsPath, fragmentsResponse),
  focus: get('/focus', focusResponse),
  leaderboard: get('/leaderboard', leaderboardResponse),
  how: get('/how', how),
  doorOpenapi: {
    request: { method: 'GET', path: '/api/agent/openapi' },
    response: { status: 200, type: json },
  },
  banner: get('/', banner),
  health: get('/health', health),
  ready: get('/ready', ready),
  version: get('/version', version),
  privacy: get('/privacy', privacy),
  limits: get('/v1/limits', limits),
  openapi: { request: { method: 'GET', path: '/openapi.json' }, response: { status: 200, type: json } },
  docs: {
    request: { method: 'GET', path: '/docs' },
    response: { status: 200, type: 'text/html; charset=utf-8' },
  },
  docsFile: {
    request: { method: 'GET', path: '/docs/start.js' },
    response: { status: 200, type: 'text/javascript; charset=utf-8' },
  },
  pageFile: {
    request: { method: 'GET', path: '/pages/site.css' },
    response: { status: 200, type: 'text/css; charset=utf-8' },
  },
};
