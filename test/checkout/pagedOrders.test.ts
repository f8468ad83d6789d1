/**
 * Orders as the routes and pages of a rail show them: on chain with the limits of unpaid orders, over
 * Lightning, and by card; with every answer in full.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { viewCard } from '../../src/checkout/card/cardView.js';
import { Lightning } from '../../src/checkout/lightning/lightning.js';
import { lightningHandlers, lightningOrders } from '../../src/checkout/lightning/lightningRoutes.js';
import { Lnd } from '../../src/checkout/lnd.js';
import { Bitcoin } from '../../src/checkout/onchain/bitcoin.js';
import { bitcoinHandlers, bitcoinOrders } from '../../src/checkout/onchain/bitcoinRoutes.js';
import type { BitcoinOrder, BitcoinOrderCreated } from '../../src/contract/bitcoin.js';
import type { Answer } from '../../src/contract/exchange.js';
import type { LightningCapacityResponse, LightningOrder } from '../../src/contract/lightning.js';
import type { LightningOrderCreated } from '../../src/contract/lightning.js';
import type { Problem } from '../../src/contract/problem.js';
import { nextAddressIndex, takeIndexes } from '../../src/store/tables/addressIndexes.js';
import { derive } from '../../src/system/masterSecret.js';
import { LndServer } from '../support/lndServer.js';
import { account, call, jsonOf, onRail, Shop, tiers, wish } from '../support/shop.js';
import { Dice, SimulatedChain } from '../support/world.js';

const { eventId: event_id, ...rest } = wish;
const input = { ...rest, event_id };
const noKey = { api_key: null, key_status: 'none', key_detail: null, key_expires_at: null };
const unpaid = { received_sat: 0, missing_sat: 50_000, overpaid_sat: 0, late: false };

const timesOf = ({ createdAtMs, expiresAtMs }: { createdAtMs: number; expiresAtMs: number }) => ({
  created_at: new Date(createdAtMs).toISOString(),
  expires_at: new Date(expiresAtMs).toISOString(),
});

describe('orders on chain', () => {
  const path = '/v1/checkout/btc';
  const home = Uint8Array.of(192, 0, 2, 1);

  /** A shop whose account begins at its first address. */
  async function selling(limits: { maxUnpaidOrders?: number; unpaidOrdersPerAddress?: number } = {}) {
    const shop = await Shop.open();
    const before = await nextAddressIndex(shop.aside.store, account.digest);
    await shop.aside.store.commit([takeIndexes(account.digest, before, 0)]);
    const simulated = new SimulatedChain(new Dice(1), shop.time);
    simulated.mine();
    const terms = { account, confirmationsRequired: 2, maxUnpaidOrders: 0, log: shop.log, ...limits };
    const bitcoin = new Bitcoin({ ...shop.book, ...terms, chain: simulated.chain });
    const parts = { ...shop.book, bitcoin, tiers };
    const create = (caller = home, more: Partial<typeof parts> = {}): Promise<Answer> =>
      call(bitcoinHandlers({ ...parts, ...more }).createBitcoinOrder, { input, caller: () => caller });
    const made = async (caller = home, more: Partial<typeof parts> = {}) =>
      jsonOf(await create(caller, more)) as BitcoinOrderCreated;
    return { shop, simulated, parts, create, made };
  }

  test('are shown in full to their maker', async () => {
    const { shop, made } = await selling();
    const { claim_token, order_id: id, ...shown } = await made();
    assert.match(claim_token, /^ct_/);
    const order = await shop.stored(id);
    assert.deepEqual(shown, {
      ...{ rail: 'btc', tier: 'developer', status: 'pending', network: 'mainnet' },
      ...{ btc: '0.00050000', sat: 50_000, ...unpaid, ...timesOf(order), ...noKey },
      ...{ status_url: `${path}/${id}`, qr_url: `${path}/${id}/qr.svg`, address: account.address(0) },
      bip21: `bitcoin:${account.address(0)}?amount=0.00050000`,
      ...{ confirmations: 0, confirmations_required: 2 },
    });
    const { email, source, segment, campaign, eventId } = order;
    assert.deepEqual({ tier: order.tier, email, source, segment, campaign, eventId }, { ...wish });
  });

  test('are paid on a page of their own, which shows their address until then', async () => {
    const { shop, simulated, parts, made } = await selling();
    const orders = bitcoinOrders(parts);
    const order = await made();
    assert.deepEqual(
      [orders.paid, orders.title, orders.note, orders.placeOf(order)],
      ['here', 'Bitcoin, on chain', 'The key comes with the confirmations.', order.order_id],
    );
    const { address, bip21 } = order;
    assert.deepEqual(orders.howToPay(order), { target: address, uri: bip21, noun: 'address' });
    simulated.pay(address, 50_000n);
    simulated.mine();
    simulated.mine();
    shop.time.nowMs += 60_000;
    const asked = { input: undefined, path: { order_id: order.order_id } };
    const paid = jsonOf(await call(bitcoinHandlers(parts).bitcoinOrder, asked)) as BitcoinOrder;
    assert.deepEqual([paid.status, paid.confirmations, paid.bip21], ['confirmed', 2, null]);
    assert.equal(orders.howToPay(paid), undefined);
  });

  test('ask for money until their watch ends, 30 days after them, and not after it', async () => {
    const { shop, simulated, parts, made } = await selling();
    const { order_id: id, address, bip21, expires_at } = await made();
    const { bitcoinOrder, bitcoinQr } = bitcoinHandlers(parts);
    const asked = { input: undefined, path: { order_id: id } };
    const shown = async (mayAct: boolean) =>
      jsonOf(await call(bitcoinOrder, { ...asked, mayAct })) as BitcoinOrder;
    simulated.pay(address, 20_000n);
    simulated.mine();
    const closesMs = Date.parse(expires_at) + 30 * 86_400_000;
    shop.time.nowMs = closesMs - 1;
    const missing = bip21.replace('0.00050000', '0.00030000');
    const last = await shown(true);
    assert.deepEqual([last.status, last.missing_sat, last.bip21], ['expired', 30_000, missing]);
    assert.equal((await call(bitcoinQr, asked)).status, 200);
    // At its end nobody has looked it up yet; afterwards a look-up has closed it, for good.
    const moments = [
      [closesMs, false],
      [closesMs + 60_000, true],
      [closesMs - 60_000, true],
    ] as const;
    for (const [nowMs, mayAct] of moments) {
      shop.time.nowMs = nowMs;
      const { status, missing_sat, bip21: requested } = await shown(mayAct);
      assert.deepEqual([status, missing_sat, requested], ['expired', 30_000, null], String(nowMs));
      const refused = jsonOf(await call(bitcoinQr, asked), 410) as Problem;
      assert.equal(refused.code, 'order_closed');
      assert.match(refused.detail, /Send no money to it\.$/);
    }
    assert.equal((await shop.stored(id)).open, false);
  });

  test('beyond the limit of all unpaid orders are refused, with a retry after two minutes', async () => {
    const { made, create } = await selling({ maxUnpaidOrders: 1 });
    await made();
    const refused = await create();
    assert.equal((jsonOf(refused, 503) as Problem).code, 'rail_busy');
    assert.equal(refused.headers?.['retry-after'], '120');
  });

  test('beyond the limit of an address are refused until the first of its orders ends', async () => {
    const { shop, made, create } = await selling({ unpaidOrdersPerAddress: 1 });
    await made();
    shop.time.nowMs += 1_200;
    const refused = await create();
    const problem = jsonOf(refused, 429) as Problem;
    assert.equal(problem.code, 'rate_limited');
    assert.match(problem.detail, /^This address has 1 on-chain orders without a confirmed payment, as many/);
    assert.equal(refused.headers?.['retry-after'], '3599');
    await made(Uint8Array.of(192, 0, 2, 2));
    // It has ended, and nobody has looked it up yet.
    shop.time.nowMs += 3_600_000;
    assert.equal((await create()).headers?.['retry-after'], '1');
  });

  test('of one network, a /24 or a /48, take at most a quarter of the room for orders', async () => {
    const { shop, made, create } = await selling({ unpaidOrdersPerAddress: 1, maxUnpaidOrders: 8 });
    const six = (...bytes: readonly number[]) => Uint8Array.of(0x20, 1, 0xd, 0xb8, ...bytes);
    await made(Uint8Array.of(192, 0, 2, 1));
    await made(six(0, 1, 0, 0));
    shop.time.nowMs += 1_200;
    await made(Uint8Array.of(192, 0, 2, 2));
    await made(six(0, 1, 0, 1));
    for (const address of [Uint8Array.of(192, 0, 2, 3), six(0, 1, 255, 255)]) {
      const refused = await create(address);
      const problem = jsonOf(refused, 429) as Problem;
      assert.equal(problem.code, 'rate_limited');
      assert.match(
        problem.detail,
        /^This network has 2 on-chain orders without a confirmed payment, as many/,
      );
      assert.equal(refused.headers?.['retry-after'], '120');
    }
    for (const address of [Uint8Array.of(192, 0, 3, 3), six(0, 2, 0, 0)]) await made(address);
  });

  test('of an unknown address fall only under the limit of all orders', async () => {
    const { made } = await selling({ unpaidOrdersPerAddress: 1 });
    const orders = [await made(new Uint8Array()), await made(new Uint8Array())];
    for (const { status } of orders) assert.equal(status, 'pending');
  });

  test('are counted under a hash of the address, which a newer secret does not change', async () => {
    const { shop, parts, made, create } = await selling({ unpaidOrdersPerAddress: 1 });
    const { order_id } = await made();
    const [secret] = parts.secrets;
    const { orderedBy } = onRail(await shop.stored(order_id), 'btc');
    const hashed = (address: Uint8Array, bytes: number): Uint8Array =>
      derive(secret, 'ordered-by', Buffer.from(address).toString('hex')).subarray(0, bytes);
    const name = Buffer.concat([hashed(home.subarray(0, 3), 8), hashed(home, 16)]);
    assert.deepEqual(Buffer.from(orderedBy ?? []), name);
    const newer = { secrets: ['a-newer-secret-of-the-tests-that-opens-nothing', secret] as const };
    assert.equal((await create(home, newer)).status, 429);
  });

  test('are not found under an unknown id, or the id of an order on another rail', async () => {
    const { shop, parts } = await selling();
    const { order } = await shop.make('lightning');
    const { bitcoinOrder, bitcoinQr } = bitcoinHandlers(parts);
    for (const order_id of [order.id, 'a'.repeat(26), 'x', 'a'.repeat(5_000), '']) {
      for (const handler of [bitcoinOrder, bitcoinQr]) {
        const answer = await call(handler, { input: undefined, path: { order_id } });
        assert.equal((jsonOf(answer, 404) as Problem).code, 'order_not_found', order_id);
      }
    }
  });

  test('are not made if the rail is not set up or its node does not answer', async () => {
    const { simulated, parts, create } = await selling();
    simulated.up = false;
    const down = jsonOf(await create(), 503) as Problem;
    assert.match(down.detail, /^The Bitcoin node does not answer\. Nothing was ordered/);
    const off = bitcoinHandlers({ ...parts, bitcoin: undefined }).createBitcoinOrder;
    const { code, detail } = jsonOf(await call(off, { input }), 503) as Problem;
    assert.equal(code, 'rail_unavailable');
    assert.match(detail, /^On-chain payments are not configured on this server\. Nothing was ordered/);
  });
});

