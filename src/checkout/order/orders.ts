/**
 * Transitions of an order: a pure function of its record, an event, and the time (table in docs/checkout.md).
 * Nothing else changes an order's state. The rules of each rail are with the record of its orders.
 */
import {
  isUnconfirmed,
  kindOf,
  wasPaid,
  type OrderRecord,
  type RailEvent,
} from '../../store/tables/order.js';
import { unchanged, type Transition } from '../../store/tables/orderKind.js';

/** Events of an order. */
export type OrderEvent =
  | RailEvent
  /** The raw key is about to be revealed. */
  | { readonly kind: 'reveal' };

/** The rule of a rail for an event. */
type Rule = (order: OrderRecord, event: OrderEvent, nowMs: number) => Transition<OrderRecord>;

/** Decides the transition. An event of another rail changes nothing. */
export function transition(order: OrderRecord, event: OrderEvent, nowMs: number): Transition<OrderRecord> {
  if (event.kind === 'reveal') return reveal(order, nowMs);
  // A rail's rules take that rail's orders, and each rule the event under whose name it is listed.
  const rules = kindOf(order.rail).events as Readonly<Record<string, Rule | undefined>>;
  return rules[event.kind]?.(order, event, nowMs) ?? unchanged(order);
}

/** Only an active key is revealed, and only once. */
function reveal(order: OrderRecord, nowMs: number): Transition<OrderRecord> {
  if (order.key !== 'active' || order.revealedAtMs !== null) return unchanged(order);
  const { revealedStatus: status = order.status } = kindOf(order.rail);
  // A status of the order's own rail.
  return { order: { ...order, revealedAtMs: nowMs, status } as OrderRecord, effect: undefined };
}

/**
 * The order with the members that follow from its state and the time; the same object if they do not change.
 */
export function attended(order: OrderRecord, nowMs: number): OrderRecord {
  const open = kindOf(order.rail).isOpen(order, nowMs);
  const forgets = order.rail === 'btc' && order.orderedBy !== null && !isUnconfirmed(order);
  if (forgets) return { ...order, open, orderedBy: null };
  return open === order.open ? order : { ...order, open };
}

/** Time from an order's expiry to the first look-up after it (ms); each later interval is twice as long. */
const firstExpiredLookUpMs = 15_000;

/** Longest interval between look-ups of an expired order (ms). */
const maxExpiredLookUpMs = 6 * 3_600_000;

/** The members that decide how soon an order is looked up. */
type Standing = Pick<OrderRecord, 'key'> & { readonly status: string };

/**
 * True if an order expired, and no payment is expected back. A payment that a removed block took away is soon
 * in another block; its buyer's key is suspended until then.
 */
function isGivenUp({ status, key }: Standing): boolean {
  return status === 'expired' && key !== 'suspended';
}

/** True if an order awaits its payment, has one, or had one until now. */
export function isUrgent(order: OrderRecord): boolean {
  return !isGivenUp(order) || wasPaid(order);
}

/**
 * True if a round of look-ups at `nowMs` includes an order, after a round at `lastMs`. Every round includes
 * orders that still await something. Expired ones come up ever more rarely, as there are thousands and money
 * seldom comes.
 */
export function isDue(
  order: Standing & Pick<OrderRecord, 'expiresAtMs'>,
  lastMs: number,
  nowMs: number,
): boolean {
  // A round that is yet to come was dated by a clock that was set back since.
  if (!isGivenUp(order) || lastMs > nowMs) return true;
  let intervalMs = firstExpiredLookUpMs;
  let dueMs = order.expiresAtMs + intervalMs;
  while (dueMs <= lastMs) {
    intervalMs = Math.min(2 * intervalMs, maxExpiredLookUpMs);
    dueMs += intervalMs;
  }
  return dueMs <= nowMs;
}
