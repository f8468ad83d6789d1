/** The answers that refuse a caller (contract, Authentication; RFC 9110 401, RFC 6585 429). */
import type { Answer } from '../contract/exchange.js';
import type { Problem, ProblemCode } from '../contract/problem.js';

function refusal(status: number, problem: Problem, headers: Readonly<Record<string, string>>): Answer {
  return { status, body: { bytes: JSON.stringify(problem), type: 'application/json' }, headers, charge: 0 };
}

function unauthorized(code: ProblemCode, detail: string): Answer {
  return refusal(401, { detail, code }, { 'www-authenticate': 'ApiKey' });
}

/** A key that is mistyped, or that the server never issued. */
export const invalidKey = unauthorized(
  'invalid_api_key',
  'This server knows no such API key. Check X-API-Key, or leave it out for anonymous access.',
);

/** Two keys in one request. */
export const differingKeys = unauthorized(
  'invalid_api_key',
  'X-API-Key and Authorization carry different API keys. Send one of them.',
);

/** A key whose term is over. */
export const expiredKey = unauthorized(
  'key_expired',
  'The term of this API key is over. Buy a new one, or leave X-API-Key out for anonymous access.',
);

/** A key that was revoked. */
export const revokedKey = unauthorized(
  'key_revoked',
  'This API key was revoked and stays so. Use the key that replaced it, or buy a new one.',
);

/** A key that is suspended. */
export const suspendedKey = unauthorized(
  'key_suspended',
  'This API key is suspended while its payment is disputed or unconfirmed, and works again after that.',
);

/** Keys cannot be looked up now. */
export const storeUnavailable = refusal(
  503,
  { detail: 'This API key cannot be looked up right now. Try again shortly.', code: 'store_unavailable' },
  { 'retry-after': '1' },
);

function rateLimited(detail: string, retrySeconds: number): Answer {
  return refusal(429, { detail, code: 'rate_limited' }, { 'retry-after': String(retrySeconds) });
}

const inSeconds = (count: number): string => (count === 1 ? '1 second' : `${count} seconds`);

/** Over the requests of a minute. `who`: whom the limit is for, as in `this address`. */
export function overMinute(perMinute: number, who: string, retrySeconds: number): Answer {
  const limit = perMinute === 1 ? '1 request' : `${perMinute} requests`;
  return rateLimited(
    `Over the limit of ${limit} a minute for ${who}. Try again in ${inSeconds(retrySeconds)}.`,
    retrySeconds,
  );
}

/** Over the requests that a network of the address has together. */
export function overNetwork(retrySeconds: number): Answer {
  return rateLimited(
    'Other addresses of this network have used up the requests a minute that it has together on this path. ' +
      `Try again in ${inSeconds(retrySeconds)}.`,
    retrySeconds,
  );
}

/** Over the requests that all addresses have together for which there was no room to be counted alone. */
export function overCrowd(retrySeconds: number): Answer {
  return rateLimited(
    'So many addresses are calling that new ones share one limit, which is used up. ' +
      `Try again in ${inSeconds(retrySeconds)}.`,
    retrySeconds,
  );
}

/** Over the characters of a month, which ends at `endMs` (ms since 1970). */
export function overMonth(perMonth: number, who: string, endMs: number, retrySeconds: number): Answer {
  const end = new Date(endMs).toISOString();
  return rateLimited(
    `The ${perMonth} characters a month for ${who} are used up. The next month begins at ${end}; ` +
      'a key of a larger tier has more.',
    retrySeconds,
  );
}

/** Over the keys that an address may try in a minute. */
export function overLookUps(retrySeconds: number): Answer {
  return rateLimited(
    'This address has sent too many unknown API keys. ' +
      `Check X-API-Key and try again in ${inSeconds(retrySeconds)}.`,
    retrySeconds,
  );
}
