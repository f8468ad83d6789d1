/** What the store's contract promises, as tests that every engine passes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Log, Space } from '../../src/store/spaces.js';
import {
  maxKeyBytes,
  maxUnitBytes,
  maxValueBytes,
  type LogEntry,
  type Operation,
  type Outcome,
  type Store,
} from '../../src/store/store.js';
import { firstUnitIdOf } from '../../src/store/unitId.js';
import { run } from '../support/run.js';
import { addOne } from './counter.js';
import { leaseConformance } from './leaseConformance.js';
import { modelConformance } from './modelConformance.js';
import { newUnitId, storeAt } from '../support/openStore.js';
import { bytes, commit, commitLarge, opened, patiently, type Subject } from './subject.js';

const peerProgram = fileURLToPath(new URL('peer.js', import.meta.url));

async function text(store: Store, space: Space, key: string): Promise<string | undefined> {
  return (await store.get(space, bytes(key)))?.toString();
}

async function entries(store: Store, log: Log): Promise<readonly LogEntry[]> {
  return await store.read(log, { after: 0, limit: 100_000 });
}

const done = (...positions: number[]): Outcome => ({ kind: 'done', positions });

const insert = (key: string, value: string): Operation => ({
  kind: 'insert',
  space: 'keys',
  key: bytes(key),
  value: bytes(value),
});

const replace = (key: string, from: string, to: string | undefined): Operation => ({
  kind: 'replace',
  space: 'keys',
  key: bytes(key),
  from: bytes(from),
  to: to === undefined ? undefined : bytes(to),
});

const append = (value: string, log: Log = 'leads'): Operation => ({
  kind: 'append',
  log,
  value: bytes(value),
});

const amend = (position: number, from: string, to: string | undefined): Operation => ({
  kind: 'amend',
  log: 'leads',
  position,
  from: bytes(from),
  to: to === undefined ? undefined : bytes(to),
});

/** Runs every test of the contract on an engine. */
export function conformance(subject: Subject): void {
  describe(`the store's contract on ${subject.name}`, { skip: subject.skip }, () => {
    operationTests(subject);
    lookUpTests(subject);
    limitTests(subject);
    unitTests(subject);
    rangeTests(subject);
    concurrencyTests(subject);
    processTests(subject);
    leaseConformance(subject);
    modelConformance(subject);
  });
}

function operationTests(subject: Subject): void {
  test('insert, replace and put do what they say and tell what is there', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    assert.deepEqual(await commit(store, insert('a', '1')), done());
    assert.deepEqual(await commit(store, insert('a', '2')), {
      kind: 'conflict',
      operation: 0,
      record: bytes('1'),
    });
    assert.deepEqual(await commit(store, replace('a', '1', '2')), done());
    const stale = await commit(store, replace('a', '1', '3'));
    assert.deepEqual(stale, { kind: 'conflict', operation: 0, record: bytes('2') });
    const absent = await commit(store, replace('b', '', '3'));
    assert.deepEqual(absent, { kind: 'conflict', operation: 0, record: undefined });
    assert.deepEqual(await commit(store, replace('a', '2', undefined)), done());
    assert.equal(await text(store, 'keys', 'a'), undefined);
    const put = { kind: 'put', space: 'keys', key: bytes('a') } as const;
    assert.deepEqual(
      await commit(store, { ...put, value: bytes('4') }, { ...put, value: bytes('5') }),
      done(),
    );
    assert.equal(await text(store, 'keys', 'a'), '5');
    assert.equal(await text(store, 'keysById', 'a'), undefined, 'spaces are apart');
  });

  test('append numbers each log from 1; amend changes an entry and keeps its position', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    assert.equal(await store.last('leads'), 0);
    assert.deepEqual(await commit(store, append('a'), append('b'), append('x', 'clicks')), done(1, 2, 1));
    assert.deepEqual(await commit(store, append('c')), done(3));
    assert.deepEqual(await commit(store, amend(2, 'b', '')), done());
    assert.deepEqual(await commit(store, amend(3, 'c', undefined)), done());
    assert.deepEqual(await commit(store, amend(3, 'c', 'd')), {
      kind: 'conflict',
      operation: 0,
      record: undefined,
    });
    assert.deepEqual(await commit(store, append('e')), done(4));
    assert.deepEqual(await entries(store, 'leads'), [
      { position: 1, value: bytes('a') },
      { position: 2, value: bytes('') },
      { position: 4, value: bytes('e') },
    ]);
    assert.equal(await store.last('leads'), 4);
    const page = await store.read('leads', { after: 1, limit: 1 });
    assert.deepEqual(page, [{ position: 2, value: bytes('') }]);
    assert.deepEqual(await store.read('leads', { after: 4, limit: 9 }), []);
  });
}

