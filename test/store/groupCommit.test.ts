/** Groups of units: how much shares one transaction, and that steps of one engine never overlap. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Engine, KeyRange, Write } from '../../src/store/engine.js';
import { createStore } from '../../src/store/groupCommit.js';
import { logs, spaces } from '../../src/store/spaces.js';
import { keysOf, type Unit } from '../../src/store/evaluate.js';
import {
  decodeCount,
  encodeCount,
  endOf,
  headKey,
  logKey,
  recordKey,
  textOf,
} from '../../src/store/bytes.js';
import {
  maxUnitBytes,
  maxValueBytes,
  StoreUnavailable,
  whenUnavailable,
  type Operation,
  type Outcome,
  type Store,
} from '../../src/store/store.js';
import { newUnitId } from '../support/openStore.js';
import { bytes } from './subject.js';

const unavailable = new StoreUnavailable('told to fail');

/** An engine without records, whose steps end one by one, when told. */
class SteppedEngine {
  /** What the steps were, in their order: units of a transaction, or a removal. */
  readonly begun: (number | 'removal')[] = [];
  closed = false;
  private under = 0;
  private readonly waiting: (() => void)[] = [];

  private async step(what: number | 'removal'): Promise<void> {
    this.begun.push(what);
    this.under += 1;
    assert.equal(this.under, 1, 'one step at a time');
    await new Promise<void>((end) => {
      this.waiting.push(end);
    });
    this.under -= 1;
  }

  /** Ends the step under way, and lets what follows it begin. */
  async end(): Promise<void> {
    const end = this.waiting.shift();
    assert.ok(end !== undefined, 'a step is under way');
    end();
    await settled();
  }

  fails: StoreUnavailable | undefined;

  readonly engine: Engine = {
    triesAgain: false,
    get: () => Promise.resolve(undefined),
    getMany: (keys) => Promise.resolve(keys.map(() => undefined)),
    scan: () => Promise.resolve([]),
    snapshot: () => Promise.reject(new Error('not asked for')),
    count: () => Promise.resolve(0),
    transact: async (keys, decide) => {
      // Each unit has a key under which its outcome is kept.
      await this.step(keys().filter(([space]) => space === spaces.units).length);
      decide(() => undefined);
      if (this.fails !== undefined) throw this.fails;
    },
    removeRange: async () => {
      await this.step('removal');
      if (this.fails !== undefined) throw this.fails;
      return 1;
    },
    close: async () => {
      assert.equal(this.under, 0, 'nothing is under way');
      await settled();
      this.closed = true;
    },
  };
}

/** Resolves when nothing more can happen without a step's end. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const put = (value: Uint8Array): Operation => ({ kind: 'put', space: 'usage', key: bytes('k'), value });
const unit = (...operations: Operation[]): Unit => ({ id: newUnitId(), operations });
const unitOf = (id: Uint8Array, ...operations: Operation[]): Unit => ({ id, operations });
const small = (operations: number): Unit =>
  unit(...Array.from({ length: operations }, () => put(bytes('v'))));
const large = Buffer.alloc(maxValueBytes);
const ofBytes = (count: number): Unit =>
  unit(...Array.from({ length: count / maxValueBytes }, () => put(large)));

/** Commits a unit under its id. */
const commit = (store: Store, { operations, id }: Unit): Promise<Outcome> => store.commit(operations, id);

interface Working {
  readonly stepped: SteppedEngine;
  readonly store: Store;
}

function working(): Working {
  const stepped = new SteppedEngine();
  return { stepped, store: createStore(stepped.engine, newUnitId) };
}

/** Commits units at once and tells how many each transaction had. */
async function groups(units: readonly Unit[]): Promise<readonly unknown[]> {
  const { stepped, store } = working();
  const outcomes = Promise.all(units.map((each) => commit(store, each)));
  await settled();
  let done: readonly Outcome[] | undefined;
  outcomes.then(
    (all) => (done = all),
    () => undefined,
  );
  while (done === undefined) await stepped.end();
  assert.ok(done.every(({ kind }) => kind === 'done'));
  return stepped.begun;
}

