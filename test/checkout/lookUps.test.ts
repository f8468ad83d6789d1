/** Look-ups of open orders: how many of them polls cause, what they change, and which a round makes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lookUpOrder } from '../../src/checkout/onchain/lookUp.js';
import { LookUps, type LookUpParts } from '../../src/checkout/order/lookUps.js';
import type { BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import { encodeOrder } from '../../src/store/tables/order.js';
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
  const say = (about: unknown, text?: string): void => void said.push([text, about]);
  const log = { warn: say };
  const of = new LookUps({ ...{ store, clock, log, rail: 'btc', freshMs: 1_000, lookUp }, ...more });
  return { shop, looked, fences, of, said };
}

let orders = 0;

async function ordered(shop: Shop): Promise<BtcOrder> {
  orders += 1;
  return (await shop.make('btc', { place: `address ${orders}`, addressIndex: orders })).order;
}

/** An order on chain as stored. */
async function waiting(shop: Shop, id: string): Promise<BtcOrder> {
  const order = await shop.stored(id);
  assert.ok(order.rail === 'btc');
  return order;
}

/** Makes an order one that a later version has written. */
async function unreadable(shop: Shop, id: string, value: Uint8Array = Buffer.of(99)): Promise<void> {
  await shop.aside.store.commit([{ kind: 'put', space: 'orders', key: Buffer.from(id), value }]);
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
  assert.deepEqual(await lookUpOrder({ ...shop.book, account, chain: away }, order), failed);
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
    assert.equal(await of.reconcile({ fence }), 2);
    assert.deepEqual(new Set(looked), new Set([one.id, other.id]));
    assert.deepEqual(fences, [fence, fence]);
    assert.equal(await of.reconcile(), 2);
    assert.deepEqual(fences.slice(2), [undefined, undefined]);
  });

  test('leaves out an order that this version cannot read, and says so once', async () => {
    const { shop, looked, of, said } = await open();
    const [one, later, other] = [await ordered(shop), await ordered(shop), await ordered(shop)];
    await unreadable(shop, later.id);
    assert.equal(await of.reconcile({ fence }), 2);
    assert.deepEqual(new Set(looked), new Set([one.id, other.id]));
    assert.equal(await of.reconcile({ fence }), 2);
    assert.match(JSON.stringify(said), /\(order\) cannot be read: this version does not know format 99;/);
    assert.equal(said.length, 1);
    assert.doesNotMatch(JSON.stringify(said), new RegExp(later.id));
  });

  test('leaves out an order whose status only a later version knows', async () => {
    const { shop, looked, of, said } = await open();
    const [one, later] = [await ordered(shop), await ordered(shop)];
    const record = Buffer.from(encodeOrder(later)).toString('latin1');
    const text = record.replace('"status":"pending"', '"status":"escrowed"');
    assert.notEqual(text, record);
    await unreadable(shop, later.id, Buffer.from(text, 'latin1'));
    assert.equal(await of.reconcile(), 1);
    assert.deepEqual(looked, [one.id]);
    assert.match(JSON.stringify(said), /has the status escrowed/);
  });

  test('leaves out an expired order that a later version has written before its turn', async () => {
    let ids: readonly string[] = [];
    const opened = await open({
      async lookUp({ id }) {
        opened.looked.push(id);
        await unreadable(opened.shop, ids[1] ?? '');
        return true;
      },
    });
    const { shop, looked, of, said } = opened;
    const orders = [await ordered(shop), await ordered(shop)];
    ids = orders.map(({ id }) => id).sort();
    shop.time.nowMs += 2 * hour;
    for (const id of ids) await shop.happened(id, { kind: 'outputs', outputs: [] });
    assert.equal((await waiting(shop, ids[1] ?? '')).status, 'expired');
    assert.equal(await of.reconcile(), 1);
    assert.deepEqual([looked, said.length], [[ids[0]], 1]);
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
    assert.equal(await of.reconcile({ lastMs }), 1);
    assert.deepEqual(looked.splice(0), [waiting.id]);
    shop.time.nowMs += 1_000;
    assert.equal(await of.reconcile({ lastMs }), 2);
    // A round without another before it takes them all.
    shop.time.nowMs += 1_000;
    assert.equal(await of.reconcile({ lastMs: shop.time.nowMs - 1 }), 1);
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
        [[2], 6, 7],
        [[1, 2, 4, 5, 7], 2, 7],
        [[1, 3, 4, 5], undefined, 5],
        [[5, 6, 7], undefined, 7],
        [[], 7, 7],
      ] as const) {
        [fails, count] = [failing, 0];
        assert.deepEqual([await of.reconcile(), count], [looked, asked], String(failing));
      }
    }
  });

  /** Urgent orders and expired ones, in the order of ids, and rounds whose answers `onLookUp` decides. */
  async function withBoth(urgentCount: number, expiredCount: number) {
    const asked: string[] = [];
    let onLookUp: (order: BtcOrder) => Promise<boolean> = () => Promise.resolve(true);
    const lookUp = (order: BtcOrder): Promise<boolean> => {
      asked.push(order.id);
      return onLookUp(order);
    };
    const { shop, of } = await open({ lookUp });
    const expired = await many(shop, expiredCount);
    shop.time.nowMs += hour;
    for (const id of expired) await shop.happened(id, { kind: 'time' });
    const urgent = await many(shop, urgentCount);
    /** What a round asks about, and what it resolves to, where a look-up has this answer. */
    const round = async (answer: typeof onLookUp, lastMs?: number) => {
      onLookUp = answer;
      const looked = await of.reconcile({ lastMs });
      return { asked: asked.splice(0), looked };
    };
    return { shop, urgent, expired, round };
  }

  async function many(shop: Shop, count: number): Promise<string[]> {
    const ids: string[] = [];
    while (ids.length < count) ids.push((await ordered(shop)).id);
    return ids.sort();
  }

  test('takes what awaits money, or has some, before what expired without', async () => {
    const { shop, urgent, expired, round } = await withBoth(3, 5);
    const [part = '', settled = ''] = expired.splice(1, 2);
    const output = { txid: 'ab'.repeat(32), vout: 0, atMs: null, height: 7 };
    const outputs = [{ ...output, sat: 1n, confirmations: 0 }];
    await shop.happened(part, { kind: 'outputs', outputs });
    assert.equal((await shop.stored(part)).status, 'expired');
    const all = await round(async ({ id }) => {
      // Paid before its turn comes: nothing can change it any more.
      if (id === expired[0]) await paid(shop, await waiting(shop, settled), 6);
      return true;
    });
    assert.deepEqual(all, { asked: [...[...urgent, part].sort(), ...expired], looked: 7 });
  });

  test('that ended early is resumed by the next, where a node answers few requests', async () => {
    const { urgent, expired, round } = await withBoth(3, 8);
    const all = [...urgent, ...expired];
    /** What a round looks up if the node answers so many requests. */
    const limited = async (limit: number): Promise<string[]> => {
      let left = limit;
      const { asked, looked } = await round(() => Promise.resolve((left -= 1) >= 0));
      assert.equal(new Set(asked).size, asked.length, 'none twice');
      // Up to two that alone fail end no round.
      assert.equal(looked, limit > all.length - 3 ? Math.min(limit, all.length) : undefined);
      return asked.slice(0, limit);
    };
    const [first = '', second = '', third = ''] = urgent;
    for (const each of expired) {
      assert.deepEqual(await limited(2), [first, second]);
      assert.deepEqual(await limited(2), [third, each]);
    }
    for (let limit = 1; limit < all.length; limit += 1) {
      const seen = new Set<string>();
      for (let rounds = 0; rounds < 4 * 8; rounds += 1) for (const id of await limited(limit)) seen.add(id);
      assert.deepEqual([...seen].sort(), all.toSorted(), `${limit} a round`);
    }
    assert.deepEqual((await limited(11)).sort(), all.toSorted());
  });

  test('that looked up none is not begun again with the orders that failed', async () => {
    const { urgent, expired, round } = await withBoth(3, 4);
    const none = (): Promise<boolean> => Promise.resolve(false);
    const all = [...urgent, ...expired];
    const seen = new Set<string>();
    for (let rounds = 0; rounds < 4; rounds += 1) for (const id of (await round(none)).asked) seen.add(id);
    assert.deepEqual([...seen].sort(), all.toSorted());
  });

  test('that looked up none is followed by one that takes urgent orders first', async () => {
    for (const count of [3, 6]) {
      const { urgent, expired, round } = await withBoth(count, 4);
      const [probe = '', ...others] = expired;
      // The node is away, which an expired order shows, too: the urgent ones may fail alone.
      const away = await round(() => Promise.resolve(false));
      assert.deepEqual(away, { asked: [...urgent.slice(0, 3), probe], looked: undefined });
      const back = await round(() => Promise.resolve(true));
      const inTurn = [...urgent.slice(3), ...urgent.slice(0, 3), ...others, probe];
      assert.deepEqual(back, { asked: inTurn, looked: inTurn.length });
    }
  });

  test('goes on after urgent orders that alone fail if an expired one is answered', async () => {
    const { urgent, expired, round } = await withBoth(8, 4);
    const bad = urgent.slice(0, 7);
    const [one = '', two = '', ...others] = expired;
    for (let times = 0; times < 2; times += 1) {
      const { asked, looked } = await round(({ id }) => Promise.resolve(!bad.includes(id)));
      const inTurn = [...urgent.slice(0, 3), one, ...urgent.slice(3, 6), two, ...urgent.slice(6), ...others];
      assert.deepEqual([asked, looked], [inTurn, 5]);
    }
  });

  test('that ends with an order that fails does not tell whether that fails alone', async () => {
    const { shop, urgent, expired, round } = await withBoth(1, 3);
    const [first = '', second = '', third = ''] = expired;
    const broken = round(({ id }) => {
      return id === second ? Promise.reject(new Error('a defect')) : Promise.resolve(true);
    });
    await assert.rejects(broken);
    const failing = ({ id }: BtcOrder): Promise<boolean> => Promise.resolve(id !== first);
    const { asked, looked } = await round(failing);
    assert.deepEqual([asked.slice(3), looked], [[...urgent, second, third, first], 3]);
    const [waits = ''] = urgent;
    await paid(shop, await waiting(shop, waits), 6);
    // It is the only one that is due, so the network may be away: the next round begins after it.
    const next = await round(failing, shop.time.nowMs);
    assert.deepEqual(next, { asked: [first], looked: undefined });
    assert.deepEqual((await round(() => Promise.resolve(true))).asked, [second, third, first]);
  });

  test('gets to an order behind three that alone fail, also where no other tells that', async () => {
    const { shop, urgent, expired, round } = await withBoth(4, 1);
    const [last = ''] = urgent.slice(3);
    const only = ({ id }: BtcOrder): Promise<boolean> => Promise.resolve(!urgent.slice(0, 3).includes(id));
    const [told = ''] = expired;
    assert.deepEqual((await round(only)).asked, [...urgent.slice(0, 3), told, last]);
    await paid(shop, await waiting(shop, told), 6);
    assert.deepEqual(await round(only), { asked: urgent.slice(0, 3), looked: undefined });
    assert.equal((await round(only)).asked[0], last);
  });

  test('is complete without an order that alone fails, which the next takes, too', async () => {
    const { shop, looked, of, fail } = await failing();
    const expired = await many(shop, 3);
    shop.time.nowMs += hour;
    for (const id of expired) await shop.happened(id, { kind: 'time' });
    const waits = await ordered(shop);
    const [bad = ''] = expired;
    const told: string[] = [];
    const round = async (lastMs?: number) => {
      const count = await of.reconcile({ lastMs, onFailed: (id) => told.push(id) });
      return { count, looked: looked.splice(0), told: told.splice(0) };
    };
    fail.add(bad);
    assert.deepEqual(await round(), { count: 3, looked: [waits.id, ...expired], told: [bad] });
    for (let times = 0; times < 2; times += 1) {
      assert.deepEqual(await round(shop.time.nowMs), { count: 1, looked: [waits.id, bad], told: [bad] });
    }
    // A round that the network did not answer forgets none.
    fail.add(waits.id);
    assert.deepEqual(await round(shop.time.nowMs), { count: undefined, looked: [waits.id, bad], told: [] });
    fail.clear();
    assert.deepEqual(await round(shop.time.nowMs), { count: 2, looked: [waits.id, bad], told: [] });
    assert.deepEqual(await round(shop.time.nowMs), { count: 1, looked: [waits.id], told: [] });
  });

  /** Look-ups that fail for some orders. */
  async function failing() {
    const fail = new Set<string>();
    const looked: string[] = [];
    const lookUp = ({ id }: BtcOrder): Promise<boolean> => {
      looked.push(id);
      return Promise.resolve(!fail.has(id));
    };
    return { ...(await open({ lookUp })), looked, fail };
  }

  test('takes a suspended order with what is urgent, though it expired without a payment', async () => {
    const { shop, looked, of } = await open();
    const expired = await many(shop, 2);
    const [, lost = ''] = expired;
    shop.time.nowMs += 20 * hour;
    for (const id of expired) await shop.happened(id, { kind: 'time' });
    await paid(shop, await waiting(shop, lost), 2);
    await shop.happened(lost, { kind: 'outputs', outputs: [] });
    const { status, key, outputs } = await waiting(shop, lost);
    assert.deepEqual([status, key, outputs], ['expired', 'suspended', []]);
    await of.reconcile();
    assert.deepEqual(looked.splice(0), expired.toReversed());
    await of.reconcile({ lastMs: shop.time.nowMs });
    assert.deepEqual(looked, [lost], 'every round takes it');
  });

  test('that an error ended is resumed, too', async () => {
    const { urgent, expired, round } = await withBoth(3, 1);
    const [first = '', second = '', third = ''] = urgent;
    const broken = await round(({ id }) => {
      return id === second ? Promise.reject(new Error('a defect')) : Promise.resolve(true);
    }).catch(() => undefined);
    assert.equal(broken, undefined);
    const next = await round(() => Promise.resolve(true));
    assert.deepEqual(next.asked.slice(2), [second, third, ...expired, first]);
    const last = await round(() => Promise.resolve(true));
    assert.deepEqual(last.asked, [...urgent, ...expired], 'from the first after a complete round');
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
