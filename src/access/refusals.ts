/** The answers that refuse a caller (contract, Authentication; RFC 9110 401, RFC 6585 429). */
import type { Answer } from '../contract/exchange.js';
import { problemOf, type ProblemCode } from '../contract/problem.js';
import type { RouteLimit } from '../contract/routes.js';
import { makeKey, type AccessMode } from './mode.js';
import { timeText } from '../system/clock.js';

/** The variable that sets each limit by address. */
export const limitVariables: Readonly<Record<RouteLimit, string>> = {
  audits: 'AUDITS_PER_MINUTE',
  leads: 'LEADS_PER_MINUTE',
  checkout: 'CHECKOUT_REQUESTS_PER_MINUTE',
  submissions: 'DOOR_SUBMISSIONS_PER_MINUTE',
  markers: 'HARVEST_MARKERS_PER_MINUTE',
  previews: 'PREVIEWS_PER_MINUTE',
  clicks: 'CLICKS_PER_MINUTE',
  explorations: 'EXPLORATIONS_PER_MINUTE',
  polls: 'POLLS_PER_MINUTE',
  pages: 'PAGES_PER_MINUTE',
  cardEvents: 'CARD_EVENTS_PER_MINUTE',
};

/** Advice to the operator on lifting a limit by address. */
export function liftRoute(limit: RouteLimit): string {
  return ` The operator of this server lifts this limit with ${limitVariables[limit]}=0 fusegate serve.`;
}

/** Advice to the operator on lifting the limits without a key, a minute's or a month's. */
export function liftAnonymous(limit: 'minute' | 'month'): string {
  const variable = limit === 'minute' ? 'ANONYMOUS_REQUESTS_PER_MINUTE' : 'ANONYMOUS_CHARACTERS_PER_MONTH';
  return (
    ` The operator of this server lifts this limit with ${variable}=0 or ACCESS=open fusegate serve, ` +
    `or makes a key with ${makeKey}.`
  );
}

/** Advice to the operator on the limits of a tier. */
export const liftTier =
  ' The operator of this server sets the limits of tiers in TIERS_FILE, and makes a key of a larger tier ' +
  'with fusegate keys create --tier enterprise.';

function refusal(
  status: number,
  code: ProblemCode,
  detail: string,
  headers: Readonly<Record<string, string>>,
): Answer {
  const bytes = JSON.stringify(problemOf(code, detail));
  return { status, body: { bytes, type: 'application/json' }, headers, charge: 0, problem: code };
}

function unauthorized(code: ProblemCode, detail: string): Answer {
  return refusal(401, code, detail, { 'www-authenticate': 'ApiKey' });
}

/** No key, on a server that requires one (ACCESS=keys). */
export const keyRequired = unauthorized(
  'key_required',
  'This server answers only callers with an API key: send it in X-API-Key. ' +
    `Its operator makes one with ${makeKey}, or serves everybody with ACCESS=open fusegate serve.`,
);

/** No key in a request for a key's usage. */
export const usageNeedsKey = unauthorized(
  'key_required',
  'Send the API key whose usage you want to see in X-API-Key.',
);

const operatorMakesKey = ` The operator of this server makes a key with ${makeKey}.`;

const unknownKey = 'This server knows no such API key. Check X-API-Key';

/** A mistyped key, or one that the server never issued. */
export const invalidKey = unauthorized(
  'invalid_api_key',
  `${unknownKey}, or leave it out for anonymous access.${operatorMakesKey}`,
);

/** Two keys in one request. */
export const differingKeys = unauthorized(
  'invalid_api_key',
  'X-API-Key and Authorization carry different API keys. Send one of them.',
);

/** An expired key. */
export const expiredKey = unauthorized(
  'key_expired',
  'The term of this API key is over. Buy a new one, or leave X-API-Key out for anonymous access.' +
    operatorMakesKey,
);

/** The answers to an unknown key and to an expired one. */
export function keyRefusals(mode: AccessMode): { readonly invalid: Answer; readonly expired: Answer } {
  if (mode !== 'keys') return { invalid: invalidKey, expired: expiredKey };
  return {
    invalid: unauthorized('invalid_api_key', `${unknownKey}.${operatorMakesKey}`),
    expired: unauthorized(
      'key_expired',
      `The term of this API key is over. Use another one.${operatorMakesKey}`,
    ),
  };
}

/** A revoked key. */
export const revokedKey = unauthorized(
  'key_revoked',
  'This API key was revoked and stays so. Use the key that replaced it, or buy a new one.',
);

/** A suspended key. */
export const suspendedKey = unauthorized(
  'key_suspended',
  'This API key is suspended while its payment is disputed or unconfirmed, and works again after that.',
);

/** Keys cannot be looked up now. */
export const storeUnavailable = refusal(
  503,
  'store_unavailable',
  'This API key cannot be looked up right now. Try again shortly.',
  { 'retry-after': '1' },
);

function rateLimited(detail: string, retrySeconds: number): Answer {
  return refusal(429, 'rate_limited', detail, { 'retry-after': String(retrySeconds) });
}

const inSeconds = (count: number): string => (count === 1 ? '1 second' : `${count} seconds`);

/**
 * Over the requests of a minute. `who`: the subject of the limit, as in `this address`; `lift`: a sentence
 * that says how the operator lifts it.
 */
export function overMinute(perMinute: number, who: string, retrySeconds: number, lift = ''): Answer {
  const limit = perMinute === 1 ? '1 request' : `${perMinute} requests`;
  return rateLimited(
    `Over the limit of ${limit} a minute for ${who}. Try again in ${inSeconds(retrySeconds)}.${lift}`,
    retrySeconds,
  );
}

/** A network has used up its storing limit for now. */
export function overStored(kbPerMinute: number, retrySeconds: number): Answer {
  return rateLimited(
    `This network has sent more to be stored than ${kbPerMinute} kB a minute. Try again in ` +
      `${inSeconds(retrySeconds)}. The operator of this server lifts this limit with ` +
      'STORED_KB_PER_MINUTE=0 fusegate serve.',
    retrySeconds,
  );
}

/** Over the requests of the address's whole network. */
export function overNetwork(retrySeconds: number, lift: string): Answer {
  return rateLimited(
    'Other addresses of this network have used up the requests a minute that it has together on this path. ' +
      `Try again in ${inSeconds(retrySeconds)}.${lift}`,
    retrySeconds,
  );
}

/** Over the requests shared by all addresses that found no free slot. */
export function overCrowd(retrySeconds: number, lift: string): Answer {
  return rateLimited(
    'So many addresses are calling that new ones share one limit, which is used up. ' +
      `Try again in ${inSeconds(retrySeconds)}.${lift}`,
    retrySeconds,
  );
}

/** Over the characters of a month, which ends at `endMs` (ms since 1970). */
export function overMonth(
  perMonth: number,
  who: string,
  endMs: number,
  retrySeconds: number,
  lift: string,
): Answer {
  const end = timeText(endMs);
  return rateLimited(
    `The ${perMonth} characters a month for ${who} are used up. The next month begins at ${end}; ` +
      `a key of a larger tier has more.${lift}`,
    retrySeconds,
  );
}

/** Over the unknown keys that an address may try in a minute. */
export function overLookUps(retrySeconds: number): Answer {
  return rateLimited(
    'This address has sent too many unknown API keys. ' +
      `Check X-API-Key and try again in ${inSeconds(retrySeconds)}.${operatorMakesKey}`,
    retrySeconds,
  );
}
