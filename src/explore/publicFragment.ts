/** Public form of a stored fragment: the one place where its content becomes public. */
import type { FragmentCard } from '../contract/exploration.js';
import { findFragment } from '../store/tables/fragments.js';
import { findWithheld } from '../store/tables/notices.js';
import type { Store } from '../store/store.js';

/**
 * A fragment by receipt id; undefined if there is none. Withheld content is null here, and so in everything
 * that is made from it.
 */
export async function publicFragment(store: Store, receipt: string): Promise<FragmentCard | undefined> {
  const found = await findFragment(store, receipt);
  if (found === undefined) return undefined;
  const withheld = await findWithheld(store, receipt);
  const { fragment, envelope } = found;
  const { title, content, kind, visitor } = fragment;
  const { received_at = '' } = JSON.parse(envelope) as Record<string, string>;
  const shown =
    withheld === undefined
      ? { title, content, visitor, withheld: null }
      : { title: null, content: null, visitor: null, withheld };
  return { receipt, kind, received_at, ...shown };
}
