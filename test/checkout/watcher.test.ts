/**
 * The watcher of on-chain orders: which addresses a node is asked to watch, which orders are looked up after
 * which notification, and what the rounds catch up on.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChainHints } from '../../src/checkout/onchain/chain.js';
import { Watcher, watcherRounds } from '../../src/checkout/onchain/watcher.js';
import type { Account } from '../../src/checkout/onchain/account.js';
import { nextAddressIndex, takeIndexes } from '../../src/store/tables/addressIndexes.js';
import type { BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { HandClock } from '../support/handClock.js';
import { until } from '../support/until.js';
import { byTurn } from '../support/turns.js';
import { account, Shop } from '../support/shop.js';

/** A promise that is resolved by hand. */
function gate(): { readonly held: Promise<void>; readonly letGo: () => void } {
  let letGo = (): void => undefined;
  const held = new Promise<void>((go) => (letGo = go));
  return { held, letGo: () => letGo() };
}

/** A watcher over a store, and a node whose notifications are made by hand. */
class Watched {
  /** What the watcher did, in order: `watch` with addresses, `look` with an order's id. */
  readonly done: string[] = [];
  /** What a look-up does, and whether it is answered. */
  onLookUp: (order: BtcOrder) => Promise<boolean> = () => Promise.resolve(true);
  /** Called before the store is read. */
  onRead: (space: string) => Promise<void> = () => Promise.resolve();
  stops = 0;
  /** What was logged, each with the number of things that were done before. */
  readonly logged: unknown[] = [];
  readonly faults: object[] = [];
  private count = 0;
  readonly hints: ChainHints;
  readonly watcher: Watcher;

  private constructor(
    readonly shop: Shop,
    readonly clock: HandClock,
    private readonly rounds = watcherRounds(),
    own: Account = account,
  ) {
    const { store } = shop.book;
    const read: Store = {
      ...store,
      get: async (space, key) => {
        await this.onRead(space);
        return store.get(space, key);
      },
      scan: async (space, range) => {
        await this.onRead(space);
        return store.scan(space, range);
      },
    };
    const hints: ChainHints[] = [];
    this.watcher = new Watcher({
      ...{ store: read, clock, account: own, rounds },
      log: {
        debug: (about: object) => this.logged.push([about, this.count]),
        warn: (about: object) => this.faults.push(about),
      },
      follow: (given) => {
        hints.push(given);
        const watch = (addresses: readonly string[]): unknown => this.did(['watch', ...addresses].join(' '));
        return { watch, stop: () => (this.stops += 1) };
      },
      lookUp: (order) => {
        this.did(`look ${order.id}`);
        return this.onLookUp(order);
      },
    });
    const [given] = hints;
    assert.ok(given !== undefined);
    this.hints = given;
  }

  /** A watcher over what `prepare` put into the store. */
  static async over<Prepared>(prepare: (shop: Shop) => Promise<Prepared>, own = account) {
    const shop = await Shop.open();
    const prepared = await prepare(shop);
    const watched = new Watched(shop, new HandClock(shop.time.nowMs), watcherRounds(), own);
    const { hints, watcher, clock } = watched;
    return { watched, prepared, hints, watcher, clock };
  }

  /** The process' next watcher, after this one has stopped. */
  again(): Watched {
    return new Watched(this.shop, this.clock, this.rounds);
  }

  private did(what: string): void {
    this.count += 1;
    this.done.push(what);
  }

  /** What was done since this was asked last, once it is so many things. */
  async next(count: number): Promise<string[]> {
    await until(() => this.done.length >= count);
    return this.done.splice(0);
  }
}

/** An order at the account's next address, made by any process. */
async function ordered(shop: Shop, lifeMs = 3_600_000): Promise<BtcOrder> {
  const { store } = shop.aside;
  const before = await nextAddressIndex(store, account.digest);
  const place = account.address(before.next);
  const { order } = await shop.make('btc', { place, addressIndex: before.next, lifeMs });
  await store.commit([takeIndexes(account.digest, before, before.next + 1)]);
  return order;
}

