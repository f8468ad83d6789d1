/**
 * Old payments make no key: addresses with a history are skipped, at the first start, before every order and
 * after a restore, in random histories and with a node whose index of addresses lags.
 */
import type { BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import type { OrderRecord } from '../../src/store/tables/order.js';
import { nextAddressIndex } from '../../src/store/tables/addressIndexes.js';
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { Bitcoin } from '../../src/checkout/onchain/bitcoin.js';
import type { BookParts } from '../../src/checkout/order/book.js';
import type { Chain } from '../../src/checkout/onchain/chain.js';
import { addressSentence } from '../../src/checkout/onchain/freshAddresses.js';
import { native } from '../../src/native/addon.js';
import { allKeys } from '../../src/store/tables/keys.js';
import { findOrder } from '../../src/store/tables/orders.js';
import { draws } from '../support/length.js';
import { memoryFolder } from '../support/run.js';
import { storeAt } from '../support/openStore.js';
import { Dice, SimulatedChain, Time } from '../support/world.js';
import { collect } from '../support/collect.js';

const secrets = ['a-secret-of-the-tests-that-opens-nothing'] as const;
const price = 50_000;
const wish = {
  ...{ tier: 'growth', sat: BigInt(price), termDays: 30, email: null },
  ...{ source: null, segment: null, campaign: null, eventId: null },
};
const account = {
  digest: Buffer.alloc(16),
  network: 'mainnet',
  address: (at: number) => `bc1${at}`,
} as const;

/** An account on a chain of a seed, and any number of stores that sell on it. */
class World {
  readonly dice: Dice;
  readonly time = new Time();
  readonly simulated: SimulatedChain;
  /** Messages of the rails, with the index that they begin at. */
  readonly said: string[] = [];

  constructor(
    private readonly context: TestContext | undefined,
    seed = 1,
  ) {
    this.dice = new Dice(seed);
    this.simulated = new SimulatedChain(this.dice, this.time);
    this.simulated.mine();
  }

  async store(): Promise<BookParts> {
    const store = await storeAt(`lmdb:${memoryFolder()}/store`);
    this.context?.after(() => store.close());
    const { clock } = this.time;
    return { store, clock, randomness: this.dice.bytes, secrets, keyFormat: native };
  }

  /** A rail of one process; it has not begun. */
  rail(book: BookParts, more: Partial<Chain> = {}): Bitcoin {
    const say = (about: unknown, text?: string): void =>
      void this.said.push(`${text}: ${JSON.stringify(about)}`);
    return new Bitcoin({
      ...book,
      ...{ clock: this.time.clock, account, chain: { ...this.simulated.chain, ...more } },
      ...{ confirmationsRequired: 2, maxUnpaidOrders: 0 },
      log: { warn: say, info: say, debug: () => undefined },
    });
  }

  async begun(book: BookParts, more: Partial<Chain> = {}): Promise<Bitcoin> {
    const rail = this.rail(book, more);
    assert.equal(await rail.begin(), 0);
    return rail;
  }

  pay(index: number, sat = price): void {
    this.simulated.pay(account.address(index), BigInt(sat));
  }
}

async function order(rail: Bitcoin): Promise<BtcOrder> {
  const made = await rail.create(wish);
  if (made.kind !== 'made') assert.fail(JSON.stringify(made));
  return made.order;
}

async function statusOf({ store }: BookParts, { id }: OrderRecord): Promise<string> {
  return (await findOrder(store, id))?.status ?? 'absent';
}

async function keysIn({ store }: BookParts): Promise<string[]> {
  return (await collect(allKeys(store))).map(({ origin }) => origin);
}

describe('an account that was used before', () => {
  test('a new store skips the highest address with a history and 20 more', async (context) => {
    const world = new World(context);
    for (const index of [0, 1, 2, 900]) world.pay(index);
    world.simulated.mine();
    const book = await world.store();
    const rail = await world.begun(book);
    assert.match(world.said.join(), /searched for earlier payments: .*"nextIndex":921,"passedOver":0/);
    const orders = [await order(rail), await order(rail), await order(rail)];
    assert.deepEqual(
      orders.map(({ addressIndex }) => addressIndex),
      [921, 922, 923],
    );
    world.simulated.mine();
    world.simulated.mine();
    await rail.reconcile();
    for (const each of orders) assert.equal(await statusOf(book, each), 'pending');
    assert.deepEqual(await keysIn(book), []);
    assert.equal(
      await addressSentence(book.store, account),
      'The next on-chain order gets the address of index 924.',
    );
  });

  test('a gap of a thousand unused addresses ends the search; a gap of 999 does not', async (context) => {
    const world = new World(context);
    world.pay(1_000);
    assert.equal((await order(await world.begun(await world.store()))).addressIndex, 0);
    world.pay(999);
    assert.equal((await order(await world.begun(await world.store()))).addressIndex, 1_021);
  });

  test('the gap is counted from the last address with a history', async (context) => {
    const world = new World(context);
    for (const index of [0, 1_001]) world.pay(index);
    assert.equal((await order(await world.begun(await world.store()))).addressIndex, 21);
    world.pay(1_000);
    assert.equal((await order(await world.begun(await world.store()))).addressIndex, 1_022);
  });

  test('an account without history begins at 0', async (context) => {
    const world = new World(context);
    const rail = await world.begun(await world.store());
    assert.deepEqual([(await order(rail)).addressIndex, (await order(rail)).addressIndex], [0, 1]);
  });

  test('addresses that a wallet node has already handed out are not used', async (context) => {
    const world = new World(context);
    const firstUnshown: Chain['firstUnshown'] = () => Promise.resolve({ kind: 'answer', value: 7 });
    const rail = await world.begun(await world.store(), { firstUnshown });
    assert.equal((await order(rail)).addressIndex, 7);
  });

  test('a node that is down: nothing is decided, and no order is made', async (context) => {
    const world = new World(context);
    const book = await world.store();
    world.simulated.up = false;
    assert.equal(await world.rail(book).begin(), undefined);
    assert.equal((await nextAddressIndex(book.store, account.digest)).bytes, undefined);
    const { ready } = await world.rail(book).check();
    assert.equal(ready, false);
  });

  test('no way to pay is ready before the account was searched', async (context) => {
    const world = new World(context);
    const book = await world.store();
    const rail = world.rail(book);
    const before = await rail.check();
    assert.ok(!before.ready && before.reason.startsWith('The account is being searched'));
    // Another process of the same store searches.
    await world.begun(book);
    assert.deepEqual(await rail.check(), { ready: true });
  });

  test('a store that knows the account goes on where it was', async (context) => {
    const world = new World(context);
    const book = await world.store();
    await order(await world.begun(book));
    world.pay(500);
    assert.equal((await order(await world.begun(book))).addressIndex, 1);
  });
});

describe('an address with a history', () => {
  test('is skipped, whether its payment is in a block or not, and log and doctor say so', async (context) => {
    const world = new World(context);
    const book = await world.store();
    const rail = await world.begun(book);
    world.pay(0, 1);
    world.pay(1);
    world.simulated.mine();
    world.pay(3);
    assert.deepEqual([(await order(rail)).addressIndex, (await order(rail)).addressIndex], [2, 4]);
    assert.match(world.said.join('\n'), /skipped: {"rail":"btc","fromIndex":0,"passedOver":2}/);
    assert.match(world.said.join('\n'), /skipped: {"rail":"btc","fromIndex":3,"passedOver":1}/);
    assert.equal(
      await addressSentence(book.store, account),
      'The next on-chain order gets the address of index 5. 3 addresses were skipped because of earlier ' +
        'payments.',
    );
  });

  test('is looked for in batches of sixteen: deriving an address takes a millisecond', async (context) => {
    const world = new World(context);
    const asked: number[] = [];
    const used: Chain['used'] = (addresses) => {
      asked.push(addresses.length);
      return world.simulated.chain.used(addresses);
    };
    const rail = await world.begun(await world.store(), { used });
    await Promise.all(Array.from({ length: 40 }, () => order(rail)));
    assert.equal(Math.max(...asked), 16);
  });

  test('is given to none of many simultaneous orders', async (context) => {
    const world = new World(context);
    const rail = await world.begun(await world.store());
    for (let index = 0; index < 200; index += 3) world.pay(index);
    const orders = await Promise.all(Array.from({ length: 100 }, () => order(rail)));
    const indexes = orders.map(({ addressIndex }) => addressIndex).sort((left, right) => left - right);
    assert.equal(new Set(indexes).size, 100);
    assert.ok(indexes.every((index) => index % 3 !== 0));
    assert.equal(indexes.at(-1), 149);
  });

  test('a thousand of them in a row: the rail is not ready and says why', async (context) => {
    const world = new World(context);
    const book = await world.store();
    const rail = await world.begun(book);
    for (let index = 0; index < 999; index += 1) world.pay(index);
    assert.equal((await order(rail)).addressIndex, 999);
    for (let index = 0; index < 1_000; index += 1) world.pay(1_000 + index);
    world.time.nowMs += 60_000;
    const reason = 'No unused address is left for an order.';
    assert.deepEqual(await rail.create(wish), { kind: 'rail unavailable', reason });
    assert.deepEqual(await world.rail(book).check(), { ready: false, reason });
    assert.match(world.said.join('\n'), /give BTC_XPUB an account of its own/);
  });

  test('two stores that share an account never get a key for each other’s money', async (context) => {
    const world = new World(context);
    const [one, other] = [await world.store(), await world.store()];
    const [first, second] = [await world.begun(one), await world.begun(other)];
    const paid = await order(first);
    world.pay(paid.addressIndex);
    const theirs = await order(second);
    assert.notEqual(theirs.place, paid.place);
    world.simulated.mine();
    world.simulated.mine();
    await first.reconcile();
    await second.reconcile();
    assert.deepEqual([await keysIn(one), await keysIn(other)], [[paid.id], []]);
  });

  test('a top-up of an old address pays for no new order', async (context) => {
    const world = new World(context);
    const book = await world.store();
    const rail = await world.begun(book);
    world.pay(0, 1_000);
    world.simulated.mine();
    const made = await order(rail);
    world.pay(0);
    world.simulated.mine();
    world.simulated.mine();
    await rail.reconcile();
    assert.equal(await statusOf(book, made), 'pending');
    assert.deepEqual(await keysIn(book), []);
  });

  test('a history that the node reports late does not pay for an order', async (context) => {
    const world = new World(context);
    const book = await world.store();
    const rail = await world.begun(book);
    world.pay(0);
    // The payment is in the last block when the order is made, and the index of addresses is behind.
    world.simulated.mine();
    world.simulated.lagging.add(account.address(0));
    const made = await order(rail);
    assert.equal(made.addressIndex, 0);
    await rail.reconcile();
    world.simulated.reorganise(1);
    await rail.reconcile();
    for (let block = 0; block < 6; block += 1) world.simulated.mine();
    await rail.reconcile();
    assert.equal(await statusOf(book, made), 'pending');
    world.pay(0);
    world.simulated.mine();
    world.simulated.mine();
    await rail.reconcile();
    assert.equal(await statusOf(book, made), 'confirmed');
    assert.deepEqual(await keysIn(book), [made.id]);
  });
});

/** An order of a history: when it was made, and what came to its address before and since. */
interface Told {
  readonly order: BtcOrder;
  readonly book: BookParts;
  since: number;
}

/** Two stores sell on one account that strangers pay to, before and meanwhile. How many orders were made. */
async function sell(seed: number): Promise<number> {
  const world = new World(undefined, seed);
  const { dice, simulated } = world;
  const density = dice.next() * 0.6;
  for (let index = 0; index < 400; index += 1) if (dice.happens(density)) world.pay(index);
  if (dice.happens(0.7)) simulated.mine();
  const books = [await world.store(), await world.store()] as const;
  const rails = [await world.begun(books[0]), await world.begun(books[1])] as const;
  const told: Told[] = [];
  const payTo = (index: number, sat: number): void => {
    world.pay(index, sat);
    for (const each of told) if (each.order.addressIndex === index) each.since += sat;
  };
  for (let step = 0; step < 60; step += 1) {
    const which = dice.below(2) === 0 ? 0 : 1;
    const choice = dice.below(10);
    if (choice < 5) {
      const made = await Promise.all(Array.from({ length: 1 + dice.below(12) }, () => order(rails[which])));
      for (const each of made) {
        assert.equal(simulated.received(each.place).all, 0n, 'no address with a history is shown');
        told.push({ order: each, book: books[which], since: 0 });
      }
    } else if (choice < 7 && told.length > 0) {
      payTo(dice.pick(told).order.addressIndex, dice.pick([price, price, price - 1, 3]));
    } else if (choice < 8) {
      const next = (await nextAddressIndex(books[which].store, account.digest)).next;
      payTo(Math.max(0, next - 20) + dice.below(60), dice.pick([price, 1]));
    } else if (choice < 9) simulated.mine();
    else await rails[which].reconcile();
  }
  for (let block = 0; block < 8; block += 1) simulated.mine();
  for (const rail of rails) await rail.reconcile();
  const keys = [new Set(await keysIn(books[0])), new Set(await keysIn(books[1]))] as const;
  for (const each of told) {
    const own = keys[each.book === books[0] ? 0 : 1];
    assert.equal(own.has(each.order.id), each.since >= price, `${each.order.place}: ${each.since}`);
  }
  await Promise.all(books.map(({ store }) => store.close()));
  return told.length;
}

const drawn = draws(10_000);

test('orders on accounts with random histories get no key for money that came before', async () => {
  let orders = 0;
  for (let seed = 1; orders < drawn; seed += 1) {
    orders += await sell(seed).catch((error: unknown) => {
      throw new Error(`Seed ${seed}: ${String(error)}`, { cause: error });
    });
  }
});
