/** API keys in the store: only the SHA-256 of a key, never the key (contract, Authentication). */
import { findRecord, recordsAfter, writeOver } from '../entries.js';
import { appendEvent } from './events.js';
import type { Commit, Operation, Store } from '../store.js';
import { bytes, choice, integer, orNull, text, widenedTable, type ValueOf } from '../table.js';

const members = {
  /** SHA-256 of the raw key (32 bytes). */
  hash: bytes,
  /** Name for people and commands; it grants no access. */
  id: text,
  tier: text,
  /** The raw key's first and last characters, by which its owner recognizes it. */
  hint: text,
  /** Its purpose: an order's id, or the operator's own words. */
  origin: text,
  issuedAtMs: integer,
  /** Time from which it is refused; null: never. */
  expiresAtMs: orNull(integer),
  /** A suspended key may become active again, a revoked one never. */
  status: choice('active', 'suspended', 'revoked'),
  /** Why it is suspended or revoked; null while active. */
  reason: orNull(text),
  changedAtMs: integer,
};

/** Links of a key that replaced another, or was replaced, while the old one still worked. */
const replaced = {
  members: {
    /** SHA-256 of the first key in the chain, which counts the limits and usage of all of them. */
    countedAs: orNull(bytes),
    /** Id of the key that this one replaced. */
    replaces: orNull(text),
    /** Id of the key that replaced this one. */
    replacedBy: orNull(text),
  },
  without: { countedAs: null, replaces: null, replacedBy: null },
};

const keyTable = widenedTable('key', members, replaced);

/** Links of a key that replaces none and is replaced by none. */
export const unlinked = replaced.without;

/** A key as stored. */
export type KeyRecord = ValueOf<typeof keyTable>;

/** Status of a key. */
export type KeyStatus = KeyRecord['status'];

const encodeKey = keyTable.encode;

/** The operations that store a new key; part of the unit that makes it. */
export function insertKey(key: KeyRecord): Operation[] {
  return [
    { kind: 'insert', space: 'keys', key: key.hash, value: encodeKey(key) },
    { kind: 'insert', space: 'keysById', key: Buffer.from(key.id), value: key.hash },
    { kind: 'append', log: 'keyChanges', value: key.hash },
  ];
}

/** The operations that change a key from `from`; they conflict if it has changed. */
function replaceKey(from: KeyRecord, to: KeyRecord): Operation[] {
  return [
    writeOver('keys', from.hash, encodeKey(from), encodeKey(to)),
    { kind: 'append', log: 'keyChanges', value: from.hash },
    ...(to.status === 'revoked' && from.status !== 'revoked'
      ? [appendEvent({ type: 'key.revoked', object: to.id, atMs: to.changedAtMs })]
      : []),
  ];
}

/** The key whose raw key has this SHA-256. */
export async function findKey(store: Store, hash: Uint8Array): Promise<KeyRecord | undefined> {
  const key = await findRecord(store, 'keys', hash, keyTable.decode);
  if (key === undefined) return undefined;
  if (Buffer.compare(key.hash, hash) !== 0) throw new Error(`Key ${key.id} lies under another hash`);
  return key;
}

/** The key with this id. */
export async function findKeyById(store: Store, id: string): Promise<KeyRecord | undefined> {
  // Ids are short; a longer text is unknown, and would not fit.
  if (id.length === 0 || Buffer.byteLength(id) > 64) return undefined;
  const hash = await store.get('keysById', Buffer.from(id));
  return hash === undefined ? undefined : findKey(store, hash);
}

/** The keys, in the order of ids. */
export async function* allKeys(store: Store): AsyncGenerator<KeyRecord, void> {
  for await (const { value } of recordsAfter(store, 'keysById')) {
    const key = await findKey(store, value);
    if (key !== undefined) yield key;
  }
}

/** Outcome of changing a key. */
export type KeyChange =
  | { readonly kind: 'changed'; readonly key: KeyRecord }
  /** It has that state already, or may not change to it. */
  | { readonly kind: 'unchanged'; readonly key: KeyRecord }
  | { readonly kind: 'absent' };

/** The new record of a key, and further operations of the same unit. */
export interface ChangedKey {
  readonly to: KeyRecord;
  readonly also?: readonly Operation[];
}

/** Decides the new record of a key; undefined leaves it as it is. May be called more than once. */
export type ChangeKey = (key: KeyRecord) => ChangedKey | undefined | Promise<ChangedKey | undefined>;

/** A key's record before and after a change. */
export interface KeyStep {
  readonly from: KeyRecord;
  readonly to: KeyRecord;
}

/** A step that ends a key for good. */
export function endedKey(from: KeyRecord, reason: string, nowMs: number): KeyStep {
  return { from, to: { ...from, status: 'revoked', reason, changedAtMs: nowMs } };
}

/** The operations that change several keys. */
export function replaceKeys(steps: readonly KeyStep[]): Operation[] {
  return steps.flatMap(({ from, to }) => replaceKey(from, to));
}

/** True if a key has expired. */
export function isOver({ expiresAtMs }: Pick<KeyRecord, 'expiresAtMs'>, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs;
}

/** A key's predecessor, if that still works, as a list of at most one. */
export async function overlapping(
  store: Store,
  { replaces }: KeyRecord,
  nowMs: number,
): Promise<readonly KeyRecord[]> {
  const found = replaces === null ? undefined : await findKeyById(store, replaces);
  return found === undefined || found.status === 'revoked' || isOver(found, nowMs) ? [] : [found];
}

/** The steps that end a key's predecessor, if that still works: at most one. */
export async function endedOverlap(
  store: Store,
  key: KeyRecord,
  reason: string,
  nowMs: number,
): Promise<readonly KeyStep[]> {
  return (await overlapping(store, key, nowMs)).map((from) => endedKey(from, reason, nowMs));
}

/** Changes a key by compare-and-set, again after a conflict. */
export async function changeKey(
  store: Store,
  id: string,
  change: ChangeKey,
  commit: Commit = (operations) => store.commit(operations),
): Promise<KeyChange> {
  for (;;) {
    const found = await findKeyById(store, id);
    if (found === undefined) return { kind: 'absent' };
    const changed = await change(found);
    if (changed === undefined) return { kind: 'unchanged', key: found };
    const operations = [...replaceKey(found, changed.to), ...(changed.also ?? [])];
    const outcome = await commit(operations);
    if (outcome.kind === 'done') return { kind: 'changed', key: changed.to };
  }
}
