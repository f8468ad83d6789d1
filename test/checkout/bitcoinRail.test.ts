/**
 * The on-chain rail of a process: how often it asks its node, which orders share a unit, what it waits for.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Bitcoin, type BitcoinMade, type BitcoinParts } from '../../src/checkout/onchain/bitcoin.js';
import type { Chain, ChainHints } from '../../src/checkout/onchain/chain.js';
import type { NodeAnswer } from '../../src/checkout/nodeAnswer.js';
import { maxPassedOver } from '../../src/checkout/onchain/freshAddresses.js';
import { nextAddressIndex, takeIndexes, type AddressIndex } from '../../src/store/tables/addressIndexes.js';
import type { BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { until } from '../support/until.js';
import { HandClock } from '../support/handClock.js';
import { account, pricedWish, Shop } from '../support/shop.js';

/** A node, a store and the rail of a process on both. */
class World {
  /** How often the node was asked what, and the store. */
  readonly asked: Record<string, number> = {};
  /** What the node does not answer. */
  down = '';
  /** Spaces that the store cannot read; `commit`: it cannot write. */
  readonly unread = new Set<string>();
  /** The network that the node is on. */
  network = 'mainnet';
  /** Which addresses have a history. */
  hasHistory: (address: string) => boolean = () => false;
  readonly said: unknown[] = [];
  readonly clock = new HandClock();
  readonly chain: Chain;
  private readonly store: Store;

  private constructor(readonly shop: Shop) {
    const { store } = shop.book;
    const count = (what: string): void => {
      this.asked[what] = (this.asked[what] ?? 0) + 1;
    };
    const read = async <Value>(space: string, reading: () => Promise<Value>): Promise<Value> => {
      count(space);
      if (this.unread.has(space)) throw new StoreUnavailable('told to fail');
      return reading();
    };
    this.store = {
      ...store,
      get: (space, key) => read(space, () => store.get(space, key)),
      scan: (space, range) => read(space, () => store.scan(space, range)),
      commit: (operations, id) => read('commit', () => store.commit(operations, id)),
    };
    const answer = <Value>(what: string, value: Value): Promise<NodeAnswer<Value>> => {
      count(what);
      const failed = { kind: 'failed', reason: `${what} fails` } as const;
      return Promise.resolve(this.down === what ? failed : { kind: 'answer', value });
    };
    this.chain = {
      network: () => answer('network', this.network),
      tip: () => answer('tip', 100),
      used: (addresses) => answer('used', new Set(addresses.filter((each) => this.hasHistory(each)))),
      lookup: () => answer('lookup', []),
      close: () => undefined,
    };
  }

  static async open(): Promise<World> {
    return new World(await Shop.open());
  }

  /** Counts what is asked of `what` while something is done. */
  async count(what: string, work: () => Promise<unknown>): Promise<number> {
    const before = this.asked[what] ?? 0;
    await work();
    return (this.asked[what] ?? 0) - before;
  }

  process(more: Partial<BitcoinParts> = {}): Bitcoin {
    const say =
      (level: string) =>
      (about: object, text?: string): void =>
        void this.said.push([level, text, about]);
    return new Bitcoin({
      ...{ ...this.shop.book, store: this.store, clock: this.clock, account, chain: this.chain },
      ...{ confirmationsRequired: 2, maxUnpaidOrders: 0 },
      log: { warn: say('warn'), info: say('info'), debug: say('debug') },
      ...more,
    });
  }

  async begun(more: Partial<BitcoinParts> = {}): Promise<Bitcoin> {
    const rail = this.process(more);
    assert.equal(await rail.begin(), 0);
    this.said.splice(0);
    return rail;
  }

  /** Has these addresses of the account a history. */
  pay(...indexes: readonly number[]): void {
    const paid = new Set(indexes.map((index) => account.address(index)));
    this.hasHistory = (address) => paid.has(address);
  }

  /** The account's next index, as it is on disk. */
  index(): Promise<AddressIndex> {
    return nextAddressIndex(this.shop.aside.store, account.digest);
  }
}

const create = (rail: Bitcoin, count: number): Promise<BitcoinMade[]> =>
  Promise.all(Array.from({ length: count }, () => rail.create(pricedWish)));

