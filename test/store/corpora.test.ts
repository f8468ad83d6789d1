/** Named statistics in the store, on every engine: versions, limits, and processes that follow them. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { followCorpora } from '../../src/corpora/follower.js';
import { native } from '../../src/native/addon.js';
import type { Corpora } from '../../src/native/index.js';
import { fuseHandler } from '../../src/search/fuse.js';
import {
  allCorpora,
  findCorpus,
  findStatistics,
  mostCorpusVersions,
  mostRemovedCorpora,
  ownedCorpusLimits,
  putCorpus,
  removeCorpus,
  storeLearnt,
} from '../../src/store/tables/corpora.js';
import { isStoredName } from '../../src/store/tables/names.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { answered, requestWith, staticMode } from '../support/embedding.js';
import { bothEngines } from './engines.js';
import { storeAt } from '../support/openStore.js';

const key = Buffer.from('0123456789abcdef');
/** Statistics in which one doc has each word, and all docs the rest. */
async function statisticsOf(docs: number, rare: string) {
  const given = { docs, average_length: 3, df: { [rare]: 1 } };
  const { bytes, terms } = await native.freezeCorpus(Buffer.from(JSON.stringify(given)), key);
  return { statistics: bytes, docs, averageLength: 3, terms, terming: 'given' };
}

async function put(store: Store, name: string, docs = 9, rare = 'boots') {
  const outcome = await putCorpus(store, name, await statisticsOf(docs, rare), 1_000);
  return outcome.ok ? outcome.version : outcome.detail;
}

/** A process that follows a store. */
async function following(store: Store) {
  const corpora: Corpora = new native.Corpora(key);
  const faults: object[] = [];
  const follower = followCorpora({
    store,
    corpora,
    clock: { every: () => ({ stop: () => undefined }) },
    log: { error: (fields: object) => void faults.push(fields) },
  });
  await follower.start();
  const handler = fuseHandler({ ...native, embedMode: staticMode(corpora) });
  const ask = async (corpus: object): Promise<string> => {
    const docs = ['hiking boots', 'boots boots', 'hiking shoes'].map((text, at) => {
      return { id: `${at}`, text, dense_score: 0 };
    });
    const request = { query: 'hiking boots', docs, explain: true, corpus };
    const answer = await handler(requestWith(Buffer.from(JSON.stringify(request))));
    return `${answer.status} ${JSON.stringify(answered(answer))}`;
  };
  return { corpora, follower, faults, ask };
}

