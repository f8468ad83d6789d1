/** Laws of on-chain payments: the states of an order, the rail over a simulated chain, and a scan. */
import { nextAddressIndex, takeIndexes } from '../../src/store/tables/addressIndexes.js';
import type { BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import type { CardOrder } from '../../src/store/tables/cardOrder.js';
import type { OrderRecord } from '../../src/store/tables/order.js';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Bitcoin, type BitcoinMade, type BitcoinParts } from '../../src/checkout/onchain/bitcoin.js';
import type { Chain } from '../../src/checkout/onchain/chain.js';
import { transition, type OrderEvent } from '../../src/checkout/order/orders.js';
import { gapSentence, rescan, type Rescan } from '../../src/checkout/onchain/scan.js';
import { allOpen, account, onRail, pricedWish, Shop } from '../support/shop.js';
import { Dice, SimulatedChain } from '../support/world.js';

const shop = await Shop.open();
const price = 50_000n;
const hour = 3_600_000;
const day = 86_400_000;

/** The state of a new order, and the times of its beginning and its end. */
async function begun(rail: OrderRecord['rail']): Promise<{ state: OrderRecord; at: number; end: number }> {
  const { order } = await shop.make(rail);
  return { state: order, at: order.createdAtMs, end: order.expiresAtMs };
}

type Told = Parameters<typeof outputs>[0][number];

/** An event of outputs; of each what is not said is one of a payment of the price at depth 2. */
function outputs(
  told: readonly {
    readonly txid?: string;
    readonly vout?: number;
    readonly sat?: bigint;
    readonly confirmations?: number;
    readonly atMs?: number | null;
  }[],
): OrderEvent {
  const whole = { txid: 'ab'.repeat(32), vout: 0, sat: price, confirmations: 2, atMs: null };
  const outputs = told.map((each) => ({ ...whole, ...each }));
  // In a block after the order, unless in none.
  const placed = outputs.map((each) => ({ ...each, height: each.confirmations === 0 ? null : 1 }));
  return { kind: 'outputs', outputs: placed };
}

describe('the state of an order', () => {
  test('a payment is not late because the clock of the network is ahead', async () => {
    const { state, end } = await begun('btc');
    const { order } = transition(state, outputs([{ atMs: end + 1 }]), end - 1);
    assert.deepEqual([order.status, order.late], ['confirmed', false]);
  });

  test('a payment that covers the price in time is not late, however late it is confirmed', async () => {
    const { state, at, end } = await begun('btc');
    const seen = transition(state, outputs([{ confirmations: 0 }]), at).order;
    const confirmed = transition(seen, outputs([{ confirmations: 2 }]), end + day).order;
    assert.deepEqual([confirmed.status, confirmed.late], ['confirmed', false]);
    // And what covers it late stays late.
    const late = transition(state, outputs([{ confirmations: 0 }]), end).order;
    assert.equal(transition(late, outputs([{ confirmations: 1, atMs: at }]), end + 1).order.late, true);
  });

  test('the time of the payment that covers the price decides, not that of any other', async () => {
    const { state, at, end } = await begun('btc');
    const isLate = (...times: readonly (readonly [bigint, number])[]): boolean => {
      const all = times.map(([sat, atMs], vout): Told => ({ vout, sat, atMs }));
      return transition(state, outputs(all), end + hour).order.late;
    };
    assert.equal(isLate([price, at], [1n, end + 1]), false);
    assert.equal(isLate([1n, end + 1], [price, at]), false);
    assert.equal(isLate([price - 1n, at], [1n, end]), true);
    assert.equal(isLate([price - 1n, at], [1n, end - 1]), false);
  });

  test('a payment is stored as the node reports it now', async () => {
    const { state, at } = await begun('btc');
    const first: Told = { sat: 1n };
    const before = transition(state, outputs([first]), at).order;
    const others: readonly Told[] = [
      { txid: 'cd'.repeat(32) },
      { vout: 1 },
      { sat: 2n },
      { confirmations: 3 },
    ];
    for (const other of others) {
      const event = outputs([{ ...first, ...other }]);
      const { order } = transition(before, event, at);
      assert.ok(order.rail === 'btc' && event.kind === 'outputs');
      assert.deepEqual(
        order.outputs,
        event.outputs.map(({ txid, vout, sat, confirmations, atMs }) => {
          return { txid, vout, sat, confirmations, atMs };
        }),
      );
    }
    const gone = transition(before, outputs([]), at).order;
    assert.deepEqual([gone.status, gone.rail === 'btc' && gone.outputs.length], ['pending', 0]);
    assert.equal(transition(before, outputs([first]), at).order, before, 'the same again is no change');
  });

  test('a repeated report changes nothing', async () => {
    const { state, at } = await begun('card');
    const step = (before: OrderRecord, event: OrderEvent): OrderRecord => transition(before, event, at).order;
    const paid = step(state, { kind: 'card paid', cents: 3_300n });
    const partly = step(paid, { kind: 'card refunded', totalCents: 1_000n });
    assert.notEqual(partly, paid);
    assert.equal(step(partly, { kind: 'card refunded', totalCents: 1_000n }), partly);
    assert.equal(step(partly, { kind: 'card refunded', totalCents: 999n }), partly, 'totals only grow');
    const invoice: OrderEvent = { kind: 'invoice', state: 'canceled', paidSat: 0n, settledAtMs: null };
    const canceled = step((await begun('lightning')).state, invoice);
    assert.equal(canceled.status, 'expired');
    assert.equal(step(canceled, invoice), canceled);
    for (const rail of ['card', 'lightning', 'btc'] as const) {
      const shown: OrderRecord = { ...(await begun(rail)).state, key: 'active', revealedAtMs: 1 };
      assert.equal(step(shown, { kind: 'reveal' }), shown);
    }
  });

  test('a refund never exceeds what was paid', async () => {
    const { state, at } = await begun('card');
    const paid = transition(state, { kind: 'card paid', cents: 3_300n }, at).order;
    const { order, effect } = transition(paid, { kind: 'card refunded', totalCents: 3_301n }, at);
    assert.deepEqual([(order as CardOrder).refundedCents, effect?.kind], [3_300n, 'revoke']);
  });
});

