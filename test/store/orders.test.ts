/** Orders in the store: found by id and by place, open and unpaid ones counted and visited, by rail. */
import { decodeOrder, encodeOrder, orderStatuses, type OrderRecord } from '../../src/store/tables/order.js';
import type { BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import type { CardOrder } from '../../src/store/tables/cardOrder.js';
import type { LightningOrder } from '../../src/store/tables/lightningOrder.js';
import { decodeEvent } from '../../src/store/tables/events.js';
import { endedKey, unlinked, type KeyRecord } from '../../src/store/tables/keys.js';
import { orderBytes } from '../reference/orderBytes.js';
import { Dice } from '../support/world.js';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  changeOrder,
  countUnpaid,
  eraseUnpaidOrders,
  findOrder,
  findOrderAt,
  insertOrder,
  openOrders,
} from '../../src/store/tables/orders.js';
import { openTestStore } from '../support/serving.js';
import { commit } from './subject.js';
import { collect } from '../support/collect.js';

const store = await openTestStore();

const noKey = { key: 'none', keyId: null, keyGeneration: 0, revealedAtMs: null } as const;

function any(id: string) {
  return {
    ...{ id, tier: 'growth', sat: 50_000n, rateCents: null, termDays: 30, createdAtMs: 1, expiresAtMs: 2 },
    ...{ email: null, source: null, segment: null, campaign: null, eventId: null, place: `place of ${id}` },
    ...{ late: false, ...noKey, seed: Buffer.alloc(32, 1), secretId: 'secret' },
    ...{ claimHash: Buffer.alloc(32, 2), claimed: false, open: true },
  };
}

function order(id: string, given: Partial<BtcOrder> = {}): BtcOrder {
  return {
    ...{ ...any(id), rail: 'btc', network: 'regtest', addressIndex: 1, confirmationsRequired: 2 },
    ...{ status: 'pending', createdHeight: null, outputs: [], earlier: [], orderedBy: null },
    ...given,
  };
}

function overLightning(id: string, given: Partial<LightningOrder> = {}): LightningOrder {
  const own = { rail: 'lightning', network: 'regtest', status: 'pending', bolt11: 'lnbcrt1' } as const;
  return { ...any(id), ...own, paidSat: 0n, ...given };
}

function byCard(id: string, given: Partial<CardOrder> = {}): CardOrder {
  const own = { rail: 'card', status: 'open', cents: 3_300n, intent: null } as const;
  return { ...any(id), ...own, paidCents: 0n, refundedCents: 0n, ...given };
}

async function insert(...orders: readonly OrderRecord[]): Promise<void> {
  for (const each of orders) assert.equal((await commit(store, ...insertOrder(each))).kind, 'done');
}

async function change(id: string, to: Partial<BtcOrder>): Promise<void> {
  const changed = await changeOrder(store, id, (from) =>
    Promise.resolve({ to: { ...from, ...to } as OrderRecord }),
  );
  assert.equal(changed.kind, 'changed');
}

const unpaid = async (rail: OrderRecord['rail'], most = 99): Promise<number> =>
  await countUnpaid(store, rail, most);

async function open(rail: OrderRecord['rail']): Promise<string[]> {
  return (await collect(openOrders(store, rail))).map(({ id }) => id);
}

test('what buyers wrote is erased from orders that nobody paid for', async () => {
  const own = await openTestStore();
  const written = { email: 'a@example.com', source: 's', segment: 'g', campaign: 'c', eventId: 'e' };
  const output = { txid: 'ab'.repeat(32), vout: 0, sat: 1n, confirmations: 1, atMs: null };
  const ended = { ...written, open: false, createdAtMs: 10 };
  const orders: readonly OrderRecord[] = [
    order('old', { ...ended, status: 'expired' }),
    overLightning('old invoice', { ...ended, status: 'expired' }),
    byCard('old session', { ...ended, status: 'expired' }),
    order('young', { ...ended, status: 'expired', createdAtMs: 1_000 }),
    order('open', { ...ended, open: true }),
    order('keyed', { ...ended, key: 'active', keyId: 'key_1' }),
    order('short', { ...ended, status: 'expired', outputs: [output] }),
    overLightning('settled', { ...ended, status: 'settled', paidSat: 1n }),
    byCard('paid', { ...ended, status: 'paid', paidCents: 1n }),
    byCard('refunded', { ...ended, status: 'refunded', refundedCents: 1n }),
  ];
  for (const each of orders) assert.equal((await commit(own, ...insertOrder(each))).kind, 'done');
  assert.equal(await eraseUnpaidOrders(own, 500), 3);
  for (const each of orders) {
    const gone = { email: null, source: null, segment: null, campaign: null, eventId: null };
    const expected = each.id.startsWith('old') ? { ...each, ...gone } : each;
    const found = await findOrder(own, each.id);
    assert.deepEqual(found && decodeOrder(encodeOrder(found)), decodeOrder(encodeOrder(expected)), each.id);
  }
  assert.equal(await eraseUnpaidOrders(own, 500), 0, 'once');
});

