/** Receipts of the first hash contract, stored as the lines that they were imported from. */
import { findRecord } from '../entries.js';
import type { Store } from '../store.js';
import { table, text } from '../table.js';

const legacyTable = table('legacy receipt', { line: text });

/** Bytes of a receipt's line, which is a JSON object. */
export function encodeLegacyReceipt(line: string): Uint8Array {
  return legacyTable.encode({ line });
}

/** The line from a record's bytes. */
export function decodeLegacyReceipt(record: Uint8Array): string {
  return legacyTable.decode(record).line;
}

/** The line of a receipt; undefined if there is none. */
export function findLegacyReceipt(store: Store, receipt: string): Promise<string | undefined> {
  return findRecord(store, 'legacyReceipts', Buffer.from(receipt), decodeLegacyReceipt);
}

/** Stores receipts under their ids, in one unit; `taken` names an id that another line has. */
export async function keepLegacyReceipts(
  store: Store,
  receipts: readonly { readonly receipt: string; readonly line: string }[],
): Promise<{ readonly kind: 'kept' } | { readonly kind: 'taken'; readonly receipt: string }> {
  const operations = receipts.map(({ receipt, line }) => {
    const key = Buffer.from(receipt);
    return { kind: 'insert', space: 'legacyReceipts', key, value: encodeLegacyReceipt(line) } as const;
  });
  const outcome = await store.commit(operations);
  if (outcome.kind === 'refused') throw new Error('An import was refused by a fence');
  if (outcome.kind === 'done') return { kind: 'kept' };
  return { kind: 'taken', receipt: receipts[outcome.operation]?.receipt ?? '' };
}
