/** Following a log of changed names, on a store whose reads the test controls. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Follower } from '../../src/store/follower.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { Gate } from '../support/gate.js';
import { UnreadableRecord } from '../../src/store/table.js';
import { HandClock } from '../support/handClock.js';
import { FailingStore, openTestStore } from '../support/serving.js';

const away = new StoreUnavailable('away');

/** A process that follows the log of profiles' changes. */
class World {
  readonly clock = new HandClock();
  readonly taken: string[] = [];
  readonly gate = new Gate();
  readonly follower: Follower<string>;
  readonly logged: unknown[] = [];
  /** Number of looks that read the store. */
  reads = 0;
  /** Most records that were asked for at once. */
  page = 0;
  readFails: Error | undefined;
  /** What happens while the record `all` is taken. */
  meanwhile: () => unknown = () => undefined;
  failsAt: string | undefined;
  failure: Error = away;

  constructor(public store: Store) {
    const counted: Store = {
      ...store,
      last: (log) => this.counted(() => this.store.last(log)),
      read: (log, range) => this.counted(() => this.store.read(log, range)),
      scan: (space, range) => {
        this.page = Math.max(this.page, range.limit);
        return this.store.scan(space, range);
      },
      get: (space, key) => this.store.get(space, key),
    };
    this.follower = new Follower({
      store: counted,
      clock: this.clock,
      log: { error: (about) => void this.logged.push(about) },
      changes: 'profileChanges',
      space: 'profiles',
      decode: (record) => this.decode(Buffer.from(record).toString()),
      take: async (name) => {
        this.take(name);
        if (name === 'all') await this.meanwhile();
      },
    });
  }

  /** A world whose store has records, one named `all` unless other names are given. */
  static async of(store: Store, ...names: string[]): Promise<World> {
    const operations = (names.length > 0 ? names : ['all']).map(
      (name) =>
        ({ kind: 'insert', space: 'profiles', key: Buffer.from(name), value: Buffer.from(name) }) as const,
    );
    await store.commit(operations);
    return new World(store);
  }

  private decode(record: string): string {
    if (record === 'later') throw new UnreadableRecord('test', 'a later version wrote it.');
    return record;
  }

  async change(...names: string[]): Promise<void> {
    for (const name of names) {
      await this.store.commit([{ kind: 'append', log: 'profileChanges', value: Buffer.from(name) }]);
    }
  }

  private take(name: string): void {
    this.taken.push(name);
    if (name === this.failsAt) throw this.failure;
  }

  private async counted<Value>(read: () => Promise<Value>): Promise<Value> {
    this.reads += 1;
    await this.gate.passed();
    if (this.readFails !== undefined) throw this.readFails;
    return read();
  }
}

