/** Orders in the store: one record each, found by id and by what the payer's network calls it. */
import { campaignColumns } from './campaign.js';
import { findRecord, recordsAfter, recordsUnder, writeOver } from './entries.js';
import { insertKey, replaceKey, type KeyRecord } from './keys.js';
import { StoreUnavailable, type Fence, type Operation, type Store } from './store.js';
import {
  boolean,
  bytes,
  choice,
  integer,
  orNull,
  rows,
  table,
  text,
  widenedTable,
  type ValueOf,
} from './table.js';

/** A payment to an order's address: txid, vout, satoshi, confirmations, when (ms). */
export type OutputRow = readonly [string, number, number, number, number | null];

function outputOf([txid, vout, sat, depth, atMs]: readonly unknown[]): OutputRow {
  const numbers = [vout, sat, depth].every(Number.isSafeInteger);
  if (typeof txid !== 'string' || !numbers || !(atMs === null || Number.isSafeInteger(atMs))) {
    throw new Error('An order record has an output that is none');
  }
  return [txid, vout as number, sat as number, depth as number, atMs as number | null];
}

function earlierOf([outpoint]: readonly unknown[]): string {
  if (typeof outpoint === 'string') return outpoint;
  throw new Error('An order record has an earlier output without a name');
}

/** Amounts are whole satoshi or cents. */
const orderMembers = {
  /** 26 characters of base32: 128 random bits. */
  id: text,
  rail: choice('btc', 'lightning', 'card'),
  tier: text,
  /** The Bitcoin network; null for cards. */
  network: orNull(text),
  sat: integer,
  /** The price in cents, where one is asked. */
  cents: orNull(integer),
  rateCents: orNull(integer),
  termDays: integer,
  createdAtMs: integer,
  expiresAtMs: integer,
  email: orNull(text),
  ...campaignColumns,
  eventId: orNull(text),
  /** Address, payment hash or session id: what its network knows it by. */
  place: text,
  /** The invoice, or the processor's payment intent; null: none (yet). */
  reference: orNull(text),
  /** Index of the address in its account; null for other rails. */
  addressIndex: orNull(integer),
  confirmationsRequired: integer,
  status: text,
  late: boolean,
  /** Outputs to the address that count. */
  outputs: rows(outputOf, (output) => output),
  /** Amount received by Lightning or card. */
  paid: integer,
  /** Amount returned to the card. */
  refunded: integer,
  key: choice('none', 'active', 'suspended', 'revoked'),
  /** The key's id; null until it is made. */
  keyId: orNull(text),
  keyGeneration: integer,
  /** Seed of the raw key; null once it was handed out: then nobody can derive it again. */
  seed: orNull(bytes),
  revealedAtMs: orNull(integer),
  /** Id of the master secret under which the key is derived. */
  secretId: text,
  /** SHA-256 of the claim token. */
  claimHash: bytes,
  /** True if a poll carried the claim token: then only such polls reveal the key. */
  claimed: boolean,
  /** True if something may still happen to it that only its network can tell: it is looked after. */
  open: boolean,
} as const;

/** Members of orders in format 2: what came before the order. */
const earlierMembers = {
  /** Height of the chain's last block when it was made; null: other rails, and orders of format 1. */
  createdHeight: orNull(integer),
  /** Outputs to the address that came before the order (txid:vout, sorted): they never count. */
  earlier: rows(earlierOf, (outpoint) => [outpoint]),
} as const;

/** Members of orders in format 3. */
const addressMembers = {
  /**
   * Keyed hash of the address that ordered it, 16 bytes, as long as it waits for its payment; null: it does
   * not, another rail, or not known.
   */
  orderedBy: orNull(bytes),
} as const;

const orderTable = widenedTable(
  'order',
  orderMembers,
  { members: earlierMembers, without: { createdHeight: null, earlier: [] } },
  { members: addressMembers, without: { orderedBy: null } },
);

/** An order as it is stored. */
export type OrderRecord = ValueOf<typeof orderTable>;

/** An order's bytes and back: the same for the same order, whatever version wrote it. */
export const { encode: encodeOrder, decode: decodeOrder } = orderTable;

/** True if an order is, byte for byte, what it was when it was read. */
export function sameOrder(left: OrderRecord, right: OrderRecord): boolean {
  return Buffer.compare(encodeOrder(left), encodeOrder(right)) === 0;
}

/** Key of an order in its space. */
function orderKey(id: string): Buffer {
  return Buffer.from(id);
}

