/** On-chain orders, their look-ups and their endpoints, over a node that answers when it is allowed to. */
import type { BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import type { OrderRecord } from '../../src/store/tables/order.js';
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import {
  bitcoinHandlers,
  bitcoinQr,
  type BitcoinRoutesParts,
} from '../../src/checkout/onchain/bitcoinRoutes.js';
import { Bitcoin } from '../../src/checkout/onchain/bitcoin.js';
import type { BookParts } from '../../src/checkout/order/book.js';
import type { Chain, ChainHints, Following } from '../../src/checkout/onchain/chain.js';
import type { FoundOutput } from '../../src/store/tables/bitcoinOrder.js';
import { readTiers, type Tiers } from '../../src/access/tiers.js';
import type { RouteRequest } from '../../src/contract/exchange.js';
import type { BitcoinOrder } from '../../src/contract/bitcoin.js';
import { native } from '../../src/native/addon.js';
import { findKeyById } from '../../src/store/tables/keys.js';
import { acquireLease, releaseLease } from '../../src/store/leases.js';
import { findOrder } from '../../src/store/tables/orders.js';
import { systemClock, type Clock } from '../../src/system/clock.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { memoryFolder } from '../support/run.js';
import { storeAt } from '../support/openStore.js';
import { HandClock } from '../support/handClock.js';
import { until } from '../support/until.js';

const secrets = ['a-secret-of-the-tests-that-opens-nothing'] as const;
const quiet = { warn: () => undefined, info: () => undefined, debug: () => undefined };
const price = 50_000;
const tiers = ((): Tiers => {
  const read = readTiers(null, { anonymousRequestsPerMinute: 0, anonymousCharactersPerMonth: 0 });
  if ('errors' in read) assert.fail(read.errors.join(' '));
  return read.tiers;
})();
const wish = {
  ...{ tier: 'developer', sat: BigInt(price), termDays: 30, email: null },
  ...{ source: null, segment: null, campaign: null, eventId: null },
};

/** What a test gives a rail: its clock, and how its node notifies. */
interface RailParts {
  readonly clock?: Clock;
  readonly follow?: NonNullable<Chain['follow']>;
}

/** A node that knows of payments, and the store that its orders are in. */
class World {
  outputs: readonly FoundOutput[] = [];
  looked = 0;

  private constructor(readonly parts: BookParts) {}

  static async open(context: TestContext): Promise<World> {
    const store = await storeAt(`lmdb:${memoryFolder()}/store`);
    context.after(() => store.close());
    const more = { clock: systemClock, randomness: systemRandomness, secrets, keyFormat: native };
    return new World({ store, ...more });
  }

  /** A rail over the node, as one process has it; its answers come when `wait` resolves. */
  rail(wait: () => Promise<void> = () => Promise.resolve(), more: RailParts = {}): Bitcoin {
    const chain: Chain = {
      network: () => Promise.resolve({ kind: 'answer', value: 'regtest' }),
      tip: () => Promise.resolve({ kind: 'answer', value: 100 }),
      used: () => Promise.resolve({ kind: 'answer', value: new Set() }),
      lookup: async () => {
        this.looked += 1;
        const value = this.outputs;
        await wait();
        return { kind: 'answer', value };
      },
      close: () => undefined,
      ...(more.follow && { follow: more.follow }),
    };
    const address = (at: number): string => `bcrt1${at}`;
    const account = { digest: Buffer.alloc(16), network: 'regtest', address } as const;
    const rail = { account, chain, confirmationsRequired: 2 };
    const clock = more.clock ?? systemClock;
    return new Bitcoin({ ...this.parts, ...rail, clock, maxUnpaidOrders: 0, log: quiet });
  }

  async order(): Promise<BtcOrder> {
    const rail = this.rail();
    assert.equal(await rail.begin(), 0);
    const made = await rail.create(wish);
    if (made.kind !== 'made') assert.fail(made.kind);
    return made.order;
  }

  async stored({ id }: OrderRecord): Promise<OrderRecord> {
    const order = await findOrder(this.parts.store, id);
    assert.ok(order !== undefined);
    return order;
  }

  routes(bitcoin: Bitcoin | undefined = this.rail()): BitcoinRoutesParts {
    return { ...this.parts, bitcoin, tiers };
  }
}

function paid(sat: number, confirmations: number): FoundOutput {
  const height = confirmations === 0 ? null : 101;
  return { txid: 'ab'.repeat(32), vout: 0, sat: BigInt(sat), confirmations, atMs: null, height };
}

function request({ id }: OrderRecord, mayAct: boolean): RouteRequest {
  return {
    ...{
      id: 'request',
      path: { order_id: id },
      query: {},
      header: () => '',
      keyed: false,
      body: Buffer.alloc(0),
    },
    ...{
      retain: () => Buffer.alloc(0),
      hold: () => undefined,
      input: undefined,
      mayAct,
      head: !mayAct,
      peer: () => Buffer.alloc(0),
      caller: () => Buffer.alloc(0),
    },
    ...{ aborted: () => false, signal: () => new AbortController().signal },
  };
}

async function show(parts: BitcoinRoutesParts, order: OrderRecord, mayAct = true): Promise<BitcoinOrder> {
  const answer = await bitcoinHandlers(parts).bitcoinOrder(request(order, mayAct));
  assert.equal(answer.status, 200);
  assert.ok('json' in answer.body);
  return answer.body.json as BitcoinOrder;
}

describe('look-ups of on-chain orders', () => {
  test('an answer older than what another process has stored meanwhile changes nothing', async (context) => {
    const world = await World.open(context);
    const order = await world.order();
    let letGo = (): void => undefined;
    const held = new Promise<void>((go) => (letGo = go));
    const slow = world.rail(() => held).reconcile();
    await until(() => world.looked !== 0);
    world.outputs = [paid(price, 2)];
    assert.equal(await world.rail().reconcile(), 1);
    assert.equal((await world.stored(order)).status, 'confirmed');
    letGo();
    assert.equal(await slow, 1);
    const after = await world.stored(order);
    assert.deepEqual(
      [after.status, after.key, after.rail === 'btc' && after.outputs.length],
      ['confirmed', 'active', 1],
    );
    const key = await findKeyById(world.parts.store, after.keyId ?? '');
    assert.equal(key?.status, 'active');
    assert.equal(world.looked, 3, 'the slow one asked again');
  });

  test('a process that lost the lease no longer changes anything', async (context) => {
    const world = await World.open(context);
    const order = await world.order();
    const leases = { ...world.parts, clock: systemClock };
    const taken = await acquireLease(leases, 'orders btc', 'one', 60_000);
    if (taken.kind !== 'held') assert.fail(taken.kind);
    const fence = { lease: 'orders btc', token: taken.lease.record.token };
    world.outputs = [paid(price, 0)];
    assert.equal(await world.rail().reconcile({ fence }), 1);
    assert.equal((await world.stored(order)).status, 'seen');
    await releaseLease(leases, taken.lease);
    world.outputs = [paid(price, 2)];
    assert.equal(await world.rail().reconcile({ fence }), undefined);
    assert.equal((await world.stored(order)).status, 'seen');
  });
});

describe('the watcher of on-chain orders', () => {
  test('a payment whose block was removed is found again without a notification', async (context) => {
    const world = await World.open(context);
    const order = await world.order();
    const clock = new HandClock(Date.now());
    const told: ChainHints[] = [];
    const follow = (hints: ChainHints): Following => {
      told.push(hints);
      return { watch: () => undefined, stop: () => undefined };
    };
    const taken = await acquireLease({ ...world.parts, clock: systemClock }, 'orders btc', 'one', 60_000);
    if (taken.kind !== 'held') assert.fail(taken.kind);
    const fence = { lease: 'orders btc', token: taken.lease.record.token };
    const watcher = world.rail(undefined, { clock, follow }).watch(fence);
    const [hints] = told;
    assert.ok(watcher !== undefined && hints !== undefined);
    const becomes = async (status: string, key: string): Promise<void> => {
      for (;;) {
        const now = await world.stored(order);
        if (now.status === status && now.key === key) return;
        await clock.pass(10);
      }
    };
    world.outputs = [paid(price, 2)];
    hints.onConnected();
    await becomes('confirmed', 'active');
    world.outputs = [];
    hints.onBlock();
    await becomes('pending', 'suspended');
    world.outputs = [paid(price, 0)];
    await becomes('seen', 'suspended');
    assert.ok(clock.monotonicMs() < 600_000, 'the round over all orders found it');
    // It is as any other again: only a block has it looked up.
    await clock.pass(4_000);
    const { looked } = world;
    await clock.pass(60_000);
    assert.equal(world.looked, looked);
    await watcher.stop();
  });
});

describe('the on-chain endpoints', () => {
  test('a caller that may not act sees what is stored, and the node is not asked', async (context) => {
    const world = await World.open(context);
    const order = await world.order();
    world.outputs = [paid(price, 2)];
    const routes = world.routes();
    assert.equal((await show(routes, order, false)).status, 'pending');
    const code = await bitcoinQr(routes)(request(order, true));
    assert.equal(code.status, 200);
    assert.equal(world.looked, 0);
    assert.deepEqual(await world.stored(order), order);
    const first = await show(routes, order);
    assert.deepEqual([first.status, first.key_status], ['confirmed', 'revealed_now']);
  });

  test('a paid order is shown and its key handed out even after the rail was turned off', async (context) => {
    const world = await World.open(context);
    const order = await world.order();
    world.outputs = [paid(price, 2)];
    await world.rail().reconcile();
    const off = { ...world.routes(), bitcoin: undefined };
    // A payment request for what is paid would take money twice.
    const code = await bitcoinQr(off)(request(order, true));
    assert.equal(code.status, 410);
    assert.deepEqual('json' in code.body && code.body.json, {
      detail: 'This order is paid. Send no more money to it; poll it for its key.',
      code: 'order_paid',
      docs: '/docs/guides/checkout',
    });
    const waiting = await show(off, order, false);
    assert.deepEqual([waiting.key_status, waiting.key_detail, waiting.bip21], ['none', null, null]);
    const first = await show(off, order);
    assert.deepEqual(
      [first.status, first.key_status, first.address],
      ['confirmed', 'revealed_now', order.place],
    );
    assert.match(first.api_key ?? '', /^fg_/);
    const missing = await bitcoinHandlers(off).bitcoinOrder(request({ ...order, id: 'a'.repeat(26) }, true));
    assert.equal(missing.status, 404);
  });

  test('an underpaid order asks for the rest', async (context) => {
    const world = await World.open(context);
    const order = await world.order();
    const routes = world.routes();
    assert.equal((await show(routes, order, false)).bip21, `bitcoin:${order.place}?amount=0.00050000`);
    world.outputs = [paid(price - 1_234, 0)];
    await world.rail().reconcile();
    const shown = await show(routes, order, false);
    assert.deepEqual([shown.status, shown.missing_sat], ['underpaid', 1_234]);
    assert.equal(shown.bip21, `bitcoin:${order.place}?amount=0.00001234`);
  });
});
