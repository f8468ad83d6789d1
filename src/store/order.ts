/**
 * An order: members of all rails, and each rail's own. `checkout/orders.ts` decides over this record, which
 * is the one that is stored. On disk every order has the columns of all rails, as it always had; those of
 * other rails have fixed values.
 */
import type { Order as OrderAnswer } from '../contract/orders.js';
import { rails, type Rail } from '../contract/pricing.js';
import { campaignColumns } from './campaign.js';
import { amount, boolean, bytes, choice, integer, orNull, rows, text, widenedTable } from './table.js';
import type { Row, ValueOf } from './table.js';

/** The Bitcoin networks. */
export type Network = OrderAnswer['network'];

/** States of an order on each rail. */
export type BtcStatus = 'pending' | 'seen' | 'underpaid' | 'confirmed' | 'expired';
export type LightningStatus = 'pending' | 'settled' | 'expired';
export type CardStatus =
  'open' | 'paid' | 'revealed' | 'expired' | 'failed' | 'refunded' | 'disputed' | 'revoked';

/** The key of an order: `none` until it is paid for. */
export type OrderKey = 'none' | 'active' | 'suspended' | 'revoked';

/** Members of orders on every rail. */
interface AnyOrder {
  /** 26 characters of base32: 128 random bits. */
  readonly id: string;
  readonly tier: string;
  /** The tier's price in satoshi. */
  readonly sat: bigint;
  /** Exchange rate that the cents were calculated with; null: not calculated. */
  readonly rateCents: bigint | null;
  readonly termDays: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly email: string | null;
  readonly source: string | null;
  readonly segment: string | null;
  readonly campaign: string | null;
  readonly eventId: string | null;
  /** Address, payment hash or session id: its id in its network. */
  readonly place: string;
  /** True if it was paid after its expiry. */
  readonly late: boolean;
  readonly key: OrderKey;
  /** The key's id; null until it is made. */
  readonly keyId: string | null;
  readonly keyGeneration: number;
  /** Seed of the raw key; null once revealed: then nobody can derive the key again. */
  readonly seed: Uint8Array | null;
  /** When the raw key was revealed; null: not yet. */
  readonly revealedAtMs: number | null;
  /** Id of the master secret under which the key is derived. */
  readonly secretId: string;
  /** SHA-256 of the claim token. */
  readonly claimHash: Uint8Array;
  /** True if a poll has carried the claim token: then only such polls reveal the key. */
  readonly claimed: boolean;
  /** True if its network may still report something: it is looked up. */
  readonly open: boolean;
}

/** A payment to an order's address. */
export interface Output {
  readonly txid: string;
  readonly vout: number;
  readonly sat: bigint;
  /** 0: not in a block. */
  readonly confirmations: number;
  /** When the network saw it, by the node (ms); null: unknown. */
  readonly atMs: number | null;
}

/** An on-chain order. */
export interface BtcOrder extends AnyOrder {
  readonly rail: 'btc';
  readonly status: BtcStatus;
  readonly network: Network;
  /** Index of the address in its account. */
  readonly addressIndex: number;
  /** Depth at which an output counts. */
  readonly confirmationsRequired: number;
  /** Every output that counts, sorted by txid and vout. */
  readonly outputs: readonly Output[];
  /** Height of the chain's last block when the order was made; null in orders of format 1. */
  readonly createdHeight: number | null;
  /** Outpoints (txid:vout) from before the order, sorted: they never count. */
  readonly earlier: readonly string[];
  /** Keyed hash of the buyer's client address, while the order is unpaid; null: paid, or unknown. */
  readonly orderedBy: Uint8Array | null;
}

/** A Lightning order. */
export interface LightningOrder extends AnyOrder {
  readonly rail: 'lightning';
  readonly status: LightningStatus;
  readonly network: Network;
  /** The invoice. */
  readonly bolt11: string;
  readonly paidSat: bigint;
}

/** A card order. */
export interface CardOrder extends AnyOrder {
  readonly rail: 'card';
  readonly status: CardStatus;
  /** The price. */
  readonly cents: bigint;
  /** The processor's payment intent; null: none yet. */
  readonly intent: string | null;
  readonly paidCents: bigint;
  /** Total refunded to the buyer. */
  readonly refundedCents: bigint;
}

/** Members that a new order of each rail must bring, besides the common ones. */
export interface NewMembers {
  readonly btc: Pick<BtcOrder, 'network' | 'addressIndex' | 'confirmationsRequired' | 'createdHeight'> &
    Partial<Pick<BtcOrder, 'orderedBy'>>;
  readonly lightning: Pick<LightningOrder, 'network' | 'bolt11'>;
  readonly card: Pick<CardOrder, 'cents' | 'rateCents'>;
}

