/** Looking up addresses one by one: the scan of an account, and the look-up of one order. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Bitcoin } from '../../src/checkout/onchain/bitcoin.js';
import type { Chain } from '../../src/checkout/onchain/chain.js';
import { lookUpOrder } from '../../src/checkout/onchain/lookUp.js';
import { gapSentence, rescan, type Rescan, type RescanParts } from '../../src/checkout/onchain/scan.js';
import { nextAddressIndex, takeIndexes } from '../../src/store/tables/addressIndexes.js';
import type { BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import { changeOrder } from '../../src/store/tables/orders.js';
import { account, pricedWish, Shop } from '../support/shop.js';
import { byTurn } from '../support/turns.js';
import { Dice, SimulatedChain } from '../support/world.js';

const price = 50_000n;

/** A shop whose on-chain orders are paid over a simulated chain. */
class Scanned {
  readonly world: SimulatedChain;
  /** The address of each look-up. */
  readonly asked: string[] = [];
  /** An address for which the node does not answer. */
  failing: string | undefined;
  /** Runs before the node answers a look-up. */
  before: (address: string) => Promise<void> = () => Promise.resolve();

  private constructor(readonly shop: Shop) {
    this.world = new SimulatedChain(new Dice(7), shop.time);
  }

  static async open(): Promise<Scanned> {
    const scanned = new Scanned(await Shop.open());
    assert.equal(await scanned.rail().begin(), 0);
    return scanned;
  }

  get chain(): Chain {
    const { chain } = this.world;
    return {
      ...chain,
      lookup: async (address) => {
        this.asked.push(address);
        if (address === this.failing) return { kind: 'failed', reason: 'not this one' };
        const answer = await chain.lookup(address);
        await this.before(address);
        return answer;
      },
    };
  }

  rail(): Bitcoin {
    const { book, log } = this.shop;
    const limits = { confirmationsRequired: 2, maxUnpaidOrders: 0 };
    return new Bitcoin({ ...book, ...limits, account, chain: this.chain, log });
  }

  async order(): Promise<BtcOrder> {
    const made = await this.rail().create(pricedWish);
    return made.kind === 'made' ? made.order : assert.fail(made.kind);
  }

  lookUp(order: BtcOrder, chain = this.chain): ReturnType<typeof lookUpOrder> {
    return lookUpOrder({ ...this.shop.book, account, chain }, order);
  }

  scan(from: number, progress: RescanParts['progress'] = () => undefined): ReturnType<typeof rescan> {
    this.asked.length = 0;
    return rescan({ ...this.shop.book, account, chain: this.chain, progress }, from);
  }
}

/** What a scan found. */
async function found(scan: ReturnType<typeof rescan>): Promise<Rescan> {
  const outcome = await scan;
  return 'kind' in outcome ? assert.fail(outcome.reason) : outcome;
}

const addressesFrom = (first: number, end: number): string[] =>
  Array.from({ length: end - first }, (_, offset) => account.address(first + offset));

describe('a scan', () => {
  test('asks once for each address, and reports its progress', async () => {
    const scanned = await Scanned.open();
    await scanned.order();
    const told: (readonly [number, number])[] = [];
    const { addresses } = await found(scanned.scan(0, (...progress) => told.push(progress)));
    assert.equal(addresses, 21);
    assert.deepEqual(scanned.asked.toSorted(), addressesFrom(0, 21).toSorted());
    assert.deepEqual(told, [
      [0, 21],
      [8, 21],
      [16, 21],
      [21, 21],
    ]);
    told.length = 0;
    assert.equal((await found(scanned.scan(5, (...progress) => told.push(progress)))).addresses, 16);
    assert.deepEqual(told, [
      [0, 16],
      [8, 16],
      [16, 16],
    ]);
  });

  test('that starts after the last index has nothing to ask', async () => {
    const scanned = await Scanned.open();
    await scanned.order();
    const told: (readonly [number, number])[] = [];
    const outcome = await found(scanned.scan(22, (...progress) => told.push(progress)));
    assert.deepEqual(outcome, { addresses: 0, changed: 0, unowned: [], doubted: [] });
    assert.deepEqual([scanned.asked, told], [[], [[0, 0]]]);
  });

  test('counts orders that a payment changed, and none that only ended', async () => {
    const scanned = await Scanned.open();
    const [paid, partly, unpaid] = [await scanned.order(), await scanned.order(), await scanned.order()];
    scanned.world.pay(paid.place, price);
    scanned.world.pay(partly.place, 1n);
    scanned.world.mine();
    scanned.world.mine();
    scanned.shop.time.nowMs = unpaid.expiresAtMs;
    assert.equal((await found(scanned.scan(0))).changed, 2);
    assert.equal((await scanned.shop.stored(paid.id)).status, 'confirmed');
    assert.equal((await scanned.shop.stored(unpaid.id)).status, 'expired');
    assert.equal((await found(scanned.scan(0))).changed, 0);
  });

  test('counts an order whose payment vanished', async () => {
    const scanned = await Scanned.open();
    const order = await scanned.order();
    scanned.world.pay(order.place, price);
    assert.equal((await found(scanned.scan(0))).changed, 1);
    scanned.world.drop();
    assert.equal((await found(scanned.scan(0))).changed, 1);
    assert.equal((await scanned.shop.stored(order.id)).status, 'pending');
  });

  test('adds up what was paid to an address without an order', async () => {
    const scanned = await Scanned.open();
    for (const sat of [3n, 4n]) scanned.world.pay(account.address(2), sat);
    const { unowned } = await found(scanned.scan(0));
    assert.deepEqual(unowned, [`7 sat came to ${account.address(2)} (index 2), which no order has.`]);
  });

  test('ends with the node’s reason if the node fails at any address', async () => {
    const scanned = await Scanned.open();
    scanned.world.up = false;
    assert.deepEqual(await scanned.scan(0), { kind: 'failed', reason: 'it is down' });
    assert.equal(scanned.asked.length, 8);
    scanned.world.up = true;
    for (const index of [0, 1]) {
      scanned.failing = undefined;
      await scanned.order();
      scanned.failing = account.address(index * 19);
      assert.deepEqual(await scanned.scan(0), { kind: 'failed', reason: 'not this one' });
    }
  });

  test('names the orders that could not be looked up, and goes on', async () => {
    const scanned = await Scanned.open();
    const { world, shop } = scanned;
    const orders: BtcOrder[] = [];
    for (let made = 0; made < 12; made += 1) orders.push(await scanned.order());
    const [final, foreign, later] = [orders[0], orders[1], orders[11]];
    assert.ok(final !== undefined && foreign !== undefined && later !== undefined);
    const output = { txid: 'ab'.repeat(32), vout: 0, sat: price, confirmations: 6, atMs: null, height: null };
    await shop.happened(final.id, { kind: 'outputs', outputs: [output] });
    for (const { place } of [foreign, later]) world.pay(place, price);
    for (let blocks = 0; blocks < 2; blocks += 1) world.mine();
    const secretId = 'another machine’s';
    const changed = await changeOrder(shop.aside.store, foreign.id, (from) =>
      Promise.resolve({ to: { ...from, secretId } }),
    );
    assert.equal(changed.kind, 'changed');
    const { doubted, changed: count } = await found(scanned.scan(0));
    const why = [
      'it does not know a payment that was final',
      `The key of an order needs master secret ${secretId}, which this process was not given`,
    ];
    const said = [final, foreign].map(({ id }, index) => {
      return `Order ${id} (index ${index}) could not be looked up: ${why[index]}.`;
    });
    assert.deepEqual([doubted, count], [said, 1]);
    assert.equal((await shop.stored(later.id)).status, 'confirmed');
    assert.equal((await shop.stored(final.id)).key, 'active');
  });

  test('recognizes an order that was made while the node answered', async () => {
    const scanned = await Scanned.open();
    const place = account.address(0);
    scanned.world.pay(place, price);
    // Else the rail gives out no address with a payment.
    scanned.world.lagging.add(place);
    let order: BtcOrder | undefined;
    scanned.before = async (address) => {
      if (address === place) order ??= await scanned.order();
    };
    const outcome = await found(scanned.scan(0));
    assert.equal(order?.place, place);
    assert.deepEqual(outcome.unowned, []);
    assert.equal(scanned.asked.filter((address) => address === place).length, 2);
  });
});