async function order(rail: Bitcoin): Promise<BtcOrder> {
  const made = await rail.create(pricedWish);
  if (made.kind !== 'made') assert.fail(JSON.stringify(made));
  return made.order;
}

const following = { watch: () => undefined, stop: () => undefined };
const searching = 'The account is being searched for earlier payments. Try again in a minute.';
const storeDown = { ready: false, reason: 'The store is not available.' };

describe('the node', () => {
  test('is asked at most every three seconds whether it can be used, however many ask', async () => {
    const world = await World.open();
    const rail = await world.begun();
    const checks = async (): Promise<number> =>
      world.count('network', async () => {
        for (const found of await Promise.all([rail.check(), rail.check(), rail.create(pricedWish)])) {
          assert.ok('ready' in found ? found.ready : found.kind === 'made');
        }
      });
    assert.equal(await checks(), 1);
    await world.clock.pass(2_999);
    assert.equal(await checks(), 0);
    await world.clock.pass(1);
    assert.equal(await checks(), 1);
  });

  test('is asked about a polled order every second, or every five if it notifies of payments', async () => {
    for (const [follow, freshMs] of [
      [undefined, 1_000],
      [() => following, 5_000],
    ] as const) {
      const world = await World.open();
      const rail = await world.begun({ chain: { ...world.chain, ...(follow && { follow }) } });
      assert.equal(rail.follows, follow !== undefined);
      const made = await order(rail);
      const polls = (): Promise<number> =>
        world.count('lookup', () => Promise.all([1, 2, 3].map(() => rail.refresh(made))));
      assert.equal(await polls(), 1);
      await world.clock.pass(freshMs - 1);
      assert.equal(await polls(), 0);
      await world.clock.pass(1);
      assert.equal(await polls(), 1);
    }
  });

  test('that does not notify of payments is not watched', async () => {
    const world = await World.open();
    const fence = { lease: 'orders btc', token: 1 };
    assert.equal((await world.begun()).watch(fence), undefined);
    const rail = world.process({ chain: { ...world.chain, follow: () => following } });
    const watcher = rail.watch(fence);
    assert.ok(watcher !== undefined);
    await watcher.stop();
  });

  test('that notifies is asked on from where the last watcher of the process ended', async () => {
    const world = await World.open();
    const asked: string[] = [];
    const lookup = (address: string): Promise<NodeAnswer<never>> => {
      asked.push(address);
      return Promise.resolve({ kind: 'failed', reason: 'lookup fails' });
    };
    const hints: ChainHints[] = [];
    const follow: Chain['follow'] = (given) => {
      hints.push(given);
      return { watch: () => undefined, stop: () => undefined };
    };
    const rail = await world.begun({ chain: { ...world.chain, lookup, follow } });
    for (let made = 0; made < 6; made += 1) await order(rail);
    for (const count of [3, 6]) {
      const watcher = rail.watch({ lease: 'orders btc', token: 7 });
      hints.at(-1)?.onConnected();
      await until(() => asked.length === count);
      await watcher?.stop();
    }
    assert.equal(new Set(asked).size, 6);
  });

  test('that fails at any question makes no order, and the operator learns why', async () => {
    for (const down of ['network', 'used', 'tip']) {
      const world = await World.open();
      const rail = await world.begun();
      world.down = down;
      const reason = 'The Bitcoin node does not answer.';
      const made = await rail.create(pricedWish);
      assert.deepEqual(made, { kind: 'rail unavailable', reason }, down);
      assert.deepEqual(world.said.at(-1), [
        'warn',
        'the Bitcoin node cannot be used',
        { reason: `${down} fails` },
      ]);
      assert.deepEqual(await world.shop.orders(), []);
      if (down === 'tip') assert.equal((await rail.check()).ready, true);
      else assert.deepEqual(await rail.check(), { ready: false, reason });
    }
    const world = await World.open();
    const rail = await world.begun();
    for (let each = 0; each < 4; each += 1) await order(rail);
    world.down = 'lookup';
    assert.equal(await rail.reconcile(), undefined);
    const said = ['warn', 'the Bitcoin node cannot be used', { reason: 'lookup fails' }];
    assert.deepEqual(world.said, [said, said, said]);
  });

  test('is not asked about orders of another network, which expire and then make room', async () => {
    const world = await World.open();
    const made = await order(await world.begun());
    const testnet = { ...account, network: 'testnet' } as const;
    world.network = 'testnet';
    const rail = await world.begun({ account: testnet, maxUnpaidOrders: 1 });
    assert.equal(await world.count('lookup', () => rail.reconcile()), 0);
    assert.equal((await world.shop.stored(made.id)).status, 'pending');
    assert.deepEqual(await rail.check(), {
      ready: false,
      reason: 'Too many on-chain orders wait for their payment.',
    });
    await world.clock.pass(made.expiresAtMs - world.clock.wallMs());
    assert.equal(
      await rail.reconcile({ fence: { lease: 'orders btc', token: 7 } }),
      undefined,
      'no such lease',
    );
    assert.equal((await world.shop.stored(made.id)).status, 'pending');
    assert.equal(await rail.reconcile(), 1);
    assert.equal((await world.shop.stored(made.id)).status, 'expired');
    assert.deepEqual(await rail.check(), { ready: true });
  });
});

