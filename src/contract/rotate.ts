/** `POST /v1/keys/rotate` on the wire: the holder of a key replaces it with a new one. */
import typia, { type tags } from 'typia';
import { tiers, type Tier } from './pricing.js';
import { information, keyedProblems, kibibyte, privateFields, type ResourceRoutes } from './route.js';
import { post } from './schema/route.js';
import type { Integer } from './schema/tags.js';
import { annotated, bodyType, wireTypes } from './schema/wireType.js';
import type { UsageHeaders } from './usage.js';

/** How long the old key still works beside the new one. */
export interface RotateKeyRequest {
  /** Seconds for which the old key still works, at most 7 days; 0: it ends at once. */
  overlap_s?: number & Integer & tags.Minimum<0> & tags.Maximum<604800>;
}

/** Values of absent members. */
export const rotateKeyDefaults = { overlap_s: 86_400 } as const satisfies RotateKeyRequest;

/** The new key. */
export interface RotateKeyResponse {
  /** The new key, which is shown only this once. */
  api_key: string;
  tier: Tier;
  /** Expiry of the new key, the same as that of the old one (RFC 3339 UTC); null: it does not expire. */
  expires_at: string | null;
  /** From this time the old key is refused (RFC 3339 UTC). */
  old_key_ends_at: string;
}

const [headersType, requestType, responseType] = wireTypes(
  typia.json.schemas<[UsageHeaders, RotateKeyRequest, RotateKeyResponse]>(),
  { tier: tiers },
);
const rotateHeadersType = annotated(headersType, { extensions: ['x-api-key'] });
const rotateKeyRequestType = bodyType(requestType, typia.createIs<RotateKeyRequest>(), {
  defaults: rotateKeyDefaults,
});

const response: RotateKeyResponse = {
  api_key: 'fg_YSBuZXcga2V5IHRoYXQgb3BlbnMgbm8gc2VydmVyISE3HXJwF',
  tier: 'growth',
  expires_at: '2026-12-21T09:30:00.000Z',
  old_key_ends_at: '2026-11-28T09:30:00.000Z',
};

const example = post('/v1/keys/rotate', { overlap_s: 604_800 } satisfies RotateKeyRequest, response);
const key = { 'x-api-key': 'fg_rMsLLdgJvAYk16LZJjBycLdhSUboUx9_dTDOuRg3ZeU1iwCpL' };

/** POST /v1/keys/rotate. */
export const rotateRoutes = {
  rotateKey: {
    ...information,
    method: 'POST',
    path: '/v1/keys/rotate',
    summary: 'Replace a key with a new one',
    description:
      'For the holder of a key, even when its limits are used up. The new key has the tier, expiry, limits ' +
      'and usage of the old one, and its order if it was sold. Both work until the overlap ends. At most ' +
      'two work at a time: a third ends the first at once. A key can be replaced only once, and a new key ' +
      'only a minute after it replaced the old one.',
    parameters: { header: rotateHeadersType },
    reads: ['authorization'],
    body: { kind: 'json', schema: rotateKeyRequestType, other: 'none', limit: 4 * kibibyte },
    answers: {
      200: { schema: responseType, description: 'The new key is on disk; it is shown only this once.' },
    },
    unprocessable: true,
    limit: 'pages',
    problems: { ...keyedProblems, 409: ['key_replaced'], 503: ['overloaded', 'store_unavailable'] },
    headers: ['ratelimit', 'ratelimit-policy'],
    fields: privateFields,
    example: { ...example, request: { ...example.request, headers: { ...example.request.headers, ...key } } },
  },
} as const satisfies ResourceRoutes;
