/** `GET /v1/usage`: the limits of a key and how much of them is used, even when nothing is left. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keyUsage } from '../../src/access/keyUsage.js';
import type { Answer } from '../../src/contract/exchange.js';
import type { UsageResponse } from '../../src/contract/usage.js';
import { native } from '../../src/native/addon.js';
import { request } from '../support/serving.js';
import { MemoryKeys, MemoryUsage, SetClock, shippedTiers, testAccess } from '../support/access.js';

const day = 86_400_000;
const issuedAtMs = 1_800_000_000_000;
const month = { monthStartMs: issuedAtMs, characters: 20, days: [] };

/** A name of a key's usage, as it is kept. */
const subjectOf = (hash: Buffer): string => Buffer.concat([Uint8Array.of(0), hash]).toString('hex');

/** A server whose developers have three requests a minute and 100 characters a month, enterprises any. */
function server(trustedProxies: readonly string[] = []) {
  const shipped = shippedTiers();
  const tiers = {
    ...shipped,
    developer: { ...shipped.developer, requests_per_minute: 3, characters_per_month: 100 },
    enterprise: { ...shipped.enterprise, requests_per_minute: 0, characters_per_month: 0 },
  };
  const [keys, usage, clock] = [new MemoryKeys(), new MemoryUsage(), new SetClock()];
  const access = testAccess({ tiers, keys, usage, clock, trustedProxies });
  const handler = keyUsage({ access, keys, usage, hashKey: native.hashKey, tiers, clock });
  const caller = (): Uint8Array => Uint8Array.of(192, 0, 2, 7);
  const ask = async (headers: Readonly<Record<string, string>>): Promise<Answer> =>
    handler(request({ input: undefined, header: (name) => headers[name] ?? '', caller }));
  return { access, keys, usage, clock, ask };
}

function told({ status, body }: Answer): UsageResponse {
  assert.ok('json' in body);
  assert.equal(status, 200);
  return body.json as UsageResponse;
}

function codeOf({ status, body }: Answer): string {
  const text = 'json' in body ? JSON.stringify(body.json) : Buffer.from(body.bytes).toString();
  return `${status} ${(JSON.parse(text) as { code: string }).code}`;
}

