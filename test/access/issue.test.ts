/** Keys that the operator makes, revokes and remakes, and what a new key takes over. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deriveKey } from '../../src/access/derive.js';
import { issueKey, reissueKey, revokeKey, type IssuedKey, type IssueParts } from '../../src/access/issue.js';
import { native } from '../../src/native/addon.js';
import { changeKey, findKey, findKeyById, type KeyRecord } from '../../src/store/tables/keys.js';
import { logs, spaces, type Log as LogName, type Space } from '../../src/store/spaces.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { SetClock } from '../support/access.js';
import { Shop } from '../support/shop.js';
import { FailingStore, openTestStore, secrets } from '../support/serving.js';

const day = 86_400_000;
const wall = { ms: 1_800_000_000_000 };
const store = await openTestStore();

function partsOn(on: Store, sleep?: IssueParts['clock']['sleep']): IssueParts {
  const set = new SetClock();
  const clock = { monotonicMs: set.monotonicMs, sleep: sleep ?? set.sleep, wallMs: () => wall.ms };
  return { store: on, clock, randomness: systemRandomness, secret: secrets[0], format: native };
}

const parts = partsOn(store);

async function issue(termDays = 30, origin = 'for Ada'): Promise<IssuedKey> {
  const issued = await issueKey(parts, { tier: 'growth', termDays, origin });
  assert.equal(issued.kind, 'issued');
  return issued;
}

async function reissue({ key }: IssuedKey): Promise<IssuedKey> {
  const issued = await reissueKey(parts, key.id);
  assert.ok(issued.kind === 'issued');
  return issued;
}

async function stored(id: string): Promise<KeyRecord | undefined> {
  return await findKeyById(store, id);
}

describe('a new key', () => {
  test('is stored under its hash, with its term to the millisecond, before it is shown', async () => {
    const { key, rawKey } = await issue();
    const hash = native.hashKey(rawKey);
    assert.ok(hash !== null);
    assert.deepEqual(await findKey(store, hash), key);
    assert.deepEqual(await stored(key.id), key);
    assert.deepEqual(
      [key.status, key.reason, key.tier, key.origin, key.issuedAtMs, key.changedAtMs],
      ['active', null, 'growth', 'for Ada', wall.ms, wall.ms],
    );
    assert.equal(key.expiresAtMs, wall.ms + 30 * day);
    assert.equal((await issue(0)).key.expiresAtMs, null);
  });

  test('appears in no record of the store', async () => {
    const { rawKey } = await issue();
    const secret = Buffer.from(rawKey.slice(8, -4));
    for (const space of Object.keys(spaces) as Space[]) {
      for (const { key, value } of await store.scan(space, { limit: 10_000 })) {
        assert.ok(!Buffer.concat([key, value]).includes(secret), space);
      }
    }
    for (const log of Object.keys(logs) as LogName[]) {
      for (const { value } of await store.read(log, { after: 0, limit: 10_000 })) {
        assert.ok(!Buffer.from(value).includes(secret), log);
      }
    }
  });

  test('is unique, and so is its id', async () => {
    const keys = [await issue(), await issue()];
    assert.equal(new Set(keys.map(({ rawKey }) => rawKey)).size, 2);
    assert.equal(new Set(keys.map(({ key }) => key.id)).size, 2);
  });

  test('is derived from 32 random bytes, under an id of ten others', async () => {
    const drawn: Buffer[] = [];
    const randomness = (count: number): Buffer => {
      drawn.push(systemRandomness(count));
      return drawn.at(-1) ?? Buffer.alloc(0);
    };
    const wish = { tier: 'growth', termDays: 0, origin: '' };
    const { key, rawKey } = await issueKey({ ...parts, randomness }, wish);
    const [id, seed] = drawn;
    assert.deepEqual([id?.length, seed?.length, drawn.length], [10, 32, 2]);
    assert.ok(id !== undefined && seed !== undefined);
    assert.equal(key.id, `key_${id.toString('hex')}`);
    const secret = secrets[0];
    assert.equal(rawKey, deriveKey({ secret, orderId: key.id, generation: 0, seed }, native));
    assert.equal(key.hint, `${rawKey.slice(0, 7)}…${rawKey.slice(-4)}`);
  });

  test('of the wrong form, or that exists already, is an error', async () => {
    const wish = { tier: 'growth', termDays: 0, origin: '' };
    const format = { ...native, hashKey: () => null };
    await assert.rejects(
      issueKey({ ...parts, format }, wish),
      /^Error: A new key is not of the form of keys$/,
    );
    const randomness = (count: number): Buffer => Buffer.alloc(count, 7);
    assert.equal((await issueKey({ ...parts, randomness }, wish)).kind, 'issued');
    await assert.rejects(issueKey({ ...parts, randomness }, wish), /^Error: A new key was conflict$/);
  });

  test('is announced to the processes that serve requests', async () => {
    const before = await store.last('keyChanges');
    const { key } = await issue();
    const changes = await store.read('keyChanges', { after: before, limit: 9 });
    assert.deepEqual(
      changes.map(({ value }) => Buffer.from(value)),
      [Buffer.from(key.hash)],
    );
  });
});

describe('a key made again', () => {
  test('expires when the previous one would have expired', async () => {
    const before = await issue(30);
    wall.ms += 10 * day;
    const made = await reissue(before);
    assert.equal(made.key.expiresAtMs, before.key.expiresAtMs);
    assert.deepEqual(await stored(made.key.id), made.key);
    assert.equal((await reissue(await issue(0))).key.expiresAtMs, null);
  });

  test('takes tier and origin from the previous key, and revokes it in the same unit', async () => {
    const before = await issue();
    const at = await store.last('keyChanges');
    wall.ms += 5;
    const made = await reissue(before);
    assert.deepEqual([made.key.tier, made.key.origin, made.key.issuedAtMs], ['growth', 'for Ada', wall.ms]);
    assert.notEqual(made.rawKey, before.rawKey);
    assert.deepEqual(await stored(before.key.id), {
      ...before.key,
      status: 'revoked',
      reason: `replaced by ${made.key.id}`,
      changedAtMs: wall.ms,
    });
    assert.equal(await store.last('keyChanges'), at + 2, 'both are told to the processes that serve');
  });

  test('replaces only keys that can be used', async () => {
    const revoked = await issue();
    await revokeKey(parts, revoked.key.id, 'leaked');
    const suspended = await issue();
    await changeKey(store, suspended.key.id, (key) => ({
      to: { ...key, status: 'suspended', reason: 'disputed' },
    }));
    for (const { key } of [revoked, suspended]) {
      const last = await store.last('keyChanges');
      assert.equal((await reissueKey(parts, key.id)).kind, 'unchanged');
      assert.equal(await store.last('keyChanges'), last);
    }
    assert.deepEqual(await reissueKey(parts, 'key_none'), { kind: 'absent' });
    // Its successor would be refused from the first request on.
    const { key } = await issue(1);
    wall.ms += day - 1;
    assert.equal((await reissueKey(parts, key.id)).kind, 'issued', 'until the last millisecond');
    const over = await issue(1);
    wall.ms += day;
    const last = await store.last('keyChanges');
    assert.equal((await reissueKey(parts, over.key.id)).kind, 'unchanged');
    assert.equal(await store.last('keyChanges'), last);
  });
});

describe('a key is not made again', () => {
  test('if an order sold it: the order decides about its own keys', async () => {
    const shop = await Shop.open();
    const { order } = await shop.make('card');
    await shop.happened(order.id, { kind: 'card paid', cents: 3_300n });
    await shop.polled(order.id);
    const { keyId } = await shop.stored(order.id);
    assert.deepEqual(await reissueKey(partsOn(shop.book.store), keyId ?? ''), {
      kind: 'sold',
      orderId: order.id,
    });
    assert.equal((await shop.keys(order.id)).length, 1);
  });

  test('if another process revokes it meanwhile', async () => {
    const before = await issue();
    let isFirst = true;
    const commit: Store['commit'] = async (operations, id) => {
      if (isFirst) await revokeKey(parts, before.key.id, 'leaked');
      isFirst = false;
      return store.commit(operations, id);
    };
    const meanwhile: Store = { ...new FailingStore(store).seen, commit };
    const outcome = await reissueKey(partsOn(meanwhile), before.key.id);
    assert.equal(outcome.kind, 'unchanged');
    assert.equal((await stored(before.key.id))?.reason, 'leaked');
  });
});

describe('a revoked key', () => {
  test('says why and since when, and a second revocation changes nothing', async () => {
    const { key } = await issue();
    wall.ms += 7;
    const revoked = { ...key, status: 'revoked', reason: 'leaked', changedAtMs: wall.ms } as const;
    assert.deepEqual(await revokeKey(parts, key.id, 'leaked'), { kind: 'changed', key: revoked });
    wall.ms += 7;
    assert.deepEqual(await revokeKey(parts, key.id, 'again'), { kind: 'unchanged', key: revoked });
    assert.deepEqual(await stored(key.id), revoked);
    assert.deepEqual(await revokeKey(parts, 'key_none', 'x'), { kind: 'absent' });
  });
});

test('a key is shown although the answer of the store was lost', async () => {
  const failing = new FailingStore(store);
  failing.failReads = false;
  const on = partsOn(failing.seen, () => {
    failing.failure = undefined;
    return Promise.resolve();
  });
  failing.failure = 'written';
  const first = await issueKey(on, { tier: 'growth', termDays: 1, origin: '' });
  const hash = native.hashKey(first.rawKey);
  assert.ok(hash !== null);
  assert.deepEqual(await findKey(store, hash), first.key);
  failing.failure = 'written';
  const again = await reissueKey(on, first.key.id);
  if (again.kind !== 'issued') assert.fail(again.kind);
  assert.deepEqual(await findKey(store, native.hashKey(again.rawKey) ?? hash), again.key);
  const { status, reason } = (await stored(first.key.id)) ?? {};
  assert.deepEqual([status, reason], ['revoked', `replaced by ${again.key.id}`]);
});

test('without the store no key is made, revoked or replaced', async () => {
  const { key } = await issue();
  const failing = new FailingStore(store);
  failing.failure = 'not written';
  const on = partsOn(failing.seen);
  for (const failReads of [true, false]) {
    failing.failReads = failReads;
    const wish = { tier: 'growth', termDays: 1, origin: '' };
    await assert.rejects(issueKey(on, wish), StoreUnavailable);
    await assert.rejects(revokeKey(on, key.id, 'x'), StoreUnavailable);
    await assert.rejects(reissueKey(on, key.id), StoreUnavailable);
  }
  assert.deepEqual(await stored(key.id), key);
});