/** What the chain has for an order: so much, so deep; nothing without an amount. */
async function found(shop: Shop, { id }: BtcOrder, sat: bigint, confirmations: number): Promise<void> {
  const output = { txid: 'ab'.repeat(32), vout: 0, sat, confirmations, atMs: null, height: 7 };
  await shop.happened(id, { kind: 'outputs', outputs: sat === 0n ? [] : [output] });
}

const watch = (...orders: readonly BtcOrder[]): string =>
  ['watch', ...orders.map(({ place }) => place)].join(' ');
const look = ({ id }: BtcOrder): string => `look ${id}`;
const inOrderOfIds = (orders: readonly BtcOrder[]): BtcOrder[] =>
  orders.toSorted((left, right) => (left.id < right.id ? -1 : 1));

/** A watcher over two orders, in the order of their ids. */
async function withTwoOrders() {
  const { prepared, ...rest } = await Watched.over(async (shop) => [
    await ordered(shop),
    await ordered(shop),
  ]);
  const [first, second] = inOrderOfIds(prepared);
  assert.ok(first !== undefined && second !== undefined);
  return { ...rest, first, second };
}

describe('a connection to the node', () => {
  test('watches the address of every open order, and looks each of them up', async () => {
    const { watched, prepared, hints, watcher } = await Watched.over(async (shop) => {
      const orders = [await ordered(shop), await ordered(shop), await ordered(shop)] as const;
      await found(shop, orders[2], 50_000n, 6);
      await shop.make('lightning');
      return orders;
    });
    const open = inOrderOfIds(prepared.slice(0, 2));
    hints.onConnected();
    assert.deepEqual(await watched.next(3), [watch(...open), ...open.map(look)]);
    await watcher.stop();
    assert.deepEqual(watched.logged, [[{ rail: 'btc', looked: 2 }, 3]], 'when all were looked up');
  });

  test('watches no address of another network, though its orders are looked up', async () => {
    const { watched, prepared, hints, watcher } = await Watched.over(async (shop) => [
      await ordered(shop),
      (await shop.make('btc', { network: 'testnet', place: 'tb1other', addressIndex: 0 })).order,
    ]);
    hints.onConnected();
    const [own] = prepared;
    assert.ok(own !== undefined);
    assert.deepEqual(await watched.next(3), [watch(own), ...inOrderOfIds(prepared).map(look)]);
    await watcher.stop();
  });

  test('watches new orders even if the open ones cannot be listed', async () => {
    const { watched, prepared, hints, clock } = await Watched.over(ordered);
    watched.onRead = (space) =>
      space === 'openOrders' ? Promise.reject(new StoreUnavailable('told to fail')) : Promise.resolve();
    hints.onConnected();
    assert.deepEqual(await watched.next(1), ['watch']);
    const second = await ordered(watched.shop);
    await clock.pass(500);
    assert.deepEqual(await watched.next(2), [watch(second), look(second)]);
    watched.onRead = () => Promise.resolve();
    hints.onConnected();
    const all = inOrderOfIds([prepared, second]);
    assert.deepEqual(await watched.next(3), [watch(...all), ...all.map(look)]);
  });

  test('that is lost watches nothing; the next one begins with every order', async () => {
    const { watched, prepared, hints, clock } = await Watched.over(ordered);
    const second = await ordered(watched.shop);
    await clock.pass(1_000);
    hints.onConnected();
    const both = inOrderOfIds([prepared, second]);
    assert.deepEqual(await watched.next(3), [watch(...both), ...both.map(look)], 'nothing before it');
    hints.onLost();
    const third = await ordered(watched.shop);
    await clock.pass(2_000);
    hints.onConnected();
    const all = inOrderOfIds([...both, third]);
    assert.deepEqual(await watched.next(4), [watch(...all), ...all.map(look)]);
    // Lost while the store is asked which addresses are new: they are those of the next connection.
    const { held, letGo } = gate();
    let asked = 0;
    watched.onRead = (space) => {
      if (space === 'addressIndexes') asked += 1;
      return space === 'addressIndexes' && asked === 1 ? held : Promise.resolve();
    };
    const fourth = await ordered(watched.shop);
    await clock.pass(500);
    hints.onLost();
    letGo();
    await clock.pass(1_000);
    assert.equal(asked, 1);
    hints.onConnected();
    const now = inOrderOfIds([...all, fourth]);
    assert.deepEqual(await watched.next(5), [watch(...now), ...now.map(look)]);
  });
});

