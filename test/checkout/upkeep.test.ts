/**
 * The upkeep of a checkout: which process looks up orders, which orders and when, what it first asks an
 * account on chain, and how it stops.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { WebSocketServer, type WebSocket } from 'ws';
import type { CheckoutParts } from '../../src/checkout/checkout.js';
import { nextAddressIndex, takeIndexes } from '../../src/store/tables/addressIndexes.js';
import { decodeLease, type LeaseRecord } from '../../src/store/leaseRecord.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { Gate } from '../support/gate.js';
import { HandClock } from '../support/handClock.js';
import { LndServer } from '../support/lndServer.js';
import { account, Shop } from '../support/shop.js';
import { until } from '../support/until.js';
import { makeCertificate } from './certificate.js';
import { ofLnd, onChain, QuietEsplora, start, type Configuration, type Process } from './selling.js';

/** A store whose lists of open orders, and leases, wait at gates. */
class GatedStore {
  readonly lists = new Gate();
  readonly leases = new Gate();
  /** Number of lists of open orders that were asked for. */
  listed = 0;
  /** Number of operations of leases that are under way. */
  private busy = 0;

  constructor(private readonly store: Store) {}

  get seen(): Store {
    const { store } = this;
    return {
      ...store,
      get: (space, key) =>
        space === 'leases' ? this.ofLease(() => store.get(space, key)) : store.get(space, key),
      commit: (operations, id) => this.ofLease(() => store.commit(operations, id)),
      scan: async (space, range) => {
        if (space === 'openOrders') {
          this.listed += 1;
          await this.lists.passed();
        }
        return store.scan(space, range);
      },
    };
  }

  /** Waits until every lease was taken or renewed that should be: clocks of tests are faster than stores. */
  async idle(): Promise<void> {
    await until(() => this.busy === 0);
  }

  private async ofLease<Value>(work: () => Promise<Value>): Promise<Value> {
    this.busy += 1;
    await this.leases.passed();
    return work().finally(() => (this.busy -= 1));
  }
}

/** A shop with one Lightning order that waits for its money, and its node. */
async function withOrder() {
  const shop = await Shop.open();
  const node = await LndServer.start(() => shop.time.nowMs);
  const clock = new HandClock(shop.time.nowMs);
  const place = node.paid('an order', 50_000n);
  node.become(place, 'OPEN');
  const { order } = await shop.make('lightning', { place });
  const store = new GatedStore(shop.book.store);
  const begin = (more: Partial<CheckoutParts> = {}, at = clock) =>
    start(shop, at, ofLnd(node), { store: store.seen, ...more });
  return { shop, node, clock, order, store, begin };
}

const round = 'lightning 1';