function lookUpTests(subject: Subject): void {
  test('many records are read by their keys, in the order of the keys', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    assert.deepEqual(await store.getMany('keys', []), []);
    // More than any engine looks up together; every third is absent.
    const names = Array.from({ length: 1_203 }, (_, at) => `k${(at * 7) % 1_203}`);
    const isThere = (name: string): boolean => Number(name.slice(1)) % 3 !== 0;
    const value = (name: string): Buffer | undefined => (isThere(name) ? bytes(`of ${name}`) : undefined);
    assert.deepEqual(
      await commit(store, ...names.filter(isThere).map((name) => insert(name, `of ${name}`))),
      done(),
    );
    assert.deepEqual(await store.getMany('keys', names.map(bytes)), names.map(value));
    const twice = ['k1', 'k0', 'k1'].map(bytes);
    assert.deepEqual(await store.getMany('keys', twice), [value('k1'), undefined, value('k1')]);
    assert.deepEqual(
      await store.getMany('keysById', twice),
      [undefined, undefined, undefined],
      'spaces are apart',
    );
    await commit(store, { kind: 'put', space: 'keys', key: bytes('empty'), value: bytes('') });
    const binary = Buffer.from(Array.from({ length: 254 }, (_, byte) => byte));
    await commit(store, { kind: 'put', space: 'keys', key: binary, value: binary });
    assert.deepEqual(await store.getMany('keys', [binary, bytes('empty')]), [binary, bytes('')]);
    await assert.rejects(async () => store.getMany('keys', [bytes('k1'), bytes('')]), /A key of 0 bytes/);
  });
}

function limitTests(subject: Subject): void {
  test('keys and values have limits, beyond which a write throws', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    const put = (key: Buffer, value: Buffer): Operation => ({ kind: 'put', space: 'optouts', key, value });
    const [key, value] = [Buffer.alloc(maxKeyBytes, 255), Buffer.alloc(maxValueBytes, 7)];
    assert.deepEqual(await commitLarge(store, put(key, value)), done());
    const large = await patiently(() => store.get('optouts', key));
    assert.equal(Buffer.compare(large ?? bytes(''), value), 0);
    assert.deepEqual(await commit(store, put(bytes('k'), bytes(''))), done());
    assert.equal(await text(store, 'optouts', 'k'), '');
    const binary = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    assert.deepEqual(await commit(store, put(bytes("\\'\0"), binary)), done());
    assert.deepEqual(await store.get('optouts', bytes("\\'\0")), binary);
    const wrong = async (...operations: Operation[]): Promise<unknown> => commit(store, ...operations);
    await assert.rejects(wrong(put(Buffer.alloc(maxKeyBytes + 1), bytes(''))), /A key of 255 bytes/);
    await assert.rejects(wrong(put(bytes(''), bytes(''))), /A key of 0 bytes/);
    await assert.rejects(wrong(put(bytes('k'), Buffer.alloc(maxValueBytes + 1))), /A value of/);
    const most = Array.from({ length: maxUnitBytes / maxValueBytes }, () => put(bytes('k'), value));
    await assert.rejects(wrong(...most, put(bytes('k'), bytes('1'))), /A unit of/);
    const [empty, tooLong] = [bytes(''), Buffer.alloc(maxValueBytes + 1)];
    const other = { kind: 'replace', space: 'optouts', key: bytes('k') } as const;
    await assert.rejects(wrong({ ...other, from: empty, to: tooLong }), /A value of/);
    await assert.rejects(wrong({ ...other, from: tooLong, to: empty }, ...most), /A unit of/);
    assert.equal(await text(store, 'optouts', 'k'), '');
  });

  test('what was written is there after reopening, and probe says that units can be committed', async () => {
    const url = await subject.fresh();
    const store = await storeAt(url);
    const units = Array.from({ length: 20 }, (_, index) => commit(store, append(`${index}`)));
    const closed = store.close();
    assert.deepEqual(
      (await Promise.all(units)).map(({ kind }) => kind),
      units.map(() => 'done'),
    );
    await closed;
    const again = await storeAt(url);
    assert.equal((await entries(again, 'leads')).length, 20);
    await assert.doesNotReject(again.probe());
    await again.close();
  });
}

