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
  decodeLedger,
  eraseUnpaidOrders,
  findOrder,
  findOrderAt,
  findOrderNamed,
  forgetOrderEmails,
  insertOrder,
  unconfirmedOrdersBy,
  type LedgerEntry,
} from '../../src/store/tables/orders.js';
import { acquireLease } from '../../src/store/leases.js';
import type { Operation, Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { openTestStore } from '../support/serving.js';
import { commit } from './subject.js';
import { UnreadableRecord } from '../../src/store/table.js';
import { allOpen } from '../support/shop.js';

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
    ...{
      status: 'pending',
      createdHeight: null,
      outputs: [],
      earlier: [],
      orderedBy: null,
      seenHeight: null,
    },
    ...given,
  };
}

function overLightning(id: string, given: Partial<LightningOrder> = {}): LightningOrder {
  const own = { rail: 'lightning', network: 'regtest', status: 'pending', bolt11: 'lnbcrt1' } as const;
  return { ...any(id), ...own, paidSat: 0n, ...given };
}

function byCard(id: string, given: Partial<CardOrder> = {}): CardOrder {
  const own = { rail: 'card', status: 'open', cents: 3_300n, intent: null } as const;
  return { ...any(id), ...own, paidCents: 0n, refundedCents: 0n, disputes: [], ...given };
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
  return (await allOpen(store, rail)).map(({ id }) => id);
}

test('what buyers wrote is erased from orders that were never paid', async () => {
  const own = await openTestStore();
  const written = { email: 'a@example.com', source: 's', segment: 'g', campaign: 'c', eventId: 'e' };
  const output = { txid: 'ab'.repeat(32), vout: 0, sat: 1n, confirmations: 1, atMs: null };
  const ended = { ...written, open: false, createdAtMs: 10 };
  const orders: readonly OrderRecord[] = [
    order('old', { ...ended, status: 'expired' }),
    overLightning('old invoice', { ...ended, status: 'expired' }),
    byCard('old session', { ...ended, status: 'expired' }),
    order('old and signed', { ...ended, source: null, campaign: null, eventId: null, status: 'expired' }),
    order('young', { ...ended, status: 'expired', createdAtMs: 500 }),
    order('open', { ...ended, open: true }),
    order('keyed', { ...ended, key: 'active', keyId: 'key_1' }),
    order('short', { ...ended, status: 'expired', outputs: [output] }),
    overLightning('settled', { ...ended, status: 'settled', paidSat: 1n }),
    byCard('paid', { ...ended, status: 'paid', paidCents: 1n }),
    byCard('refunded', { ...ended, status: 'refunded', refundedCents: 1n }),
  ];
  for (const each of orders) assert.equal((await commit(own, ...insertOrder(each))).kind, 'done');
  assert.equal(await eraseUnpaidOrders(own, 500), 4);
  for (const each of orders) {
    const gone = { email: null, source: null, segment: null, campaign: null, eventId: null };
    const expected = each.id.startsWith('old') ? { ...each, ...gone } : each;
    const found = await findOrder(own, each.id);
    assert.deepEqual(found && decodeOrder(encodeOrder(found)), decodeOrder(encodeOrder(expected)), each.id);
  }
  assert.equal(await eraseUnpaidOrders(own, 500), 0, 'once');
});

test('what a buyer wrote stays if the order is paid while others are erased', async () => {
  const own = await openTestStore();
  await commit(own, ...insertOrder(order('a', { email: 'a@example.com', open: false, status: 'expired' })));
  const paid = { txid: 'ab'.repeat(32), vout: 0, sat: 1n, confirmations: 1, atMs: null };
  let reads = 0;
  const late: Store = {
    ...own,
    scan: (space, range) => own.scan(space, range),
    commit: (operations) => own.commit(operations),
    get: async (space, key) => {
      reads += 1;
      if (reads === 1) {
        const pay = (from: OrderRecord) => Promise.resolve({ to: { ...from, outputs: [paid] } as BtcOrder });
        assert.equal((await changeOrder(own, 'a', pay)).kind, 'changed');
      }
      return own.get(space, key);
    },
  };
  await eraseUnpaidOrders(late, 500);
  assert.equal((await findOrder(own, 'a'))?.email, 'a@example.com');
});

