/**
 * The book of orders: makes them, lets things happen to them, and hands out their keys once. Every change is
 * one unit of the store with the key that comes of it, decided by `orders.ts` and repeated where another was
 * first.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { deriveKey, hintOfKey, type KeyFormat } from '../access/derive.js';
import type { KeyStatus } from '../contract/orders.js';
import { findKeyById, type KeyRecord } from '../store/keys.js';
import {
  changeOrder,
  insertOrder,
  isUnpaid,
  sameOrder,
  type LedgerEntry,
  type OrderChange,
  type OrderOutcome,
  type OrderRecord,
} from '../store/orders.js';
import type { Fence, Operation, Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import { secretId, type MasterSecrets } from '../system/masterSecret.js';
import type { Randomness } from '../system/randomness.js';
import {
  isWatched,
  receivedSat,
  transition,
  type BtcStatus,
  type CardStatus,
  type KeyEffect,
  type LightningStatus,
  type Order,
  type OrderEvent,
} from './orders.js';

/** Dependencies of the book. */
export interface BookParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly randomness: Randomness;
  readonly secrets: MasterSecrets;
  readonly keyFormat: KeyFormat;
  /** What lets things happen in the background carries this. */
  readonly fence?: Fence;
}

/** Parts of a new order; the others have fixed initial values. */
export type NewOrder = Pick<
  OrderRecord,
  | 'rail'
  | 'tier'
  | 'network'
  | 'sat'
  | 'cents'
  | 'rateCents'
  | 'termDays'
  | 'email'
  | 'source'
  | 'segment'
  | 'campaign'
  | 'eventId'
  | 'place'
  | 'reference'
  | 'addressIndex'
  | 'confirmationsRequired'
> & {
  readonly id: string;
  readonly lifeMs: number;
  readonly createdHeight?: number;
  /** Keyed hash of the address that orders; absent: not known. */
  readonly orderedBy?: Uint8Array;
  /** True if only polls with the claim token reveal its key; absent: no. */
  readonly claimed?: boolean;
};

