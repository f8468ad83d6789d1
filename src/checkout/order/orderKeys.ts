/** Keys of orders: derived from an order's seed and a master secret, and changed as the payment changes. */
import { deriveKey, type KeyFormat } from '../../access/derive.js';
import { expiryOf, newKeyId, newKeyRecord } from '../../access/issue.js';
import {
  endedKey,
  endedOverlap,
  findKeyById,
  isOver,
  overlapping,
  type KeyRecord,
  type KeyStep,
} from '../../store/tables/keys.js';
import type { OrderRecord } from '../../store/tables/order.js';
import type { OrderChange } from '../../store/tables/orders.js';
import { StoreUnavailable, type Store } from '../../store/store.js';
import { secretId, type MasterSecrets } from '../../system/masterSecret.js';
import type { Randomness } from '../../system/randomness.js';
import type { KeyEffect } from '../../store/tables/orderKind.js';

/** Dependencies of keys. */
export interface KeyParts {
  readonly store: Store;
  readonly randomness: Randomness;
  readonly secrets: MasterSecrets;
  readonly keyFormat: KeyFormat;
}

/**
 * Derives an order's raw key; the seed must not be erased yet.
 *
 * @throws StoreUnavailable if this process was not given the order's master secret: a node that was restarted
 * with a new secret makes orders of it, which the others cannot complete before they have it
 */
export function rawKeyOf(
  { secrets, keyFormat }: Pick<KeyParts, 'secrets' | 'keyFormat'>,
  order: OrderRecord,
): string {
  if (order.seed === null) throw new Error(`The key of order ${order.id} is erased`);
  const secret = secrets.find((each) => secretId(each) === order.secretId);
  if (secret === undefined)
    throw new StoreUnavailable(
      `The key of an order needs master secret ${order.secretId}, which this process was not given`,
    );
  const { id: orderId, keyGeneration: generation, seed } = order;
  return deriveKey({ secret, orderId, generation, seed }, keyFormat);
}

/** The record of an order's new key. */
export function keyRecord(parts: KeyParts, order: OrderRecord, rawKey: string, nowMs: number): KeyRecord {
  const { id: origin, tier, termDays } = order;
  const terms = { tier, origin, issuedAtMs: nowMs, expiresAtMs: expiryOf(termDays, nowMs) };
  return newKeyRecord(parts.keyFormat, newKeyId(parts.randomness), rawKey, terms, nowMs);
}

/** The key of an order; undefined while it has none. */
export function keyOf(
  { store }: Pick<KeyParts, 'store'>,
  order: OrderRecord,
): Promise<KeyRecord | undefined> {
  return findKeyById(store, order.keyId ?? '');
}

/** The key of an order, if it can be used now. */
export async function keyInUse(
  parts: Pick<KeyParts, 'store'>,
  order: OrderRecord,
  nowMs: number,
): Promise<KeyRecord | undefined> {
  const key = order.key === 'active' ? await keyOf(parts, order) : undefined;
  return key?.status === 'active' && !isOver(key, nowMs) ? key : undefined;
}

/** The old key, ended because another replaces it, and the key that it had replaced if that still works. */
export async function endedKeys(
  { store }: Pick<KeyParts, 'store'>,
  key: KeyRecord,
  by: KeyRecord,
  nowMs: number,
  proof = '',
): Promise<readonly KeyStep[]> {
  const reason = `replaced by ${by.id}${proof}`;
  return [endedKey(key, reason, nowMs), ...(await endedOverlap(store, key, reason, nowMs))];
}

/** The change of an existing key by an effect; a key that the operator revoked stays as it is. */
function changedKey(
  key: KeyRecord,
  effect: Exclude<KeyEffect, { kind: 'mint' }>,
  nowMs: number,
): KeyRecord | undefined {
  if (key.status === 'revoked') return undefined;
  const status = { resume: 'active', suspend: 'suspended', revoke: 'revoked' } as const;
  const reason = 'reason' in effect ? effect.reason : null;
  return { ...key, status: status[effect.kind], reason, changedAtMs: nowMs };
}

/** The part of an order's change that concerns its key. */
export async function keyChange(
  parts: KeyParts,
  order: OrderRecord,
  effect: KeyEffect | undefined,
  nowMs: number,
): Promise<{ readonly keyId: string | null; readonly change: Pick<OrderChange, 'mint' | 'keys'> }> {
  const { keyId } = order;
  if (effect === undefined) return { keyId, change: {} };
  if (effect.kind === 'mint') {
    const made = keyRecord(parts, order, rawKeyOf(parts, order), nowMs);
    return { keyId: made.id, change: { mint: made } };
  }
  const found = await keyOf(parts, order);
  if (found === undefined) throw new Error(`The key of order ${order.id} is not there`);
  const keys = [found, ...(await overlapping(parts.store, found, nowMs))].flatMap((from) => {
    const to = changedKey(from, effect, nowMs);
    return to === undefined ? [] : [{ from, to }];
  });
  return { keyId, change: { keys } };
}
