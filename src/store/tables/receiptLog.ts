/**
 * The log of receipts as stored (docs/log.md). Its leaves are the log of fragments, whose positions are their
 * places, counted from 1. Only the signer writes its tiles and signed checkpoints. One unit writes tiles and
 * their checkpoint.
 */
import { decodeCount, encodeCount } from '../bytes.js';
import { findRecord, writeOver } from '../entries.js';
import { decodeLogged, findFragment } from './fragments.js';
import type { LogEntry, Operation, Store } from '../store.js';
import { boolean, bytes, integer, rows, table, text, widenedTable, type ValueOf } from '../table.js';

const members = {
  /** The log's name in the signature. */
  origin: text,
  /** Ed25519 public key of the log (32 bytes); empty: it was retired, and any other key may sign next. */
  publicKey: bytes,
  /** Number of leaves. */
  size: integer,
  root: bytes,
  /** The signed note, as `GET /checkpoint` answers it. */
  note: text,
  atMs: integer,
  /** True in a restored store: nothing is signed until the operator says which state counts. */
  restored: boolean,
};

function keyOf([key]: readonly unknown[]): Uint8Array {
  if (typeof key !== 'string') throw new Error('A retired key is not text');
  return Buffer.from(key, 'base64url');
}

const retired = {
  members: {
    /** Public keys that the operator retired, the oldest first: none of them signs again. */
    retiredKeys: rows(keyOf, (key) => [Buffer.from(key).toString('base64url')]),
  },
  without: { retiredKeys: [] },
};

const signedTable = widenedTable('signed checkpoint', members, retired);

/** The last signed checkpoint. */
export type SignedCheckpoint = ValueOf<typeof signedTable>;

/** Codec of a signed checkpoint. */
export const { encode: encodeSigned, decode: decodeSigned } = signedTable;

const pastTable = table('past checkpoint', { root: bytes, atMs: integer });

/** A checkpoint in the permanent record. */
export type PastCheckpoint = ValueOf<typeof pastTable>;

/** Codec of a past checkpoint. */
export const { encode: encodePast, decode: decodePast } = pastTable;

const signedKey = Buffer.from('receipt log');

/** The last signed checkpoint with its record's bytes; undefined before the first. */
export async function findSigned(
  store: Pick<Store, 'get'>,
): Promise<{ readonly signed: SignedCheckpoint; readonly record: Uint8Array } | undefined> {
  const record = await store.get('state', signedKey);
  return record === undefined ? undefined : { signed: decodeSigned(record), record };
}

/** The operation that writes the signed checkpoint over the one whose bytes are `from`, if any. */
export function writeSigned(from: Uint8Array | undefined, signed: SignedCheckpoint): Operation {
  return writeOver('state', signedKey, from, encodeSigned(signed));
}

/** The operation that records a checkpoint of `size` leaves for good. */
export function keepCheckpoint(size: number, { root, atMs }: PastCheckpoint): Operation {
  return {
    kind: 'put',
    space: 'logCheckpoints',
    key: encodeCount(size),
    value: encodePast({ root, atMs }),
  };
}

/** Time of the first checkpoint that includes a leaf (ms); undefined while none does. */
export async function includedAtMs(store: Pick<Store, 'scan'>, index: number): Promise<number | undefined> {
  const [found] = await store.scan('logCheckpoints', { from: encodeCount(index + 1), limit: 1 });
  return found === undefined ? undefined : decodePast(found.value).atMs;
}

function tileKey(level: number, index: number): Buffer {
  return Buffer.concat([Buffer.of(level), encodeCount(index)]);
}

/** A tile and its first hashes, 32 bytes each. */
export interface StoredTile {
  readonly level: number;
  readonly index: number;
  readonly hashes: Uint8Array;
}

/** The operation that writes a tile. */
export function writeTile({ level, index, hashes }: StoredTile): Operation {
  return { kind: 'put', space: 'logTiles', key: tileKey(level, index), value: hashes };
}

/** The hashes of a tile; empty if there is none. */
export async function findTile(store: Pick<Store, 'get'>, level: number, index: number): Promise<Buffer> {
  const found = await store.get('logTiles', tileKey(level, index));
  return found === undefined ? Buffer.alloc(0) : Buffer.from(found);
}

/** A leaf's place: the number of leaves before it. Undefined if the receipt has none yet. */
export function findLeaf(store: Pick<Store, 'get'>, receipt: string): Promise<number | undefined> {
  return findRecord(store, 'leafPlaces', Buffer.from(receipt), (place) => decodeCount(place) - 1);
}

/** The operation that records the place of a receipt from before places were stored. */
export function placeLeaf(receipt: string, index: number): Operation {
  return {
    kind: 'put',
    space: 'leafPlaces',
    key: Buffer.from(receipt),
    value: encodeCount(index + 1),
  };
}

/** A leaf: the seal that it commits to, and whether its place was recorded when it was stored. */
export interface Leaf {
  readonly receipt: string;
  /** Seal of the receipt's envelope, 32 bytes. */
  readonly seal: Uint8Array;
  readonly placed: boolean;
}

async function leafOf(store: Store, { position, value }: LogEntry): Promise<Leaf> {
  const { receipt, seal } = decodeLogged(value);
  if (seal !== undefined) return { receipt, seal, placed: true };
  const found = await findFragment(store, receipt);
  if (found === undefined) throw new Error(`Entry ${position} of the log names a receipt that is not there`);
  return { receipt, seal: Buffer.from(found.seal, 'hex'), placed: false };
}

/** Leaves from place `start` on, at most `limit` of them. @throws Error if one between them is missing */
export async function readLeaves(store: Store, start: number, limit: number): Promise<Leaf[]> {
  const entries = await store.read('fragments', { after: start, limit });
  const leaves: Leaf[] = [];
  for (const entry of entries) {
    if (entry.position !== start + leaves.length + 1) {
      throw new Error(`The log of receipts has a gap before position ${entry.position}`);
    }
    leaves.push(await leafOf(store, entry));
  }
  return leaves;
}
