/** Characters that a subject has used in its present month: what the monthly limits count. */
import { dayMs } from '../system/clock.js';
import { findRecord, recordsAfter, writeOver } from './entries.js';
import type { Store } from './store.js';
import { integer, table, type ValueOf } from './table.js';

const usageTable = table('usage', {
  /** When its month began (wall time, ms). */
  monthStartMs: integer,
  /** Code points since. */
  characters: integer,
});

/** Usage of a subject. */
export type Usage = ValueOf<typeof usageTable>;

/** Stored usage of a subject (a digest; no address in the clear). */
export function findUsage(store: Store, subject: Uint8Array): Promise<Usage | undefined> {
  return findRecord(store, 'usage', subject, usageTable.decode);
}

/**
 * Adds to what a subject has used in the month that began at `monthStartMs` and returns the month's total. A
 * later month begins at what is added; what comes late for an earlier month no longer counts.
 */
export async function addUsage(
  store: Store,
  subject: Uint8Array,
  { monthStartMs, characters }: Usage,
): Promise<Usage> {
  for (;;) {
    const from = await store.get('usage', subject);
    const before = from === undefined ? undefined : usageTable.decode(from);
    if (before !== undefined && before.monthStartMs > monthStartMs) return before;
    const carried = before?.monthStartMs === monthStartMs ? before.characters : 0;
    const total = { monthStartMs, characters: carried + characters };
    const outcome = await store.commit([writeOver('usage', subject, from, usageTable.encode(total))]);
    if (outcome.kind === 'done') return total;
  }
}

/** Retention of a month's usage after its start (ms): until it can no longer count, and as long again. */
const keptMs = 60 * dayMs;

/** Removes the usage of months that are long over; returns how many records went. */
export async function removeOldUsage(store: Store, nowMs: number): Promise<number> {
  let removed = 0;
  for await (const { key, value } of recordsAfter(store, 'usage')) {
    if (usageTable.decode(value).monthStartMs + keptMs > nowMs) continue;
    const operation = { kind: 'replace', space: 'usage', key, from: value, to: undefined } as const;
    const outcome = await store.commit([operation]);
    removed += outcome.kind === 'done' ? 1 : 0;
  }
  return removed;
}
