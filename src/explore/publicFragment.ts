/** Public form of stored fragments: the one place where their content becomes public. */
import type { FragmentCard } from '../contract/exploration.js';
import { decodeReceived, fragmentRecords } from '../store/tables/fragments.js';
import { withheldAmong } from '../store/tables/notices.js';
import type { Store } from '../store/store.js';

/**
 * Fragments by receipt ids, in their order; those that the store does not have are left out. Withheld content
 * is null here, and so in everything that is made from it.
 */
export async function publicFragments(store: Store, receipts: readonly string[]): Promise<FragmentCard[]> {
  const records = await fragmentRecords(store, receipts);
  // Read after the content: content that is withheld meanwhile is not shown.
  const reasons = await withheldAmong(store, receipts);
  return receipts.flatMap((receipt, at) => {
    const record = records[at];
    return record === undefined ? [] : [cardOf(receipt, record, reasons.get(receipt))];
  });
}

function cardOf(receipt: string, record: Uint8Array, withheld: string | undefined): FragmentCard {
  const { title, content, kind, visitor, receivedAt } = decodeReceived(record);
  const shown =
    withheld === undefined
      ? { title, content, visitor, withheld: null }
      : { title: null, content: null, visitor: null, withheld };
  return { receipt, kind, received_at: receivedAt, ...shown };
}