describe('open orders over Lightning', () => {
  test('are looked up when a process starts and every 15 seconds, until they are paid', async () => {
    const { shop, node, clock, order, store, begin } = await withOrder();
    const { rounds } = await begin();
    for (const count of [1, 2, 3]) {
      await until(() => rounds.length === count);
      await store.idle();
      await clock.pass(14_999);
      assert.equal(node.count('/v1/invoice/'), count);
      if (count === 3) node.settle(order.place);
      await clock.pass(1);
    }
    await until(() => rounds.length === 4);
    assert.equal((await shop.stored(order.id)).status, 'settled');
    for (const count of [store.listed + 1, store.listed + 2]) {
      await clock.pass(15_000);
      await until(() => store.listed >= count);
    }
    assert.deepEqual(rounds, Array<string>(4).fill(round), 'a round that finds none is not logged');
  });

  test('are looked up by one process at a time; another takes over when it stops', async () => {
    const { clock, store, begin } = await withOrder();
    const one = await begin();
    await until(() => one.rounds.length === 1);
    const two = await begin({ holder: 'two' });
    const aMinute = async (): Promise<void> => {
      for (let at = 0; at < 60; at += 1) {
        await store.idle();
        await clock.pass(1_000);
      }
    };
    await aMinute();
    await until(() => one.rounds.length > 1);
    assert.deepEqual(two.rounds, []);
    // It ends its round before it lets the other begin.
    const letGo = store.lists.hold();
    const { listed } = store;
    await clock.pass(15_000);
    await until(() => store.listed > listed);
    // A round that takes longer than the next is far: the next waits.
    await aMinute();
    let isOver = false;
    const stopping = one.checkout.stop().then(() => (isOver = true));
    await aMinute();
    const meanwhile = [isOver, store.listed];
    const { length } = one.rounds;
    letGo();
    await stopping;
    assert.deepEqual([meanwhile, one.rounds.length], [[false, listed + 1], length + 1]);
    await clock.pass(10_000);
    await until(() => two.rounds.length === 1);
    await clock.pass(30_000);
    assert.equal(one.rounds.length, length + 1, 'nothing after its end');
  });

  test('are taken over 30 seconds after the process that looked them up has died', async () => {
    const { clock, store, begin } = await withOrder();
    const one = await begin({}, new HandClock(clock.wallMs()));
    await until(() => one.rounds.length === 1);
    const two = await begin({ holder: 'two' });
    await clock.pass(29_999);
    await store.idle();
    assert.deepEqual(two.rounds, []);
    await clock.pass(1);
    await until(() => two.rounds.length === 1);
  });

  test('are not changed by a round whose process has lost its lease meanwhile', async () => {
    const { shop, node, clock, order, store, begin } = await withOrder();
    node.settle(order.place);
    const letGo = store.lists.hold();
    // Its clock stands still: it does not notice.
    const one = await begin({}, new HandClock(clock.wallMs()));
    await until(() => store.listed === 1);
    const away = await LndServer.start(() => shop.time.nowMs);
    away.up = false;
    await start(shop, clock, ofLnd(away), { holder: 'two' });
    await clock.pass(30_000);
    await until(async () => (await leaseOf(shop, 'orders lightning'))?.holder === 'two');
    letGo();
    await one.checkout.stop();
    assert.equal(node.count('/v1/invoice/'), 1);
    assert.deepEqual([(await shop.stored(order.id)).status, one.rounds], ['pending', []]);
  });

  test('are left to another process after three rounds in a row that its node did not answer', async () => {
    const { shop, node, clock, order, store, begin } = await withOrder();
    const away = await LndServer.start(() => shop.time.nowMs);
    away.up = false;
    const one = await start(shop, clock, ofLnd(away), { store: store.seen });
    const failed = (): number => one.said.filter((each) => each.startsWith('the Lightning node')).length;
    await until(() => failed() === 1);
    const two = await begin({ holder: 'two' });
    node.settle(order.place);
    for (const count of [2, 3]) {
      await store.idle();
      assert.equal((await leaseOf(shop, 'orders lightning'))?.holder, 'one');
      await clock.pass(15_000);
      await until(() => failed() === count);
    }
    await until(async () => (await leaseOf(shop, 'orders lightning'))?.holder === '');
    await store.idle();
    await clock.pass(10_000);
    await until(() => two.rounds.length === 1);
    assert.equal((await shop.stored(order.id)).status, 'settled');
    for (let at = 0; at < 60; at += 1) {
      await store.idle();
      await clock.pass(1_000);
    }
    assert.deepEqual([failed(), (await leaseOf(shop, 'orders lightning'))?.holder], [3, 'two']);
  });

  test('are looked up again after a pause where no other process is', async () => {
    const { shop, node, clock, order, store, begin } = await withOrder();
    node.up = false;
    const { rounds, said } = await begin();
    const failed = (): number => said.filter((each) => each.startsWith('the Lightning node')).length;
    const isHeld = async (): Promise<boolean> => (await leaseOf(shop, 'orders lightning'))?.holder === 'one';
    /** Passes 15 seconds, after which there were so many look-ups without an answer. */
    const goOn = async (count: number, isStillHeld = true): Promise<void> => {
      await store.idle();
      await clock.pass(15_000);
      await until(async () => failed() === count && (await isHeld()) === isStillHeld);
    };
    await until(() => failed() === 1);
    await goOn(2);
    // One round with an answer: what counts is three in a row.
    node.up = true;
    await store.idle();
    await clock.pass(15_000);
    await until(() => rounds.length === 1);
    node.up = false;
    for (const from of [3, 6]) {
      await goOn(from);
      await goOn(from + 1);
      await goOn(from + 2, false);
      await goOn(from + 2, false);
    }
    node.up = true;
    node.settle(order.place);
    await store.idle();
    await clock.pass(15_000);
    await until(async () => (await shop.stored(order.id)).status === 'settled');
    assert.equal(failed(), 8);
  });

  test('are not looked up after a process has stopped, even if it was just taking its lease', async () => {
    const { clock, store, begin } = await withOrder();
    const letGo = store.leases.hold();
    const { checkout, rounds } = await begin();
    const stopping = checkout.stop();
    letGo();
    await stopping;
    assert.equal(clock.timers, 0);
    await clock.pass(60_000);
    assert.deepEqual([rounds, store.listed], [[], 0]);
  });

  test('are not looked up by a process that does not serve the checkout', async () => {
    const { clock, node, begin } = await withOrder();
    const { checkout, rounds } = await begin({ isServed: false });
    await clock.pass(60_000);
    assert.deepEqual([clock.timers, node.asked, rounds], [0, [], []]);
    await checkout.stop();
  });
});

/** The record of a lease. */
async function leaseOf({ aside }: Shop, name: string): Promise<LeaseRecord | undefined> {
  const record = await aside.store.get('leases', Buffer.from(name));
  return record && decodeLease(record);
}

