/**
 * The suppression list: addresses that opted out, keyed by HMAC of the lower-cased address, so that an entry
 * can outlive the address itself.
 */
import { derive, type MasterSecrets } from '../../system/masterSecret.js';
import { findRecord, recordsAfter, writeOver } from '../entries.js';
import type { Store } from '../store.js';
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

/** The opt-out of an address under any of the secrets; undefined if there is none. */
export async function findOptout(
  store: Store,
  secrets: MasterSecrets,
  email: string,
): Promise<Optout | undefined> {
  for (const secret of secrets) {
    const found = await findRecord(store, 'optouts', optoutKey(secret, email), decodeOptout);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Records that an address opted out; on disk when this resolves. An existing opt-out does not change, even a
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
  // A conflict means that another process recorded it first.
  await store.commit([{ kind: 'insert', space: 'optouts', key: optoutKey(secrets[0], email), value }]);
}

/** Erases an address from its opt-outs, but keeps the entries; resolves to true if there was one to erase. */
export async function forgetOptout(store: Store, secrets: MasterSecrets, email: string): Promise<boolean> {
  let erased = false;
  for (const secret of secrets) {
    const key = optoutKey(secret, email);
    const from = await store.get('optouts', key);
    if (from === undefined) continue;
    const optout = decodeOptout(from);
    if (optout.email === null) continue;
    // A conflict means that another process forgot it first: nothing else changes these records.
    await store.commit([writeOver('optouts', key, from, encodeOptout({ ...optout, email: null }))]);
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
