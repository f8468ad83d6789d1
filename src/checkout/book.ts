/**
 * The book of orders: makes them, and applies events to them. Every change is one unit of the store with the
 * key that comes of it, decided by `orders.ts` and repeated where another was first.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { sameOrder, heldOf, type OrderOn, type OrderRecord } from '../store/order.js';
import {
  changeOrder,
  insertOrder,
  type LedgerEntry,
  type OrderChange,
  type OrderOutcome,
} from '../store/orders.js';
import type { Fence, Operation } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import { secretId } from '../system/masterSecret.js';
import type { Randomness } from '../system/randomness.js';
import { keyChange, type KeyParts } from './orderKeys.js';
import { attended, transition, type KeyEffect, type OrderEvent } from './orders.js';

/** Dependencies of the book. */
export interface BookParts extends KeyParts {
  readonly clock: Pick<Clock, 'wallMs'>;
  /** Carried by events that are applied in the background. */
  readonly fence?: Fence;
}

/** Members of a new order on every rail; the others have fixed initial values. */
export interface OrderWish extends Pick<
  OrderRecord,
  'tier' | 'sat' | 'termDays' | 'email' | 'source' | 'segment' | 'campaign' | 'eventId'
> {
  /** True if only polls with the claim token reveal its key; absent: no. */
  readonly claimed?: boolean;
}

interface NewOnRail<Rail extends OrderRecord['rail']> extends OrderWish {
  readonly id: string;
  readonly rail: Rail;
  readonly place: string;
  readonly lifeMs: number;
}

/** A new order on chain. */
export interface NewBtcOrder
  extends
    NewOnRail<'btc'>,
    Pick<OrderOn<'btc'>, 'network' | 'addressIndex' | 'confirmationsRequired' | 'createdHeight'> {
  /** Keyed hash of the address that orders; absent: not known. */
  readonly orderedBy?: Uint8Array;
}

/** A new order over Lightning. */
export interface NewLightningOrder
  extends NewOnRail<'lightning'>, Pick<OrderOn<'lightning'>, 'network' | 'bolt11'> {}

/** A new order by card. */
export interface NewCardOrder extends NewOnRail<'card'>, Pick<OrderOn<'card'>, 'cents' | 'rateCents'> {}

/** A new order. */
export type NewOrder = NewBtcOrder | NewLightningOrder | NewCardOrder;

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

/** An order that is on disk, and the token that proves who made it, which is shown once. */
export interface MadeOrder<Order extends OrderRecord = OrderRecord> {
  readonly kind: 'made';
  readonly order: Order;
  readonly claimToken: string;
}

/** Members of each rail in a new order. */
function beginning(wish: NewOrder): Partial<OrderRecord> {
  const open = wish.rail !== 'card';
  switch (wish.rail) {
    case 'btc':
      return { status: 'pending', open, outputs: [], earlier: [], orderedBy: wish.orderedBy ?? null };
    case 'lightning':
      return { status: 'pending', open, paidSat: 0n };
    case 'card':
      return { status: 'open', open, intent: null, paidCents: 0n, refundedCents: 0n };
  }
}

/** An order that is not yet on disk, and its claim token. */
export function draftOrder<New extends NewOrder>(
  { clock, randomness, secrets }: Pick<BookParts, 'clock' | 'randomness' | 'secrets'>,
  wish: New,
): MadeOrder<OrderOn<New['rail']>> {
  const createdAtMs = Math.floor(clock.wallMs());
  const claimToken = `ct_${randomness(32).toString('base64url')}`;
  const { lifeMs, ...wished } = wish;
  const order = {
    rateCents: null,
    claimed: false,
    ...wished,
    ...beginning(wish),
    createdAtMs,
    expiresAtMs: createdAtMs + lifeMs,
    late: false,
    key: 'none',
    keyId: null,
    keyGeneration: 0,
    seed: randomness(32),
    revealedAtMs: null,
    secretId: secretId(secrets[0]),
    claimHash: sha256(claimToken),
  } as unknown as OrderOn<New['rail']>;
  return { kind: 'made', order, claimToken };
}