/** Key by which an order is found from its rail's name for it. */
function placeKey(rail: OrderRecord['rail'], place: string): Buffer {
  return Buffer.from(`${rail}:${place}`);
}

/** Longest id and place that are looked up: longer ones are nobody's. */
const longestName = 200;

/** The order of an id. */
export async function findOrder(store: Store, id: string): Promise<OrderRecord | undefined> {
  if (id === '' || Buffer.byteLength(id) > longestName) return undefined;
  return findRecord(store, 'orders', orderKey(id), decodeOrder);
}

/** The order that a rail knows by an address, a payment hash or a session id. */
export async function findOrderAt(
  store: Store,
  rail: OrderRecord['rail'],
  place: string,
): Promise<OrderRecord | undefined> {
  if (Buffer.byteLength(place) > longestName) return undefined;
  const id = await store.get('orderPlaces', placeKey(rail, place));
  return id === undefined ? undefined : findOrder(store, Buffer.from(id).toString());
}

/** The order that an operator means: by its id, or by its session at the card processor. */
export function findOrderNamed(store: Store, name: string): Promise<OrderRecord | undefined> {
  return name.startsWith('cs_') ? findOrderAt(store, 'card', name) : findOrder(store, name);
}

/** The operations that keep a new order; they conflict where its id or its place is taken. */
export function insertOrder(order: OrderRecord): Operation[] {
  const id = orderKey(order.id);
  return [
    { kind: 'insert', space: 'orders', key: id, value: encodeOrder(order) },
    { kind: 'insert', space: 'orderPlaces', key: placeKey(order.rail, order.place), value: id },
    ...markOperations([], marksOf(order), id),
  ];
}

/** True if an order waits for its payment, or for the rest of it. */
export function isUnpaid({ status }: Pick<OrderRecord, 'status'>): boolean {
  return status === 'pending' || status === 'underpaid';
}

/**
 * Keys in the space of open orders under which an order stands: those open, those not paid for, and those of
 * an address that are not.
 */
function marksOf({ rail, id, open, status, orderedBy }: OrderRecord): readonly string[] {
  if (!open) return [];
  if (!isUnpaid({ status })) return [`${rail}:${id}`];
  const marks = [`${rail}:${id}`, `${unpaidPrefix(rail)}${id}`];
  return orderedBy === null ? marks : [...marks, `${addressPrefix(orderedBy)}${id}`];
}

function unpaidPrefix(rail: OrderRecord['rail']): string {
  return `unpaid ${rail}:`;
}

function addressPrefix(orderedBy: Uint8Array): string {
  return `unpaid-by ${Buffer.from(orderedBy).toString('hex')}:`;
}

/** The operations that bring an order's marks from what they were to what they are. */
function markOperations(from: readonly string[], to: readonly string[], id: Buffer): Operation[] {
  const place = (mark: string) => ({ space: 'openOrders', key: Buffer.from(mark) }) as const;
  return [
    ...from
      .filter((mark) => !to.includes(mark))
      .map((mark) => {
        return { kind: 'replace', ...place(mark), from: id, to: undefined } as const;
      }),
    ...to
      .filter((mark) => !from.includes(mark))
      .map((mark) => {
        return { kind: 'insert', ...place(mark), value: id } as const;
      }),
  ];
}

/** Number of orders of a rail are not paid for and have not ended; counted up to `most`. */
export async function countUnpaid(store: Store, rail: OrderRecord['rail'], most: number): Promise<number> {
  const prefix = unpaidPrefix(rail);
  const range = { from: Buffer.from(prefix), to: Buffer.from(`${prefix}\u007f`), limit: most };
  const found = await store.scan('openOrders', range);
  return found.length;
}

/** The orders of an address that are not paid for and have not ended; at most `most`. */
export async function unpaidOrdersBy(
  store: Store,
  orderedBy: Uint8Array,
  most: number,
): Promise<readonly OrderRecord[]> {
  const prefix = addressPrefix(orderedBy);
  const range = { from: Buffer.from(prefix), to: Buffer.from(`${prefix}\u007f`), limit: most };
  const marks = await store.scan('openOrders', range);
  const found = await Promise.all(marks.map(({ value }) => findOrder(store, Buffer.from(value).toString())));
  return found.flatMap((order) => order ?? []);
}

/** The open orders of a rail, in the order of ids. */
export async function* openOrders(
  store: Store,
  rail: OrderRecord['rail'],
): AsyncGenerator<OrderRecord, void> {
  for await (const { value } of recordsUnder(store, 'openOrders', Buffer.from(`${rail}:`))) {
    const order = await findOrder(store, Buffer.from(value).toString());
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
  /** Increase or decrease since before. */
  change: integer,
  status: text,
  atMs: integer,
});