/** An order, as decided over and as stored. */
export type OrderRecord = BtcOrder | LightningOrder | CardOrder;

/** The order of a rail. */
export type OrderOn<Name extends Rail> = Extract<OrderRecord, { readonly rail: Name }>;

function outputOf([txid, vout, sat, depth, atMs]: readonly unknown[]): Output {
  const numbers = [vout, sat, depth].every(Number.isSafeInteger);
  if (typeof txid !== 'string' || !numbers || !(atMs === null || Number.isSafeInteger(atMs))) {
    throw new Error('An order record has a malformed output');
  }
  const [confirmations, at] = [depth as number, atMs as number | null];
  return { txid, vout: vout as number, sat: BigInt(sat as number), confirmations, atMs: at };
}

/** An output as stored and listed: txid, vout, satoshi, confirmations, time (ms). */
export function outputRow({ txid, vout, sat, confirmations, atMs }: Output): Row {
  return [txid, vout, Number(sat), confirmations, atMs];
}

function earlierOf([outpoint]: readonly unknown[]): string {
  if (typeof outpoint === 'string') return outpoint;
  throw new Error('An order record has an earlier output without a name');
}

/** Columns of format 1, for all rails. */
const columns = {
  id: text,
  rail: choice(...rails),
  tier: text,
  network: orNull(choice('mainnet', 'testnet', 'signet', 'regtest')),
  sat: amount,
  cents: orNull(amount),
  rateCents: orNull(amount),
  termDays: integer,
  createdAtMs: integer,
  expiresAtMs: integer,
  email: orNull(text),
  ...campaignColumns,
  eventId: orNull(text),
  place: text,
  /** The invoice, or the payment intent. */
  reference: orNull(text),
  addressIndex: orNull(integer),
  confirmationsRequired: integer,
  status: text,
  late: boolean,
  outputs: rows(outputOf, outputRow),
  /** Received over Lightning (sat) or by card (cents). */
  paid: amount,
  refunded: amount,
  key: choice('none', 'active', 'suspended', 'revoked'),
  keyId: orNull(text),
  keyGeneration: integer,
  seed: orNull(bytes),
  revealedAtMs: orNull(integer),
  secretId: text,
  claimHash: bytes,
  claimed: boolean,
  open: boolean,
} as const;

/** Columns that format 2 adds. */
const earlierColumns = {
  createdHeight: orNull(integer),
  earlier: rows(earlierOf, (outpoint) => [outpoint]),
} as const;

/** Columns that format 3 adds; the hash has 16 bytes. */
const addressColumns = { orderedBy: orNull(bytes) } as const;

const orderTable = widenedTable(
  'order',
  columns,
  { members: earlierColumns, without: { createdHeight: null, earlier: [] } },
  { members: addressColumns, without: { orderedBy: null } },
);

/** An order as a row: the columns of all rails. */
type OrderRow = ValueOf<typeof orderTable>;

/** Values of the columns that a rail does not have. */
const none = {
  ...{ network: null, cents: null, reference: null, addressIndex: null, confirmationsRequired: 0 },
  ...{ outputs: [], paid: 0n, refunded: 0n, createdHeight: null, earlier: [], orderedBy: null },
} as const;

/** The parts of an order's record that differ by rail. */
interface OrderKind<Order extends OrderRecord> {
  readonly statuses: readonly Order['status'][];
  /** Columns of {@link none} that its records use. */
  readonly columns: readonly (keyof typeof none)[];
  /** The rail's own members. @throws Error if a column that they need is null */
  readonly read: (row: OrderRow) => Omit<Order, keyof AnyOrder | 'rail' | 'status'>;
  /** An order as a row. */
  readonly write: (order: Order) => OrderRow;
  /** Initial values of members; the other members are given ({@link NewMembers}). */
  readonly beginning: Partial<Order>;
  /** Unit of its entries in the ledger. */
  readonly unit: 'sat' | 'cent';
  /** Money that an order holds. */
  readonly held: (order: Order) => bigint;
  /** True if an order ever received anything. */
  readonly wasPaid: (order: Order) => boolean;
}

/** A column's value, which records of this rail always have. @throws Error if it is null */
function there<Value>({ id }: OrderRow, name: string, value: Value | null): Value {
  if (value === null) throw new Error(`Order ${id} has no ${name}`);
  return value;
}

