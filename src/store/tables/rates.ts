/** Bitcoin prices and when they were in force, to check payments that were made elsewhere. */
import { recordsAfter, removeOver } from '../entries.js';
import type { Entry, Store } from '../store.js';

function keyOf(atMs: number): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(BigInt(atMs));
  return key;
}

/** A rate as read from its source. */
export interface TakenRate {
  /** US cents a bitcoin. */
  readonly cents: bigint;
  /** When it was read (ms since 1970). */
  readonly atMs: number;
  /** True if it is in force until the next one; other rates expire. */
  readonly stays: boolean;
}

/** Suffix, after its cents, of a rate that stays in force. */
const staying = ' stays';

function rateOf({ key, value }: Entry): TakenRate {
  const text = Buffer.from(value).toString();
  const atMs = Number(Buffer.from(key).readBigUInt64BE());
  return { cents: BigInt(text.replace(staying, '')), atMs, stays: text.endsWith(staying) };
}

/** Stores a rate under the time it was read. */
export async function keepRate(store: Store, { cents, atMs, stays }: TakenRate): Promise<void> {
  const value = Buffer.from(`${cents}${stays ? staying : ''}`);
  await store.commit([{ kind: 'put', space: 'rates', key: keyOf(atMs), value }]);
}

/** The rates after a key (undefined: all) that were read by `toMs`. */
async function takenUntil(store: Store, toMs: number, after?: Uint8Array): Promise<readonly TakenRate[]> {
  const rates: TakenRate[] = [];
  for await (const record of recordsAfter(store, 'rates', after)) {
    const rate = rateOf(record);
    if (rate.atMs > toMs) break;
    rates.push(rate);
  }
  return rates;
}

/**
 * The rates that were in force at any time from `fromMs` to `toMs`: those read in that time, and the one
 * before them if it stays in force, or was read at most `usedMs` earlier.
 */
export async function ratesBetween(
  store: Store,
  fromMs: number,
  toMs: number,
  usedMs: number,
): Promise<readonly bigint[]> {
  const isBefore = ({ atMs }: TakenRate): boolean => atMs < fromMs;
  // Rates that expire come often. Older ones are read only if none of these can be the one before.
  let taken = await takenUntil(store, toMs, keyOf(Math.max(0, fromMs - usedMs)));
  if (!taken.some(isBefore)) taken = await takenUntil(store, toMs);
  const last = taken.findLast(isBefore);
  const inForce = last !== undefined && (last.stays || last.atMs >= fromMs - usedMs) ? [last] : [];
  const since = taken.filter((rate) => !isBefore(rate));
  return [...inForce, ...since].map(({ cents }) => cents);
}

/** Rates read in one step; the last one stays, the others are removed in one unit. */
const pageRates = 200;

/**
 * Removes rates that were read before a time, except the last of them, which may have been in force after it.
 * Resolves to their number.
 */
export async function removeRates(store: Store, beforeMs: number): Promise<number> {
  const range = { to: keyOf(beforeMs), limit: pageRates };
  for (let removed = 0; ;) {
    const page = await store.scan('rates', range);
    const old = page.slice(0, -1);
    if (old.length === 0) return removed;
    await store.commit(old.map(({ key, value }) => removeOver('rates', key, value)));
    removed += old.length;
  }
}
