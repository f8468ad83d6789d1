/** Orders in the store: one record each, found by id and by its id in the payer's network. */
import { findRecord, recordsAfter, recordsUnder, removeOver, writeOver } from '../entries.js';
import { appendEvent } from './events.js';
import { insertKey, replaceKeys, type KeyRecord, type KeyStep } from './keys.js';
import {
  decodeOrder,
  encodeOrder,
  isUnconfirmed,
  isUnpaid,
  wasPaid,
  type OrderOn,
  type OrderRecord,
} from './order.js';
import {
  StoreUnavailable,
  type Commit,
  type Entry,
  type Fence,
  type Operation,
  type Store,
} from '../store.js';
import { choice, integer, table, text, whenUnreadable, type LeftOut, type ValueOf } from '../table.js';

/** Key of an order in its space. */
function orderKey(id: string): Buffer {
  return Buffer.from(id);
}

/** Key that leads from a rail's id for an order to the order. */
function placeKey(rail: OrderRecord['rail'], place: string): Buffer {
  return Buffer.from(`${rail}:${place}`);
}

/** Longest id and place that are looked up: none are longer. */
const longestName = 200;

/** The order with this id. */
export async function findOrder(store: Store, id: string): Promise<OrderRecord | undefined> {
  if (id === '' || Buffer.byteLength(id) > longestName) return undefined;
  return findRecord(store, 'orders', orderKey(id), decodeOrder);
}

/** True if an order belongs to a rail. */
export function isOn<Rail extends OrderRecord['rail']>(
  order: OrderRecord | undefined,
  rail: Rail,
): order is OrderOn<Rail> {
  return order?.rail === rail;
}

/** A rail's order by its id. */
export async function findOrderOn<Rail extends OrderRecord['rail']>(
  store: Store,
  rail: Rail,
  id: string,
): Promise<OrderOn<Rail> | undefined> {
  const order = await findOrder(store, id);
  return isOn(order, rail) ? order : undefined;
}

/** The order at a rail's address, payment hash or session id. */
export async function findOrderAt<Rail extends OrderRecord['rail']>(
  store: Store,
  rail: Rail,
  place: string,
): Promise<OrderOn<Rail> | undefined> {
  if (Buffer.byteLength(place) > longestName) return undefined;
  const id = await store.get('orderPlaces', placeKey(rail, place));
  return id === undefined ? undefined : findOrderOn(store, rail, Buffer.from(id).toString());
}

/** An order as operators name it: by its id, or by its session at the card processor. */
export function findOrderNamed(store: Store, name: string): Promise<OrderRecord | undefined> {
  return name.startsWith('cs_') ? findOrderAt(store, 'card', name) : findOrder(store, name);
}

/** The operations that store a new order; they conflict if its id or its place is taken. */
export function insertOrder(order: OrderRecord): Operation[] {
  const id = orderKey(order.id);
  return [
    { kind: 'insert', space: 'orders', key: id, value: encodeOrder(order) },
    { kind: 'insert', space: 'orderPlaces', key: placeKey(order.rail, order.place), value: id },
    ...markOperations([], marksOf(order), id),
  ];
}

/**
 * Keys of an order in the space of open orders: among the open ones, the unpaid ones, and the unconfirmed
 * ones of a client address. A payment that is seen can be replaced: if such an order did not count for its
 * address, one transaction after the other could leave it any number of unpaid orders.
 */
function marksOf(order: OrderRecord): readonly string[] {
  const { rail, id } = order;
  if (!order.open) return [];
  const marks = [`${rail}:${id}`];
  if (isUnpaid(order)) marks.push(`${unpaidPrefix(rail)}${id}`);
  if (order.rail === 'btc' && order.orderedBy !== null && isUnconfirmed(order)) {
    marks.push(`${addressPrefix(order.orderedBy)}:${id}`);
  }
  return marks;
}

function unpaidPrefix(rail: OrderRecord['rail']): string {
  return `unpaid ${rail}:`;
}