test('is not used if its network is not the account’s, and both are named', async () => {
  const world = await World.open();
  const rail = await world.begun();
  world.network = 'testnet';
  const reason = 'The Bitcoin node is on testnet, not on mainnet.';
  assert.deepEqual(await rail.check(), { ready: false, reason });
  assert.deepEqual(await rail.create(pricedWish), { kind: 'rail unavailable', reason });
});

describe('a node that is catching up', () => {
  /** The world with a node whose last block is so old. */
  async function behind(ageMs: number): Promise<{ readonly world: World; readonly chain: Chain }> {
    const world = await World.open();
    const tipAtMs = (): Promise<NodeAnswer<number>> =>
      Promise.resolve(
        world.down === 'tipAtMs'
          ? { kind: 'failed', reason: 'tipAtMs fails' }
          : { kind: 'answer', value: world.clock.wallMs() - ageMs },
      );
    return { world, chain: { ...world.chain, tipAtMs } };
  }
  const reason = 'The Bitcoin node is catching up with the chain.';

  test('gets no address shown, as it may not know an earlier payment that would pay the order', async () => {
    const { world, chain } = await behind(7_200_001);
    const rail = await world.begun();
    const other = world.process({ chain });
    assert.deepEqual(await other.check(), { ready: false, reason });
    assert.deepEqual(await other.create(pricedWish), { kind: 'rail unavailable', reason });
    assert.deepEqual(await world.shop.orders(), []);
    assert.equal((await rail.check()).ready, true);
  });

  test('cannot decide on an account’s first address', async () => {
    for (const [make, said] of [
      [() => behind(7_200_001), reason],
      [
        async () => {
          const made = await behind(0);
          made.world.network = 'testnet';
          return made;
        },
        'The Bitcoin node is on testnet, not on mainnet.',
      ],
    ] as const) {
      const { world, chain } = await make();
      assert.equal(await world.process({ chain }).begin(), undefined);
      assert.deepEqual(world.said, [['warn', 'the Bitcoin node cannot be used', { reason: said }]]);
      assert.equal((await world.index()).bytes, undefined);
      world.network = 'mainnet';
      assert.equal(await world.process().begin(), 0);
    }
  });

  test('has a last block more than two hours old; one that does not say is not used either', async () => {
    const { world, chain } = await behind(7_200_000);
    await world.begun();
    assert.equal((await world.process({ chain }).check()).ready, true);
    world.down = 'tipAtMs';
    const unknown = 'The Bitcoin node does not answer.';
    assert.deepEqual(await world.process({ chain }).check(), { ready: false, reason: unknown });
    assert.deepEqual(world.said, [['warn', 'the Bitcoin node cannot be used', { reason: 'tipAtMs fails' }]]);
    const regtest = { ...account, network: 'regtest' } as const;
    world.network = 'regtest';
    const rail = world.process({ chain, account: regtest });
    assert.equal((await rail.check()).ready, true);
  });
});

