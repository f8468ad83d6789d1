/** Keys issued again: for a buyer who lost one, and for a restored store. */
import { commitSurely } from '../../store/surely.js';
import type { KeyRecord } from '../../store/tables/keys.js';
import type { OrderRecord } from '../../store/tables/order.js';
import { changeOrder, type OrderChange } from '../../store/tables/orders.js';
import { isClaim, type BookParts } from './book.js';
import { keyInUse, keyRecord, rawKeyOf, endedKeys } from './orderKeys.js';
import { revealed } from './poll.js';

/**
 * The change that gives an order whose key is unrevealed, by its record, the next generation of that key;
 * `key`, if it was minted already, ends. For a restored store.
 */
export async function replaceUnrevealedKey(
  parts: BookParts,
  record: OrderRecord,
  key: KeyRecord | undefined,
): Promise<OrderChange> {
  const next = { ...record, keyGeneration: record.keyGeneration + 1 };
  if (key === undefined || key.status === 'revoked') return { to: next };
  const nowMs = parts.clock.wallMs();
  const made = keyRecord(parts, next, rawKeyOf(parts, next), nowMs);
  const { status, issuedAtMs, expiresAtMs } = key;
  const mint = { ...made, status, issuedAtMs, expiresAtMs };
  return { to: { ...next, keyId: mint.id }, mint, keys: await endedKeys(parts, key, mint, nowMs) };
}

/** Outcome of reissuing an order's key. */
export type Reissued =
  | {
      readonly kind: 'reissued';
      readonly order: OrderRecord;
      readonly key: KeyRecord;
      readonly rawKey: string;
    }
  /** There is no such order, or the claim token is wrong: the answer does not disclose which. */
  | { readonly kind: 'absent' }
  /** It has no active key: it is unpaid, or its key was suspended, ended or has expired. */
  | { readonly kind: 'without key'; readonly order: OrderRecord };

/**
 * Ends an order's lost key and makes another with the same expiry in its place, in one unit. The claim token
 * proves who made the order; without one (null) the operator vouches, which the old key's record notes. The
 * new raw key is returned here and nowhere else.
 */
export async function reissueOrderKey(
  parts: BookParts,
  orderId: string,
  claim: string | null,
): Promise<Reissued> {
  let made: Pick<Extract<Reissued, { kind: 'reissued' }>, 'key' | 'rawKey'> | undefined;
  let refusal: Reissued | undefined;
  const decide = async (record: OrderRecord): Promise<OrderChange | undefined> => {
    const nowMs = parts.clock.wallMs();
    const found = await keyInUse(parts, record, nowMs);
    if (claim !== null && !isClaim(record, claim)) refusal = { kind: 'absent' };
    else if (found === undefined) refusal = { kind: 'without key', order: record };
    if (refusal !== undefined || found === undefined) return undefined;
    const next = { ...record, keyGeneration: record.keyGeneration + 1, seed: parts.randomness(32) };
    const rawKey = rawKeyOf(parts, next);
    const { expiresAtMs } = found;
    const key = { ...keyRecord(parts, next, rawKey, nowMs), expiresAtMs };
    made = { key, rawKey };
    const proof = claim === null ? ', without a claim token' : '';
    const to: OrderRecord = { ...revealed(parts, next), keyId: key.id, revealedAtMs: nowMs };
    return { to, mint: key, keys: await endedKeys(parts, found, key, nowMs, proof) };
  };
  // Otherwise the old key could end without anybody being handed the new one.
  const commit = commitSurely(parts.store, parts.clock);
  const outcome = await changeOrder(parts.store, orderId, decide, undefined, commit);
  if (outcome.kind === 'absent') return outcome;
  if (refusal !== undefined) return refusal;
  if (made === undefined) throw new Error('A reissue made no key');
  return { kind: 'reissued', order: outcome.order, ...made };
}