/** A change of money that came with a change of an order, in satoshi or in cents. */
export type LedgerEntry = ValueOf<typeof ledgerTable>;

/** A ledger entry's bytes and back. */
export const { encode: encodeLedger, decode: decodeLedger } = ledgerTable;

/** State of an order after an event, with the effects on its key and on the money. */
export interface OrderChange {
  readonly to: OrderRecord;
  readonly mint?: KeyRecord;
  readonly key?: { readonly from: KeyRecord; readonly to: KeyRecord };
  readonly ledger?: LedgerEntry;
  /** Operations of the caller's own, such as the id of what happened. */
  readonly also?: readonly Operation[];
}

/** The operations that change an order from what it is; they conflict when it is no longer that. */
function replaceOrder(from: OrderRecord, change: OrderChange): Operation[] {
  const { to, mint, key, ledger, also = [] } = change;
  const id = orderKey(from.id);
  return [
    { kind: 'replace', space: 'orders', key: id, from: encodeOrder(from), to: encodeOrder(to) },
    ...markOperations(marksOf(from), marksOf(to), id),
    ...(mint === undefined ? [] : insertKey(mint)),
    ...(key === undefined ? [] : replaceKey(key.from, key.to)),
    ...(ledger === undefined
      ? []
      : [{ kind: 'append', log: 'ledger', value: encodeLedger(ledger) } as const]),
    ...also,
  ];
}

/** Outcome of changing an order. */
export type OrderOutcome =
  | { readonly kind: 'changed' | 'unchanged'; readonly order: OrderRecord }
  /** An operation of the caller's own conflicts: nothing was changed. */
  | { readonly kind: 'refused'; readonly order: OrderRecord }
  | { readonly kind: 'absent' };

/**
 * Changes an order as `decide` says, which is asked again with what the order has become when another was
 * first; undefined leaves it as it is. On disk when it resolves. With a fence it throws StoreUnavailable
 * once the lease has another holder: the work that was done under it ends.
 */
export async function changeOrder(
  store: Store,
  id: string,
  decide: (order: OrderRecord) => Promise<OrderChange | undefined>,
  fence?: Fence,
): Promise<OrderOutcome> {
  const fenced = fence === undefined ? [] : [{ kind: 'fence', ...fence } as const];
  for (;;) {
    const found = await findOrder(store, id);
    if (found === undefined) return { kind: 'absent' };
    const decided = await decide(found);
    if (decided === undefined) return { kind: 'unchanged', order: found };
    const operations = [...fenced, ...replaceOrder(found, decided)];
    const outcome = await store.commit(operations);
    if (outcome.kind === 'done') return { kind: 'changed', order: decided.to };
    if (outcome.kind === 'refused') throw new StoreUnavailable('another has the lease by now');
    const own = operations.length - (decided.also?.length ?? 0);
    if (outcome.operation >= own) return { kind: 'refused', order: found };
  }
}

/** Takes the address out of every order that has it; `same` decides. Resolves to how many there were. */
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

/** Where an account's addresses stand. */
export interface AddressIndex {
  /** The next index to give out; 0 where none was. */
  readonly next: number;
  /** Addresses that were passed over because they had a history. */
  readonly passedOver: number;
  /** The record as it is; undefined: the account is new to the store. */
  readonly bytes: Uint8Array | undefined;
}

/** The next index of an account's addresses. */
export async function nextAddressIndex(store: Store, account: Uint8Array): Promise<AddressIndex> {
  const reading = await store.get('addressIndexes', account);
  if (reading === undefined) return { next: 0, passedOver: 0, bytes: undefined };
  const bytes = Buffer.from(reading);
  const passedOver = bytes.length < 8 ? 0 : bytes.readUInt32BE(4);
  return { next: bytes.readUInt32BE(0), passedOver, bytes: reading };
}

/**
 * The operation that gives out an account's indexes before `next`; it conflicts where another was first. The
 * record: `next` as four bytes, big-endian; then as many for the addresses passed over, where there are any.
 */
export function takeIndexes(
  account: Uint8Array,
  { bytes, passedOver }: Omit<AddressIndex, 'next'>,
  next: number,
): Operation {
  const value = Buffer.alloc(passedOver === 0 ? 4 : 8);
  value.writeUInt32BE(next);
  if (passedOver > 0) value.writeUInt32BE(passedOver, 4);
  return writeOver('addressIndexes', account, bytes, value);
}