/** RFC 4648 base32 in lower case, of 16 bytes: 26 characters. */
const base32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** A new order's id: 128 random bits. */
export function newOrderId(randomness: Randomness): string {
  // 130 bits: 26 times five.
  const bits = BigInt(`0x${randomness(16).toString('hex')}`) << 2n;
  return Array.from({ length: 26 }, (_, at) => base32[Number((bits >> BigInt(125 - 5 * at)) & 31n)]).join('');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** An order that is on disk, and the token that proves who made it, which is told once. */
export interface MadeOrder {
  readonly kind: 'made';
  readonly order: OrderRecord;
  readonly claimToken: string;
}

/** An order that is not yet on disk, and its claim token. */
export function draftOrder(
  { clock, randomness, secrets }: Pick<BookParts, 'clock' | 'randomness' | 'secrets'>,
  { lifeMs, createdHeight, orderedBy, claimed = false, ...wish }: NewOrder,
): MadeOrder {
  const createdAtMs = Math.floor(clock.wallMs());
  const claimToken = `ct_${randomness(32).toString('base64url')}`;
  const order: OrderRecord = {
    ...wish,
    createdAtMs,
    expiresAtMs: createdAtMs + lifeMs,
    status: wish.rail === 'card' ? 'open' : 'pending',
    late: false,
    createdHeight: createdHeight ?? null,
    outputs: [],
    earlier: [],
    paid: 0,
    refunded: 0,
    key: 'none',
    keyId: null,
    keyGeneration: 0,
    seed: randomness(32),
    revealedAtMs: null,
    secretId: secretId(secrets[0]),
    claimHash: sha256(claimToken),
    claimed,
    open: wish.rail !== 'card',
    orderedBy: orderedBy ?? null,
  };
  return { kind: 'made', order, claimToken };
}

/** Makes an order; on disk when it resolves. `taken`: its id or place is another's. */
export async function makeOrder(
  parts: BookParts,
  wish: NewOrder,
): Promise<MadeOrder | { readonly kind: 'taken' }> {
  const made = draftOrder(parts, wish);
  const outcome = await parts.store.commit(insertOrder(made.order));
  return outcome.kind === 'done' ? made : { kind: 'taken' };
}

/** The price of a card order. @throws Error where it has none: nothing must be enough for it */
export function centsAskedFor({ id, cents }: OrderRecord): bigint {
  if (cents === null) throw new Error(`Order ${id} has no price in cents`);
  return BigInt(cents);
}

/** The state that decides, of a record. */
export function stateOf(record: OrderRecord): Order {
  const { expiresAtMs, late, key } = record;
  const any = { expiresAtMs, late, key, revealed: record.revealedAtMs !== null };
  switch (record.rail) {
    case 'btc':
      return {
        ...any,
        rail: 'btc',
        price: BigInt(record.sat),
        status: record.status as BtcStatus,
        createdAtMs: record.createdAtMs,
        createdHeight: record.createdHeight,
        confirmationsRequired: record.confirmationsRequired,
        outputs: record.outputs.map(([txid, vout, sat, confirmations, atMs]) => {
          return { txid, vout, sat: BigInt(sat), confirmations, atMs };
        }),
        earlier: record.earlier,
      };
    case 'lightning':
      return {
        ...any,
        rail: 'lightning',
        price: BigInt(record.sat),
        status: record.status as LightningStatus,
        paidSat: BigInt(record.paid),
      };
    case 'card':
      return {
        ...any,
        rail: 'card',
        price: centsAskedFor(record),
        status: record.status as CardStatus,
        paidCents: BigInt(record.paid),
        refundedCents: BigInt(record.refunded),
      };
  }
}

/** Money that an order holds, in satoshi or cents. */
function held(order: Order): bigint {
  switch (order.rail) {
    case 'btc':
      return receivedSat(order);
    case 'lightning':
      return order.paidSat;
    case 'card':
      return order.paidCents - order.refundedCents;
  }
}

/** The record with another state. */
function withState(record: OrderRecord, state: Order, nowMs: number): OrderRecord {
  const { status, late, key } = state;
  const revealedAtMs = state.revealed ? (record.revealedAtMs ?? nowMs) : null;
  const orderedBy = isUnpaid(state) ? record.orderedBy : null;
  const next = { ...record, status, late, key, revealedAtMs, orderedBy, open: isOpen(state, nowMs) };
  switch (state.rail) {
    case 'btc': {
      const outputs = state.outputs.map(
        ({ txid, vout, sat, confirmations, atMs }) => [txid, vout, Number(sat), confirmations, atMs] as const,
      );
      return { ...next, outputs, earlier: state.earlier };
    }
    case 'lightning':
      return { ...next, paid: Number(state.paidSat) };
    case 'card':
      return { ...next, paid: Number(state.paidCents), refunded: Number(state.refundedCents) };
  }
}

/** True if the order must be looked after. Cards, which webhooks alone tell of, are never pending. */
function isOpen(state: Order, nowMs: number): boolean {
  return state.rail === 'btc' ? isWatched(state, nowMs) : state.status === 'pending';
}

/** Derives an order's raw key; its seed must be there. */
function rawKeyOf({ secrets, keyFormat }: BookParts, order: OrderRecord): string {
  const secret = secrets.find((each) => secretId(each) === order.secretId);
  if (secret === undefined || order.seed === null) throw new Error(`The key of order ${order.id} is erased`);
  const { id: orderId, keyGeneration: generation, seed } = order;
  return deriveKey({ secret, orderId, generation, seed }, keyFormat);
}

const dayMs = 86_400_000;

/** The record of an order's new key. */
function mint(parts: BookParts, order: OrderRecord, nowMs: number): KeyRecord {
  return keyRecord(parts, order, rawKeyOf(parts, order), nowMs);
}

function keyRecord(parts: BookParts, order: OrderRecord, rawKey: string, nowMs: number): KeyRecord {
  const hash = parts.keyFormat.hashKey(rawKey);
  if (hash === null) throw new Error('A new key is not of the form of keys');
  return {
    hash,
    id: `key_${parts.randomness(10).toString('hex')}`,
    tier: order.tier,
    hint: hintOfKey(rawKey),
    origin: order.id,
    issuedAtMs: nowMs,
    expiresAtMs: order.termDays === 0 ? null : nowMs + order.termDays * dayMs,
    status: 'active',
    reason: null,
    changedAtMs: nowMs,
  };
}

/** Change of an existing key by an effect; one that the operator revoked stays as it is. */
function changedKey(key: KeyRecord, effect: KeyEffect, nowMs: number): KeyRecord | undefined {
  if (key.status === 'revoked') return undefined;
  const status = { mint: 'active', resume: 'active', suspend: 'suspended', revoke: 'revoked' } as const;
  const reason = 'reason' in effect ? effect.reason : null;
  return { ...key, status: status[effect.kind], reason, changedAtMs: nowMs };
}

/** The part of a change that is about the key. */
async function keyChange(
  parts: BookParts,
  record: OrderRecord,
  effect: KeyEffect | undefined,
  nowMs: number,
): Promise<{ readonly keyId: string | null; readonly change: Pick<OrderChange, 'mint' | 'key'> }> {
  const { keyId } = record;
  if (effect === undefined) return { keyId, change: {} };
  if (effect.kind === 'mint') {
    const made = mint(parts, record, nowMs);
    return { keyId: made.id, change: { mint: made } };
  }
  const found = await findKeyById(parts.store, keyId ?? '');
  if (found === undefined) throw new Error(`The key of order ${record.id} is not there`);
  const to = changedKey(found, effect, nowMs);
  const change = to === undefined ? {} : { key: { from: found, to } };
  return { keyId, change };
}

/** The entry of the ledger that a change of state makes; undefined where no money moved. */
function ledgerOf(before: Order, after: Order, orderId: string, atMs: number): LedgerEntry | undefined {
  const change = Number(held(after) - held(before));
  if (change === 0) return undefined;
  return { orderId, unit: after.rail === 'card' ? 'cent' : 'sat', change, status: after.status, atMs };
}

/** Records that are written with an event. */
export interface Along {
  /** Operations that take effect with it, and only with it; they are made anew where another was first. */
  readonly also: (record: OrderRecord) => readonly Operation[];
  /** The network's new id of the payment; null: as before. */
  readonly reference?: string | null;
  /** Told what became of the key; the last call counts. */
  readonly told?: (effect: KeyEffect | undefined) => void;
}

/** Lets something happen to an order. On disk when it resolves, with the key that came of it. */
export function happen(
  parts: BookParts,
  id: string,
  event: OrderEvent,
  along?: Along,
): Promise<OrderOutcome> {
  return changeOrder(parts.store, id, decision(parts, event, along), parts.fence);
}

/**
 * {@link happen} for what was found out by asking, which takes a while: nothing happens (`moved`) where the
 * order is no longer what it was before the question, as another may have asked later and been told more.
 */
export async function happenSince(
  parts: BookParts,
  asked: OrderRecord,
  event: OrderEvent,
): Promise<OrderOutcome | { readonly kind: 'moved'; readonly order: OrderRecord }> {
  let moved: OrderRecord | undefined;
  const decide = decision(parts, event, undefined);
  const outcome = await changeOrder(
    parts.store,
    asked.id,
    async (record) => {
      moved = sameOrder(record, asked) ? undefined : record;
      return moved === undefined ? decide(record) : undefined;
    },
    parts.fence,
  );
  return moved === undefined ? outcome : { kind: 'moved', order: moved };
}

/** State of an order after an event. */
function decision(
  parts: BookParts,
  event: OrderEvent,
  along: Along | undefined,
): (record: OrderRecord) => Promise<OrderChange | undefined> {
  return async (record) => {
    const nowMs = Math.floor(parts.clock.wallMs());
    const before = stateOf(record);
    const { order: after, effect } = transition(before, event, nowMs);
    along?.told?.(effect);
    const also = along?.also(record) ?? [];
    const stays = after === before && record.open === isOpen(before, nowMs);
    if (stays && along === undefined) return undefined;
    const key = await keyChange(parts, record, effect, nowMs);
    const { keyId, change } = key;
    const ledger = ledgerOf(before, after, record.id, nowMs);
    const reference = along?.reference ?? record.reference;
    const to = { ...withState(record, after, nowMs), keyId, reference };
    return { to, also, ...change, ...(ledger === undefined ? {} : { ledger }) };
  };
}

/** An order that was just made, as the answer to its maker shows it. */
export function unpolled(order: OrderRecord): Polled {
  return { kind: 'polled', order, apiKey: null, keyStatus: 'none', keyExpiresAtMs: null };
}

/** An order as a poll finds it. */
export interface Polled {
  readonly kind: 'polled';
  readonly order: OrderRecord;
  /** The raw key, to the one poll that reveals it. */
  readonly apiKey: string | null;
  readonly keyStatus: KeyStatus;
  /** End of the key (ms since 1970); null: there is no key, or it has none. */
  readonly keyExpiresAtMs: number | null;
}

/** Rights of a poll. */
export interface PollWish {
  /** The claim token that came with it; `''`: none. */
  readonly claim: string;
  /** True if the claim token is demanded of every order. */
  readonly claimRequired: boolean;
  /** Time that after its key was made a poll without a claim token reveals it (ms); absent: however long. */
  readonly bareMs?: number;
  /** True if the request may change something. */
  readonly mayAct: boolean;
}

/** True if a claim token is the order's; compared in a time that tells nothing. */
function isClaim(order: OrderRecord, claim: string): boolean {
  return timingSafeEqual(sha256(claim), order.claimHash);
}

/** Whether the raw key may be handed out to a poll. */
function reveals(order: OrderRecord, { claim, claimRequired, mayAct }: PollWish): boolean {
  if (!mayAct || order.key !== 'active' || order.revealedAtMs !== null) return false;
  return claim === '' ? !order.claimed && !claimRequired : isClaim(order, claim);
}

/** Whether a poll without a claim token comes too late for a key. */
function isLate({ clock }: Pick<BookParts, 'clock'>, key: KeyRecord, { claim, bareMs }: PollWish): boolean {
  return claim === '' && bareMs !== undefined && clock.wallMs() - key.issuedAtMs > bareMs;
}

/** The status of the key for a poll: it follows its order, or was ended by the operator. */
function keyStatusOf(
  parts: Pick<BookParts, 'clock'>,
  order: OrderRecord,
  key: KeyRecord | undefined,
  wish: PollWish,
): KeyStatus {
  if (key?.status === 'revoked' || key?.status === 'suspended') return key.status;
  if (order.revealedAtMs !== null) return 'already_revealed';
  const isOpen =
    reveals(order, { ...wish, mayAct: true }) && !(key !== undefined && isLate(parts, key, wish));
  return order.key === 'active' && !isOpen ? 'claim_required' : 'none';
}

async function shown(parts: BookParts, order: OrderRecord, wish: PollWish): Promise<Polled> {
  const key = await findKeyById(parts.store, order.keyId ?? '');
  const keyStatus = keyStatusOf(parts, order, key, wish);
  return { kind: 'polled', order, apiKey: null, keyStatus, keyExpiresAtMs: key?.expiresAtMs ?? null };
}

/**
 * Shows an order to a poll and, to one of any number of first polls, hands out its key: the seed is erased on
 * disk before this resolves, so that nobody can derive the key again.
 */
export async function poll(parts: BookParts, order: OrderRecord, wish: PollWish): Promise<Polled> {
  const claims = wish.mayAct && wish.claim !== '' && !order.claimed && isClaim(order, wish.claim);
  if (!claims && !reveals(order, wish)) return shown(parts, order, wish);
  const raw: { key: string | null; expiresAtMs: number | null } = { key: null, expiresAtMs: null };
  const outcome = await changeOrder(parts.store, order.id, async (record) => {
    raw.key = null;
    const claimed = record.claimed || claims;
    if (reveals(record, wish)) {
      const key = await findKeyById(parts.store, record.keyId ?? '');
      // One that the operator ended is not handed out.
      if (key?.status === 'active' && !isLate(parts, key, wish)) {
        raw.key = rawKeyOf(parts, record);
        raw.expiresAtMs = key.expiresAtMs;
        return { to: { ...revealed(parts, record), claimed } };
      }
    }
    if (claimed === record.claimed) return undefined;
    return { to: { ...record, claimed } };
  });
  if (outcome.kind === 'absent') throw new Error(`Order ${order.id} is gone`);
  if (raw.key === null) return shown(parts, outcome.order, wish);
  const { key: apiKey, expiresAtMs: keyExpiresAtMs } = raw;
  return { kind: 'polled', order: outcome.order, apiKey, keyStatus: 'revealed_now', keyExpiresAtMs };
}

/** The record of an order whose key was handed out: its seed is erased. */
function revealed({ clock }: BookParts, record: OrderRecord): OrderRecord {
  const nowMs = Math.floor(clock.wallMs());
  const { order } = transition(stateOf(record), { kind: 'reveal' }, nowMs);
  return { ...withState(record, order, nowMs), seed: null };
}

/**
 * The change that gives an order the next generation of its key, which nobody has been handed yet as far as
 * the record knows; a key that was made of it ends. For a store that was restored.
 */
export function replaceUnrevealedKey(
  parts: BookParts,
  record: OrderRecord,
  key: KeyRecord | undefined,
): OrderChange {
  const next = { ...record, keyGeneration: record.keyGeneration + 1 };
  if (key === undefined || key.status === 'revoked') return { to: next };
  const nowMs = Math.floor(parts.clock.wallMs());
  const made = keyRecord(parts, next, rawKeyOf(parts, next), nowMs);
  const { status, issuedAtMs, expiresAtMs } = key;
  const mint = { ...made, status, issuedAtMs, expiresAtMs };
  const ended = { status: 'revoked', reason: `replaced by ${mint.id}`, changedAtMs: nowMs } as const;
  return { to: { ...next, keyId: mint.id }, mint, key: { from: key, to: { ...key, ...ended } } };
}

/** Outcome of making an order's key anew. */
export type Reissued =
  | {
      readonly kind: 'reissued';
      readonly order: OrderRecord;
      readonly key: KeyRecord;
      readonly rawKey: string;
    }
  /** There is no such order, or the claim token is not its: it is not told which. */
  | { readonly kind: 'absent' }
  /** It has no key that is in use: it is not paid for, or its key was suspended or ended. */
  | { readonly kind: 'without key'; readonly order: OrderRecord };

/**
 * Ends the key of an order whose maker lost it, proven by the claim token, and makes another with the same
 * end in its place, in one unit. The new raw key is told here and nowhere else. Without a claim token
 * (null) the operator answers for it, which the old key's record says.
 */
export async function reissueOrderKey(
  parts: BookParts,
  orderId: string,
  claim: string | null,
): Promise<Reissued> {
  const made: { key?: KeyRecord; rawKey?: string } = {};
  let refusal: Reissued | undefined;
  const outcome = await changeOrder(parts.store, orderId, async (record) => {
    refusal = undefined;
    const found = await findKeyById(parts.store, record.keyId ?? '');
    if (claim !== null && !isClaim(record, claim)) refusal = { kind: 'absent' };
    else if (record.key !== 'active' || found?.status !== 'active') {
      refusal = { kind: 'without key', order: record };
    }
    if (refusal !== undefined || found === undefined) return undefined;
    const nowMs = Math.floor(parts.clock.wallMs());
    const next = { ...record, keyGeneration: record.keyGeneration + 1, seed: parts.randomness(32) };
    made.rawKey = rawKeyOf(parts, next);
    const { expiresAtMs } = found;
    made.key = { ...keyRecord(parts, next, made.rawKey, nowMs), expiresAtMs };
    const proof = claim === null ? ', without a claim token' : '';
    const reason = `replaced by ${made.key.id}${proof}`;
    const ended = { status: 'revoked', reason, changedAtMs: nowMs } as const;
    const to: OrderRecord = { ...revealed(parts, next), keyId: made.key.id, revealedAtMs: nowMs };
    const key = { from: found, to: { ...found, ...ended } };
    return { to, mint: made.key, key };
  });
  if (outcome.kind === 'absent') return outcome;
  if (refusal !== undefined) return refusal;
  const { key, rawKey } = made;
  if (key === undefined || rawKey === undefined) throw new Error('A key was made anew by nothing');
  return { kind: 'reissued', order: outcome.order, key, rawKey };
}
