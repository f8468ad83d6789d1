/** The answers that refuse a caller: their fields, and sentences that count right. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  expiredKey,
  invalidKey,
  overLookUps,
  overMinute,
  overMonth,
  revokedKey,
  storeUnavailable,
  suspendedKey,
} from '../../src/access/refusals.js';
import type { Answer } from '../../src/contract/exchange.js';

function detailOf({ body }: Answer): string {
  assert.ok('bytes' in body && typeof body.bytes === 'string');
  const { detail } = JSON.parse(body.bytes) as { readonly detail: string };
  return detail;
}

test('a refusal is JSON and costs nothing; a 401 says which credentials are asked for (RFC 9110)', () => {
  const unauthorized = [invalidKey, expiredKey, revokedKey, suspendedKey];
  for (const { status, headers } of unauthorized) {
    assert.deepEqual([status, headers], [401, { 'www-authenticate': 'ApiKey' }]);
  }
  const others = [storeUnavailable, overMinute(1, 'you', 1), overMonth(1, 'you', 0, 1), overLookUps(1)];
  for (const { body, charge } of [...unauthorized, ...others]) {
    assert.deepEqual(['type' in body ? body.type : '', charge], ['application/json', 0]);
  }
});

test('one of a thing is not many', () => {
  assert.equal(
    detailOf(overMinute(1, 'this address', 1)),
    'Over the limit of 1 request a minute for this address. Try again in 1 second.',
  );
  assert.equal(
    detailOf(overMinute(2, 'this address', 30)),
    'Over the limit of 2 requests a minute for this address. Try again in 30 seconds.',
  );
});