describe('an order that any process makes', () => {
  test('is watched within half a second, and looked up once it is watched', async () => {
    const { watched, prepared, hints, clock } = await Watched.over(ordered);
    hints.onConnected();
    await watched.next(2);
    const [second, third] = [await ordered(watched.shop), await ordered(watched.shop)];
    await clock.pass(499);
    assert.deepEqual(watched.done, []);
    await clock.pass(1);
    assert.deepEqual(await watched.next(3), [watch(second, third), look(second), look(third)]);
    // Each is new once; an index that is given out and has no order yet is watched.
    const { store } = watched.shop.aside;
    const before = await nextAddressIndex(store, account.digest);
    await store.commit([takeIndexes(account.digest, before, before.next + 1)]);
    await clock.pass(500);
    assert.deepEqual(await watched.next(1), [`watch ${account.address(before.next)}`]);
    await clock.pass(500);
    hints.onAddresses([prepared.place]);
    assert.deepEqual(await watched.next(1), [look(prepared)]);
  });

  test('is searched for by one read at a time, however slow the store is', async () => {
    const { watched, hints, clock } = await Watched.over(ordered);
    hints.onConnected();
    await watched.next(2);
    const { held, letGo } = gate();
    let asked = 0;
    watched.onRead = (space) => {
      if (space === 'addressIndexes') asked += 1;
      return held;
    };
    await clock.pass(5_000);
    assert.equal(asked, 1);
    const second = await ordered(watched.shop);
    letGo();
    assert.deepEqual(await watched.next(2), [watch(second), look(second)]);
    await clock.pass(1_000);
    assert.equal(asked, 3);
  });

  test('holds nobody up with its address, however many were made at once', async () => {
    const { work: address, most } = byTurn((index: number) => `address ${index}`);
    const { watched, hints, clock } = await Watched.over(ordered, { ...account, address });
    hints.onConnected();
    await watched.next(2);
    const { store } = watched.shop.aside;
    const { next, ...before } = await nextAddressIndex(store, account.digest);
    await store.commit([takeIndexes(account.digest, before, next + 30)]);
    await clock.pass(500);
    const expected = Array.from({ length: 30 }, (_, at) => `address ${next + at}`);
    assert.deepEqual(await watched.next(1), [['watch', ...expected].join(' ')]);
    const found = most();
    assert.ok(found <= 3, `${found} addresses in a turn`);
  });
});

describe('an order that this version cannot read', () => {
  test('is left out, and no other waits for it', async () => {
    const { watched, prepared, hints, watcher, clock } = await Watched.over(async (shop) => {
      const orders = [await ordered(shop), await ordered(shop), await ordered(shop)] as const;
      const key = Buffer.from(orders[1].id);
      await shop.aside.store.commit([{ kind: 'put', space: 'orders', key, value: Buffer.of(99) }]);
      return orders;
    });
    const [first, unreadable, third] = prepared;
    const others = inOrderOfIds([first, third]);
    hints.onConnected();
    assert.deepEqual(await watched.next(3), [watch(...others), ...others.map(look)]);
    hints.onAddresses([unreadable.place, third.place]);
    assert.deepEqual(await watched.next(1), [look(third)]);
    await found(watched.shop, first, 50_000n, 1);
    hints.onBlock();
    assert.deepEqual(await watched.next(1), [look(first)]);
    await clock.pass(600_000);
    await watcher.stop();
    const reason =
      'A record of the store (order) cannot be read: this version does not know format 99; a later one may.';
    assert.deepEqual(watched.faults, [{ reason }], 'said once');
  });
});