describe('usage', () => {
  test('shows the key’s limits, what is left of them, and when they reset and the key expires', async () => {
    const { keys, usage, ask } = server();
    const { key, hash } = keys.issue({ expiresAtMs: issuedAtMs + 30 * day });
    usage.months.set(subjectOf(hash), month);
    assert.deepEqual(told(await ask({ 'x-api-key': key })), {
      ...{ tier: 'developer', issued_at: '2027-01-15T08:00:00.000Z', expires_at: '2027-02-14T08:00:00.000Z' },
      requests: { limit: 3, window_s: 60, remaining: 2 },
      characters: { limit: 100, used: 20, remaining: 80, resets_at: '2027-02-14T08:00:00.000Z' },
      days: [],
    });
    // As a bearer, and counted as a request.
    const again = told(await ask({ authorization: `Bearer ${key}` }));
    assert.deepEqual([again.requests.remaining, again.characters.used], [1, 20]);
  });

  test('is listed by day, and is shared by keys that replaced each other', async () => {
    const { keys, usage, ask } = server();
    const first = keys.issue();
    const second = keys.issue({ id: 'key_2', countedAs: first.hash });
    const counts = { requests: 3, characters: 20, refused: 1 };
    usage.months.set(subjectOf(first.hash), { ...month, days: [{ day: 20_000, ...counts }] });
    for (const { key } of [first, second]) {
      const { days, characters } = told(await ask({ 'x-api-key': key }));
      assert.deepEqual([days, characters.used], [[{ date: '2024-10-04', ...counts }], 20]);
    }
  });

  test('is shown even when the requests or the characters are used up', async () => {
    const { keys, usage, ask } = server();
    const { key, hash } = keys.issue();
    usage.months.set(subjectOf(hash), { ...month, characters: 130 });
    for (let at = 0; at < 5; at += 1) {
      const { characters, expires_at } = told(await ask({ 'x-api-key': key }));
      assert.deepEqual([characters.used, characters.remaining, expires_at], [130, 0, null]);
    }
  });

  test('starts at zero in the key’s next month, thirty days after its issue', async () => {
    const { keys, usage, clock, ask } = server();
    const { key, hash } = keys.issue();
    usage.months.set(subjectOf(hash), month);
    clock.pass(30 * day - 1);
    assert.equal(told(await ask({ 'x-api-key': key })).characters.used, 20);
    clock.pass(1);
    const { characters } = told(await ask({ 'x-api-key': key }));
    assert.deepEqual([characters.used, characters.resets_at], [0, '2027-03-16T08:00:00.000Z']);
  });

  test('has null for what is left where there is no limit', async () => {
    const { keys, ask } = server();
    const { key } = keys.issue({ tier: 'enterprise' });
    const { characters, requests } = told(await ask({ 'x-api-key': key }));
    assert.deepEqual([requests.limit, requests.remaining], [0, null]);
    assert.deepEqual([characters.limit, characters.remaining], [0, null]);
  });

  test('is shown only to the holder of a key that works', async () => {
    const { keys, ask } = server();
    assert.equal(codeOf(await ask({})), '401 key_required');
    assert.equal(codeOf(await ask({ authorization: 'Bearer placeholder' })), '401 key_required');
    const { key: unknown } = new MemoryKeys().issue();
    assert.equal(codeOf(await ask({ 'x-api-key': unknown })), '401 invalid_api_key');
    assert.equal(codeOf(await ask({ 'x-api-key': 'short' })), '401 invalid_api_key');
    const { key: other } = keys.issue();
    assert.equal(codeOf(await ask({ 'x-api-key': other, authorization: unknown })), '401 invalid_api_key');
    for (const [given, code] of [
      [{ status: 'revoked' }, '401 key_revoked'],
      [{ status: 'suspended' }, '401 key_suspended'],
      [{ expiresAtMs: issuedAtMs }, '401 key_expired'],
    ] as const) {
      assert.equal(codeOf(await ask({ 'x-api-key': keys.issue(given).key })), code);
    }
  });

  test('is not looked for once the address has tried too many unknown keys', async () => {
    const { keys, ask } = server();
    const unknown = (): Promise<Answer> => ask({ 'x-api-key': new MemoryKeys().issue().key });
    for (let at = 0; at < 60; at += 1) assert.equal(codeOf(await unknown()), '401 invalid_api_key');
    assert.equal(keys.finds, 60);
    assert.equal(codeOf(await unknown()), '429 rate_limited');
    assert.equal(keys.finds, 60, 'the store is not asked');
  });

  test('is refused without a key, however often it is asked for', async () => {
    const { ask } = server();
    for (let at = 0; at < 100; at += 1) assert.equal(codeOf(await ask({})), '401 key_required');
  });

  test('counts unknown keys for the address that the route found, not the one in the header', async () => {
    const { access, ask } = server();
    await ask({ 'x-forwarded-for': '198.51.100.1', 'x-api-key': new MemoryKeys().issue().key });
    assert.deepEqual(access.warnings(), []);
    const behind = server(['192.0.2.0/24']);
    const unknown = (at: number): Promise<Answer> =>
      behind.ask({ 'x-forwarded-for': `198.51.100.${at}`, 'x-api-key': new MemoryKeys().issue().key });
    for (let at = 0; at < 60; at += 1) assert.equal(codeOf(await unknown(at)), '401 invalid_api_key');
    assert.equal(codeOf(await unknown(60)), '429 rate_limited');
  });

  test('of a key whose record is gone is refused; a tier that is not sold is an error', async () => {
    const { keys, ask } = server();
    const { key, hash } = keys.issue();
    told(await ask({ 'x-api-key': key }));
    keys.change(hash, { tier: 'lost' });
    await assert.rejects(ask({ 'x-api-key': key }), /key_1 has a tier that is not sold/);
    keys.records.clear();
    assert.equal(codeOf(await ask({ 'x-api-key': key })), '401 key_required');
  });

  test('a store that does not answer is a 503', async () => {
    const { keys, usage, ask } = server();
    const { key } = keys.issue();
    await ask({ 'x-api-key': key });
    usage.available = false;
    assert.equal(codeOf(await ask({ 'x-api-key': key })), '503 store_unavailable');
    keys.available = false;
    assert.equal(codeOf(await ask({ 'x-api-key': key })), '503 store_unavailable');
  });
});
