/**
 * An order's row on disk: the columns of all rails, which every order has always had. Those of other rails
 * have fixed values.
 */
import type { Order as OrderAnswer } from '../../contract/orders.js';
import { rails } from '../../contract/pricing.js';
import { campaignColumns } from './campaign.js';
import { amount, boolean, bytes, choice, integer, orNull, rows, text, widenedTable } from '../table.js';
import type { Row, ValueOf } from '../table.js';

/** The Bitcoin networks. */
export type Network = OrderAnswer['network'];

/** The key of an order: `none` until it is paid for. */
export type OrderKey = 'none' | 'active' | 'suspended' | 'revoked';

/** Members of orders on every rail. */
export interface AnyOrder {
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
  /** When the network saw it, according to the node (ms); null: unknown. */
  readonly atMs: number | null;
}

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

/** A list of names. `thing`: the named thing, for errors. */
function namesOf(thing: string) {
  const read = ([name]: readonly unknown[]): string => {
    if (typeof name === 'string') return name;
    throw new Error(`An order record has ${thing} without a name`);
  };
  return rows(read, (name) => [name]);
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
  earlier: namesOf('an earlier output'),
} as const;

/** Columns that format 3 adds; the hash has 16 bytes. */
const addressColumns = { orderedBy: orNull(bytes) } as const;

/** Columns that format 4 adds. */
const seenColumns = { seenHeight: orNull(integer) } as const;

/** Columns that format 5 adds. */
const disputeColumns = { disputes: namesOf('a dispute') } as const;

/** The table of orders. */
export const orderTable = widenedTable(
  'order',
  columns,
  { members: earlierColumns, without: { createdHeight: null, earlier: [] } },
  { members: addressColumns, without: { orderedBy: null } },
  { members: seenColumns, without: { seenHeight: null } },
  { members: disputeColumns, without: { disputes: [] } },
);

/** An order as a row: the columns of all rails. */
export type OrderRow = ValueOf<typeof orderTable>;

/** Values of the columns that a rail does not have. */
export const none = {
  ...{ network: null, cents: null, reference: null, addressIndex: null, confirmationsRequired: 0 },
  ...{ outputs: [], paid: 0n, refunded: 0n, createdHeight: null, earlier: [], orderedBy: null },
  ...{ seenHeight: null, disputes: [] },
} as const;

/** Members of orders on every rail. Listed by name: a spread takes twice as long. */
export function commonOf(row: OrderRow): AnyOrder {
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