describe('a group', () => {
  test('has at most 256 operations, including the units themselves', async () => {
    assert.deepEqual(await groups([small(127), small(127)]), [2]);
    assert.deepEqual(await groups([small(127), small(128)]), [1, 1]);
    assert.deepEqual(
      await groups(Array.from({ length: 1_500 }, () => small(0))),
      [256, 256, 256, 256, 256, 220],
    );
  });

  test('has at most as many bytes as one unit may have', async () => {
    const half = maxUnitBytes / 2;
    assert.deepEqual(await groups([ofBytes(half), ofBytes(half)]), [2]);
    assert.deepEqual(await groups([ofBytes(half), ofBytes(half), small(1)]), [2, 1]);
  });

  test('accepts units that come while it waits for its turn, as far as it has room', async () => {
    const stepped = new SteppedEngine();
    const transactions: number[] = [];
    const inTurn: Engine = {
      ...stepped.engine,
      transact: async (keys, decide) => {
        keys();
        await stepped.engine.transact(keys, () => []);
        transactions.push(keys().filter(([space]) => space === spaces.units).length);
        decide(() => undefined);
      },
    };
    const store = createStore(inTurn, newUnitId);
    const first = commit(store, small(100));
    await settled();
    const others = [small(100), small(100)].map((each) => commit(store, each));
    await settled();
    await stepped.end();
    await stepped.end();
    assert.deepEqual(transactions, [2, 1]);
    for (const outcome of [first, ...others]) assert.equal((await outcome).kind, 'done');
    // A transaction that never got its turn fails the units that it has taken in, and no others.
    const failing = createStore(
      { ...inTurn, transact: async (keys) => (keys(), await settled(), keys(), Promise.reject(unavailable)) },
      newUnitId,
    );
    const refused = commit(failing, small(100));
    await Promise.resolve();
    const joined = commit(failing, small(100));
    for (const outcome of [refused, joined]) await assert.rejects(outcome, unavailable);
  });

  test('of one unit may be as large as any unit', async () => {
    assert.deepEqual(await groups([small(5_000), small(1)]), [1, 1]);
    assert.deepEqual(await groups([small(1), ofBytes(maxUnitBytes)]), [1, 1]);
  });

  test('that could not be written reports it to each of its units, and the next goes on', async () => {
    const { stepped, store } = working();
    stepped.fails = unavailable;
    const first = Promise.allSettled([commit(store, small(1)), commit(store, small(1))]);
    await settled();
    const second = commit(store, small(1));
    await stepped.end();
    const told = { status: 'rejected', reason: unavailable };
    assert.deepEqual(await first, [told, told]);
    stepped.fails = undefined;
    await stepped.end();
    assert.equal((await second).kind, 'done');
  });
});

describe('removals', () => {
  test('wait for the transaction under way, and transactions for them', async () => {
    const { stepped, store } = working();
    const first = commit(store, small(1));
    await settled();
    const removal = store.trim('leads', 1, 1);
    await settled();
    assert.deepEqual(stepped.begun, [1]);
    await stepped.end();
    assert.deepEqual(stepped.begun, [1, 'removal']);
    const second = commit(store, small(1));
    await settled();
    assert.deepEqual(stepped.begun, [1, 'removal']);
    await stepped.end();
    assert.deepEqual(await removal, 1);
    assert.deepEqual(stepped.begun, [1, 'removal', 1], 'nobody else has to come for it to go on');
    await stepped.end();
    assert.deepEqual([(await first).kind, (await second).kind], ['done', 'done']);
  });

  test('wait for each other', async () => {
    const { stepped, store } = working();
    const removals = Promise.all([
      store.trim('leads', 1, 1),
      store.prune('usage', bytes('k'), 1),
      store.trim('clicks', 1, 1),
    ]);
    for (const count of [1, 2, 3]) {
      await settled();
      assert.equal(stepped.begun.length, count);
      await stepped.end();
    }
    assert.equal((await removals).length, 3);
  });

  test('that could not be written keep nothing waiting', async () => {
    const { stepped, store } = working();
    stepped.fails = unavailable;
    const removal = Promise.allSettled([store.trim('leads', 1, 1)]);
    await settled();
    const after = commit(store, small(1));
    await stepped.end();
    assert.deepEqual(await removal, [{ status: 'rejected', reason: unavailable }]);
    stepped.fails = undefined;
    await stepped.end();
    assert.equal((await after).kind, 'done');
  });
});

