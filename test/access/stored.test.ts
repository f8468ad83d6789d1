/** Keys and usage in the store: every change of a key is announced, whatever fails meanwhile. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Added, Unsure } from '../../src/access/keyring.js';
import { KeyChanges, storedKeys, storedUsage, usageSubject } from '../../src/access/stored.js';
import type { LogEntry, Store } from '../../src/store/store.js';
import type { Clock } from '../../src/system/clock.js';
import { insertKey, type KeyRecord, unlinked } from '../../src/store/tables/keys.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { commit } from '../store/subject.js';
import { Gate } from '../support/gate.js';

const key: KeyRecord = {
  ...{ hash: Buffer.alloc(32, 7), id: 'key_7', tier: 'growth', hint: '', origin: '', issuedAtMs: 1 },
  ...unlinked,
  ...{ expiresAtMs: null, status: 'active', reason: null, changedAtMs: 1 },
};

/** What a watcher was told: `all`, or a name for a key's hash. */
class Watch {
  readonly told: string[] = [];
  readonly periods: number[] = [];
  readonly logged: string[] = [];
  stopped = false;
  /** The monotonic time. */
  nowMs = 0;
  readonly changes: KeyChanges;
  /** The log of another server, which answers in the place of the first. */
  other: readonly LogEntry[] | undefined;
  private period: () => void = () => undefined;
  private readonly failing: FailingStore;
  private reads = 0;
  private ended = 0;
  private readonly gate = new Gate();

  constructor(private readonly store: Store) {
    this.failing = new FailingStore(store);
    const every: Clock['every'] = (periodMs, action) => {
      this.periods.push(periodMs);
      this.period = action;
      return { stop: () => (this.stopped = true) };
    };
    const read = async <Value>(look: () => Promise<Value>): Promise<Value> => {
      this.reads += 1;
      try {
        return await look();
      } finally {
        await this.gate.passed();
        this.ended += 1;
      }
    };
    const seen: Store = {
      ...this.failing.seen,
      last: (log) => read(async () => this.other?.length ?? this.failing.seen.last(log)),
      read: (log, range) =>
        read(async () => this.other?.slice(range.after) ?? this.failing.seen.read(log, range)),
    };
    this.changes = new KeyChanges({
      store: seen,
      clock: { every, monotonicMs: () => this.nowMs },
      watcher: {
        changed: (hash) => this.told.push(Buffer.from(hash).toString()),
        allChanged: () => this.told.push('all'),
      },
      graceMs: 900_000,
      log: {
        warn: (_, message) => this.logged.push(message),
        info: (_, message) => this.logged.push(message),
      },
    });
  }

  fail(failure: FailingStore['failure']): void {
    this.failing.failure = failure;
  }

  /** Keeps reads from ending until the returned function is called. */
  hold(): () => void {
    return this.gate.hold();
  }

  get looks(): number {
    return this.reads;
  }

  /** Lets the period pass once; no more than begins a look. */
  tick(): void {
    this.period();
  }

  /** Resolves when the looks that have begun have ended and told. */
  async done(): Promise<void> {
    do await new Promise(setImmediate);
    while (this.ended < this.reads);
    await new Promise(setImmediate);
  }

  async look(): Promise<readonly string[]> {
    this.tick();
    await this.done();
    return this.told.splice(0);
  }

  async change(...names: readonly string[]): Promise<void> {
    const changes = names.map((name) => {
      return { kind: 'append', log: 'keyChanges', value: Buffer.from(name) } as const;
    });
    assert.equal((await commit(this.store, ...changes)).kind, 'done');
  }
}

async function watching(): Promise<Watch> {
  const watch = new Watch(await openTestStore());
  await watch.change('before');
  watch.changes.start();
  await watch.done();
  return watch;
}

