/** Characters that a subject has used in its present month: what the monthly limits count. */
import { visitRecords } from './entries.js';
import { defineRecord } from './record.js';
import type { Reading, Store, Unavailable } from './store.js';
import type { UnitIds } from './unitId.js';

/** What a subject has used. */
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

/** What a subject (a digest; no address in the clear) has used, as far as it is stored. */
export async function findUsage(store: Store, subject: Uint8Array): Promise<Reading<Usage | undefined>> {
  const reading = await store.get('usage', subject);
  if (reading.kind === 'unavailable' || reading.value === undefined) return reading as Reading<undefined>;
  return { kind: 'read', value: decodeUsage(reading.value) };
}

/**
 * Adds to what a subject has used in the month that began at `monthStartMs` and returns the month's total. A
 * later month begins at what is added; what comes late for an earlier month no longer counts.
 */
export async function addUsage(
  store: Store,
  newUnitId: UnitIds,
  subject: Uint8Array,
  { monthStartMs, characters }: Usage,
): Promise<Usage | Unavailable> {
  for (;;) {
    const reading = await store.get('usage', subject);
    if (reading.kind === 'unavailable') return reading;
    const from = reading.value;
    const before = from === undefined ? undefined : decodeUsage(from);
    if (before !== undefined && before.monthStartMs > monthStartMs) return before;
    const carried = before?.monthStartMs === monthStartMs ? before.characters : 0;
    const total = { monthStartMs, characters: carried + characters };
    const value = encodeUsage(total);
    const operation =
      from === undefined
        ? ({ kind: 'insert', space: 'usage', key: subject, value } as const)
        : ({ kind: 'replace', space: 'usage', key: subject, from, to: value } as const);
    const outcome = await store.commit({ id: newUnitId(), operations: [operation] });
    if (outcome.kind === 'done') return total;
    if (outcome.kind === 'unavailable') return outcome;
  }
}

/** How long a month's usage is kept after its begin (ms): until it can no longer count, and as long again. */
const keptMs = 60 * 86_400_000;

/** Removes the usage of months that are long over; returns how many records went. */
export async function removeOldUsage(
  store: Store,
  newUnitId: UnitIds,
  nowMs: number,
): Promise<Reading<number>> {
  let removed = 0;
  const failed = await visitRecords(store, 'usage', Buffer.alloc(0), async ({ key, value }) => {
    if (decodeUsage(value).monthStartMs + keptMs > nowMs) return undefined;
    const operation = { kind: 'replace', space: 'usage', key, from: value, to: undefined } as const;
    const outcome = await store.commit({ id: newUnitId(), operations: [operation] });
    if (outcome.kind === 'unavailable') return outcome;
    removed += outcome.kind === 'done' ? 1 : 0;
    return undefined;
  });
  return failed ?? { kind: 'read', value: removed };
}