test('if a node that was ready can no longer give an address, there is no order', async () => {
  const plain = { ...account, digest: Buffer.alloc(16, 1), address: (at: number) => `bc1${at}` };
  const world = await World.open();
  const rail = await world.begun({ account: plain });
  assert.deepEqual(await rail.check(), { ready: true });
  world.down = 'used';
  const silent = 'The Bitcoin node does not answer.';
  assert.deepEqual(await rail.create(pricedWish), { kind: 'rail unavailable', reason: silent });
  world.down = '';
  world.said.splice(0);
  world.hasHistory = () => true;
  const reason = 'No unused address is left for an order.';
  const about = { rail: 'btc', fromIndex: 0, passedOver: maxPassedOver };
  const said = 'every next address has earlier payments: give BTC_XPUB an account of its own';
  assert.deepEqual(await rail.create(pricedWish), { kind: 'rail unavailable', reason });
  assert.deepEqual(world.said.splice(0), [['warn', said, about]]);
  await world.clock.pass(3_000);
  assert.deepEqual(await rail.check(), { ready: false, reason });
  assert.deepEqual(world.said, [['warn', said, about]]);
  assert.deepEqual(await world.shop.orders(), []);
});

describe('an address', () => {
  test('with earlier payments is skipped, counted and reported; one without them is not', async () => {
    const world = await World.open();
    const rail = await world.begun();
    world.pay(0, 1, 3);
    const skipped = (fromIndex: number, passedOver: number): unknown => {
      const about = { rail: 'btc', fromIndex, passedOver };
      return ['warn', 'addresses with earlier payments were skipped', about];
    };
    assert.equal((await order(rail)).addressIndex, 2);
    assert.deepEqual(world.said.splice(0), [skipped(0, 2)]);
    assert.equal((await order(rail)).addressIndex, 4);
    assert.deepEqual(world.said.splice(0), [skipped(3, 1)]);
    assert.equal((await order(rail)).addressIndex, 5);
    assert.deepEqual(world.said, []);
    const { next, passedOver } = await world.index();
    assert.deepEqual([next, passedOver], [6, 3]);
  });

  test('belongs to one order, however many processes take one at once', async () => {
    const world = await World.open();
    const rail = await world.begun();
    const other = await world.begun({ store: world.shop.aside.store });
    world.pay(0);
    world.shop.beforeCommits.push(async () => {
      assert.equal((await order(other)).addressIndex, 1);
      world.said.splice(0);
    });
    assert.equal((await order(rail)).addressIndex, 2);
    assert.deepEqual(world.said, [], 'what it did not take, it did not skip');
    const { next, passedOver } = await world.index();
    assert.deepEqual([next, passedOver], [3, 1]);
  });

  test('that an order has is not given out again, even if a restored store counts from before', async () => {
    const world = await World.open();
    const rail = await world.begun();
    const before = await world.index();
    for (let index = 0; index < 3; index += 1) assert.equal((await order(rail)).addressIndex, index);
    const { bytes } = await world.index();
    const restored = takeIndexes(account.digest, { bytes, passedOver: 0 }, before.next);
    assert.equal((await world.shop.aside.store.commit([restored])).kind, 'done');
    assert.equal((await order(rail)).addressIndex, 3);
    assert.equal((await order(rail)).addressIndex, 4);
  });

  test('is prepared at the node before it is shown, the next one by a check, and no others', async () => {
    const world = await World.open();
    const prepared: number[] = [];
    const prepare = (index: number): Promise<NodeAnswer<undefined>> => {
      prepared.push(index);
      return Promise.resolve({ kind: 'answer', value: undefined });
    };
    const rail = await world.begun({ chain: { ...world.chain, prepare } });
    assert.deepEqual(await rail.check(), { ready: true });
    assert.deepEqual(prepared.splice(0), [0]);
    await create(rail, 3);
    assert.deepEqual(prepared.splice(0), [2]);
  });
});