for (const { name, skip, fresh } of bothEngines()) {
  describe(`named statistics on ${name}`, { skip }, () => {
    test('a version never changes, and its number is never used again', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      assert.deepEqual([await put(store, 'shop', 1), await put(store, 'shop', 2)], [1, 2]);
      const first = await findStatistics(store, 'shop', 1);
      const record = await findCorpus(store, 'shop');
      assert.deepEqual(
        record?.versions.map(({ version, docs }) => [version, docs]),
        [
          [1, 1],
          [2, 2],
        ],
      );
      assert.equal(await removeCorpus(store, 'shop'), true);
      assert.equal(await removeCorpus(store, 'shop'), false);
      assert.deepEqual(
        [await findCorpus(store, 'shop'), await findStatistics(store, 'shop', 2), await allCorpora(store)],
        [undefined, undefined, []],
      );
      assert.equal(await put(store, 'shop', 1), 3);
      assert.deepEqual(await findStatistics(store, 'shop', 3), first);
      assert.equal(await put(store, 'shop.b'), 1);
      assert.deepEqual(
        (await allCorpora(store)).map((each) => each.name),
        ['shop', 'shop.b'],
      );
    });

    test('what a failed removal leaves goes with the next, or with the name', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      const numbers = async (): Promise<(number | undefined)[]> =>
        (await store.scan('corpusVersions', { limit: 100 })).map(({ key: name }) => name.at(-1));
      /** Removes a name; the store answers no more once it is gone, and one of its versions. */
      const removedInPart = async (name: string): Promise<void> => {
        const commit = store.commit.bind(store);
        const failing = context.mock.method(store, 'commit', (...unit: Parameters<Store['commit']>) =>
          failing.mock.callCount() < 2 ? commit(...unit) : Promise.reject(new StoreUnavailable('away')),
        );
        await assert.rejects(removeCorpus(store, name), StoreUnavailable);
        failing.mock.restore();
        assert.equal(await findCorpus(store, name), undefined);
      };
      for (let version = 1; version <= 3; version += 1) assert.equal(await put(store, 'shop'), version);
      await removedInPart('shop');
      assert.deepEqual(await numbers(), [2, 3]);
      assert.equal(await put(store, 'shop'), 4);
      assert.equal(await removeCorpus(store, 'shop'), true);
      assert.deepEqual(await numbers(), []);

      assert.deepEqual([await put(store, 'shop'), await put(store, 'shop')], [5, 6]);
      await removedInPart('shop');
      assert.deepEqual(await numbers(), [6]);
      assert.equal(await removeCorpus(store, 'shop'), false, 'it is gone already');
      assert.deepEqual(await numbers(), []);

      assert.deepEqual([await put(store, 'shop'), await put(store, 'shop')], [7, 8]);
      await removedInPart('shop');
      assert.deepEqual(await numbers(), [8]);
      for (let at = 1; at < mostRemovedCorpora; at += 1) {
        await put(store, `n${at}`);
        await removeCorpus(store, `n${at}`);
      }
      assert.equal(await put(store, 'new'), 9, 'the removed names are forgotten');
      assert.deepEqual(await numbers(), [9]);
    });

    test('of several at once each gets a number of its own', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      const numbers = await Promise.all(Array.from({ length: 8 }, (_, at) => put(store, 'shop', at + 1)));
      assert.deepEqual([...numbers].sort(), [1, 2, 3, 4, 5, 6, 7, 8]);
    });

    test('an owner has a limited number of names, and a name of versions', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      const owner = createHash('sha256').update('key').digest('hex').slice(0, 32);
      const { names } = ownedCorpusLimits;
      for (let at = 0; at < names; at += 1) assert.equal(await put(store, `${owner}/n${at}`), 1);
      assert.match(String(await put(store, `${owner}/more`)), /^There are 8 names/);
      assert.equal(await put(store, `${owner}/n0`), 2);
      assert.equal(await put(store, 'everybody'), 1);
      for (let version = 2; version <= mostCorpusVersions; version += 1) await put(store, 'everybody');
      assert.match(String(await put(store, 'everybody')), /16 versions/);
      const big = { ...(await statisticsOf(1, 'a')), statistics: Buffer.alloc(9_000_000) };
      assert.equal((await putCorpus(store, `${owner}/n1`, big, 0)).ok, true);
      const over = await putCorpus(store, `${owner}/n1`, big, 0);
      assert.match(over.ok ? '' : over.detail, /more than 16777216 bytes/);
    });

    test('many removed names leave few records, and no number is used again', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      assert.deepEqual(
        [await put(store, 'shop'), await put(store, 'shop'), await put(store, 'kept')],
        [1, 2, 1],
      );
      await removeCorpus(store, 'shop');
      const records = async () => (await store.scan('corpora', { limit: 1_000 })).length;
      for (let at = 1; at < mostRemovedCorpora; at += 1) {
        assert.equal(await put(store, `n${at}`), 1);
        await removeCorpus(store, `n${at}`);
      }
      assert.equal(await records(), mostRemovedCorpora + 1);
      assert.equal(await put(store, 'new'), 3, 'after every number that was forgotten');
      assert.equal(await records(), 2);
      assert.deepEqual(
        [await put(store, 'shop'), await put(store, 'n1'), await put(store, 'kept')],
        [3, 3, 2],
      );
      assert.deepEqual(
        (await allCorpora(store)).map((each) => each.name),
        ['kept', 'n1', 'new', 'shop'],
      );
    });

    test('removed names that were learnt leave few records, too', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      const { terming, ...frozen } = await statisticsOf(64, 'boots');
      const learn = (name: string) =>
        storeLearnt(
          store,
          name,
          () => Promise.resolve({ sample: Buffer.of(1), docs: 64, terming, frozen }),
          1_000,
        );
      const records = async () => (await store.scan('corpora', { limit: 1_000 })).length;
      for (let at = 0; at < mostRemovedCorpora; at += 1) {
        assert.equal(await learn(`n${at}`), 'stored');
        await removeCorpus(store, `n${at}`);
      }
      assert.equal(await records(), mostRemovedCorpora);
      assert.equal(await learn('new'), 'stored');
      assert.equal(await records(), 1);
      assert.equal((await findCorpus(store, 'new'))?.versions[0]?.version, 2, 'after every number forgotten');
    });

    test('every process knows what one has stored, and answers with the same bytes', async (context) => {
      const url = await fresh();
      const store = await storeAt(url);
      await put(store, 'before', 7);
      const [one, other] = [await following(store), await following(store)];
      assert.match(await one.ask({ name: 'before' }), /^200 /);
      assert.match(await one.ask({ name: 'shop' }), /^422 .*known: before/);
      await put(store, 'shop', 50, 'hiking');
      await put(store, 'shop', 60, 'boots');
      await one.follower.look();
      assert.match(await other.ask({ name: 'shop' }), /^422 /);
      await other.follower.look();
      const newest = await one.ask({ name: 'shop' });
      assert.match(newest, /^200 .*"corpus":\{"name":"shop","version":2,"docs":60\}/);
      const pinned = await one.ask({ name: 'shop', version: 1 });
      assert.notEqual(pinned.replace('"version":1,"docs":50', '"version":2,"docs":60'), newest);
      assert.deepEqual(
        [await other.ask({ name: 'shop' }), await other.ask({ name: 'shop', version: 1 })],
        [newest, pinned],
      );
      await store.close();
      // After a restart, or on a machine that comes later.
      const again = await storeAt(url);
      context.after(() => again.close());
      const later = await following(again);
      assert.deepEqual(
        [await later.ask({ name: 'shop' }), await later.ask({ name: 'shop', version: 1 })],
        [newest, pinned],
      );
      assert.deepEqual(later.faults, []);
    });

    test('removed statistics are forgotten, even if the name is used again', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      await put(store, 'shop', 5);
      const { corpora, follower, ask } = await following(store);
      await removeCorpus(store, 'shop');
      await follower.look();
      assert.match(await ask({ name: 'shop' }), /^422 .*there are none here/);
      await put(store, 'shop', 6);
      await follower.look();
      await removeCorpus(store, 'shop');
      await put(store, 'shop', 7);
      await follower.look();
      assert.deepEqual(corpora.versions('shop'), [3]);
      assert.match(await ask({ name: 'shop', version: 2 }), /^422 .*no such version/);
    });

    test('damaged statistics are reported, and the others remain usable', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      await put(store, 'good');
      const damaged = { ...(await statisticsOf(1, 'a')), statistics: Buffer.from('none') };
      await putCorpus(store, 'bad', damaged, 0);
      const { ask, faults } = await following(store);
      assert.match(await ask({ name: 'good' }), /^200 /);
      assert.match(await ask({ name: 'bad' }), /^422 .*known: good/);
      assert.deepEqual(faults, [{ name: 'bad', version: 1 }]);
    });
  });
}

test('names have few characters, and an owner before them at most', () => {
  const owner = '0'.repeat(32);
  for (const name of ['shop', 'a.b-C_9', `${owner}/shop`]) assert.equal(isStoredName(name), true, name);
  for (const name of ['', 'a b', 'a/b', `${owner}/`, `${owner}/a/b`, 'x'.repeat(65), 'é', '/a']) {
    assert.equal(isStoredName(name), false, name);
  }
});
