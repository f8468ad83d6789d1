/**
 * Fragments and their receipts (docs/receipt.md). One unit stores a fragment, what its idempotency key stands
 * for, and by what it is found again; nothing of it changes afterwards.
 */
import { createHash } from 'node:crypto';
import type { Fragment } from '../contract/fragment.js';
import { defineRecord } from './record.js';
import type { Operation, Store } from './store.js';

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

const fragmentRecord = defineRecord<StoredFragment>('fragment', {
  1: ({ text }) => ({
    receipt: text('receipt'),
    fragment: {
      title: text('title'),
      content: text('content'),
      mechanism: text('mechanism'),
      test: text('test'),
      kind: text('kind'),
      visitor: text('visitor'),
    },
    envelope: text('envelope'),
    seal: text('seal'),
  }),
});

/** A fragment's bytes. */
export function encodeFragment({ receipt, fragment, envelope, seal }: StoredFragment): Uint8Array {
  const { title, content, mechanism, test, kind, visitor } = fragment;
  const members = { receipt, title, content, mechanism, test, kind, visitor, envelope, seal };
  return fragmentRecord.encode(1, members);
}

/** The fragment of a record's bytes. */
export const decodeFragment = fragmentRecord.decode;

/** The submission that an idempotency key stands for. */
export interface KeyBinding {
  /** SHA-256 of the canonical payload that came with it first (32 bytes). */
  readonly payload: Uint8Array;
  /** The receipt that it got. */
  readonly receipt: string;
}

const bindingRecord = defineRecord<KeyBinding>('fragment key', {
  1: ({ bytes, text }) => ({ payload: bytes('payload'), receipt: text('receipt') }),
});

/** A binding's bytes. */
export function encodeBinding({ payload, receipt }: KeyBinding): Uint8Array {
  return bindingRecord.encode(1, { payload, receipt });
}

/** The binding of a record's bytes. */
export const decodeBinding = bindingRecord.decode;

const receiptRecord = defineRecord<string>('fragment receipt', { 1: ({ text }) => text('receipt') });

/** Bytes that name a receipt: in the index of duplicates and in the log. */
export function encodeReceipt(receipt: string): Uint8Array {
  return receiptRecord.encode(1, { receipt });
}

/** The receipt that bytes name. */
export const decodeReceipt = receiptRecord.decode;

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
    { kind: 'append', log: 'fragments', value: receipt },
  ];
}

/** The submission that an idempotency key stands for; undefined when it is new. */
export async function findBinding(store: Store, key: string): Promise<KeyBinding | undefined> {
  const reading = await store.get('fragmentKeys', keyOfIdempotency(key));
  if (reading === undefined) return undefined;
  return decodeBinding(reading);
}

/** The receipt of the fragment that counts as the same; undefined when there is none. */
export async function findDuplicate(store: Store, duplicate: DuplicateKey): Promise<string | undefined> {
  const reading = await store.get('fragmentDuplicates', keyOfDuplicate(duplicate));
  if (reading === undefined) return undefined;
  return decodeReceipt(reading);
}

/** The fragment of a receipt's id, which must have the form of one. */
export async function findFragment(store: Store, receipt: string): Promise<StoredFragment | undefined> {
  const reading = await store.get('fragments', Buffer.from(receipt));
  if (reading === undefined) return undefined;
  return decodeFragment(reading);
}
