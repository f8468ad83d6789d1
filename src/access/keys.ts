/** API keys (contract, Authentication): who may call with one. */
import type { Answer } from '../contract/exchange.js';
import type { Problem } from '../contract/problem.js';

const unknownKey: Problem = {
  detail: 'This server knows no such API key. Check X-API-Key, or leave it out for anonymous access.',
  code: 'invalid_api_key',
};
const refusal: Answer = {
  status: 401,
  body: { bytes: JSON.stringify(unknownKey), type: 'application/json' },
  headers: { 'www-authenticate': 'ApiKey' },
  charge: 0,
};

/**
 * The answer that refuses a request's key (`""`: none given), or undefined when the request may go on. This
 * version issues no keys, so that every key is an unknown one.
 */
export function refuseKey(key: string): Answer | undefined {
  return key === '' ? undefined : refusal;
}
