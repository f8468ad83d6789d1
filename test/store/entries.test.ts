/** Reading whole logs and spaces page by page, and what is removed of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  appendEntry,
  entriesAfter,
  eraseEntries,
  findRecord,
  recordsAfter,
  recordsUnder,
  removeOldEntries,
  writeOver,
} from '../../src/store/entries.js';
import type { Operation, Store } from '../../src/store/store.js';
import { collect } from '../support/collect.js';
import { newUnitId } from '../support/openStore.js';
import { FailingStore, openTestStore } from '../support/serving.js';

const pageEntries = 500;

/** Numbers of entries, and the pages that are read of them: a page that is full may not be the last. */
const pagesOf = [
  [0, 1],
  [pageEntries - 1, 1],
  [pageEntries, 2],
  [pageEntries + 1, 2],
] as const;

/** A store, and the limits of the reads that it was asked for. */
async function watched() {
  const store = await openTestStore();
  const limits: number[] = [];
  const noting = <Answer>(limit: number, answer: Promise<Answer>): Promise<Answer> => {
    limits.push(limit);
    return answer;
  };
  const seen: Store = {
    ...new FailingStore(store).seen,
    scan: (space, range) => noting(range.limit, store.scan(space, range)),
    read: (log, range) => noting(range.limit, store.read(log, range)),
    trim: (log, upTo, limit) => noting(limit, store.trim(log, upTo, limit)),
  };
  return { store, seen, limits };
}

const entry = (number: number): Operation => ({ kind: 'append', log: 'leads', value: Buffer.of(number) });

/** Appends entries whose values are the low bytes of 1, 2, 3 … */
async function append(store: Store, count: number): Promise<void> {
  await store.commit(Array.from({ length: count }, (_, at) => entry((at + 1) & 255)));
}

async function positions(store: Store): Promise<number[]> {
  return (await collect(entriesAfter(store, 'leads', 0))).map(({ position }) => position);
}

const upTo = (count: number, from = 1): number[] =>
  Array.from({ length: count - from + 1 }, (_, at) => from + at);

describe('a log', () => {
  test('is read in pages of 500; a page that is not full is the last', async () => {
    for (const [count, reads] of pagesOf) {
      const { store, seen, limits } = await watched();
      await append(store, count);
      assert.deepEqual(await positions(seen), upTo(count));
      assert.deepEqual(limits, Array(reads).fill(pageEntries));
    }
  });

  test('is read with what is appended meanwhile', async () => {
    const { store, seen } = await watched();
    await append(store, pageEntries);
    const found: number[] = [];
    for await (const { position } of entriesAfter(seen, 'leads', 0)) {
      if (position === 1) await append(store, 2);
      found.push(position);
    }
    assert.deepEqual(found, upTo(pageEntries + 2));
  });

  test('gets an entry, or its appender gets an error', async () => {
    const { store } = await watched();
    await appendEntry(store, newUnitId(), 'leads', Buffer.of(7));
    assert.deepEqual(await positions(store), [1]);
    const refusing = {
      ...store,
      commit: () => Promise.resolve({ kind: 'refused', reason: 'fenced' } as const),
    };
    await assert.rejects(appendEntry(refusing, undefined, 'leads', Buffer.of(7)), /leads came to refused/);
  });

  test('loses old entries in steps of 500, and nothing else', async () => {
    for (const old of [0, 1, pageEntries - 1, pageEntries, pageEntries + 1]) {
      const { store, seen, limits } = await watched();
      await append(store, old + 1);
      // Ages by the order of entries: the last is young.
      let read = 0;
      const timeOf = (): number => (read += 1);
      assert.equal(await removeOldEntries(seen, 'leads', timeOf, old + 1, old + 1), old);
      assert.deepEqual(await positions(store), [old + 1]);
      assert.ok(limits.every((limit) => limit === 16 || limit === pageEntries));
    }
  });

  test('loses old entries behind those with a time in the future, of which it reads 10,000', async () => {
    const removedBehind = async (future: number): Promise<number> => {
      const store = await openTestStore();
      // In order: those in the future, one that is old, a young one.
      await append(store, future + 2);
      let read = 0;
      const timeOf = (): number => ((read += 1) <= future ? 100 : read === future + 1 ? 4 : 5);
      return removeOldEntries(store, 'leads', timeOf, 5, 99);
    };
    assert.equal(await removedBehind(0), 1);
    assert.equal(await removedBehind(1), 2);
    assert.equal(await removedBehind(10_000), 10_001);
    assert.equal(await removedBehind(10_001), 0);
  });

  test('is not written where nothing is old', async () => {
    const { store } = await watched();
    await append(store, 2);
    const trim = (): Promise<number> => assert.fail('trimmed');
    const seen: Store = { ...new FailingStore(store).seen, trim };
    for (const atMs of [5, undefined]) {
      assert.equal(await removeOldEntries(seen, 'leads', () => atMs, 5, 9), 0);
    }
  });

  test('counts as erased what this process erased', async () => {
    const { store } = await watched();
    await append(store, 3);
    const other = new FailingStore(store).seen;
    const erased = Buffer.of(0);
    let first = true;
    other.commit = async (operations, id) => {
      // Another process erases the same entry at this moment.
      if (first) await store.commit(operations);
      first = false;
      return store.commit(operations, id);
    };
    const count = await eraseEntries(other, 'leads', ([value]) => value !== 2, erased);
    assert.equal(count, 1);
    const left = (await collect(entriesAfter(store, 'leads', 0))).map(({ value }) => value[0]);
    assert.deepEqual(left, [0, 2, 0]);
  });
});

