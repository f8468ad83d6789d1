/** Prices of a bitcoin that were in force, so that a payment made elsewhere can be compared with them. */
import { visitRecords } from './entries.js';
import type { Entry, Reading, Store, Unavailable } from './store.js';
import type { UnitIds } from './unitId.js';

function keyOf(atMs: number): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(BigInt(atMs));
  return key;
}

/** A rate that was taken. */
export interface TakenRate {
  /** US cents a bitcoin. */
  readonly cents: bigint;
  /** When it was taken (ms since 1970). */
  readonly atMs: number;
  /** Whether it is in force until the next; others are for a while only. */
  readonly stays: boolean;
}

/** What follows the cents of a rate that stays. */
const staying = ' stays';

function rateOf({ key, value }: Entry): TakenRate {
  const text = Buffer.from(value).toString();
  const atMs = Number(Buffer.from(key).readBigUInt64BE());
  return { cents: BigInt(text.replace(staying, '')), atMs, stays: text.endsWith(staying) };
}

/** Keeps a rate from the time on that it was taken. */
export async function keepRate(
  store: Store,
  newUnitId: UnitIds,
  { cents, atMs, stays }: TakenRate,
): Promise<Unavailable | undefined> {
  const value = Buffer.from(`${cents}${stays ? staying : ''}`);
  const operations = [{ kind: 'put', space: 'rates', key: keyOf(atMs), value } as const];
  const outcome = await store.commit({ id: newUnitId(), operations });
  return outcome.kind === 'unavailable' ? outcome : undefined;
}

/** The rates that were taken from a time on. */
async function takenSince(store: Store, fromMs: number): Promise<Reading<readonly TakenRate[]>> {
  const rates: TakenRate[] = [];
  const after = fromMs <= 0 ? Buffer.alloc(0) : keyOf(fromMs - 1);
  const failed = await visitRecords(store, 'rates', after, (record) => {
    rates.push(rateOf(record));
    return Promise.resolve(undefined);
  });
  return failed ?? { kind: 'read', value: rates };
}

/**
 * The rates that were in force from a time on: those that were taken since, and the one before them where it
 * stayed, or was taken at most `usedMs` before.
 */
export async function ratesSince(
  store: Store,
  fromMs: number,
  usedMs: number,
): Promise<Reading<readonly bigint[]>> {
  const isBefore = ({ atMs }: TakenRate): boolean => atMs < fromMs;
  let taken = await takenSince(store, fromMs - usedMs);
  // Rates that are for a while only come often: the older ones are read where none of them can be the last.
  if (taken.kind === 'read' && !taken.value.some(isBefore)) taken = await takenSince(store, 0);
  if (taken.kind === 'unavailable') return taken;
  const last = taken.value.findLast(isBefore);
  const inForce = last !== undefined && (last.stays || last.atMs >= fromMs - usedMs) ? [last] : [];
  const since = taken.value.filter((rate) => !isBefore(rate));
  return { kind: 'read', value: [...inForce, ...since].map(({ cents }) => cents) };
}

/** Rates removed in one unit. */
const together = 200;

/**
 * Removes rates that were taken before a time, but the last of them, which may have been in force since.
 * Resolves to how many.
 */
export async function removeRates(
  store: Store,
  newUnitId: UnitIds,
  beforeMs: number,
): Promise<Reading<number>> {
  const range = { from: Buffer.alloc(0), to: keyOf(beforeMs), limit: together + 1 };
  for (let removed = 0; ;) {
    const page = await store.scan('rates', range);
    if (page.kind === 'unavailable') return page;
    const old = page.value.slice(0, -1);
    if (old.length === 0) return { kind: 'read', value: removed };
    const operations = old.map(({ key, value }) => {
      return { kind: 'replace', space: 'rates', key, from: value, to: undefined } as const;
    });
    const outcome = await store.commit({ id: newUnitId(), operations });
    if (outcome.kind === 'unavailable') return outcome;
    removed += old.length;
  }
}