function unitTests(subject: Subject): void {
  test('a conflict in the middle of a unit undoes all of it', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    await commit(store, insert('a', '1'));
    const outcome = await commit(store, append('x'), insert('b', '1'), insert('a', '2'), append('y'));
    assert.deepEqual(outcome, { kind: 'conflict', operation: 2, record: bytes('1') });
    assert.equal(await text(store, 'keys', 'b'), undefined);
    assert.equal(await store.last('leads'), 0);
  });

  test('steps of a unit see those before them', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    const outcome = await commit(
      store,
      ...[insert('a', '1'), replace('a', '1', '2'), replace('a', '2', undefined), insert('a', '3')],
      ...[append('x'), amend(1, 'x', 'y')],
    );
    assert.deepEqual(outcome, done(1));
    assert.equal(await text(store, 'keys', 'a'), '3');
    assert.deepEqual(await entries(store, 'leads'), [{ position: 1, value: bytes('y') }]);
  });

  test('a retry of a unit gets its first outcome, whatever happened since', async (context) => {
    const url = await subject.fresh();
    const [one, other] = [await opened(context, subject, url), await opened(context, subject, url)];
    const unit = { id: newUnitId(), operations: [insert('a', '1'), append('x'), append('y')] };
    assert.deepEqual(await one.commit(unit.operations, unit.id), done(1, 2));
    await commit(other, replace('a', '1', '2'), append('z'));
    assert.deepEqual(await other.commit(unit.operations, unit.id), done(1, 2));
    assert.deepEqual(
      await Promise.all([one.commit(unit.operations, unit.id), other.commit(unit.operations, unit.id)]),
      [done(1, 2), done(1, 2)],
    );
    assert.equal(await text(one, 'keys', 'a'), '2');
    assert.equal(await one.last('leads'), 3);
  });

  test('one unit sent by many at once takes effect once', async (context) => {
    const url = await subject.fresh();
    const stores = [await opened(context, subject, url), await opened(context, subject, url)];
    const unit = { id: newUnitId(), operations: [append('x')] };
    const outcomes = await Promise.all(
      [...stores, ...stores, ...stores].map((store) => store.commit(unit.operations, unit.id)),
    );
    assert.deepEqual(
      outcomes,
      Array.from({ length: 6 }, () => done(1)),
    );
  });

  test('a unit that conflicted took no effect and may succeed later', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    await commit(store, insert('a', '1'));
    const unit = { id: newUnitId(), operations: [insert('a', '2'), append('x')] };
    assert.equal((await store.commit(unit.operations, unit.id)).kind, 'conflict');
    await commit(store, replace('a', '1', undefined));
    assert.deepEqual(await store.commit(unit.operations, unit.id), done(1));
  });
}

function rangeTests(subject: Subject): void {
  test('scan returns keys in the order of their bytes, within the given bounds', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    const keys = ['00', '0000', '00ff', '01', '7f', '80', '80ff', 'c3a9', 'fe', 'ff', 'ff00', 'ffff'];
    const shuffled = keys.toSorted((left, right) => left.slice(-1).localeCompare(right.slice(-1)));
    for (const space of ['usage', 'keys'] as const) {
      const puts = shuffled.map(
        (key) => ({ kind: 'put', space, key: Buffer.from(key, 'hex'), value: bytes(key) }) as const,
      );
      await commit(store, ...puts);
    }
    const scan = async (from?: string, to?: string, limit = 100): Promise<string[]> => {
      const range = {
        limit,
        ...(from === undefined ? {} : { from: Buffer.from(from, 'hex') }),
        ...(to === undefined ? {} : { to: Buffer.from(to, 'hex') }),
      };
      const found = await store.scan('usage', range);
      for (const { key, value } of found)
        assert.equal(Buffer.from(key).toString('hex'), Buffer.from(value).toString());
      return found.map(({ value }) => Buffer.from(value).toString());
    };
    assert.deepEqual(await scan(), keys);
    assert.deepEqual(await scan('', undefined, 3), keys.slice(0, 3));
    assert.deepEqual(await scan('80', 'ff'), ['80', '80ff', 'c3a9', 'fe']);
    assert.deepEqual(await scan('8000', 'ff00', 2), ['80ff', 'c3a9']);
    assert.deepEqual(await scan('ff01'), ['ffff']);
    assert.deepEqual(await scan('80', '80'), []);
    assert.deepEqual(await scan('81', '80'), []);
  });

  test('trim removes entries up to a position in steps; positions go on', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    await commit(
      store,
      ...Array.from({ length: 10 }, (_, index) => append(`${index + 1}`)),
      append('x', 'clicks'),
    );
    assert.equal(await store.trim('leads', 7, 4), 4);
    assert.equal(await store.trim('leads', 7, 4), 3);
    assert.equal(await store.trim('leads', 7, 4), 0);
    assert.deepEqual(
      (await entries(store, 'leads')).map(({ position }) => position),
      [8, 9, 10],
    );
    assert.equal(await store.trim('leads', 99, 99), 3);
    assert.equal(await store.last('leads'), 10);
    assert.deepEqual(await commit(store, append('y')), done(11));
    assert.equal((await entries(store, 'clicks')).length, 1);
  });

  test('prune removes records before a key; outcomes older than it are forgotten', async (context) => {
    const store = await opened(context, subject, await subject.fresh());
    const old = { id: firstUnitIdOf(1_000), operations: [append('x')] };
    assert.deepEqual(await store.commit(old.operations, old.id), done(1));
    const recent = { id: newUnitId(), operations: [append('y')] };
    assert.deepEqual(await store.commit(recent.operations, recent.id), done(2));
    assert.equal(await store.prune('units', firstUnitIdOf(1_000), 10), 0);
    assert.equal(await store.prune('units', firstUnitIdOf(1_001), 10), 1);
    assert.deepEqual(await store.commit(old.operations, old.id), done(3));
    assert.deepEqual(await store.commit(recent.operations, recent.id), done(2));
  });
}

