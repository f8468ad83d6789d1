/** Prices of a bitcoin that were in force, so that a payment made elsewhere can be compared with them. */
import { visitRecords } from './entries.js';
import type { Reading, Store, Unavailable } from './store.js';
import type { UnitIds } from './unitId.js';

function keyOf(atMs: number): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(BigInt(atMs));
  return key;
}

/** Keeps a rate from the time on that it was taken (ms since 1970), in cents a bitcoin. */
export async function keepRate(
  store: Store,
  newUnitId: UnitIds,
  atMs: number,
  cents: bigint,
): Promise<Unavailable | undefined> {
  const value = Buffer.from(cents.toString());
  const operations = [{ kind: 'put', space: 'rates', key: keyOf(atMs), value } as const];
  const outcome = await store.commit({ id: newUnitId(), operations });
  return outcome.kind === 'unavailable' ? outcome : undefined;
}

/** The rates that were taken from a time on. */
export async function ratesSince(store: Store, fromMs: number): Promise<Reading<readonly bigint[]>> {
  const rates: bigint[] = [];
  const after = keyOf(Math.max(0, fromMs - 1));
  const failed = await visitRecords(store, 'rates', after, ({ value }) => {
    rates.push(BigInt(Buffer.from(value).toString()));
    return Promise.resolve(undefined);
  });
  return failed ?? { kind: 'read', value: rates };
}

/** Rates removed in one unit. */
const together = 200;

/** Removes rates that were taken before a time. Resolves to how many. */
export async function removeRates(
  store: Store,
  newUnitId: UnitIds,
  beforeMs: number,
): Promise<Reading<number>> {
  const range = { from: Buffer.alloc(0), to: keyOf(beforeMs), limit: together };
  for (let removed = 0; ;) {
    const page = await store.scan('rates', range);
    if (page.kind === 'unavailable') return page;
    if (page.value.length === 0) return { kind: 'read', value: removed };
    const operations = page.value.map(({ key, value }) => {
      return { kind: 'replace', space: 'rates', key, from: value, to: undefined } as const;
    });
    const outcome = await store.commit({ id: newUnitId(), operations });
    if (outcome.kind === 'unavailable') return outcome;
    removed += page.value.length;
  }
}
