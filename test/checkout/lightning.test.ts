/**
 * Lightning orders over an LND that behaves as its REST interface does (lndServer.ts): when one is made, when
 * it is paid, and what happens if the node is wrong, behind, without channels or gone.
 */
import type { LightningOrder as LightningRecord } from '../../src/store/tables/lightningOrder.js';
import type { OrderRecord } from '../../src/store/tables/order.js';
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Lightning, type LightningParts } from '../../src/checkout/lightning/lightning.js';
import {
  lightningCapacity,
  lightningHandlers,
  lightningQr,
  type LightningRoutesParts,
} from '../../src/checkout/lightning/lightningRoutes.js';
import { Lnd } from '../../src/checkout/lnd.js';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import type {
  LightningCapacityResponse,
  LightningOrder,
  LightningOrderCreated,
} from '../../src/contract/lightning.js';
import type { Problem } from '../../src/contract/problem.js';
import { acquireLease, releaseLease } from '../../src/store/leases.js';
import { limitsFile, SetClock, testAccess } from '../support/access.js';
import { request } from '../support/serving.js';
import { channel, LndServer } from '../support/lndServer.js';
import { allOpen, call, jsonOf, pricedWish, Shop, tiers, wish, columnsOf, onRail } from '../support/shop.js';
import { StoreUnavailable, type Fence, type Store } from '../../src/store/store.js';

const shop = await Shop.open();
const node = await LndServer.start(() => shop.time.nowMs);
const price = 50_000n;

/** The rail of one process. */
function rail(more: Partial<LightningParts> = {}, place: Partial<LndServer['place']> = {}): Lightning {
  const lnd = new Lnd({ ...node.place, ...place }, shop.book.clock);
  return new Lightning({ ...shop.book, lnd, network: 'regtest', log: shop.log, ...more });
}

/** Whatever was asked of the node may be asked again. */
function later(ms = 60_000): void {
  shop.time.nowMs += ms;
}

beforeEach(() => {
  later();
  node.up = true;
  node.broken = undefined;
  node.network = 'regtest';
  node.syncedToChain = true;
  node.channels = [channel(10_000_000)];
  node.instead = {};
  shop.said();
});

async function ordered(lightning = rail()): Promise<LightningRecord> {
  const made = await lightning.create(pricedWish);
  if (made.kind !== 'made') assert.fail(JSON.stringify(made));
  return made.order;
}

/** Why no order is made; and none is. */
async function refusal(lightning = rail()): Promise<string> {
  const before = (await shop.orders()).length;
  const made = await lightning.create(pricedWish);
  assert.equal((await shop.orders()).length, before);
  assert.ok(made.kind === 'rail unavailable', made.kind);
  return made.reason;
}

