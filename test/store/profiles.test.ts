/** Profiles in the store, on every engine: versions, limits, and processes that follow them. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { native } from '../../src/native/addon.js';
import { followProfiles } from '../../src/profiles/follower.js';
import { openEmbedMode } from '../../src/search/embedMode.js';
import { fuseHandler } from '../../src/search/fuse.js';
import {
  allProfiles,
  findProfile,
  mostProfileBytes,
  mostProfileVersions,
  ownedProfileLimits,
  putProfile,
  removeProfile,
} from '../../src/store/tables/profiles.js';
import type { Store } from '../../src/store/store.js';
import { answered, requestWith } from '../support/embedding.js';
import { bothEngines } from './engines.js';
import { storeAt } from '../support/openStore.js';

async function put(store: Store, name: string, settings: object = { k1: 1 }) {
  const outcome = await putProfile(store, name, JSON.stringify(settings), 1_000);
  return outcome.ok ? outcome.version : outcome.detail;
}

/** A process that follows a store. */
async function following(store: Store) {
  const [corpora, profiles] = [new native.Corpora(Buffer.alloc(16)), new native.Profiles()];
  const faults: object[] = [];
  const follower = followProfiles({
    store,
    profiles,
    clock: { every: () => ({ stop: () => undefined }) },
    log: { error: (fields: object) => void faults.push(fields) },
  });
  await follower.start();
  const embedder = { models: [], embed: () => Promise.reject(new Error('there is no model')) };
  const embedMode = openEmbedMode({
    ...{ ...native, corpora, profiles, embedder },
    ...{ fallback: undefined, cacheFile: null },
  });
  const handler = fuseHandler({ ...native, embedMode });
  const ask = async (profile: unknown): Promise<string> => {
    const docs = ['hiking boots', 'boots boots', 'hiking shoes'].map((text, at) => {
      return { id: `${at}`, text, dense_score: at / 7 };
    });
    const request = { query: 'hiking boots', docs, explain: true, profile };
    const answer = await handler(requestWith(Buffer.from(JSON.stringify(request))));
    return `${answer.status} ${JSON.stringify(answered(answer))}`;
  };
  return { profiles, follower, faults, ask };
}

for (const { name, skip, fresh } of bothEngines()) {
  describe(`profiles on ${name}`, { skip }, () => {
    test('a version never changes, and its number is never used again', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      assert.deepEqual([await put(store, 'shop'), await put(store, 'shop', { b: 1 })], [1, 2]);
      const versions = (await findProfile(store, 'shop'))?.versions;
      assert.deepEqual(versions, [
        { version: 1, settings: '{"k1":1}', createdAtMs: 1_000 },
        { version: 2, settings: '{"b":1}', createdAtMs: 1_000 },
      ]);
      assert.equal(await put(store, 'other'), 1);
      assert.equal(await removeProfile(store, 'shop'), true);
      assert.equal(await removeProfile(store, 'shop'), false);
      assert.equal(await findProfile(store, 'shop'), undefined);
      assert.deepEqual(
        (await allProfiles(store)).map((each) => each.name),
        ['other'],
      );
      assert.deepEqual([await put(store, 'shop'), await put(store, 'other')], [3, 2]);
      // Removed names leave nothing but one number, however many they were.
      for (let at = 0; at < 5; at += 1) {
        assert.equal(await put(store, `n${at}`), at + 3);
        assert.equal(await removeProfile(store, `n${at}`), true);
      }
      assert.equal((await store.scan('profiles', { limit: 100 })).length, 2);
    });

    test('of several at once each gets a number of its own', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      const numbers = await Promise.all(Array.from({ length: 8 }, (_, at) => put(store, 'shop', { k1: at })));
      assert.deepEqual([...numbers].sort(), [1, 2, 3, 4, 5, 6, 7, 8]);
      const [removed, after] = await Promise.all([removeProfile(store, 'shop'), put(store, 'shop')]);
      assert.deepEqual([removed, after], [true, 9]);
    });

    test('an owner has a limited number of names, and a name of versions', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      const owner = createHash('sha256').update('key').digest('hex').slice(0, 32);
      const { names, bytes } = ownedProfileLimits;
      for (let at = 0; at < names; at += 1) assert.equal(await put(store, `${owner}/n${at}`), 1);
      assert.match(String(await put(store, `${owner}/more`)), /^There are 32 profiles/);
      assert.equal(await put(store, `${owner}/n0`), 2);
      assert.equal(await put(store, 'everybody'), 1);
      const most = JSON.stringify('b'.repeat(mostProfileBytes - '{"k1":1}""'.length));
      const own = (at: number) => putProfile(store, `${owner}/n${at}`, most, 1_000);
      assert.deepEqual(await own(1), { ok: true, version: 2 }, 'to the byte');
      assert.match(String(await put(store, `${owner}/n1`)), /more than 262144 bytes of settings in its/);
      for (let at = 2; at * mostProfileBytes < bytes; at += 1) assert.equal((await own(at)).ok, true);
      const over = await own(9);
      assert.match(over.ok ? '' : over.detail, /more than 1048576 bytes/);
      for (let version = 2; version <= mostProfileVersions; version += 1) await put(store, 'everybody');
      assert.match(String(await put(store, 'everybody')), /64 versions/);
    });

    test('every process knows what one has stored, and answers with the same bytes', async (context) => {
      const url = await fresh();
      const store = await storeAt(url);
      await put(store, 'before');
      const [one, other] = [await following(store), await following(store)];
      assert.match(await one.ask('before'), /^200 /);
      assert.match(await one.ask('shop'), /^422 .*known: before/);
      await put(store, 'shop', { k1: 0.5, legs: { bm25: { normalize: 'zscore' }, dense: {} } });
      await put(store, 'shop', { weights: { bm25: 1, dense: 7 } });
      await one.follower.look();
      assert.match(await other.ask('shop'), /^422 /);
      await other.follower.look();
      const newest = await one.ask('shop');
      assert.match(newest, /^200 .*"profile":\{"name":"shop","version":2\}/);
      const pinned = await one.ask({ name: 'shop', version: 1 });
      assert.notEqual(pinned.replace('"version":1', '"version":2'), newest);
      assert.deepEqual(
        [await other.ask('shop'), await other.ask({ name: 'shop', version: 1 })],
        [newest, pinned],
      );
      await removeProfile(store, 'before');
      await other.follower.look();
      assert.match(await other.ask('before'), /^422 .*known: shop/);
      await store.close();
      // After a restart, or on a machine that comes later.
      const again = await storeAt(url);
      context.after(() => again.close());
      const later = await following(again);
      assert.deepEqual(
        [await later.ask('shop'), await later.ask({ name: 'shop', version: 1 })],
        [newest, pinned],
      );
      assert.deepEqual([...one.faults, ...later.faults], []);
    });

    test('removed profiles are forgotten, even if the name is used again', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      await put(store, 'shop');
      const { profiles, follower, ask } = await following(store);
      await removeProfile(store, 'shop');
      await put(store, 'shop', { b: 0 });
      await follower.look();
      assert.deepEqual(profiles.versions('shop'), [2]);
      assert.match(await ask({ name: 'shop', version: 1 }), /^422 /);
    });

    test('unreadable settings are reported once, and the others remain usable', async (context) => {
      const store = await storeAt(await fresh());
      context.after(() => store.close());
      await putProfile(store, 'damaged', '{"k1":', 0);
      await put(store, 'shop');
      const { profiles, faults } = await following(store);
      assert.deepEqual(faults, [{ name: 'damaged', version: 1 }]);
      assert.deepEqual(profiles.names(), ['shop']);
    });
  });
}
