/** The suite of all rails (railConformance.ts): on chain, over Lightning, by card. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bitcoin } from '../../src/checkout/onchain/bitcoin.js';
import { Card } from '../../src/checkout/card/card.js';
import type { CardEvent } from '../../src/checkout/card/cardEvents.js';
import { Lightning } from '../../src/checkout/lightning/lightning.js';
import { Lnd } from '../../src/checkout/lnd.js';
import { StripeClient } from '../../src/checkout/card/stripe.js';
import type { MadeOrder } from '../../src/checkout/order/book.js';
import type { Polled } from '../../src/checkout/order/poll.js';
import type { BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import { viewOnChain } from '../../src/checkout/onchain/bitcoinView.js';
import { viewCard } from '../../src/checkout/card/cardView.js';
import { viewLightning } from '../../src/checkout/lightning/lightningView.js';
import { closedRail, pollOrder, type Rail } from '../../src/checkout/rail.js';
import type { CardOrder } from '../../src/store/tables/cardOrder.js';
import type { OrderOn, OrderRecord } from '../../src/store/tables/order.js';
import { findOrder } from '../../src/store/tables/orders.js';
import { LndServer } from '../support/lndServer.js';
import { railConformance, type RailSubject, type ShownKey } from './railConformance.js';
import { account, onRail, pricedWish, Shop, tiers, wish } from '../support/shop.js';
import { StripeServer } from './stripeServer.js';
import { Dice, SimulatedChain } from '../support/world.js';
import { whenUnavailable } from '../../src/store/store.js';

/** Time in which a rail asks its network anew. */
const later = 60_000;

type Made = Awaited<ReturnType<RailSubject['create']>>;

/** What came of a wish, in the words of the suite. */
async function toldOf(
  making: Promise<MadeOrder | { readonly kind: string; readonly reason?: string }>,
): Promise<Made> {
  const made = await whenUnavailable(making, () => 'store unavailable' as const);
  if (made === 'store unavailable' || 'order' in made) return made;
  assert.equal(made.kind, 'rail unavailable');
  return { refused: made.reason ?? '' };
}

/** Polls a rail's orders through `pollOrder`. */
function polling<Name extends OrderRecord['rail']>(
  { book, aside }: Shop,
  rail: Name,
  of: Pick<Rail<OrderOn<Name>, never, unknown>, 'refresh'>,
  view: (polled: Polled<OrderOn<Name>>) => ShownKey,
): RailSubject['poll'] {
  const find = async (id: string): Promise<OrderOn<Name>> => onRail(await findOrder(aside.store, id), rail);
  const polled = { parts: book, rail: of, view, find, demanded: { claimRequired: false } };
  return ({ id }, request) => pollOrder(polled, id, request);
}

const viewPickup = (polled: Polled<CardOrder>): ShownKey => viewCard(polled).pickup;

async function onChain(): Promise<RailSubject> {
  const shop = await Shop.open();
  const simulated = new SimulatedChain(new Dice(5), shop.time);
  const { chain } = simulated;
  const network: typeof chain.network = () =>
    simulated.up ? chain.network() : Promise.resolve({ kind: 'failed', reason: 'it is down' });
  const parts = { account, confirmationsRequired: 2, maxUnpaidOrders: 0, log: shop.log };
  const rail = new Bitcoin({ ...shop.book, ...parts, chain: { ...chain, network } });
  const view = (polled: Polled<BtcOrder>): ShownKey => viewOnChain(polled, shop.time.nowMs);
  assert.equal(await rail.begin(), 0);
  return {
    check() {
      shop.time.nowMs += later;
      return rail.check();
    },
    poll: polling(shop, 'btc', rail, view),
    pollClosed: polling(shop, 'btc', closedRail('On-chain payments'), view),
    ...{ name: 'btc', shop, price: 50_000, paidStatus: 'confirmed' },
    create() {
      shop.time.nowMs += later;
      return toldOf(rail.create(pricedWish));
    },
    pay({ place }) {
      simulated.pay(place, 50_000n);
      simulated.mine();
      simulated.mine();
    },
    async learn(order) {
      shop.time.nowMs += later;
      await rail.refresh(onRail(order, 'btc'));
      return true;
    },
    reconcile: () => learnsAll(rail),
    setUp: (up) => (simulated.up = up),
  };
}