describe('an order over Lightning', () => {
  test('is an invoice from the node for the price, which expires when the order does', async () => {
    const order = await ordered();
    assert.deepEqual(await shop.stored(order.id), order);
    assert.match(order.place, /^[0-9a-f]{64}$/);
    assert.match(order.bolt11, /^lnbcrt500u1/);
    const { network, sat, status, open, expiresAtMs, createdAtMs } = order;
    assert.deepEqual(
      [network, sat, status, open, expiresAtMs - createdAtMs],
      ['regtest', 50_000n, 'pending', true, 900_000],
    );
    const { address_index, confirmations_required, paid } = columnsOf(order);
    assert.deepEqual([address_index, confirmations_required, paid], [null, 0, 0]);
    const { memo, expiry } = node.wishes.at(-1) ?? {};
    assert.deepEqual([memo, expiry], [`Fusegate developer, order ${order.id}`, '900']);
    assert.equal(shop.said(), '');
  });

  test('never shows an invoice with another amount, hash or network', async () => {
    for (const [instead, said] of [
      [{ sat: price - 1n }, 'it has another amount'],
      [{ sat: price + 1n }, 'it has another amount'],
      [{ paymentHash: Buffer.alloc(32, 7) }, 'it has another payment hash'],
      [{ prefix: 'bc' }, 'it is not of regtest'],
      [{ prefix: 'xx' }, 'Unknown coin'],
    ] as const) {
      node.instead = instead;
      later();
      assert.equal(await refusal(), 'The Lightning node made a wrong invoice.');
      assert.match(shop.said(), new RegExp(`^error: LND made an invoice .*${said}`));
    }
  });

  test('of each network has an invoice of that network', async () => {
    for (const [network, prefix] of [
      ['mainnet', 'bc'],
      ['testnet', 'tb'],
      ['signet', 'tbs'],
      ['regtest', 'bcrt'],
    ] as const) {
      node.network = network;
      node.instead = { prefix };
      later();
      const order = await ordered(rail({ network }));
      assert.deepEqual([order.network, order.bolt11.startsWith(`ln${prefix}500u1`)], [network, true]);
    }
  });

  test('is not made on a node of another network, one that is behind, or one without channels', async () => {
    node.network = 'testnet';
    assert.equal(await refusal(), 'The Lightning node is on testnet, not on regtest.');
    node.network = 'regtest';
    node.syncedToChain = false;
    assert.equal(await refusal(), 'The Lightning node is catching up with the chain.');
    node.syncedToChain = true;
    node.channels = [];
    assert.equal(await refusal(), 'The Lightning node has no active channel.');
    node.channels = [channel(10_000_000, { active: false })];
    assert.equal(await refusal(), 'The Lightning node has no active channel.');
  });

  test('can be checked for in advance, and a refusal has its reason in a sentence', async () => {
    assert.deepEqual(await rail().check(price), { ready: true });
    const reason = 'The node can receive 9999000 sat over Lightning now, not 9999001.';
    assert.deepEqual(await rail().check(9_999_001n), { ready: false, reason });
    assert.deepEqual(await rail().check(9_999_000n), { ready: true });
    node.syncedToChain = false;
    const behind = 'The Lightning node is catching up with the chain.';
    assert.deepEqual(await rail().check(price), { ready: false, reason: behind });
  });

  test('needs a node that answers both what it is and what it can receive', async () => {
    for (const path of ['/v1/getinfo', '/v1/channels']) {
      node.broken = path;
      later();
      assert.deepEqual(await rail().liquidity(), {
        ...{ inboundSat: null, announcedSat: 0n, network: null },
        reason: 'The Lightning node does not answer.',
        checkedAtMs: shop.book.clock.wallMs(),
      });
      assert.match(shop.said(), /^warn: the Lightning node cannot be used .*LND does not answer/);
    }
  });

  test('is not made for more than can be received', async () => {
    // 1,000 sat are the other side's reserve, and twice the fee is its to keep where it opened the channel.
    const fees = { initiator: false, commit_fee: '500' };
    for (const [channels, inbound] of [
      [[channel(51_000)], 50_000],
      [[channel(50_999)], 49_999],
      [[channel(52_000, fees)], 50_000],
      [[channel(51_999, fees)], 49_999],
      [[channel(26_000), channel(26_000)], 50_000],
      [[channel(51_000, { active: false }), channel(31_000)], 30_000],
      [[channel(500), channel(51_000)], 50_000],
    ] as const) {
      node.channels = channels;
      later();
      const lightning = rail();
      assert.equal((await lightning.liquidity()).inboundSat, BigInt(inbound));
      const reason = `The node can receive ${inbound} sat over Lightning now, not 50000.`;
      if (inbound < 50_000) assert.equal(await refusal(lightning), reason);
      else assert.equal((await ordered(lightning)).sat, 50_000n);
    }
  });

  test('includes unannounced channels only if the announced ones cannot take its amount', async () => {
    const hidden = { private: true };
    for (const [channels, named] of [
      [[channel(51_000)], undefined],
      [[channel(51_000), channel(51_000, hidden)], undefined],
      [[channel(51_000, hidden)], true],
      [[channel(26_000), channel(26_000, hidden)], true],
    ] as const) {
      node.channels = channels;
      later();
      await ordered();
      assert.equal(node.wishes.at(-1)?.['private'], named);
    }
  });

  test('is not made if the node does not answer or does not accept the server', async () => {
    const reason = 'The Lightning node does not answer.';
    node.up = false;
    assert.equal(await refusal(), reason);
    node.up = true;
    later();
    const working = rail();
    await working.liquidity();
    node.up = false;
    assert.equal(await refusal(working), reason, 'it went after it was looked at');
    node.up = true;
    shop.said();
    assert.equal(await refusal(rail({}, { macaroon: 'ab'.repeat(40) })), reason);
    assert.match(shop.said(), /^warn: the Lightning node cannot be used .*LND says: verification failed/);
    const other = await LndServer.start(() => shop.time.nowMs);
    assert.equal(await refusal(rail({}, { certificate: other.place.certificate })), reason);
  });

  test('with a payment hash that an order already has is an error, and makes no second order', async () => {
    const preimage = Buffer.alloc(32, 9);
    node.nextPreimage = preimage;
    const order = await ordered();
    node.nextPreimage = preimage;
    await assert.rejects(rail().create(pricedWish), /^Error: LND gave a payment hash twice$/);
    assert.deepEqual(await shop.stored(order.id), order);
  });

  test('that may not have been written is not shown', async () => {
    shop.failing.failure = 'not written';
    await assert.rejects(rail().create(pricedWish), StoreUnavailable);
    shop.failing.failure = undefined;
  });
});

