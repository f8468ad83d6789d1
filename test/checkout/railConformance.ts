/**
 * What every rail has in common: an order is on disk before it is shown, a payment that is reported any
 * number of times makes one key, and the key is handed out once, to whoever may have it.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MadeOrder } from '../../src/checkout/order/book.js';
import type { PollRequest } from '../../src/checkout/order/poll.js';
import type { Readiness } from '../../src/checkout/rail.js';
import type { KeyStatus } from '../../src/contract/orders.js';
import { native } from '../../src/native/addon.js';
import type { OrderRecord } from '../../src/store/tables/order.js';
import type { Shop } from '../support/shop.js';

/** What a poll's answer says of the key. */
export interface ShownKey {
  readonly api_key: string | null;
  readonly key_status: KeyStatus;
}

/** A rail to test, over a network of its own. */
export interface RailSubject {
  readonly name: OrderRecord['rail'];
  readonly shop: Shop;
  /** Makes an order for the developer tier; a sentence where the rail takes no money now. */
  readonly create: () => Promise<MadeOrder | { readonly refused: string } | 'store unavailable'>;
  /** Asks the rail whether it can take the money of such an order now. */
  readonly check: () => Promise<Readiness>;
  /** Polls an order through `pollOrder`, as routes and pages do. */
  readonly poll: (order: OrderRecord, request: PollRequest) => Promise<ShownKey | undefined>;
  /** The same where the operator has taken the rail out of the settings since. */
  readonly pollClosed: (order: OrderRecord, request: PollRequest) => Promise<ShownKey | undefined>;
  /** What the ledger has of a payment: satoshi or cents. */
  readonly price: number;
  /** The status of an order that is paid. */
  readonly paidStatus: string;
  /** Lets the buyer pay, so that it counts. */
  readonly pay: (order: OrderRecord) => void;
  /** Lets the rail learn of one order's payment, as a poll or an event does; whether it could. */
  readonly learn: (order: OrderRecord) => Promise<boolean>;
  /** Lets the rail learn of everything that it may have missed; whether it could. */
  readonly reconcile: () => Promise<boolean>;
  /** Takes the rail's network away, or gives it back. */
  readonly setUp: (up: boolean) => void;
}

async function created({ create }: RailSubject): Promise<MadeOrder> {
  const made = await create();
  if (typeof made === 'string' || 'refused' in made) assert.fail(JSON.stringify(made));
  return made;
}

async function paid(subject: RailSubject): Promise<MadeOrder> {
  const made = await created(subject);
  subject.pay(made.order);
  assert.equal(await subject.learn(made.order), true);
  return made;
}

/** The only key of an order is in use, its money is in the ledger once, and nobody was handed the key. */
async function hasItsKey({ name, shop, price, paidStatus }: RailSubject, { id }: OrderRecord): Promise<void> {
  const { status, key, keyId, late } = await shop.stored(id);
  assert.deepEqual([status, key, late], [paidStatus, 'active', false]);
  assert.match(keyId ?? '', /^key_[0-9a-f]{20}$/);
  const keys = (await shop.keys(id)).map((each) => [each.id, each.tier, each.status]);
  assert.deepEqual(keys, [[keyId, 'developer', 'active']]);
  const entries = (await shop.entries(id)).map(({ unit, change, status: at }) => [unit, change, at]);
  assert.deepEqual(entries, [[name === 'card' ? 'cent' : 'sat', price, paidStatus]]);
}

function failing(shop: Shop, failure: 'not written' | 'written' | undefined): void {
  shop.failing.failure = failure;
  shop.failing.failReads = failure === undefined;
}

function ordersOf(subject: RailSubject): void {
  const { name, shop } = subject;
  test('an order is on disk, unpaid and without a key, before it is shown', async () => {
    const { order, claimToken } = await created(subject);
    assert.deepEqual(await shop.stored(order.id), order);
    const { rail, late, seed, claimHash, createdAtMs } = order;
    assert.deepEqual([rail, late, createdAtMs], [name, false, shop.time.nowMs]);
    assert.deepEqual([seed?.length, claimHash.length], [32, 32]);
    assert.match(claimToken, /^ct_[\w-]{43}$/);
    assert.deepEqual(
      [order.key, order.keyId, order.revealedAtMs, order.claimed],
      ['none', null, null, false],
    );
    assert.deepEqual([await shop.keys(order.id), await shop.ledger(order.id)], [[], []]);
    const { apiKey, keyStatus } = await shop.polled(order.id, { claim: claimToken });
    assert.deepEqual([apiKey, keyStatus], [null, 'none']);
  });

  test('no two orders share a place, an id or a claim token', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => created(subject)));
    for (const each of ['id', 'place'] as const) {
      assert.equal(new Set(all.map(({ order }) => order[each])).size, 8);
    }
    assert.equal(new Set(all.map(({ claimToken }) => claimToken)).size, 8);
  });

  test('no order is made if the network or the store does not answer', async () => {
    const before = (await shop.orders()).length;
    subject.setUp(false);
    const made = await subject.create();
    subject.setUp(true);
    assert.ok(typeof made === 'object' && 'refused' in made && /\.$/.test(made.refused));
    failing(shop, 'not written');
    const lost = await subject.create();
    failing(shop, undefined);
    assert.equal(lost, 'store unavailable');
    assert.equal((await shop.orders()).length, before);
  });
}