/** Takes indexes of the account: it was used before. */
async function taken({ aside }: Shop, next: number): Promise<void> {
  const before = await nextAddressIndex(aside.store, account.digest);
  await aside.store.commit([takeIndexes(account.digest, before, next)]);
}

describe('open orders on chain, at a node that does not notify', () => {
  /** One order that waits, and one that expired a day ago, whose next look-up is hours away. */
  async function withOrders() {
    const shop = await Shop.open();
    const esplora = await QuietEsplora.start();
    await taken(shop, 2);
    const place = account.address(0);
    const old = await shop.make('btc', { place, lifeMs: 1 });
    shop.time.nowMs += 86_400_000;
    await shop.happened(old.order.id, { kind: 'time' });
    const waits = { place: account.address(1), addressIndex: 1, lifeMs: 36_000_000 };
    const { order } = await shop.make('btc', waits);
    const clock = new HandClock(shop.time.nowMs);
    const begin = () => start(shop, clock, onChain(esplora.chain));
    return { esplora, clock, begin, looks: () => [place, order.place].map((each) => esplora.looks(each)) };
  }

  test('are looked up every 15 seconds; long expired ones once, and then rarely', async () => {
    const { clock, begin, looks } = await withOrders();
    const { rounds, said } = await begin();
    await until(() => rounds.length === 1);
    assert.deepEqual([rounds, looks()], [['btc 2'], [1, 1]]);
    await clock.pass(15_000);
    await until(() => rounds.length === 2);
    assert.deepEqual(
      [rounds, looks()],
      [
        ['btc 2', 'btc 1'],
        [1, 2],
      ],
    );
    assert.deepEqual(said, ['the account is known: {"rail":"btc","nextIndex":2,"passedOver":0}']);
  });

  test('are looked up to the end of the round in which the process stops', async () => {
    const { esplora, begin } = await withOrders();
    const letGo = esplora.gate.hold();
    const { checkout, rounds } = await begin();
    await until(() => esplora.asked.length > 0);
    const stopping = checkout.stop();
    letGo();
    await stopping;
    assert.deepEqual(rounds, ['btc 2']);
  });

  test('are all looked up again after a round that the node did not answer', async () => {
    const { esplora, clock, begin, looks } = await withOrders();
    esplora.up = false;
    const { rounds, said } = await begin();
    await until(() => said.some((each) => each.startsWith('the Bitcoin node cannot be used')));
    esplora.up = true;
    await clock.pass(15_000);
    await until(() => rounds.length === 1);
    assert.deepEqual([rounds, looks()], [['btc 2'], [1, 1]]);
  });

  test('that are due are looked up by a process whose machine slept, as it missed rounds', async () => {
    const { clock, begin } = await withOrders();
    const { rounds } = await begin();
    await until(() => rounds.length === 1);
    clock.leap(60_000);
    await clock.pass(0);
    await until(() => rounds.length === 2);
    clock.leap(6 * 3_600_000);
    await clock.pass(0);
    await until(() => rounds.length === 3);
    assert.deepEqual(rounds, ['btc 2', 'btc 1', 'btc 2']);
  });
});

describe('an account on chain', () => {
  test('that the store could not be asked about is asked for again after 15 seconds', async () => {
    const shop = await Shop.open();
    await taken(shop, 5);
    let failures = 1;
    const { store } = shop.book;
    const failing: Store = {
      ...store,
      get: (space, key) => {
        if (space !== 'addressIndexes' || failures === 0) return store.get(space, key);
        failures -= 1;
        return Promise.reject(new StoreUnavailable('told to fail'));
      },
    };
    const clock = new HandClock(shop.time.nowMs);
    const esplora = await QuietEsplora.start();
    const { said } = await start(shop, clock, onChain(esplora.chain), { store: failing });
    await until(() => failures === 0);
    await clock.pass(14_999);
    assert.deepEqual(said, []);
    await clock.pass(1);
    await until(() => said.length === 1);
    assert.deepEqual(said, ['the account is known: {"rail":"btc","nextIndex":5,"passedOver":0}']);
  });
});