describe('a buyer', () => {
  const by = (rail: Bitcoin, buyer: number) =>
    rail.create({ ...pricedWish, orderedBy: Buffer.alloc(16, buyer) });

  test('with too many unpaid orders has to wait until the first of them expires', async () => {
    const world = await World.open();
    const rail = await world.begun({ unpaidOrdersPerAddress: 2 });
    const untilMs = world.clock.wallMs() + 3_600_000;
    assert.equal((await by(rail, 1)).kind, 'made');
    await world.clock.pass(600_000);
    assert.equal((await by(rail, 1)).kind, 'made');
    await world.clock.pass(600_000);
    assert.deepEqual(await by(rail, 1), { kind: 'address busy', of: 'address', unpaid: 2, untilMs });
    assert.equal((await world.index()).next, 2, 'who is refused takes no address');
  });

  test('may have any number of orders if there is no limit, or if the buyer is unknown', async () => {
    for (const more of [{}, { unpaidOrdersPerAddress: 0 }]) {
      const rail = await (await World.open()).begun(more);
      for (let count = 0; count < 2; count += 1) assert.equal((await by(rail, 1)).kind, 'made');
    }
    const limited = await (await World.open()).begun({ unpaidOrdersPerAddress: 1 });
    for (const { kind } of await create(limited, 3)) assert.equal(kind, 'made');
  });

  test('shares a quarter of the room with its network, rounded up, and at least its own limit', async () => {
    const network = Buffer.from('network.');
    const name = (buyer: number): Buffer => Buffer.concat([network, Buffer.alloc(16, buyer)]);
    for (const [unpaidOrdersPerAddress, maxUnpaidOrders, most] of [
      [1, 9, 3],
      [3, 8, 3],
    ] as const) {
      const world = await World.open();
      const rail = await world.begun({ unpaidOrdersPerAddress, maxUnpaidOrders });
      const buyers = Array.from({ length: most + 1 }, (_, at) => at);
      const orders = buyers.map((buyer) => rail.create({ ...pricedWish, orderedBy: name(buyer) }));
      const kinds = (await Promise.all(orders)).map((each) => ('of' in each ? each.of : each.kind));
      assert.deepEqual(kinds, [...Array<string>(most).fill('made'), 'network']);
      const later = await rail.create({ ...pricedWish, orderedBy: name(most + 1) });
      const untilMs = world.clock.wallMs() + 120_000;
      assert.deepEqual(later, { kind: 'address busy', of: 'network', unpaid: most, untilMs });
    }
    // Each address has its own limit, too; and where there is no room to share, only that.
    const limited = await (await World.open()).begun({ unpaidOrdersPerAddress: 1, maxUnpaidOrders: 9 });
    const unlimited = await (await World.open()).begun({ unpaidOrdersPerAddress: 1, maxUnpaidOrders: 0 });
    for (const rail of [limited, unlimited]) {
      const buy = async (buyer: number): Promise<string> => {
        const made = await rail.create({ ...pricedWish, orderedBy: name(buyer) });
        return 'of' in made ? made.of : made.kind;
      };
      assert.deepEqual([await buy(1), await buy(1), await buy(2)], ['made', 'address', 'made']);
    }
  });
});

describe('orders at once', () => {
  test('are written together, at most 64 in a unit', async () => {
    const world = await World.open();
    const rail = await world.begun();
    const units = (count: number): Promise<number> =>
      world.count('commit', async () => {
        for (const { kind } of await create(rail, count)) assert.equal(kind, 'made');
      });
    assert.equal(await units(1), 1);
    assert.equal(await units(64), 1);
    assert.equal(await units(65), 2);
    const indexes = (await world.shop.orders()).map((each) => each.rail === 'btc' && each.addressIndex);
    assert.deepEqual(new Set(indexes), new Set(Array.from({ length: 130 }, (_, index) => index)));
  });

  test('are refused one by one: an address with too many does not affect another address', async () => {
    const world = await World.open();
    const rail = await world.begun({ unpaidOrdersPerAddress: 1 });
    const by = (buyer: number) => rail.create({ ...pricedWish, orderedBy: Buffer.alloc(16, buyer) });
    const [first, second, other] = await Promise.all([by(1), by(1), by(2)]);
    const untilMs = world.clock.wallMs() + 3_600_000;
    assert.deepEqual(second, { kind: 'address busy', of: 'address', unpaid: 1, untilMs });
    assert.ok(first.kind === 'made' && other.kind === 'made', other.kind);
    assert.deepEqual([first.order.addressIndex, other.order.addressIndex], [0, 1]);
    assert.equal((await world.shop.orders()).length, 2);
  });

  test('that cannot be written all fail, and later ones do not', async () => {
    const world = await World.open();
    const rail = await world.begun();
    world.unread.add('commit');
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => rail.create(pricedWish)));
    for (const outcome of outcomes) {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailable);
    }
    world.unread.clear();
    assert.equal((await order(rail)).addressIndex, 0);
  });
});