describe('a space', () => {
  const key = (at: number): Buffer => Buffer.from(`k${String(at).padStart(4, '0')}`);

  async function fill(store: Store, keys: readonly Uint8Array[]): Promise<void> {
    await store.commit(keys.map((each) => writeOver('state', each, undefined, Buffer.of(1))));
  }

  test('is read in pages of 500, also where the next key is one zero byte longer', async () => {
    for (const [count, reads] of pagesOf) {
      const { store, seen, limits } = await watched();
      const keys = upTo(count, 1).map(key);
      const longer = keys
        .slice(pageEntries - 1, pageEntries)
        .map((last) => Buffer.concat([last, Buffer.of(0)]));
      const all = [...keys.slice(0, pageEntries), ...longer, ...keys.slice(pageEntries)];
      await fill(store, all);
      assert.deepEqual(
        (await collect(recordsAfter(seen, 'state'))).map((each) => each.key),
        all,
      );
      assert.deepEqual(limits, Array(reads).fill(pageEntries));
    }
  });

  test('is read from after a key on', async () => {
    const { store } = await watched();
    const next = Buffer.concat([key(1), Buffer.of(0)]);
    const zero = Buffer.of(0);
    await fill(store, [zero, key(1), next, key(2)]);
    assert.equal((await collect(recordsAfter(store, 'state'))).length, 4, 'a zero byte is a key, too');
    const after = await collect(recordsAfter(store, 'state', key(1)));
    assert.deepEqual(
      after.map((each) => each.key),
      [next, key(2)],
    );
  });

  test('has a record under a key, or none', async () => {
    const { store } = await watched();
    await fill(store, [key(1)]);
    const find = (at: number) => findRecord(store, 'state', key(at), ([first]) => `read ${first ?? ''}`);
    assert.deepEqual([await find(1), await find(2)], ['read 1', undefined]);
  });

  test('is read under a prefix, without what is before or after it', async () => {
    const { store } = await watched();
    const keys = ['a', 'b', 'b:', 'b:1', 'b:\u007f', 'c'].map((text) => Buffer.from(text));
    await fill(store, keys);
    const under = await collect(recordsUnder(store, 'state', Buffer.from('b:')));
    assert.deepEqual(
      under.map((each) => each.key),
      keys.slice(2, 5),
    );
  });

  test('has a record overwritten only if it is what was read', async () => {
    const { store } = await watched();
    const [one, two] = [Buffer.of(1), Buffer.of(2)];
    const write = async (from: Uint8Array | undefined, value: Uint8Array): Promise<string> =>
      (await store.commit([writeOver('state', key(1), from, value)])).kind;
    assert.equal(await write(one, two), 'conflict');
    assert.equal(await write(undefined, one), 'done');
    assert.equal(await write(undefined, two), 'conflict');
    assert.equal(await write(two, two), 'conflict');
    assert.equal(await write(one, two), 'done');
    assert.deepEqual(await store.get('state', key(1)), two);
  });
});