function addressPrefix(orderedBy: Uint8Array): string {
  return `unpaid-by ${Buffer.from(orderedBy).toString('hex')}`;
}

/** The operations that change an order's marks from `from` to `to`. */
function markOperations(from: readonly string[], to: readonly string[], id: Buffer): Operation[] {
  return [
    ...from
      .filter((mark) => !to.includes(mark))
      .map((mark) => removeOver('openOrders', Buffer.from(mark), id)),
    ...to
      .filter((mark) => !from.includes(mark))
      .map((mark): Operation => {
        return { kind: 'insert', space: 'openOrders', key: Buffer.from(mark), value: id };
      }),
  ];
}

/** Number of unpaid, unexpired orders of a rail; counted up to `most`. */
export async function countUnpaid(store: Store, rail: OrderRecord['rail'], most: number): Promise<number> {
  const prefix = unpaidPrefix(rail);
  const range = { from: Buffer.from(prefix), to: Buffer.from(`${prefix}\u007f`), limit: most };
  const found = await store.scan('openOrders', range);
  return found.length;
}

/** The marks of the unconfirmed, unexpired orders on chain whose `orderedBy` begins with `name`. */
function unconfirmedBy(store: Store, name: Uint8Array, most: number): Promise<readonly Entry[]> {
  const prefix = addressPrefix(name);
  const range = { from: Buffer.from(prefix), to: Buffer.from(`${prefix}\u007f`), limit: most };
  return store.scan('openOrders', range);
}

/** Number of the orders of {@link unconfirmedOrdersBy}. */
export async function countUnconfirmedBy(store: Store, name: Uint8Array, most: number): Promise<number> {
  return (await unconfirmedBy(store, name, most)).length;
}

/** The unconfirmed, unexpired orders of a client address, or of its network; at most `most`. */
export async function unconfirmedOrdersBy(
  store: Store,
  name: Uint8Array,
  most: number,
): Promise<readonly OrderRecord[]> {
  const marks = await unconfirmedBy(store, name, most);
  const found = await Promise.all(marks.map(({ value }) => findOrder(store, Buffer.from(value).toString())));
  return found.flatMap((order) => order ?? []);
}

/**
 * The open orders of a rail, in the order of ids. Those that this version cannot read go to `leftOut`: the
 * others must not wait for them.
 */
export async function* openOrders<Rail extends OrderRecord['rail']>(
  store: Store,
  rail: Rail,
  leftOut: LeftOut,
): AsyncGenerator<OrderOn<Rail>, void> {
  for await (const { value } of recordsUnder(store, 'openOrders', Buffer.from(`${rail}:`))) {
    const found = findOrderOn(store, rail, Buffer.from(value).toString());
    const order = await whenUnreadable(found, leftOut);
    if (order !== undefined) yield order;
  }
}

/** The orders, in the order of ids. */
export async function* allOrders(store: Store): AsyncGenerator<OrderRecord, void> {
  for await (const { value } of recordsAfter(store, 'orders')) yield decodeOrder(value);
}

const ledgerTable = table('ledger', {
  orderId: text,
  unit: choice('sat', 'cent'),
  /** Increase or decrease. */
  change: integer,
  status: text,
  atMs: integer,
});

/** A change of money through a change of an order, in satoshi or in cents. */
export type LedgerEntry = ValueOf<typeof ledgerTable>;

/** Codec of a ledger entry. */
export const { encode: encodeLedger, decode: decodeLedger } = ledgerTable;

/** New state of an order after an event, with the effects on its key and on the money. */
export interface OrderChange {
  readonly to: OrderRecord;
  readonly mint?: KeyRecord;
  readonly keys?: readonly KeyStep[];
  readonly ledger?: LedgerEntry | undefined;
  /** Further operations of the caller, such as recording an event's id. */
  readonly also?: readonly Operation[] | undefined;
}

