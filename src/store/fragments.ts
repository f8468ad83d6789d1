/**
 * Fragments and their receipts (docs/receipt.md). One unit stores a fragment, what its idempotency key stands
 * for, and by what it is found again; nothing of it changes afterwards.
 */
import { createHash } from 'node:crypto';
import type { Fragment } from '../contract/fragment.js';
import { entriesAfter, findRecord, writeOver } from './entries.js';
import { joinEnvelope, partEnvelope } from './envelope.js';
import type { Operation, Store } from './store.js';
import { bytes, integer, table, text, type ValueOf } from './table.js';

/** A fragment as it is stored. */
export interface StoredFragment {
  readonly receipt: string;
  /** The six accepted strings. */
  readonly fragment: Fragment;
  /** The envelope's canonical JSON, exactly as it was sealed. */
  readonly envelope: string;
  /** SHA-256 of the envelope, hexadecimal. */
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

/** Format 1 has the envelope whole. */
const wholeTable = table('fragment', { ...fields, envelope: text, seal: text });

/** Format of records whose envelope is in parts: about 700 bytes less. */
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
  // What the parts would not give again is stored as it came.
  if (parts === undefined || sealBytes.toString('hex') !== seal) {
    return wholeTable.encode({ ...fragment, receipt, envelope, seal });
  }
  return partedTable.encode({ ...fragment, ...parts, receipt, seal: sealBytes });
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

const bindingTable = table('fragment key', {
  /** SHA-256 of the canonical payload that came with it first (32 bytes). */
  payload: bytes,
  /** The receipt that it got. */
  receipt: text,
});

/** The submission that an idempotency key stands for. */
export type KeyBinding = ValueOf<typeof bindingTable>;

/** A binding's bytes and back. */
export const { encode: encodeBinding, decode: decodeBinding } = bindingTable;

const receiptTable = table('fragment receipt', { receipt: text });

/** Bytes that name a receipt: in the index of duplicates, and in the log up to version 0.4. */
export function encodeReceipt(receipt: string): Uint8Array {
  return receiptTable.encode({ receipt });
}

/** Format of the log's entries that have the seal, which is the leaf in the log of receipts. */
const leafFormat = 2;
const leafTable = table('fragment receipt', { receipt: text, seal: bytes }, leafFormat);

/** An entry of the log of fragments. */
export interface LoggedReceipt {
  readonly receipt: string;
  /** Seal of its envelope (32 bytes); undefined in entries up to version 0.4: the fragment has it. */
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

/** The receipt that bytes name. */
export function decodeReceipt(record: Uint8Array): string {
  return decodeLogged(record).receipt;
}

/** Key of duplicates: probes are compared with probes alone. */
export interface DuplicateKey {
  readonly probe: boolean;
  /** `dedupe_key_sha256`, hexadecimal. */
  readonly digest: string;
}

/** The record's key of an idempotency key, which clients choose. */
function keyOfIdempotency(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function keyOfDuplicate({ probe, digest }: DuplicateKey): Buffer {
  return Buffer.concat([Buffer.of(probe ? 1 : 0), Buffer.from(digest, 'hex')]);
}

/** The operation that binds an idempotency key to what it got; it conflicts when the key is bound already. */
export function insertBinding(key: string, binding: KeyBinding): Operation {
  return {
    kind: 'insert',
    space: 'fragmentKeys',
    key: keyOfIdempotency(key),
    value: encodeBinding(binding),
  };
}

/** The operations that store a fragment; they conflict when one that counts as the same is there. */
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

/** The submission that an idempotency key stands for; undefined when it is new. */
export function findBinding(store: Store, key: string): Promise<KeyBinding | undefined> {
  return findRecord(store, 'fragmentKeys', keyOfIdempotency(key), decodeBinding);
}

/** The receipt of the fragment that counts as the same; undefined when there is none. */
export function findDuplicate(store: Store, duplicate: DuplicateKey): Promise<string | undefined> {
  return findRecord(store, 'fragmentDuplicates', keyOfDuplicate(duplicate), decodeReceipt);
}

/** The fragment of a receipt's id, which must have the form of one. */
export function findFragment(store: Store, receipt: string): Promise<StoredFragment | undefined> {
  return findRecord(store, 'fragments', Buffer.from(receipt), decodeFragment);
}

const totalTable = table('total of the fragments', {
  /** The last position of the log that is counted. */
  position: integer,
  bytes: integer,
});

/** A total's bytes and back. */
export const { encode: encodeTotal, decode: decodeTotal } = totalTable;

const totalKey = Buffer.from('bytes of fragments');

/** Bytes that a fragment takes besides its record: its keys, its entry in the log, its vector. */
const besidesBytes = 700;

/** Fragments that one call counts: the rest is counted by the next. */
const mostCounted = 20_000;

/** Bytes that the fragments took when they were counted last. */
export async function fragmentBytes(store: Pick<Store, 'get'>): Promise<number> {
  return (await findRecord(store, 'state', totalKey, decodeTotal))?.bytes ?? 0;
}

/**
 * Counts the fragments that came since the last time into the total. Where two do so at once, one of them
 * changes nothing. Resolves to how many were counted.
 */
export async function countFragments(store: Store, most = mostCounted): Promise<number> {
  const found = await store.get('state', totalKey);
  const before = found === undefined ? { position: 0, bytes: 0 } : decodeTotal(found);
  const total = { ...before };
  let counted = 0;
  for await (const { position, value } of entriesAfter(store, 'fragments', before.position)) {
    const record = await store.get('fragments', Buffer.from(decodeReceipt(value)));
    total.bytes += (record?.byteLength ?? 0) + besidesBytes;
    total.position = position;
    counted += 1;
    if (counted === most) break;
  }
  if (counted === 0) return 0;
  const outcome = await store.commit([writeOver('state', totalKey, found, encodeTotal(total))]);
  return outcome.kind === 'done' ? counted : 0;
}
