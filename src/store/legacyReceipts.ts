/** Receipts of the first hash contract, kept as the lines that they were imported from. */
import { defineRecord } from './record.js';
import type { Store } from './store.js';

const record = defineRecord<string>('legacy receipt', { 1: ({ text }) => text('line') });

/** Bytes of a receipt's line, a JSON object. */
export function encodeLegacyReceipt(line: string): Uint8Array {
  return record.encode(1, { line });
}

/** The line of a record's bytes. */
export const decodeLegacyReceipt = record.decode;

/** The line of a receipt's id; undefined when there is none. */
export async function findLegacyReceipt(store: Store, receipt: string): Promise<string | undefined> {
  const reading = await store.get('legacyReceipts', Buffer.from(receipt));
  if (reading === undefined) return undefined;
  return decodeLegacyReceipt(reading);
}

/** Keeps receipts, each under its id, in one unit; `taken` names one whose id another line has. */
export async function keepLegacyReceipts(
  store: Store,
  receipts: readonly { readonly receipt: string; readonly line: string }[],
): Promise<{ readonly kind: 'kept' } | { readonly kind: 'taken'; readonly receipt: string }> {
  if (receipts.length === 0) return { kind: 'kept' };
  const operations = receipts.map(({ receipt, line }) => {
    const key = Buffer.from(receipt);
    return { kind: 'insert', space: 'legacyReceipts', key, value: encodeLegacyReceipt(line) } as const;
  });
  const outcome = await store.commit(operations);
  if (outcome.kind === 'refused') throw new Error('An import was refused by a fence');
  if (outcome.kind === 'done') return { kind: 'kept' };
  return { kind: 'taken', receipt: receipts[outcome.operation]?.receipt ?? '' };
}
