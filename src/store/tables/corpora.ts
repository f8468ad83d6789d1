/**
 * Named statistics of collections: each name has versions, and each version's statistics have their own key.
 * A version never changes, and its number is never reused, not even after its name was removed. Names of an
 * owner are stored as owner, `/` and name; names without an owner are public.
 */
import { findRecord, recordsAfter, removeOver, writeOver } from '../entries.js';
import { knownNames, type KnownNames } from './knownNames.js';
import type { NameLimits } from './names.js';
import type { Entry, Operation, Store } from '../store.js';
import { integer, rows, table, text, type ValueOf } from '../table.js';

/** Most versions of a name. */
export const mostCorpusVersions = 16;

/** Limits on all names together: every worker holds them. */
const allCorpusLimits: NameLimits = { names: 1_024, bytes: 128 * 1024 * 1024 };

/** Most removed names whose last numbers are stored one by one; beyond that, one number covers all. */
export const mostRemovedCorpora = 64;

/** Limits on the names of one owner. */
export const ownedCorpusLimits: NameLimits = { names: 8, bytes: 16 * 1024 * 1024 };

/** A version of a named collection. */
export interface CorpusVersion {
  readonly version: number;
  readonly docs: number;
  /** Mean length in tokens. */
  readonly averageLength: number;
  /** Number of distinct terms. */
  readonly terms: number;
  /** Bytes of its statistics. */
  readonly bytes: number;
  /** Tokenizer and analyzer that made its terms; `given` if the caller sent the terms. */
  readonly terming: string;
  readonly createdAtMs: number;
  /** True if it was learned from requests. */
  readonly learnt: boolean;
}

function readVersion(row: readonly unknown[]): CorpusVersion {
  const [version, docs, averageLength, terms, bytes, terming, createdAtMs, learnt] = row;
  const numbers = { version, docs, averageLength, terms, bytes, createdAtMs };
  const isWhole = Object.values(numbers).every((each) => typeof each === 'number');
  if (!isWhole || typeof terming !== 'string') {
    throw new Error('A record of named statistics has a version that cannot be read');
  }
  return { ...(numbers as Record<keyof typeof numbers, number>), terming, learnt: learnt === true };
}

const corpusTable = table('corpus', {
  name: text,
  /** The last number given out; 0: none. */
  lastVersion: integer,
  /** The oldest first; empty if the name was removed. */
  versions: rows(
    readVersion,
    ({ version, docs, averageLength, terms, bytes, terming, createdAtMs, learnt }) => [
      ...[version, docs, averageLength, terms, bytes],
      ...[terming, createdAtMs],
      ...(learnt ? [true] : []),
    ],
  ),
});

/** The record from its bytes. @throws UnreadableRecord */
export const { decode: decodeCorpus } = corpusTable;

/** A name and its versions as stored. */
export type CorpusRecord = ValueOf<typeof corpusTable>;

/** The key of a name. */
function keyOf(name: string): Uint8Array {
  return Buffer.from(name);
}

/** The key of a version's statistics: the name, a zero byte, the number. */
function versionKey(name: string, version: number): Uint8Array {
  const number = Buffer.alloc(5);
  number.writeUInt32BE(version, 1);
  return Buffer.concat([keyOf(name), number]);
}

/** The record of a name; undefined if it has no version. */
export async function findCorpus(store: Store, name: string): Promise<CorpusRecord | undefined> {
  const found = await findRecord(store, 'corpora', keyOf(name), corpusTable.decode);
  return found === undefined || found.versions.length === 0 ? undefined : found;
}

/** A name with its record's bytes. */
type StoredCorpus = CorpusRecord & Entry;

/** True if a name has a version. */
function isThere({ versions }: CorpusRecord): boolean {
  return versions.length > 0;
}

