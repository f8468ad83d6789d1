/** Keys that the operator issues, revokes and rotates (contract, Authentication: only a hash is stored). */
import {
  changeKey,
  endedKey,
  findKeyById,
  endedOverlap,
  insertKey,
  isOver,
  replaceKeys,
  unlinked,
} from '../store/tables/keys.js';
import type { ChangedKey, KeyChange, KeyRecord } from '../store/tables/keys.js';
import { findOrder } from '../store/tables/orders.js';
import type { Store } from '../store/store.js';
import { commitSurely } from '../store/surely.js';
import { dayMs, type Clock } from '../system/clock.js';
import type { Randomness } from '../system/randomness.js';
import { deriveKey, hintOfKey, type KeyFormat } from './derive.js';

/** Dependencies of issuing. */
export interface IssueParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'sleep'>;
  readonly randomness: Randomness;
  /** The master secret from which new keys are derived. */
  readonly secret: string;
  readonly format: KeyFormat;
}

/** Properties of a new key. */
export interface KeyWish {
  readonly tier: string;
  /** Days until it expires; 0: never. */
  readonly termDays: number;
  /** The operator's own words. */
  readonly origin: string;
}

/** A new key: its record, and the raw key, which cannot be recovered later. */
export interface IssuedKey {
  readonly kind: 'issued';
  readonly key: KeyRecord;
  readonly rawKey: string;
}

/** Terms of a new key: its own, or those of the key it replaces. */
export type KeyTerms = Pick<KeyRecord, 'tier' | 'origin' | 'issuedAtMs' | 'expiresAtMs'>;

/** A new key's id. */
export function newKeyId(randomness: Randomness): string {
  return `key_${randomness(10).toString('hex')}`;
}

/** When a key of `termDays` (0: no expiry) that is issued at `nowMs` expires. */
export function expiryOf(termDays: number, nowMs: number): number | null {
  return termDays === 0 ? null : nowMs + termDays * dayMs;
}

/** The record of a key that is made at `nowMs`. */
export function newKeyRecord(
  format: Pick<KeyFormat, 'hashKey'>,
  id: string,
  rawKey: string,
  terms: KeyTerms,
  nowMs: number,
): KeyRecord {
  const hash = format.hashKey(rawKey);
  if (hash === null) throw new Error('A new key is not of the form of keys');
  const hint = hintOfKey(rawKey);
  return { hash, id, hint, ...terms, status: 'active', reason: null, changedAtMs: nowMs, ...unlinked };
}

/** Makes a key at `nowMs`, without storing it. */
export function newKey(parts: IssueParts, terms: KeyTerms, nowMs: number): IssuedKey {
  const id = newKeyId(parts.randomness);
  // The seed is never stored: the key is revealed as soon as it is made.
  const seed = parts.randomness(32);
  const rawKey = deriveKey({ secret: parts.secret, orderId: id, generation: 0, seed }, parts.format);
  return { kind: 'issued', key: newKeyRecord(parts.format, id, rawKey, terms, nowMs), rawKey };
}

/** Makes a key; it is on disk when this resolves. */
export async function issueKey(parts: IssueParts, wish: KeyWish): Promise<IssuedKey> {
  const { tier, termDays, origin } = wish;
  const issuedAtMs = parts.clock.wallMs();
  const expiresAtMs = expiryOf(termDays, issuedAtMs);
  const issued = newKey(parts, { tier, origin, issuedAtMs, expiresAtMs }, issuedAtMs);
  // Otherwise a key could be in force that nobody was shown.
  const outcome = await commitSurely(parts.store, parts.clock)(insertKey(issued.key));
  if (outcome.kind === 'done') return issued;
  throw new Error(`A new key was ${outcome.kind}`);
}

/** Ends a key for good, and its predecessor if that still works. */
export function revokeKey(
  { store, clock }: Pick<IssueParts, 'store' | 'clock'>,
  id: string,
  reason: string,
): Promise<KeyChange> {
  return changeKey(store, id, async (key) => {
    if (key.status === 'revoked') return undefined;
    const nowMs = clock.wallMs();
    const others = await endedOverlap(store, key, reason, nowMs);
    return { to: endedKey(key, reason, nowMs).to, also: replaceKeys(others) };
  });
}

/** Outcome of rotating a key; `unchanged`: it is not active, or its term is over. */
export type Reissue =
  | IssuedKey
  | Exclude<KeyChange, { kind: 'changed' }>
  /** It belongs to an order, which must stay in charge of it: a refund ends the key in use. */
  | { readonly kind: 'sold'; readonly orderId: string }
  /** Its holder replaced it; the successor can be rotated. */
  | { readonly kind: 'replaced'; readonly by: string };

/** The id of the order that sold a key; undefined if none did, or if there is no such key. */
export async function orderOf(store: Store, key: KeyRecord | undefined): Promise<string | undefined> {
  if (key === undefined) return undefined;
  const order = await findOrder(store, key.origin);
  return order?.keyId === key.id ? order.id : undefined;
}

/** Ends a key and makes one with the same tier and expiry in its place, in one unit. */
export async function reissueKey(parts: IssueParts, id: string): Promise<Reissue> {
  const { store, clock } = parts;
  const orderId = await orderOf(store, await findKeyById(store, id));
  if (orderId !== undefined) return { kind: 'sold', orderId };
  let outcome: Extract<Reissue, { kind: 'issued' | 'replaced' }> | undefined;
  const decide = async (key: KeyRecord): Promise<ChangedKey | undefined> => {
    outcome = undefined;
    const nowMs = clock.wallMs();
    if (key.status !== 'active' || isOver(key, nowMs)) return undefined;
    if (key.replacedBy !== null) {
      outcome = { kind: 'replaced', by: key.replacedBy };
      return undefined;
    }
    const { tier, origin, expiresAtMs } = key;
    outcome = newKey(parts, { tier, origin, issuedAtMs: nowMs, expiresAtMs }, nowMs);
    const { to } = endedKey(key, `replaced by ${outcome.key.id}`, nowMs);
    const ended = await endedOverlap(store, key, `${id} was reissued`, nowMs);
    return { to, also: [...insertKey(outcome.key), ...replaceKeys(ended)] };
  };
  // Otherwise the old key could end without anybody being shown the new one.
  const change = await changeKey(store, id, decide, commitSurely(store, clock));
  if (outcome !== undefined) return outcome;
  if (change.kind === 'changed') throw new Error('A key was changed by nothing');
  return change;
}