describe('an on-chain order', () => {
  test('is looked after for thirty days after its end, and no longer', async () => {
    const { order } = await shop.make('btc');
    const isOpen = async (): Promise<boolean> => {
      const open = await allOpen(shop.book.store, 'btc');
      return open.some(({ id }) => id === order.id);
    };
    const after = async (ms: number): Promise<OrderRecord> => {
      shop.time.nowMs = order.expiresAtMs + ms;
      return shop.happened(order.id, { kind: 'time' });
    };
    assert.equal((await after(0)).status, 'expired');
    assert.equal((await after(30 * day - 1)).open, true);
    assert.equal(await isOpen(), true);
    assert.equal((await after(30 * day)).open, false);
    assert.equal(await isOpen(), false);
    assert.equal((await shop.stored(order.id)).open, false);
  });
});

/** A rail over a chain, and a world of its own for both. */
class Rail {
  readonly chain: SimulatedChain;
  network: 'mainnet' | 'testnet' = 'mainnet';
  looked = 0;

  private constructor(readonly shop: Shop) {
    this.chain = new SimulatedChain(new Dice(3), shop.time);
  }

  static async open(): Promise<Rail> {
    const rail = new Rail(await Shop.open());
    assert.equal(await rail.process().begin(), 0);
    return rail;
  }

  get view(): Chain {
    const { chain } = this.chain;
    return {
      ...chain,
      network: () => Promise.resolve({ kind: 'answer', value: this.network }),
      lookup: (address) => {
        this.looked += 1;
        return chain.lookup(address);
      },
    };
  }

  process(more: Partial<BitcoinParts> = {}): Bitcoin {
    const { book, log } = this.shop;
    const rail = { account, chain: this.view, confirmationsRequired: 2, maxUnpaidOrders: 0, log };
    return new Bitcoin({ ...book, ...rail, ...more });
  }

  async indexes(): Promise<number[]> {
    const orders = await this.shop.orders();
    const indexes = orders.map((order) => onRail(order, 'btc').addressIndex);
    return indexes.toSorted((a, b) => a - b);
  }