function paymentsOf(subject: RailSubject): void {
  const { shop } = subject;
  test('an unpaid order stays without a key', async () => {
    const { order } = await created(subject);
    await subject.learn(order);
    await subject.reconcile();
    assert.equal((await shop.stored(order.id)).key, 'none');
  });

  test('a payment makes one key, however often it is reported', async () => {
    const { order } = await paid(subject);
    await hasItsKey(subject, order);
    await Promise.all([subject.learn(order), subject.learn(order), subject.reconcile()]);
    await hasItsKey(subject, order);
  });

  test('a payment that was not reported in time is found', async () => {
    const { order } = await created(subject);
    subject.pay(order);
    assert.equal(await subject.reconcile(), true);
    await hasItsKey(subject, order);
  });

  for (const failure of ['not written', 'written'] as const) {
    test(`a payment that was ${failure} while the store failed makes one key later`, async () => {
      const { order } = await created(subject);
      subject.pay(order);
      failing(shop, failure);
      await subject.learn(order);
      const found = await subject.reconcile();
      if (failure === 'not written') assert.equal(found, false, 'it is said that not all was learnt');
      failing(shop, undefined);
      assert.equal(await subject.reconcile(), true);
      assert.equal(await subject.learn(order), true);
      await hasItsKey(subject, order);
    });
  }
}

function keysOf(subject: RailSubject): void {
  const { shop } = subject;
  test('of many first polls at once one carries the key, which is the key of the order', async () => {
    const { order } = await paid(subject);
    const polls = await Promise.all(Array.from({ length: 50 }, () => shop.polled(order.id)));
    const raw = polls.flatMap(({ apiKey }) => (apiKey === null ? [] : [apiKey]));
    assert.equal(raw.length, 1);
    const [key] = await shop.keys(order.id);
    assert.deepEqual(native.hashKey(raw[0] ?? ''), Buffer.from(key?.hash ?? []));
    const { seed, revealedAtMs } = await shop.stored(order.id);
    assert.deepEqual([seed, revealedAtMs], [null, shop.time.nowMs]);
    assert.equal((await shop.polled(order.id)).keyStatus, 'already_revealed');
  });

  test('the claim token is needed once it was shown, or from the beginning if it is required', async () => {
    const { order, claimToken: claim } = await created(subject);
    await shop.polled(order.id, { claim: 'ct_of_nobody' });
    assert.equal((await shop.stored(order.id)).claimed, false);
    await shop.polled(order.id, { claim });
    assert.equal((await shop.stored(order.id)).claimed, true);
    subject.pay(order);
    await subject.learn(order);
    for (const stranger of ['', 'ct_of_nobody']) {
      assert.equal((await shop.polled(order.id, { claim: stranger })).apiKey, null);
    }
    assert.equal((await shop.polled(order.id, { claim })).keyStatus, 'revealed_now');
    assert.equal((await shop.stored(order.id)).claimed, true, 'for good');
    const demanded = await paid(subject);
    const { id } = demanded.order;
    assert.equal((await shop.polled(id, { claimRequired: true })).apiKey, null);
    const shown = await shop.polled(id, { claimRequired: true, claim: demanded.claimToken });
    assert.equal(shown.keyStatus, 'revealed_now');
  });

  test('a poll that may not act takes neither the key nor the right to it', async () => {
    const { order, claimToken: claim } = await paid(subject);
    const before = await shop.stored(order.id);
    for (const asked of [{}, { claim }]) {
      const { apiKey, keyStatus } = await shop.polled(order.id, { mayAct: false, ...asked });
      assert.deepEqual([apiKey, keyStatus], [null, 'none']);
    }
    assert.deepEqual(await shop.stored(order.id), before);
  });
}

const asking: PollRequest = { claim: '', mayAct: true, aborted: () => false };

function pollsOf(subject: RailSubject): void {
  test('it says whether it can take money now, and why not', async () => {
    assert.deepEqual(await subject.check(), { ready: true });
    subject.setUp(false);
    const down = await subject.check();
    subject.setUp(true);
    assert.ok(!down.ready && /\.$/.test(down.reason));
    assert.deepEqual(await subject.check(), { ready: true });
  });

  test('of many polls through the rail one carries the key', async () => {
    const { order } = await paid(subject);
    const polls = await Promise.all(Array.from({ length: 20 }, () => subject.poll(order, asking)));
    assert.equal(polls.filter((each) => each?.api_key !== null).length, 1);
    assert.equal((await subject.poll(order, asking))?.key_status, 'already_revealed');
  });

  test('a poll that may not act, or whose sender has gone, takes no key', async () => {
    const { order } = await paid(subject);
    for (const more of [{ mayAct: false }, { aborted: () => true }]) {
      const shown = await subject.poll(order, { ...asking, ...more });
      assert.deepEqual([shown?.api_key, shown?.key_status], [null, 'none']);
    }
    assert.equal((await subject.poll(order, asking))?.key_status, 'revealed_now');
  });

  test('a sender that disconnects while the payment is looked up takes no key', async () => {
    const { order } = await created(subject);
    subject.pay(order);
    let gone = false;
    const polled = subject.poll(order, { ...asking, aborted: () => gone });
    gone = true;
    assert.equal((await polled)?.api_key, null);
    assert.equal(await subject.learn(order), true);
    assert.equal((await subject.poll(order, asking))?.key_status, 'revealed_now');
  });

  test('a rail that is no longer set up still hands out the keys of paid orders', async () => {
    const { order } = await paid(subject);
    assert.equal((await subject.pollClosed(order, asking))?.key_status, 'revealed_now');
    const unpaid = await created(subject);
    assert.equal((await subject.pollClosed(unpaid.order, asking))?.key_status, 'none');
  });
}

/** Runs the suite. */
export function railConformance(subject: RailSubject): void {
  describe(`the rail ${subject.name}`, () => {
    ordersOf(subject);
    paymentsOf(subject);
    keysOf(subject);
    pollsOf(subject);
  });
}
