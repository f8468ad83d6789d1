/**
 * Stamps checkpoints in Bitcoin, one a day (UTC): an output of a transaction holds the SHA-256 of the signed
 * checkpoint. In this order: the wallet signs a transaction, the store records it as the stamp of the day
 * unless that day has one, the wallet publishes it. A crash before the store's unit spends nothing; after it
 * the next run publishes the same transaction again. Once its block is deep enough, the stamp is complete.
 */
import { findSigned, type SignedCheckpoint } from '../store/tables/receiptLog.js';
import { findStamp, stampsOf, writeStamp, type Stamp, type StoredStamp } from '../store/tables/logStamps.js';
import type { Store } from '../store/store.js';
import { dateText, dayMs, type Clock } from '../system/clock.js';
import { merkleSteps, readHeader } from './blockHeader.js';
import { mostMessageBytes, openTimestamp, sha256, writeTimestamp, type Step } from './timestampFile.js';

/** Depth from which a transaction counts as final; its own block counts as one. */
const deepEnough = 6;

/** A failure; the reason is a sentence part for the operator. */
export interface StampFailure {
  readonly wrong: string;
}

/** A signed transaction that is not published. */
export interface SignedTransaction {
  readonly transaction: Uint8Array;
  readonly feeSat: bigint;
  /** Length of the bytes that its id hashes. */
  readonly bytes: number;
  readonly tipHeight: number;
}

/** A confirmed transaction. */
export interface InBlock {
  readonly kind: 'in block';
  readonly height: number;
  readonly confirmations: number;
  /** The block's header. */
  readonly header: Buffer;
  /** Hashes of the block's transactions, in order. */
  readonly txids: readonly Buffer[];
  /** The bytes that the transaction's id hashes: the transaction without its witnesses. */
  readonly hashed: Buffer;
}

/** An unconfirmed transaction. */
export type NotInBlock = { readonly kind: 'absent' } | { readonly kind: 'waiting' };

/** A wallet that can spend. `absent`: it does not know the transaction; `waiting`: it is unconfirmed. */
export interface StampWallet {
  /** Signs a transaction with one data output, for at most `mostSat` in fees. Spends nothing. */
  readonly sign: (
    data: Uint8Array,
    label: string,
    mostSat: bigint,
  ) => Promise<SignedTransaction | StampFailure>;
  /** Publishes a transaction under a label; idempotent. */
  readonly publish: (transaction: Uint8Array, label: string) => Promise<StampFailure | undefined>;
  /** Finds a transaction; `fromHeight`: it is in no earlier block. */
  readonly find: (
    transaction: Uint8Array,
    fromHeight: number,
  ) => Promise<InBlock | NotInBlock | StampFailure>;
}

