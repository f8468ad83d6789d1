/** `POST /v1/keys/rotate`: what the holder of a key is told, and who is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { issueKey, revokeKey, type IssuedKey, type IssueParts } from '../../src/access/issue.js';
import { rotateKeys } from '../../src/access/rotate.js';
import { storedKeys } from '../../src/access/stored.js';
import type { Answer } from '../../src/contract/exchange.js';
import type { RotateKeyResponse } from '../../src/contract/rotate.js';
import { native } from '../../src/native/addon.js';
import { findKey, findKeyById } from '../../src/store/tables/keys.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { recordingLog, type Logged } from '../support/http.js';
import { openTestStore, request, secrets } from '../support/serving.js';
import { MemoryUsage, SetClock, shippedTiers, testAccess } from '../support/access.js';

const day = 86_400_000;
const store = await openTestStore();
const clock = new SetClock();
const issueParts: IssueParts = {
  ...{ store, clock, randomness: systemRandomness, secret: secrets[0], format: native },
};

/** A handler on a server whose developers have so many requests a minute, and what its log was told. */
function served(perMinute = 600) {
  const tiers = shippedTiers();
  const growth = { ...tiers.growth, requests_per_minute: perMinute };
  const keys = storedKeys(store);
  const access = testAccess({ keys, usage: new MemoryUsage(), clock, tiers: { ...tiers, growth } });
  const logged: Logged[] = [];
  const log = recordingLog(logged);
  const handler = rotateKeys({ access, keys, hashKey: native.hashKey, issue: issueParts, log });
  const ask = async (
    key: string,
    { known = false, ...input }: { overlap_s?: number; known?: boolean } = {},
  ): Promise<Answer> => {
    if (!known) access.allChanged();
    const caller = (): Uint8Array => Uint8Array.of(192, 0, 2, 7);
    return handler(request({ input, header: (name) => (name === 'x-api-key' ? key : ''), caller }));
  };
  return { ask, logged };
}

function issue(termDays = 30): Promise<IssuedKey> {
  return issueKey(issueParts, { tier: 'growth', termDays, origin: 'for Ada' });
}

function told({ status, body }: Answer): RotateKeyResponse {
  assert.ok('json' in body);
  assert.equal(status, 200);
  return body.json as RotateKeyResponse;
}

/** Status, code and detail of a refusal, and the seconds after which to come again. */
function refusal({ status, body, headers }: Answer) {
  const text = 'json' in body ? JSON.stringify(body.json) : Buffer.from(body.bytes).toString();
  const { code, detail } = JSON.parse(text) as { code: string; detail: string };
  return { code: `${status} ${code}`, detail, retry: headers?.['retry-after'] };
}

const iso = (ms: number): string => new Date(ms).toISOString();

describe('the holder is told', () => {
  test('the new key, its tier and its end, and when the old one ends: after a day by default', async () => {
    const { ask, logged } = served();
    const old = await issue();
    const { api_key: key, ...rest } = told(await ask(old.rawKey));
    const found = await findKey(store, native.hashKey(key) ?? Buffer.alloc(0));
    assert.equal(found?.replaces, old.key.id);
    assert.deepEqual(rest, {
      tier: 'growth',
      expires_at: iso(old.key.expiresAtMs ?? 0),
      old_key_ends_at: iso(clock.wallMs() + day),
    });
    assert.deepEqual(logged, [
      {
        level: 'info',
        fields: { key: old.key.id, by: found.id },
        message: 'the holder of a key replaced it',
      },
    ]);
    assert.equal((await findKeyById(store, old.key.id))?.expiresAtMs, clock.wallMs() + day);
  });

  test('the overlap that was asked for, in seconds, and no end where the key has none', async () => {
    const { ask } = served();
    const { expires_at: end, old_key_ends_at: oldEnd } = told(
      await ask((await issue(0)).rawKey, { overlap_s: 90 }),
    );
    assert.deepEqual([end, oldEnd], [null, iso(clock.wallMs() + 90_000)]);
  });

  test('the new key even when the requests of the minute are used up', async () => {
    const { ask } = served(1);
    const old = await issue();
    const { api_key: key } = told(await ask(old.rawKey));
    clock.pass(60_000);
    assert.notEqual(told(await ask(key)).api_key, key);
    assert.equal(refusal(await ask(old.rawKey)).code, '401 key_revoked');
  });
});

describe('a request is refused', () => {
  test('for a key that was revoked since this process last read it', async () => {
    const { ask, logged } = served();
    const { api_key: key } = told(await ask((await issue()).rawKey));
    assert.equal(refusal(await ask(key)).code, '429 rate_limited');
    const found = await findKey(store, native.hashKey(key) ?? Buffer.alloc(0));
    await revokeKey(issueParts, found?.id ?? '', 'leaked');
    assert.equal(refusal(await ask(key, { known: true })).code, '401 key_revoked');
    assert.equal(logged.length, 1);
  });

  test('without a key, with an unknown key or with a revoked one', async () => {
    const { ask, logged } = served();
    const revoked = await issue();
    await revokeKey(issueParts, revoked.key.id, 'leaked');
    assert.equal(refusal(await ask('')).code, '401 key_required');
    assert.equal(refusal(await ask(native.writeKey(systemRandomness(32)))).code, '401 invalid_api_key');
    assert.equal(refusal(await ask(revoked.rawKey)).code, '401 key_revoked');
    assert.deepEqual(logged, []);
  });

  test('for a key that was replaced already, with the id of its replacement', async () => {
    const { ask, logged } = served();
    const old = await issue();
    const { api_key: key } = told(await ask(old.rawKey));
    const by = await findKey(store, native.hashKey(key) ?? Buffer.alloc(0));
    const { code, detail } = refusal(await ask(old.rawKey));
    assert.equal(code, '409 key_replaced');
    assert.match(detail, new RegExp(`replaced by ${by?.id ?? 'nobody'} `));
    assert.equal(logged.length, 1);
  });

  test('for a key that replaced another less than a minute ago, with the seconds left to wait', async () => {
    const { ask } = served();
    const { api_key: key } = told(await ask((await issue()).rawKey));
    clock.pass(20_500);
    const { code, detail, retry } = refusal(await ask(key));
    assert.deepEqual([code, retry], ['429 rate_limited', '40']);
    assert.match(detail, /1 request a minute for replacing a key\. Try again in 40 seconds\.$/);
  });
});