/** Makes an order; on disk when it resolves. `taken`: its id or place is another's. */
export async function makeOrder<New extends NewOrder>(
  parts: BookParts,
  wish: New,
): Promise<MadeOrder<OrderOn<New['rail']>> | { readonly kind: 'taken' }> {
  const made = draftOrder(parts, wish);
  const outcome = await parts.store.commit(insertOrder(made.order));
  return outcome.kind === 'done' ? made : { kind: 'taken' };
}

/** True if a claim token is the order's; compared in a time that tells nothing. */
export function isClaim(order: OrderRecord, claim: string): boolean {
  return timingSafeEqual(sha256(claim), order.claimHash);
}

/** The entry of the ledger that a change of state makes; undefined where no money moved. */
function ledgerOf(before: OrderRecord, after: OrderRecord, atMs: number): LedgerEntry | undefined {
  const change = Number(heldOf(after) - heldOf(before));
  if (change === 0) return undefined;
  const unit = after.rail === 'card' ? 'cent' : 'sat';
  return { orderId: after.id, unit, change, status: after.status, atMs };
}

/**
 * Operations that take effect with an event, and only with it, made of the order as it was before and of what
 * becomes of its key. They are made again where another was first.
 */
export type Effect = (before: OrderRecord, key: KeyEffect | undefined) => readonly Operation[];

/** Outcome of applying an event. `key`: what became of the order's key, or would have. */
export type Applied = OrderOutcome & { readonly key?: KeyEffect };

/** A change that was decided. */
interface Decided {
  readonly key: KeyEffect | undefined;
  /** Undefined where nothing changes. */
  readonly change: OrderChange | undefined;
}

/** The change that an event makes of an order. */
async function decide(
  parts: BookParts,
  before: OrderRecord,
  event: OrderEvent,
  effect: Effect | undefined,
): Promise<Decided> {
  const nowMs = Math.floor(parts.clock.wallMs());
  const { order, effect: key } = transition(before, event, nowMs);
  const after = attended(order, nowMs);
  if (after === before && effect === undefined) return { key, change: undefined };
  const { keyId, change } = await keyChange(parts, before, key, nowMs);
  const ledger = ledgerOf(before, after, nowMs);
  const also = effect?.(before, key) ?? [];
  return { key, change: { to: { ...after, keyId }, also, ...change, ...(ledger && { ledger }) } };
}

/** Applies an event to an order. On disk when it resolves, with the key that came of it. */
export async function apply(
  parts: BookParts,
  id: string,
  event: OrderEvent,
  effect?: Effect,
): Promise<Applied> {
  let key: KeyEffect | undefined;
  const change = async (record: OrderRecord): Promise<OrderChange | undefined> => {
    const decided = await decide(parts, record, event, effect);
    ({ key } = decided);
    return decided.change;
  };
  const outcome = await changeOrder(parts.store, id, change, parts.fence);
  return key === undefined ? outcome : { ...outcome, key };
}

/**
 * {@link apply} for what was found out by asking, which takes a while: nothing happens (`moved`) where the
 * order is no longer what it was before the question, as another may have asked later and been told more.
 */
export async function applySince(
  parts: BookParts,
  asked: OrderRecord,
  event: OrderEvent,
): Promise<OrderOutcome | { readonly kind: 'moved'; readonly order: OrderRecord }> {
  let moved: OrderRecord | undefined;
  const change = async (record: OrderRecord): Promise<OrderChange | undefined> => {
    moved = sameOrder(record, asked) ? undefined : record;
    return moved === undefined ? (await decide(parts, record, event, undefined)).change : undefined;
  };
  const outcome = await changeOrder(parts.store, asked.id, change, parts.fence);
  return moved === undefined ? outcome : { kind: 'moved', order: moved };
}
