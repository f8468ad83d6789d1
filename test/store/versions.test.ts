/** Named statistics and profiles as records: versions as they were put, limits, learnt samples. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  allCorpora,
  corpusObstacle,
  findCorpus,
  findLearning,
  findStatistics,
  mostCorpusVersions,
  mostRemovedCorpora,
  ownedCorpusLimits,
  putCorpus,
  removeCorpus,
  storeLearnt,
  type LearntChange,
} from '../../src/store/tables/corpora.js';
import {
  allProfiles,
  findProfile,
  mostProfileVersions,
  ownedProfileLimits,
  putProfile,
  removeProfile,
} from '../../src/store/tables/profiles.js';
import type { Log, Space } from '../../src/store/spaces.js';
import type { Operation, Outcome, Store } from '../../src/store/store.js';
import { openTestStore } from '../support/serving.js';
import { bytes, commit } from './subject.js';

const owner = 'a'.repeat(32);
const MiB = 1_024 * 1_024;

const given = { docs: 3, averageLength: 2.5, terms: 2, terming: 'ws, plain' };
const statistics = bytes('statistics');

/** The number of a version that is put, or why there is none. */
async function put(store: Store, name: string, made: Uint8Array = statistics): Promise<number | string> {
  const outcome = await putCorpus(store, name, { ...given, statistics: made }, 1_000);
  return outcome.ok ? outcome.version : outcome.detail;
}

async function putSettings(store: Store, name: string, settings = '{}'): Promise<number | string> {
  const outcome = await putProfile(store, name, settings, 1_000);
  return outcome.ok ? outcome.version : outcome.detail;
}

/** Writes a record as a version of Fusegate did: in one unit with the name in the log. */
async function write(
  store: Store,
  space: 'corpora' | 'profiles',
  name: string,
  members: object,
): Promise<void> {
  const value = bytes(`\u0001${JSON.stringify(members)}`);
  const log = space === 'corpora' ? 'corpusChanges' : 'profileChanges';
  await commit(
    store,
    { kind: 'put', space, key: bytes(name), value },
    { kind: 'append', log, value: bytes(name) },
  );
}

/** A name with one version of so many bytes. */
async function writeCorpus(store: Store, name: string, size: number): Promise<void> {
  const versions = [[1, 1, 1, 1, size, 'given', 1]];
  await write(store, 'corpora', name, { name, last_version: 1, versions });
}

async function changesIn(store: Store, log: Log): Promise<string[]> {
  return (await store.read(log, { after: 0, limit: 99 })).map(({ value }) => Buffer.from(value).toString());
}

async function keysIn(store: Store, space: Space): Promise<string[]> {
  return (await store.scan(space, { limit: 99 })).map(({ key }) => Buffer.from(key).toString('latin1'));
}

/** A store in which something else happens before the first commit. */
function interrupted(store: Store, meanwhile: () => Promise<unknown>): Store & { commits: () => number } {
  let commits = 0;
  return {
    ...store,
    get: (space, key) => store.get(space, key),
    getMany: (space, keys) => store.getMany(space, keys),
    scan: (space, range) => store.scan(space, range),
    read: (log, range) => store.read(log, range),
    last: (log) => store.last(log),
    commits: () => commits,
    commit: async (operations: readonly Operation[]): Promise<Outcome> => {
      commits += 1;
      if (commits === 1) await meanwhile();
      return store.commit(operations);
    },
  };
}

