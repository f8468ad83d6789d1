/**
 * The API key of a request: in `X-API-Key`, or in `Authorization` as a bearer token (RFC 6750), with or
 * without the word Bearer.
 */
import type { CallerHead } from './address.js';

/** A request's key; `""` for none; undefined for two keys that differ. */
export type SentKey = string | undefined;

/** The first characters of every key. */
const keyPrefix = 'fg_';

const scheme = /^bearer +/i;

/**
 * A key in `Authorization`; `""` for none. Clients of other APIs refuse to run without a token and send
 * placeholders such as `fake-api-key`: a token without our prefix does not count as a key.
 */
function bearerKey(authorization: string): string {
  const token = authorization.replace(scheme, '').trim();
  return token.startsWith(keyPrefix) ? token : '';
}

/** The key that a request carries. */
export function sentKey(head: Pick<CallerHead, 'field'>): SentKey {
  const key = head.field('x-api-key');
  const authorization = head.field('authorization');
  if (authorization === '') return key;
  const bearer = bearerKey(authorization);
  if (bearer === '' || bearer === key) return key;
  return key === '' ? bearer : undefined;
}