describe('the look-up of an order', () => {
  test('asks the node again if the order changed in the meantime', async () => {
    const scanned = await Scanned.open();
    const order = await scanned.order();
    scanned.world.pay(order.place, 1n);
    let changes = 1;
    scanned.before = async () => {
      if (changes === 0) return;
      changes -= 1;
      scanned.world.pay(order.place, price);
      await scanned.lookUp(order, scanned.world.chain);
    };
    const outcome = await scanned.lookUp(order);
    assert.equal(scanned.asked.length, 2);
    assert.ok('order' in outcome);
    assert.equal(outcome.order.status, 'seen');
    assert.equal((await scanned.shop.stored(order.id)).status, 'seen');
  });

  test('changes nothing if the node does not answer', async () => {
    const scanned = await Scanned.open();
    const order = await scanned.order();
    scanned.world.up = false;
    const outcome = await scanned.lookUp(order);
    assert.deepEqual(outcome, { kind: 'failed', reason: 'it is down' });
    assert.deepEqual(await scanned.shop.stored(order.id), order);
  });
});

describe('the gap warning', () => {
  const sentence = ({ shop }: Scanned): Promise<string | null> => gapSentence(shop.book.store, account);

  test('comes with the sixteenth unpaid address after a paid one', async () => {
    const scanned = await Scanned.open();
    scanned.world.pay((await scanned.order()).place, price);
    await scanned.rail().reconcile();
    for (let made = 0; made < 15; made += 1) await scanned.order();
    assert.equal(await sentence(scanned), null);
    await scanned.order();
    assert.match((await sentence(scanned)) ?? '', /^More than 15 on-chain addresses/);
  });

  test('counts skipped addresses, and reads no more records than it must', async () => {
    const scanned = await Scanned.open();
    const { store } = scanned.shop.book;
    const before = await nextAddressIndex(store, account.digest);
    assert.equal((await store.commit([takeIndexes(account.digest, before, 40)])).kind, 'done');
    let reads = 0;
    const counting = {
      ...store,
      get: (...asked: Parameters<typeof store.get>) => {
        reads += 1;
        return store.get(...asked);
      },
    };
    assert.match((await gapSentence(counting, account)) ?? '', /^More than 15 on-chain addresses/);
    assert.equal(reads, 1 + 16);
  });

  test('holds nobody up, though a process may derive every address for the first time', async () => {
    const scanned = await Scanned.open();
    const { store } = scanned.shop.book;
    const before = await nextAddressIndex(store, account.digest);
    await store.commit([takeIndexes(account.digest, before, 40)]);
    const { work: address, most } = byTurn(account.address);
    assert.match((await gapSentence(store, { ...account, address })) ?? '', /^More than 15/);
    const found = most();
    assert.ok(found <= 3, `${found} addresses in a turn`);
  });

  test('does not come while the store is not available', async () => {
    const scanned = await Scanned.open();
    for (let made = 0; made < 16; made += 1) await scanned.order();
    scanned.shop.fault = { left: 0, met: false };
    assert.equal(await sentence(scanned), null);
    assert.match((await sentence(scanned)) ?? '', /^More than 15 on-chain addresses/);
  });
});