test('closing waits for everything under way', async () => {
  const { stepped, store } = working();
  const first = commit(store, small(1));
  await settled();
  const more = commit(store, small(1));
  const closed = store.close();
  for (const open of [false, false]) {
    await settled();
    assert.equal(stepped.closed, open);
    await stepped.end();
  }
  await closed;
  assert.deepEqual([stepped.closed, (await first).kind, (await more).kind], [true, 'done', 'done']);
});

test('an engine that breaks is an error for every unit of the group, and for no others', async () => {
  const { stepped, store } = working();
  const broken = createStore(
    { ...stepped.engine, transact: () => Promise.reject(new Error('broken')) },
    newUnitId,
  );
  const outcomes = await Promise.allSettled([commit(broken, small(1)), commit(broken, small(1))]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  await broken.close();
  assert.ok(stepped.closed);
  await assert.rejects(async () => store.commit([], Buffer.alloc(15)), /unit id of 15/);
});

test('an engine that decides nothing leaves no unit waiting', async () => {
  const { stepped } = working();
  const idle = createStore({ ...stepped.engine, transact: () => Promise.resolve() }, newUnitId);
  await assert.rejects(commit(idle, small(1)), /A unit without an outcome/);
});

test('a substitute for an unavailable store hides no other error', async () => {
  const told = (failure: StoreUnavailable): string => failure.message;
  assert.equal(await whenUnavailable(Promise.resolve(7), told), 7);
  assert.equal(await whenUnavailable(Promise.reject(unavailable), told), 'told to fail');
  await assert.rejects(whenUnavailable(Promise.reject(new Error('broken')), told), /^Error: broken$/);
});

test('operations that come without an id are a unit of their own, and leave no outcome behind', async () => {
  const { stepped, store } = working();
  const insert = { kind: 'insert', space: 'usage', key: bytes('k'), value: bytes('v') } as const;
  const first = store.commit([insert]);
  const second = store.commit([insert]);
  const third = store.commit([put(bytes('v'))]);
  await settled();
  await stepped.end();
  assert.deepEqual(stepped.begun, [0], 'one transaction, and no key of an outcome');
  assert.deepEqual(
    [await first, await second, await third].map(({ kind }) => kind),
    ['done', 'conflict', 'done'],
  );
});

/** An engine that tries again, as told: whether each try is written before its answer is lost. */
class TryingEngine {
  readonly records = new Map<string, Uint8Array>();
  /** Writes of each try. */
  readonly wrote: number[] = [];
  /** What other processes do before each try. */
  before: (attempt: number) => void = () => undefined;

  constructor(private readonly tries: readonly ('written' | 'lost, but written' | 'lost')[]) {}

  readonly engine: Engine = {
    ...new SteppedEngine().engine,
    triesAgain: true,
    transact: (keys, decide) => {
      const wanted = new Set(keys().map((key) => textOf(key)));
      for (const [attempt, end] of this.tries.entries()) {
        this.before(attempt);
        const writes = decide((key) => {
          assert.ok(wanted.has(textOf(key)), 'only what was named is read');
          return this.records.get(textOf(key));
        });
        this.wrote.push(writes.length);
        if (end !== 'lost') this.apply(writes);
        else this.lost.push(writes);
      }
      return Promise.resolve();
    },
  };

  /** Writes of the tries that were lost, so far. */
  readonly lost: (readonly Write[])[] = [];

  apply(writes: readonly Write[]): void {
    for (const { key, value } of writes) {
      if (value === undefined) this.records.delete(textOf(key));
      else this.set(key, value);
    }
  }

  set(key: Uint8Array, value: Uint8Array): void {
    this.records.set(textOf(key), value);
  }

  /** Keys under which outcomes are kept. */
  get kept(): number {
    return [...this.records.keys()].filter((key) => key.charCodeAt(0) === spaces.units).length;
  }
}

describe('on an engine that tries again', () => {
  const key = bytes('k');
  const insert = (value: string) => ({ kind: 'insert', space: 'usage', key, value: bytes(value) }) as const;
  const append = { kind: 'append', log: 'leads', value: bytes('x') } as const;
  const other = recordKey('usage', key);

  test('units without an id get the outcomes of the try that took effect, and share one record', async () => {
    const trying = new TryingEngine(['lost, but written', 'lost', 'written']);
    const store = createStore(trying.engine, newUnitId);
    const outcomes = await Promise.all([
      store.commit([append]),
      store.commit([insert('a')]),
      store.commit([insert('b')]),
      store.commit([append, append]),
    ]);
    assert.deepEqual(outcomes, [
      { kind: 'done', positions: [1] },
      { kind: 'done', positions: [] },
      { kind: 'conflict', operation: 0, record: bytes('a') },
      { kind: 'done', positions: [2, 3] },
    ]);
    assert.equal(decodeCount(trying.records.get(textOf(headKey('leads'))) ?? bytes('')), 3);
    assert.equal(trying.kept, 1);
  });

  test('a try that did not take effect is decided anew, with what others wrote meanwhile', async () => {
    const trying = new TryingEngine(['lost', 'lost, but written', 'written']);
    trying.before = (attempt) => {
      // In the first try the record is not there; what comes after the second changes nothing.
      if (attempt === 1) trying.set(other, bytes('theirs'));
      if (attempt === 2) trying.set(other, bytes('later'));
    };
    const store = createStore(trying.engine, newUnitId);
    const outcomes = await Promise.all([store.commit([insert('a')]), store.commit([append])]);
    assert.deepEqual(outcomes, [
      { kind: 'conflict', operation: 0, record: bytes('theirs') },
      { kind: 'done', positions: [1] },
    ]);
    assert.equal(trying.kept, 1);
  });

  test('a group that changes nothing leaves nothing', async () => {
    const trying = new TryingEngine(['lost', 'written']);
    trying.set(other, bytes('theirs'));
    const store = createStore(trying.engine, newUnitId);
    assert.equal((await store.commit([insert('a')])).kind, 'conflict');
    assert.equal(trying.records.size, 1);
  });

  test('a try that finds an earlier one writes too, so that its commit waits', async () => {
    for (const id of [undefined, newUnitId()]) {
      const trying = new TryingEngine(['lost, but written', 'written']);
      const outcome = await createStore(trying.engine, newUnitId).commit([append], id);
      assert.deepEqual(outcome, { kind: 'done', positions: [1] });
      assert.equal(trying.wrote.length, 2);
      assert.equal(trying.wrote[1], 1, 'the record of the outcome, again');
      assert.equal(trying.kept, 1);
    }
  });

  test('a try that takes effect only after the next one is the one that counts', async () => {
    const trying = new TryingEngine(['lost', 'lost', 'written']);
    trying.before = (attempt) => {
      // The second try finds another's record; the third finds that the first one took effect before it.
      if (attempt === 1) trying.set(other, bytes('theirs'));
      if (attempt === 2) trying.apply(trying.lost[0] ?? []);
    };
    const outcome = await createStore(trying.engine, newUnitId).commit([insert('a'), append]);
    assert.deepEqual(outcome, { kind: 'done', positions: [1] });
    assert.deepEqual(trying.records.get(textOf(other)), bytes('a'));
  });

  test('a unit without an id counts once among units with one, even if it joins them late', async () => {
    const trying = new TryingEngine(['lost, but written', 'written']);
    let joined: Promise<Outcome> | undefined;
    const store = createStore(
      {
        ...trying.engine,
        transact: async (named, decide) => {
          joined ??= store.commit([append]);
          await settled();
          // The engine asks for the keys again before each try.
          await trying.engine.transact(
            () => (named(), named()),
            (read) => (named(), decide(read)),
          );
        },
      },
      newUnitId,
    );
    const first = await store.commit([append], newUnitId());
    assert.deepEqual(
      [first, await joined].map((each) => each?.kind),
      ['done', 'done'],
    );
    assert.equal(decodeCount(trying.records.get(textOf(headKey('leads'))) ?? bytes('')), 2);
    const beside = new TryingEngine(['lost, but written', 'written']);
    const mixed = createStore(beside.engine, newUnitId);
    const outcomes = await Promise.all([mixed.commit([append], newUnitId()), mixed.commit([append])]);
    assert.deepEqual(
      outcomes,
      [1, 2].map((position) => ({ kind: 'done', positions: [position] })),
    );
  });

  test('a unit that joins just before the only time that keys are asked for counts once, too', async () => {
    const trying = new TryingEngine(['lost, but written', 'written']);
    const transact: Engine['transact'] = async (named, decide) => {
      await settled();
      await trying.engine.transact(named, decide);
    };
    const store = createStore({ ...trying.engine, transact }, newUnitId);
    const first = store.commit([append], newUnitId());
    // The first unit is in the engine's hands, and its group has taken in no other.
    await Promise.resolve();
    const joined = store.commit([append]);
    assert.deepEqual(await Promise.all([first, joined]), [
      { kind: 'done', positions: [1] },
      { kind: 'done', positions: [2] },
    ]);
    assert.equal(decodeCount(trying.records.get(textOf(headKey('leads'))) ?? bytes('')), 2);
  });

  test('a group is refused where its record names a try that it never made', async () => {
    const trying = new TryingEngine(['written']);
    const id = newUnitId();
    trying.set(recordKey('units', id), encodeCount(5));
    await assert.rejects(createStore(trying.engine, () => id).commit([append]), /a try that was not made/);
  });

  test('units with an id keep their own outcomes', async () => {
    const trying = new TryingEngine(['lost, but written', 'written']);
    const store = createStore(trying.engine, newUnitId);
    const [id, more] = [newUnitId(), newUnitId()];
    const outcomes = await Promise.all([store.commit([append], id), store.commit([append], more)]);
    assert.deepEqual(outcomes, [
      { kind: 'done', positions: [1] },
      { kind: 'done', positions: [2] },
    ]);
    assert.equal(trying.kept, 2);
  });
});

test('a probe is a transaction: it succeeds once one was written, and fails if none could be', async () => {
  const { stepped, store } = working();
  let answered = false;
  const probe = store.probe().then(() => (answered = true));
  await settled();
  assert.deepEqual([stepped.begun, answered], [[1], false]);
  await stepped.end();
  await probe;
  stepped.fails = unavailable;
  const failing = assert.rejects(store.probe(), StoreUnavailable);
  await settled();
  await stepped.end();
  await failing;
});

test('every record that a unit reads is among the keys that an engine locks for it, once', () => {
  const [key, value] = [bytes('k'), bytes('v')];
  const [id, more] = [newUnitId(), newUnitId()];
  const reads = keysOf([
    unitOf(id, { kind: 'append', log: 'leads', value }, { kind: 'append', log: 'leads', value }),
    unitOf(
      more,
      { kind: 'amend', log: 'leads', position: 7, from: value, to: value },
      { kind: 'fence', lease: 'work', token: 1 },
      { kind: 'insert', space: 'keys', key, value },
      { kind: 'replace', space: 'orders', key, from: value, to: value },
      { kind: 'put', space: 'usage', key, value },
    ),
  ]);
  const expected = [
    recordKey('units', id),
    headKey('leads'),
    recordKey('units', more),
    logKey('leads', 7),
    recordKey('leases', bytes('work')),
    recordKey('keys', key),
    recordKey('orders', key),
  ];
  const named = (keys: readonly Uint8Array[]): string[] =>
    keys.map((each) => Buffer.from(each).toString('hex'));
  assert.deepEqual(named(reads), named(expected));
});

/** A store, and the ranges that its engine was asked for. */
function ranged(): { readonly store: Store; readonly asked: KeyRange[] } {
  const asked: KeyRange[] = [];
  const engine: Engine = {
    ...new SteppedEngine().engine,
    scan: (range) => Promise.resolve(void asked.push(range)).then(() => []),
    removeRange: (range) => Promise.resolve(asked.push(range)),
  };
  return { store: createStore(engine, newUnitId), asked };
}

test('a range covers one space or log, and as many records as its caller takes at a time', async () => {
  const { store, asked } = ranged();
  const [from, to] = [bytes('b'), bytes('k')];
  await store.prune('usage', to, 7);
  await store.trim('leads', 4, 9);
  await store.scan('usage', { limit: 3 });
  await store.scan('usage', { from: bytes(''), to, limit: 4 });
  await store.scan('usage', { from, limit: 5 });
  await store.read('leads', { after: 4, limit: 2 });
  const [first, end] = [Buffer.of(spaces.usage), endOf(spaces.usage)];
  const before = recordKey('usage', to);
  assert.deepEqual(asked, [
    { from: first, to: before, limit: 7 },
    { from: logKey('leads', 0), to: logKey('leads', 5), limit: 9 },
    { from: first, to: end, limit: 3 },
    { from: first, to: before, limit: 4 },
    { from: recordKey('usage', from), to: end, limit: 5 },
    { from: logKey('leads', 5), to: endOf(logs.leads), limit: 2 },
  ]);
});

test('a unit over a limit, in values or comparisons, is refused before it waits', async () => {
  const { stepped, store } = working();
  const rejects = (pattern: RegExp, ...operations: Operation[]): Promise<void> =>
    assert.rejects(async () => store.commit(operations), pattern);
  const other = { kind: 'replace', space: 'usage', key: bytes('k') } as const;
  const [empty, over] = [bytes(''), Buffer.alloc(maxValueBytes + 1)];
  await rejects(/^Error: A value of \d+ bytes$/, put(over));
  await rejects(/^Error: A value of \d+ bytes$/, { ...other, from: empty, to: over });
  const { operations } = ofBytes(maxUnitBytes);
  await rejects(/^Error: A unit of \d+ bytes$/, ...operations, put(bytes('v')));
  await rejects(/^Error: A unit of \d+ bytes$/, ...operations, { ...other, from: bytes('v'), to: empty });
  const removal = { ...other, from: empty, to: undefined };
  await rejects(/^Error: A unit of \d+ bytes$/, removal, ...operations, put(bytes('v')));
  await settled();
  assert.deepEqual(stepped.begun, []);
  const whole = store.commit([removal, ...operations]);
  await settled();
  await stepped.end();
  await whole;
});

test('a log without a head has no position; one with a head has the position in it', async () => {
  const heads = new Map([[headKey('leads').toString('hex'), encodeCount(7)]]);
  const engine: Engine = {
    ...new SteppedEngine().engine,
    get: (key) => Promise.resolve(heads.get(Buffer.from(key).toString('hex'))),
  };
  const store = createStore(engine, newUnitId);
  assert.deepEqual([await store.last('leads'), await store.last('clicks')], [7, 0]);
});