/** Every name that has a version, in order. */
export async function allCorpora(store: Store): Promise<CorpusRecord[]> {
  const found: CorpusRecord[] = [];
  for await (const { value } of recordsAfter(store, 'corpora')) found.push(corpusTable.decode(value));
  return found.filter(isThere);
}

const givenOutTable = table('numbers of removed corpora', { version: integer });
const givenOutKey = Buffer.from('corpus versions');

/** The greatest number of all forgotten names, and its record's bytes. */
async function findGivenOut(store: Store): Promise<{ version: number; value: Uint8Array | undefined }> {
  const value = await store.get('state', givenOutKey);
  return { version: value === undefined ? 0 : givenOutTable.decode(value).version, value };
}

/**
 * Forgets removed names; a new name then starts after all of their numbers. If another process did so first,
 * or added one of the names again, at most what is left of old statistics is removed.
 */
async function forgetRemoved(store: Store, removed: readonly StoredCorpus[]): Promise<void> {
  const { version, value } = await findGivenOut(store);
  const last = removed.reduce((most, { lastVersion }) => Math.max(most, lastVersion), version);
  for (const each of removed) await removeStatistics(store, each);
  await store.commit([
    writeOver('state', givenOutKey, value, givenOutTable.encode({ version: last })),
    ...removed.map(({ key, value: from }) => removeOver('corpora', key, from)),
  ]);
}

/** Limits the records of removed names when a name is added: true if some were forgotten. */
async function forgotMany(store: Store, known: KnownNames): Promise<boolean> {
  if (known.removed.size < mostRemovedCorpora) return false;
  const removed: StoredCorpus[] = [];
  const names = [...known.removed];
  const values = await store.getMany('corpora', names.map(keyOf));
  for (const [at, name] of names.entries()) {
    const value = values[at];
    // Another process forgot it: no log says so.
    if (value === undefined) known.removed.delete(name);
    else removed.push({ ...corpusTable.decode(value), key: keyOf(name), value });
  }
  const still = removed.filter((each) => !isThere(each));
  if (still.length < mostRemovedCorpora) return false;
  await forgetRemoved(store, still);
  return true;
}

/** The statistics of a version; undefined if it was removed. */
export function findStatistics(store: Store, name: string, version: number): Promise<Uint8Array | undefined> {
  return store.get('corpusVersions', versionKey(name, version));
}

const learningTable = table('corpus learning', {
  name: text,
  /** Grows with each change of the sample. */
  revision: integer,
  /** Tokenizer and analyzer that make its terms. */
  terming: text,
  /** Docs of the sample. */
  docs: integer,
  /** Bytes of the sample. */
  bytes: integer,
  updatedAtMs: integer,
});

/** A name that learns, as stored beside its sample. */
export type LearningRecord = ValueOf<typeof learningTable>;

/** The learning state of a name; undefined if it does not learn. */
export function findLearning(store: Store, name: string): Promise<LearningRecord | undefined> {
  return findRecord(store, 'corpusLearning', keyOf(name), learningTable.decode);
}

/** Contents of a new version. */
export type NewCorpusVersion = Omit<CorpusVersion, 'version' | 'bytes' | 'createdAtMs' | 'learnt'> & {
  readonly statistics: Uint8Array;
};

/** A new version's number, or why there is none. */
export type CorpusPut =
  { readonly ok: true; readonly version: number } | { readonly ok: false; readonly detail: string };

/** Sizes of all names of a store, with the samples of those that learn. */
const knownCorpora = knownNames({
  changes: 'corpusChanges',
  space: 'corpora',
  sizeOf(record) {
    const { versions } = corpusTable.decode(record);
    return { versions: versions.length, bytes: versions.reduce((sum, { bytes }) => sum + bytes, 0) };
  },
  samples: { space: 'corpusLearning', bytesOf: (record) => learningTable.decode(record).bytes },
  limits: { owned: ownedCorpusLimits, all: allCorpusLimits },
  words: { one: 'name', many: 'names', content: 'statistics' },
});

