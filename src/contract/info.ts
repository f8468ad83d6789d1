/** The service's information endpoints on the wire (contract, banner, health, version, privacy). */
import typia from 'typia';
import { html, information, type ResourceRoutes } from './route.js';
import { get } from './schema/route.js';
import { wireTypes } from './schema/wireType.js';

/** `GET /`. */
export interface BannerResponse {
  service: string;
  version: string;
  documentation: string;
  openapi: string;
}

/** `GET /health`: the process answers. */
export interface HealthResponse {
  status: 'ok';
}

/** One thing that readiness depends on. */
export interface ReadyCheck {
  check: string;
  ok: boolean;
  /** The fault's code, for programs; null when ok. */
  code: string | null;
  /** The fault, as a sentence; null when ok. */
  reason: string | null;
}

/** Code of every check while the checks have not ended in time: it says nothing about what they check. */
export const unfinished = 'no_answer';

/** `GET /ready`: 200 when every check is ok, else 503. */
export interface ReadyResponse {
  ready: boolean;
  checks: ReadyCheck[];
  /** Sentences for the operator about what works now but may soon fail. */
  warnings: string[];
}

/** `GET /version`: every value is a string. */
export interface VersionResponse {
  [name: string]: string;
}

/** Data stored about callers, its purpose and its retention. */
export interface StoredData {
  /** The stored data. */
  what: string;
  /** Its purpose. */
  why: string;
  /** How long it is kept. */
  retention: string;
  /** Where it is stored. */
  where: string;
}

/** `GET /privacy`. */
export interface PrivacyResponse {
  stored: StoredData[];
  logged: StoredData[];
  not_stored: string[];
}

const [bannerResponseType, healthResponseType, readyResponseType, versionResponseType, privacyResponseType] =
  wireTypes(
    typia.json.schemas<[BannerResponse, HealthResponse, ReadyResponse, VersionResponse, PrivacyResponse]>(),
  );

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

/** Data of requests that a collector of traces receives, if one is configured. */
export const requestTrace: StoredData = {
  what:
    'Route, method, status, sizes, duration and request id of some requests, the calls that they cause, ' +
    'and the tracestate field of callers that trace their own requests.',
  why: 'To find out where time goes.',
  retention: "As long as the operator's collector of traces keeps them.",
  where: "The operator's collector (OTEL_EXPORTER_OTLP_ENDPOINT).",
};

/** Members of a request's log line. */
export const requestLog: StoredData = {
  what:
    'Route, status, sizes, duration and request id of requests that ended in a fault of ours (5xx); ' +
    'of every request where the operator set LOG_LEVEL to debug.',
  why: 'To run the service and find faults.',
  retention: "As long as the operator's log collector keeps standard error.",
  where: 'Standard error.',
};

/** Data that is not stored. */
export const notStored: string[] = [
  'Bodies of requests and answers, except for what is listed above.',
  'Paths with their values, and queries, except for the tokens and destinations of counted links.',
  'API keys, idempotency keys and tokens of opt-out links.',
  'IP addresses, Referer and User-Agent.',
];

const privacy: PrivacyResponse = {
  stored: privacyStored,
  logged: [requestLog],
  not_stored: notStored,
};

/** Description of the service. */
export const infoRoutes = {
  banner: {
    ...information,
    path: '/',
    summary: 'What this service is',
    description:
      'Names the service and the path of its reference. A browser gets the home page, where requests can ' +
      'be tried.',
    reads: ['accept'],
    answers: { 200: { schema: bannerResponseType, description: 'The banner.', also: [html] } },
    example: get('/', banner),
  },
  health: {
    ...information,
    // Monitors of an address ask it on that address.
    everywhere: true,
    path: '/health',
    summary: 'Whether the process answers',
    description: 'For liveness probes: it answers as long as the process runs.',
    answers: { 200: { schema: healthResponseType, description: 'It answers.' } },
    example: get('/health', health),
  },
  ready: {
    ...information,
    everywhere: true,
    path: '/ready',
    summary: 'Whether requests can be served',
    description:
      'For readiness probes: each thing that has to work for requests to be served, with the reason if it ' +
      'does not.',
    answers: {
      200: { schema: readyResponseType, description: 'Every check passed.' },
      503: { schema: readyResponseType, description: 'A check failed; its reason says which and why.' },
    },
    example: get('/ready', ready),
  },
  version: {
    ...information,
    path: '/version',
    summary: 'Versions in force',
    description: 'Versions of the service, its contracts and what it runs on; every value is a string.',
    answers: { 200: { schema: versionResponseType, description: 'The versions.' } },
    example: get('/version', version),
  },
  privacy: {
    ...information,
    path: '/privacy',
    summary: 'What is kept about callers',
    description: 'What is stored and logged, why, where and how long.',
    answers: { 200: { schema: privacyResponseType, description: 'What is kept.' } },
    example: get('/privacy', privacy),
  },
} as const satisfies ResourceRoutes;
