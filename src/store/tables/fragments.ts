/**
 * Fragments and their receipts (docs/receipt.md). One unit stores a fragment, its idempotency key's binding
 * and its duplicate key; nothing of it changes afterwards.
 */
import { createHash } from 'node:crypto';
import type { Fragment } from '../../contract/fragment.js';
import { findRecord, writeOver } from '../entries.js';
import { joinEnvelope, partEnvelope, type EnvelopeParts } from './envelope.js';
import type { Operation, Store } from '../store.js';
import { inSlice } from '../../system/slices.js';
import { bytes, integer, table, text, type ValueOf } from '../table.js';

/** A fragment as stored. */
export interface StoredFragment {
  readonly receipt: string;
  /** The six accepted strings. */
  readonly fragment: Fragment;
  /** The envelope's canonical JSON, exactly as sealed. */
  readonly envelope: string;
  /** SHA-256 of the envelope, in hex. */
  readonly seal: string;
}

const fields = {
  receipt: text,
  title: text,
  content: text,
  mechanism: text,
  test: text,
  kind: text,
  visitor: text,
};

/** Format 1 holds the whole envelope. */
const wholeTable = table('fragment', { ...fields, envelope: text, seal: text });

/** Format of records that hold the envelope in parts: about 700 bytes less. */
const partedFormat = 2;
const partedTable = table(
  'fragment',
  { ...fields, form: integer, digests: bytes, receivedAt: text, status: text, seal: bytes },
  partedFormat,
);

/** A fragment's bytes. */
export function encodeFragment({ receipt, fragment, envelope, seal }: StoredFragment): Uint8Array {
  const parts = partEnvelope({ receipt, kind: fragment.kind }, envelope);
  const sealBytes = Buffer.from(seal, 'hex');
  // An envelope that its parts do not reproduce is stored whole.
  if (parts === undefined || sealBytes.toString('hex') !== seal) {
    return wholeTable.encode({ ...fragment, receipt, envelope, seal });
  }
  // One literal: V8 gives each object that spreads others and adds members a map of its own (3 µs).
  const { title, content, mechanism, test, kind, visitor } = fragment;
  const { form, digests, receivedAt, status } = parts;
  return partedTable.encode({
    receipt,
    title,
    content,
    mechanism,
    test,
    kind,
    visitor,
    form,
    digests,
    receivedAt,
    status,
    seal: sealBytes,
  });
}

/** The fragment of a record's bytes. */
export function decodeFragment(record: Uint8Array): StoredFragment {
  if (record[0] !== partedFormat) {
    const { receipt, envelope, seal, ...fragment } = wholeTable.decode(record);
    return { receipt, fragment, envelope, seal };
  }
  const { receipt, form, digests, receivedAt, status, seal, ...fragment } = partedTable.decode(record);
  const parts = { form, digests, receivedAt, status };
  const envelope = joinEnvelope({ receipt, kind: fragment.kind }, parts);
  return { receipt, fragment, envelope, seal: Buffer.from(seal).toString('hex') };
}

/** A fragment with its envelope's facts about its submission. */
export type ReceivedFragment = StoredFragment['fragment'] & Pick<EnvelopeParts, 'receivedAt' | 'status'>;

/** The fragment of a record's bytes; an envelope that is stored in parts is not rebuilt. */
export function decodeReceived(record: Uint8Array): ReceivedFragment {
  if (record[0] === partedFormat) return partedTable.decode(record);
  const { envelope, ...fragment } = wholeTable.decode(record);
  const { received_at: receivedAt = '', status = '' } = JSON.parse(envelope) as Record<string, string>;
  return { ...fragment, receivedAt, status };
}

const bindingTable = table('fragment key', {
  /** SHA-256 of the canonical payload first submitted with it (32 bytes). */
  payload: bytes,
  /** The receipt that was issued for it. */
  receipt: text,
});

/** The submission bound to an idempotency key. */
export type KeyBinding = ValueOf<typeof bindingTable>;

/** Codec of a binding. */
export const { encode: encodeBinding, decode: decodeBinding } = bindingTable;

const receiptTable = table('fragment receipt', { receipt: text });

/** A receipt's id as bytes: in the index of duplicates, and in the log up to version 0.4. */
export function encodeReceipt(receipt: string): Uint8Array {
  return receiptTable.encode({ receipt });
}

/** Format of log entries with the seal, which is the leaf in the log of receipts. */
const leafFormat = 2;
const leafTable = table('fragment receipt', { receipt: text, seal: bytes }, leafFormat);

/** An entry of the log of fragments. */
export interface LoggedReceipt {
  readonly receipt: string;
  /** Seal of its envelope (32 bytes); undefined in entries up to version 0.4: read it from the fragment. */
  readonly seal: Uint8Array | undefined;
}

/** Bytes of a log entry. */
export function encodeLogged(receipt: string, seal: Uint8Array): Uint8Array {
  return leafTable.encode({ receipt, seal });
}

/** The log entry of some bytes. */
export function decodeLogged(record: Uint8Array): LoggedReceipt {
  if (record[0] === leafFormat) return leafTable.decode(record);
  return { ...receiptTable.decode(record), seal: undefined };
}

/** The receipt's id from its bytes. */
export function decodeReceipt(record: Uint8Array): string {
  return decodeLogged(record).receipt;
}

/** Key of duplicates: probes only match probes. */
export interface DuplicateKey {
  readonly probe: boolean;
  /** `dedupe_key_sha256`, in hex. */
  readonly digest: string;
}