/** True if a round looked up every open order. */
async function learnsAll(rail: Pick<Bitcoin | Lightning, 'reconcile'>): Promise<boolean> {
  let failed = 0;
  const looked = await rail.reconcile({ onFailed: () => (failed += 1) });
  return looked !== undefined && failed === 0;
}

async function lightning(): Promise<RailSubject> {
  const shop = await Shop.open();
  const node = await LndServer.start(() => shop.time.nowMs);
  const lnd = new Lnd(node.place, shop.book.clock);
  const rail = new Lightning({ ...shop.book, lnd, network: 'regtest', log: shop.log });
  return {
    check() {
      shop.time.nowMs += later;
      return rail.check(50_000n);
    },
    poll: polling(shop, 'lightning', rail, viewLightning),
    pollClosed: polling(shop, 'lightning', closedRail('Lightning payments'), viewLightning),
    ...{ name: 'lightning', shop, price: 50_000, paidStatus: 'settled' },
    create() {
      shop.time.nowMs += later;
      return toldOf(rail.create(pricedWish));
    },
    pay: ({ place }) => node.settle(place),
    async learn(order) {
      shop.time.nowMs += later;
      await rail.refresh(onRail(order, 'lightning'));
      return true;
    },
    reconcile: () => learnsAll(rail),
    setUp: (up) => (node.up = up),
  };
}

async function card(): Promise<RailSubject> {
  const shop = await Shop.open();
  const stripe = await StripeServer.start();
  const client = new StripeClient({ secretKey: stripe.secretKey, apiBase: stripe.apiBase });
  const rate = { cents: 6_000_000n, source: 'fixed', atMs: 0 };
  const rail = new Card({
    ...shop.book,
    ...{ stripe: client, tiers, rates: { current: () => Promise.resolve(rate) }, webhookReady: true },
    ...{ publicUrl: 'https://keys.example', prices: {}, allowDiscounts: false, log: shop.log },
  });
  /** Events that were sent, and what is not taken yet: the processor sends that again. */
  const sent = new Map<string, CardEvent>();
  const untaken = new Set<CardEvent>();
  const deliver = async (event: CardEvent): Promise<boolean> => {
    const settled = await whenUnavailable(rail.settle(event), () => undefined);
    if (settled?.kind === 'settled') untaken.delete(event);
    return settled?.kind === 'settled';
  };
  return {
    check() {
      shop.time.nowMs += later;
      return rail.check();
    },
    poll: polling(shop, 'card', rail, viewPickup),
    pollClosed: polling(shop, 'card', closedRail('Card payments'), viewPickup),
    ...{ name: 'card', shop, price: 3_300, paidStatus: 'paid' },
    create() {
      shop.time.nowMs += later;
      return toldOf(rail.create(wish));
    },
    pay({ id, place }) {
      const money = {
        payment: 'paid',
        totalCents: 3_300n,
        subtotalCents: null,
        discountCents: 0n,
        currency: 'usd',
        intent: `pi_${id}`,
      } as const;
      const made = { single: true, tier: 'developer', server: null, createdAtMs: shop.time.nowMs } as const;
      const session = { id: place, ...money, ...made };
      const event: CardEvent = {
        ...{ id: `evt_${id}`, type: 'checkout.session.completed', live: false },
        ...{ createdAtMs: shop.time.nowMs, subject: { kind: 'session', what: 'completed', session } },
      };
      sent.set(id, event);
      untaken.add(event);
    },
    async learn({ id }) {
      const event = sent.get(id);
      return event === undefined || deliver(event);
    },
    async reconcile() {
      const taken = [];
      for (const event of [...untaken]) taken.push(await deliver(event));
      return !taken.includes(false);
    },
    setUp: (up) => (stripe.up = up),
  };
}

test('a rail that is not set up takes no order, says so, and has nothing to look up', async () => {
  const rail = closedRail('Card payments');
  const reason = 'Card payments are not configured on this server.';
  assert.deepEqual(await rail.check(50_000n), { ready: false, reason });
  assert.deepEqual(await rail.create(wish), { kind: 'rail unavailable', reason });
  assert.equal(await rail.reconcile(), 0);
});

for (const subject of [await onChain(), await lightning(), await card()]) railConformance(subject);
