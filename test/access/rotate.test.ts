/**
 * Keys that their holders replace: the new key continues where the old one ends, in every count and order.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Access } from '../../src/access/admission.js';
import { issueKey, reissueKey, revokeKey, type IssuedKey, type IssueParts } from '../../src/access/issue.js';
import { rotateKey, type Rotation } from '../../src/access/rotate.js';
import { storedKeys } from '../../src/access/stored.js';
import type { OrderEvent } from '../../src/checkout/order/orders.js';
import { native } from '../../src/native/addon.js';
import { changeKey, findKeyById, type KeyRecord } from '../../src/store/tables/keys.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { Shop } from '../support/shop.js';
import { FailingStore, openTestStore, secrets } from '../support/serving.js';
import { MemoryUsage, SetClock, shippedTiers, testAccess } from '../support/access.js';

const hour = 3_600_000;
const day = 24 * hour;
const store = await openTestStore();
const clock = new SetClock();

function partsOn(on: Store): IssueParts {
  return { store: on, clock, randomness: systemRandomness, secret: secrets[0], format: native };
}

const parts = partsOn(store);

function issue(termDays = 30): Promise<IssuedKey> {
  return issueKey(parts, { tier: 'growth', termDays, origin: 'for Ada' });
}

type Rotated = Extract<Rotation, { kind: 'issued' }>;

const stays = (): boolean => false;

async function rotate({ key }: IssuedKey, overlapMs = day, on = parts): Promise<Rotated> {
  const outcome = await rotateKey(on, key.hash, overlapMs, stays);
  assert.ok(outcome.kind === 'issued', outcome.kind);
  return outcome;
}

async function stored({ key }: IssuedKey): Promise<KeyRecord> {
  const found = await findKeyById(store, key.id);
  assert.ok(found !== undefined);
  return found;
}

/** The answer to a request of a key, whose record is read anew: its status, and its code where refused. */
async function asked(access: Access, { rawKey }: IssuedKey, characters = 0): Promise<string> {
  access.allChanged();
  const field = (name: string): string => (name === 'x-api-key' ? rawKey : '');
  const peer = (): Uint8Array => Uint8Array.of(192, 0, 2, 7);
  const admission = await access.keyed({ field, allOf: field, peer });
  if (admission.refusal === undefined) {
    admission.charge(characters);
    return 'passes';
  }
  const { status, body } = admission.refusal;
  const text = 'json' in body ? JSON.stringify(body.json) : Buffer.from(body.bytes).toString();
  return `${status} ${(JSON.parse(text) as { code: string }).code}`;
}

/** Access over the store, where a key has so many requests a minute and characters a month. */
function accessOf(perMinute: number, perMonth: number) {
  const tiers = shippedTiers();
  const limits = { requests_per_minute: perMinute, characters_per_month: perMonth };
  const usage = new MemoryUsage();
  const growth = { ...tiers.growth, ...limits };
  const access = testAccess({ keys: storedKeys(store), usage, clock, tiers: { ...tiers, growth } });
  return { access, usage };
}

describe('the new key', () => {
  test('has the tier, the end, the origin and the months of the old one', async () => {
    const old = await issue();
    clock.pass(day);
    const made = await rotate(old);
    const { tier, expiresAtMs, origin, issuedAtMs, status } = await stored(made);
    assert.deepEqual(
      [tier, expiresAtMs, origin, issuedAtMs, status],
      ['growth', old.key.expiresAtMs, 'for Ada', old.key.issuedAtMs, 'active'],
    );
    assert.notEqual(made.rawKey, old.rawKey);
    assert.deepEqual(Buffer.from(native.hashKey(made.rawKey) ?? []), Buffer.from(made.key.hash));
  });

  test('works beside the old one until the overlap is over, to the millisecond', async () => {
    const { access } = accessOf(600, 0);
    const old = await issue(0);
    const made = await rotate(old, hour);
    assert.equal(made.oldEndsAtMs, clock.wallMs() + hour);
    clock.pass(hour - 1);
    assert.deepEqual([await asked(access, old), await asked(access, made)], ['passes', 'passes']);
    clock.pass(1);
    assert.deepEqual([await asked(access, old), await asked(access, made)], ['401 key_expired', 'passes']);
  });

  test('replaces the old one at once without an overlap, which never extends the old term', async () => {
    const { access } = accessOf(600, 0);
    const old = await issue();
    const made = await rotate(old, 0);
    assert.deepEqual([await asked(access, old), await asked(access, made)], ['401 key_revoked', 'passes']);
    const short = await issue(1);
    clock.pass(23 * hour);
    assert.equal((await rotate(short, 7 * day)).oldEndsAtMs, short.key.expiresAtMs);
  });

  test('shares the requests of a minute and the characters of a month with all before it', async () => {
    const { access, usage } = accessOf(4, 100);
    const first = await issue();
    assert.equal(await asked(access, first, 60), 'passes');
    const second = await rotate(first);
    assert.equal(await asked(access, second, 39), 'passes');
    clock.pass(60_000);
    const third = await rotate(second);
    assert.equal(await asked(access, third, 1), 'passes');
    assert.equal(await asked(access, third), '429 rate_limited', 'the month is used up');
    await access.close();
    const [subject, kept] = [...usage.months][0] ?? [];
    assert.equal(usage.months.size, 1);
    assert.equal(subject, `00${Buffer.from(first.key.hash).toString('hex')}`);
    assert.equal(kept?.characters, 100);
    const { days } = kept;
    const sum = (of: 'requests' | 'refused'): number => days.reduce((all, each) => all + each[of], 0);
    assert.deepEqual([sum('requests'), sum('refused')], [3, 1]);
    const { access: other } = accessOf(2, 0);
    assert.deepEqual(
      [await asked(other, second), await asked(other, third), await asked(other, second)],
      ['passes', 'passes', '429 rate_limited'],
    );
  });

  test('is charged for a request that began before its record changed', async () => {
    const { access, usage } = accessOf(600, 100);
    const first = await issue();
    const second = await rotate(first);
    const field = (name: string): string => (name === 'x-api-key' ? second.rawKey : '');
    const head = { field, allOf: field, peer: () => Uint8Array.of(192, 0, 2, 7), isHead: () => false };
    const admission = await access.keyed(head);
    access.changed(second.key.hash);
    admission.charge(17);
    await access.keyed(head);
    await access.flush();
    assert.equal(usage.months.get(`00${Buffer.from(first.key.hash).toString('hex')}`)?.characters, 17);
  });
});