describe('changes of keys', () => {
  test('from before the first look count as one change of every key', async () => {
    const watch = await watching();
    assert.deepEqual([watch.told, watch.periods], [['all'], [250]]);
  });

  test('are announced once each, in order', async () => {
    const watch = await watching();
    watch.told.splice(0);
    assert.deepEqual(await watch.look(), []);
    await watch.change('a', 'b', 'a');
    assert.deepEqual(await watch.look(), ['a', 'b', 'a']);
    assert.deepEqual(await watch.look(), []);
    await watch.change('c');
    assert.deepEqual(await watch.look(), ['c']);
  });

  test('are announced late if the store does not answer, also at the first look', async () => {
    const watch = new Watch(await openTestStore());
    watch.fail('not written');
    watch.changes.start();
    await watch.done();
    assert.deepEqual(watch.told, []);
    assert.deepEqual(await watch.look(), []);
    watch.fail(undefined);
    assert.deepEqual(await watch.look(), ['all']);
    watch.fail('not written');
    await watch.change('a');
    assert.deepEqual(await watch.look(), []);
    watch.fail(undefined);
    assert.deepEqual(await watch.look(), ['a']);
    // After another outage the last one is announced once more.
    watch.fail('not written');
    await watch.look();
    watch.fail(undefined);
    assert.deepEqual(await watch.look(), ['a']);
    assert.deepEqual(await watch.look(), []);
  });

  test('are announced when a server whose log ends earlier answers after an outage', async () => {
    for (const again of ['a', 'b', 'lost']) {
      const watch = await watching();
      await watch.change('lost');
      await watch.look();
      // The standby that leads now did not get the last change; the next one takes its place.
      watch.fail('not written');
      assert.deepEqual(await watch.look(), []);
      const entries = [Buffer.from('before'), Buffer.from(again)];
      watch.other = entries.map((value, index) => ({ value, position: index + 1 }));
      watch.fail(undefined);
      const told = await watch.look();
      assert.ok(told.includes('all') || told.includes(again), `${told.join()} instead of ${again}`);
    }
  });

  test('are announced when such a server answers without an outage that was noticed', async () => {
    for (const again of [['a'], ['a', 'b'], []]) {
      const watch = await watching();
      await watch.change('lost');
      await watch.look();
      const entries = ['before', ...again].map((name) => Buffer.from(name));
      watch.other = entries.map((value, index) => ({ value, position: index + 1 }));
      assert.deepEqual(await watch.look(), ['all'], again.join());
      assert.deepEqual(await watch.look(), []);
    }
  });

  test('that are too many to announce one by one count at once as a change of every key', async () => {
    const watch = await watching();
    watch.told.splice(0);
    const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}`);
    await watch.change(...names(999));
    assert.deepEqual(await watch.look(), names(999));
    for (const count of [1_000, 3_000]) {
      await watch.change(...names(count));
      assert.deepEqual(await watch.look(), ['all']);
    }
    await watch.change('a');
    assert.deepEqual(await watch.look(), ['a']);
  });

  test('are not looked for again while a look is under way, and are after it', async () => {
    const watch = await watching();
    watch.told.splice(0);
    await watch.change('a');
    const release = watch.hold();
    const before = watch.looks;
    watch.tick();
    await new Promise(setImmediate);
    watch.tick();
    assert.equal(watch.looks, before + 1);
    release();
    await watch.done();
    assert.deepEqual(watch.told.splice(0), ['a']);
    await watch.change('b');
    assert.deepEqual(await watch.look(), ['b']);
  });

  test('are assumed for every key once the store has not answered for the grace and a second', async () => {
    const watch = await watching();
    watch.told.splice(0);
    watch.nowMs = 5_000;
    assert.deepEqual(await watch.look(), []);
    watch.fail('not written');
    // The last answer was to the look of five seconds.
    watch.nowMs = 906_000;
    assert.deepEqual([await watch.look(), watch.logged], [[], []]);
    watch.nowMs = 906_001;
    assert.deepEqual(await watch.look(), ['all']);
    // A key that could be read meanwhile is read again.
    watch.nowMs = 906_250;
    assert.deepEqual(await watch.look(), ['all']);
    await watch.change('a');
    watch.fail(undefined);
    assert.deepEqual(await watch.look(), ['all', 'before', 'a']);
    assert.deepEqual(await watch.look(), []);
    assert.deepEqual(watch.logged, [
      'the store has not answered for KEY_GRACE: keys are refused',
      'the store answers: keys are served again',
    ]);
  });

  test('are assumed even if a look never ends', async () => {
    const watch = await watching();
    watch.told.splice(0);
    const release = watch.hold();
    watch.tick();
    watch.nowMs = 902_000;
    watch.tick();
    assert.deepEqual(watch.told, ['all']);
    release();
    await watch.done();
    watch.told.splice(0);
    // The answer is as old as its question.
    assert.deepEqual(await watch.look(), ['all']);
    assert.deepEqual(await watch.look(), []);
  });

  test('are no longer looked for after a stop', async () => {
    const watch = await watching();
    watch.changes.stop();
    assert.ok(watch.stopped);
  });
});

test('a key is found by its hash, and a store that does not answer is not taken for absence', async () => {
  const store = await openTestStore();
  const failing = new FailingStore(store);
  const keys = storedKeys(failing.seen);
  assert.equal(await keys.find(key.hash), undefined);
  await commit(store, ...insertKey(key));
  assert.deepEqual(await keys.find(key.hash), key);
  failing.failure = 'not written';
  assert.equal(await keys.find(key.hash), 'unavailable');
});

test('usage is stored under a digest of its subject, and a silent store is reported', async () => {
  const store = await openTestStore();
  const failing = new FailingStore(store);
  const digest = (subject: Uint8Array): Uint8Array => Buffer.concat([Buffer.from('digest of '), subject]);
  const usage = storedUsage(failing.seen, digest);
  const subject = Buffer.from('192.0.2.1');
  assert.equal(await usage.load(subject), undefined);
  assert.equal(await usage.add(subject, { monthStartMs: 10, characters: 3, days: [] }), 3);
  assert.equal(await usage.add(subject, { monthStartMs: 10, characters: 4, days: [] }), 7);
  assert.deepEqual(await usage.load(subject), { monthStartMs: 10, characters: 7, days: [] });
  const kept = await store.get('usage', Buffer.from('digest of 192.0.2.1'));
  assert.ok(kept !== undefined);
  failing.failure = 'not written';
  assert.equal(await usage.load(subject), 'unavailable');
  assert.equal(await usage.add(subject, { monthStartMs: 10, characters: 1, days: [] }), 'unavailable');
});

test('a subject without usage gets a record only if it may, and one with usage is counted on', async () => {
  const store = await openTestStore();
  const usage = storedUsage(store, (subject) => subject);
  const add = (name: string, may: boolean): Promise<Added> => {
    return usage.add(Buffer.from(name), { monthStartMs: 10, characters: 3, days: [] }, () => may);
  };
  assert.equal(await add('a', false), 'refused');
  assert.equal(await usage.load(Buffer.from('a')), undefined);
  assert.equal(await add('a', true), 3);
  assert.equal(await add('a', false), 6);
});

test('a subject is digested with the oldest secret, as another implementation does it', () => {
  const subject = Uint8Array.of(1, 192, 0, 2, 7);
  const [oldest, newer, newest] = ['a', 'b', 'c'].map((letter) => letter.repeat(32)) as [
    string,
    string,
    string,
  ];
  const digest = usageSubject([newest, newer, oldest], subject).toString('hex');
  assert.equal(digest, '94d9e4bc3426be8ff3ebe53c8a88bdf84d875d1f043872703851245a38810252');
  assert.equal(usageSubject([oldest], subject).toString('hex'), digest);
});

test('usage with an unknown outcome is stored once, however often it is retried', async () => {
  const store = await openTestStore();
  const failing = new FailingStore(store);
  const usage = storedUsage(failing.seen, (subject) => subject);
  const subject = Buffer.from('a');
  const more = {
    monthStartMs: 10,
    characters: 3,
    days: [{ day: 1, requests: 1, characters: 3, refused: 0 }],
  };
  const tries = async (failure: FailingStore['failure'], add: () => Promise<Added>): Promise<Unsure> => {
    failing.failure = failure;
    const added = await add();
    assert.ok(typeof added === 'object');
    return added;
  };
  failing.failReads = false;
  for (const failure of ['not written', 'written'] as const) {
    const first = await tries(failure, () => usage.add(subject, more));
    const again = await tries('not written', first.again);
    failing.failReads = true;
    const more2 = await tries('not written', again.again);
    failing.failReads = false;
    failing.failure = undefined;
    // What another node adds meanwhile counts, too.
    assert.equal(typeof (await usage.add(subject, { ...more, characters: 100 })), 'number');
    const total = await more2.again();
    const found = await usage.load(subject);
    assert.ok(typeof found === 'object');
    assert.equal(total, found.characters);
    assert.equal(found.characters, failure === 'written' ? 206 : 103);
    assert.equal(found.days[0]?.requests, failure === 'written' ? 4 : 2);
  }
});