  /** As a store is that knows of fewer addresses than were given out. */
  async setNext(next: number): Promise<void> {
    const before = await nextAddressIndex(this.shop.aside.store, account.digest);
    const operations = [takeIndexes(account.digest, before, next)];
    assert.equal((await this.shop.aside.store.commit(operations)).kind, 'done');
  }

  scan(from: number): ReturnType<typeof rescan> {
    const parts = { ...this.shop.book, account, chain: this.view, progress: () => undefined };
    return rescan(parts, from);
  }
}

function orderOf(made: BitcoinMade): BtcOrder {
  if (made.kind !== 'made') assert.fail(made.kind);
  return made.order;
}

const createMany = (bitcoin: Bitcoin, count: number): Promise<BitcoinMade[]> =>
  Promise.all(Array.from({ length: count }, () => bitcoin.create(pricedWish)));

describe('the on-chain rail', () => {
  test('an address that an order has is never given to another, whatever the index says', async () => {
    const rail = await Rail.open();
    await createMany(rail.process(), 3);
    await rail.setNext(0);
    // A rail that asked for the same index again and again would not end.
    rail.shop.beforeCommits.push(...Array.from({ length: 10 }, () => () => Promise.resolve()));
    rail.shop.beforeCommits.push(() => Promise.reject(new Error('it does not end')));
    const { addressIndex, place } = orderOf(await rail.process().create(pricedWish));
    assert.deepEqual([addressIndex, place], [3, account.address(3)]);
    assert.equal(new Set((await rail.shop.orders()).map((order) => order.place)).size, 4);
  });

  test('two processes at once skip no address and give none out twice', async () => {
    const rail = await Rail.open();
    const [one, other] = [rail.process(), rail.process({ store: rail.shop.aside.store })];
    rail.shop.beforeCommits.push(async () => void orderOf(await other.create(pricedWish)));
    assert.equal(orderOf(await one.create(pricedWish)).addressIndex, 1);
    assert.equal(orderOf(await one.create(pricedWish)).addressIndex, 2);
    assert.deepEqual(await rail.indexes(), [0, 1, 2]);
  });

  test('the limit of unpaid orders holds, however the requests arrive', async () => {
    const rail = await Rail.open();
    const bitcoin = rail.process({ maxUnpaidOrders: 3 });
    await createMany(bitcoin, 2);
    const kinds = (await createMany(bitcoin, 4)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['made', 'rail busy', 'rail busy', 'rail busy']);
    assert.deepEqual(await rail.indexes(), [0, 1, 2]);
    // One that is seen makes room for one, one that is underpaid does not.
    const [first, second] = await rail.shop.orders();
    rail.chain.pay(first?.place ?? '', price);
    rail.chain.pay(second?.place ?? '', 1n);
    await bitcoin.reconcile();
    const more = (await createMany(bitcoin, 2)).map(({ kind }) => kind);
    assert.deepEqual(more, ['made', 'rail busy']);
  });

  test('an address has no more unconfirmed orders than its limit, and does not affect another', async () => {
    const rail = await Rail.open();
    const bitcoin = rail.process({ unpaidOrdersPerAddress: 2 });
    const [one, other] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
    const by = (orderedBy?: Buffer): Promise<BitcoinMade> =>
      bitcoin.create({ ...pricedWish, ...(orderedBy === undefined ? {} : { orderedBy }) });
    const first = orderOf(await by(one));
    rail.shop.time.nowMs += 60_000;
    const together = await Promise.all([by(one), by(one), by(other), by(), by(), by()]);
    assert.deepEqual(
      together.map(({ kind }) => kind),
      ['made', 'address busy', 'made', 'made', 'made', 'made'],
    );
    assert.deepEqual(together[1], {
      kind: 'address busy',
      of: 'address',
      unpaid: 2,
      untilMs: first.expiresAtMs,
    });
    // Another process, and the store once more.
    const again = rail.process({ unpaidOrdersPerAddress: 2 });
    assert.equal((await again.create({ ...pricedWish, orderedBy: one })).kind, 'address busy');
    // One that is paid makes room once that is confirmed; nothing tells its address then.
    rail.chain.pay(first.place, 1n);
    await bitcoin.reconcile();
    assert.equal((await by(one)).kind, 'address busy');
    assert.deepEqual(onRail(await rail.shop.stored(first.id), 'btc').orderedBy, one);
    rail.chain.pay(first.place, price);
    await bitcoin.reconcile();
    const seen = onRail(await rail.shop.stored(first.id), 'btc');
    assert.deepEqual([seen.status, seen.orderedBy], ['seen', one]);
    const nowMs = rail.shop.time.nowMs;
    const busy = await by(one);
    assert.deepEqual([busy.kind, 'untilMs' in busy && busy.untilMs], ['address busy', nowMs + 600_000]);
    rail.chain.mine();
    rail.chain.mine();
    await bitcoin.reconcile();
    assert.equal(onRail(await rail.shop.stored(first.id), 'btc').orderedBy, null);
    assert.deepEqual([(await by(one)).kind, (await by(one)).kind], ['made', 'address busy']);
    // So does one that ends.
    rail.shop.time.nowMs += 3_600_001;
    await bitcoin.reconcile();
    assert.deepEqual([(await by(one)).kind, (await by(one)).kind], ['made', 'made']);
    assert.equal((await rail.indexes()).length, 9);
  });

  test('a node of another network makes no order', async () => {
    const rail = await Rail.open();
    rail.network = 'testnet';
    const bitcoin = rail.process();
    const reason = 'The Bitcoin node is on testnet, not on mainnet.';
    assert.deepEqual(await bitcoin.check(), { ready: false, reason });
    assert.deepEqual(await bitcoin.create(pricedWish), { kind: 'rail unavailable', reason });
    assert.deepEqual(await rail.indexes(), []);
    assert.equal((await nextAddressIndex(rail.shop.book.store, account.digest)).next, 0);
  });
});