test('orders of every format are read, and written in the first format that can hold them', () => {
  const orderedBy = Buffer.alloc(16, 7);
  const plain = order('plain');
  const all = [
    plain,
    { ...plain, createdHeight: 9 },
    { ...plain, earlier: ['a:0'] },
    { ...plain, orderedBy },
    { ...plain, seenHeight: 9 },
    byCard('plain'),
    byCard('disputed', { disputes: ['dp_1', 'dp_2'] }),
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
        seenHeight: orNull(9),
      });
    }
    case 1: {
      const status = dice.pick(['pending', 'settled', 'expired'] as const);
      return overLightning(id, { ...common, network, status, bolt11: name(), paidSat: amount() });
    }
    default: {
      const statuses = ['open', 'paid', 'revealed', 'expired', 'failed', 'refunded', 'disputed'] as const;
      const money = { cents: amount(), paidCents: amount(), refundedCents: amount(), intent: orNull(name()) };
      const disputes = dice.pick([[], ['dp_1'], ['dp_1', name()]]);
      const status = dice.pick([...statuses, 'revoked'] as const);
      return byCard(id, { ...common, ...money, disputes, status });
    }
  }
}

test('ten thousand orders are written in the bytes they always had, and read as they were', () => {
  const dice = new Dice(17);
  for (let count = 0; count < 10_000; count += 1) {
    const each = randomOrder(dice);
    const bytes = Buffer.from(encodeOrder(each));
    assert.deepEqual(bytes, orderBytes(each));
    // A lone surrogate has no UTF-8: it is stored as an escape.
    assert.deepEqual(decodeOrder(bytes), each);
  }
});

test('orders of all rails have thirteen statuses, each of which is listed once', () => {
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
    [damaged(order('a'), '"paid":0', '"paid":1'), /An order record of btc has a paid\)\.$/],
    [damaged(order('a'), '"cents":null', '"cents":1'), /has a cents\)\.$/],
    [damaged(order('a'), '"address_index":1', '"address_index":null'), /has no address index\)\.$/],
    [damaged(order('a'), '"network":"regtest"', '"network":null'), /has no network\)\.$/],
    [damaged(order('a'), '"status":"pending"', '"status":"settled"'), /of btc has the status settled\)\.$/],
    [damaged(overLightning('a'), '"network":"regtest"', '"network":null'), /has no network\)\.$/],
    [damaged(overLightning('a'), '"reference":"lnbcrt1"', '"reference":null'), /has no invoice\)\.$/],
    [damaged(overLightning('a'), '"outputs":[]', '"outputs":[["a",0,1,2,null]]'), /has a outputs\)\.$/],
    [damaged(byCard('a'), '"cents":3300', '"cents":null'), /Order a has no price in cents\)\.$/],
    [damaged(byCard('a', { disputes: ['b'] }), '[["b"]]', '[[1]]'), /has a dispute without a name\)\.$/],
    [damaged(byCard('a'), '"address_index":null', '"address_index":0'), /has a addressIndex\)\.$/],
  ] as const) {
    assert.throws(() => decodeOrder(record), UnreadableRecord);
    assert.throws(() => decodeOrder(record), reason);
  }
});

