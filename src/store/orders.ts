/** Orders in the store: one record each, found by id and by what the payer's network calls it. */
import { recordsAfter, recordsUnder } from './entries.js';
import { defineRecord, type Member, type Members, type Row } from './record.js';
import { insertKey, replaceKey, type KeyRecord } from './keys.js';
import { StoreUnavailable, type Fence, type Operation, type Store } from './store.js';

/** A payment to an order's address: txid, vout, satoshi, confirmations, when (ms). */
export type OutputRow = readonly [string, number, number, number, number | null];

/** An order as it is stored. Amounts are whole satoshi or cents. */
export interface OrderRecord {
  /** 26 characters of base32: 128 random bits. */
  readonly id: string;
  readonly rail: 'btc' | 'lightning' | 'card';
  readonly tier: string;
  /** The Bitcoin network; null for cards. */
  readonly network: string | null;
  readonly sat: number;
  /** The price in cents, where one is asked. */
  readonly cents: number | null;
  readonly rateCents: number | null;
  readonly termDays: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly email: string | null;
  readonly source: string | null;
  readonly segment: string | null;
  readonly campaign: string | null;
  readonly eventId: string | null;
  /** Address, payment hash or session id: what its network knows it by. */
  readonly place: string;
  /** The invoice, or the processor's payment intent; null: none (yet). */
  readonly reference: string | null;
  /** Index of the address in its account; null for other rails. */
  readonly addressIndex: number | null;
  readonly confirmationsRequired: number;
  readonly status: string;
  readonly late: boolean;
  /** Height of the chain's last block when it was made; null: other rails, and orders of format 1. */
  readonly createdHeight: number | null;
  /** Outputs to the address that count. */
  readonly outputs: readonly OutputRow[];
  /** Outputs to the address that came before the order (txid:vout, sorted): they never count. */
  readonly earlier: readonly string[];
  /** Amount received by Lightning or card. */
  readonly paid: number;
  /** Amount returned to the card. */
  readonly refunded: number;
  readonly key: 'none' | 'active' | 'suspended' | 'revoked';
  /** The key's id; null until it is made. */
  readonly keyId: string | null;
  readonly keyGeneration: number;
  /** Seed of the raw key; null once it was handed out: then nobody can derive it again. */
  readonly seed: Uint8Array | null;
  readonly revealedAtMs: number | null;
  /** Id of the master secret under which the key is derived. */
  readonly secretId: string;
  /** SHA-256 of the claim token. */
  readonly claimHash: Uint8Array;
  /** True if a poll carried the claim token: then only such polls reveal the key. */
  readonly claimed: boolean;
  /** True if something may still happen to it that only its network can tell: it is looked after. */
  readonly open: boolean;
  /**
   * Keyed hash of the address that ordered it, 16 bytes, as long as it waits for its payment; null: it does
   * not, another rail, or not known.
   */
  readonly orderedBy: Uint8Array | null;
}

function membersOf({
  text,
  textOrNull,
  integer,
  integerOrNull,
  bytes,
  boolean,
  rows,
  choice,
}: Members): OrderRecord {
  return {
    id: text('id'),
    rail: choice('rail', ['btc', 'lightning', 'card']),
    tier: text('tier'),
    network: textOrNull('network'),
    sat: integer('sat'),
    cents: integerOrNull('cents'),
    rateCents: integerOrNull('rate_cents'),
    termDays: integer('term_days'),
    createdAtMs: integer('created_at_ms'),
    expiresAtMs: integer('expires_at_ms'),
    email: textOrNull('email'),
    source: textOrNull('source'),
    segment: textOrNull('segment'),
    campaign: textOrNull('campaign'),
    eventId: textOrNull('event_id'),
    place: text('place'),
    reference: textOrNull('reference'),
    addressIndex: integerOrNull('address_index'),
    confirmationsRequired: integer('confirmations_required'),
    status: text('status'),
    late: boolean('late'),
    outputs: rows('outputs').map(outputOf),
    paid: integer('paid'),
    refunded: integer('refunded'),
    key: choice('key', ['none', 'active', 'suspended', 'revoked']),
    keyId: textOrNull('key_id'),
    keyGeneration: integer('key_generation'),
    seed: textOrNull('seed') === null ? null : bytes('seed'),
    revealedAtMs: integerOrNull('revealed_at_ms'),
    secretId: text('secret_id'),
    claimHash: bytes('claim_hash'),
    claimed: boolean('claimed'),
    open: boolean('open'),
    createdHeight: null,
    earlier: [],
    orderedBy: null,
  };
}