describe('a notification', () => {
  test('of addresses looks up the open orders that have one of them', async () => {
    const { watched, prepared, hints } = await Watched.over(async (shop) => {
      const [open, over, other] = [await ordered(shop), await ordered(shop), await ordered(shop)];
      await found(shop, over, 50_000n, 6);
      return { open, over, other };
    });
    const { open, over, other } = prepared;
    hints.onAddresses(['somebody else’s', over.place, open.place]);
    hints.onAddresses([other.place]);
    assert.deepEqual(await watched.next(2), [look(open), look(other)]);
  });

  test('of a block looks up the orders with payments, whose depth has changed', async () => {
    const { watched, prepared, hints } = await Watched.over(async (shop) => {
      const [unpaid, part, all] = [await ordered(shop), await ordered(shop), await ordered(shop)];
      await found(shop, part, 1n, 0);
      await found(shop, all, 50_000n, 1);
      return { unpaid, paid: inOrderOfIds([part, all]) };
    });
    hints.onBlock();
    hints.onBlock();
    const looked = prepared.paid.map(look);
    assert.deepEqual(await watched.next(4), [...looked, ...looked]);
  });

  test('of a block also applies to a payment that is being looked up', async () => {
    const { watched, prepared: order, hints, watcher } = await Watched.over((shop) => ordered(shop));
    const { held, letGo } = gate();
    watched.onLookUp = async (looked) => {
      // The node answered before the block.
      await held;
      await found(watched.shop, looked, looked.sat, 0);
      return true;
    };
    hints.onAddresses([order.place]);
    assert.deepEqual(await watched.next(1), [look(order)]);
    hints.onBlock();
    watched.onLookUp = () => Promise.resolve(true);
    letGo();
    assert.deepEqual(await watched.next(1), [look(order)]);
    await watcher.stop();
  });

  test('does not wait for a round, but for others of its kind', async () => {
    const { watched, hints, first, second } = await withTwoOrders();
    const [round, hint] = [gate(), gate()];
    watched.onLookUp = async () => {
      await round.held;
      return true;
    };
    hints.onConnected();
    assert.deepEqual(await watched.next(2), [watch(first, second), look(first)]);
    watched.onLookUp = async () => {
      await hint.held;
      return true;
    };
    hints.onAddresses([second.place]);
    assert.deepEqual(await watched.next(1), [look(second)]);
    hints.onAddresses([first.place]);
    hints.onBlock();
    round.letGo();
    // The round goes on with its second order, which is held as the hint is.
    assert.deepEqual(await watched.next(1), [look(second)]);
    hint.letGo();
    assert.deepEqual(await watched.next(1), [look(first)]);
  });

  test('of a block waits until the orders of the block before it are looked up', async () => {
    const { watched, prepared, hints } = await Watched.over(async (shop) => {
      const [paid, unpaid] = [await ordered(shop), await ordered(shop)];
      await found(shop, paid, 50_000n, 1);
      return { paid, unpaid };
    });
    const { paid, unpaid } = prepared;
    const { held, letGo } = gate();
    watched.onLookUp = async ({ id }) => {
      if (id === paid.id) await held;
      return true;
    };
    hints.onBlock();
    hints.onBlock();
    assert.deepEqual(await watched.next(1), [look(paid)]);
    // Reads the store after a second round that does not wait.
    hints.onAddresses([unpaid.place]);
    assert.deepEqual(await watched.next(1), [look(unpaid)]);
    letGo();
    assert.deepEqual(await watched.next(1), [look(paid)]);
  });
});