describe('open orders on chain, at a node that notifies', () => {
  const certificate = makeCertificate();
  /** What the node's answers wait for. */
  const answers = new Gate();
  let asked = 0;
  const server = createServer(certificate, (_, response) => {
    asked += 1;
    void answers.passed().then(() => response.end(JSON.stringify({ result: [], error: null })));
  });
  /** True: it ends every connection. */
  let isDown = false;
  server.on('connection', (socket: Socket) => {
    if (isDown) socket.destroy();
  });
  const followers: WebSocket[] = [];
  const sockets = new WebSocketServer({ server, path: '/ws' });
  sockets.on('connection', (socket) => followers.push(socket));
  const credentials = { user: 'shop', password: 'word', certificate: certificate.cert };

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  after(() => {
    for (const each of followers) each.terminate();
    server.closeAllConnections();
    server.close();
  });

  beforeEach(() => {
    followers.splice(0);
    [asked, isDown] = [0, false];
  });

  /** Where no node listens. */
  async function closedUrl(): Promise<string> {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    return `https://127.0.0.1:${port}`;
  }

  /** The connections of followers that are open. */
  const open = (): number => followers.filter(({ readyState, OPEN }) => readyState === OPEN).length;

  async function begins() {
    const shop = await Shop.open();
    await taken(shop, 1);
    const { order } = await shop.make('btc', { place: account.address(0), lifeMs: 1 });
    shop.time.nowMs += 10;
    const clock = new HandClock(shop.time.nowMs);
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const chain = { kind: 'btcd', url, ...credentials } as const;
    const begin = (more: Partial<CheckoutParts> = {}, at: Configuration['btcChain'] = chain) =>
      start(shop, clock, onChain(at), more);
    return { shop, clock, begin, status: async () => (await shop.stored(order.id)).status };
  }

  test('are watched by one process, then by another; a stopped one no longer watches', async () => {
    const { clock, begin } = await begins();
    const one = await begin();
    await until(() => open() === 1);
    const two = await begin({ holder: 'two' });
    // Less than the silence after which a connection counts as dead.
    await clock.pass(4_000);
    assert.equal(followers.length, 1);
    await one.checkout.stop();
    await until(() => open() === 0);
    await clock.pass(10_000);
    await until(() => open() === 1);
    assert.equal(followers.length, 2);
    // A machine that slept for longer than its lease: it watches anew.
    clock.leap(60_000);
    await clock.pass(0);
    await until(() => followers.length === 3 && open() === 1);
    await two.checkout.stop();
    await until(() => open() === 0);
    assert.equal(clock.timers, 0);
  });

  /** Passes three minutes; the process looks an order up in each, which its node does not answer. */
  async function threeMinutes(shop: Shop, clock: HandClock, store: GatedStore, { said }: Process) {
    const failed = (): number => said.filter((each) => each.startsWith('the Bitcoin node')).length;
    for (const count of [1, 2, 3]) {
      assert.equal((await leaseOf(shop, 'orders btc'))?.holder, 'one');
      for (let at = 0; at < 12; at += 1) {
        await store.idle();
        await clock.pass(5_000);
      }
      await until(() => failed() === count);
    }
  }

  /** Passes time until a lease has this holder. */
  async function untilHeld(shop: Shop, clock: HandClock, store: GatedStore, holder: string): Promise<number> {
    const beganMs = clock.wallMs();
    await until(async () => {
      await store.idle();
      if ((await leaseOf(shop, 'orders btc'))?.holder === holder) return true;
      await clock.pass(1_000);
      return false;
    });
    return clock.wallMs() - beganMs;
  }

  test('are watched by another process if the node of the one that has the lease is dead', async () => {
    const { shop, clock, begin, status } = await begins();
    const store = new GatedStore(shop.book.store);
    const dead = { kind: 'btcd', url: await closedUrl(), ...credentials } as const;
    const one = await begin({ store: store.seen }, dead);
    await untilHeld(shop, clock, store, 'one');
    await begin({ holder: 'two', store: store.seen });
    await threeMinutes(shop, clock, store, one);
    const tookMs = await untilHeld(shop, clock, store, 'two');
    assert.ok(tookMs <= 25_000, `${tookMs} ms`);
    await until(async () => (await status()) === 'expired');
  });

  test('are watched again after a pause where no other process is', async () => {
    const { shop, clock, begin, status } = await begins();
    const store = new GatedStore(shop.book.store);
    isDown = true;
    const one = await begin({ store: store.seen });
    await untilHeld(shop, clock, store, 'one');
    await threeMinutes(shop, clock, store, one);
    await untilHeld(shop, clock, store, '');
    isDown = false;
    const tookMs = await untilHeld(shop, clock, store, 'one');
    assert.ok(tookMs >= 20_000 && tookMs <= 40_000, `${tookMs} ms`);
    await until(async () => (await status()) === 'expired');
  });

  test('change when the node notifies the process that watches them', async () => {
    const { begin, status } = await begins();
    await begin();
    await until(async () => (await status()) === 'expired');
  });

  test('delay the stop of a process until its look-up is over', async () => {
    const { begin } = await begins();
    const letGo = answers.hold();
    const { checkout } = await begin();
    await until(() => asked > 0);
    let isOver = false;
    const stopping = checkout.stop().then(() => (isOver = true));
    await until(() => open() === 0);
    const meanwhile = isOver;
    letGo();
    await stopping;
    assert.equal(meanwhile, false);
  });
});