/** Dependencies of stamping. */
export interface StampingParts {
  readonly store: Store;
  readonly wallet: StampWallet;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** Outcome for a stamp. */
export type Stamped =
  | { readonly kind: 'published'; readonly day: string; readonly size: number; readonly feeSat: bigint }
  | { readonly kind: 'waiting'; readonly day: string; readonly confirmations: number }
  | { readonly kind: 'complete'; readonly day: string; readonly height: number }
  | { readonly kind: 'nothing new'; readonly day: string }
  | { readonly kind: 'failed'; readonly day: string; readonly reason: string };

const mostOriginCharacters = 300;

/** The label of a day's transaction in the wallet, by which it is found there. */
function labelOf(day: string, note: string): string {
  const [origin = ''] = note.split('\n');
  return `fusegate log stamp ${day} ${origin.slice(0, mostOriginCharacters)}`;
}

/** The script of a data output, which cannot be spent. */
export function dataScript(data: Uint8Array): Buffer {
  const opReturn = 0x6a;
  return Buffer.concat([Buffer.of(opReturn, data.byteLength), data]);
}

/** The steps from a checkpoint's digest to a Merkle root; undefined if they do not lead there. */
function stepsOf(note: string, { hashed, txids }: InBlock): Step[] | undefined {
  const digest = sha256(Buffer.from(note));
  const script = dataScript(digest);
  const at = hashed.indexOf(script);
  const txid = sha256(sha256(hashed));
  const place = txids.findIndex((each) => each.equals(txid));
  if (at < 0 || place < 0) return undefined;
  const begin = at + script.byteLength - digest.byteLength;
  return [
    { kind: 'prepend', bytes: hashed.subarray(0, begin) },
    { kind: 'append', bytes: hashed.subarray(begin + digest.byteLength) },
    ...merkleSteps(txids, place),
  ];
}

/** A stamp with its verified timestamp; undefined if the block does not prove it. */
export function completed(stamp: Stamp, found: InBlock): Stamp | undefined {
  const steps = stepsOf(stamp.note, found);
  const header = readHeader(found.header);
  if (steps === undefined || 'wrong' in header) return undefined;
  const content = Buffer.from(stamp.note);
  const timestamp = writeTimestamp(content, steps, found.height);
  const attested = openTimestamp(timestamp, content);
  if ('wrong' in attested || attested[0]?.root.equals(header.merkleRoot) !== true) return undefined;
  return { ...stamp, height: found.height, header: found.header, timestamp };
}

/** State of a stamp's transaction, as the wallet reports it. */
type Found = Awaited<ReturnType<StampWallet['find']>>;

function findTransaction({ wallet }: StampingParts, { stamp }: StoredStamp): Promise<Found> {
  return wallet.find(stamp.transaction, stamp.madeAtHeight);
}

/** Continues an incomplete stamp. */
async function advance(
  { store, wallet }: StampingParts,
  { day, stamp, record }: StoredStamp,
  found: Found,
): Promise<Stamped> {
  const failed = (reason: string): Stamped => ({ kind: 'failed', day, reason });
  if ('wrong' in found) return failed(found.wrong);
  if (found.kind === 'absent') {
    const published = await wallet.publish(stamp.transaction, labelOf(day, stamp.note));
    if (published !== undefined) return failed(published.wrong);
    return { kind: 'published', day, size: stamp.size, feeSat: stamp.feeSat };
  }
  if (found.kind === 'waiting') return { kind: 'waiting', day, confirmations: 0 };
  const { confirmations, height } = found;
  if (confirmations < deepEnough) return { kind: 'waiting', day, confirmations };
  const next = completed(stamp, found);
  if (next === undefined) return failed(`block ${height} does not prove the stamp`);
  // A conflict: another run wrote the same.
  await store.commit([writeStamp(day, record, next)]);
  return { kind: 'complete', day, height };
}

/** Makes the stamp of a day without one. */
async function begin(
  parts: StampingParts,
  signed: SignedCheckpoint | undefined,
  day: string,
  mostSat: bigint,
): Promise<Stamped> {
  const { store, wallet, clock } = parts;
  // Without a key the log waits for the operator's new one; a restored checkpoint may not be the last one
  // signed.
  if (signed === undefined || signed.restored || signed.publicKey.byteLength === 0) {
    const reason = 'the log has signed nothing yet, was restored, or waits for a key (fusegate log resolve)';
    return { kind: 'failed', day, reason };
  }
  const { note, size } = signed;
  const label = labelOf(day, note);
  const made = await wallet.sign(sha256(Buffer.from(note)), label, mostSat);
  if ('wrong' in made) return { kind: 'failed', day, reason: made.wrong };
  const { transaction, feeSat, bytes, tipHeight } = made;
  if (feeSat > mostSat) return { kind: 'failed', day, reason: `it would cost ${feeSat} sat` };
  if (bytes > mostMessageBytes) {
    return { kind: 'failed', day, reason: 'the transaction spends more coins than a timestamp can have' };
  }
  const stamp: Stamp = {
    ...{ note, size, transaction, feeSat, madeAtHeight: tipHeight, atMs: clock.wallMs() },
    ...{ height: null, header: Buffer.alloc(0), timestamp: Buffer.alloc(0) },
  };
  await store.commit([writeStamp(day, undefined, stamp)]);
  // Another run may have been first: the stored transaction is published, whichever run made it.
  const stored = await findStamp(store, day);
  if (stored === undefined) throw new Error(`The stamp of ${day} was written and is not there`);
  return advance(parts, stored, await findTransaction(parts, stored));
}

/** A checkpoint's text, without its signatures. */
function textOf({ note }: Pick<Stamp, 'note'>): string | undefined {
  return note.split('\n\n')[0];
}

/** Age at which an unconfirmed transaction is given up (ms): nodes have dropped it by then. */
const givenUpMs = 14 * dayMs;

/** Continues every incomplete stamp, and makes today's if the log has grown since the last. */
export async function* stamp(parts: StampingParts, mostSat: bigint): AsyncGenerator<Stamped, void> {
  const nowMs = parts.clock.wallMs();
  const today = dateText(nowMs);
  let last: StoredStamp | undefined;
  for await (const stored of stampsOf(parts.store)) {
    const { height, atMs } = stored.stamp;
    if (height === null) {
      const found = await findTransaction(parts, stored);
      const isLost = 'kind' in found && found.kind !== 'in block';
      if (isLost && nowMs - atMs >= givenUpMs) continue;
      yield advance(parts, stored, found);
    }
    last = stored;
  }
  if (last?.day === today) return;
  const signed = (await findSigned(parts.store))?.signed;
  const isStamped = last !== undefined && textOf(last.stamp) === (signed && textOf(signed));
  if (isStamped) yield { kind: 'nothing new', day: today };
  else yield begin(parts, signed, today, mostSat);
}
