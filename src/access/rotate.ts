/** `POST /v1/keys/rotate`: the holder of a key replaces it, and nothing else about it changes. */
import { jsonAnswer, problemAnswer } from '../contract/answer.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { rotateKeyDefaults, type RotateKeyRequest, type RotateKeyResponse } from '../contract/rotate.js';
import type { Operation, Store } from '../store/store.js';
import { findKey, insertKey, overlapping, replaceKey, type KeyRecord, type KeyStep } from '../store/keys.js';
import { changeOrder } from '../store/orders.js';
import type { Log } from '../system/log.js';
import { newKey, orderOf, type IssuedKey, type IssueParts } from './issue.js';
import { holder, type HolderParts } from './keyUsage.js';
import { overMinute, revokedKey } from './refusals.js';

/** Parts of the handler. */
export interface RotateParts extends HolderParts {
  readonly issue: IssueParts;
  readonly log: Pick<Log, 'info'>;
}

/** Time before which a key that replaced another is not replaced (ms): each leaves a record for ever. */
const youngMs = 60_000;

/** A replacement that is not yet stored. */
interface Replacement {
  readonly kind: 'replacement';
  readonly mint: IssuedKey;
  readonly keys: readonly KeyStep[];
  readonly oldEndsAtMs: number;
}

/** Reasons for which a key is not replaced. */
type Refusal =
  | { readonly kind: 'ended' }
  | { readonly kind: 'replaced'; readonly by: string }
  | { readonly kind: 'young'; readonly retrySeconds: number };

/** Outcome of replacing a key. */
export type Rotation = Refusal | (IssuedKey & { readonly oldEndsAtMs: number });

/** The key that was replaced: it works on until the overlap is over, or has ended. */
function leaving(key: KeyRecord, by: KeyRecord, endsAtMs: number, nowMs: number): KeyRecord {
  const left = { ...key, replacedBy: by.id, changedAtMs: nowMs };
  if (endsAtMs > nowMs) return { ...left, expiresAtMs: endsAtMs };
  return { ...left, status: 'revoked', reason: `replaced by ${by.id}` };
}

async function replacementOf(
  parts: IssueParts,
  hash: Uint8Array,
  overlapMs: number,
): Promise<{ readonly from: KeyRecord; readonly decided: Refusal | Replacement } | undefined> {
  const from = await findKey(parts.store, hash);
  if (from === undefined) return undefined;
  const nowMs = Math.floor(parts.clock.wallMs());
  const { tier, origin, issuedAtMs, expiresAtMs, replacedBy } = from;
  const isOver = expiresAtMs !== null && expiresAtMs <= nowMs;
  if (from.status !== 'active' || isOver) return { from, decided: { kind: 'ended' } };
  if (replacedBy !== null) return { from, decided: { kind: 'replaced', by: replacedBy } };
  const waitMs = from.replaces === null ? 0 : from.changedAtMs + youngMs - nowMs;
  if (waitMs > 0) return { from, decided: { kind: 'young', retrySeconds: Math.ceil(waitMs / 1000) } };
  const made = newKey(parts, { tier, termDays: 0, origin });
  const links = { countedAs: from.countedAs ?? from.hash, replaces: from.id };
  const mint = { ...made, key: { ...made.key, issuedAtMs, expiresAtMs, ...links } };
  const oldEndsAtMs = Math.min(nowMs + overlapMs, expiresAtMs ?? Infinity);
  const keys = [{ from, to: leaving(from, mint.key, oldEndsAtMs, nowMs) }];
  const before = await overlapping(parts.store, from, nowMs);
  if (before !== undefined) {
    const reason = `replaced by ${mint.key.id}`;
    keys.push({ from: before, to: { ...before, status: 'revoked', reason, changedAtMs: nowMs } });
  }
  return { from, decided: { kind: 'replacement', mint, keys, oldEndsAtMs } };
}

/** Stores a replacement; false where one of its keys, or the order that sold them, has changed meanwhile. */
async function kept(store: Store, from: KeyRecord, { mint, keys }: Replacement): Promise<boolean> {
  const { key } = mint;
  const orderId = await orderOf(store, from.id);
  if (orderId === undefined) {
    const operations: Operation[] = [
      ...insertKey(key),
      ...keys.flatMap((step) => replaceKey(step.from, step.to)),
    ];
    return (await store.commit(operations)).kind === 'done';
  }
  // The order decides about the key from now on: a refund or a dispute ends both.
  let tries = 0;
  const outcome = await changeOrder(store, orderId, (order) => {
    tries += 1;
    const holds = tries === 1 && order.keyId === from.id;
    return Promise.resolve(holds ? { to: { ...order, keyId: key.id }, mint: key, keys } : undefined);
  });
  return outcome.kind === 'changed';
}

/**
 * Replaces a key by one of the same tier, end, limits, usage and order, in one unit. The old one works on
 * for `overlapMs`; a key that the old one had replaced ends at once.
 */
export async function rotateKey(parts: IssueParts, hash: Uint8Array, overlapMs: number): Promise<Rotation> {
  for (;;) {
    const found = await replacementOf(parts, hash, overlapMs);
    if (found === undefined) return { kind: 'ended' };
    const { from, decided } = found;
    if (decided.kind !== 'replacement') return decided;
    if (await kept(parts.store, from, decided)) return { ...decided.mint, oldEndsAtMs: decided.oldEndsAtMs };
  }
}

function refused(refusal: Refusal): Answer {
  switch (refusal.kind) {
    case 'ended':
      return revokedKey;
    case 'replaced':
      return problemAnswer(
        409,
        'key_replaced',
        `This API key was replaced by ${refusal.by} and works until its overlap is over. Replace that one, ` +
          'or ask the operator for a new one: fusegate keys reissue.',
      );
    case 'young':
      return overMinute(1, 'replacing a key', refusal.retrySeconds);
  }
}

/** Answers with the key that replaces the one that a request carries. */
export function rotateKeys(parts: RotateParts): Handler<RotateKeyRequest> {
  return async (request) => {
    const { overlap_s: overlapSeconds = rotateKeyDefaults.overlap_s } = request.input;
    const found = await holder(parts, request);
    if (found.kind === 'refused') return found.answer;
    const outcome = await rotateKey(parts.issue, found.key.hash, overlapSeconds * 1000);
    if (outcome.kind !== 'issued') return refused(outcome);
    const { key, rawKey, oldEndsAtMs } = outcome;
    parts.log.info({ key: found.key.id, by: key.id }, 'the holder of a key replaced it');
    const response: RotateKeyResponse = {
      api_key: rawKey,
      tier: found.tier,
      expires_at: key.expiresAtMs === null ? null : new Date(key.expiresAtMs).toISOString(),
      old_key_ends_at: new Date(oldEndsAtMs).toISOString(),
    };
    return jsonAnswer(200, response);
  };
}
