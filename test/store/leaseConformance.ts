/** Leases and what rests on them, as tests that every engine passes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeLease } from '../../src/store/leaseRecord.js';
import {
  acquireLease,
  keepLease,
  releaseLease,
  renewLease,
  type Lease,
  type LeaseOutcome,
  type LeaseParts,
} from '../../src/store/leases.js';
import type { Store } from '../../src/store/store.js';
import { sweepUnits, startSweep } from '../../src/store/sweep.js';
import { firstUnitIdOf } from '../../src/store/unitId.js';
import { systemClock } from '../../src/system/clock.js';
import { until } from '../support/until.js';
import { testParts } from '../support/openStore.js';
import { bytes, commit, opened, type Subject } from './subject.js';

/** The parts of a holder, with a wall clock that the test sets. */
function partsAt(store: Store, wall: { ms: number }): LeaseParts {
  return { store, clock: { ...systemClock, wallMs: () => wall.ms } };
}

function held(outcome: LeaseOutcome): Lease {
  if (outcome.kind !== 'held') assert.fail(`the lease is ${outcome.kind}`);
  return outcome.lease;
}

function fenced(store: Store, token: number): Promise<string> {
  const outcome = commit(
    store,
    { kind: 'fence', lease: 'work', token },
    { kind: 'append', log: 'leads', value: bytes('x') },
  );
  return outcome.then(({ kind }) => kind);
}

/** Runs the tests of leases and of the sweep on an engine. */
export function leaseConformance(subject: Subject): void {
  leaseTests(subject);
  keeperTests(subject);
  sweepTests(subject);
}

function leaseTests(subject: Subject): void {
  test('a lease has one holder, its number only grows, and a fence refuses all others', async (context) => {
    const url = await subject.fresh();
    const [one, other] = [await opened(context, subject, url), await opened(context, subject, url)];
    const wall = { ms: 1_000 };
    assert.equal(await fenced(one, 1), 'refused');
    const first = held(await acquireLease(partsAt(one, wall), 'work', 'a', 100));
    assert.deepEqual(first.record, { token: 1, holder: 'a', expiresAtMs: 1_100 });
    assert.deepEqual(await acquireLease(partsAt(other, wall), 'work', 'b', 100), {
      kind: 'taken',
      record: first.record,
    });
    assert.equal(await fenced(one, 1), 'done');
    assert.equal(await fenced(other, 2), 'refused');
    wall.ms = 1_050;
    const renewed = held(await renewLease(partsAt(one, wall), first, 100));
    assert.deepEqual(renewed.record, { token: 1, holder: 'a', expiresAtMs: 1_150 });
    wall.ms = 1_150;
    const second = held(await acquireLease(partsAt(other, wall), 'work', 'b', 100));
    assert.equal(second.record.token, 2);
    assert.equal(await fenced(one, 1), 'refused');
    assert.equal(await fenced(other, 2), 'done');
    assert.deepEqual(await renewLease(partsAt(one, wall), renewed, 100), {
      kind: 'taken',
      record: second.record,
    });
    await assert.doesNotReject(releaseLease(partsAt(other, wall), second));
    assert.equal(await fenced(other, 2), 'refused');
    assert.equal(held(await acquireLease(partsAt(one, wall), 'work', 'a', 100)).record.token, 4);
    assert.equal(await one.last('leads'), 2);
  });

  test('a renewal whose answer was lost is recognised by its number', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    const wall = { ms: 1_000 };
    const lease = held(await acquireLease(partsAt(store, wall), 'work', 'a', 100));
    wall.ms = 1_010;
    held(await renewLease(partsAt(store, wall), lease, 100));
    wall.ms = 1_020;
    const again = held(await renewLease(partsAt(store, wall), lease, 100));
    assert.equal(again.record.expiresAtMs, 1_110);
    wall.ms = 1_030;
    assert.equal(held(await renewLease(partsAt(store, wall), again, 100)).record.expiresAtMs, 1_130);
  });
}

function keeperTests(subject: Subject): void {
  test('of 16 that want a lease at once one gets it', async (context) => {
    const url = await subject.fresh();
    const stores = [await opened(context, subject, url), await opened(context, subject, url)];
    const wall = { ms: 1_000 };
    const wants = Array.from({ length: 16 }, (_, index) =>
      acquireLease(partsAt(stores[index % 2] as Store, wall), 'work', `${index}`, 100),
    );
    assert.equal((await Promise.all(wants)).filter(({ kind }) => kind === 'held').length, 1);
  });

  test('a keeper holds its lease while it runs; when another takes over, it is told', async (context) => {
    const url = await subject.fresh();
    const told: string[] = [];
    // Renewed after a third of it: long enough that a busy machine renews in time.
    const durationMs = 1_500;
    const keeper = async (name: string): Promise<ReturnType<typeof keepLease>> => {
      const store = await opened(context, subject, url);
      return keepLease(
        { store, clock: systemClock },
        {
          name: 'work',
          holder: name,
          durationMs,
          onHeld: (token) => told.push(`${name} holds ${token}`),
          onLost: () => told.push(`${name} lost`),
        },
      );
    };
    const first = await keeper('a');
    await until(() => first.token() === 1);
    const second = await keeper('b');
    const thief = await opened(context, subject, url);
    const expiresAtMs = async (): Promise<number> =>
      decodeLease((await thief.get('leases', bytes('work'))) ?? Buffer.alloc(0)).expiresAtMs;
    const firstExpiryMs = await expiresAtMs();
    await until(async () => (await expiresAtMs()) > firstExpiryMs + durationMs);
    assert.deepEqual(told, ['a holds 1']);
    await first.stop();
    await until(() => second.token() === 3);
    const wall = { ms: systemClock.wallMs() + 10_000 };
    // A renewal may come between its look and its step.
    await until(async () => (await acquireLease(partsAt(thief, wall), 'work', 'c', 60_000)).kind === 'held');
    await until(() => second.token() === undefined);
    assert.deepEqual(told, ['a holds 1', 'a lost', 'b holds 3', 'b lost']);
    await second.stop();
  });
}

function sweepTests(subject: Subject): void {
  test('the sweep removes outcomes that are too old for a retry, and no other', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    const now = 10 * 3_600_000;
    const clock = { ...systemClock, wallMs: () => now };
    const ages = [0, 3_600_000, 3_600_000 + 599_000, 3_600_000 + 601_000, 2 * 3_600_000];
    for (const age of ages) await store.commit([], firstUnitIdOf(now - age));
    assert.deepEqual(await sweepUnits({ store, clock }, () => true), 2);
    assert.equal((await store.scan('units', { limit: 9 })).length, 3);
  });

  test('the background sweep ends at once and gives its lease back', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    const log = { ...testParts.log, debug: () => undefined };
    const removeExpired = () => [];
    const countMore = () => Promise.resolve(false);
    const sweep = startSweep({ store, clock: systemClock, log, holder: 'a', removeExpired, countMore });
    await until(async () => (await store.get('leases', bytes('sweep'))) !== undefined);
    await sweep.stop();
    const parts = { store, clock: systemClock };
    assert.equal(held(await acquireLease(parts, 'sweep', 'b', 100)).record.token, 3);
  });
}
