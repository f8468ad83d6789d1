/** Named statistics of collections, and profiles: the key of the statistics' hashes, and whose they are. */
import { problemAnswer } from '../contract/answer.js';
import { derive, type MasterSecrets } from '../system/masterSecret.js';

/** Bytes of a key's digest that name it as an owner. */
const ownerBytes = 16;

/** The key of the hashes of terms (16 bytes). Of the oldest secret: statistics outlive a new one. */
export function corpusKey(secrets: MasterSecrets): Buffer {
  const oldest = secrets.at(-1) ?? secrets[0];
  return Buffer.from(derive(oldest, 'corpora', 'terms').subarray(0, 16));
}

/** Hash of a key; null for what is none. */
type HashKey = (key: string) => Uint8Array | null;

/** The owner that an API key is, by its hash. */
export function corpusOwner(hash: Uint8Array): string {
  return Buffer.from(hash.subarray(0, ownerBytes)).toString('hex');
}

/** The owner that a request's key is; undefined where there is none. */
export function ownerOfKey(key: string | undefined, hashKey: HashKey): string | undefined {
  const hash = key === undefined ? null : hashKey(key);
  return hash === null ? undefined : corpusOwner(hash);
}

/** Tells by a request's key whose statistics and profiles it may name besides everybody's. */
export type OwnerOf = (key: string | undefined) => string | undefined;

/** The answer to callers without a key, where statistics and profiles belong to keys. */
export const ownerRequired = problemAnswer(
  401,
  'key_required',
  'Named statistics and profiles belong to API keys here: send a key in X-API-Key.',
);

/** Tells by a request's key to whose statistics it may add; empty: everybody's, null: to none. */
export type LearnerOf = (key: string | undefined) => string | null;

/** Where a server is open, callers without a key add to what belongs to everybody. */
export function learnerIn(isOpen: boolean, hashKey: HashKey): LearnerOf {
  return (key) => ownerOfKey(key, hashKey) ?? (isOpen ? '' : null);
}

/** Of a process's tables. Where no key owns anything in them, no key is digested. */
export function ownerIn(tables: readonly { readonly hasOwners: () => boolean }[], hashKey: HashKey): OwnerOf {
  return (key) => (tables.some((table) => table.hasOwners()) ? ownerOfKey(key, hashKey) : undefined);
}
