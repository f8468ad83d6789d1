/** Work over whole logs and spaces: appending, visiting what is there, erasing some, removing the old. */
import type { Log, Space } from './spaces.js';
import type { Entry, LogEntry, Operation, Range, Reading, Store, Unavailable } from './store.js';
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

/** As {@link visitEntries}, with what `decode` reads in each entry; erased ones are left out. */
export function visitKept<Value>(
  store: Store,
  log: Log,
  after: number,
  decode: (value: Uint8Array) => Value | undefined,
  visit: (position: number, value: Value) => Promise<void>,
): Promise<Unavailable | undefined> {
  return visitEntries(store, log, after, async ({ position, value }) => {
    const kept = decode(value);
    if (kept !== undefined) await visit(position, kept);
    return true;
  });
}

/** Appends one entry; it is on disk when this resolves to undefined. `unitId`: a retry carries the same. */
export async function appendEntry(
  store: Store,
  unitId: Uint8Array,
  log: Log,
  value: Uint8Array,
): Promise<Unavailable | undefined> {
  const outcome = await store.commit({ id: unitId, operations: [{ kind: 'append', log, value }] });
  if (outcome.kind === 'unavailable') return outcome;
  if (outcome.kind !== 'done') throw new Error(`Appending to ${log} came to ${outcome.kind}`);
  return undefined;
}

/** The first key behind `key`. */
function behind(key: Uint8Array): Uint8Array {
  return Buffer.concat([key, Buffer.alloc(1)]);
}

/**
 * Calls `visit` for each record of a space whose key follows `after` (empty: all), in the order of the keys;
 * ends with what the store, or `visit`, could not answer.
 */
export function visitRecords(
  store: Store,
  space: Space,
  after: Uint8Array,
  visit: (record: Entry) => Promise<Unavailable | undefined>,
): Promise<Unavailable | undefined> {
  return visitRange(store, space, { from: after.byteLength === 0 ? after : behind(after) }, visit);
}

/** As {@link visitRecords}, for the records whose keys begin with a prefix. */
export function visitPrefix(
  store: Store,
  space: Space,
  prefix: Uint8Array,
  visit: (record: Entry) => Promise<Unavailable | undefined>,
): Promise<Unavailable | undefined> {
  return visitRange(store, space, { from: prefix, to: Buffer.concat([prefix, Buffer.of(255)]) }, visit);
}

async function visitRange(
  store: Store,
  space: Space,
  range: Omit<Range, 'limit'>,
  visit: (record: Entry) => Promise<Unavailable | undefined>,
): Promise<Unavailable | undefined> {
  let from = range.from ?? Buffer.alloc(0);
  for (;;) {
    const page = await store.scan(space, { ...range, from, limit: pageEntries });
    if (page.kind === 'unavailable') return page;
    for (const record of page.value) {
      const failed = await visit(record);
      if (failed !== undefined) return failed;
      from = behind(record.key);
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
  // Nothing is old: most of the time, and then nothing is written.
  if (upTo === 0) return { kind: 'read', value: 0 };
  let removed = 0;
  for (;;) {
    const step = await store.trim(log, upTo, pageEntries);
    if (step.kind === 'unavailable') return step;
    removed += step.value;
    if (step.value < pageEntries) return { kind: 'read', value: removed };
  }
}
