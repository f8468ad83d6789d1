/** Orders in the store: found by id and by place, open and unpaid ones counted and visited, by rail. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  changeOrder,
  countUnpaid,
  decodeOrder,
  encodeOrder,
  findOrder,
  findOrderAt,
  insertOrder,
  openOrders,
  type OrderRecord,
} from '../../src/store/orders.js';
import { openTestStore } from '../outreach/fixture.js';
import { commit } from './subject.js';
import { collect } from './collect.js';

const store = await openTestStore();

function order(id: string, given: Partial<OrderRecord> = {}): OrderRecord {
  return {
    ...{ id, rail: 'btc', tier: 'growth', network: 'regtest', sat: 50_000, cents: null, rateCents: null },
    ...{ termDays: 30, createdAtMs: 1, expiresAtMs: 2, email: null, source: null, segment: null },
    ...{ campaign: null, eventId: null, place: `place of ${id}`, reference: null, addressIndex: 1 },
    ...{ confirmationsRequired: 2, status: 'pending', late: false, paid: 0, refunded: 0 },
    ...{ createdHeight: null, outputs: [], earlier: [] },
    ...{ key: 'none', keyId: null, keyGeneration: 0, seed: Buffer.alloc(32, 1), revealedAtMs: null },
    ...{ secretId: 'secret', claimHash: Buffer.alloc(32, 2), claimed: false, open: true, orderedBy: null },
    ...given,
  };
}

async function insert(...orders: readonly OrderRecord[]): Promise<void> {
  for (const each of orders) assert.equal((await commit(store, ...insertOrder(each))).kind, 'done');
}

async function change(id: string, to: Partial<OrderRecord>): Promise<void> {
  const changed = await changeOrder(store, id, (from) => Promise.resolve({ to: { ...from, ...to } }));
  assert.equal(changed.kind, 'changed');
}

const unpaid = async (rail: OrderRecord['rail'], most = 99): Promise<number> =>
  await countUnpaid(store, rail, most);

async function open(rail: OrderRecord['rail']): Promise<string[]> {
  return (await collect(openOrders(store, rail))).map(({ id }) => id);
}

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
    await insert(
      ...['l1', 'l2', 'l3'].map((id) => order(id, { rail: 'lightning', network: null })),
      order('k1', { rail: 'card', network: null, status: 'open' }),
    );
    assert.deepEqual(
      [await unpaid('lightning'), await unpaid('lightning', 2), await unpaid('card')],
      [3, 2, 0],
    );
    assert.deepEqual([await open('lightning'), await open('card')], [['l1', 'l2', 'l3'], ['k1']]);
  });

  test('have an id and a place of their own', async () => {
    await insert(order('one', { place: 'x' }), order('two', { place: 'x', rail: 'card' }));
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
