/** API keys in the store: only the SHA-256 of a key, never the key (contract, Authentication). */
import { recordsAfter } from './entries.js';
import { defineRecord } from './record.js';
import type { Operation, Outcome, Store } from './store.js';

/** Status of a key. Suspended ones may come back; revoked ones never do. */
export type KeyStatus = 'active' | 'suspended' | 'revoked';

/** A key as it is stored. */
export interface KeyRecord {
  /** SHA-256 of the raw key (32 bytes). */
  readonly hash: Uint8Array;
  /** Name for people and commands; it opens nothing. */
  readonly id: string;
  readonly tier: string;
  /** The raw key's beginning and end, by which its owner tells it from others. */
  readonly hint: string;
  /** Its purpose: an order's id, or the operator's own words. */
  readonly origin: string;
  readonly issuedAtMs: number;
  /** From this time on it is refused; null: no end. */
  readonly expiresAtMs: number | null;
  readonly status: KeyStatus;
  /** Why it is suspended or revoked; null while active. */
  readonly reason: string | null;
  readonly changedAtMs: number;
}

const codec = defineRecord<KeyRecord>('key', {
  1: ({ bytes, text, textOrNull, integer, integerOrNull, choice }) => ({
    hash: bytes('hash'),
    id: text('id'),
    tier: text('tier'),
    hint: text('hint'),
    origin: text('origin'),
    issuedAtMs: integer('issued_at_ms'),
    expiresAtMs: integerOrNull('expires_at_ms'),
    status: choice('status', ['active', 'suspended', 'revoked']),
    reason: textOrNull('reason'),
    changedAtMs: integer('changed_at_ms'),
  }),
});

/** A key's bytes in the store. */
function encodeKey(key: KeyRecord): Uint8Array {
  return codec.encode(1, {
    hash: key.hash,
    id: key.id,
    tier: key.tier,
    hint: key.hint,
    origin: key.origin,
    issued_at_ms: key.issuedAtMs,
    expires_at_ms: key.expiresAtMs,
    status: key.status,
    reason: key.reason,
    changed_at_ms: key.changedAtMs,
  });
}

/** The key of a record's bytes. */
const decodeKey = codec.decode;

/** The operations that keep a new key; part of the unit that makes it. */
export function insertKey(key: KeyRecord): Operation[] {
  return [
    { kind: 'insert', space: 'keys', key: key.hash, value: encodeKey(key) },
    { kind: 'insert', space: 'keysById', key: Buffer.from(key.id), value: key.hash },
    { kind: 'append', log: 'keyChanges', value: key.hash },
  ];
}

/** The operations that change a key from what it is; they conflict when it is no longer that. */
export function replaceKey(from: KeyRecord, to: KeyRecord): Operation[] {
  return [
    { kind: 'replace', space: 'keys', key: from.hash, from: encodeKey(from), to: encodeKey(to) },
    { kind: 'append', log: 'keyChanges', value: from.hash },
  ];
}

/** The key of a raw key's SHA-256. */
export async function findKey(store: Store, hash: Uint8Array): Promise<KeyRecord | undefined> {
  const reading = await store.get('keys', hash);
  if (reading === undefined) return undefined;
  const key = decodeKey(reading);
  if (Buffer.compare(key.hash, hash) !== 0) throw new Error(`Key ${key.id} lies under another hash`);
  return key;
}

/** The key of an id. */
export async function findKeyById(store: Store, id: string): Promise<KeyRecord | undefined> {
  // Ids are short; anything else is no key's, and would not fit.
  if (id.length === 0 || Buffer.byteLength(id) > 64) return undefined;
  const reading = await store.get('keysById', Buffer.from(id));
  if (reading === undefined) return undefined;
  return findKey(store, reading);
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
  /** It is that already, or may not become that. */
  | { readonly kind: 'unchanged'; readonly key: KeyRecord }
  | { readonly kind: 'absent' };

/** Decides what a key becomes; undefined leaves it as it is. May be called more than once. */
export type ChangeKey = (
  key: KeyRecord,
) => { readonly to: KeyRecord; readonly also?: readonly Operation[] } | undefined;

/** Changes the key of an id by compare-and-set, again when another changed it meanwhile. */
export async function changeKey(store: Store, id: string, change: ChangeKey): Promise<KeyChange> {
  for (;;) {
    const found = await findKeyById(store, id);
    if (found === undefined) return { kind: 'absent' };
    const changed = change(found);
    if (changed === undefined) return { kind: 'unchanged', key: found };
    const operations = [...replaceKey(found, changed.to), ...(changed.also ?? [])];
    const outcome: Outcome = await store.commit(operations);
    if (outcome.kind === 'done') return { kind: 'changed', key: changed.to };
  }
}
