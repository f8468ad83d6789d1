/** `/v1/profiles/{name}` on the wire: settings of POST /v1/fuse that requests use by name. */
import typia, { type tags } from 'typia';
import { fuseRules, fuseValues, type FuseRequest } from './fuse.js';
import { keyHeadersType } from './key.js';
import { keyedLookUp, keyedProblems, kibibyte, namedRoute, type ResourceRoutes } from './route.js';
import { get, remove, type Example } from './schema/route.js';
import type { Integer, MaxCodePoints } from './schema/tags.js';
import { explainBody } from './schema/validate.js';
import { bodyType, wireTypes } from './schema/wireType.js';

/** Members of a request that a profile may have: those that decide the ranking. */
export const profileMembers = [
  ...(['method', 'tokenizer', 'embed_model', 'entity_map', 'weights', 'rrf_k', 'k1', 'b'] as const),
  ...(['analyzer', 'corpus', 'on_missing_dense', 'dense_kind', 'min_score', 'legs', 'boosts'] as const),
  ...(['collapse', 'diversify'] as const),
] as const satisfies readonly (keyof FuseRequest)[];

/** Members of a type, in the type's order. The order of `Pick` depends on what else is compiled. */
type Members<Of, Name> = { [Key in keyof Of as Key extends Name ? Key : never]: Of[Key] };

// An interface, because an alias would have no name in the documents.
/** Members of a POST /v1/fuse request, in the same form. Other members are refused. */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface ProfileSettings extends Members<FuseRequest, (typeof profileMembers)[number]> {}

/** The path of the routes. */
export interface ProfilePath {
  /** Name of the profile: 1 to 64 of A-Z a-z 0-9 . _ -. */
  name: string & MaxCodePoints<64>;
}

/** A version of a profile. */
export interface ProfileVersion {
  version: number & Integer & tags.Minimum<1>;
  /** Members that a request with this profile gets, unless it has them itself. */
  settings: ProfileSettings;
  /** RFC 3339 UTC. */
  created_at: string;
}

/** A new version. */
export interface PutProfileResponse extends ProfileVersion {
  name: string;
}

/** A profile. */
export interface ProfileResponse {
  name: string;
  /** True if everybody may use it, not only the key of the request. */
  shared: boolean;
  /** Oldest first. */
  versions: ProfileVersion[];
}

/** A profile that was removed. */
export interface RemovedProfileResponse {
  name: string;
  removed: true;
}

const [settingsType, pathType, putType, profileType, removedType] = wireTypes(
  typia.json.schemas<
    [ProfileSettings, ProfilePath, PutProfileResponse, ProfileResponse, RemovedProfileResponse]
  >(),
  fuseValues,
);

const closedType = { ...settingsType, closed: true };
const isOfItsTypes = typia.createIs<ProfileSettings>();

/** True for settings without other members. `createEquals` of a map would import typia at run time. */
function isSettings(value: unknown): value is ProfileSettings {
  return isOfItsTypes(value) && explainBody(closedType, value).length === 0;
}

/** The body of PUT, under the same rules as these members of a request. */
export const profileSettingsType = bodyType(settingsType, isSettings, {
  closed: true,
  rules: (settings) => fuseRules({ query: '', docs: [], ...settings }),
});

/** Longest body of settings (bytes). */
export const profileBytes = 32 * kibibyte;

const settings: ProfileSettings = {
  weights: { bm25: 0.3, dense: 0.7 },
  analyzer: 'english',
  k1: 1.2,
};
const version: ProfileVersion = { version: 1, settings, created_at: '2026-11-23T09:30:00.000Z' };

/** Members common to these routes. */
const profileRoute = {
  ...namedRoute,
  path: '/v1/profiles/{name}',
} as const;

/** Further members of the routes without a body. */
const bodyless = {
  parameters: { path: pathType, header: keyHeadersType },
  body: { kind: 'none' },
  problems: { ...keyedLookUp, 404: ['profile_not_found'] },
} as const;

/** PUT, GET and DELETE /v1/profiles/{name}. */
export const profileRoutes = {
  putProfile: {
    ...profileRoute,
    method: 'PUT',
    summary: 'Store settings under a name',
    description:
      'Makes the next version of a profile: members of POST /v1/fuse that a request with `profile: name` ' +
      'gets, unless it has them itself. They are checked like those of a request. The profile belongs to ' +
      'the API key of the request; if ACCESS is `open`, that of a request without a key is shared. Every ' +
      'worker knows a new version within a second. `fusegate tune --profile` writes a profile.',
    parameters: { path: pathType, header: keyHeadersType },
    body: { kind: 'json', schema: profileSettingsType, other: 'none', limit: profileBytes },
    answers: { 200: { schema: putType, description: 'The new version.' } },
    storesFromStrangers: true,
    problems: {
      ...keyedProblems,
      409: ['profile_limit'],
      503: ['overloaded', 'store_unavailable', 'storage_reserved'],
    },
    example: {
      request: {
        method: 'PUT',
        path: '/v1/profiles/shop',
        headers: { 'content-type': 'application/json' },
        body: settings,
      },
      response: { status: 200, type: 'application/json', body: { name: 'shop', ...version } },
    } satisfies Example,
  },
  profile: {
    ...profileRoute,
    ...bodyless,
    method: 'GET',
    summary: 'The versions of a profile',
    description: 'The profile of the request’s API key; if it has none with this name, the shared one.',
    answers: { 200: { schema: profileType, description: 'The versions.' } },
    example: get('/v1/profiles/shop', { name: 'shop', shared: true, versions: [version] }),
  },
  removeProfile: {
    ...profileRoute,
    ...bodyless,
    method: 'DELETE',
    summary: 'Remove a profile',
    description:
      'Removes the profile of the request’s API key with all versions, whose numbers are never used again. ' +
      'Without a key, if ACCESS is `open`, removes the shared one.',
    answers: { 200: { schema: removedType, description: 'It is removed.' } },
    example: remove('/v1/profiles/shop', { name: 'shop', removed: true }),
  },
} as const satisfies ResourceRoutes;
