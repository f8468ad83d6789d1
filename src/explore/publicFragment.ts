/** Public form of stored fragments: the one place where their content becomes public. */
import type { FragmentCard } from '../contract/exploration.js';
import { decodeReceived, fragmentRecords } from '../store/tables/fragments.js';
import { withheldAmong } from '../store/tables/notices.js';
import type { Store } from '../store/store.js';
import { inSlice } from '../system/slices.js';

/** Cards decoded in one piece of a turn of the event loop: less than a millisecond, whatever they contain. */
const pieceCards = 16;

/**
 * Fragments by receipt ids, in their order; those that the store does not have are left out. Withheld content
 * is null here, and so in everything that is made from it. `receipts`: so many as are read in one turn of the
 * event loop.
 */
export async function publicFragments(store: Store, receipts: readonly string[]): Promise<FragmentCard[]> {
  const records = await inSlice(() => fragmentRecords(store, receipts));
  // Read after the content: content that is withheld meanwhile is not shown.
  const reasons = await inSlice(() => withheldAmong(store, receipts));
  const cards: FragmentCard[] = [];
  for (let from = 0; from < receipts.length; from += pieceCards) {
    await inSlice(() => {
      for (const [at, receipt] of receipts.slice(from, from + pieceCards).entries()) {
        const record = records[from + at];
        if (record !== undefined) cards.push(cardOf(receipt, record, reasons.get(receipt)));
      }
    });
  }
  return cards;
}

function cardOf(receipt: string, record: Uint8Array, withheld: string | undefined): FragmentCard {
  const { title, content, kind, visitor, receivedAt } = decodeReceived(record);
  const shown =
    withheld === undefined
      ? { title, content, visitor, withheld: null }
      : { title: null, content: null, visitor: null, withheld };
  return { receipt, kind, received_at: receivedAt, ...shown };
}
