/** The background sweep by its own clock: what it removes and when, and what ends it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeLease } from '../../src/store/leaseRecord.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { startSweep, type Sweep } from '../../src/store/sweep.js';
import { firstUnitIdOf } from '../../src/store/unitId.js';
import { ReferenceStore } from '../reference/store.js';
import { Gate } from '../support/gate.js';
import { HandClock } from '../support/handClock.js';

const periodMs = 30_000;

/** A sweep in a world of its own, whose store answers at once. */
class World {
  readonly clock = new HandClock();
  readonly said: string[] = [];
  /** Steps that were asked for, and the number of outcomes that each of the next ones removes. */
  readonly steps: { readonly space: string; readonly before: Uint8Array; readonly limit: number }[] = [];
  readonly old: number[] = [];
  readonly gate = new Gate();
  readonly sweep: Sweep;
  expired = 0;
  rounds = 0;
  /** Calls that counted, and the results of the next ones. */
  counts = 0;
  readonly more: (boolean | 'failed')[] = [];
  commits: 'done' | 'failed' = 'done';
  failure: 'steps' | 'expired' | 'one kind' | 'stopped meanwhile' | undefined;
  private readonly records = new ReferenceStore();

  constructor() {
    this.sweep = startSweep({
      store: this.store(),
      clock: this.clock,
      holder: 'a',
      log: {
        warn: (fields: { readonly reason?: string }, text: string) =>
          void this.said.push(`${text}: ${fields.reason ?? ''}`),
        debug: (fields: { readonly removed?: number }, text: string) =>
          void this.said.push(`${text}: ${fields.removed ?? ''}`),
      },
      countMore: () => {
        this.counts += 1;
        const more = this.more.shift() ?? false;
        return more === 'failed' ? Promise.reject(new StoreUnavailable('away')) : Promise.resolve(more);
      },
      removeExpired: () => {
        this.rounds += 1;
        const removed = (count: number) => () => Promise.resolve(count);
        if (this.failure === 'expired') return [() => Promise.reject(new StoreUnavailable('away'))];
        if (this.failure === 'stopped meanwhile') {
          const stops = (): Promise<number> => {
            void this.sweep.stop();
            return Promise.resolve(1);
          };
          return [stops, removed(this.expired)];
        }
        if (this.failure !== 'one kind') return [removed(this.expired)];
        return [removed(1), () => Promise.reject(new Error('a later format')), removed(this.expired)];
      },
    });
  }

  get lease() {
    const record = this.records.get('leases', Buffer.from('sweep'));
    return record === undefined ? undefined : decodeLease(record);
  }

  private store(): Pick<Store, 'commit' | 'get' | 'prune'> {
    return {
      commit: (operations) =>
        this.commits === 'failed'
          ? Promise.reject(new StoreUnavailable('away'))
          : Promise.resolve(this.records.commit({ id: undefined, operations })),
      get: (space, key) => Promise.resolve(this.records.get(space, key)),
      prune: async (space, before, limit) => {
        this.steps.push({ space, before, limit });
        await this.gate.passed();
        if (this.failure === 'steps') throw new StoreUnavailable('away');
        return this.old.shift() ?? 0;
      },
    };
  }
}