describe('named statistics', () => {
  test('are found as they were put, and every change of a name is in the log', async () => {
    const store = await openTestStore();
    assert.deepEqual([await put(store, 'shop'), await put(store, 'shop', bytes('more'))], [1, 2]);
    const version = { ...given, createdAtMs: 1_000, learnt: false };
    assert.deepEqual(await findCorpus(store, 'shop'), {
      ...{ name: 'shop', lastVersion: 2 },
      versions: [
        { ...version, version: 1, bytes: 10 },
        { ...version, version: 2, bytes: 4 },
      ],
    });
    assert.deepEqual(Buffer.from((await findStatistics(store, 'shop', 2)) ?? []), bytes('more'));
    assert.equal(await findStatistics(store, 'shop', 3), undefined);
    const keys = ['shop\0\0\0\0\u0001', 'shop\0\0\0\0\u0002'];
    assert.deepEqual(await keysIn(store, 'corpusVersions'), keys, 'as every version stored them');
    const [state] = await store.scan('state', { limit: 1 });
    assert.equal(Buffer.from(state?.value ?? []).toString(), '\u0001{"version":0}');
    await put(store, 'shop 2');
    assert.equal(await removeCorpus(store, 'shop'), true);
    assert.deepEqual(await keysIn(store, 'corpusVersions'), ['shop 2\0\0\0\0\u0001']);
    assert.equal(await findCorpus(store, 'shop'), undefined);
    assert.equal(await findCorpus(store, 'none'), undefined);
    assert.deepEqual(await changesIn(store, 'corpusChanges'), ['shop', 'shop', 'shop 2', 'shop']);
    const [record] = await store.scan('corpora', { limit: 1 });
    assert.equal(
      Buffer.from(record?.value ?? []).toString(),
      '\u0001{"name":"shop","last_version":2,"versions":[]}',
    );
  });

  test('of an owner, and of all, have limits to the byte', async () => {
    const store = await openTestStore();
    assert.deepEqual(ownedCorpusLimits, { names: 8, bytes: 16 * MiB });
    await writeCorpus(store, `${owner}/a`, 16 * MiB - 10);
    assert.equal(await corpusObstacle(store, `${owner}/b`), undefined);
    assert.match(
      String(await put(store, `${owner}/b`, Buffer.alloc(11))),
      /more than 16777216 bytes\. Remove a name first\.$/,
    );
    assert.equal(await put(store, `${owner}/b`, Buffer.alloc(10)), 1);
    await writeCorpus(store, 'everybody', 112 * MiB - 5);
    assert.match(
      String(await put(store, 'c', Buffer.alloc(6))),
      /^The statistics of all names .* 134217728 /,
    );
    assert.equal(await put(store, 'c', Buffer.alloc(5)), 1);
    for (let at = 4; at < 1_024; at += 1) await writeCorpus(store, `n${at}`, 0);
    assert.equal(await corpusObstacle(store, 'c'), undefined, 'no more bytes');
    const full = 'There are 1024 names, and there may be no more. Remove one first.';
    assert.deepEqual([await corpusObstacle(store, 'd'), await put(store, 'd', bytes(''))], [full, full]);
    await removeCorpus(store, 'n4');
    assert.equal(await corpusObstacle(store, 'd'), undefined, 'what was removed does not count');
  });

  test('have at most 16 versions of a name', async () => {
    const store = await openTestStore();
    assert.equal(mostCorpusVersions, 16);
    for (let version = 1; version <= 16; version += 1) {
      assert.equal(await corpusObstacle(store, 'shop'), undefined);
      assert.equal(await put(store, 'shop'), version);
    }
    assert.match(String(await corpusObstacle(store, 'shop')), /^The name has 16 versions/);
    assert.match(String(await put(store, 'shop')), /^The name has 16 versions/);
    const learn = () => storeLearnt(store, 'shop', () => assert.fail(), 1);
    assert.equal(await learn(), 'put', 'what was put is not learned over');
  });

  test('that were removed leave few records, and the highest of their numbers', async () => {
    const store = await openTestStore();
    await put(store, 'kept');
    for (let version = 1; version <= 3; version += 1) await put(store, 'n1');
    for (let at = 2; at <= mostRemovedCorpora; at += 1) await put(store, `n${at}`);
    for (let at = 1; at < mostRemovedCorpora; at += 1) await removeCorpus(store, `n${at}`);
    assert.equal(await put(store, 'before'), 1);
    await removeCorpus(store, `n${mostRemovedCorpora}`);
    assert.equal(await put(store, 'kept'), 2);
    assert.equal((await keysIn(store, 'corpora')).length, mostRemovedCorpora + 2);
    assert.equal(await put(store, 'new'), 4);
    assert.deepEqual(await keysIn(store, 'corpora'), ['before', 'kept', 'new']);
    const [state] = await store.scan('state', { limit: 1 });
    assert.equal(Buffer.from(state?.key ?? []).toString(), 'corpus versions');
    assert.equal(Buffer.from(state?.value ?? []).toString(), '\u0001{"version":3}');
    assert.deepEqual([await put(store, 'n1'), await put(store, 'new')], [4, 5]);
  });

  test('take the next number where another process puts, removes or forgets in the meantime', async () => {
    const store = await openTestStore();
    await put(store, 'shop');
    const late = interrupted(store, () => put(store, 'shop'));
    assert.deepEqual([await put(late, 'shop'), late.commits()], [3, 2]);
    const removing = interrupted(store, () => put(store, 'shop'));
    assert.deepEqual([await removeCorpus(removing, 'shop'), removing.commits() > 1], [true, true]);
    assert.deepEqual(await keysIn(store, 'corpusVersions'), []);
    assert.equal(mostRemovedCorpora, 64);
    const forgetting = interrupted(store, async () => {
      for (let at = 1; at <= mostRemovedCorpora; at += 1) {
        await put(store, `n${at}`);
        await removeCorpus(store, `n${at}`);
      }
      await put(store, 'other');
    });
    assert.equal(await put(forgetting, 'new'), 5, 'after the four of the shop');
    assert.deepEqual(
      (await allCorpora(store)).map(({ name }) => name),
      ['new', 'other'],
    );
  });
});