describe('rounds', () => {
  test('end if the node fails three times, and the next one makes up for it', async () => {
    const { watched, hints, prepared } = await Watched.over(async (shop) => {
      const orders = [await ordered(shop), await ordered(shop), await ordered(shop)];
      return [...orders, await ordered(shop), await ordered(shop)];
    });
    const all = inOrderOfIds(prepared);
    const looks = all.map(look);
    watched.onLookUp = () => Promise.resolve(false);
    hints.onConnected();
    hints.onConnected();
    const [one = '', two = '', three = '', four = '', five = ''] = looks;
    const ended = [watch(...all), one, two, three, watch(...all), four, five, one];
    assert.deepEqual(await watched.next(8), ended);
    watched.onLookUp = () => Promise.reject(new StoreUnavailable('told to fail'));
    hints.onConnected();
    assert.deepEqual(await watched.next(2), [watch(...all), two]);
    // One that fails alone does not keep the others waiting.
    watched.onLookUp = ({ id }) => Promise.resolve(id !== all[1]?.id);
    hints.onConnected();
    assert.deepEqual(await watched.next(6), [watch(...all), two, three, four, five, one]);
  });

  test('that ended early are resumed by the next of their kind', async () => {
    const { watched, hints, prepared, clock } = await Watched.over(async (shop) => {
      const orders = [await ordered(shop), await ordered(shop), await ordered(shop)];
      return inOrderOfIds([...orders, await ordered(shop), await ordered(shop)]);
    });
    const [first = '', ...later] = prepared.map(look);
    watched.onLookUp = ({ id }) => Promise.resolve(id === prepared[0]?.id);
    hints.onConnected();
    assert.deepEqual(await watched.next(5), [watch(...prepared), first, ...later.slice(0, 3)]);
    watched.onLookUp = () => Promise.resolve(true);
    // Rounds of the orders with payments, and of those that have ended: there are none.
    hints.onBlock();
    await clock.pass(540_000);
    assert.deepEqual(watched.done, []);
    await clock.pass(60_000);
    assert.deepEqual(await watched.next(5), [...later, first]);
  });

  test('that ended early are resumed by the next watcher of the process', async () => {
    const { watched, hints, watcher, prepared } = await Watched.over(async (shop) => {
      const orders = [await ordered(shop), await ordered(shop), await ordered(shop)];
      return inOrderOfIds([...orders, await ordered(shop)]);
    });
    const [one = '', two = '', three = '', four = ''] = prepared.map(look);
    // Three that alone cannot be looked up.
    const isGood = ({ id }: BtcOrder): Promise<boolean> => Promise.resolve(id === prepared[3]?.id);
    watched.onLookUp = isGood;
    hints.onConnected();
    assert.deepEqual(await watched.next(4), [watch(...prepared), one, two, three]);
    await watcher.stop();
    const next = watched.again();
    next.onLookUp = isGood;
    next.hints.onConnected();
    assert.deepEqual(await next.next(5), [watch(...prepared), four, one, two, three]);
    await next.watcher.stop();
  });

  test('are complete without an order that alone cannot be looked up, which the next ones take', async () => {
    const { watched, prepared, hints, watcher, clock } = await Watched.over(async (shop) => {
      const expired = [await ordered(shop, 1), await ordered(shop, 1)];
      shop.time.nowMs += 86_400_000;
      for (const { id } of expired) await shop.happened(id, { kind: 'time' });
      return [await ordered(shop, 36_000_000), ...inOrderOfIds(expired)];
    });
    const [, bad] = prepared;
    const [waits = '', fails = ''] = prepared.map(look);
    watched.onLookUp = ({ id }) => Promise.resolve(id !== bad?.id);
    hints.onConnected();
    await watched.next(4);
    for (let times = 0; times < 2; times += 1) {
      await clock.pass(600_000);
      assert.deepEqual(await watched.next(2), [waits, fails]);
      assert.equal(watcher.failedRounds, 0);
    }
    watched.onLookUp = () => Promise.resolve(true);
    await clock.pass(600_000);
    assert.deepEqual(await watched.next(2), [waits, fails]);
    await clock.pass(600_000);
    assert.deepEqual(await watched.next(1), [waits]);
  });

  test('take unpaid orders in the minute in which they expire', async () => {
    const { watched, prepared, hints, clock } = await Watched.over(async (shop) => {
      const [pending, underpaid, seen, later] = [
        await ordered(shop, 60_000),
        await ordered(shop, 60_000),
        await ordered(shop, 60_000),
        await ordered(shop, 60_001),
      ];
      await found(shop, underpaid, 1n, 0);
      await found(shop, seen, 50_000n, 0);
      return { pending, underpaid, later, seen };
    });
    const { pending, underpaid, later, seen } = prepared;
    const due = inOrderOfIds([pending, underpaid]);
    hints.onConnected();
    await watched.next(1 + inOrderOfIds([...due, later, seen]).length);
    await clock.pass(60_000);
    assert.deepEqual(await watched.next(2), due.map(look));
    await clock.pass(60_000);
    assert.deepEqual(await watched.next(3), inOrderOfIds([...due, later]).map(look));
  });

  test('take what is due every ten minutes: orders that await something, and few expired ones', async () => {
    const { watched, prepared, hints, clock } = await Watched.over(async (shop) => {
      const old = await ordered(shop, 1);
      shop.time.nowMs += 10 * 3_600_000;
      const [expired, waiting] = [await ordered(shop, 1), await ordered(shop, 36_000_000)];
      shop.time.nowMs += 1;
      for (const { id } of [old, expired]) await shop.happened(id, { kind: 'time' });
      return { old, expired, waiting };
    });
    const { old, expired, waiting } = prepared;
    hints.onConnected();
    await watched.next(4);
    // Expired orders are looked up after 15 s, and twice as long after each time.
    const due = [waiting, expired].map(look);
    for (const expected of [due, due, [look(waiting)], due]) {
      await clock.pass(599_999);
      assert.deepEqual(watched.done, []);
      await clock.pass(1);
      assert.deepEqual(await watched.next(expected.length), expected);
    }
    assert.notEqual(old.id, expired.id);
  });

  test('that take long, or end early, still include what became due meanwhile', async () => {
    const { watched, prepared, hints, clock } = await Watched.over(async (shop) => {
      const expired = await ordered(shop, 1);
      // Its next look-ups are due in 10 s, and two hours later.
      shop.time.nowMs += 1 + 7_655_000;
      await shop.happened(expired.id, { kind: 'time' });
      return [expired, await ordered(shop, 36_000_000)];
    });
    const waiting = prepared.slice(1).map(look);
    const both = prepared.toReversed().map(look);
    const { held, letGo } = gate();
    watched.onLookUp = async () => {
      await held;
      return true;
    };
    hints.onConnected();
    await watched.next(2);
    await clock.pass(20_000);
    letGo();
    await watched.next(1);
    watched.onLookUp = () => Promise.resolve(false);
    await clock.pass(580_000);
    assert.deepEqual(await watched.next(2), both, 'the node does not answer');
    watched.onLookUp = () => Promise.resolve(true);
    await clock.pass(60_000);
    assert.deepEqual(await watched.next(2), both);
    for (const ms of [540_000, 600_000]) {
      await clock.pass(ms);
      assert.deepEqual(await watched.next(1), waiting);
    }
  });

  test('take every expired order after a connection that could not look all of them up', async () => {
    const { watched, prepared, hints, clock } = await Watched.over(async (shop) => {
      const old = await ordered(shop, 1);
      shop.time.nowMs += 10 * 3_600_000;
      await shop.happened(old.id, { kind: 'time' });
      return [old, await ordered(shop, 36_000_000)];
    });
    watched.onLookUp = () => Promise.resolve(false);
    hints.onConnected();
    await watched.next(3);
    watched.onLookUp = () => Promise.resolve(true);
    await clock.pass(60_000);
    assert.deepEqual(await watched.next(2), prepared.toReversed().map(look));
    await clock.pass(540_000);
    assert.deepEqual(await watched.next(1), prepared.slice(1).map(look));
  });

  test('take each minute what is due while the node is silent, and count those without answer', async () => {
    const { watched, prepared, hints, watcher, clock } = await Watched.over(async (shop) => {
      const own = [await ordered(shop), await ordered(shop)];
      const foreign = { network: 'testnet', place: 'tb1other', addressIndex: 0 } as const;
      return [...own, (await shop.make('btc', foreign)).order];
    });
    const [first] = prepared;
    const all = inOrderOfIds(prepared).map(look);
    const failed = (count: number): Promise<void> => until(() => watcher.failedRounds === count);
    const aMinute = async (expected: readonly string[], count: number): Promise<void> => {
      await clock.pass(60_000);
      assert.deepEqual((await watched.next(expected.length)).sort(), expected);
      await failed(count);
    };
    // Without a connection. An order of another network is looked up without the node.
    watched.onLookUp = ({ network }) => Promise.resolve(network === 'testnet');
    await aMinute(all, 1);
    await aMinute(all, 2);
    // One that alone cannot be looked up.
    watched.onLookUp = ({ id }) => Promise.resolve(id !== first?.id);
    await aMinute(all, 0);
    watched.onLookUp = () => Promise.resolve(true);
    hints.onConnected();
    await watched.next(4);
    await aMinute([], 0);
    // Connected to a node that answers nothing.
    watched.onLookUp = () => Promise.resolve(false);
    hints.onConnected();
    await watched.next(4);
    await aMinute(all, 2);
    // A round of the orders with payments: there are none.
    hints.onBlock();
    await aMinute(all, 3);
    watched.onLookUp = () => Promise.resolve(true);
    await aMinute(all, 0);
    await aMinute([], 0);
    await watcher.stop();
    assert.deepEqual(watched.done, []);
  });

  test('count one order without answer, though one of another network needs none', async () => {
    const { watched, watcher, clock } = await Watched.over(async (shop) => {
      await ordered(shop);
      await shop.make('btc', { network: 'testnet', place: 'tb1other', addressIndex: 0 });
    });
    watched.onLookUp = ({ network }) => Promise.resolve(network === 'testnet');
    await clock.pass(60_000);
    await watched.next(2);
    await until(() => watcher.failedRounds === 1);
    await watcher.stop();
  });

  test('look for a payment that a block took away each two seconds, for a minute', async () => {
    const { watched, prepared, hints, clock } = await Watched.over(async (shop) => {
      const [lost, kept, unpaid] = [await ordered(shop), await ordered(shop), await ordered(shop)];
      await found(shop, lost, 50_000n, 1);
      await found(shop, kept, 50_000n, 1);
      return { lost, kept, unpaid };
    });
    const { lost, kept } = prepared;
    hints.onConnected();
    await watched.next(4);
    watched.onLookUp = async ({ id }) => {
      if (id === lost.id) await found(watched.shop, lost, 0n, 0);
      return true;
    };
    hints.onBlock();
    assert.deepEqual(await watched.next(2), inOrderOfIds([lost, kept]).map(look));
    for (let count = 0; count < 30; count += 1) {
      await clock.pass(1_999);
      assert.deepEqual(watched.done, []);
      await clock.pass(1);
      assert.deepEqual(await watched.next(1), [look(lost)]);
    }
    let read = 0;
    watched.onRead = (space) => {
      if (space !== 'addressIndexes') read += 1;
      return Promise.resolve();
    };
    await clock.pass(2_000);
    await until(() => read > 0);
    read = 0;
    await clock.pass(30_000);
    assert.equal(read, 0, 'it is given up');
    // Another block that takes it away has it looked for once more.
    hints.onBlock();
    assert.deepEqual(await watched.next(1), [look(kept)]);
    await found(watched.shop, lost, 50_000n, 1);
    hints.onBlock();
    assert.deepEqual(await watched.next(2), inOrderOfIds([lost, kept]).map(look));
    await clock.pass(2_000);
    assert.deepEqual(await watched.next(1), [look(lost)]);
  });

  test('do not look for the payment of an order that is over', async () => {
    const { watched, prepared, hints, clock } = await Watched.over(async (shop) => {
      const orders = [await ordered(shop), await ordered(shop)];
      for (const each of orders) await found(shop, each, 50_000n, 1);
      return inOrderOfIds(orders);
    });
    const [over, open] = prepared;
    assert.ok(over !== undefined && open !== undefined);
    watched.onLookUp = async (order) => {
      // Thirty days after it expired nobody watches for its payment any more.
      const laterMs = order.id === over.id ? 31 * 86_400_000 : 0;
      watched.shop.time.nowMs += laterMs;
      await found(watched.shop, order, 0n, 0);
      watched.shop.time.nowMs -= laterMs;
      return true;
    };
    hints.onBlock();
    await watched.next(2);
    assert.equal((await watched.shop.stored(over.id)).status, 'expired');
    await clock.pass(2_000);
    assert.deepEqual(await watched.next(1), [look(open)]);
    await clock.pass(2_000);
    assert.deepEqual(await watched.next(1), [look(open)]);
  });
});

