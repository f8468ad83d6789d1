/** The answers that refuse a caller: their fields, and sentences with the right singular and plural. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  expiredKey,
  invalidKey,
  keyRefusals,
  keyRequired,
  liftAnonymous,
  liftRoute,
  limitVariables,
  overCrowd,
  overLookUps,
  overMinute,
  overMonth,
  overNetwork,
  revokedKey,
  storeUnavailable,
  suspendedKey,
} from '../../src/access/refusals.js';
import { limitedByRoute } from '../../src/access/limited.js';
import { settings } from '../../src/configuration.js';
import type { Answer } from '../../src/contract/exchange.js';
import type { RouteLimit } from '../../src/contract/routes.js';

function detailOf({ body }: Answer): string {
  assert.ok('bytes' in body && typeof body.bytes === 'string');
  const { detail } = JSON.parse(body.bytes) as { readonly detail: string };
  return detail;
}

function codeOf({ body }: Answer): string {
  assert.ok('bytes' in body && typeof body.bytes === 'string');
  const { code } = JSON.parse(body.bytes) as { readonly code: string };
  return code;
}

test('a refusal is JSON and costs nothing; a 401 says which credentials are asked for (RFC 9110)', () => {
  const { invalid, expired } = keyRefusals('keys');
  const unauthorized = [keyRequired, invalidKey, expiredKey, revokedKey, suspendedKey, invalid, expired];
  for (const { status, headers } of unauthorized) {
    assert.deepEqual([status, headers], [401, { 'www-authenticate': 'ApiKey' }]);
  }
  const limits = [
    overMinute(1, 'you', 1),
    overMonth(1, 'you', 0, 1, ''),
    overNetwork(1, ''),
    overCrowd(1, ''),
  ];
  for (const answer of [...unauthorized, ...limits, storeUnavailable, overLookUps(1)]) {
    const { body, charge, problem } = answer;
    assert.deepEqual(['type' in body ? body.type : '', charge], ['application/json', 0]);
    assert.equal(codeOf(answer), problem, 'the answer is counted under its code');
  }
});

test('each reason for which a key is refused has its own code', () => {
  const reasons = [keyRequired, invalidKey, expiredKey, revokedKey, suspendedKey].map(codeOf);
  const codes = ['key_required', 'invalid_api_key', 'key_expired', 'key_revoked', 'key_suspended'];
  assert.deepEqual(reasons, codes);
  assert.equal(codeOf(storeUnavailable), 'store_unavailable');
});

test('a refusal uses the singular for one', () => {
  assert.equal(
    detailOf(overMinute(1, 'this address', 1)),
    'Over the limit of 1 request a minute for this address. Try again in 1 second.',
  );
  assert.equal(
    detailOf(overMinute(2, 'this address', 30)),
    'Over the limit of 2 requests a minute for this address. Try again in 30 seconds.',
  );
});

test('a refusal names the variable and the command that lift it', () => {
  assert.match(
    detailOf(overMinute(60, 'an address', 9, liftAnonymous('minute'))),
    /ANONYMOUS_REQUESTS_PER_MINUTE=0 or ACCESS=open fusegate serve, or makes a key with fusegate keys create/,
  );
  assert.match(
    detailOf(overMonth(9, 'an address', 0, 1, liftAnonymous('month'))),
    /with ANONYMOUS_CHARACTERS_PER_MONTH=0 or ACCESS=open fusegate serve, or makes a key with fusegate keys/,
  );
  const names: string[] = Object.values(settings).map(({ name }) => name);
  for (const [limit, variable] of Object.entries(limitVariables)) {
    assert.ok(names.includes(variable), variable);
    assert.ok(liftRoute(limit as RouteLimit).includes(`${variable}=0 fusegate serve`));
  }
  assert.match(detailOf(keyRequired), /fusegate keys create --tier developer, .* ACCESS=open fusegate serve/);
  assert.match(detailOf(overLookUps(1)), /makes a key with fusegate keys create --tier developer/);
});

test('each route limit applies to addresses, with its own number and its own variable', () => {
  const names = Object.keys(limitVariables) as RouteLimit[];
  const numbers = Object.fromEntries(names.map((name, at) => [name, at])) as Record<RouteLimit, number>;
  const byRoute = limitedByRoute(numbers);
  assert.deepEqual(Object.keys(byRoute).sort(), [...names].sort());
  for (const name of names) {
    const { limits, policy, who, lift } = byRoute[name];
    assert.deepEqual(limits, { requests_per_minute: numbers[name], characters_per_month: 0 });
    assert.equal(policy, numbers[name] === 0 ? '' : `"minute";q=${numbers[name]};w=60`);
    const counted = name === 'markers' ? ', where each marker counts as one' : '';
    assert.equal(who, `an address on this path${counted}`);
    assert.deepEqual(lift, { minute: liftRoute(name), month: liftRoute(name) });
  }
});

test('if a key is needed, no refusal mentions anonymous access', () => {
  const { invalid, expired } = keyRefusals('keys');
  for (const mode of ['open', 'metered'] as const) {
    const told = keyRefusals(mode);
    for (const each of [told.invalid, told.expired]) assert.match(detailOf(each), /anonymous/);
  }
  assert.deepEqual([codeOf(invalid), codeOf(expired)], ['invalid_api_key', 'key_expired']);
  for (const each of [keyRequired, invalid, expired]) assert.doesNotMatch(detailOf(each), /anonymous/);
});
