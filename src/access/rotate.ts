/** `POST /v1/keys/rotate`: a holder replaces its key; nothing else about the key changes. */
import { jsonAnswer, problemAnswer } from '../contract/answer.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { rotateKeyDefaults, type RotateKeyRequest, type RotateKeyResponse } from '../contract/rotate.js';
import {
  changeKey,
  endedKey,
  endedOverlap,
  findKey,
  insertKey,
  isOver,
  replaceKeys,
} from '../store/tables/keys.js';
import type { ChangedKey, KeyRecord, KeyStep } from '../store/tables/keys.js';
import { commitSurely } from '../store/surely.js';
import type { OrderRecord } from '../store/tables/order.js';
import { changeOrder, type OrderChange } from '../store/tables/orders.js';
import { timeOrNull, timeText } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { newKey, orderOf, type IssuedKey, type IssueParts } from './issue.js';
import { holder, type HolderParts } from './keyUsage.js';
import { overMinute, revokedKey } from './refusals.js';

/** Parts of the handler. */
export interface RotateParts extends HolderParts {
  readonly issue: IssueParts;
  readonly log: Pick<Log, 'info'>;
}

/** Age below which a replacement key is not replaced (ms): each replacement leaves a permanent record. */
const youngMs = 60_000;

/** A replacement that is not yet stored. */
interface Replacement {
  readonly kind: 'replacement';
  readonly mint: IssuedKey;
  /** Changes of the key, and of its predecessor, if any. */
  readonly keys: readonly [KeyStep, ...KeyStep[]];
  readonly oldEndsAtMs: number;
}

/** Reasons to refuse to replace a key. */
type Refusal =
  | { readonly kind: 'ended' }
  | { readonly kind: 'replaced'; readonly by: string }
  | { readonly kind: 'young'; readonly retrySeconds: number };

/** Outcome of replacing a key. */
export type Rotation = Refusal | (IssuedKey & { readonly oldEndsAtMs: number });

/** The change of the replaced key: it works until `endsAtMs`, or ends now if that has passed. */
function leaving(from: KeyRecord, by: KeyRecord, endsAtMs: number, nowMs: number): KeyStep {
  const { to } = endedKey(from, `replaced by ${by.id}`, nowMs);
  const left = endsAtMs > nowMs ? { ...from, expiresAtMs: endsAtMs, changedAtMs: nowMs } : to;
  return { from, to: { ...left, replacedBy: by.id } };
}

async function replacementOf(
  parts: IssueParts,
  from: KeyRecord,
  overlapMs: number,
): Promise<Refusal | Replacement> {
  const nowMs = parts.clock.wallMs();
  const { tier, origin, issuedAtMs, expiresAtMs, replacedBy } = from;
  if (from.status !== 'active' || isOver(from, nowMs)) return { kind: 'ended' };
  if (replacedBy !== null) return { kind: 'replaced', by: replacedBy };
  const waitMs = from.replaces === null ? 0 : from.changedAtMs + youngMs - nowMs;
  // One that was made long after now was made before the clock was set back.
  const isYoung = waitMs > 0 && waitMs < 2 * youngMs;
  if (isYoung) return { kind: 'young', retrySeconds: Math.ceil(waitMs / 1000) };
  const made = newKey(parts, { tier, origin, issuedAtMs, expiresAtMs }, nowMs);
  const links = { countedAs: from.countedAs ?? from.hash, replaces: from.id };
  const mint = { ...made, key: { ...made.key, ...links } };
  const oldEndsAtMs = Math.min(nowMs + overlapMs, expiresAtMs ?? Infinity);
  const ended = await endedOverlap(parts.store, from, `replaced by ${mint.key.id}`, nowMs);
  const keys = [leaving(from, mint.key, oldEndsAtMs, nowMs), ...ended] as const;
  return { kind: 'replacement', mint, keys, oldEndsAtMs };
}

/**
 * Replaces a key by one with the same tier, expiry, limits, usage and order, in one unit. The old key still
 * works for `overlapMs`; its own predecessor ends at once. `aborted`: true once the holder has gone.
 */
export async function rotateKey(
  parts: IssueParts,
  hash: Uint8Array,
  overlapMs: number,
  aborted: () => boolean,
): Promise<Rotation> {
  const { store } = parts;
  const found = await findKey(store, hash);
  if (found === undefined) return { kind: 'ended' };
  let decided: Refusal | Replacement = { kind: 'ended' };
  const decide = async (from: KeyRecord): Promise<Replacement | undefined> => {
    const made = await replacementOf(parts, from, overlapMs);
    // The client has gone during these reads: the new key would reach nobody.
    decided = aborted() ? { kind: 'ended' } : made;
    return decided.kind === 'replacement' ? decided : undefined;
  };
  // Otherwise the old key could end without anybody being handed the new one.
  const commit = commitSurely(store, parts.clock, aborted);
  const orderId = await orderOf(store, found);
  if (orderId === undefined) {
    const change = async (from: KeyRecord): Promise<ChangedKey | undefined> => {
      const made = await decide(from);
      if (made === undefined) return undefined;
      const [{ to }, ...others] = made.keys;
      return { to, also: [...insertKey(made.mint.key), ...replaceKeys(others)] };
    };
    await changeKey(store, found.id, change, commit);
  } else {
    // The order controls the key from now on: a refund or a dispute ends both.
    const change = async (order: OrderRecord): Promise<OrderChange | undefined> => {
      const from = await findKey(store, hash);
      const made = from === undefined ? undefined : await decide(from);
      if (made === undefined) return undefined;
      return { to: { ...order, keyId: made.mint.key.id }, mint: made.mint.key, keys: made.keys };
    };
    await changeOrder(store, orderId, change, undefined, commit);
  }
  return outcomeOf(decided);
}

function outcomeOf(decided: Refusal | Replacement): Rotation {
  return decided.kind === 'replacement' ? { ...decided.mint, oldEndsAtMs: decided.oldEndsAtMs } : decided;
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

/** Answers with a key that replaces the request's key. */
export function rotateKeys(parts: RotateParts): Handler<RotateKeyRequest> {
  return async (request) => {
    const { overlap_s: overlapSeconds = rotateKeyDefaults.overlap_s } = request.input;
    const found = await holder(parts, request);
    if (!found.ok) return found.refusal;
    const aborted = (): boolean => request.aborted();
    const outcome = await rotateKey(parts.issue, found.key.hash, overlapSeconds * 1000, aborted);
    if (outcome.kind !== 'issued') return refused(outcome);
    const { key, rawKey, oldEndsAtMs } = outcome;
    parts.log.info({ key: found.key.id, by: key.id }, 'the holder of a key replaced it');
    const response: RotateKeyResponse = {
      api_key: rawKey,
      tier: found.tier,
      expires_at: timeOrNull(key.expiresAtMs),
      old_key_ends_at: timeText(oldEndsAtMs),
    };
    return jsonAnswer(200, response);
  };
}
