/** Look-ups of open orders: how many of them polls cause, what they change, and which a round makes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lookUpOrder } from '../../src/checkout/onchain/lookUp.js';
import { NodeTrust } from '../../src/checkout/onchain/nodeTrust.js';
import { LookUps, type LookUpParts } from '../../src/checkout/order/lookUps.js';
import type { BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import { StoreUnavailable, type Fence } from '../../src/store/store.js';
import { newOrderId } from '../../src/checkout/order/book.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { account, Shop } from '../support/shop.js';
import { Dice, SimulatedChain } from '../support/world.js';

const hour = 3_600_000;

/** A shop with look-ups that only note which orders they were of. */
async function open(more: Partial<LookUpParts<'btc'>> = {}) {
  const shop = await Shop.open();
  const looked: string[] = [];
  const fences: (Fence | undefined)[] = [];
  const lookUp = (order: BtcOrder, fence?: Fence): Promise<boolean> => {
    looked.push(order.id);
    fences.push(fence);
    return Promise.resolve(true);
  };
  const { store, clock } = shop.book;
  const said: unknown[] = [];
  const log = { warn: (about: unknown, text?: string): void => void said.push([text, about]) };
  const of = new LookUps({ ...{ store, clock, log, rail: 'btc', freshMs: 1_000, lookUp }, ...more });
  return { shop, looked, fences, of, said };
}

let orders = 0;

async function ordered(shop: Shop): Promise<BtcOrder> {
  orders += 1;
  return (await shop.make('btc', { place: `address ${orders}`, addressIndex: orders })).order;
}

/** Has an order paid for, in so many blocks. */
async function paid(shop: Shop, { id }: BtcOrder, confirmations: number): Promise<void> {
  const output = { txid: 'ab'.repeat(32), vout: 0, sat: 50_000n, atMs: null, height: 7 };
  await shop.happened(id, { kind: 'outputs', outputs: [{ ...output, confirmations }] });
}

describe('a poll', () => {
  test('causes at most one look-up a second, however many polls there are', async () => {
    const { shop, looked, of } = await open();
    const [order, other] = [await ordered(shop), await ordered(shop)];
    await Promise.all(Array.from({ length: 20 }, () => of.refresh(order)));
    assert.deepEqual(looked, [order.id]);
    shop.time.nowMs += 999;
    await of.refresh(order);
    assert.deepEqual(looked, [order.id]);
    await of.refresh(other);
    shop.time.nowMs += 1;
    await of.refresh(order);
    assert.deepEqual(looked, [order.id, other.id, order.id]);
  });

  test('waits for the look-up that is under way, and shows what it found', async () => {
    let letGo = (): void => undefined;
    const held = new Promise<void>((go) => (letGo = go));
    const lookUp = async (order: BtcOrder): Promise<boolean> => {
      await held;
      await paid(shop, order, 1);
      return true;
    };
    const { shop, of } = await open({ lookUp });
    const order = await ordered(shop);
    const polls = [of.refresh(order), of.refresh(order)];
    letGo();
    for (const after of await Promise.all(polls)) assert.equal(after.status, 'seen');
  });

  test('shows what another process found if only that one may look up now', async () => {
    const asked: unknown[] = [];
    let may = false;
    const mayLook = (id: string, everyMs: number): boolean => {
      asked.push([id, everyMs]);
      return may;
    };
    const { shop, looked, of } = await open({ mayLook });
    const order = await ordered(shop);
    await paid(shop, order, 1);
    assert.equal((await of.refresh(order)).status, 'seen');
    assert.deepEqual([looked, asked], [[], [[order.id, 1_000]]]);
    may = true;
    await of.refresh(order);
    // Its own look-up stands: the others are not asked.
    await of.refresh(order);
    assert.deepEqual([looked.length, asked.length], [1, 2]);
  });

  test('of an order that nothing can change causes no look-up', async () => {
    const { shop, looked, of } = await open();
    const order = await ordered(shop);
    await paid(shop, order, 6);
    const over = await shop.stored(order.id);
    assert.ok(over.rail === 'btc' && !over.open);
    assert.equal(await of.refresh(over), over);
    assert.deepEqual(looked, []);
  });

  test('shows the stored order if the network or the store does not answer', async () => {
    for (const outcome of [
      () => Promise.resolve(false),
      () => Promise.reject(new StoreUnavailable('told to fail')),
    ]) {
      const { shop, of } = await open({ lookUp: outcome });
      const order = await ordered(shop);
      assert.deepEqual(await of.refresh(order), order);
      // One that is not on disk, as after a store was replaced.
      const unknown = { ...order, id: newOrderId(systemRandomness) };
      assert.equal(await of.refresh(unknown), unknown);
    }
    const { shop, of } = await open({ lookUp: () => Promise.reject(new Error('a defect')) });
    await assert.rejects(of.refresh(await ordered(shop)), /^Error: a defect$/);
  });
});

