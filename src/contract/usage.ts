/** `GET /v1/usage` on the wire: the limits of a key, and how much of them is used. */
import typia, { type tags } from 'typia';
import { tiers, type Tier } from './pricing.js';
import {
  html,
  information,
  keyedLookUp,
  kibibyte,
  privateFields,
  read,
  stored,
  tooManyPage,
  type ResourceRoutes,
} from './route.js';
import { get, getOther } from './schema/route.js';
import type { Integer } from './schema/tags.js';
import { annotated, wireTypes } from './schema/wireType.js';

/** The key whose usage is asked for. */
export interface UsageHeaders {
  /** The API key, which may be sent in `Authorization` as a bearer token instead. */
  'x-api-key'?: string;
}

/** Requests per minute. */
export interface RequestUsage {
  /** 0: no limit. */
  limit: number & Integer & tags.Minimum<0>;
  /** Seconds in which a used-up limit becomes fully available again. */
  window_s: number & Integer;
  /** Requests that the key may make at once now; null: no limit. */
  remaining: (number & Integer & tags.Minimum<0>) | null;
}

/** Characters per month of 30 days. */
export interface CharacterUsage {
  /** 0: no limit. */
  limit: number & Integer & tags.Minimum<0>;
  /** Used since the month began; the last 10 seconds may be missing. */
  used: number & Integer & tags.Minimum<0>;
  /** Left of the limit; null: no limit. */
  remaining: (number & Integer & tags.Minimum<0>) | null;
  /** When the next month begins (RFC 3339 UTC). */
  resets_at: string;
}

/** Usage on one day. */
export interface DayUsage {
  /** UTC. */
  date: string & tags.Format<'date'>;
  /** Requests that were admitted. */
  requests: number & Integer & tags.Minimum<0>;
  /** Characters charged for them. */
  characters: number & Integer & tags.Minimum<0>;
  /** Requests that a limit refused. */
  refused: number & Integer & tags.Minimum<0>;
}

/** Usage of a key. */
export interface UsageResponse {
  tier: Tier;
  /** RFC 3339 UTC; for a key that replaced others, the time when the first of them was issued. */
  issued_at: string;
  /** Expiry of the key (RFC 3339 UTC); null: it does not expire. */
  expires_at: string | null;
  requests: RequestUsage;
  characters: CharacterUsage;
  /** The last 30 days on which the key was used, oldest first; the last 10 seconds may be missing. */
  days: DayUsage[] & tags.MaxItems<30>;
}

const [headersType, usageResponseType] = wireTypes(typia.json.schemas<[UsageHeaders, UsageResponse]>(), {
  tier: tiers,
});
const usageHeadersType = annotated(headersType, { extensions: ['x-api-key'] });

const exampleKey = 'fg_rMsLLdgJvAYk16LZJjBycLdhSUboUx9_dTDOuRg3ZeU1iwCpL';

const usage: UsageResponse = {
  tier: 'growth',
  issued_at: '2026-11-21T09:30:00.000Z',
  expires_at: '2026-12-21T09:30:00.000Z',
  requests: { limit: 6_000, window_s: 60, remaining: 5_998 },
  characters: {
    limit: 1_000_000_000,
    used: 418_230_117,
    remaining: 581_769_883,
    resets_at: '2026-12-21T09:30:00.000Z',
  },
  days: [
    { date: '2026-11-21', requests: 40_112, characters: 412_000_019, refused: 0 },
    { date: '2026-11-22', requests: 610, characters: 6_230_098, refused: 3 },
  ],
};

/** GET /v1/usage, and its page. */
export const usageRoutes = {
  usage: {
    ...information,
    path: '/v1/usage',
    summary: 'Limits of a key, and how much of them is used',
    description:
      'For the holder of a key, even when its characters are used up. Keys that replaced each other share ' +
      'their usage. The call counts as one request of the key.',
    parameters: { header: usageHeadersType },
    reads: ['authorization'],
    answers: { 200: { schema: usageResponseType, description: 'The usage.' } },
    unprocessable: true,
    limit: 'pages',
    problems: keyedLookUp,
    headers: ['ratelimit', 'ratelimit-policy'],
    fields: privateFields,
    example: get('/v1/usage', usage, { 'x-api-key': exampleKey }),
  },
  usagePage: {
    ...information,
    fields: privateFields,
    path: '/usage',
    summary: 'A page that shows the usage of a key',
    description: 'For people: asks for the key in a field.',
    answers: { 200: { type: html, description: 'The page.' } },
    cors: false,
    ...read,
    extension: true,
    example: getOther('/usage', html),
  },
  usageShown: {
    ...stored,
    tag: 'information',
    fields: privateFields,
    path: '/usage',
    summary: 'Show the usage of a key with the form of /usage',
    description: 'Shows the usage of the key in the form. The call counts as one request of the key.',
    body: { kind: 'any', limit: kibibyte },
    answers: {
      200: { type: html, description: 'The page, with the usage.' },
      401: { type: html, description: 'The page; it says why the key is not accepted.' },
      429: tooManyPage('requests'),
    },
    cors: false,
    limit: 'pages',
    headers: ['ratelimit', 'ratelimit-policy'],
    extension: true,
    example: {
      request: {
        method: 'POST',
        path: '/usage',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `key=${exampleKey}`,
      },
      response: { status: 200, type: html },
    },
  },
} as const satisfies ResourceRoutes;
