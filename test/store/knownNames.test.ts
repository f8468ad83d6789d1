/** Limits on all names together: what a put reads does not grow with what others have stored. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import { corpusObstacle, putCorpus, removeCorpus, storeLearnt } from '../../src/store/tables/corpora.js';
import { ownedProfileLimits, putProfile, removeProfile } from '../../src/store/tables/profiles.js';
import type { Space } from '../../src/store/spaces.js';
import { StoreUnavailable, type Operation, type Store } from '../../src/store/store.js';
import { storeAt } from '../support/openStore.js';
import { bothEngines } from './engines.js';

const KiB = 1_024;

/** A process's view of a store, and how many records of names it has read. */
class Process {
  records = 0;
  /** The space whose next page is not answered. */
  awayIn: Space | undefined;
  readonly store: Store;

  constructor(inner: Store) {
    const count = <Value>(space: Space, found: readonly Value[]): readonly Value[] => {
      if (space !== 'state') this.records += found.filter((each) => each !== undefined).length;
      return found;
    };
    this.store = {
      newUnitId: () => inner.newUnitId(),
      commit: (operations, id) => inner.commit(operations, id),
      get: async (space, key) => count(space, [await inner.get(space, key)])[0],
      getMany: async (space, keys) => count(space, await inner.getMany(space, keys)),
      scan: async (space, range) => {
        const found = count(space, await inner.scan(space, range));
        // The first page is read, so that a part is known.
        if (this.awayIn === space && found.length < range.limit) throw new StoreUnavailable('away');
        return found;
      },
      read: (log, range) => inner.read(log, range),
      last: (log) => inner.last(log),
      trim: (log, upTo, limit) => inner.trim(log, upTo, limit),
      prune: (space, before, limit) => inner.prune(space, before, limit),
      probe: () => inner.probe(),
      close: () => inner.close(),
    };
  }

  /** The number of records that a step reads, and its answer. */
  async reading<Value>(step: (store: Store) => Promise<Value>): Promise<readonly [number, Value]> {
    this.records = 0;
    const answer = await step(this.store);
    return [this.records, answer];
  }
}

const owner = (who: string): string => createHash('sha256').update(who).digest('hex').slice(0, 32);

/** A record as older versions wrote it, too, and its name in the log. */
function written(space: 'profiles' | 'corpora', name: string, members: object): readonly Operation[] {
  const value = Buffer.from(`\u0001${JSON.stringify({ name, ...members })}`);
  const log = space === 'profiles' ? 'profileChanges' : 'corpusChanges';
  const key = Buffer.from(name);
  return [
    { kind: 'put', space, key, value },
    { kind: 'append', log, value: key },
  ];
}

const profile = (bytes: number) => ({ versions: [[1, 'x'.repeat(bytes), 1]] });
const corpus = (bytes: number) => ({ last_version: 1, versions: [[1, 1, 1, 1, bytes, 'given', 1]] });