describe('what LND says of an invoice', () => {
  test('settled: one key and one entry, however often it is asked', async () => {
    const order = await ordered();
    const lightning = rail();
    node.become(order.place, 'ACCEPTED');
    await lightning.refresh(order);
    assert.equal((await shop.stored(order.id)).status, 'pending', 'held is not settled');
    node.settle(order.place);
    later();
    await lightning.refresh(order);
    const after = onRail(await shop.stored(order.id), 'lightning');
    assert.deepEqual(
      [after.status, after.paidSat, after.late, after.open, after.key],
      ['settled', 50_000n, false, false, 'active'],
    );
    later();
    await lightning.refresh(order);
    await rail().reconcile();
    assert.equal((await shop.keys(order.id)).length, 1);
    assert.deepEqual(await shop.ledger(order.id), [50_000]);
  });

  test('settled for less than the price: nothing', async () => {
    const order = await ordered();
    node.settle(order.place, { sat: price - 1n });
    await rail().reconcile();
    const after = await shop.stored(order.id);
    assert.deepEqual([after.status, after.key, after.open], ['pending', 'none', true]);
    assert.deepEqual(await shop.ledger(order.id), []);
    node.settle(order.place, { sat: price + 1n });
    await rail().reconcile();
    assert.deepEqual(onRail(await shop.stored(order.id), 'lightning').paidSat, 50_001n);
  });

  test('settled after the end of the order: late, but still paid', async () => {
    const [early, late] = [await ordered(), await ordered()];
    // LND has whole seconds.
    node.settle(early.place, { atMs: early.expiresAtMs - 1_000 });
    node.settle(late.place, { atMs: late.expiresAtMs });
    later(3_600_000);
    await rail().reconcile();
    const facts = async ({ id }: OrderRecord): Promise<unknown[]> => {
      const { status, late: isLate, key } = await shop.stored(id);
      return [status, isLate, key];
    };
    assert.deepEqual(await facts(early), ['settled', false, 'active']);
    assert.deepEqual(await facts(late), ['settled', true, 'active']);
  });

  test('canceled: the order has ended, and is no longer looked up', async () => {
    const order = await ordered();
    node.become(order.place, 'CANCELED');
    const lightning = rail();
    await lightning.refresh(order);
    const after = onRail(await shop.stored(order.id), 'lightning');
    assert.deepEqual([after.status, after.key, after.open], ['expired', 'none', false]);
    const asked = node.count(`/v1/invoice/${order.place}`);
    later();
    await lightning.refresh(after);
    assert.equal(node.count(`/v1/invoice/${order.place}`), asked);
  });

  test('an order ends only when LND says so, not when its time is over', async () => {
    const order = await ordered();
    later(86_400_000);
    await rail().refresh(order);
    assert.equal((await shop.stored(order.id)).status, 'pending');
  });
});