describe('the background sweep', () => {
  test('removes each half minute, in small steps, what is older than a retry and clock skew', async () => {
    const world = new World();
    await world.clock.pass(periodMs - 1);
    assert.deepEqual([world.steps.length, world.rounds], [0, 0]);
    world.old.push(1_000, 1_000, 3);
    world.expired = 2;
    await world.clock.pass(2);
    const before = firstUnitIdOf(world.clock.wallMs() - 1 - 3_600_000 - 600_000);
    assert.deepEqual(world.steps, Array(3).fill({ space: 'units', before, limit: 1_000 }));
    assert.equal(world.rounds, 1);
    const removed = ['old unit outcomes were removed: 2003', 'expired records were removed: 2'];
    assert.deepEqual(world.said, removed);
    await world.sweep.stop();
  });

  test('asks again after a full step, and reports nothing if nothing was old', async () => {
    const world = new World();
    world.old.push(1_000);
    await world.clock.pass(periodMs + 1);
    assert.deepEqual([world.steps.length, world.said.length], [2, 1]);
    await world.clock.pass(periodMs);
    assert.deepEqual([world.steps.length, world.rounds, world.said.length], [3, 2, 1]);
    world.old.push(1);
    world.expired = 1;
    await world.clock.pass(periodMs);
    assert.deepEqual(world.said.slice(1), [
      'old unit outcomes were removed: 1',
      'expired records were removed: 1',
    ]);
    await world.sweep.stop();
  });

  test('goes on after a store that did not answer, and says so', async () => {
    const world = new World();
    world.failure = 'steps';
    world.expired = 1;
    await world.clock.pass(periodMs + 1);
    const late = 'old unit outcomes could not be removed yet: away';
    assert.deepEqual(world.said.splice(0), [late, 'expired records were removed: 1']);
    world.failure = 'expired';
    world.old.push(1);
    await world.clock.pass(periodMs);
    const units = 'old unit outcomes were removed: 1';
    assert.deepEqual(world.said.splice(0), [units, 'expired records could not be removed yet: away']);
    world.failure = 'one kind';
    await world.clock.pass(periodMs);
    const kind = 'expired records could not be removed yet: a later format';
    assert.deepEqual(world.said.splice(0), [kind, 'expired records were removed: 2']);
    world.failure = undefined;
    await world.clock.pass(periodMs);
    assert.deepEqual(world.said, ['expired records were removed: 1']);
    await world.sweep.stop();
  });

  test('removes nothing for an hour after the clock was moved, forward or back', async () => {
    const world = new World();
    for (const [days, sign] of [
      [400, 1],
      [-400, -1],
    ] as const) {
      const { rounds } = world;
      world.clock.step(sign * 300_000);
      await world.clock.pass(periodMs + 1);
      assert.deepEqual([world.rounds, world.said], [rounds + 1, []], 'five minutes are nothing');
      world.clock.step(days * 86_400_000);
      await world.clock.pass(periodMs);
      assert.deepEqual(world.said.splice(0), ['the clock was moved: nothing is removed for an hour: ']);
      await world.clock.pass(3_600_000 - periodMs);
      assert.equal(world.rounds, rounds + 1);
      assert.equal(world.steps.length, rounds + 1);
      await world.clock.pass(periodMs);
      assert.ok(world.rounds > rounds + 1);
    }
    await world.sweep.stop();
  });

  test('removes nothing more once it is stopped', async () => {
    const world = new World();
    world.failure = 'stopped meanwhile';
    world.expired = 2;
    await world.clock.pass(periodMs + 1);
    assert.deepEqual(world.said, ['expired records were removed: 1']);
  });

  test('holds a lease of half a minute under its own name, and frees it at the end', async () => {
    const world = new World();
    await world.clock.pass(0);
    const expiresAtMs = world.clock.wallMs() + 30_000;
    assert.deepEqual(world.lease, { token: 1, holder: 'a', expiresAtMs });
    await world.sweep.stop();
    assert.deepEqual(world.lease, { token: 2, holder: '', expiresAtMs: 0 });
    assert.equal(world.clock.timers, 0);
  });

  test('ends when its lease is lost, also within a round, and begins again with the lease', async () => {
    const world = new World();
    await world.clock.pass(periodMs - 1);
    const open = world.gate.hold();
    world.old.push(1_000, 1_000);
    await world.clock.pass(1);
    world.commits = 'failed';
    await world.clock.pass(2 * periodMs);
    open();
    await world.clock.pass(2 * periodMs);
    assert.deepEqual([world.steps.length, world.rounds], [1, 0]);
    world.commits = 'done';
    await world.clock.pass(2 * periodMs);
    assert.deepEqual([world.steps.length, world.rounds], [3, 1]);
    await world.sweep.stop();
  });

  test('counts all that is new in each round, also while a moved clock lets nothing be removed', async () => {
    const world = new World();
    world.more.push(true, true, false);
    await world.clock.pass(periodMs + 1);
    assert.deepEqual([world.counts, world.rounds], [3, 1]);
    world.clock.step(400 * 86_400_000);
    world.more.push(true, false);
    await world.clock.pass(periodMs);
    assert.deepEqual([world.counts, world.rounds], [5, 1]);
    assert.deepEqual(world.said.splice(0), ['the clock was moved: nothing is removed for an hour: ']);
    await world.sweep.stop();
  });

  test('a count that fails is tried again in the next round, and the rest is removed', async () => {
    const world = new World();
    world.more.push('failed', false);
    world.old.push(1);
    await world.clock.pass(periodMs + 1);
    assert.deepEqual([world.counts, world.rounds], [1, 1]);
    const late = 'stored records could not be counted yet: away';
    assert.deepEqual(world.said, [late, 'old unit outcomes were removed: 1']);
    await world.clock.pass(periodMs);
    assert.equal(world.counts, 2);
    await world.sweep.stop();
  });

  test('counts no more once it is stopped', async () => {
    const world = new World();
    world.more.push(...Array<true>(100).fill(true));
    const counting = world.clock.pass(periodMs + 1);
    const stopping = world.sweep.stop();
    await Promise.all([counting, stopping]);
    assert.ok(world.counts <= 1, `${world.counts} counts`);
  });

  test('stops after the step under way, and frees the lease no earlier', async () => {
    const world = new World();
    const open = world.gate.hold();
    world.old.push(1_000, 1_000);
    await world.clock.pass(periodMs + 1);
    let stopped = false;
    const stopping = world.sweep.stop().then(() => (stopped = true));
    await world.clock.pass(0);
    assert.deepEqual([stopped, world.lease?.holder], [false, 'a']);
    open();
    await stopping;
    assert.deepEqual([world.steps.length, world.rounds, world.lease?.holder], [1, 0, '']);
    await world.clock.pass(2 * periodMs);
    assert.equal(world.steps.length, 1);
  });
});