/** The operations that change an order from `from`; they conflict if it has changed. */
function replaceOrder(from: OrderRecord, change: OrderChange): Operation[] {
  const { to, mint, keys = [], ledger, also = [] } = change;
  const id = orderKey(from.id);
  return [
    writeOver('orders', id, encodeOrder(from), encodeOrder(to)),
    ...markOperations(marksOf(from), marksOf(to), id),
    ...(mint === undefined ? [] : insertKey(mint)),
    // A key that replaces another is not a payment.
    ...(mint === undefined || from.keyId !== null
      ? []
      : [appendEvent({ type: 'order.paid', object: from.id, atMs: mint.issuedAtMs })]),
    ...replaceKeys(keys),
    ...(ledger === undefined
      ? []
      : [{ kind: 'append', log: 'ledger', value: encodeLedger(ledger) } as const]),
    ...also,
  ];
}

/** Outcome of changing an order. */
export type OrderOutcome =
  | { readonly kind: 'changed' | 'unchanged'; readonly order: OrderRecord }
  /** An operation of the caller conflicts: nothing was changed. */
  | { readonly kind: 'refused'; readonly order: OrderRecord }
  | { readonly kind: 'absent' };

/**
 * Changes an order as `decide` says, which is called again with the new record after a conflict; undefined
 * leaves it as it is. On disk when it resolves. With a fence it throws StoreUnavailable once the lease has
 * another holder: the work under the lease ends.
 */
export async function changeOrder(
  store: Store,
  id: string,
  decide: (order: OrderRecord) => Promise<OrderChange | undefined>,
  fence?: Fence,
  commit: Commit = (operations) => store.commit(operations),
): Promise<OrderOutcome> {
  const fenced = fence === undefined ? [] : [{ kind: 'fence', ...fence } as const];
  for (;;) {
    const found = await findOrder(store, id);
    if (found === undefined) return { kind: 'absent' };
    const decided = await decide(found);
    if (decided === undefined) return { kind: 'unchanged', order: found };
    const operations = [...fenced, ...replaceOrder(found, decided)];
    const outcome = await commit(operations);
    if (outcome.kind === 'done') return { kind: 'changed', order: decided.to };
    if (outcome.kind === 'refused') throw new StoreUnavailable('another has the lease by now');
    const { also = [] } = decided;
    if (outcome.operation >= operations.length - also.length) return { kind: 'refused', order: found };
  }
}

/**
 * Removes an email address from every order that has it; `same` decides. Resolves to the number of orders.
 */
export async function forgetOrderEmails(store: Store, same: (email: string) => boolean): Promise<number> {
  const found: string[] = [];
  for await (const { id, email } of allOrders(store)) {
    if (email !== null && same(email)) found.push(id);
  }
  for (const id of found) {
    await changeOrder(store, id, (order) => Promise.resolve({ to: { ...order, email: null } }));
  }
  return found.length;
}

/** Erased values of what a buyer wrote into an order. */
const unwritten = { email: null, source: null, segment: null, campaign: null, eventId: null } as const;

/** True if an order never received a payment, and is no longer looked up for one. */
function neverPaid(order: OrderRecord): boolean {
  return !order.open && order.key === 'none' && !wasPaid(order);
}

/**
 * Erases what buyers wrote into orders that were made before `beforeMs` and never paid: an order costs
 * nothing, and may carry some kilobytes. A small record remains, by which a late payment still finds its
 * order. Resolves to the number of orders.
 */
export async function eraseUnpaidOrders(store: Store, beforeMs: number): Promise<number> {
  const found: string[] = [];
  for await (const order of allOrders(store)) {
    const isWritten = Object.keys(unwritten).some((name) => order[name as keyof typeof unwritten] !== null);
    if (isWritten && order.createdAtMs < beforeMs && neverPaid(order)) found.push(order.id);
  }
  for (const id of found) {
    // Decided again after a conflict: a payment may come at any moment.
    await changeOrder(store, id, (order) =>
      Promise.resolve(neverPaid(order) ? { to: { ...order, ...unwritten } } : undefined),
    );
  }
  return found.length;
}
