/** Work over a whole log: visiting its entries, erasing some, removing the old. */
import type { Log } from './spaces.js';
import type { LogEntry, Operation, Reading, Store, Unavailable } from './store.js';
import type { UnitIds } from './unitId.js';

/** Entries read, erased or removed in one step. */
const pageEntries = 500;

/**
 * The format of an erased entry's record, the same in every log: it holds nothing. Its position stays used,
 * so that cursors stay good.
 */
export const erasedFormat = 255;

/**
 * Calls `visit` for each entry after a position, in order, those that are appended meanwhile included; ends
 * early when `visit` resolves to false.
 */
export async function visitEntries(
  store: Store,
  log: Log,
  after: number,
  visit: (entry: LogEntry) => Promise<boolean> | boolean,
): Promise<Unavailable | undefined> {
  let position = after;
  for (;;) {
    const page = await store.read(log, { after: position, limit: pageEntries });
    if (page.kind === 'unavailable') return page;
    for (const entry of page.value) {
      if (!(await visit(entry))) return undefined;
      position = entry.position;
    }
    if (page.value.length < pageEntries) return undefined;
  }
}

/**
 * Erases the entries of a log that match, by writing `erased` in their place; durable when it resolves to
 * how many. It may be repeated: what is erased no longer matches.
 */
export async function eraseEntries(
  store: Store,
  newUnitId: UnitIds,
  log: Log,
  matches: (value: Uint8Array) => boolean,
  erased: Uint8Array,
): Promise<Reading<number>> {
  let count = 0;
  let failed: Unavailable | undefined;
  const unavailable = await visitEntries(store, log, 0, async ({ position, value }) => {
    if (!matches(value)) return true;
    const amend: Operation = { kind: 'amend', log, position, from: value, to: erased };
    // A conflict means that another erased or removed it first.
    const outcome = await store.commit({ id: newUnitId(), operations: [amend] });
    if (outcome.kind === 'unavailable') failed = outcome;
    else if (outcome.kind === 'done') count += 1;
    return failed === undefined;
  });
  return failed ?? unavailable ?? { kind: 'read', value: count };
}

/**
 * Removes the entries of a log older than `beforeMs`, by the time that `timeOf` reads in each; erased ones
 * have none and go with their neighbours. Entries are in order of their commits, so the first young one ends
 * the search. Resolves to how many went.
 */
export async function removeOldEntries(
  store: Store,
  log: Log,
  timeOf: (value: Uint8Array) => number | undefined,
  beforeMs: number,
): Promise<Reading<number>> {
  let upTo = 0;
  const unavailable = await visitEntries(store, log, 0, ({ position, value }) => {
    const atMs = timeOf(value);
    if (atMs !== undefined && atMs >= beforeMs) return false;
    if (atMs !== undefined) upTo = position;
    return true;
  });
  if (unavailable !== undefined) return unavailable;
  let removed = 0;
  for (;;) {
    const step = await store.trim(log, upTo, pageEntries);
    if (step.kind === 'unavailable') return step;
    removed += step.value;
    if (step.value < pageEntries) return { kind: 'read', value: removed };
  }
}