test('orders of every format are read, and written by the first that holds them', () => {
  const orderedBy = Buffer.alloc(16, 7);
  const plain = order('plain');
  const all = [
    plain,
    { ...plain, createdHeight: 9 },
    { ...plain, earlier: ['a:0'] },
    { ...plain, orderedBy },
  ];
  for (const each of all) assert.deepEqual(decodeOrder(encodeOrder(each)), each);
  const same = (left: OrderRecord, right: OrderRecord): boolean =>
    Buffer.compare(encodeOrder(left), encodeOrder(right)) === 0;
  assert.ok(same({ ...plain, orderedBy: null }, plain), 'one whose address was forgotten is as one before');
});

/** An order of any rail in any state. */
function randomOrder(dice: Dice): OrderRecord {
  const orNull = <Value>(value: Value): Value | null => (dice.happens(0.5) ? value : null);
  const amount = (): bigint => BigInt(dice.pick([0, 1, 50_000, 2_100_000_000_000_000]));
  const texts = ['', 'a', 'é"\\ \n\u2028', '\ud800', '😀'];
  const name = (): string => dice.pick(texts);
  const id = `order-${dice.below(1_000)}`;
  const common = {
    ...any(id),
    ...{ tier: name(), sat: amount(), rateCents: orNull(amount()), termDays: dice.below(99), place: name() },
    ...{ email: orNull(name()), source: orNull(name()), segment: orNull(name()), campaign: orNull(name()) },
    ...{ eventId: orNull(name()), late: dice.happens(0.5), keyId: orNull('key_1') },
    key: dice.pick(['none', 'active', 'suspended', 'revoked'] as const),
    ...{ keyGeneration: dice.below(3), seed: orNull(Buffer.alloc(32, 7)), claimHash: Buffer.alloc(32, 9) },
    ...{ revealedAtMs: orNull(7), claimed: dice.happens(0.5), open: dice.happens(0.5) },
  };
  const network = dice.pick(['mainnet', 'testnet', 'signet', 'regtest'] as const);
  switch (dice.below(3)) {
    case 0: {
      const outputs = Array.from({ length: dice.below(3) }, (_, vout) => {
        return { txid: 'ab'.repeat(32), vout, sat: amount(), confirmations: dice.below(9), atMs: orNull(5) };
      });
      const statuses = ['pending', 'seen', 'underpaid', 'confirmed', 'expired'] as const;
      return order(id, {
        ...{ ...common, network, status: dice.pick(statuses), addressIndex: dice.below(1e6), outputs },
        ...{ createdHeight: orNull(9), earlier: dice.pick([[], ['a:0', 'b:1']]) },
        ...{ confirmationsRequired: dice.below(7), orderedBy: orNull(Buffer.alloc(16, 3)) },
      });
    }
    case 1: {
      const status = dice.pick(['pending', 'settled', 'expired'] as const);
      return overLightning(id, { ...common, network, status, bolt11: name(), paidSat: amount() });
    }
    default: {
      const statuses = ['open', 'paid', 'revealed', 'expired', 'failed', 'refunded', 'disputed'] as const;
      const money = { cents: amount(), paidCents: amount(), refundedCents: amount(), intent: orNull(name()) };
      return byCard(id, { ...common, ...money, status: dice.pick([...statuses, 'revoked'] as const) });
    }
  }
}

test('ten thousand orders have the bytes that they always had, and come back as they were', () => {
  const dice = new Dice(17);
  for (let count = 0; count < 10_000; count += 1) {
    const each = randomOrder(dice);
    const bytes = Buffer.from(encodeOrder(each));
    assert.deepEqual(bytes, orderBytes(each));
    // A lone surrogate has no UTF-8: it is stored as an escape.
    assert.deepEqual(decodeOrder(bytes), each);
  }
});

test('orders of all rails have thirteen statuses, each of which is named once', () => {
  const onChain = ['pending', 'underpaid', 'seen', 'confirmed', 'expired'];
  const more = ['settled', 'open', 'paid', 'revealed', 'refunded', 'disputed', 'revoked', 'failed'];
  assert.deepEqual(orderStatuses.toSorted(), [...onChain, ...more].sort());
});