for (const { name, skip, fresh } of bothEngines()) {
  describe(`limits on all names, on ${name}`, { skip }, () => {
    const opened = async (context: TestContext): Promise<Store> => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      return store;
    };

    test('a profile is put, or refused, without a look at the others', async (context) => {
      const inner = await opened(context);
      const ada = owner('ada');
      await inner.commit(written('profiles', `${ada}/large`, profile(KiB * KiB - 64)));
      for (let at = 0; at < 30; at += 1) await inner.commit(written('profiles', `n${at}`, profile(9)));
      const process = new Process(inner);
      const put = (named: string, settings = '{}') =>
        process.reading((store) => putProfile(store, `${ada}/${named}`, settings, 1));
      // 64 bytes are left. The first put of a process reads them all.
      const [first] = await put('a');
      assert.equal(first, 31);
      const [next, made] = await put('a');
      assert.deepEqual(
        [next, made],
        [2, { ok: true, version: 2 }],
        'the one that was put, as known and as it is',
      );
      assert.equal((await put('a'))[0], 2);
      const [full, refused] = await put('b', ' '.repeat(59));
      assert.ok(
        !refused.ok && refused.detail.startsWith('The settings of all profiles would have more than 1048576'),
      );
      assert.equal(full, 1, 'the one that was put before');
      assert.equal((await put('b', ' '.repeat(59)))[0], 0);
      assert.deepEqual((await put('b', ' '.repeat(58)))[1], { ok: true, version: 1 }, 'to the byte');
    });

    test('a name with all its versions is refused without a look at them', async (context) => {
      const process = new Process(await opened(context));
      for (let at = 0; at < 64; at += 1) await putProfile(process.store, 'a', '{}', 1);
      await putProfile(process.store, 'a', '{}', 1);
      const [records, refused] = await process.reading((store) => putProfile(store, 'a', '{}', 1));
      assert.equal(records, 0);
      assert.match(refused.ok ? '' : refused.detail, /^The profile has 64 versions/);
    });

    test('what other processes put and remove counts with the next put', async (context) => {
      const inner = await opened(context);
      const [one, other] = [new Process(inner), new Process(inner)];
      const ada = owner('ada');
      const put = ({ store }: Process, at: number) => putProfile(store, `${ada}/n${at}`, '{}', 1);
      await put(one, 0);
      await put(other, 1);
      for (let at = 2; at < ownedProfileLimits.names; at += 1) await put(at % 2 === 0 ? one : other, at);
      for (const each of [one, other]) assert.equal((await put(each, 99)).ok, false);
      await removeProfile(one.store, `${ada}/n1`);
      assert.equal((await put(other, 99)).ok, true);
      for (const each of [one, other]) assert.equal((await put(each, 98)).ok, false);
    });

    test('a first look that the store did not finish misses no removal', async (context) => {
      const inner = await opened(context);
      const [a, b] = [`${owner('ada')}/a`, `${owner('ada')}/b`];
      await inner.commit(written('profiles', a, profile(KiB * KiB - 10)));
      for (let at = 0; at < 20; at += 1) await inner.commit(written('profiles', `n${at}`, profile(0)));
      const process = new Process(inner);
      process.awayIn = 'profiles';
      await assert.rejects(putProfile(process.store, b, ' '.repeat(20), 1), StoreUnavailable);
      await removeProfile(inner, a);
      process.awayIn = undefined;
      assert.equal((await putProfile(process.store, b, ' '.repeat(20), 1)).ok, true);
    });

    test('statistics are put without a look at the versions of others', async (context) => {
      const inner = await opened(context);
      for (let at = 0; at < 60; at += 1) await inner.commit(written('corpora', `n${at}`, corpus(1)));
      const join = () =>
        Promise.resolve({ sample: Buffer.alloc(3), docs: 1, terming: 'ngram', frozen: undefined });
      for (let at = 0; at < 30; at += 1) await storeLearnt(inner, `l${at}`, join, 1);
      const process = new Process(inner);
      const made = { docs: 1, averageLength: 1, terms: 1, terming: 'given', statistics: Buffer.of(1) };
      const put = (named: string) => (store: Store) => putCorpus(store, named, made, 1);
      await process.reading(put('a'));
      // Its own record twice, as known and as it is; and the records of learning.
      assert.deepEqual(await process.reading(put('a')), [32, { ok: true, version: 2 }]);
      assert.deepEqual(await process.reading((store) => corpusObstacle(store, 'a')), [2, undefined]);
      assert.deepEqual(await process.reading((store) => corpusObstacle(store, 'b')), [0, undefined]);
    });

    test('what a name has learned counts, until it is removed', async (context) => {
      const inner = await opened(context);
      const process = new Process(inner);
      const MiB = KiB * KiB;
      await inner.commit(written('corpora', 'n', corpus(128 * MiB - 10)));
      const join = () =>
        Promise.resolve({ sample: Buffer.alloc(9), docs: 1, terming: 'ngram', frozen: undefined });
      assert.equal(await storeLearnt(inner, 'l', join, 1), 'stored');
      const made = { docs: 1, averageLength: 1, terms: 1, terming: 'given', statistics: Buffer.of(1, 2) };
      const put = () => putCorpus(process.store, 'a', made, 1);
      assert.equal((await put()).ok, false);
      await removeCorpus(inner, 'l');
      assert.equal(await corpusObstacle(process.store, 'a'), undefined);
      assert.equal((await put()).ok, true);
      // A refusal never rests on what was read before.
      await removeCorpus(inner, 'a');
      assert.equal(await storeLearnt(inner, 'l', join, 1), 'stored');
      const one = { ...made, statistics: Buffer.of(1) };
      assert.equal((await putCorpus(process.store, 'a', one, 1)).ok, true);
      assert.equal((await put()).ok, false);
      await inner.commit(written('corpora', 'n', corpus(128 * MiB - 9)));
      assert.match(String(await corpusObstacle(process.store, 'b')), /^The statistics of all names/);
      await removeCorpus(inner, 'l');
      assert.equal(await corpusObstacle(process.store, 'b'), undefined);
    });
  });
}
