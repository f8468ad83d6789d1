/** The keeper of a lease by its own clock: what it does when the store is slow, silent or failing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { removeOver } from '../../src/store/entries.js';
import { decodeLease } from '../../src/store/leaseRecord.js';
import {
  acquireLease,
  Candidate,
  keepLease,
  releaseLease,
  renewLease,
  type Lease,
  type LeaseKeeper,
} from '../../src/store/leases.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { systemClock, type Clock } from '../../src/system/clock.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { Gate } from '../support/gate.js';
import { HandClock } from '../support/handClock.js';
import { until } from '../support/until.js';

const durationMs = 300;

/** A keeper in a world of its own. */
class World {
  readonly told: string[] = [];
  readonly periods: number[] = [];
  readonly failing: FailingStore;
  readonly keeper: LeaseKeeper;
  private nowMs = 1_000;
  private period: () => void = () => undefined;
  private stopped = false;
  private readonly gate = new Gate();
  private under = 0;
  commits = 0;

  constructor(readonly store: Store) {
    this.failing = new FailingStore(store);
    const { seen } = this.failing;
    const commit: Store['commit'] = async (operations, id) => {
      this.commits += 1;
      this.under += 1;
      await this.gate.passed();
      return seen.commit(operations, id).finally(() => (this.under -= 1));
    };
    const clock: Clock = {
      ...systemClock,
      wallMs: () => this.nowMs,
      monotonicMs: () => this.nowMs,
      every: (periodMs, action) => {
        this.periods.push(periodMs);
        this.period = action;
        return { stop: () => (this.stopped = true) };
      },
    };
    const onHeld = (token: number): unknown => this.told.push(`holds ${token}`);
    const kept = { name: 'work', holder: 'a', durationMs, onHeld, onLost: () => this.lost() };
    this.keeper = keepLease({ store: { ...seen, commit }, clock }, kept);
  }

  /** The keeper is told of as holding nothing any more. */
  private lost(): void {
    assert.equal(this.keeper.token(), undefined);
    this.told.push('lost');
  }

  static async begin(): Promise<World> {
    const world = new World(await openTestStore());
    await world.settled();
    assert.deepEqual(world.told.splice(0), ['holds 1']);
    return world;
  }

  /** Resolves when no commit is under way that could end. */
  async settled(): Promise<void> {
    do for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
    while (this.under > 0 && !this.gate.isHeld);
  }

  /** Lets time pass, and the keeper see it. */
  async pass(ms: number): Promise<readonly string[]> {
    assert.ok(!this.stopped);
    this.nowMs += ms;
    this.period();
    await this.settled();
    return this.told.splice(0);
  }

  /** Keeps commits from reaching the store until the returned function is called. */
  hold(): () => Promise<void> {
    const release = this.gate.hold();
    return () => {
      release();
      return this.settled();
    };
  }

  /** Another process takes the lease, or would: its holder's token. */
  async steal(): Promise<string> {
    const clock = { ...systemClock, wallMs: () => this.nowMs };
    const parts = { store: this.store, clock };
    return (await acquireLease(parts, 'work', 'b', durationMs)).kind;
  }
}

