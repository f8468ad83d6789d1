/** Description of a route of the contract, and members that many routes share. */
import type { Answer } from './exchange.js';
import type { ProblemCode } from './problem.js';
import type { DescribedRoute, Example, RouteFailure } from './schema/route.js';

/** The form of a route's failures, if it is not the usual one. */
export interface WrittenFailure extends RouteFailure {
  /** Turns a failure of the usual form into that of the route. `id`: the request's id. */
  readonly write: (answer: Answer, id: string) => Answer;
}

/** One route of a resource. */
export interface ResourceRoute extends DescribedRoute {
  /** Address that serves it: `gateway` is contract part A, `door` part B. */
  readonly part: 'gateway' | 'door';
  /** True if every address serves it, whatever its part. */
  readonly everywhere?: boolean;
  readonly tag: 'fuse' | 'normalize' | 'audit' | 'checkout' | 'outreach' | 'information' | 'door' | 'mcp';
  /** `public`: API keys are ignored. `key`: an `X-API-Key` is optional and decides the limits. */
  readonly access: 'public' | 'key';
  readonly failure?: WrittenFailure;
  /** The limit by address that counts requests to a public route; absent: none. */
  readonly limit?: string;
  /** A second limit by address, which counts the charge of the answer; the request alone does not show it. */
  readonly counts?: string;
  /** True if HEAD counts as a whole request, because its answer costs as much as that of GET. */
  readonly isHeadWhole?: boolean;
  /** Largest answer (bytes) to a caller without a key; absent: unlimited. */
  readonly keylessAnswerLimit?: number;
  /** True if it stores data of callers without a key: refused while little disk space is left. */
  readonly storesFromStrangers?: boolean;
  readonly problems: Readonly<Record<number, readonly ProblemCode[]>>;
  /** Request header fields that the handler reads besides its parameters, in lower case. */
  readonly reads?: readonly string[];
  /** True if pages of other origins may read the answers. */
  readonly cors: boolean;
  /**
   * Header fields of every answer on its path, whichever code writes it; an answer's own fields take
   * precedence.
   */
  readonly fields?: Readonly<Record<string, string>>;
  /** True if a GET changes something; HEAD and prefetches must not reach its action. */
  readonly acts: boolean;
  /** A function if it shows texts of another part of the program, which are its argument. */
  readonly example: Example | ((given: never) => Example);
}

/** The routes of a resource, by id. */
export type ResourceRoutes = Readonly<Record<string, ResourceRoute>>;

/** Bytes. */
export const kibibyte = 1024;
export const mebibyte = 1024 * kibibyte;

/** Bytes on disk of a record, without what was sent: digests, indexes, its part of pages. */
export const recordBytes = 2_048;

/** The media type of pages. */
export const html = 'text/html; charset=utf-8';

/** A page in place of what a caller asks for too often. `what`: the things that are too many. */
export function tooManyPage(what: string): { readonly type: typeof html; readonly description: string } {
  return {
    type: html,
    description: `A page that reports too many ${what}; \`Retry-After\` says when to try again.`,
  };
}

/** The media type of plain text. */
export const plainText = 'text/plain; charset=utf-8';

/** Members common to most information routes. */
export const information = {
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

/** Members of routes that are read often and cost little; they are limited by address. */
export const read = {
  limit: 'pages',
  problems: { 429: ['rate_limited'] },
  headers: ['ratelimit', 'ratelimit-policy'],
} as const;

/** Header fields of private answers: no cache stores them, no index lists them, no `Referer` names them. */
export const privateFields = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
} as const;

/** Members common to the routes of data that a key stores under a name for fuse requests. */
export const namedRoute = {
  part: 'gateway',
  tag: 'fuse',
  extension: true,
  access: 'key',
  unprocessable: true,
  headers: ['ratelimit', 'ratelimit-policy'],
  fields: privateFields,
  cors: false,
  acts: false,
  documented: true,
} as const;

/** Problems of a body that does not arrive in full. */
export const bodyProblems = {
  408: ['body_timeout'],
  413: ['body_too_large'],
  415: ['unsupported_encoding'],
} as const;

/** Every problem of a route that takes an API key and whose handler reads the body. */
export const keyedProblems = {
  401: ['key_required', 'invalid_api_key', 'key_expired', 'key_revoked', 'key_suspended'],
  ...bodyProblems,
  429: ['rate_limited'],
} as const;

/** The problems of a look-up by an API key. */
export const keyedLookUp = {
  401: keyedProblems[401],
  429: keyedProblems[429],
  503: ['store_unavailable'],
} as const;

/** Members common to routes that store a JSON body. */
export const stored = {
  method: 'POST',
  part: 'gateway',
  tag: 'outreach',
  parameters: {},
  access: 'public',
  unprocessable: true,
  problems: { ...bodyProblems, 503: ['overloaded', 'store_unavailable'] },
  headers: [],
  cors: true,
  acts: false,
  documented: true,
} as const;

/** Further members of routes that store anonymous bodies. */
export const storedFromStrangers = {
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

/** Members common to the routes of the fragment door. */
export const door = {
  part: 'door',
  tag: 'door',
  access: 'public',
  parameters: {},
  unprocessable: true,
  cors: true,
  acts: false,
  documented: true,
} as const;
