/**
 * Fragments that the operator withholds, for exploration: a match or a similarity would reveal their content,
 * so results leave them out.
 */
import { findFragment } from '../store/tables/fragments.js';
import { allNotices } from '../store/tables/notices.js';
import type { Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import { Recent } from '../system/shared.js';

/** The withheld fragments. */
export interface HiddenFragments {
  readonly receipts: ReadonlySet<string>;
  /** The same, one on each line. */
  readonly lines: string;
  /** Ids of the visitors who submitted them. */
  readonly visitors: ReadonlySet<string>;
}

/** Longest time that the list is cached (ms). Content itself is withheld at once. */
const cachedMs = 1_000;

/** Reads the list, at most once a second. */
export function hiddenFragments(
  store: Store,
  clock: Pick<Clock, 'monotonicMs'>,
  visitorId: (visitor: string) => string,
): () => Promise<HiddenFragments> {
  const list = new Recent<HiddenFragments>(clock, cachedMs);
  return () => list.of(() => readHidden(store, visitorId));
}

async function readHidden(store: Store, visitorId: (visitor: string) => string): Promise<HiddenFragments> {
  const receipts = new Set<string>();
  const visitors = new Set<string>();
  for await (const { receipt, hidden } of allNotices(store)) {
    if (!hidden) continue;
    receipts.add(receipt);
    const found = await findFragment(store, receipt);
    if (found !== undefined) visitors.add(visitorId(found.fragment.visitor));
  }
  return { receipts, lines: [...receipts].join('\n'), visitors };
}