describe('a key is replaced', () => {
  test('at once, although the clock was set back since its own making', async () => {
    const second = await rotate(await issue());
    // Clocks of two machines may differ.
    clock.pass(-59_999);
    assert.equal((await rotateKey(parts, second.key.hash, day, stays)).kind, 'young');
    clock.pass(-1);
    assert.equal((await rotateKey(parts, second.key.hash, day, stays)).kind, 'issued');
    clock.pass(60_000);
  });

  test('only once; the new key can be replaced a minute later, which ends the first at once', async () => {
    const first = await issue();
    const second = await rotate(first, 7 * day);
    assert.deepEqual(await rotateKey(parts, first.key.hash, day, stays), {
      kind: 'replaced',
      by: second.key.id,
    });
    for (const [passed, retrySeconds] of [
      [58_001, 2],
      [1_000, 1],
      [998, 1],
    ] as const) {
      clock.pass(passed);
      assert.deepEqual(await rotateKey(parts, second.key.hash, day, stays), { kind: 'young', retrySeconds });
    }
    clock.pass(1);
    const third = await rotate(second, day);
    const { status, reason } = await stored(first);
    assert.deepEqual([status, reason], ['revoked', `replaced by ${third.key.id}`]);
    assert.equal((await stored(second)).status, 'active');
  });

  test('and the record of the old one has the time and its new end', async () => {
    const old = await issue();
    clock.pass(1_001);
    const nowMs = clock.wallMs();
    const made = await rotate(old, hour);
    assert.equal(made.oldEndsAtMs, nowMs + hour);
    assert.deepEqual(await stored(old), {
      ...old.key,
      ...{ expiresAtMs: nowMs + hour, changedAtMs: nowMs, replacedBy: made.key.id },
    });
  });

  test('only while its record exists', async () => {
    const shop = await Shop.open();
    const { order } = await shop.make('card');
    await shop.happened(order.id, { kind: 'card paid', cents: 3_300n });
    const { apiKey } = await shop.polled(order.id);
    const sold = native.hashKey(apiKey ?? '') ?? Buffer.alloc(0);
    const { key } = await issue();
    for (const [on, hash] of [
      [store, key.hash],
      [shop.book.store, sold],
    ] as const) {
      let reads = 0;
      // Its record goes after it was found.
      const get: Store['get'] = async (space, at) =>
        space === 'keys' && (reads += 1) > 1 ? undefined : on.get(space, at);
      const leaving = { ...new FailingStore(on).seen, get };
      assert.deepEqual(await rotateKey(partsOn(leaving), hash, day, stays), { kind: 'ended' });
    }
  });

  test('only while it works', async () => {
    const [revoked, suspended, over] = [await issue(), await issue(), await issue(1)];
    await revokeKey(parts, revoked.key.id, 'leaked');
    await changeKey(store, suspended.key.id, (key) => ({ to: { ...key, status: 'suspended' } }));
    clock.pass(day);
    for (const { key } of [revoked, suspended, over]) {
      assert.deepEqual(await rotateKey(parts, key.hash, day, stays), { kind: 'ended' });
    }
    assert.deepEqual(await rotateKey(parts, Buffer.alloc(32, 3), day, stays), { kind: 'ended' });
  });

  test('only for a holder who still waits after the reads', async () => {
    const old = await issue();
    let hasGone = false;
    const get: Store['get'] = async (space, at) => {
      hasGone = true;
      return store.get(space, at);
    };
    const leaving = partsOn({ ...store, get });
    assert.deepEqual(await rotateKey(leaving, old.key.hash, 0, () => hasGone), { kind: 'ended' });
    assert.deepEqual(await stored(old), old.key, 'the old key stays as it is');
  });

  test('by one key, however many ask at once', async () => {
    const old = await issue();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => rotateKey(parts, old.key.hash, day, stays)),
    );
    const made = outcomes.filter(({ kind }) => kind === 'issued');
    assert.equal(made.length, 1);
    assert.equal(outcomes.filter(({ kind }) => kind === 'replaced').length, 19);
  });

  test('completely or not at all if the store fails', async () => {
    const failing = new FailingStore(store);
    const on = partsOn(failing.seen);
    for (const failure of ['not written', 'written'] as const) {
      const old = await issue();
      failing.failure = failure;
      failing.failReads = false;
      const nowMs = clock.wallMs();
      await assert.rejects(rotateKey(on, old.key.hash, hour, stays), StoreUnavailable);
      failing.failure = undefined;
      const { replacedBy, expiresAtMs } = await stored(old);
      const by = replacedBy === null ? undefined : await findKeyById(store, replacedBy);
      assert.equal(by?.replaces, failure === 'written' ? old.key.id : undefined);
      assert.equal(expiresAtMs, failure === 'written' ? nowMs + hour : old.key.expiresAtMs);
    }
  });

  test('with the new key if the store answers again while the holder waits', async () => {
    const failing = new FailingStore(store);
    failing.failReads = false;
    const sleep = (ms: number): Promise<void> => {
      failing.failure = undefined;
      return clock.sleep(ms);
    };
    const { wallMs, monotonicMs } = clock;
    const on = { ...partsOn(failing.seen), clock: { wallMs, monotonicMs, sleep } };
    const old = await issue();
    failing.failure = 'written';
    const { key } = await rotate(old, 0, on);
    assert.equal((await stored(old)).replacedBy, key.id);
    assert.equal((await findKeyById(store, key.id))?.status, 'active');
  });

  test('not at all if the holder leaves while the store is away', async () => {
    const failing = new FailingStore(store);
    const [old, on] = [await issue(), partsOn(failing.seen)];
    failing.failReads = false;
    failing.failure = 'not written';
    const left = (): boolean => failing.commits === 3;
    await assert.rejects(rotateKey(on, old.key.hash, hour, left), StoreUnavailable);
    assert.equal(failing.commits, 3);
    assert.equal((await stored(old)).replacedBy, null);
  });
});

