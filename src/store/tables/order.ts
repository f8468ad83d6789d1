/**
 * An order of any rail: members of all rails, and each rail's own. Each rail has a file with its orders'
 * record and rules (such as `lightningOrder.ts`). Transitions are decided on the record as it is stored.
 */
import type { Rail } from '../../contract/pricing.js';
import { btcKind, type BtcEvent, type BtcOrder, type NewBtcOrder } from './bitcoinOrder.js';
import { cardKind, type CardEvent, type CardOrder, type NewCardOrder } from './cardOrder.js';
import { lightningKind, type LightningEvent } from './lightningOrder.js';
import type { LightningOrder, NewLightningOrder } from './lightningOrder.js';
import type { OrderKind } from './orderKind.js';
import { commonOf, none, orderTable, type OrderRow } from './orderRow.js';
import { reasonOf } from '../../system/reason.js';
import { UnreadableRecord } from '../table.js';

/** Types of each rail's orders: the record, a new order's members besides the common ones, the events. */
interface OrderTypes {
  readonly btc: { order: BtcOrder; brings: NewBtcOrder; event: BtcEvent };
  readonly lightning: { order: LightningOrder; brings: NewLightningOrder; event: LightningEvent };
  readonly card: { order: CardOrder; brings: NewCardOrder; event: CardEvent };
}

/** The rails: a new one needs its types above, and its kind here. */
const kinds: { readonly [Name in Rail]: OrderKind<OrderOn<Name>, OrderTypes[Name]['event']> } = {
  btc: btcKind,
  lightning: lightningKind,
  card: cardKind,
};

/** The order of a rail. */
export type OrderOn<Name extends Rail> = OrderTypes[Name]['order'];

/** An order, as stored and as transitions see it. */
export type OrderRecord = OrderOn<Rail>;

/** Members that a new order of a rail must have besides the common ones. */
export type NewMembers<Name extends Rail> = OrderTypes[Name]['brings'];

/** Events of an order on its rail. */
export type RailEvent = OrderTypes[Rail]['event'];

/** The kind of an order's rail, typed for that rail's orders. */
export function kindOf<Name extends Rail>(rail: Name): OrderKind<OrderOn<Name>, OrderTypes[Name]['event']> {
  return kinds[rail];
}

/** Every status of orders on any rail. */
export const orderStatuses: readonly string[] = [
  ...new Set(Object.values(kinds).flatMap(({ statuses }): readonly string[] => statuses)),
];

const foreignColumns = Object.fromEntries(
  Object.entries(kinds).map(([rail, { columns: own }]) => {
    return [rail, (Object.keys(none) as (keyof typeof none)[]).filter((name) => !own.includes(name))];
  }),
) as unknown as Readonly<Record<Rail, readonly (keyof typeof none)[]>>;

function isNone(row: OrderRow, name: keyof typeof none): boolean {
  const value = row[name];
  return Array.isArray(value) ? value.length === 0 : value === none[name];
}

/**
 * The order of a row. Values that no version wrote are an error: they could not be encoded to the same bytes.
 */
function orderOf(row: OrderRow): OrderRecord {
  const { rail, status } = row;
  const { statuses, read } = kindOf(rail);
  const foreign = foreignColumns[rail].find((name) => !isNone(row, name));
  if (foreign !== undefined) throw new Error(`An order record of ${rail} has a ${foreign}`);
  if (!(statuses as readonly string[]).includes(status)) {
    throw new Error(`An order record of ${rail} has the status ${status}`);
  }
  return { ...commonOf(row), ...read(row), rail, status } as OrderRecord;
}

/** An order as a row. */
export function rowOf(order: OrderRecord): OrderRow {
  return kindOf(order.rail).write(order);
}

/** An order's bytes: the same for the same order, whichever version wrote it. */
export function encodeOrder(order: OrderRecord): Uint8Array {
  return orderTable.encode(rowOf(order));
}

/** The order from a record's bytes. @throws UnreadableRecord if they are damaged, or of a later version */
export function decodeOrder(record: Uint8Array): OrderRecord {
  const row = orderTable.decode(record);
  try {
    return orderOf(row);
  } catch (error) {
    throw new UnreadableRecord('order', `it is damaged, or of a later version (${reasonOf(error)}).`);
  }
}

/** True if two reads of an order are byte for byte the same. */
export function sameOrder(left: OrderRecord, right: OrderRecord): boolean {
  return Buffer.compare(encodeOrder(left), encodeOrder(right)) === 0;
}

/** True if an order awaits its payment, or the rest of it. */
export function isUnpaid({ status }: Pick<OrderRecord, 'status'>): boolean {
  return status === 'pending' || status === 'underpaid';
}

/** True if an order's payment is missing, or can still be replaced. */
export function isUnconfirmed(order: Pick<OrderRecord, 'status'>): boolean {
  return isUnpaid(order) || order.status === 'seen';
}

/** Money that an order holds: satoshi, or cents by card. */
export function heldOf(order: OrderRecord): bigint {
  return kindOf(order.rail).held(order);
}

/** Unit of that money in the ledger. */
export function unitOf({ rail }: OrderRecord): 'sat' | 'cent' {
  return kindOf(rail).unit;
}

/** True if an order received anything on its rail. */
export function wasPaid(order: OrderRecord): boolean {
  return kindOf(order.rail).wasPaid(order);
}