/** The record key of an idempotency key, which clients choose. */
function keyOfIdempotency(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function keyOfDuplicate({ probe, digest }: DuplicateKey): Buffer {
  return Buffer.concat([Buffer.of(probe ? 1 : 0), Buffer.from(digest, 'hex')]);
}

/**
 * The operation that binds an idempotency key to its submission; it conflicts if the key is bound already.
 */
export function insertBinding(key: string, binding: KeyBinding): Operation {
  return {
    kind: 'insert',
    space: 'fragmentKeys',
    key: keyOfIdempotency(key),
    value: encodeBinding(binding),
  };
}

/** The operations that store a fragment; they conflict if a duplicate is stored already. */
export function insertFragment(stored: StoredFragment, duplicate: DuplicateKey): Operation[] {
  const receipt = encodeReceipt(stored.receipt);
  return [
    { kind: 'insert', space: 'fragmentDuplicates', key: keyOfDuplicate(duplicate), value: receipt },
    {
      kind: 'insert',
      space: 'fragments',
      key: Buffer.from(stored.receipt),
      value: encodeFragment(stored),
    },
    {
      kind: 'append',
      log: 'fragments',
      value: encodeLogged(stored.receipt, Buffer.from(stored.seal, 'hex')),
      place: { space: 'leafPlaces', key: Buffer.from(stored.receipt) },
    },
  ];
}

/** The submission bound to an idempotency key; undefined if the key is new. */
export function findBinding(store: Store, key: string): Promise<KeyBinding | undefined> {
  return findRecord(store, 'fragmentKeys', keyOfIdempotency(key), decodeBinding);
}

/** The receipt of a fragment's duplicate; undefined if there is none. */
export function findDuplicate(store: Store, duplicate: DuplicateKey): Promise<string | undefined> {
  return findRecord(store, 'fragmentDuplicates', keyOfDuplicate(duplicate), decodeReceipt);
}

/** The record of a receipt's fragment, for {@link decodeReceived}. The id must be well-formed. */
export function fragmentRecord(store: Pick<Store, 'get'>, receipt: string): Promise<Uint8Array | undefined> {
  return store.get('fragments', Buffer.from(receipt));
}

/** As {@link fragmentRecord} for several receipts, in their order. */
export function fragmentRecords(
  store: Pick<Store, 'getMany'>,
  receipts: readonly string[],
): Promise<readonly (Uint8Array | undefined)[]> {
  return store.getMany(
    'fragments',
    receipts.map((receipt) => Buffer.from(receipt)),
  );
}

/** The fragment of a receipt, whose id must be well-formed. */
export function findFragment(store: Store, receipt: string): Promise<StoredFragment | undefined> {
  return findRecord(store, 'fragments', Buffer.from(receipt), decodeFragment);
}

const totalTable = table('total of the fragments', {
  /** The last log position that is counted. */
  position: integer,
  bytes: integer,
});

/** Codec of a total. */
export const { encode: encodeTotal, decode: decodeTotal } = totalTable;

const totalKey = Buffer.from('bytes of fragments');

/** Bytes of a fragment outside its record: its keys, its entry in the log, its vector. */
const besidesBytes = 700;

/** Bytes of an idempotency key that is bound to an earlier fragment: its record, and what that takes. */
export const bindingBytes = 220;

/** Most fragments that one call counts; the next call counts the rest. */
export const mostCounted = 20_000;

/** Fragments read in one turn of the event loop. An embedded store reads them at once, one by one, too. */
const lotCounted = 50;

type Total = ValueOf<typeof totalTable>;

/** The total, and its record to write over. */
async function readTotal(
  store: Pick<Store, 'get'>,
): Promise<{ total: Total; found: Uint8Array | undefined }> {
  const found = await store.get('state', totalKey);
  return { total: found === undefined ? { position: 0, bytes: 0 } : decodeTotal(found), found };
}

/** Writes a total; false if another process has written one meanwhile. */
async function writeTotal(
  store: Pick<Store, 'commit'>,
  found: Uint8Array | undefined,
  total: Total,
): Promise<boolean> {
  const outcome = await store.commit([writeOver('state', totalKey, found, encodeTotal(total))]);
  return outcome.kind === 'done';
}

/** Bytes of all fragments at the last count. */
export async function fragmentBytes(store: Pick<Store, 'get'>): Promise<number> {
  return (await readTotal(store)).total.bytes;
}

/**
 * Adds the fragments since the last count to the total. Of two concurrent calls one changes nothing. Resolves
 * to the number counted.
 */
export async function countFragments(store: Store, most = mostCounted): Promise<number> {
  const { total, found } = await readTotal(store);
  let { position: last, bytes } = total;
  let counted = 0;
  for (let isMore = true; isMore && counted < most;) {
    const limit = Math.min(lotCounted, most - counted);
    const page = await store.read('fragments', { after: last, limit });
    const receipts = page.map(({ value }) => decodeReceipt(value));
    const records = await inSlice(() => fragmentRecords(store, receipts));
    for (const record of records) bytes += (record?.byteLength ?? 0) + besidesBytes;
    counted += page.length;
    last = page.at(-1)?.position ?? last;
    isMore = page.length === limit;
  }
  if (counted === 0) return 0;
  return (await writeTotal(store, found, { position: last, bytes })) ? counted : 0;
}

/** Adds bytes beside the fragments to the total. Resolves to false if it changed meanwhile: try again. */
export async function addBytes(store: Pick<Store, 'get' | 'commit'>, bytes: number): Promise<boolean> {
  const { total, found } = await readTotal(store);
  return writeTotal(store, found, { ...total, bytes: total.bytes + bytes });
}