describe('both keys end', () => {
  test('when the operator revokes or remakes the new one; the old one cannot be remade', async () => {
    for (const end of [
      (id: string) => revokeKey(parts, id, 'misuse'),
      (id: string) => reissueKey(parts, id),
    ]) {
      const old = await issue();
      const made = await rotate(old);
      assert.deepEqual(await reissueKey(parts, old.key.id), { kind: 'replaced', by: made.key.id });
      await end(made.key.id);
      assert.deepEqual([(await stored(old)).status, (await stored(made)).status], ['revoked', 'revoked']);
    }
  });

  test('when the payment of their order is disputed or refunded, and return if it is won', async () => {
    const shop = await Shop.open();
    const { order } = await shop.make('card');
    const events: Readonly<Record<string, OrderEvent>> = {
      paid: { kind: 'card paid', cents: 3_300n },
      disputed: { kind: 'card disputed' },
      won: { kind: 'card dispute won' },
      refunded: { kind: 'card refunded', totalCents: 3_300n },
    };
    const happens = async (name: string): Promise<readonly string[]> => {
      const event = events[name];
      assert.ok(event !== undefined);
      await shop.happened(order.id, event);
      return (await shop.keys(order.id)).map(({ status }) => status);
    };
    await happens('paid');
    const { apiKey } = await shop.polled(order.id);
    const on = { ...partsOn(shop.book.store), clock: shop.time.clock };
    const outcome = await rotateKey(on, native.hashKey(apiKey ?? '') ?? Buffer.alloc(0), 7 * day, stays);
    assert.ok(outcome.kind === 'issued');
    const { keyId, seed } = await shop.stored(order.id);
    assert.deepEqual([keyId, seed], [outcome.key.id, null]);
    const old = (await shop.keys(order.id)).find(({ id }) => id !== keyId);
    assert.deepEqual([old?.replacedBy, old?.expiresAtMs], [keyId, outcome.oldEndsAtMs]);
    const again = await rotateKey(on, old?.hash ?? Buffer.alloc(0), day, stays);
    assert.deepEqual(again, { kind: 'replaced', by: keyId });
    assert.equal((await rotateKey(on, outcome.key.hash, day, stays)).kind, 'young');
    assert.deepEqual(await happens('disputed'), ['suspended', 'suspended']);
    assert.deepEqual(await happens('won'), ['active', 'active']);
    assert.deepEqual(await happens('refunded'), ['revoked', 'revoked']);
  });
});