describe('a keeper', () => {
  test('renews after a third of the time, under the same number', async () => {
    const world = await World.begin();
    assert.deepEqual(world.periods, [100]);
    for (let count = 0; count < 10; count += 1) assert.deepEqual(await world.pass(100), []);
    assert.equal(world.keeper.token(), 1);
    assert.equal(await world.steal(), 'taken');
  });

  test('loses the lease when its time is over if the store does not answer the renewal', async () => {
    const world = await World.begin();
    const release = world.hold();
    assert.deepEqual(await world.pass(100), []);
    assert.deepEqual(await world.pass(199), []);
    assert.equal(world.keeper.token(), 1);
    assert.deepEqual(await world.pass(1), ['lost']);
    assert.equal(world.keeper.token(), undefined);
    assert.deepEqual(await world.pass(100), [], 'once');
    await release();
    // The answer came late: the time that counts began before the question, and is over.
    assert.deepEqual(world.told.splice(0), ['holds 1']);
    assert.deepEqual(await world.pass(0), ['lost', 'holds 2']);
  });

  test('counts its time from before it asked', async () => {
    const world = await World.begin();
    const release = world.hold();
    await world.pass(100);
    assert.deepEqual(await world.pass(150), []);
    await release();
    assert.deepEqual(await world.pass(0), []);
    world.failing.failure = 'not written';
    assert.deepEqual(await world.pass(299), []);
    assert.deepEqual(await world.pass(1), ['lost']);
  });

  test('asks once at a time', async () => {
    const world = await World.begin();
    const before = world.commits;
    const release = world.hold();
    for (let count = 0; count < 3; count += 1) await world.pass(10);
    assert.equal(world.commits, before + 1);
    await release();
    await world.pass(10);
    assert.equal(world.commits, before + 2);
  });

  test('goes on where the store fails for less than the time', async () => {
    const world = await World.begin();
    for (const failure of ['not written', 'written'] as const) {
      world.failing.failure = failure;
      assert.deepEqual(await world.pass(299), []);
      world.failing.failure = undefined;
      assert.deepEqual(await world.pass(0), []);
    }
    assert.equal(world.keeper.token(), 1);
  });

  test('that lost the lease to another takes it when it is free again', async () => {
    const world = await World.begin();
    world.failing.failure = 'not written';
    assert.deepEqual(await world.pass(300), ['lost']);
    assert.equal(await world.steal(), 'held');
    world.failing.failure = undefined;
    assert.deepEqual(await world.pass(299), []);
    assert.equal(world.keeper.token(), undefined);
    assert.deepEqual(await world.pass(1), ['holds 3']);
  });

  test('takes a lease that nobody renews, even if its end was written by a fast clock', async () => {
    const world = await World.begin();
    const ahead = { ...systemClock, wallMs: () => 86_400_000 };
    const parts = { store: world.store, clock: ahead };
    const stolen = await acquireLease(parts, 'work', 'b', durationMs);
    assert.ok(stolen.kind === 'held');
    assert.deepEqual(await world.pass(100), ['lost']);
    assert.deepEqual(await world.pass(200), []);
    // While its holder renews it, it is that holder's.
    const later = { ...parts, clock: { ...ahead, wallMs: () => 86_400_001 } };
    assert.equal((await renewLease(later, stolen.lease, durationMs)).kind, 'held');
    assert.deepEqual(await world.pass(100), []);
    assert.deepEqual(await world.pass(299), []);
    assert.deepEqual(await world.pass(1), ['holds 3']);
  });

  test('takes the lease anew where its record is gone', async () => {
    const world = await World.begin();
    const [name, record] = [Buffer.from('work'), await world.store.get('leases', Buffer.from('work'))];
    assert.ok(record !== undefined);
    assert.equal((await world.store.commit([removeOver('leases', name, record)])).kind, 'done');
    assert.deepEqual(await world.pass(100), ['lost']);
    assert.deepEqual(await world.pass(100), ['holds 1']);
  });

  test('is told once that it lost the lease to another', async () => {
    const world = await World.begin();
    const clock = { ...systemClock, wallMs: () => 1e12 };
    const stolen = await acquireLease({ store: world.store, clock }, 'work', 'b', durationMs);
    assert.equal(stolen.kind, 'held');
    assert.deepEqual(await world.pass(100), ['lost']);
    assert.equal(world.keeper.token(), undefined);
    assert.deepEqual(await world.pass(100), []);
  });

  test('gives the lease back when it stops, after the step under way, and reports the end', async () => {
    const world = await World.begin();
    const release = world.hold();
    await world.pass(100);
    const stopped = world.keeper.stop();
    await world.settled();
    assert.deepEqual(world.told, []);
    await assert.rejects(world.pass(1), 'its timer is stopped');
    await release();
    await stopped;
    assert.deepEqual([world.told, world.keeper.token()], [['lost'], undefined]);
    assert.equal(await world.steal(), 'held');
  });

  test('has stopped when the lease is given back', async () => {
    const world = await World.begin();
    const release = world.hold();
    let isOver = false;
    const stopped = world.keeper.stop().then(() => (isOver = true));
    await world.settled();
    assert.deepEqual([world.told, isOver], [['lost'], false]);
    await release();
    await stopped;
    assert.equal(await world.steal(), 'held');
  });

  test('stops also where the store does not answer: the lease ends by its time', async () => {
    const world = await World.begin();
    world.failing.failure = 'not written';
    await world.keeper.stop();
    assert.deepEqual([world.told, world.keeper.token()], [['lost'], undefined]);
    assert.equal(await world.steal(), 'taken');
  });

  test('that holds nothing has nothing to give back', async () => {
    const world = await World.begin();
    world.failing.failure = 'not written';
    await world.pass(300);
    const before = world.commits;
    await world.keeper.stop();
    assert.deepEqual([world.told, world.commits], [[], before]);
  });
});