/** A name before a version is added, and operations that conflict if it has changed. */
interface Before {
  readonly had: CorpusRecord;
  readonly from: Uint8Array | undefined;
  readonly unless: readonly Operation[];
}

async function beforePut(store: Store, name: string): Promise<Before> {
  const from = await store.get('corpora', keyOf(name));
  if (from !== undefined) return { had: corpusTable.decode(from), from, unless: [] };
  // Read after the name was found absent: a process that forgot it raised this number in the same unit.
  const { version, value } = await findGivenOut(store);
  const same = writeOver('state', givenOutKey, value, value ?? givenOutTable.encode({ version }));
  return { had: { name, lastVersion: version, versions: [] }, from, unless: [same] };
}

/** Why a new version of a name would be refused, however small; undefined: it may be accepted. */
export async function corpusObstacle(store: Store, name: string): Promise<string | undefined> {
  const { had } = await beforePut(store, name);
  return overVersions(had) ?? knownCorpora(store).mayBeOver(name, 0);
}

/** The limit that one more version of a name would exceed. */
function overVersions({ versions }: CorpusRecord): string | undefined {
  if (versions.length < mostCorpusVersions) return undefined;
  return `The name has ${mostCorpusVersions} versions, as many as it may. Remove it, or take another.`;
}

/** Adds a version to a name; on disk when this resolves. Concurrent calls get different numbers. */
export async function putCorpus(
  store: Store,
  name: string,
  { statistics, ...made }: NewCorpusVersion,
  nowMs: number,
): Promise<CorpusPut> {
  const names = knownCorpora(store);
  for (;;) {
    const { had, from, unless } = await beforePut(store, name);
    const detail = overVersions(had) ?? (await names.overLimit(name, statistics.byteLength));
    if (detail !== undefined) return { ok: false, detail };
    if (from === undefined && (await forgotMany(store, names))) continue;
    const added = { ...made, learnt: false, bytes: statistics.byteLength, createdAtMs: nowMs };
    const { version, operations } = versionAdded(had, from, added, statistics);
    const outcome = await store.commit([...unless, ...operations]);
    if (outcome.kind === 'done') return { ok: true, version };
  }
}

/** The next version of a name, and the operations that add it to the record `from`. */
function versionAdded(
  { name, lastVersion, versions }: CorpusRecord,
  from: Uint8Array | undefined,
  made: Omit<CorpusVersion, 'version'>,
  statistics: Uint8Array,
): { readonly version: number; readonly operations: readonly Operation[] } {
  const [version, key] = [lastVersion + 1, keyOf(name)];
  const to = corpusTable.encode({
    name,
    lastVersion: version,
    versions: [...versions, { ...made, version }],
  });
  const operations: readonly Operation[] = [
    writeOver('corpora', key, from, to),
    { kind: 'insert', space: 'corpusVersions', key: versionKey(name, version), value: statistics },
    { kind: 'append', log: 'corpusChanges', value: key },
  ];
  return { version, operations };
}

/** A change of a sample, and the version that is due with it. */
export interface LearntChange {
  readonly sample: Uint8Array;
  readonly docs: number;
  readonly terming: string;
  readonly frozen: Omit<NewCorpusVersion, 'terming'> | undefined;
}

/**
 * Outcome of a step of learning. `none`: there is no change, and nothing is stored; `put`: the name's last
 * version was put, not learned.
 */
export type Learnt = 'none' | 'nothing' | 'stored' | 'full' | 'put' | 'over';

/**
 * Stores what a name has learned; on disk when this resolves. `join` returns the change of a sample, or
 * nothing if the sample holds it all. It is called again after a conflict.
 */