describe('orders', () => {
  test('that are partly paid count as unpaid until they are paid or end', async () => {
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

  test('of one rail are apart from those of another, and only as many are counted as asked for', async () => {
    await insert(...['l1', 'l2', 'l3'].map((id) => overLightning(id)), byCard('k1'));
    assert.deepEqual(
      [await unpaid('lightning'), await unpaid('lightning', 2), await unpaid('card')],
      [3, 2, 0],
    );
    assert.deepEqual([await open('lightning'), await open('card')], [['l1', 'l2', 'l3'], ['k1']]);
  });

  test('have unique ids and places', async () => {
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
    const longest = 'i'.repeat(200);
    await insert(
      order(longest, { place: 'p'.repeat(200) }),
      order('i'.repeat(201), { place: 'i'.repeat(201) }),
    );
    assert.equal((await findOrder(store, longest))?.place, 'p'.repeat(200));
    assert.equal((await findOrderAt(store, 'btc', 'p'.repeat(200)))?.id, longest);
    for (const name of ['', 'i'.repeat(201), 'é'.repeat(101), 'i'.repeat(1e6)]) {
      assert.equal(await findOrder(store, name), undefined);
      assert.equal(await findOrderAt(store, 'btc', name), undefined);
    }
  });
});

describe('an order', () => {
  test('is found by its id, or by its session at Stripe', async () => {
    const own = await openTestStore();
    for (const each of [byCard('one', { place: 'cs_1' }), order('two', { place: 'cs_2' }), order('cs_3')]) {
      await commit(own, ...insertOrder(each));
    }
    const named = async (name: string) => (await findOrderNamed(own, name))?.id;
    assert.deepEqual(
      [await named('one'), await named('cs_1'), await named('two'), await named('cs_2'), await named('cs_3')],
      ['one', 'one', 'two', undefined, undefined],
    );
  });

  test('is counted for the address that ordered it as long as it is open and unconfirmed', async () => {
    const own = await openTestStore();
    const [address, other] = [Buffer.alloc(16, 0xab), Buffer.alloc(16, 0xac)];
    const by = (orderedBy: Buffer | null, given: Partial<BtcOrder> = {}) => ({ ...given, orderedBy });
    for (const each of [
      order('a', by(address)),
      order('b', by(address, { status: 'underpaid' })),
      order('c', by(address, { status: 'seen' })),
      order('h', by(address, { status: 'confirmed' })),
      order('d', by(address, { status: 'expired', open: false })),
      order('e', by(other)),
      order('f', by(null)),
      overLightning('g'),
    ]) {
      await commit(own, ...insertOrder(each));
    }
    const unconfirmedBy = async (orderedBy: Buffer, most = 9) =>
      (await unconfirmedOrdersBy(own, orderedBy, most)).map(({ id }) => id);
    assert.deepEqual(
      [await unconfirmedBy(address), await unconfirmedBy(address, 1)],
      [['a', 'b', 'c'], ['a']],
    );
    assert.deepEqual([await unconfirmedBy(other), await unconfirmedBy(Buffer.alloc(16))], [['e'], []]);
    assert.equal(await countUnpaid(own, 'btc', 9), 4);
    assert.equal((await allOpen(own, 'btc')).length, 6);
    const marks = (await own.scan('openOrders', { limit: 99 })).map(({ key }) => Buffer.from(key).toString());
    assert.deepEqual(
      marks.filter((mark) => mark.startsWith('unpaid-by ')),
      ['ab:a', 'ab:b', 'ab:c', 'ac:e'].map(
        (mark) => `unpaid-by ${mark.slice(0, 2).repeat(16)}${mark.slice(2)}`,
      ),
      'the marks that every version makes',
    );
  });

  test('that is gone, or on another rail, is not found by entries that still point to it', async () => {
    const own = await openTestStore();
    await commit(own, ...insertOrder(order('a')));
    const lead = (space: 'orderPlaces' | 'openOrders', key: string, id: string): Operation => {
      return { kind: 'insert', space, key: Buffer.from(key), value: Buffer.from(id) };
    };
    const orderedBy = Buffer.alloc(16, 1);
    await commit(
      own,
      lead('orderPlaces', 'card:place', 'a'),
      lead('openOrders', 'card:a', 'a'),
      lead('openOrders', 'btc:gone', 'gone'),
      lead('openOrders', `unpaid-by ${orderedBy.toString('hex')}:gone`, 'gone'),
    );
    assert.equal(await findOrderAt(own, 'card', 'place'), undefined);
    assert.deepEqual(await allOpen(own, 'card'), []);
    assert.deepEqual(
      (await allOpen(own, 'btc')).map((each) => each.id),
      ['a'],
    );
    assert.deepEqual(await unconfirmedOrdersBy(own, orderedBy, 9), []);
  });

  test('is changed under a lease only while that is held', async () => {
    const own = await openTestStore();
    await commit(own, ...insertOrder(order('a')));
    const held = await acquireLease({ store: own, clock: systemClock }, 'orders', 'test', 60_000);
    assert.ok(held.kind === 'held');
    const fence = { lease: 'orders', token: held.lease.record.token };
    const late = (to: boolean, token: number) =>
      changeOrder(own, 'a', (from) => Promise.resolve({ to: { ...from, late: to } }), { ...fence, token });
    assert.equal((await late(true, fence.token)).kind, 'changed');
    const lost = { name: 'StoreUnavailable', message: 'another has the lease by now' };
    await assert.rejects(late(false, fence.token + 1), lost);
    assert.equal((await findOrder(own, 'a'))?.late, true);
  });

  test('is not changed if an operation of the caller conflicts, and otherwise as it is now', async () => {
    const own = await openTestStore();
    await commit(own, ...insertOrder(order('a')));
    const mark = (name: string): Operation => {
      return { kind: 'insert', space: 'cardMarks', key: Buffer.from(name), value: Buffer.from('x') };
    };
    const seen: boolean[] = [];
    /** Another process changes the order before the first try is committed. */
    const changed = (also?: readonly Operation[]) => {
      seen.length = 0;
      return changeOrder(own, 'a', async (from) => {
        seen.push(from.late);
        if (seen.length === 1) {
          const meanwhile = { ...from, late: !from.late } as OrderRecord;
          assert.equal(
            (await changeOrder(own, 'a', () => Promise.resolve({ to: meanwhile }))).kind,
            'changed',
          );
        }
        return { to: { ...from, termDays: from.termDays + 1 }, also };
      });
    };
    assert.equal((await changed()).kind, 'changed');
    assert.deepEqual(seen, [false, true]);
    assert.equal((await changed([mark('one'), mark('two')])).kind, 'changed');
    for (const also of [
      [mark('one'), mark('three')],
      [mark('three'), mark('two')],
    ]) {
      const refused = await changed(also);
      assert.ok(refused.kind === 'refused');
      assert.deepEqual([refused.order.id, refused.order.termDays, seen.length], ['a', 32, 2]);
    }
    assert.equal(await own.get('cardMarks', Buffer.from('three')), undefined);
    assert.deepEqual(await changeOrder(own, 'b', () => assert.fail()), { kind: 'absent' });
    const before = (await findOrder(own, 'a')) ?? assert.fail('there is no order');
    const left = await changeOrder(own, 'a', () => Promise.resolve(undefined));
    assert.deepEqual(left, { kind: 'unchanged', order: before });
    const to = { ...before, termDays: 7 };
    assert.deepEqual(await changeOrder(own, 'a', () => Promise.resolve({ to })), {
      kind: 'changed',
      order: to,
    });
  });

  test('has its money in the ledger, in satoshi or in cents', async () => {
    const own = await openTestStore();
    await commit(own, ...insertOrder(order('a')), ...insertOrder(byCard('b')));
    const change = (id: string, ledger: LedgerEntry) =>
      changeOrder(own, id, (from) => Promise.resolve({ to: { ...from, late: true }, ledger }));
    const entries = [
      { orderId: 'a', unit: 'sat', change: 50_000, status: 'seen', atMs: 1 },
      { orderId: 'b', unit: 'cent', change: -3_300, status: 'refunded', atMs: 2 },
    ] as const;
    for (const entry of entries) assert.equal((await change(entry.orderId, entry)).kind, 'changed');
    const ledger = await own.read('ledger', { after: 0, limit: 9 });
    assert.deepEqual(
      ledger.map(({ value }) => decodeLedger(value)),
      entries,
    );
  });

  test('loses its email when that is forgotten, and nothing else', async () => {
    const own = await openTestStore();
    const emails = { a: 'ada@example.com', b: 'ben@example.com', c: null, d: 'ada@example.com' };
    for (const [id, email] of Object.entries(emails)) await commit(own, ...insertOrder(order(id, { email })));
    const isAda = (email: string): boolean => email.startsWith('ada@');
    assert.equal(await forgetOrderEmails(own, isAda), 2);
    assert.equal(await forgetOrderEmails(own, isAda), 0);
    for (const [id, email] of Object.entries(emails)) {
      const left = email === null || isAda(email) ? null : email;
      const found = (await findOrder(own, id)) ?? assert.fail('there is no order');
      assert.deepEqual(found, decodeOrder(encodeOrder(order(id, { email: left }))));
    }
  });
});

test('an order announces once that it was paid, in the unit of its first key', async () => {
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
