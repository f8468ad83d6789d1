/** Rates that were in force: the last one before a period counts for it, and is not removed. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { keepRate, ratesBetween, removeRates } from '../../src/store/tables/rates.js';
import type { Store } from '../../src/store/store.js';
import { temporaryFolder } from '../support/run.js';
import { storeAt } from '../support/openStore.js';

async function kept(
  context: TestContext,
  ...rates: readonly (readonly [atMs: number, cents: bigint, stays: boolean])[]
): Promise<Store> {
  const store = await storeAt(`lmdb:${temporaryFolder()}/store`);
  context.after(() => store.close());
  for (const [atMs, cents, stays] of rates) {
    await assert.doesNotReject(keepRate(store, { atMs, cents, stays }));
  }
  return store;
}

test('a rate that stays is in force until the next', async (context) => {
  const store = await kept(context, [10, 5n, true], [100, 6n, true], [200, 7n, true]);
  const since = async (fromMs: number) => await ratesBetween(store, fromMs, Infinity, 0);
  assert.deepEqual(await since(0), [5n, 6n, 7n]);
  assert.deepEqual(await since(99), [5n, 6n, 7n]);
  assert.deepEqual(await since(100), [5n, 6n, 7n]);
  assert.deepEqual(await since(101), [6n, 7n]);
  assert.deepEqual(await since(150), [6n, 7n]);
  assert.deepEqual(await since(1_000_000), [7n]);
});

test('none counts that was read after the period', async (context) => {
  const store = await kept(context, [10, 5n, true], [100, 6n, false], [101, 7n, false]);
  const until = async (toMs: number) => await ratesBetween(store, 50, toMs, 0);
  assert.deepEqual(await until(99), [5n]);
  assert.deepEqual(await until(100), [5n, 6n]);
  assert.deepEqual(await until(101), [5n, 6n, 7n]);
});

test('another is in force as long as it may be used', async (context) => {
  const store = await kept(context, [10, 5n, true], [100, 6n, false]);
  assert.deepEqual(await ratesBetween(store, 150, Infinity, 50), [6n]);
  assert.deepEqual(await ratesBetween(store, 151, Infinity, 50), []);
});

test('the last rate before the period that is kept stays', async (context) => {
  const many = Array.from({ length: 450 }, (_, at) => [at, BigInt(at + 1), true] as const);
  const store = await kept(context, ...many, [10_000, 9n, true]);
  assert.equal(await removeRates(store, 5_000), 449);
  assert.equal(await removeRates(store, 5_000), 0);
  assert.deepEqual(await ratesBetween(store, 6_000, Infinity, 0), [450n, 9n]);
  assert.deepEqual(await ratesBetween(store, 0, Infinity, 0), [450n, 9n]);
});

test('rates are stored by their time in eight bytes, as text', async (context) => {
  const store = await kept(context, [258, 5n, false], [259, 6n, true]);
  const records = await store.scan('rates', { limit: 9 });
  assert.deepEqual(
    records.map(({ key, value }) => [Buffer.from(key).toString('hex'), Buffer.from(value).toString()]),
    [
      ['0000000000000102', '5'],
      ['0000000000000103', '6 stays'],
    ],
  );
});

test('old rates are neither read nor removed all at once', async (context) => {
  const many = Array.from({ length: 450 }, (_, at) => [at, BigInt(at + 1), false] as const);
  const store = await kept(context, ...many);
  let read = 0;
  const largest = { units: 0, operations: 0 };
  const seen: Store = {
    ...store,
    scan: async (space, range) => {
      const page = await store.scan(space, range);
      read += page.length;
      return page;
    },
    commit: (operations) => {
      largest.units += 1;
      largest.operations = Math.max(largest.operations, operations.length);
      return store.commit(operations);
    },
  };
  assert.deepEqual(await ratesBetween(seen, 449, Infinity, 5), [449n, 450n]);
  assert.equal(read, 5, 'those of the last five milliseconds');
  assert.deepEqual(
    await ratesBetween(store, 0, Infinity, 5),
    many.map(([, cents]) => cents),
  );
  assert.equal(await removeRates(seen, 449), 448);
  assert.ok(largest.operations < 200 && largest.units < 10, JSON.stringify(largest));
});
