/** Prices of a bitcoin that were in force, so that a payment made elsewhere can be compared with them. */
import { recordsAfter } from './entries.js';
import type { Entry, Store } from './store.js';

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
  /** True if it is in force until the next; others are for a while only. */
  readonly stays: boolean;
}

/** Suffix of a rate that stays, after its cents. */
const staying = ' stays';

function rateOf({ key, value }: Entry): TakenRate {
  const text = Buffer.from(value).toString();
  const atMs = Number(Buffer.from(key).readBigUInt64BE());
  return { cents: BigInt(text.replace(staying, '')), atMs, stays: text.endsWith(staying) };
}

/** Keeps a rate from the time on that it was taken. */
export async function keepRate(store: Store, { cents, atMs, stays }: TakenRate): Promise<void> {
  const value = Buffer.from(`${cents}${stays ? staying : ''}`);
  await store.commit([{ kind: 'put', space: 'rates', key: keyOf(atMs), value }]);
}

/** The rates that were taken from a time on. */
async function takenSince(store: Store, fromMs: number): Promise<readonly TakenRate[]> {
  const rates: TakenRate[] = [];
  const after = fromMs <= 0 ? Buffer.alloc(0) : keyOf(fromMs - 1);
  for await (const record of recordsAfter(store, 'rates', after)) rates.push(rateOf(record));
  return rates;
}

/**
 * The rates that were in force from a time on: those that were taken since, and the one before them where it
 * stayed, or was taken at most `usedMs` before.
 */
export async function ratesSince(store: Store, fromMs: number, usedMs: number): Promise<readonly bigint[]> {
  const isBefore = ({ atMs }: TakenRate): boolean => atMs < fromMs;
  let taken = await takenSince(store, fromMs - usedMs);
  // Rates that are for a while only come often: the older ones are read where none of them can be the last.
  if (!taken.some(isBefore)) taken = await takenSince(store, 0);
  const last = taken.findLast(isBefore);
  const inForce = last !== undefined && (last.stays || last.atMs >= fromMs - usedMs) ? [last] : [];
  const since = taken.filter((rate) => !isBefore(rate));
  return [...inForce, ...since].map(({ cents }) => cents);
}

/** Rates removed in one unit. */
const together = 200;

/**
 * Removes rates that were taken before a time, but the last of them, which may have been in force since.
 * Resolves to how many.
 */
export async function removeRates(store: Store, beforeMs: number): Promise<number> {
  const range = { from: Buffer.alloc(0), to: keyOf(beforeMs), limit: together + 1 };
  for (let removed = 0; ;) {
    const page = await store.scan('rates', range);
    const old = page.slice(0, -1);
    if (old.length === 0) return removed;
    const operations = old.map(({ key, value }) => {
      return { kind: 'replace', space: 'rates', key, from: value, to: undefined } as const;
    });
    await store.commit(operations);
    removed += old.length;
  }
}
