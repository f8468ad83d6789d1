/** Cross-origin requests (Fetch standard): public endpoints, without credentials. */
import type { Answer } from '../contract/exchange.js';

/** Request header fields that a page may send besides the safelisted ones. */
const allowedHeaders = 'Content-Type, X-API-Key, X-Request-Id, X-Claim-Token, Idempotency-Key';

/** Response header fields that a page may read besides the safelisted ones. */
const exposedHeaders =
  'X-Request-Id, Server-Timing, RateLimit, RateLimit-Policy, Retry-After, Idempotent-Replayed';

/** Header lines of an answer to a request with an `Origin`, starting after another line's value. */
export const crossOriginLines =
  '\r\naccess-control-allow-origin: *' + `\r\naccess-control-expose-headers: ${exposedHeaders}`;

/** Seconds for which a browser may cache a preflight's answer. */
const preflightMaxAge = '86400';

/**
 * Answers OPTIONS on a path with the methods of `allow`. It is a preflight if a page of another origin asks
 * (`method` is its `Access-Control-Request-Method`) and the path is open to other origins.
 */
export function answerOptions(allow: string, open: boolean, method: string): Answer {
  const headers: Record<string, string> = { allow };
  if (open && method !== '') {
    headers['access-control-allow-methods'] = allow;
    headers['access-control-allow-headers'] = allowedHeaders;
    headers['access-control-max-age'] = preflightMaxAge;
    headers['vary'] = 'Origin, Access-Control-Request-Method';
  }
  return { status: 204, body: { bytes: '', type: '' }, headers, charge: 0 };
}