export async function storeLearnt(
  store: Store,
  name: string,
  join: (sample: Uint8Array | undefined) => Promise<LearntChange | undefined>,
  nowMs: number,
): Promise<Learnt> {
  const key = keyOf(name);
  for (;;) {
    const from = await store.get('corpusLearning', key);
    const { had, from: corpus, unless } = await beforePut(store, name);
    if (had.versions.at(-1)?.learnt === false) return 'put';
    if (had.versions.length >= mostCorpusVersions) return 'full';
    const change = await join(from === undefined ? undefined : await store.get('corpusSamples', key));
    if (change === undefined) return from === undefined ? 'none' : 'nothing';
    const { sample, frozen, ...made } = change;
    const before = from === undefined ? undefined : learningTable.decode(from);
    const added = sample.byteLength - (before?.bytes ?? 0) + (frozen?.statistics.byteLength ?? 0);
    if (before === undefined || frozen !== undefined) {
      const names = knownCorpora(store);
      if ((await names.overLimit(name, added)) !== undefined) return 'over';
      if (frozen !== undefined && corpus === undefined && (await forgotMany(store, names))) continue;
    }
    const revision = (before?.revision ?? 0) + 1;
    const record = { ...made, name, revision, bytes: sample.byteLength, updatedAtMs: nowMs };
    const outcome = await store.commit([
      writeOver('corpusLearning', key, from, learningTable.encode(record)),
      { kind: 'put', space: 'corpusSamples', key, value: sample },
      ...(frozen === undefined ? [] : unless),
      ...frozenOperations(had, corpus, frozen, made.terming, nowMs),
    ]);
    if (outcome.kind === 'done') return 'stored';
  }
}

function frozenOperations(
  had: CorpusRecord,
  from: Uint8Array | undefined,
  frozen: LearntChange['frozen'],
  terming: string,
  nowMs: number,
): readonly Operation[] {
  if (frozen === undefined) return [];
  const { statistics, ...counted } = frozen;
  const made = { ...counted, terming, learnt: true, bytes: statistics.byteLength, createdAtMs: nowMs };
  return versionAdded(had, from, made, statistics).operations;
}

/** Removes a name with its versions; false if there is none. Its numbers stay used. */
export async function removeCorpus(store: Store, name: string): Promise<boolean> {
  const key = keyOf(name);
  for (;;) {
    const [from, learning] = [await store.get('corpora', key), await store.get('corpusLearning', key)];
    const had = from === undefined ? undefined : { from, ...corpusTable.decode(from) };
    const isThere = (had?.versions ?? []).length > 0 || learning !== undefined;
    if (isThere) {
      const outcome = await store.commit([
        ...(had === undefined
          ? []
          : [writeOver('corpora', key, had.from, corpusTable.encode({ ...had, versions: [] }))]),
        ...(await removedLearning(store, key, learning)),
        { kind: 'append', log: 'corpusChanges', value: key },
      ]);
      if (outcome.kind !== 'done') continue;
    }
    if (had !== undefined) await removeStatistics(store, had);
    return isThere;
  }
}

/** The operations that remove a name's learning state. */
async function removedLearning(
  store: Store,
  key: Uint8Array,
  learning: Uint8Array | undefined,
): Promise<readonly Operation[]> {
  if (learning === undefined) return [];
  const sample = await store.get('corpusSamples', key);
  return [
    removeOver('corpusLearning', key, learning),
    ...(sample === undefined ? [] : [removeOver('corpusSamples', key, sample)]),
  ];
}

/**
 * Removes the statistics of all numbers that a removed name has given out, one at a time: each may have
 * megabytes. A call that fails leaves some, which no name refers to; the next call removes them.
 */
async function removeStatistics(store: Store, { name, lastVersion }: CorpusRecord): Promise<void> {
  const range = { from: versionKey(name, 0), to: versionKey(name, lastVersion + 1), limit: 1 };
  for (;;) {
    const [left] = await store.scan('corpusVersions', range);
    if (left === undefined) return;
    await store.commit([removeOver('corpusVersions', left.key, left.value)]);
  }
}
