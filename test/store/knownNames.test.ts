/** Limits on all names together: what a put reads does not grow with what others have stored. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import {
  corpusObstacle,
  findCorpus,
  mostRemovedCorpora,
  putCorpus,
  removeCorpus,
  storeLearnt,
} from '../../src/store/tables/corpora.js';
import { knownNames } from '../../src/store/tables/knownNames.js';
import { ownedProfileLimits, putProfile, removeProfile } from '../../src/store/tables/profiles.js';
import type { Space } from '../../src/store/spaces.js';
import { StoreUnavailable, type Operation, type Store } from '../../src/store/store.js';
import { storeAt } from '../support/openStore.js';
import { openTestStore } from '../support/serving.js';
import { bothEngines } from './engines.js';

const KiB = 1_024;

test('a defect is not taken for a record that this version cannot read', async () => {
  const store = await openTestStore();
  await store.commit([{ kind: 'put', space: 'profiles', key: Buffer.from('a'), value: Buffer.of(1) }]);
  const known = knownNames({
    ...{ changes: 'profileChanges', space: 'profiles' },
    sizeOf: () => assert.fail('a defect'),
    limits: { owned: ownedProfileLimits, all: ownedProfileLimits },
    words: { one: 'profile', many: 'profiles', content: 'settings' },
  });
  await assert.rejects(known(store).overLimit('b', 1), /a defect/);
});

/** A process's view of a store, and how many records of names it has read. */
class Process {
  records = 0;
  /** Number of calls that read several records by their keys. */
  lists = 0;
  /** What happens before each of them, and before a record is read alone. */
  meanwhile: () => Promise<unknown> = () => Promise.resolve();
  /** The space whose next page is not answered. */
  awayIn: Space | undefined;
  /** Number of pages of what names have learned that are being read, and the most at once. */
  private samples = 0;
  mostSamples = 0;
  readonly store: Store;