describe('orders over Lightning', () => {
  async function selling() {
    const shop = await Shop.open();
    const node = await LndServer.start(() => shop.time.nowMs);
    const lnd = new Lnd(node.place, shop.book.clock);
    const lightning = new Lightning({ ...shop.book, lnd, network: 'regtest', log: shop.log });
    const parts = { ...shop.book, lightning, tiers, claimRequired: false };
    const handlers = lightningHandlers(parts);
    const made = async () =>
      jsonOf(await call(handlers.createLightningOrder, { input })) as LightningOrderCreated;
    const polled = async (payment_hash: string) =>
      jsonOf(
        await call(handlers.lightningOrder, { input: undefined, path: { payment_hash } }),
      ) as LightningOrder;
    return { shop, node, parts, handlers, made, polled };
  }

  test('are paid on a page of their own, which shows their invoice until then', async () => {
    const { node, parts, made, polled } = await selling();
    const orders = lightningOrders(parts);
    const order = await made();
    assert.deepEqual(
      [orders.paid, orders.title, orders.note, orders.placeOf(order)],
      ['here', 'Lightning', 'The key comes as soon as the invoice is settled.', order.payment_hash],
    );
    const uri = `lightning:${order.bolt11}`;
    assert.deepEqual(orders.howToPay(order), { target: order.bolt11, uri, noun: 'invoice' });
    node.settle(order.payment_hash);
    const paid = await polled(order.payment_hash);
    assert.deepEqual([paid.status, paid.bolt11], ['settled', null]);
    assert.equal(orders.howToPay(paid), undefined);
  });

  test('show their key without a claim token for ten minutes after their payment, not longer', async () => {
    for (const [afterMs, isShown] of [
      [600_000, true],
      [600_001, false],
    ] as const) {
      const { shop, node, parts, made, polled } = await selling();
      const { payment_hash, order_id } = await made();
      node.settle(payment_hash);
      await parts.lightning.refresh(onRail(await shop.stored(order_id), 'lightning'));
      shop.time.nowMs += afterMs;
      assert.equal((await polled(payment_hash)).api_key !== null, isShown, String(afterMs));
    }
  });

  test('have no capacity if the rail is not set up', async () => {
    const { parts } = await selling();
    const { lightningCapacity } = lightningHandlers({ ...parts, lightning: undefined });
    const shown = jsonOf(await call(lightningCapacity, { input: undefined })) as LightningCapacityResponse;
    const tier = (name: string, sat: number): unknown => ({ tier: name, sat, can_receive: false });
    assert.deepEqual(shown, {
      ...{ configured: false, ready: false, network: null, inbound_sat: null, checked_at: null },
      reason: 'Lightning payments are not configured on this server.',
      tiers: [tier('developer', 50_000), tier('growth', 250_000), tier('enterprise', 2_000_000)],
    });
  });
});