/** Format 2 adds what came before the order. */
function chainMembersOf(members: Members): OrderRecord {
  return {
    ...membersOf(members),
    createdHeight: members.integerOrNull('created_height'),
    earlier: members.rows('earlier').map(([outpoint]) => {
      if (typeof outpoint !== 'string')
        throw new Error('An order record has an earlier output without a name');
      return outpoint;
    }),
  };
}

/** Format 3 adds the address that ordered, as long as it is there. */
const record = defineRecord<OrderRecord>('order', {
  1: membersOf,
  2: chainMembersOf,
  3: (members) => ({ ...chainMembersOf(members), orderedBy: members.bytes('ordered_by') }),
});

function outputOf([txid, vout, sat, depth, atMs]: readonly unknown[]): OutputRow {
  const numbers = [vout, sat, depth].every(Number.isSafeInteger);
  if (typeof txid !== 'string' || !numbers || !(atMs === null || Number.isSafeInteger(atMs))) {
    throw new Error('An order record has an output that is none');
  }
  return [txid, vout as number, sat as number, depth as number, atMs as number | null];
}

/**
 * An order's bytes: the same for the same order, whatever version wrote it, as units compare them. The first
 * format that can hold it.
 */
export function encodeOrder(order: OrderRecord): Uint8Array {
  const { createdHeight, earlier, orderedBy } = order;
  const isPlain = createdHeight === null && earlier.length === 0 && orderedBy === null;
  if (isPlain) return record.encode(1, writtenMembers(order));
  const more = { created_height: createdHeight, earlier: earlier.map((outpoint) => [outpoint]) };
  const members = { ...writtenMembers(order), ...more };
  return orderedBy === null
    ? record.encode(2, members)
    : record.encode(3, { ...members, ordered_by: orderedBy });
}

function writtenMembers(order: OrderRecord): Readonly<Record<string, Member>> {
  return {
    id: order.id,
    rail: order.rail,
    tier: order.tier,
    network: order.network,
    sat: order.sat,
    cents: order.cents,
    rate_cents: order.rateCents,
    term_days: order.termDays,
    created_at_ms: order.createdAtMs,
    expires_at_ms: order.expiresAtMs,
    email: order.email,
    source: order.source,
    segment: order.segment,
    campaign: order.campaign,
    event_id: order.eventId,
    place: order.place,
    reference: order.reference,
    address_index: order.addressIndex,
    confirmations_required: order.confirmationsRequired,
    status: order.status,
    late: order.late,
    outputs: order.outputs satisfies readonly Row[],
    paid: order.paid,
    refunded: order.refunded,
    key: order.key,
    key_id: order.keyId,
    key_generation: order.keyGeneration,
    seed: order.seed,
    revealed_at_ms: order.revealedAtMs,
    secret_id: order.secretId,
    claim_hash: order.claimHash,
    claimed: order.claimed,
    open: order.open,
  };
}

/** The order of a record's bytes. */
export const decodeOrder = record.decode;

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
  const reading = await store.get('orders', orderKey(id));
  if (reading === undefined) return undefined;
  return decodeOrder(reading);
}

/** The order that a rail knows by an address, a payment hash or a session id. */
export async function findOrderAt(
  store: Store,
  rail: OrderRecord['rail'],
  place: string,
): Promise<OrderRecord | undefined> {
  if (Buffer.byteLength(place) > longestName) return undefined;
  const reading = await store.get('orderPlaces', placeKey(rail, place));
  if (reading === undefined) return undefined;
  return findOrder(store, Buffer.from(reading).toString());
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

/** A change of money that came with a change of an order, in satoshi or in cents. */
export interface LedgerEntry {
  readonly orderId: string;
  readonly unit: 'sat' | 'cent';
  /** Increase or decrease since before. */
  readonly change: number;
  readonly status: string;
  readonly atMs: number;
}

const ledgerRecord = defineRecord<LedgerEntry>('ledger', {
  1: ({ text, integer, choice }) => ({
    orderId: text('order_id'),
    unit: choice('unit', ['sat', 'cent']),
    change: integer('change'),
    status: text('status'),
    atMs: integer('at_ms'),
  }),
});

/** A ledger entry's bytes. */
export function encodeLedger({ orderId, unit, change, status, atMs }: LedgerEntry): Uint8Array {
  return ledgerRecord.encode(1, { order_id: orderId, unit, change, status, at_ms: atMs });
}

/** The ledger entry of a record's bytes. */
export const decodeLedger = ledgerRecord.decode;

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
  const place = { space: 'addressIndexes', key: account } as const;
  return bytes === undefined
    ? { kind: 'insert', ...place, value }
    : { kind: 'replace', ...place, from: bytes, to: value };
}
