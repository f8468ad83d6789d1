/**
 * Fragments whose content the operator withholds, as exploration needs them: a filter or a nearness that
 * finds one tells of its content all the same, so that results leave them out.
 */
import { findFragment } from '../store/fragments.js';
import { visitNotices } from '../store/notices.js';
import type { Reading, Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';

/** The withheld fragments. */
export interface HiddenFragments {
  readonly receipts: ReadonlySet<string>;
  /** Ids of the visitors who left them. */
  readonly visitors: ReadonlySet<string>;
}

/** How old the list may be (ms). Content itself is withheld at once. */
const cachedMs = 1_000;

/** Reads the list, at most once a second. */
export function hiddenFragments(
  store: Store,
  clock: Pick<Clock, 'monotonicMs'>,
  visitorId: (visitor: string) => string,
): () => Promise<Reading<HiddenFragments>> {
  let cached: { readonly atMs: number; readonly list: Promise<Reading<HiddenFragments>> } | undefined;
  return async () => {
    const nowMs = clock.monotonicMs();
    if (cached === undefined || nowMs - cached.atMs >= cachedMs) {
      cached = { atMs: nowMs, list: readHidden(store, visitorId) };
    }
    const list = await cached.list;
    if (list.kind === 'unavailable') cached = undefined;
    return list;
  };
}

async function readHidden(
  store: Store,
  visitorId: (visitor: string) => string,
): Promise<Reading<HiddenFragments>> {
  const receipts = new Set<string>();
  const visitors = new Set<string>();
  const failed = await visitNotices(store, async (receipt, { hidden }) => {
    if (!hidden) return undefined;
    receipts.add(receipt);
    const found = await findFragment(store, receipt);
    if (found.kind === 'unavailable') return found;
    if (found.value !== undefined) visitors.add(visitorId(found.value.fragment.visitor));
    return undefined;
  });
  return failed ?? { kind: 'read', value: { receipts, visitors } };
}