test('a card order looks as if it did not exist until it is paid, and then shows its key once', async () => {
  const shop = await Shop.open();
  const { order } = await shop.make('card', { place: 'cs_test_1' });
  const shown = async () => {
    const polled = await shop.polled(order.id);
    return viewCard({ ...polled, order: onRail(polled.order, 'card') });
  };
  const session_id = 'cs_test_1';
  const open = { session_id, status: 'pending', order_id: null, tier: null, ...noKey };
  assert.deepEqual(await shown(), { pickup: open, revealedAtMs: null });
  const paid = { kind: 'card paid', intent: 'pi_1', cents: 3_300n } as const;
  await shop.happened(order.id, paid);
  const first = await shown();
  const { api_key, key_expires_at, ...told } = first.pickup;
  assert.match(api_key ?? '', /^fg_/);
  assert.ok(Date.parse(key_expires_at ?? '') > shop.time.nowMs);
  const named = { session_id, status: 'paid', order_id: order.id, tier: 'developer', key_detail: null };
  assert.deepEqual(told, { ...named, key_status: 'revealed_now' });
  const { api_key: again, key_status, ...same } = (await shown()).pickup;
  assert.deepEqual([again, key_status], [null, 'already_revealed']);
  assert.deepEqual(same, { ...named, key_expires_at });
});