describe('looking orders up', () => {
  test('reconciling asks about every open order, and about no finished one', async () => {
    const lightning = rail();
    await lightning.reconcile();
    const [paid, unpaid, done] = [await ordered(), await ordered(), await ordered()];
    node.settle(done.place);
    await lightning.refresh(done);
    node.settle(paid.place);
    const before = node.count(`/v1/invoice/${done.place}`);
    const open = (await allOpen(shop.aside.store, 'lightning')).length;
    const looked = await lightning.reconcile();
    assert.equal(looked, open);
    assert.deepEqual(
      [(await shop.stored(paid.id)).status, (await shop.stored(unpaid.id)).status],
      ['settled', 'pending'],
    );
    assert.equal(node.count(`/v1/invoice/${done.place}`), before);
    assert.equal(await lightning.reconcile(), open - 1);
  });

  test('an invoice that LND no longer has does not stop the others', async () => {
    const gone = await ordered();
    node.forget(gone.place);
    const orders = [await ordered(), await ordered()];
    for (const { place } of orders) node.settle(place);
    assert.notEqual(await rail().reconcile(), undefined);
    for (const { id } of orders) assert.equal((await shop.stored(id)).status, 'settled');
    assert.equal((await shop.stored(gone.id)).status, 'pending');
    assert.match(shop.said(), /unable to locate invoice/);
  });

  test('if the right LND no longer has an invoice, its order expires an hour after its end', async () => {
    const gone = await ordered();
    node.forget(gone.place);
    const after = async (ms: number): Promise<string> => {
      shop.time.nowMs = gone.expiresAtMs + ms;
      await rail().reconcile();
      return (await shop.stored(gone.id)).status;
    };
    assert.equal(await after(3_599_999), 'pending');
    node.network = 'testnet';
    assert.equal(await after(3_600_000), 'pending');
    node.network = 'regtest';
    node.broken = '/v1/getinfo';
    assert.equal(await after(3_600_000), 'pending', 'it does not say which it is');
    node.broken = `/v1/invoice/${gone.place}`;
    assert.equal(await after(3_600_000), 'pending', 'it does not say what it has');
    node.broken = undefined;
    const { fence } = await lostLease();
    await rail().reconcile({ fence });
    assert.equal((await shop.stored(gone.id)).status, 'pending', 'another process looks orders up');
    assert.equal(await after(3_600_000), 'expired');
    assert.equal((await shop.stored(gone.id)).open, false);
  });

  /** The fence of a lease that is taken and released. */
  async function lostLease() {
    const name = 'orders lightning';
    const taken = await acquireLease(shop.book, name, 'one', 60_000);
    if (taken.kind !== 'held') assert.fail(taken.kind);
    await releaseLease(shop.book, taken.lease);
    return { name, fence: { lease: name, token: taken.lease.record.token } };
  }

  /** The orders that a round could not look up; undefined: none could be. */
  async function failedIn(lightning: Lightning, fence?: Fence): Promise<readonly string[] | undefined> {
    const failed: string[] = [];
    const looked = await lightning.reconcile({ fence, onFailed: (id) => failed.push(id) });
    return looked === undefined ? undefined : failed;
  }

  test('if the node or the store does not answer, nothing changes, and that is reported', async () => {
    const order = await ordered();
    node.settle(order.place);
    node.up = false;
    const lightning = rail();
    assert.equal(await lightning.reconcile(), undefined);
    await lightning.refresh(order);
    assert.equal((await shop.stored(order.id)).status, 'pending');
    node.up = true;
    shop.failing.failure = 'not written';
    shop.failing.failReads = false;
    assert.deepEqual(await failedIn(lightning), [order.id]);
    shop.failing.failure = undefined;
    shop.failing.failReads = true;
    assert.deepEqual(await failedIn(lightning), []);
    assert.equal((await shop.stored(order.id)).status, 'settled');
  });

  test('a process that lost the lease no longer changes anything', async () => {
    const order = await ordered();
    const { name, fence } = await lostLease();
    node.settle(order.place);
    assert.deepEqual(await failedIn(rail(), fence), [order.id]);
    assert.equal((await shop.stored(order.id)).status, 'pending');
    const again = await acquireLease(shop.book, name, 'two', 60_000);
    if (again.kind !== 'held') assert.fail(again.kind);
    await rail().reconcile({ fence: { lease: name, token: again.lease.record.token } });
    assert.equal((await shop.stored(order.id)).status, 'settled');
  });

  test('an unpaid invoice costs the store no more than finding its order', async () => {
    const own = await Shop.open();
    const read: string[] = [];
    const store: Store = {
      ...own.book.store,
      get(space, key) {
        if (space === 'orders') read.push(Buffer.from(key).toString());
        return own.book.store.get(space, key);
      },
    };
    const lightning = rail({ ...own.book, store });
    const [open, accepted, canceled] = [
      await ordered(lightning),
      await ordered(lightning),
      await ordered(lightning),
    ];
    node.become(accepted.place, 'ACCEPTED');
    read.splice(0);
    assert.equal(await lightning.reconcile(), 3);
    assert.equal(read.splice(0).length, 3);
    node.become(canceled.place, 'CANCELED');
    assert.equal(await lightning.reconcile(), 3);
    assert.equal(read.filter((id) => id === canceled.id).length, 2, 'what changed is read again');
    assert.equal((await own.stored(open.id)).status, 'pending');
  });

  test('simultaneous polls ask LND once, and polls a second later ask again', async () => {
    const [order, other] = [await ordered(), await ordered()];
    const lightning = rail();
    const asked = (): number => node.count(`/v1/invoice/${order.place}`);
    await Promise.all(Array.from({ length: 50 }, () => lightning.refresh(order)));
    assert.equal(asked(), 1);
    later(999);
    await lightning.refresh(order);
    assert.equal(asked(), 1);
    await lightning.refresh(other);
    later(1);
    node.settle(order.place);
    await Promise.all([lightning.refresh(order), lightning.refresh(order)]);
    assert.equal(asked(), 2);
    assert.equal((await shop.stored(order.id)).status, 'settled', 'both wait for the answer');
  });

  test('an order is looked up once a second over all processes', async () => {
    const clock = new SetClock(shop.time.nowMs);
    const file = limitsFile();
    const processes = Array.from({ length: 4 }, () => {
      return rail({ mayLook: testAccess({ file, clock }).mayLookUp });
    });
    const [order, other] = [await ordered(), await ordered()];
    const asked = ({ place }: LightningRecord): number => node.count(`/v1/invoice/${place}`);
    const poll = (): Promise<unknown> => Promise.all(processes.map((each) => each.refresh(order)));
    await poll();
    assert.equal(asked(order), 1);
    await processes[0]?.refresh(other);
    assert.equal(asked(other), 1, 'each order has a second of its own');
    for (const ms of [500, 499]) {
      later(ms);
      clock.pass(ms);
      await poll();
      assert.equal(asked(order), 1);
    }
    later(1);
    clock.pass(1);
    node.settle(order.place);
    await poll();
    assert.equal(asked(order), 2);
    assert.equal((await shop.stored(order.id)).status, 'settled');
    // A poll that looks nothing up shows what another one's has found.
    const [, , , last] = processes;
    assert.equal((await last?.refresh(order))?.status, 'settled');
  });

  test('the state of the node is asked for at most every three seconds', async () => {
    const lightning = rail();
    const before = node.count('/v1/getinfo');
    await Promise.all([lightning.liquidity(), lightning.check(1n)]);
    later(2_999);
    const known = await lightning.liquidity();
    assert.equal(Math.floor(known.checkedAtMs), shop.time.nowMs - 2_999);
    assert.equal(node.count('/v1/getinfo'), before + 1);
    later(1);
    assert.equal(Math.floor((await lightning.liquidity()).checkedAtMs), shop.time.nowMs);
    assert.equal(node.count('/v1/getinfo'), before + 2);
    assert.deepEqual(await lightning.check(1n), { ready: true });
    assert.equal((await lightning.check(10_000_000n)).ready, false);
  });
});