function concurrencyTests(subject: Subject): void {
  test('of 64 writers of one key one wins, and the others learn what it wrote', async (context) => {
    const url = await subject.fresh();
    const stores = [await opened(context, subject, url), await opened(context, subject, url)] as const;
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        commit(stores[index % 2 === 0 ? 0 : 1], insert('key', `${index}`)),
      ),
    );
    const winners = outcomes.flatMap(({ kind }, index) => (kind === 'done' ? [index] : []));
    assert.equal(winners.length, 1);
    for (const outcome of outcomes) {
      if (outcome.kind !== 'done') {
        assert.deepEqual(outcome, { kind: 'conflict', operation: 0, record: bytes(`${winners[0]}`) });
      }
    }
  });

  test('counters by compare-and-set lose no increment', async (context) => {
    const url = await subject.fresh();
    const stores = [await opened(context, subject, url), await opened(context, subject, url)];
    const writers = [...stores, ...stores, ...stores, ...stores].map(async (store) => {
      for (let count = 0; count < 20; count += 1) await addOne(store, 'counter');
    });
    await Promise.all(writers);
    assert.equal(await text(stores[0] as Store, 'usage', 'counter'), '160');
  });

  test('a reader with a cursor sees every position once, in order, while others write', async (context) => {
    const url = await subject.fresh();
    const [one, other] = [await opened(context, subject, url), await opened(context, subject, url)];
    const phase = { writing: true };
    const reader = (async () => {
      const seen: number[] = [];
      for (;;) {
        const last = !phase.writing;
        const page = await other.read('leads', { after: seen.at(-1) ?? 0, limit: 7 });
        seen.push(...page.map(({ position }) => position));
        if (last && page.length === 0) return seen;
        await nextTurn();
      }
    })();
    const writers = Array.from({ length: 8 }, async (_, index) => {
      for (let count = 0; count < 25; count += 1) await commit(index % 2 === 0 ? one : other, append('x'));
    });
    await Promise.all(writers);
    phase.writing = false;
    assert.deepEqual(
      await reader,
      Array.from({ length: 200 }, (_, index) => index + 1),
    );
  });

  test('what is acknowledged is seen by every store at once', async (context) => {
    const url = await subject.fresh();
    const [one, other] = [await opened(context, subject, url), await opened(context, subject, url)];
    for (let count = 0; count < 20; count += 1) {
      await commit(one, insert(`${count}`, 'x'));
      assert.equal(await text(other, 'keys', `${count}`), 'x');
    }
  });
}

function processTests(subject: Subject): void {
  test('several processes: no increment is lost, positions have no gap and no repeat', async (context) => {
    const url = await subject.fresh();
    const store = await opened(context, subject, url);
    const jobs = ['increment', 'increment', 'append', 'append'] as const;
    const peers = jobs.map((job) => run(peerProgram, [url, job, '40'], {}));
    for (const peer of peers) assert.deepEqual(await peer.ended(), { code: 0, signal: null }, peer.output);
    assert.equal(await text(store, 'usage', 'counter'), '80');
    const written = await entries(store, 'leads');
    assert.deepEqual(
      written.map(({ position }) => position),
      Array.from({ length: 80 }, (_, index) => index + 1),
    );
    const told = peers.flatMap(({ output }) => [...output.matchAll(/^at (\d+) (.+)$/gm)]);
    const byPosition = new Map(told.map(([, position, value]) => [Number(position), value]));
    assert.equal(byPosition.size, 80);
    for (const { position, value } of written)
      assert.equal(byPosition.get(position), Buffer.from(value).toString());
  });

  test('readers do not wait for a writer of another process', async (context) => {
    const url = await subject.fresh();
    const store = await opened(context, subject, url);
    await commit(store, { kind: 'put', space: 'usage', key: bytes('held'), value: bytes('before') });
    const peer = run(peerProgram, [url, 'hold', '1500'], {});
    await peer.prints(/holding/);
    assert.equal(await text(store, 'usage', 'held'), 'before');
    assert.equal((await store.scan('usage', { limit: 9 })).length, 1);
    assert.doesNotMatch(peer.output, /released/);
    assert.equal((await peer.ended()).code, 0);
    assert.equal(await text(store, 'usage', 'held'), 'after');
  });
}