describe('a candidate', () => {
  const kept = { name: 'work', durationMs };

  /** Candidates for a lease, what they are told, and a gate at which their commits wait. */
  async function begin() {
    const [store, clock, gate] = [await openTestStore(), new HandClock(), new Gate()];
    const told: string[] = [];
    const commit: Store['commit'] = async (...given) => {
      await gate.passed();
      return store.commit(...given);
    };
    const candidate = (holder: string): Candidate => {
      const onHeld = (token: number): unknown => told.push(`${holder} holds ${token}`);
      const onLost = (): unknown => told.push(`${holder} lost`);
      const seen = { get: store.get.bind(store), commit };
      return new Candidate({ store: seen, clock }, { ...kept, holder, onHeld, onLost });
    };
    const holder = async (): Promise<string | undefined> => {
      const record = await store.get('leases', Buffer.from('work'));
      return record && decodeLease(record).holder;
    };
    return { holder, clock, gate, told, candidate };
  }

  test('asks for the lease once it is told to, and leaves it to others while it rests', async () => {
    const { holder, clock, told, candidate } = await begin();
    const [one, two] = [candidate('one'), candidate('two')];
    assert.deepEqual([clock.timers, one.token(), one.isResting()], [0, undefined, false]);
    one.ask();
    one.ask();
    assert.equal(clock.timers, 1, 'it asks once');
    await until(() => one.token() === 1);
    two.ask();
    await clock.pass(90);
    one.rest(1_000);
    one.ask();
    assert.deepEqual([one.token(), one.isResting()], [undefined, true]);
    assert.equal(clock.timers, 1, 'only the other asks');
    await until(async () => (await holder()) === '');
    await clock.pass(10);
    await until(() => two.token() === 3);
    await two.stop();
    await clock.pass(989);
    one.ask();
    assert.equal(clock.timers, 0);
    await clock.pass(1);
    assert.equal(one.isResting(), false);
    one.ask();
    await until(() => one.token() === 5);
    assert.deepEqual(told, ['one holds 1', 'one lost', 'two holds 3', 'two lost', 'one holds 5']);
    await one.stop();
  });

  test('that is stopped asks no more, and has released the lease, also if it rested before', async () => {
    for (const rests of [true, false]) {
      const { holder, clock, gate, candidate } = await begin();
      const one = candidate('one');
      one.ask();
      await until(() => one.token() === 1);
      const letGo = gate.hold();
      if (rests) one.rest(1_000);
      let isOver = false;
      const stopped = one.stop().then(() => (isOver = true));
      await clock.pass(1);
      assert.equal(isOver, false);
      letGo();
      await stopped;
      assert.equal(await holder(), '');
      await clock.pass(1e9);
      one.ask();
      assert.deepEqual([clock.timers, one.isResting()], [0, true]);
    }
  });
});

describe('a lease', () => {
  const fixed = { ...systemClock, wallMs: () => 1_000 };

  test('ends as long from now as was asked for', async () => {
    const parts = { store: await openTestStore(), clock: fixed };
    const first = await acquireLease(parts, 'work', 'a', 100);
    assert.ok(first.kind === 'held');
    assert.equal(first.lease.record.expiresAtMs, 1_100);
    const renewed = await renewLease(parts, first.lease, 200);
    assert.ok(renewed.kind === 'held');
    assert.equal(renewed.lease.record.expiresAtMs, 1_200);
  });

  test('is not reported as held if the store does not answer', async () => {
    const store = await openTestStore();
    const failing = new FailingStore(store);
    failing.failure = 'not written';
    const parts = { store: failing.seen, clock: fixed };
    for (const failReads of [true, false]) {
      failing.failReads = failReads;
      await assert.rejects(acquireLease(parts, 'work', 'a', 100), StoreUnavailable);
    }
    assert.equal(await store.get('leases', Buffer.from('work')), undefined);
  });

  /** Takes a lease on a store of its own. */
  async function held(): Promise<{ readonly store: Store; readonly lease: Lease }> {
    const store = await openTestStore();
    const taken = await acquireLease({ store, clock: fixed }, 'work', 'a', 100);
    assert.ok(taken.kind === 'held');
    return { store, lease: taken.lease };
  }

  test('has one holder, whose name and end others are told', async () => {
    const store = await openTestStore();
    const parts = { store, clock: fixed };
    const outcomes = await Promise.all(['a', 'b'].map((name) => acquireLease(parts, 'work', name, 100)));
    const record = { token: 1, holder: 'a', expiresAtMs: 1_100 };
    assert.deepEqual(outcomes, [
      { kind: 'held', lease: { name: 'work', record } },
      { kind: 'taken', record },
    ]);
    assert.deepEqual(await acquireLease(parts, 'work', 'c', 100), { kind: 'taken', record });
  });

  test('that was given back belongs to nobody, and its number no longer counts', async () => {
    const { store, lease } = await held();
    await releaseLease({ store, clock: fixed }, lease);
    const found = await store.get('leases', Buffer.from('work'));
    assert.deepEqual(found && decodeLease(found), { token: 2, holder: '', expiresAtMs: 0 });
    const next = await acquireLease({ store, clock: fixed }, 'work', 'b', 100);
    assert.deepEqual(next.kind === 'held' && next.lease.record, {
      token: 3,
      holder: 'b',
      expiresAtMs: 1_100,
    });
  });

  test('whose record is gone is not renewed', async () => {
    const { store, lease } = await held();
    const key = Buffer.from('work');
    const from = await store.get('leases', key);
    assert.ok(from !== undefined);
    await store.commit([{ kind: 'replace', space: 'leases', key, from, to: undefined }]);
    const renewed = await renewLease({ store, clock: fixed }, lease, 100);
    assert.deepEqual(renewed, { kind: 'taken', record: undefined });
  });
});