describe('statistics that are learned', () => {
  const change = (sample: string, frozen?: LearntChange['frozen']): LearntChange => {
    return { sample: bytes(sample), docs: 5, terming: 'ngram', frozen };
  };
  const frozen = { docs: 64, averageLength: 1.5, terms: 9, statistics };
  const learn = (store: Store, made: LearntChange | undefined, nowMs = 7) => {
    const samples: (string | undefined)[] = [];
    const join = (sample: Uint8Array | undefined): Promise<LearntChange | undefined> => {
      samples.push(sample === undefined ? undefined : Buffer.from(sample).toString());
      return Promise.resolve(made);
    };
    return storeLearnt(store, 'shop', join, nowMs).then((outcome) => [outcome, ...samples]);
  };

  test('grow by a sample, which is joined with the stored one', async () => {
    const store = await openTestStore();
    assert.deepEqual(await learn(store, undefined), ['none', undefined]);
    assert.equal(await findLearning(store, 'shop'), undefined);
    assert.deepEqual(await learn(store, change('one')), ['stored', undefined]);
    const state = { name: 'shop', terming: 'ngram', docs: 5 };
    assert.deepEqual(await findLearning(store, 'shop'), {
      ...{ ...state, revision: 1, bytes: 3, updatedAtMs: 7 },
    });
    assert.deepEqual(await learn(store, change('three'), 8), ['stored', 'one']);
    const second = { ...state, revision: 2, bytes: 5, updatedAtMs: 8 };
    assert.deepEqual(await findLearning(store, 'shop'), second);
    assert.deepEqual(await learn(store, undefined), ['nothing', 'three']);
    assert.equal(await findCorpus(store, 'shop'), undefined);
    assert.deepEqual([await changesIn(store, 'corpusChanges'), await keysIn(store, 'state')], [[], []]);
    // One that came in the meantime is joined, too.
    const late = interrupted(store, () => learn(store, change('four')));
    assert.deepEqual(await learn(late, change('five!')), ['stored', 'three', 'four']);
    assert.equal((await findLearning(store, 'shop'))?.revision, 4);
  });

  test('are marked as learnt, up to the most versions that a name may have', async () => {
    const store = await openTestStore();
    for (let version = 1; version <= mostCorpusVersions; version += 1) {
      assert.equal((await learn(store, change('s', frozen), 9))[0], 'stored');
    }
    const { versions = [] } = (await findCorpus(store, 'shop')) ?? {};
    const { statistics: stored, ...counted } = frozen;
    const second = { ...counted, version: 2, bytes: stored.byteLength, terming: 'ngram', createdAtMs: 9 };
    assert.deepEqual(versions[1], { ...second, learnt: true });
    assert.equal(versions.length, mostCorpusVersions);
    assert.deepEqual(Buffer.from((await findStatistics(store, 'shop', 16)) ?? []), statistics);
    assert.deepEqual(await learn(store, change('t', frozen)), ['full']);
    assert.equal((await changesIn(store, 'corpusChanges')).length, mostCorpusVersions);
    assert.equal(await removeCorpus(store, 'shop'), true);
    const left = await Promise.all(
      (['corpusVersions', 'corpusLearning', 'corpusSamples'] as const).map((space) => keysIn(store, space)),
    );
    assert.deepEqual(left, [[], [], []]);
    assert.equal((await learn(store, change('s', frozen)))[0], 'stored');
    assert.equal((await findCorpus(store, 'shop'))?.versions[0]?.version, 17);
  });

  test('end once statistics are put under their name', async () => {
    const store = await openTestStore();
    await learn(store, change('s', frozen));
    assert.equal(await put(store, 'shop'), 2);
    assert.deepEqual(await learn(store, change('t', frozen)), ['put']);
  });

  test('have higher numbers than any removed names that are forgotten for them', async () => {
    const removeMany = async (store: Store): Promise<void> => {
      for (let at = 1; at <= mostRemovedCorpora; at += 1) {
        await put(store, `n${at}`);
        await removeCorpus(store, `n${at}`);
      }
    };
    const store = await openTestStore();
    await removeMany(store);
    await learn(store, change('s'));
    assert.equal((await keysIn(store, 'corpora')).length, mostRemovedCorpora, 'it is no version yet');
    await learn(store, change('t', frozen));
    assert.deepEqual(await keysIn(store, 'corpora'), ['shop']);
    assert.equal((await findCorpus(store, 'shop'))?.lastVersion, 2);
    await removeMany(store);
    await learn(store, change('u', frozen));
    assert.equal((await keysIn(store, 'corpora')).length, mostRemovedCorpora + 1, 'its name is not new');
    const own = await openTestStore();
    const late = interrupted(own, async () => {
      await removeMany(own);
      await put(own, 'other');
    });
    await learn(late, change('s', frozen));
    assert.equal((await findCorpus(own, 'shop'))?.lastVersion, 2);
  });

  test('are removed with their sample, also before there is a version', async () => {
    const store = await openTestStore();
    await learn(store, change('one'));
    assert.equal(await removeCorpus(store, 'shop'), true);
    assert.deepEqual([await keysIn(store, 'corpusLearning'), await keysIn(store, 'corpusSamples')], [[], []]);
    assert.deepEqual(await changesIn(store, 'corpusChanges'), ['shop']);
    assert.deepEqual(await keysIn(store, 'corpora'), []);
    assert.equal(await removeCorpus(store, 'shop'), false);
    await learn(store, change('one'));
    const [sample] = await store.scan('corpusSamples', { limit: 1 });
    const from = sample?.value ?? assert.fail('there is no sample');
    const lost = {
      kind: 'replace',
      space: 'corpusSamples',
      key: bytes('shop'),
      from,
      to: undefined,
    } as const;
    await commit(store, lost);
    assert.equal(await removeCorpus(store, 'shop'), true, 'though its sample is lost');
  });

  test('count, with their sample, towards the bytes of names', async () => {
    const store = await openTestStore();
    await writeCorpus(store, 'everybody', 128 * MiB - 10);
    assert.deepEqual(await learn(store, change('eleven byte')), ['over', undefined]);
    assert.deepEqual(await learn(store, change('ten bytes.')), ['stored', undefined]);
    assert.match(String(await put(store, 'new', bytes('x'))), /more than 134217728 bytes/);
    assert.deepEqual(await learn(store, change('nine byte', { ...frozen, statistics: bytes('x') })), [
      ...['stored', 'ten bytes.'],
    ]);
    const more = change('nine byte', { ...frozen, statistics: bytes('x') });
    assert.deepEqual(await learn(store, more), ['over', 'nine byte']);
    assert.deepEqual(
      await learn(store, change('larger than it was')),
      ['stored', 'nine byte'],
      'it has its place',
    );
  });
});