test('a record that no version wrote is refused', () => {
  const damaged = (from: OrderRecord, text: string, by: string): Buffer => {
    const record = Buffer.from(encodeOrder(from)).toString('latin1');
    assert.ok(record.includes(text), text);
    return Buffer.from(record.replace(text, by), 'latin1');
  };
  for (const [record, reason] of [
    [damaged(order('a'), '"paid":0', '"paid":1'), /An order record of btc has a paid$/],
    [damaged(order('a'), '"cents":null', '"cents":1'), /has a cents$/],
    [damaged(order('a'), '"address_index":1', '"address_index":null'), /has no address index$/],
    [damaged(order('a'), '"network":"regtest"', '"network":null'), /has no network$/],
    [damaged(order('a'), '"status":"pending"', '"status":"settled"'), /of btc has the status settled$/],
    [damaged(overLightning('a'), '"network":"regtest"', '"network":null'), /has no network$/],
    [damaged(overLightning('a'), '"reference":"lnbcrt1"', '"reference":null'), /has no invoice$/],
    [damaged(overLightning('a'), '"outputs":[]', '"outputs":[["a",0,1,2,null]]'), /has a outputs$/],
    [damaged(byCard('a'), '"cents":3300', '"cents":null'), /Order a has no price in cents$/],
    [damaged(byCard('a'), '"address_index":null', '"address_index":0'), /has a addressIndex$/],
  ] as const) {
    assert.throws(() => decodeOrder(record), reason);
  }
});

describe('orders', () => {
  test('that are paid in part are not paid for, and count until they are, or end', async () => {
    await insert(order('a'), order('b', { status: 'underpaid' }), order('c', { status: 'seen' }));
    await insert(order('d', { open: false, status: 'expired' }), order('e', { open: false }));
    assert.equal(await unpaid('btc'), 2);
    assert.deepEqual(await open('btc'), ['a', 'b', 'c']);
    await change('a', { status: 'underpaid' });
    assert.equal(await unpaid('btc'), 2);
    await change('a', { status: 'seen' });
    assert.equal(await unpaid('btc'), 1);
    assert.deepEqual(await open('btc'), ['a', 'b', 'c']);
    await change('b', { status: 'expired', open: false });
    assert.equal(await unpaid('btc'), 0);
    assert.deepEqual(await open('btc'), ['a', 'c']);
    await change('c', { status: 'underpaid' });
    assert.equal(await unpaid('btc'), 1, 'a payment that a reorganisation took back is missing again');
  });

  test('of one rail are not those of another, and no more are counted than asked for', async () => {
    await insert(...['l1', 'l2', 'l3'].map((id) => overLightning(id)), byCard('k1'));
    assert.deepEqual(
      [await unpaid('lightning'), await unpaid('lightning', 2), await unpaid('card')],
      [3, 2, 0],
    );
    assert.deepEqual([await open('lightning'), await open('card')], [['l1', 'l2', 'l3'], ['k1']]);
  });

  test('have an id and a place of their own', async () => {
    await insert(order('one', { place: 'x' }), byCard('two', { place: 'x' }));
    for (const taken of [order('one', { place: 'y' }), order('three', { place: 'x' })]) {
      assert.equal((await commit(store, ...insertOrder(taken))).kind, 'conflict');
    }
    const at = async (rail: OrderRecord['rail'], place: string): Promise<string | undefined> =>
      (await findOrderAt(store, rail, place))?.id;
    assert.deepEqual([await at('btc', 'x'), await at('card', 'x')], ['one', 'two']);
    assert.equal(await at('lightning', 'x'), undefined);
    assert.equal(await findOrder(store, 'three'), undefined);
  });

  test('are asked for by names of any length', async () => {
    await insert(order('i'.repeat(200), { place: 'long', rail: 'btc' }));
    assert.equal((await findOrder(store, 'i'.repeat(200)))?.place, 'long');
    for (const name of ['', 'i'.repeat(201), 'é'.repeat(101), 'i'.repeat(1e6)]) {
      assert.equal(await findOrder(store, name), undefined);
      assert.equal(await findOrderAt(store, 'btc', name), undefined);
    }
  });
});

test('an order tells once that it was paid, in the unit of its first key', async () => {
  const from = await store.last('events');
  const paid = overLightning('toTell');
  await insert(paid);
  const keyOf = (number: number): KeyRecord => ({
    ...{
      hash: Buffer.alloc(32, 100 + number),
      id: `key_tell${number}`,
      tier: 'growth',
      hint: 'fg_',
      origin: 'toTell',
    },
    ...{
      issuedAtMs: 7 + number,
      expiresAtMs: null,
      status: 'active',
      reason: null,
      changedAtMs: 7,
      ...unlinked,
    },
  });
  const first = keyOf(1);
  const told = async () =>
    (await store.read('events', { after: from, limit: 10 })).map(({ value }) => decodeEvent(value));
  await changeOrder(store, 'toTell', (order) =>
    Promise.resolve({ to: { ...order, key: 'active', keyId: first.id }, mint: first }),
  );
  const payment = { type: 'order.paid', object: 'toTell', atMs: 8 };
  assert.deepEqual(await told(), [payment]);
  const second = keyOf(2);
  await changeOrder(store, 'toTell', (order) =>
    Promise.resolve({
      ...{ to: { ...order, keyId: second.id }, mint: second },
      keys: [endedKey(first, 'replaced by another', 20)],
    }),
  );
  assert.deepEqual(await told(), [payment, { type: 'key.revoked', object: first.id, atMs: 20 }]);
});