describe('a watcher that is stopped', () => {
  type Needed = 'watched' | 'watcher' | 'clock' | 'hints';

  /** Two orders, both with a payment that was lost, and a watcher whose look-ups are held. */
  async function held() {
    const { watched, prepared, ...more } = await Watched.over(async (shop) => {
      const orders = [await ordered(shop), await ordered(shop)];
      for (const each of orders) await found(shop, each, 50_000n, 0);
      return inOrderOfIds(orders);
    });
    const [first, second] = prepared;
    assert.ok(first !== undefined && second !== undefined);
    const { held: holding, letGo } = gate();
    const hold = (): void => {
      watched.onLookUp = async () => {
        await holding;
        return true;
      };
    };
    return { watched, first, second, hold, letGo, ...more };
  }

  /** Stops it; nothing may happen any more but the end of what is under way, which `letGo` brings. */
  async function stopped(
    { watched, watcher, clock, hints }: Pick<Awaited<ReturnType<typeof held>>, Needed>,
    letGo: () => void,
  ) {
    let isOver = false;
    const stopping = watcher.stop().then(() => (isOver = true));
    assert.deepEqual([watched.stops, clock.timers], [1, 0]);
    await clock.pass(600_000);
    assert.equal(isOver, false, 'it waits for what is under way');
    letGo();
    await stopping;
    hints.onConnected();
    hints.onBlock();
    hints.onAddresses([account.address(0)]);
    await watcher.stop();
    assert.deepEqual(watched.done, []);
  }

  test('finishes the round that it is in', async () => {
    const all = await held();
    all.hold();
    all.hints.onConnected();
    assert.deepEqual(await all.watched.next(2), [watch(all.first, all.second), look(all.first)]);
    all.hints.onBlock();
    await stopped(all, all.letGo);
  });

  test('neither reads nor looks up an expired order that the round has left for its end', async () => {
    const { watched, prepared, ...more } = await Watched.over(async (shop) => {
      const orders = inOrderOfIds([await ordered(shop, 1), await ordered(shop, 1)]);
      shop.time.nowMs += 1;
      await shop.happened(orders[0]?.id ?? '', { kind: 'time' });
      return orders;
    });
    const { held: holding, letGo } = gate();
    watched.onLookUp = async () => {
      await holding;
      return true;
    };
    more.hints.onConnected();
    assert.deepEqual(await watched.next(2), [watch(...prepared), ...prepared.slice(1).map(look)]);
    const reads: string[] = [];
    watched.onRead = (space) => {
      reads.push(space);
      return Promise.resolve();
    };
    await stopped({ watched, ...more }, letGo);
    assert.deepEqual(reads, []);
  });

  test('finishes the notification that it is handling', async () => {
    const all = await held();
    all.hold();
    all.hints.onAddresses([all.first.place, all.second.place]);
    assert.deepEqual(await all.watched.next(1), [look(all.first)]);
    all.hints.onAddresses([all.second.place]);
    await stopped(all, all.letGo);
  });

  test('ends its search for lost payments', async () => {
    const all = await held();
    all.hints.onBlock();
    await all.watched.next(2);
    for (const order of [all.first, all.second]) await found(all.watched.shop, order, 0n, 0);
    all.hold();
    await all.clock.pass(2_000);
    assert.deepEqual(await all.watched.next(1), [look(all.first)]);
    await stopped(all, all.letGo);
  });

  test('waits for a read of new orders that has begun', async () => {
    const all = await held();
    all.hints.onConnected();
    await all.watched.next(3);
    const { held: reading, letGo } = gate();
    all.watched.onRead = () => reading;
    await all.clock.pass(500);
    await stopped(all, letGo);
  });
});