test('a node that does not answer leaves an order unchanged, and its reason is returned', async () => {
  const shop = await Shop.open();
  const order = await ordered(shop);
  const failed = { kind: 'failed', reason: 'it sleeps' } as const;
  const { chain } = new SimulatedChain(new Dice(1), shop.time);
  const away = { ...chain, lookup: () => Promise.resolve(failed) };
  const parts = { ...shop.book, chain: away, trust: new NodeTrust({ ...shop.book, account, chain: away }) };
  assert.deepEqual(await lookUpOrder(parts, order), failed);
  assert.deepEqual(await shop.stored(order.id), order);
});

describe('a round', () => {
  const fence: Fence = { lease: 'orders btc', token: 7 };

  test('looks up every open order of its rail, under its lease', async () => {
    const { shop, looked, fences, of } = await open();
    const [one, other, over] = [await ordered(shop), await ordered(shop), await ordered(shop)];
    await paid(shop, over, 6);
    await shop.make('lightning');
    await shop.make('card');
    assert.equal(await of.reconcile(fence), 2);
    assert.deepEqual(new Set(looked), new Set([one.id, other.id]));
    assert.deepEqual(fences, [fence, fence]);
    assert.equal(await of.reconcile(), 2);
    assert.deepEqual(fences.slice(2), [undefined, undefined]);
  });

  test('after another round takes only what has become due, and few of the expired orders', async () => {
    const { shop, looked, of } = await open();
    const [expired, waiting] = [await ordered(shop), await ordered(shop)];
    shop.time.nowMs += hour;
    await shop.happened(expired.id, { kind: 'time' });
    assert.equal((await shop.stored(expired.id)).status, 'expired');
    assert.equal(await of.reconcile(), 2);
    looked.splice(0);
    const lastMs = shop.time.nowMs;
    shop.time.nowMs += 14_000;
    assert.equal(await of.reconcile(undefined, lastMs), 1);
    assert.deepEqual(looked.splice(0), [waiting.id]);
    shop.time.nowMs += 1_000;
    assert.equal(await of.reconcile(undefined, lastMs), 2);
    // A round without another before it takes them all.
    shop.time.nowMs += 1_000;
    assert.equal(await of.reconcile(undefined, shop.time.nowMs - 1), 1);
    assert.equal(await of.reconcile(), 2);
  });

  test('continues after an order that cannot be looked up, and ends after three in a row', async () => {
    for (const outcome of [
      () => Promise.resolve(false),
      () => Promise.reject(new StoreUnavailable('told to fail')),
    ]) {
      let fails: readonly number[] = [2];
      let count = 0;
      const lookUp = (): Promise<boolean> => {
        count += 1;
        return fails.includes(count) ? outcome() : Promise.resolve(true);
      };
      const { shop, of } = await open({ lookUp });
      for (let each = 0; each < 7; each += 1) await ordered(shop);
      for (const [failing, looked, asked] of [
        [[2], undefined, 7],
        [[1, 2, 4, 5, 7], undefined, 7],
        [[1, 3, 4, 5], undefined, 5],
        [[5, 6, 7], undefined, 7],
        [[], 7, 7],
      ] as const) {
        [fails, count] = [failing, 0];
        assert.deepEqual([await of.reconcile(), count], [looked, asked], String(failing));
      }
    }
  });

  test('reports an order that cannot be looked up without its id, and ends if none is listed', async () => {
    const refused = await open({ lookUp: () => Promise.reject(new StoreUnavailable('told to fail')) });
    const order = await ordered(refused.shop);
    assert.equal(await refused.of.reconcile(), undefined);
    const createdAt = new Date(order.createdAtMs).toISOString();
    const about = { rail: 'btc', createdAt, reason: 'told to fail' };
    assert.deepEqual(refused.said, [['an order could not be looked up', about]]);
    const { shop, of } = await open();
    await ordered(shop);
    shop.fault = { left: 0, met: false };
    assert.equal(await of.reconcile(), undefined, 'the orders cannot be listed');
    shop.fault = undefined;
    assert.equal(await of.reconcile(), 1);
  });
});
