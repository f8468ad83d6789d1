/** Helpers for records and whole logs: find one, append, read all, erase some, remove old ones. */
import { inSlice } from '../system/slices.js';
import type { Log, Space } from './spaces.js';
import type { Entry, LogEntry, Operation, Range, Store } from './store.js';

/** Entries read, erased or removed in one step. */
const pageEntries = 500;

/** Entries read in one step of a search for old ones: usually the first is young, and one may have 1 MB. */
const searchedEntries = 16;

/** The record under a key; undefined if there is none. */
export async function findRecord<Value>(
  store: Pick<Store, 'get'>,
  space: Space,
  key: Uint8Array,
  decode: (record: Uint8Array) => Value,
): Promise<Value | undefined> {
  const record = await store.get(space, key);
  return record === undefined ? undefined : decode(record);
}

/** The entry at a position of a log; undefined if it was removed, or there is none yet. */
export async function entryAt(
  store: Pick<Store, 'read'>,
  log: Log,
  position: number,
): Promise<LogEntry | undefined> {
  const [entry] = await store.read(log, { after: position - 1, limit: 1 });
  return entry?.position === position ? entry : undefined;
}

/**
 * Entries of a log after the last one that was read (null: there was none). Undefined if that one is no
 * longer there: after a failover, a server may answer whose log ended earlier, and give positions out again.
 */
export async function readAfter(
  store: Pick<Store, 'read'>,
  log: Log,
  last: LogEntry | null,
  limit: number,
): Promise<readonly LogEntry[] | undefined> {
  if (last === null) return store.read(log, { after: 0, limit });
  const [same, ...later] = await store.read(log, { after: last.position - 1, limit: limit + 1 });
  return same?.position === last.position && Buffer.compare(same.value, last.value) === 0 ? later : undefined;
}

/** The last entry of a log; null if it has none. */
export async function lastEntry(store: Pick<Store, 'last' | 'read'>, log: Log): Promise<LogEntry | null> {
  const position = await store.last(log);
  return position === 0 ? null : ((await entryAt(store, log, position)) ?? null);
}

/** The operation that writes `value` if the record is still `from`; undefined: if there is no record. */
export function writeOver(
  space: Space,
  key: Uint8Array,
  from: Uint8Array | undefined,
  value: Uint8Array,
): Operation {
  return from === undefined
    ? { kind: 'insert', space, key, value }
    : { kind: 'replace', space, key, from, to: value };
}

/** The operation that removes a record if it is still `from`. */
export function removeOver(space: Space, key: Uint8Array, from: Uint8Array): Operation {
  return { kind: 'replace', space, key, from, to: undefined };
}

/** The entries after a position, in order, including those appended meanwhile; `limit` at a time. */
export async function* entriesAfter(
  store: Store,
  log: Log,
  after: number,
  limit = pageEntries,
): AsyncGenerator<LogEntry, void> {
  for (let position = after; ;) {
    const page = await store.read(log, { after: position, limit });
    yield* page;
    position = page.at(-1)?.position ?? position;
    if (page.length < limit) return;
  }
}

/** Decoded contents of an entry, and its position. */
export interface Kept<Value> {
  readonly position: number;
  readonly value: Value;
}

/** As {@link entriesAfter}, decoded by `decode`; erased entries are left out. */
export async function* keptAfter<Value>(
  store: Store,
  log: Log,
  after: number,
  decode: (value: Uint8Array) => Value | undefined,
): AsyncGenerator<Kept<Value>, void> {
  for await (const { position, value } of entriesAfter(store, log, after)) {
    const kept = decode(value);
    if (kept !== undefined) yield { position, value: kept };
  }
}

/** Appends one entry; it is on disk when this resolves. `unitId`: the same for each retry. */
export async function appendEntry(
  store: Store,
  unitId: Uint8Array | undefined,
  log: Log,
  value: Uint8Array,
): Promise<void> {
  const outcome = await store.commit([{ kind: 'append', log, value }], unitId);
  if (outcome.kind !== 'done') throw new Error(`Appending to ${log} came to ${outcome.kind}`);
}

/** The first key after `key`. */
function behind(key: Uint8Array): Uint8Array {
  return Buffer.concat([key, Buffer.alloc(1)]);
}

/**
 * The records of a space whose key follows `after` (empty: all), in the order of the keys. `limit`: most
 * records read in one step.
 */
export function recordsAfter(
  store: Store,
  space: Space,
  after: Uint8Array = Buffer.alloc(0),
  limit = pageEntries,
): AsyncGenerator<Entry, void> {
  // No key is empty, so all follow the empty one.
  return recordsIn(store, space, { from: behind(after), limit });
}

/** The records of a space whose keys begin with a prefix, in the order of the keys. */
export function recordsUnder(store: Store, space: Space, prefix: Uint8Array): AsyncGenerator<Entry, void> {
  return recordsIn(store, space, {
    from: prefix,
    to: Buffer.concat([prefix, Buffer.of(255)]),
    limit: pageEntries,
  });
}

async function* recordsIn(
  store: Store,
  space: Space,
  { from: first, ...rest }: Range & { readonly from: Uint8Array },
): AsyncGenerator<Entry, void> {
  for (let from = first; ;) {
    const page = await store.scan(space, { ...rest, from });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < rest.limit) return;
    from = behind(last.key);
  }
}

/**
 * Erases matching entries of a log by writing `erased` in their place; durable when it resolves to their
 * number. Idempotent: erased entries no longer match.
 */
export async function eraseEntries(
  store: Store,
  log: Log,
  matches: (value: Uint8Array) => boolean,
  erased: Uint8Array,
): Promise<number> {
  let count = 0;
  for await (const { position, value } of entriesAfter(store, log, 0)) {
    if (!matches(value)) continue;
    const outcome = await store.commit([{ kind: 'amend', log, position, from: value, to: erased }]);
    // A conflict means that another process erased or removed it first.
    if (outcome.kind === 'done') count += 1;
  }
  return count;
}

/** Most entries with a time in the future that a search for old entries passes over. */
const mostFuture = 10_000;

/**
 * Removes the entries of a log older than `beforeMs`, by the time that `timeOf` reads; erased entries have
 * none and go with their neighbours. Entries are in commit order, so the first young one ends the search. One
 * with a time after `nowMs` says nothing of its neighbours: the clock was wrong when it was written.
 * Resolves to the number removed.
 */
export async function removeOldEntries(
  store: Store,
  log: Log,
  timeOf: (value: Uint8Array) => number | undefined,
  beforeMs: number,
  nowMs: number,
): Promise<number> {
  let upTo = 0;
  let future = 0;
  for await (const { position, value } of entriesAfter(store, log, 0, searchedEntries)) {
    const atMs = await inSlice(() => timeOf(value));
    if (atMs === undefined) continue;
    if (atMs > nowMs && future < mostFuture) future += 1;
    else if (atMs >= beforeMs) break;
    else upTo = position;
  }
  // Usually nothing is old; then nothing is written.
  if (upTo === 0) return 0;
  let removed = 0;
  for (;;) {
    const step = await store.trim(log, upTo, pageEntries);
    removed += step;
    if (step < pageEntries) return removed;
  }
}
