/**
 * The book of orders: makes orders, and applies events to them. Each change of an order and its key is one
 * unit of the store. `orders.ts` decides it, again after a conflict.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Rail } from '../../contract/pricing.js';
import { heldOf, kindOf, sameOrder, unitOf } from '../../store/tables/order.js';
import type { NewMembers, OrderOn, OrderRecord } from '../../store/tables/order.js';
import type { KeyEffect } from '../../store/tables/orderKind.js';
import { changeOrder, insertOrder } from '../../store/tables/orders.js';
import type { LedgerEntry, OrderChange, OrderOutcome } from '../../store/tables/orders.js';
import type { Fence, Operation } from '../../store/store.js';
import type { Clock } from '../../system/clock.js';
import { secretId } from '../../system/masterSecret.js';
import type { Randomness } from '../../system/randomness.js';
import { keyChange, type KeyParts } from './orderKeys.js';
import { attended, transition, type OrderEvent } from './orders.js';

/** Dependencies of the book. */
export interface BookParts extends KeyParts {
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'sleep'>;
  /** The lease's fence for events that are applied in the background. */
  readonly fence?: Fence | undefined;
}

/** Members of a new order on every rail; the others have fixed initial values. */
export interface OrderWish extends Pick<
  OrderRecord,
  'tier' | 'sat' | 'termDays' | 'email' | 'source' | 'segment' | 'campaign' | 'eventId'
> {
  /** True if only polls with the claim token reveal its key; absent: no. */
  readonly claimed?: boolean;
}

interface NewOnRail<Name extends Rail> extends OrderWish {
  readonly id: string;
  readonly rail: Name;
  readonly place: string;
  readonly lifeMs: number;
}

/** A new order. */
export type NewOrder = { [Name in Rail]: NewOnRail<Name> & NewMembers<Name> }[Rail];

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

/** An order on disk, and its claim token, which proves who made it and is shown once. */
export interface MadeOrder<Order extends OrderRecord = OrderRecord> {
  readonly kind: 'made';
  readonly order: Order;
  readonly claimToken: string;
}

/** An order that is not yet on disk, and its claim token. */
export function draftOrder<New extends NewOrder>(
  { clock, randomness, secrets }: Pick<BookParts, 'clock' | 'randomness' | 'secrets'>,
  wish: New,
): MadeOrder<OrderOn<New['rail']>> {
  const createdAtMs = clock.wallMs();
  const claimToken = `ct_${randomness(32).toString('base64url')}`;
  const { lifeMs, ...wished } = wish;
  const order = {
    rateCents: null,
    claimed: false,
    ...kindOf(wish.rail).beginning,
    ...wished,
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

/** Makes an order; on disk when it resolves. `taken`: another order has its id or place. */
export async function makeOrder<New extends NewOrder>(
  parts: BookParts,
  wish: New,
): Promise<MadeOrder<OrderOn<New['rail']>> | { readonly kind: 'taken' }> {
  const made = draftOrder(parts, wish);
  const outcome = await parts.store.commit(insertOrder(made.order));
  return outcome.kind === 'done' ? made : { kind: 'taken' };
}

/** True if a claim token is the order's; compared in constant time. */
export function isClaim(order: OrderRecord, claim: string): boolean {
  return timingSafeEqual(sha256(claim), order.claimHash);
}

/** The ledger entry of a change of state; undefined if no money moved. */
function ledgerOf(before: OrderRecord, after: OrderRecord, atMs: number): LedgerEntry | undefined {
  const change = Number(heldOf(after) - heldOf(before));
  if (change === 0) return undefined;
  return { orderId: after.id, unit: unitOf(after), change, status: after.status, atMs };
}

/**
 * Operations that are committed with an event's change, or not at all. They are made from the order before
 * the change and the effect on its key, again after a conflict.
 */
export type Effect = (before: OrderRecord, key: KeyEffect | undefined) => readonly Operation[];

/** Outcome of applying an event. `key`: the effect on the order's key, also if the change was refused. */
export type Applied = OrderOutcome & { readonly key?: KeyEffect };

/** A change that was decided. */
interface Decided {
  readonly key: KeyEffect | undefined;
  /** Undefined if nothing changes. */
  readonly change: OrderChange | undefined;
}

/** The change that an event makes of an order. */
async function decide(
  parts: BookParts,
  before: OrderRecord,
  event: OrderEvent,
  effect: Effect | undefined,
): Promise<Decided> {
  const nowMs = parts.clock.wallMs();
  const { order, effect: key } = transition(before, event, nowMs);
  const after = attended(order, nowMs);
  if (after === before && effect === undefined) return { key, change: undefined };
  const { keyId, change } = await keyChange(parts, before, key, nowMs);
  const ledger = ledgerOf(before, after, nowMs);
  const also = effect?.(before, key);
  return { key, change: { to: { ...after, keyId }, also, ledger, ...change } };
}

/** Applies an event to an order. On disk when it resolves, with the change of its key. */
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
 * {@link apply} for an event found by a query, which takes time. If the order has changed since before the
 * query, nothing happens (`moved`): a later query may have caused the change, and knows more.
 */
export async function applySince<Order extends OrderRecord>(
  parts: BookParts,
  asked: Order,
  event: OrderEvent,
): Promise<OrderOutcome | { readonly kind: 'moved'; readonly order: Order }> {
  let moved: Order | undefined;
  const change = async (record: OrderRecord): Promise<OrderChange | undefined> => {
    // No change moves an order to another rail.
    moved = sameOrder(record, asked) ? undefined : (record as Order);
    return moved === undefined ? (await decide(parts, record, event, undefined)).change : undefined;
  };
  const outcome = await changeOrder(parts.store, asked.id, change, parts.fence);
  return moved === undefined ? outcome : { kind: 'moved', order: moved };
}
