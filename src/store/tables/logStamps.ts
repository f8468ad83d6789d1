/**
 * Stamps of the log of receipts in Bitcoin, one a day. A stamp is stored with its signed transaction before
 * that is published: a process that finds it publishes the same one again, so no day is paid for twice.
 */
import { recordsAfter, writeOver } from '../entries.js';
import type { Entry, Operation, Store } from '../store.js';
import { amount, bytes, integer, orNull, table, text, type ValueOf } from '../table.js';

const stampTable = table('stamp', {
  /** The stamped checkpoint, as it was then. */
  note: text,
  /** The checkpoint's number of leaves. */
  size: integer,
  /** The signed transaction; one of its outputs holds the checkpoint's digest. */
  transaction: bytes,
  feeSat: amount,
  /** Height of the chain when it was made: it confirms in a later block. */
  madeAtHeight: integer,
  atMs: integer,
  /** Height of its block; null: not deep enough yet. */
  height: orNull(integer),
  /** The block's header (80 bytes), and the timestamp up to its Merkle root; empty before confirmation. */
  header: bytes,
  timestamp: bytes,
});

/** A stamp. */
export type Stamp = ValueOf<typeof stampTable>;

/** Codec of a stamp. */
export const { encode: encodeStamp, decode: decodeStamp } = stampTable;

/** A stamp, its day (`2026-11-23`, UTC), and its record's bytes. */
export interface StoredStamp {
  readonly day: string;
  readonly stamp: Stamp;
  readonly record: Uint8Array;
}

function stored({ key, value }: Entry): StoredStamp {
  return { day: Buffer.from(key).toString(), stamp: decodeStamp(value), record: value };
}

/** The stamp of a day. */
export async function findStamp(store: Pick<Store, 'get'>, day: string): Promise<StoredStamp | undefined> {
  const record = await store.get('logStamps', Buffer.from(day));
  return record === undefined ? undefined : { day, stamp: decodeStamp(record), record };
}

/** All stamps, the oldest first. */
export async function* stampsOf(store: Store): AsyncGenerator<StoredStamp, void> {
  for await (const entry of recordsAfter(store, 'logStamps')) yield stored(entry);
}

/** The stamps from a day on, the oldest first, at most `limit` of them. */
export async function stampsFrom(
  store: Pick<Store, 'scan'>,
  day: string,
  limit: number,
): Promise<StoredStamp[]> {
  const entries = await store.scan('logStamps', { from: Buffer.from(day), limit });
  return entries.map(stored);
}

/** The operation that writes a day's stamp over the one whose bytes are `from`, if any. */
export function writeStamp(day: string, from: Uint8Array | undefined, stamp: Stamp): Operation {
  return writeOver('logStamps', Buffer.from(day), from, encodeStamp(stamp));
}