/** The rails: a new rail needs an entry here, and an interface of its orders above. */
const kinds: { readonly [Name in Rail]: OrderKind<OrderOn<Name>> } = {
  btc: {
    statuses: ['pending', 'seen', 'underpaid', 'confirmed', 'expired'],
    columns: [
      ...(['network', 'addressIndex', 'confirmationsRequired', 'outputs'] as const),
      ...(['createdHeight', 'earlier', 'orderedBy'] as const),
    ],
    read: (row) => ({
      network: there(row, 'network', row.network),
      addressIndex: there(row, 'address index', row.addressIndex),
      confirmationsRequired: row.confirmationsRequired,
      outputs: row.outputs,
      createdHeight: row.createdHeight,
      earlier: row.earlier,
      orderedBy: row.orderedBy,
    }),
    write: (order) => ({ ...none, ...order }),
    beginning: { status: 'pending', open: true, outputs: [], earlier: [], orderedBy: null },
    unit: 'sat',
    held: receivedSat,
    wasPaid: ({ outputs }) => outputs.length > 0,
  },
  lightning: {
    statuses: ['pending', 'settled', 'expired'],
    columns: ['network', 'reference', 'paid'],
    read: (row) => ({
      network: there(row, 'network', row.network),
      bolt11: there(row, 'invoice', row.reference),
      paidSat: row.paid,
    }),
    write: (order) => ({ ...none, ...order, reference: order.bolt11, paid: order.paidSat }),
    beginning: { status: 'pending', open: true, paidSat: 0n },
    unit: 'sat',
    held: ({ paidSat }) => paidSat,
    wasPaid: ({ paidSat }) => paidSat > 0n,
  },
  card: {
    statuses: ['open', 'paid', 'revealed', 'expired', 'failed', 'refunded', 'disputed', 'revoked'],
    columns: ['cents', 'reference', 'paid', 'refunded'],
    read: (row) => ({
      cents: there(row, 'price in cents', row.cents),
      intent: row.reference,
      paidCents: row.paid,
      refundedCents: row.refunded,
    }),
    write: (order) => {
      const { intent: reference, paidCents: paid, refundedCents: refunded } = order;
      return { ...none, ...order, reference, paid, refunded };
    },
    beginning: { status: 'open', open: false, intent: null, paidCents: 0n, refundedCents: 0n },
    unit: 'cent',
    held: ({ paidCents, refundedCents }) => paidCents - refundedCents,
    wasPaid: ({ paidCents, refundedCents }) => paidCents > 0n || refundedCents > 0n,
  },
};

/** The kind of an order's rail, typed for that rail's orders. */
function kindOf<Name extends Rail>(rail: Name): OrderKind<OrderOn<Name>> {
  return kinds[rail];
}

const foreignColumns = Object.fromEntries(
  Object.entries(kinds).map(([rail, { columns: own }]) => {
    return [rail, (Object.keys(none) as (keyof typeof none)[]).filter((name) => !own.includes(name))];
  }),
) as unknown as Readonly<Record<Rail, readonly (keyof typeof none)[]>>;

function isNone(row: OrderRow, name: keyof typeof none): boolean {
  const value = row[name];
  return Array.isArray(value) ? value.length === 0 : value === none[name];
}

/** Members of orders on every rail. Listed by name: a spread takes twice as long. */
function commonOf(row: OrderRow): AnyOrder {
  return {
    id: row.id,
    tier: row.tier,
    sat: row.sat,
    rateCents: row.rateCents,
    termDays: row.termDays,
    createdAtMs: row.createdAtMs,
    expiresAtMs: row.expiresAtMs,
    email: row.email,
    source: row.source,
    segment: row.segment,
    campaign: row.campaign,
    eventId: row.eventId,
    place: row.place,
    late: row.late,
    key: row.key,
    keyId: row.keyId,
    keyGeneration: row.keyGeneration,
    seed: row.seed,
    revealedAtMs: row.revealedAtMs,
    secretId: row.secretId,
    claimHash: row.claimHash,
    claimed: row.claimed,
    open: row.open,
  };
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

/**
 * The order from a record's bytes. @throws Error if the format is unknown, or the bytes are not an order's
 */
export function decodeOrder(record: Uint8Array): OrderRecord {
  return orderOf(orderTable.decode(record));
}

/** True if two reads of an order are byte for byte the same. */
export function sameOrder(left: OrderRecord, right: OrderRecord): boolean {
  return Buffer.compare(encodeOrder(left), encodeOrder(right)) === 0;
}

/** True if an order awaits its payment, or the rest of it. */
export function isUnpaid({ status }: Pick<OrderRecord, 'status'>): boolean {
  return status === 'pending' || status === 'underpaid';
}

/** Satoshi that arrived on chain, including unconfirmed ones. */
export function receivedSat({ outputs }: Pick<BtcOrder, 'outputs'>): bigint {
  return outputs.reduce((sum, { sat }) => sum + sat, 0n);
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

/** Initial values of the members of a rail's orders. */
export function beginningOf(rail: Rail): Partial<OrderRecord> {
  return kindOf(rail).beginning;
}