  constructor(inner: Store) {
    const count = <Value>(space: Space, found: readonly Value[]): readonly Value[] => {
      if (space !== 'state') this.records += found.filter((each) => each !== undefined).length;
      return found;
    };
    this.store = {
      newUnitId: () => inner.newUnitId(),
      commit: (operations, id) => inner.commit(operations, id),
      get: async (space, key) => {
        if (space !== 'state') await this.meanwhile();
        return count(space, [await inner.get(space, key)])[0];
      },
      getMany: async (space, keys) => {
        this.lists += 1;
        await this.meanwhile();
        return count(space, await inner.getMany(space, keys));
      },
      scan: async (space, range) => {
        if (space === 'corpusLearning') await this.readSamples();
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

  /** Takes some turns of the event loop. */
  private async readSamples(): Promise<void> {
    this.samples += 1;
    this.mostSamples = Math.max(this.mostSamples, this.samples);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    this.samples -= 1;
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
const made = { docs: 1, averageLength: 1, terms: 1, terming: 'given', statistics: Buffer.of(1) };
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

    test('a name gets no version too many, though another process puts meanwhile', async (context) => {
      const inner = await opened(context);
      const process = new Process(inner);
      for (let at = 0; at < 63; at += 1) await putProfile(process.store, 'a', '{}', 1);
      await putProfile(process.store, 'b', '{}', 1);
      process.meanwhile = () => putProfile(inner, 'a', '{}', 1);
      const refused = await putProfile(process.store, 'a', '{}', 1);
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
      for (let at = 0; at < 64; at += 1) await inner.commit(written('corpora', `n${at}`, corpus(1)));
      const join = () =>
        Promise.resolve({ sample: Buffer.alloc(3), docs: 1, terming: 'ngram', frozen: undefined });
      for (let at = 0; at < 30; at += 1) await storeLearnt(inner, `l${at}`, join, 1);
      const process = new Process(inner);
      const put = (named: string) => (store: Store) => putCorpus(store, named, made, 1);
      await process.reading(put('a'));
      // Its own record twice, as known and as it is; and the records of learning.
      assert.deepEqual(await process.reading(put('a')), [32, { ok: true, version: 2 }]);
      assert.deepEqual(await process.reading((store) => corpusObstacle(store, 'a')), [2, undefined]);
      assert.deepEqual(await process.reading((store) => corpusObstacle(store, 'b')), [0, undefined]);
      await put('b')(process.store);
      assert.equal(process.lists, 0, 'none of them was removed');
    });

    /** A process over a store that has as many removed names as are not yet forgotten. */
    async function withRemoved(context: TestContext) {
      const inner = await opened(context);
      const put = (store: Store, named: string) => putCorpus(store, named, made, 1);
      for (let at = 0; at < mostRemovedCorpora; at += 1) {
        await put(inner, `n${at}`);
        await removeCorpus(inner, `n${at}`);
      }
      return { inner, process: new Process(inner), put };
    }

    test('removed names are looked up to be forgotten, and then no more', async (context) => {
      const { inner, process, put } = await withRemoved(context);
      assert.deepEqual(await put(process.store, 'a'), { ok: true, version: 2 });
      assert.equal((await inner.scan('corpora', { limit: 100 })).length, 1, 'all are forgotten');
      process.lists = 0;
      assert.deepEqual(await put(process.store, 'b'), { ok: true, version: 2 });
      assert.equal(process.lists, 0);
    });

    test('a removed name that another process puts meanwhile is not forgotten', async (context) => {
      const { inner, process, put } = await withRemoved(context);
      process.meanwhile = async () => {
        if (process.lists === 0) return;
        process.meanwhile = () => Promise.resolve();
        await put(inner, 'n0');
      };
      assert.deepEqual(await put(process.store, 'a'), { ok: true, version: 1 });
      assert.equal(process.lists, 1);
      assert.deepEqual(
        (await findCorpus(inner, 'n0'))?.versions.map(({ version }) => version),
        [2],
      );
      const records = await inner.scan('corpora', { limit: 100 });
      assert.equal(records.length, mostRemovedCorpora + 1, 'the others are too few to be forgotten');
    });

    test('a removed name that is there again is not looked up', async (context) => {
      const { inner, process, put } = await withRemoved(context);
      await corpusObstacle(process.store, 'a');
      await put(inner, 'n0');
      assert.deepEqual(await put(process.store, 'a'), { ok: true, version: 1 });
      assert.equal(process.lists, 0);
    });

    test('a record that this version cannot read counts with its bytes', async (context) => {
      const store = await opened(context);
      const ada = owner('ada');
      const value = Buffer.concat([Buffer.of(99), Buffer.alloc(KiB * KiB - 11)]);
      await store.commit([{ kind: 'put', space: 'profiles', key: Buffer.from(`${ada}/later`), value }]);
      const put = (bytes: number) => putProfile(store, `${ada}/a`, ' '.repeat(bytes), 1);
      assert.equal((await put(11)).ok, false);
      assert.equal((await put(10)).ok, true);
    });

    test('what names have learned is read by one call at a time: a later one knows more', async (context) => {
      const process = new Process(await opened(context));
      await Promise.all(['a', 'b', 'c'].map((named) => putCorpus(process.store, named, made, 1)));
      assert.equal(process.mostSamples, 1);
    });

    test('what a name has learned counts as it is now, however often it has grown', async (context) => {
      const inner = await opened(context);
      const process = new Process(inner);
      await inner.commit(written('corpora', 'n', corpus(128 * KiB * KiB - 100)));
      for (let bytes = 1; bytes <= 10; bytes += 1) {
        const sample = Buffer.alloc(bytes);
        const join = () => Promise.resolve({ sample, docs: 1, terming: 'ngram', frozen: undefined });
        assert.equal(await storeLearnt(inner, 'l', join, 1), 'stored');
        const statistics = Buffer.alloc(100 - bytes + 1);
        assert.equal((await putCorpus(process.store, 'a', { ...made, statistics }, 1)).ok, false);
      }
    });

    test('what a name has learned counts, until it is removed', async (context) => {
      const inner = await opened(context);
      const process = new Process(inner);
      const MiB = KiB * KiB;
      await inner.commit(written('corpora', 'n', corpus(128 * MiB - 10)));
      const join = () =>
        Promise.resolve({ sample: Buffer.alloc(9), docs: 1, terming: 'ngram', frozen: undefined });
      assert.equal(await storeLearnt(inner, 'l', join, 1), 'stored');
      const two = { ...made, statistics: Buffer.of(1, 2) };
      const put = () => putCorpus(process.store, 'a', two, 1);
      assert.equal((await put()).ok, false);
      await removeCorpus(inner, 'l');
      assert.equal(await corpusObstacle(process.store, 'a'), undefined);
      assert.equal((await put()).ok, true);
      // A refusal never rests on what was read before.
      await removeCorpus(inner, 'a');
      assert.equal(await storeLearnt(inner, 'l', join, 1), 'stored');
      assert.equal((await putCorpus(process.store, 'a', made, 1)).ok, true);
      assert.equal((await put()).ok, false);
      await inner.commit(written('corpora', 'n', corpus(128 * MiB - 9)));
      assert.match(String(await corpusObstacle(process.store, 'b')), /^The statistics of all names/);
      await removeCorpus(inner, 'l');
      assert.equal(await corpusObstacle(process.store, 'b'), undefined);
    });
  });
}
