/** One full example a route: in the OpenAPI document, and as the files under `docs/examples`. */
import { MAX_NESTING } from './body.js';
import type { FuseRequest, FuseResponse } from './fuse.js';
import type {
  BannerResponse,
  HealthResponse,
  LimitsResponse,
  PrivacyResponse,
  ReadyResponse,
  VersionResponse,
} from './info.js';
import { bodyLimits, fieldLimits } from './limits.js';
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
    { check: 'data_folder', ok: true, reason: null },
    { check: 'native_module', ok: true, reason: null },
  ],
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

const privacy: PrivacyResponse = {
  stored: [],
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
    'Bodies of requests and answers.',
    'Paths with their values, and queries.',
    'API keys and tokens.',
    'Addresses, Referer and User-Agent.',
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

/** One example a route. */
export const examples: Readonly<Record<RouteId, Example>> = {
  fuse: {
    request: {
      method: 'POST',
      path: '/v1/fuse',
      headers: { 'content-type': json },
      body: fuseRequest,
    },
    response: { status: 200, type: json, body: fuseResponse },
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
};
