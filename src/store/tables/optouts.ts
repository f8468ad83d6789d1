/**
 * The suppression list: addresses that opted out, keyed by HMAC of the lower-cased address, so that an entry
 * can outlive the address itself.
 */
import { derive, type MasterSecrets } from '../../system/masterSecret.js';
import { recordsAfter } from '../entries.js';
import type { Operation, Store } from '../store.js';
import { integer, orNull, table, text, type ValueOf } from '../table.js';

const optoutTable = table('opt-out', {
  /** Lower-cased; null once forgotten. */
  email: orNull(text),
  /** Wall time of the first opt-out (ms). */
  optedOutAtMs: integer,
});

/** An address that opted out. */
export type Optout = ValueOf<typeof optoutTable>;

/** Codec of an opt-out. */
export const { encode: encodeOptout, decode: decodeOptout } = optoutTable;

/** The form in which addresses are compared: Unicode lower case, the same in every locale. */
export function comparable(email: string): string {
  return email.toLowerCase();
}

/** The key of an address, 32 bytes. */
export function optoutKey(secret: string, email: string): Buffer {
  return derive(secret, 'optout-address', comparable(email));
}

/** An opt-out and its key. */
export interface FoundOptout {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly optout: Optout;
}

/** The opt-out of an address under any of the secrets; undefined if there is none. */
export async function findOptout(
  store: Store,
  secrets: MasterSecrets,
  email: string,
): Promise<FoundOptout | undefined> {
  for (const secret of secrets) {
    const key = optoutKey(secret, email);
    const value = await store.get('optouts', key);
    if (value !== undefined) return { key, value, optout: decodeOptout(value) };
  }
  return undefined;
}

/**
 * Records that an address opted out; on disk when this resolves. An existing opt-out does not change, also a
 * forgotten one.
 */
export async function recordOptout(
  store: Store,
  secrets: MasterSecrets,
  email: string,
  nowMs: number,
): Promise<void> {
  const found = await findOptout(store, secrets, email);
  if (found !== undefined) return;
  const value = encodeOptout({ email: comparable(email), optedOutAtMs: nowMs });
  const insert: Operation = { kind: 'insert', space: 'optouts', key: optoutKey(secrets[0], email), value };
  // A conflict means that another process recorded it first.
  await store.commit([insert]);
}

/** Erases the address of its opt-outs but not the entries; resolves to true if there was one to erase. */
export async function forgetOptout(store: Store, secrets: MasterSecrets, email: string): Promise<boolean> {
  let erased = false;
  for (const secret of secrets) {
    const key = optoutKey(secret, email);
    const from = await store.get('optouts', key);
    const optout = from === undefined ? undefined : decodeOptout(from);
    if (from === undefined || optout === undefined || optout.email === null) continue;
    const to = encodeOptout({ ...optout, email: null });
    // A conflict means that another process forgot it first: nothing else changes these records.
    await store.commit([{ kind: 'replace', space: 'optouts', key, from, to }]);
    erased = true;
  }
  return erased;
}

/** The opt-outs whose key follows `after` (empty: all), in the order of the keys. */
export async function* optoutsAfter(
  store: Store,
  after: Uint8Array,
): AsyncGenerator<Optout & { readonly key: Uint8Array }, void> {
  for await (const { key, value } of recordsAfter(store, 'optouts', after)) {
    yield { key, ...decodeOptout(value) };
  }
}