describe('a process that follows changed names', () => {
  test('takes everything first, then each change once, in order', async () => {
    const world = await World.of(await openTestStore());
    await world.change('before');
    await world.follower.start();
    assert.deepEqual(world.taken.splice(0), ['all']);
    assert.equal(world.page, 16, 'a page is read in one turn of the event loop');
    await world.change('b', 'a');
    await world.follower.look();
    await world.follower.look();
    assert.deepEqual(world.taken, ['b', 'a']);
    world.follower.stop();
  });

  test('takes a change again that came while it took everything, as it may have missed it', async () => {
    const world = await World.of(await openTestStore());
    world.meanwhile = () => world.change('a');
    await world.follower.start();
    await world.follower.look();
    assert.deepEqual(world.taken, ['all', 'a']);
    world.follower.stop();
  });

  test('takes everything anew when a server answers whose log ended earlier', async () => {
    for (const later of [[], ['other'], ['other', 'all']]) {
      const store = await openTestStore();
      const world = await World.of(store, 'all', 'removed');
      await world.change('all', 'removed');
      await world.follower.start();
      assert.deepEqual(world.taken.splice(0), ['all', 'removed']);
      // The one that answers now never had the second change, nor what it was about.
      const other = await openTestStore();
      await World.of(other, 'all', 'new');
      const names = ['all', ...later];
      const changes = names.map(
        (name) => ({ kind: 'append', log: 'profileChanges', value: Buffer.from(name) }) as const,
      );
      await other.commit(changes);
      world.store = other;
      await world.follower.look();
      // Another record may have the same name and version: what was loaded is taken away first.
      assert.deepEqual(world.taken.splice(0), ['all', 'all', 'new', 'removed']);
      await world.follower.look();
      assert.deepEqual(world.taken, []);
      world.follower.stop();
    }
  });

  test('takes every change in one look, though a store is read by pages', async () => {
    const world = await World.of(await openTestStore());
    await world.follower.start();
    const names = Array.from({ length: 1_001 }, (_, at) => `${at}`);
    await world.change(...names);
    await world.follower.look();
    assert.deepEqual(world.taken, ['all', ...names]);
    world.follower.stop();
  });

  test('asks again if a store did not answer, and takes nothing twice', async () => {
    const failing = new FailingStore(await openTestStore());
    const world = await World.of(failing.seen);
    failing.failure = 'not written';
    await world.follower.start();
    assert.deepEqual(world.taken, []);
    failing.failure = undefined;
    world.failsAt = 'all';
    await world.follower.look();
    world.failsAt = undefined;
    await world.follower.look();
    assert.deepEqual(world.taken.splice(0), ['all', 'all']);
    await world.change('a', 'b', 'c');
    world.failsAt = 'b';
    await world.follower.look();
    assert.deepEqual(world.taken.splice(0), ['a', 'b']);
    world.failsAt = undefined;
    await world.follower.look();
    assert.deepEqual(world.taken, ['b', 'c']);
    assert.deepEqual(world.logged, [], 'the store itself is reported elsewhere');
    world.follower.stop();
  });

  test('leaves out a record that it cannot read, and goes on with the others', async () => {
    const world = await World.of(await openTestStore(), 'a', 'later', 'z');
    await world.follower.start();
    assert.deepEqual(world.taken.splice(0), ['a', 'z']);
    const reason = 'A record of the store (test) cannot be read: a later version wrote it.';
    assert.deepEqual(world.logged.splice(0), [{ name: 'later', reason }]);
    await world.change('later', 'b');
    await world.follower.look();
    await world.follower.look();
    assert.deepEqual([world.taken, world.logged], [['b'], [{ name: 'later', reason }]]);
    world.follower.stop();
  });

  test('leaves out a record that it cannot take, and a look that fails is followed by others', async () => {
    const world = await World.of(await openTestStore());
    await world.follower.start();
    world.taken.splice(0);
    world.failure = new Error('a fault');
    world.failsAt = 'b';
    await world.change('a', 'b', 'c');
    await world.follower.look();
    assert.deepEqual(world.taken.splice(0), ['a', 'b', 'c']);
    assert.equal(world.logged.length, 1);
    await world.follower.look();
    assert.deepEqual(world.taken.splice(0), ['b'], 'it is tried again, and logged once');
    assert.deepEqual(world.logged.splice(0), [{ name: 'b', reason: 'a fault' }]);
    world.failsAt = undefined;
    await world.follower.look();
    await world.follower.look();
    assert.deepEqual(world.taken.splice(0), ['b'], 'until it is taken');
    world.readFails = new Error('another fault');
    await world.change('d');
    await world.follower.look();
    await world.clock.pass(250);
    await world.follower.look();
    assert.deepEqual([world.taken, world.logged], [[], [{ reason: 'another fault' }]]);
    world.readFails = undefined;
    await world.clock.pass(250);
    await world.follower.look();
    assert.deepEqual(world.taken, ['d']);
    world.follower.stop();
  });

  test('takes a record that it could not take once more, not twice if a change names it', async () => {
    const world = await World.of(await openTestStore());
    world.failure = new Error('a fault');
    world.failsAt = 'all';
    await world.follower.start();
    world.failsAt = undefined;
    await world.change('all');
    await world.follower.look();
    assert.deepEqual(world.taken, ['all', 'all']);
    world.follower.stop();
  });

  test('has taken such a record when a look ends', async () => {
    const world = await World.of(await openTestStore());
    world.failure = new Error('a fault');
    world.failsAt = 'all';
    await world.follower.start();
    world.failsAt = undefined;
    let isTaken = false;
    world.meanwhile = async () => {
      await new Promise(setImmediate);
      isTaken = true;
    };
    await world.follower.look();
    assert.ok(isTaken);
    world.follower.stop();
  });

  test('logs a fault again that comes back after it was over', async () => {
    const world = await World.of(await openTestStore(), 'b');
    await world.follower.start();
    const reasons = async (): Promise<unknown[]> => {
      await world.follower.look();
      return world.logged.splice(0).map((about) => (about as { reason: string }).reason);
    };
    const key = Buffer.from('b');
    const write = (from: string, to: string) =>
      world.store.commit([
        { kind: 'replace', space: 'profiles', key, from: Buffer.from(from), to: Buffer.from(to) },
        { kind: 'append', log: 'profileChanges', value: key },
      ]);
    const [fault, away] = [new Error('a fault'), new Error('another fault')];
    for (let times = 0; times < 2; times += 1) {
      world.failure = fault;
      world.failsAt = 'b';
      await world.change('b');
      assert.deepEqual(await reasons(), ['a fault']);
      world.failsAt = undefined;
      assert.deepEqual(await reasons(), []);
      world.readFails = away;
      assert.deepEqual([await reasons(), await reasons()], [['another fault'], []]);
      world.readFails = undefined;
      assert.deepEqual(await reasons(), []);
    }
    world.failsAt = 'b';
    await world.change('b');
    assert.deepEqual(await reasons(), ['a fault']);
    // Between two faults of a kind there is another one.
    await write('b', 'later');
    assert.equal((await reasons()).length, 1);
    await write('later', 'b');
    assert.deepEqual(await reasons(), ['a fault']);
    world.follower.stop();
  });

  test('takes a removal that came after a first look that did not end', async () => {
    const world = await World.of(await openTestStore(), 'a', 'b');
    world.failsAt = 'b';
    await world.follower.start();
    const key = Buffer.from('a');
    await world.store.commit([{ kind: 'replace', space: 'profiles', key, from: key, to: undefined }]);
    await world.change('a');
    world.failsAt = undefined;
    await world.follower.look();
    assert.deepEqual(world.taken, ['a', 'b', 'b', 'a']);
    world.follower.stop();
  });

  test('looks four times a second until it is stopped, but not while a look waits', async () => {
    const world = await World.of(await openTestStore());
    const open = world.gate.hold();
    const started = world.follower.start();
    await world.clock.pass(1_000);
    assert.equal(world.reads, 1);
    open();
    await started;
    await world.clock.pass(249);
    assert.equal(world.reads, 1);
    await world.clock.pass(1);
    assert.equal(world.reads, 2);
    await world.follower.look();
    await world.clock.pass(250);
    assert.equal(world.reads, 4);
    await world.follower.look();
    world.follower.stop();
    await world.clock.pass(1_000);
    assert.equal(world.reads, 5);
  });

  test('no longer looks if it is stopped while it starts', async () => {
    const world = await World.of(await openTestStore());
    const open = world.gate.hold();
    const started = world.follower.start();
    world.follower.stop();
    open();
    await started;
    assert.equal(world.clock.timers, 0);
  });

  test('a look waits for one under way, then reads: it knows what was stored before', async () => {
    const world = await World.of(await openTestStore());
    await world.follower.start();
    const open = world.gate.hold();
    const first = world.follower.look();
    await world.change('a');
    const second = world.follower.look();
    assert.equal(world.clock.timers, 1);
    open();
    await Promise.all([first, second]);
    assert.deepEqual(world.taken, ['all', 'a']);
    assert.equal(world.reads, 3);
    world.follower.stop();
  });
});