describe('profiles', () => {
  test('are found as they were put, and every change of a name is in the log', async () => {
    const store = await openTestStore();
    assert.deepEqual([await putSettings(store, 'b'), await putSettings(store, 'b', '{"b":1}')], [1, 2]);
    await putSettings(store, 'a');
    const version = { createdAtMs: 1_000 };
    const second = { ...version, version: 2, settings: '{"b":1}' };
    const record = { name: 'b', versions: [{ ...version, version: 1, settings: '{}' }, second] };
    assert.deepEqual(await findProfile(store, 'b'), record);
    assert.deepEqual(
      (await allProfiles(store)).map(({ name }) => name),
      ['a', 'b'],
    );
    assert.equal(await removeProfile(store, 'b'), true);
    assert.equal(await removeProfile(store, 'b'), false);
    assert.deepEqual(await changesIn(store, 'profileChanges'), ['b', 'b', 'a', 'b']);
    const [state] = await store.scan('state', { limit: 1 });
    assert.equal(Buffer.from(state?.key ?? []).toString(), 'profile versions');
    assert.equal(Buffer.from(state?.value ?? []).toString(), '\u0001{"version":2}');
  });

  test('have higher numbers than every removed name', async () => {
    const store = await openTestStore();
    for (let version = 1; version <= 3; version += 1) await putSettings(store, 'long');
    await putSettings(store, 'short');
    for (const name of ['long', 'short']) assert.equal(await removeProfile(store, name), true);
    assert.equal(await putSettings(store, 'short'), 4);
    assert.equal(await putSettings(store, 'new'), 4);
    assert.equal(await putSettings(store, 'new'), 5);
  });

  test('of an owner, and of all, have limits to the byte', async () => {
    const store = await openTestStore();
    assert.deepEqual(ownedProfileLimits, { names: 32, bytes: MiB });
    const name = `${owner}/a`;
    const large = 'é'.repeat(MiB / 2 - 5);
    await write(store, 'profiles', `${owner}/large`, { name: `${owner}/large`, versions: [[1, large, 1]] });
    assert.match(
      String(await putSettings(store, name, 'x'.repeat(11))),
      /more than 1048576 bytes\. Remove a profile first\.$/,
    );
    assert.equal(await putSettings(store, name, 'x'.repeat(10)), 1);
    const half = 'x'.repeat(15.5 * MiB);
    for (const each of ['b', 'c']) {
      await write(store, 'profiles', each, { name: each, versions: [[1, half, 1]] });
    }
    assert.match(String(await putSettings(store, 'd', 'x'.repeat(1))), /^The settings of all .* 33554432 /);
    assert.equal(await putSettings(store, 'd', ''), 1);
    for (const each of ['b', 'c']) await removeProfile(store, each);
    const many = Array.from({ length: 4_094 }, (_, at) => `n${at}`);
    await Promise.all(
      many.map((each) => write(store, 'profiles', each, { name: each, versions: [[1, '', 1]] })),
    );
    assert.match(String(await putSettings(store, 'e')), /^There are 4096 profiles,/);
    assert.equal(await putSettings(store, 'd'), 2);
  });

  test('have at most 64 versions of a name', async () => {
    const store = await openTestStore();
    assert.equal(mostProfileVersions, 64);
    for (let version = 1; version <= 64; version += 1) assert.equal(await putSettings(store, 'a'), version);
    assert.match(String(await putSettings(store, 'a')), /^The profile has 64 versions, as many as it may\./);
  });

  test('take the next number where another process puts or removes in the meantime', async () => {
    const store = await openTestStore();
    const late = interrupted(store, () => putSettings(store, 'a'));
    assert.deepEqual([await putSettings(late, 'a'), late.commits()], [2, 2]);
    const removed = interrupted(store, () => removeProfile(store, 'a'));
    assert.deepEqual([await putSettings(removed, 'a'), removed.commits()], [3, 2]);
    const removing = interrupted(store, () => putSettings(store, 'a'));
    assert.deepEqual([await removeProfile(removing, 'a'), removing.commits()], [true, 2]);
    assert.equal(await putSettings(store, 'b'), 5);
    const other = interrupted(store, async () => {
      await putSettings(store, 'c');
      await removeProfile(store, 'b');
    });
    assert.deepEqual([await putSettings(other, 'd'), other.commits()], [6, 2]);
  });
});
