/** What exploration may show of a stored fragment: the one place where its content becomes public. */
import type { FragmentCard } from '../contract/explore.js';
import { findFragment } from '../store/fragments.js';
import type { Reading, Store } from '../store/store.js';

/**
 * A fragment by its receipt's id, undefined when there is none. Content that is withheld is null here, and
 * stays so in everything that is made of it.
 */
export async function publicFragment(
  store: Store,
  receipt: string,
): Promise<Reading<FragmentCard | undefined>> {
  const found = await findFragment(store, receipt);
  if (found.kind === 'unavailable') return found;
  if (found.value === undefined) return { kind: 'read', value: undefined };
  const { fragment, envelope } = found.value;
  const { title, content, kind, visitor } = fragment;
  const { received_at = '' } = JSON.parse(envelope) as Record<string, string>;
  return {
    kind: 'read',
    value: { receipt, title, content, kind, visitor, received_at, withheld: null },
  };
}
