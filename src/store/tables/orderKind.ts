/** A rail's orders: their part of the row, their money, and the rules that decide their next state. */
import type { AnyOrder, none, OrderRow } from './orderRow.js';

/** Effect on the order's key, in the unit that writes the new state. */
export type KeyEffect =
  | { readonly kind: 'mint' }
  | { readonly kind: 'suspend'; readonly reason: string }
  | { readonly kind: 'resume' }
  | { readonly kind: 'revoke'; readonly reason: string };

/** Outcome of an event. */
export interface Transition<Order> {
  /** The same object if nothing changed. */
  readonly order: Order;
  readonly effect: KeyEffect | undefined;
}

/** The outcome of an event that changes nothing. */
export function unchanged<Order>(order: Order): Transition<Order> {
  return { order, effect: undefined };
}

/** The members of an order that all rails share. */
export interface RailOrder extends AnyOrder {
  readonly rail: string;
  readonly status: string;
}

/** The orders of one rail. */
export interface OrderKind<Order extends RailOrder, Event extends { readonly kind: string }> {
  readonly statuses: readonly Order['status'][];
  /** Columns of {@link none} that its records use. */
  readonly columns: readonly (keyof typeof none)[];
  /** The rail's own members. @throws Error if a column that they need is null */
  readonly read: (row: OrderRow) => Omit<Order, keyof RailOrder>;
  /** An order as a row. */
  readonly write: (order: Order) => OrderRow;
  /** Initial values of members; the other members are given. */
  readonly beginning: Partial<Order>;
  /** Unit of its entries in the ledger. */
  readonly unit: 'sat' | 'cent';
  /** Money that an order holds. */
  readonly held: (order: Order) => bigint;
  /** True if an order ever received anything. */
  readonly wasPaid: (order: Order) => boolean;
  /** The rules: what each event of the rail does. They are pure functions. */
  readonly events: {
    readonly [Kind in Event['kind']]: (
      order: Order,
      event: Extract<Event, { readonly kind: Kind }>,
      nowMs: number,
    ) => Transition<Order>;
  };
  /** True if the order must still be looked up. */
  readonly isOpen: (order: Order, nowMs: number) => boolean;
  /** The status of an order whose key was revealed; absent: unchanged. */
  readonly revealedStatus?: Order['status'];
}

/** A column's value, which records of this rail always have. @throws Error if it is null */
export function there<Value>({ id }: OrderRow, name: string, value: Value | null): Value {
  if (value === null) throw new Error(`Order ${id} has no ${name}`);
  return value;
}
