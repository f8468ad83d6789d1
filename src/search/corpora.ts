/** Named statistics of collections, and profiles: the key of the statistics' hashes, and the owners. */
import { problemAnswer } from '../contract/answer.js';
import { deriveLasting, type MasterSecrets } from '../system/masterSecret.js';

/** Bytes of a key's digest that identify it as an owner. */
const ownerBytes = 16;

/** The key of the hashes of terms (16 bytes): statistics stay valid when a secret is added. */
export function corpusKey(secrets: MasterSecrets): Buffer {
  return Buffer.from(deriveLasting(secrets, 'corpora', 'terms').subarray(0, 16));
}

/** Hash of a key; null for a malformed one. */
type HashKey = (key: string) => Uint8Array | null;

/** The owner of an API key, from the key's hash. */
export function corpusOwner(hash: Uint8Array): string {
  return Buffer.from(hash.subarray(0, ownerBytes)).toString('hex');
}

/** The owner of a request's key; undefined if there is none. */
export function ownerOfKey(key: string | undefined, hashKey: HashKey): string | undefined {
  const hash = key === undefined ? null : hashKey(key);
  return hash === null ? undefined : corpusOwner(hash);
}

/** Returns the owner whose statistics and profiles a request may name besides shared ones. */
export type OwnerOf = (key: string | undefined) => string | undefined;

/** The answer to callers without a key, if statistics and profiles belong to keys. */
export const ownerRequired = problemAnswer(
  401,
  'key_required',
  'Named statistics and profiles belong to API keys here: send a key in X-API-Key.',
);

/** Returns the owner whose statistics a request may add to; empty: shared ones, null: none. */
export type LearnerOf = (key: string | undefined) => string | null;

/** On an open server, callers without a key add to shared statistics. */
export function learnerIn(isOpen: boolean, hashKey: HashKey): LearnerOf {
  return (key) => ownerOfKey(key, hashKey) ?? (isOpen ? '' : null);
}

/** Returns the owners in a process's tables. If no key owns anything, no key is hashed. */
export function ownerIn(tables: readonly { readonly hasOwners: () => boolean }[], hashKey: HashKey): OwnerOf {
  return (key) => (tables.some((table) => table.hasOwners()) ? ownerOfKey(key, hashKey) : undefined);
}
