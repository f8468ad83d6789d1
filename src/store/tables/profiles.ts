/**
 * Profiles in the store: for each name its versions with their settings. A version never changes, and its
 * number is never reused: a new name begins after the numbers of all removed names.
 */
import { findRecord, recordsAfter, removeOver, writeOver } from '../entries.js';
import { knownNames, noSize, type NameSize } from './knownNames.js';
import type { NameLimits } from './names.js';
import type { Operation, Store } from '../store.js';
import { integer, rows, table, text, type ValueOf } from '../table.js';

/** Most versions of a name. */
export const mostProfileVersions = 64;

/** Most bytes of the settings of a name's versions together: one record has them all. */
export const mostProfileBytes = 256 * 1024;

/** Limits of all names together: every worker holds them. */
const allProfileLimits: NameLimits = { names: 4_096, bytes: 32 * 1024 * 1024 };

/** Limits of one owner. */
export const ownedProfileLimits: NameLimits = { names: 32, bytes: 1024 * 1024 };

/** A version of a profile. */
export interface StoredProfileVersion {
  readonly version: number;
  /** Members of a request, a JSON object. */
  readonly settings: string;
  readonly createdAtMs: number;
}

function readVersion(row: readonly unknown[]): StoredProfileVersion {
  const [version, settings, createdAtMs] = row;
  if (typeof version !== 'number' || typeof settings !== 'string' || typeof createdAtMs !== 'number') {
    throw new Error('A record of a profile has a version that cannot be read');
  }
  return { version, settings, createdAtMs };
}

const profileTable = table('profile', {
  name: text,
  /** The oldest first, at least one. */
  versions: rows(readVersion, ({ version, settings, createdAtMs }) => [version, settings, createdAtMs]),
});

/** The record from its bytes. @throws UnreadableRecord */
export const { decode: decodeProfile } = profileTable;

/** A name and its versions as they are stored. */
export type ProfileRecord = ValueOf<typeof profileTable>;

const givenOutTable = table('numbers of removed profiles', { version: integer });
const givenOutKey = Buffer.from('profile versions');

/** The profile of a stored name; undefined if there is none. */
export function findProfile(store: Store, name: string): Promise<ProfileRecord | undefined> {
  return findRecord(store, 'profiles', Buffer.from(name), profileTable.decode);
}

/** Every profile, in the order of the stored names. */
export async function allProfiles(store: Store): Promise<ProfileRecord[]> {
  const found: ProfileRecord[] = [];
  for await (const { value } of recordsAfter(store, 'profiles')) found.push(profileTable.decode(value));
  return found;
}

/** A new version's number, or why there is none. */
export type ProfilePut =
  { readonly ok: true; readonly version: number } | { readonly ok: false; readonly detail: string };

function sizeOf({ versions }: ProfileRecord): NameSize {
  const bytes = versions.reduce((sum, { settings }) => sum + Buffer.byteLength(settings), 0);
  return { versions: versions.length, bytes };
}

/** Sizes of all profiles of a store. */
const knownProfiles = knownNames({
  changes: 'profileChanges',
  space: 'profiles',
  sizeOf: (record) => sizeOf(profileTable.decode(record)),
  limits: { owned: ownedProfileLimits, all: allProfileLimits },
  words: { one: 'profile', many: 'profiles', content: 'settings' },
});

/** The limit of a name that one more version of it, with `added` bytes, would exceed. */
function overName({ versions, bytes }: NameSize, added: number): string | undefined {
  const most =
    versions >= mostProfileVersions
      ? `has ${mostProfileVersions} versions, as many as it may`
      : `would have more than ${mostProfileBytes} bytes of settings in its versions`;
  const isOver = versions >= mostProfileVersions || bytes + added > mostProfileBytes;
  return isOver ? `The profile ${most}. Remove it, or take another name.` : undefined;
}

/** The greatest number of all removed names, and the operation that raises it to `to` or keeps it. */
async function givenOut(
  store: Store,
): Promise<{ readonly version: number; readonly raise: (to: number) => Operation }> {
  const value = await store.get('state', givenOutKey);
  const version = value === undefined ? 0 : givenOutTable.decode(value).version;
  return {
    version,
    raise: (to) =>
      writeOver('state', givenOutKey, value, givenOutTable.encode({ version: Math.max(version, to) })),
  };
}

/** Adds a version to a profile; on disk when this resolves. Concurrent calls get different numbers. */
export async function putProfile(
  store: Store,
  name: string,
  settings: string,
  nowMs: number,
): Promise<ProfilePut> {
  const key = Buffer.from(name);
  const known = knownProfiles(store);
  for (;;) {
    const bytes = Buffer.byteLength(settings);
    const over = await known.overLimit(name, bytes);
    // Refused before the record is decoded: an older version of this program let it have two megabytes.
    const refusal = overName(known.sizeOf(name), bytes) ?? over;
    if (refusal !== undefined) return { ok: false, detail: refusal };
    const from = await store.get('profiles', key);
    const had = from === undefined ? undefined : profileTable.decode(from);
    // Another process may have added one since: the record itself is exact.
    const detail = overName(had === undefined ? noSize : sizeOf(had), bytes);
    if (detail !== undefined) return { ok: false, detail };
    // Read after the name was found absent: a process that removed it raised this number in the same unit.
    const removed = had === undefined ? await givenOut(store) : undefined;
    const version = 1 + (had?.versions.at(-1)?.version ?? removed?.version ?? 0);
    const versions = [...(had?.versions ?? []), { version, settings, createdAtMs: nowMs }];
    const outcome = await store.commit([
      ...(removed === undefined ? [] : [removed.raise(0)]),
      writeOver('profiles', key, from, profileTable.encode({ name, versions })),
      { kind: 'append', log: 'profileChanges', value: key },
    ]);
    if (outcome.kind === 'done') return { ok: true, version };
  }
}

/** Removes a profile with its versions; false if there is none. */
export async function removeProfile(store: Store, name: string): Promise<boolean> {
  const key = Buffer.from(name);
  for (;;) {
    const from = await store.get('profiles', key);
    if (from === undefined) return false;
    const last = profileTable.decode(from).versions.at(-1)?.version ?? 0;
    const { raise } = await givenOut(store);
    const outcome = await store.commit([
      raise(last),
      removeOver('profiles', key, from),
      { kind: 'append', log: 'profileChanges', value: key },
    ]);
    if (outcome.kind === 'done') return true;
  }
}