describe('the Lightning endpoints', () => {
  const path = '/v1/checkout/lightning';

  function routes(more: Partial<LightningRoutesParts> = {}): LightningRoutesParts {
    return { ...shop.book, lightning: rail(), tiers, claimRequired: false, ...more };
  }

  async function order(parts = routes()): Promise<LightningOrderCreated> {
    const { eventId: event_id, ...input } = wish;
    return jsonOf(
      await call(lightningHandlers(parts).createLightningOrder, { input: { ...input, event_id } }),
    ) as LightningOrderCreated;
  }

  function asking(hash: string, more: Partial<RouteRequest> = {}): RouteRequest {
    return request({ input: undefined, path: { payment_hash: hash }, ...more });
  }

  async function show(parts: LightningRoutesParts, hash: string, more: Partial<RouteRequest> = {}) {
    return jsonOf(await lightningHandlers(parts).lightningOrder(asking(hash, more))) as LightningOrder;
  }

  const problemOf = (answer: Answer, status: number): Problem => jsonOf(answer, status) as Problem;

  test('make an order and return all of it', async () => {
    const made = await order();
    const { claim_token, payment_hash, bolt11, order_id, created_at, expires_at, ...rest } = made;
    assert.match(claim_token, /^ct_[\w-]{43}$/);
    const stored = onRail(await shop.stored(order_id), 'lightning');
    assert.deepEqual([stored.place, stored.bolt11], [payment_hash, bolt11]);
    assert.deepEqual(
      [created_at, expires_at],
      [stored.createdAtMs, stored.expiresAtMs].map((ms) => new Date(ms).toISOString()),
    );
    assert.deepEqual(rest, {
      ...{ rail: 'lightning', tier: 'developer', status: 'pending', network: 'regtest' },
      ...{ btc: '0.00050000', sat: 50_000, received_sat: 0, missing_sat: 50_000, overpaid_sat: 0 },
      ...{ late: false, status_url: `${path}/${payment_hash}`, qr_url: `${path}/${payment_hash}/qr.svg` },
      ...{ api_key: null, key_status: 'none', key_detail: null, key_expires_at: null },
    });
    const { email, source, segment, campaign, eventId, termDays, rateCents } = stored;
    assert.deepEqual({ tier: stored.tier, email, source, segment, campaign, eventId }, { ...wish });
    assert.deepEqual([termDays, columnsOf(stored)['cents'], rateCents], [30, null, null]);
    const bare = await call(lightningHandlers(routes()).createLightningOrder, {
      input: { tier: 'growth' as const },
    });
    const { sat, order_id: bareId } = jsonOf(bare) as LightningOrderCreated;
    assert.equal(sat, 250_000);
    const none = await shop.stored(bareId);
    assert.deepEqual(
      [none.email, none.source, none.segment, none.campaign, none.eventId],
      [null, null, null, null, null],
    );
  });

  test('hand the key out to the first poll that may act, and say what was received', async () => {
    const parts = routes();
    const made = await order(parts);
    node.settle(made.payment_hash, { sat: price + 7n });
    const asked = node.asked.length;
    const quiet = await show(parts, made.payment_hash, { mayAct: false });
    assert.deepEqual([quiet.status, quiet.api_key, node.asked.length], ['pending', null, asked]);
    const gone = await show(parts, made.payment_hash, { aborted: () => true });
    assert.deepEqual([gone.status, gone.api_key], ['settled', null], 'nobody would get it');
    const first = await show(parts, made.payment_hash);
    assert.deepEqual(
      [first.status, first.key_status, first.received_sat, first.missing_sat, first.overpaid_sat],
      ['settled', 'revealed_now', 50_007, 0, 7],
    );
    assert.match(first.api_key ?? '', /^fg_/);
    const second = await show(parts, made.payment_hash);
    assert.deepEqual([second.api_key, second.key_status], [null, 'already_revealed']);
    const answer = await lightningHandlers(parts).lightningOrder(asking(made.payment_hash));
    assert.deepEqual(answer.headers, {
      ...{ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex' },
    });
  });

  test('accept the claim token in the header or the query, and require it if configured', async () => {
    const strict = routes({ claimRequired: true });
    for (const by of ['header', 'query'] as const) {
      const { payment_hash: hash, claim_token: claim } = await order(strict);
      node.settle(hash);
      assert.equal((await show(strict, hash)).api_key, null);
      const token: Partial<RouteRequest> =
        by === 'query'
          ? { query: { claim } }
          : { header: (name) => (name === 'x-claim-token' ? claim : ''), query: { claim: 'ct_another' } };
      assert.equal((await show(strict, hash, token)).key_status, 'revealed_now', by);
    }
  });

  test('bind an order to its claim token if the request prefers that', async () => {
    const parts = routes();
    const input = { tier: 'developer' as const };
    for (const [prefer, bound] of [
      ['claim', true],
      ['respond-async, Claim; x=1', true],
      ['claims', false],
      ['', false],
    ] as const) {
      const header = (name: string) => (name === 'prefer' ? prefer : '');
      const made = jsonOf(
        await lightningHandlers(parts).createLightningOrder(request({ input, header })),
      ) as LightningOrderCreated;
      node.settle(made.payment_hash);
      const bare = await show(parts, made.payment_hash);
      assert.equal(bare.key_status, bound ? 'claim_required' : 'revealed_now', prefer);
      const claim = await show(parts, made.payment_hash, { query: { claim: made.claim_token } });
      assert.equal(claim.key_status, bound ? 'revealed_now' : 'already_revealed', prefer);
    }
  });

  test('show paid orders after the rail was switched off, and sell nothing', async () => {
    const made = await order();
    node.settle(made.payment_hash);
    await rail().reconcile();
    const off = routes({ lightning: undefined });
    assert.equal((await show(off, made.payment_hash)).key_status, 'revealed_now');
    const refused = await call(lightningHandlers(off).createLightningOrder, {
      input: { tier: 'developer' as const },
    });
    assert.deepEqual(problemOf(refused, 503), {
      detail: 'Lightning payments are not configured on this server. Nothing was ordered or charged.',
      code: 'rail_unavailable',
      docs: '/docs/guides/checkout',
    });
    assert.equal(refused.headers?.['retry-after'], '30');
  });

  test('find no order under an unknown or malformed hash, nor one of another rail', async () => {
    const onChain = await shop.make('btc', { place: 'ab'.repeat(32) });
    for (const hash of ['', 'x', '00'.repeat(32), '00'.repeat(31), onChain.order.place, 'AB'.repeat(32)]) {
      for (const handler of [lightningHandlers(routes()).lightningOrder, lightningQr(routes())]) {
        const answer = await handler(asking(hash));
        assert.equal(problemOf(answer, 404).code, 'order_not_found', hash);
      }
    }
  });

  test('say 503 while the store does not answer', async () => {
    const made = await order();
    shop.failing.failure = 'not written';
    const answers = [
      await call(lightningHandlers(routes()).lightningOrder, asking(made.payment_hash)),
      await call(lightningQr(routes()), asking(made.payment_hash)),
      await call(lightningHandlers(routes()).createLightningOrder, { input: { tier: 'developer' as const } }),
    ];
    shop.failing.failure = undefined;
    for (const answer of answers) assert.equal(problemOf(answer, 503).code, 'store_unavailable');
    node.up = false;
    later();
    const down = await call(lightningHandlers(routes()).createLightningOrder, {
      input: { tier: 'developer' as const },
    });
    assert.match(problemOf(down, 503).detail, /^The Lightning node does not answer\. Nothing was ordered/);
  });

  test('draw an invoice as a QR code', async () => {
    const made = await order();
    const { status, body, headers } = await lightningQr(routes())(
      asking(made.payment_hash, { mayAct: false }),
    );
    assert.deepEqual([status, headers?.['cache-control']], [200, 'no-store']);
    assert.ok('bytes' in body && body.type === 'image/svg+xml; charset=utf-8');
    const svg = body.bytes.toString();
    assert.match(svg, /^<svg /);
    // Four modules on each side stay white (ISO/IEC 18004, 9.1): a code has 17 + 4 n of them.
    const [, side = ''] = /viewBox="0 0 (\d+) \1"/.exec(svg) ?? [];
    assert.equal((Number(side) - 8 - 17) % 4, 0, side);
    const [first = ''] = /(?<=stroke="#000000" d=")M\d+ \d+\.5h7/.exec(svg) ?? [];
    assert.equal(first, 'M4 4.5h7');
    const other = await order();
    const second = await lightningQr(routes())(asking(other.payment_hash));
    assert.ok('bytes' in second.body && second.body.bytes !== body.bytes);
  });

  test('say which tiers can be paid now', async () => {
    node.channels = [channel(251_000)];
    const parts = routes();
    const capacity = async (): Promise<LightningCapacityResponse> =>
      jsonOf(await call(lightningCapacity(parts), { input: undefined })) as LightningCapacityResponse;
    const able = (found: LightningCapacityResponse): boolean[] => found.tiers.map((tier) => tier.can_receive);
    const first = await capacity();
    assert.deepEqual(
      [first.configured, first.ready, first.reason, first.network, first.inbound_sat, able(first)],
      [true, true, null, 'regtest', 250_000, [true, true, false]],
    );
    assert.deepEqual(
      first.tiers.map(({ tier, sat }) => [tier, sat]),
      [
        ['developer', 50_000],
        ['growth', 250_000],
        ['enterprise', 2_000_000],
      ],
    );
    assert.equal(first.checked_at, new Date(shop.time.nowMs).toISOString());
    node.network = 'signet';
    later();
    const wrong = await capacity();
    assert.deepEqual(
      [wrong.ready, wrong.reason, wrong.network, wrong.inbound_sat, able(wrong)],
      [false, 'The Lightning node is on signet, not on regtest.', 'signet', 250_000, [false, false, false]],
    );
    node.up = false;
    later();
    const down = await capacity();
    assert.deepEqual(
      [down.ready, down.reason, down.network, down.inbound_sat, able(down)],
      [false, 'The Lightning node does not answer.', null, null, [false, false, false]],
    );
    const off = await call(lightningCapacity(routes({ lightning: undefined })), { input: undefined });
    const { configured, ready, checked_at } = jsonOf(off) as LightningCapacityResponse;
    assert.deepEqual([configured, ready, checked_at], [false, false, null]);
  });
});