test('each reason why no order can be made now is given where it applies', async () => {
  const rail = await Rail.open();
  const reasonOf = async (bitcoin: Bitcoin): Promise<string> => {
    const found = await bitcoin.check();
    return found.ready ? 'ready' : found.reason;
  };
  const down: Chain = {
    ...rail.view,
    network: () => Promise.resolve({ kind: 'failed', reason: 'it is down' }),
  };
  assert.equal(await reasonOf(rail.process({ chain: down })), 'The Bitcoin node does not answer.');
  const storeless = rail.process();
  rail.shop.fault = { left: 0, met: false };
  assert.equal(await reasonOf(storeless), 'The store is not available.');
  assert.equal(await reasonOf(storeless), 'ready');
  const full = rail.process({ maxUnpaidOrders: 1 });
  assert.equal(await reasonOf(full), 'ready');
  await createMany(full, 1);
  assert.equal(await reasonOf(full), 'Too many on-chain orders wait for their payment.');
});

describe('addresses in a row', () => {
  test('the operator is warned from the sixteenth unpaid one on', async () => {
    const rail = await Rail.open();
    const sentence = (): Promise<string | null> => gapSentence(rail.shop.book.store, account);
    const bitcoin = rail.process();
    assert.equal(await sentence(), null);
    const made = await createMany(bitcoin, 15);
    assert.equal(await sentence(), null);
    await createMany(bitcoin, 1);
    assert.match((await sentence()) ?? '', /^More than 15 on-chain addresses in a row were not paid to/);
    // A payment to the last but one leaves fewer in a row.
    rail.chain.pay(orderOf(made[14] ?? { kind: 'rail busy' }).place, 1n);
    await bitcoin.reconcile();
    assert.equal(await sentence(), null);
  });

  test('a scan looks as far ahead as wallets do: twenty addresses, and no further', async () => {
    const rail = await Rail.open();
    const { place } = orderOf(await rail.process().create(pricedWish));
    for (const index of [1, 20, 21]) rail.chain.pay(account.address(index), BigInt(index));
    rail.chain.pay(place, price);
    rail.chain.mine();
    rail.looked = 0;
    const said: string[] = [1, 20].map(
      (index) => `${index} sat came to ${account.address(index)} (index ${index}), which no order has.`,
    );
    const first = (await rail.scan(0)) as Rescan;
    assert.deepEqual(first, { addresses: 21, changed: 1, unowned: said, doubted: [] });
    assert.equal(rail.looked, 21);
    const second = (await rail.scan(20)) as Rescan;
    assert.deepEqual(second, { addresses: 1, changed: 0, unowned: said.slice(1), doubted: [] });
  });
});