describe('an account without a first address', () => {
  test('is searched once, which is logged', async () => {
    const world = await World.open();
    const rail = world.process();
    assert.equal(await rail.begin(), 0);
    const about = { rail: 'btc', nextIndex: 0, passedOver: 0 };
    assert.deepEqual(world.said, [['info', 'the account was searched for earlier payments', about]]);
    const asked = { ...world.asked };
    assert.equal(await rail.begin(), 0);
    assert.deepEqual([world.asked, world.said.length], [asked, 1]);
    // Another process finds what the first has stored.
    assert.deepEqual(await world.process().check(), { ready: true });
    await order(rail);
    assert.equal(await world.process().begin(), 0);
    assert.deepEqual(world.said.at(-1), ['info', 'the account is known', { ...about, nextIndex: 1 }]);
    // A process that has begun does not look for that again.
    await world.clock.pass(3_000);
    assert.equal(await world.count('addressIndexes', () => rail.check()), 1);
    assert.equal(await world.count('addressIndexes', () => rail.check()), 0);
    assert.equal(await world.count('addressIndexes', () => create(rail, 1)), 1);
  });

  test('stays without one if the node or the store does not answer', async () => {
    const world = await World.open();
    const rail = world.process();
    world.down = 'used';
    assert.equal(await rail.begin(), undefined);
    assert.deepEqual(world.said, [['warn', 'the Bitcoin node cannot be used', { reason: 'used fails' }]]);
    world.down = '';
    for (const space of ['addressIndexes', 'commit']) {
      world.unread.add(space);
      assert.equal(await rail.begin(), undefined);
      world.unread.clear();
    }
    assert.equal(world.said.length, 1);
    assert.deepEqual(await rail.check(), { ready: false, reason: searching });
    assert.equal(await rail.begin(), 0);
    assert.deepEqual(await rail.check(), { ready: true });
  });

  test('makes an order wait for the search, for ten seconds at most', async () => {
    const world = await World.open();
    const rail = world.process();
    const made: BitcoinMade[] = [];
    const making = async (): Promise<void> => void made.push(await rail.create(pricedWish));
    const first = making();
    await world.clock.pass(9_999);
    assert.equal(made.length, 0);
    await world.clock.pass(1);
    await first;
    assert.deepEqual(made.splice(0), [{ kind: 'rail unavailable', reason: searching }]);
    const second = making();
    await world.clock.pass(300);
    assert.equal(made.length, 0);
    assert.equal(await world.process().begin(), 0);
    await world.clock.pass(100);
    await second;
    assert.equal(made[0]?.kind, 'made');
    assert.equal(world.clock.timers, 0);
  });
});

describe('a check', () => {
  test('says that the store does not answer, whichever read fails', async () => {
    const world = await World.open();
    world.unread.add('addressIndexes');
    assert.deepEqual(await world.process().check(), storeDown);
    world.unread.clear();
    const rail = await world.begun({ maxUnpaidOrders: 2 });
    world.unread.add('addressIndexes');
    assert.deepEqual(await rail.check(), storeDown);
    world.unread.clear();
    await world.clock.pass(3_000);
    assert.deepEqual(await rail.check(), { ready: true });
    world.unread.add('openOrders');
    assert.deepEqual(await rail.check(), storeDown);
    world.unread.clear();
    assert.deepEqual(await rail.check(), { ready: true });
  });

  test('says whether an unpaid order may be added', async () => {
    const world = await World.open();
    const rail = await world.begun({ maxUnpaidOrders: 2 });
    const full = { ready: false, reason: 'Too many on-chain orders wait for their payment.' };
    await order(rail);
    assert.deepEqual(await rail.check(), { ready: true });
    await order(rail);
    assert.deepEqual(await rail.check(), full);
    assert.deepEqual(await rail.create(pricedWish), { kind: 'rail busy' });
    assert.equal((await world.index()).next, 2, 'what is refused takes no address');
  });
});
