/** Characters that a subject has used in its present month: what the monthly limits count. */
import { recordsAfter } from './entries.js';
import { defineRecord } from './record.js';
import type { Store } from './store.js';

/** Usage of a subject. */
export interface Usage {
  /** When its month began (wall time, ms). */
  readonly monthStartMs: number;
  /** Code points since. */
  readonly characters: number;
}

const codec = defineRecord<Usage>('usage', {
  1: ({ integer }) => ({ monthStartMs: integer('month_start_ms'), characters: integer('characters') }),
});

/** A usage's bytes in the store. */
function encodeUsage({ monthStartMs, characters }: Usage): Uint8Array {
  return codec.encode(1, { month_start_ms: monthStartMs, characters });
}

/** The usage of a record's bytes. */
const decodeUsage = codec.decode;

/** Stored usage of a subject (a digest; no address in the clear). */
export async function findUsage(store: Store, subject: Uint8Array): Promise<Usage | undefined> {
  const reading = await store.get('usage', subject);
  if (reading === undefined) return undefined;
  return decodeUsage(reading);
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
    const before = from === undefined ? undefined : decodeUsage(from);
    if (before !== undefined && before.monthStartMs > monthStartMs) return before;
    const carried = before?.monthStartMs === monthStartMs ? before.characters : 0;
    const total = { monthStartMs, characters: carried + characters };
    const value = encodeUsage(total);
    const operation =
      from === undefined
        ? ({ kind: 'insert', space: 'usage', key: subject, value } as const)
        : ({ kind: 'replace', space: 'usage', key: subject, from, to: value } as const);
    const outcome = await store.commit([operation]);
    if (outcome.kind === 'done') return total;
  }
}

/** Retention of a month's usage after its start (ms): until it can no longer count, and as long again. */
const keptMs = 60 * 86_400_000;

/** Removes the usage of months that are long over; returns how many records went. */
export async function removeOldUsage(store: Store, nowMs: number): Promise<number> {
  let removed = 0;
  for await (const { key, value } of recordsAfter(store, 'usage')) {
    if (decodeUsage(value).monthStartMs + keptMs > nowMs) continue;
    const operation = { kind: 'replace', space: 'usage', key, from: value, to: undefined } as const;
    const outcome = await store.commit([operation]);
    removed += outcome.kind === 'done' ? 1 : 0;
  }
  return removed;
}
