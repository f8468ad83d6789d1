/** Keys that the operator makes, ends and makes anew (contract, Authentication: only a hash is kept). */
import {
  changeKey,
  findKeyById,
  insertKey,
  overlapping,
  unlinked,
  type KeyChange,
  type KeyRecord,
} from '../store/keys.js';
import { findOrder } from '../store/orders.js';
import type { Store } from '../store/store.js';
import { dayMs, type Clock } from '../system/clock.js';
import type { Randomness } from '../system/randomness.js';
import { deriveKey, hintOfKey, type KeyFormat } from './derive.js';

/** Dependencies of issuing. */
export interface IssueParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly randomness: Randomness;
  /** The master secret that makes new keys. */
  readonly secret: string;
  readonly format: KeyFormat;
}

/** Properties of a new key. */
export interface KeyWish {
  readonly tier: string;
  /** Days until it ends; 0: never. */
  readonly termDays: number;
  /** The operator's own words. */
  readonly origin: string;
}

/** A key that was made: its record, and the raw key, which nobody can tell again. */
export interface IssuedKey {
  readonly kind: 'issued';
  readonly key: KeyRecord;
  readonly rawKey: string;
}

/** A new key that is not yet stored. */
export function newKey(parts: IssueParts, { tier, termDays, origin }: KeyWish): IssuedKey {
  const issuedAtMs = parts.clock.wallMs();
  const id = `key_${parts.randomness(10).toString('hex')}`;
  // The seed is never written: the key is revealed in the moment it is made.
  const seed = parts.randomness(32);
  const rawKey = deriveKey({ secret: parts.secret, orderId: id, generation: 0, seed }, parts.format);
  const hash = parts.format.hashKey(rawKey);
  if (hash === null) throw new Error('A new key is not of the form of keys');
  const key: KeyRecord = {
    hash,
    id,
    tier,
    hint: hintOfKey(rawKey),
    origin,
    issuedAtMs,
    expiresAtMs: termDays === 0 ? null : issuedAtMs + termDays * dayMs,
    status: 'active',
    reason: null,
    changedAtMs: issuedAtMs,
    ...unlinked,
  };
  return { kind: 'issued', key, rawKey };
}

/** Makes a key; it is on disk when this resolves. */
export async function issueKey(parts: IssueParts, wish: KeyWish): Promise<IssuedKey> {
  const issued = newKey(parts, wish);
  const outcome = await parts.store.commit(insertKey(issued.key));
  if (outcome.kind === 'done') return issued;
  throw new Error(`A new key was ${outcome.kind}`);
}

/** Ends a key for good, and the one that it replaced where that still works. */
export async function revokeKey(
  parts: Pick<IssueParts, 'store' | 'clock'>,
  id: string,
  reason: string,
): Promise<KeyChange> {
  const { store, clock } = parts;
  const key = await findKeyById(store, id);
  const before = key === undefined ? undefined : await overlapping(store, key, clock.wallMs());
  if (before !== undefined) await revokeKey(parts, before.id, reason);
  return changeKey(store, id, (key) => {
    if (key.status === 'revoked') return undefined;
    return { to: { ...key, status: 'revoked', reason, changedAtMs: clock.wallMs() } };
  });
}

/** Outcome of making a key anew; `unchanged`: it is not in use. */
export type Reissue =
  | IssuedKey
  | Exclude<KeyChange, { kind: 'changed' }>
  /** It belongs to an order, which must go on deciding about it: a refund ends the key that is in use. */
  | { readonly kind: 'sold'; readonly orderId: string }
  /** Its holder replaced it by another, which can be made anew. */
  | { readonly kind: 'replaced'; readonly by: string };

/** The id of the order that a key was sold by, if any; undefined where there is no such key, too. */
export async function orderOf(store: Store, id: string): Promise<string | undefined> {
  const key = await findKeyById(store, id);
  if (key === undefined) return undefined;
  const order = await findOrder(store, key.origin);
  return order?.keyId === id ? order.id : undefined;
}

/** Ends a key and makes one of the same tier and end in its place, in one unit. */
export async function reissueKey(parts: IssueParts, id: string): Promise<Reissue> {
  const order = await orderOf(parts.store, id);
  if (typeof order === 'string') return { kind: 'sold', orderId: order };
  const old = await findKeyById(parts.store, id);
  if (typeof old?.replacedBy === 'string' && old.status === 'active') {
    return { kind: 'replaced', by: old.replacedBy };
  }
  const before = old === undefined ? undefined : await overlapping(parts.store, old, parts.clock.wallMs());
  if (before !== undefined) await revokeKey(parts, before.id, `${id} was made anew`);
  let issued: IssuedKey | undefined;
  const change = await changeKey(parts.store, id, (key) => {
    if (key.status !== 'active') return undefined;
    const made = newKey(parts, { tier: key.tier, termDays: 0, origin: key.origin });
    issued = { ...made, key: { ...made.key, expiresAtMs: key.expiresAtMs } };
    const reason = `replaced by ${issued.key.id}`;
    return {
      to: { ...key, status: 'revoked', reason, changedAtMs: parts.clock.wallMs() },
      also: insertKey(issued.key),
    };
  });
  if (change.kind !== 'changed') return change;
  if (issued === undefined) throw new Error('A key was changed by nothing');
  return issued;
}
