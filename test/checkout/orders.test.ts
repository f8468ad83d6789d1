/** Orders: every state and event of the documented table, and properties over random histories. */
import type { OrderRecord } from '../../src/store/tables/order.js';
import { receivedSat, type BtcOrder } from '../../src/store/tables/bitcoinOrder.js';
import type { CardOrder } from '../../src/store/tables/cardOrder.js';
import type { LightningOrder } from '../../src/store/tables/lightningOrder.js';
import type { Output } from '../../src/store/tables/orderRow.js';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  amountDueSat,
  confirmations,
  deepSat,
  isWatched,
  watchedUntilMs,
  type FoundOutput,
} from '../../src/store/tables/bitcoinOrder.js';
import { attended, isDue, transition, type OrderEvent } from '../../src/checkout/order/orders.js';

const price = 50_000n;
const end = 1_000;
const noKey = { key: 'none', keyId: null, keyGeneration: 0, seed: null } as const;
const fresh = {
  ...{ id: 'a'.repeat(26), tier: 'developer', sat: price, rateCents: null, termDays: 30, createdAtMs: 0 },
  ...{ expiresAtMs: end, email: null, source: null, segment: null, campaign: null, eventId: null },
  ...{ place: 'a place', late: false, ...noKey },
  ...{ revealedAtMs: null, secretId: 'a secret', claimHash: new Uint8Array(32), claimed: false, open: true },
} as const;
const tip = 100;
const btc: BtcOrder = {
  ...{ ...fresh, rail: 'btc', status: 'pending', network: 'regtest', addressIndex: 0, createdHeight: tip },
  ...{ confirmationsRequired: 2, outputs: [], earlier: [], orderedBy: null, seenHeight: null },
};
const lightning: LightningOrder = {
  ...{ ...fresh, rail: 'lightning', status: 'pending', network: 'regtest', bolt11: 'lnbcrt1', paidSat: 0n },
};
const card: CardOrder = {
  ...{ ...fresh, rail: 'card', status: 'open', cents: price, intent: null, paidCents: 0n, refundedCents: 0n },
  disputes: [],
};

function output(name: string, sat: bigint, depth: number, atMs: number | null = null): Output {
  return { txid: name.repeat(64).slice(0, 64), vout: 0, sat, confirmations: depth, atMs };
}

/** Runs a history; each step is an event and its time. Gives the order and the effects in their order. */
function run(order: OrderRecord, ...steps: readonly (readonly [OrderEvent, number?])[]) {
  const effects: string[] = [];
  let at: OrderRecord = order;
  for (const [event, nowMs = 0] of steps) {
    const result = transition(at, event, nowMs);
    if (result.effect !== undefined) effects.push(result.effect.kind);
    at = result.order;
  }
  return { order: at, effects };
}

/** What a node reports: an output is in the block after the order, unless a height is given. */
const found = (...all: (Output & { readonly height?: number | null })[]): FoundOutput[] =>
  all.map((each) => ({ height: each.confirmations === 0 ? null : tip + 1, ...each }));
const outputs = (...all: (Output & { readonly height?: number | null })[]): OrderEvent => {
  return { kind: 'outputs', outputs: found(...all) };
};
const time: OrderEvent = { kind: 'time' };

describe('on-chain', () => {
  const expect = (
    steps: readonly (readonly [OrderEvent, number?])[],
    status: string,
    effects: readonly string[],
    late = false,
  ): BtcOrder => {
    const result = run(btc, ...steps);
    assert.equal(result.order.status, status);
    assert.deepEqual(result.effects, effects);
    assert.equal(result.order.late, late);
    assert.equal(result.order.rail, 'btc');
    return result.order;
  };

  test('seen, confirmed at the required depth, minted once', () => {
    expect([[outputs(output('a', price, 0))]], 'seen', []);
    expect([[outputs(output('a', price, 1))]], 'seen', []);
    const steps = [0, 1, 2, 3].map((depth) => [outputs(output('a', price, depth))] as const);
    const order = expect(steps, 'confirmed', ['mint']);
    assert.equal(confirmations(order), 3);
  });

  test('underpaid, topped up; each output at its own depth', () => {
    expect([[outputs(output('a', 1n, 9))]], 'underpaid', []);
    const both = [output('a', price - 1n, 9), output('b', 1n, 1)];
    expect([[outputs(...both)]], 'seen', []);
    const order = expect(
      [[outputs(...both)], [outputs(both[0] ?? output('a', 0n, 0), output('b', 1n, 2))]],
      'confirmed',
      ['mint'],
    );
    assert.equal(confirmations(order), 2);
  });

  test('an overpaid order is paid, and its excess is known', () => {
    const order = expect([[outputs(output('a', price, 2), output('b', 7n, 0))]], 'confirmed', ['mint']);
    assert.equal(receivedSat(order) - price, 7n);
    assert.equal(deepSat(order), price);
    assert.equal(confirmations(order), 2);
  });

  test('an output that is reported twice counts once, at the lower of two depths', () => {
    const half = output('a', price / 2n, 200);
    const other = { ...half, vout: 1 };
    const twice = expect([[outputs(half, other, half)]], 'confirmed', ['mint']);
    assert.deepEqual(twice.outputs, [half, other]);
    assert.equal(expect([[outputs(half, half)]], 'underpaid', []).outputs.length, 1);
    const whole = output('a', price, 2);
    expect([[outputs(whole, { ...whole, confirmations: 1 })]], 'seen', []);
    expect([[outputs({ ...whole, confirmations: 1 }, whole)]], 'seen', []);
  });

  test('is as deep as the deepest outputs that cover the price, whatever else came', () => {
    const order = expect([[outputs(output('a', price, 2), output('b', price, 9))]], 'confirmed', ['mint']);
    assert.equal(confirmations(order), 9);
    const halves = [output('a', price / 2n, 3), output('b', price, 1), output('c', price / 2n, 8)];
    assert.equal(confirmations(expect([[outputs(...halves)]], 'confirmed', ['mint'])), 3);
  });

  test('keeps its outputs sorted, however the node reports them', () => {
    const [a, b, c] = [output('a', 1n, 0), output('b', 2n, 0), output('c', 3n, 0)];
    const second = { ...a, vout: 1 };
    for (const told of [
      [c, second, b, a],
      [b, a, second, c],
      [a, second, b, c],
    ]) {
      assert.deepEqual(expect([[outputs(...told)]], 'underpaid', []).outputs, [a, second, b, c]);
    }
  });

  test('requests what is missing; once paid, its request is for the full price again', () => {
    assert.equal(amountDueSat(price, 0n), price);
    assert.equal(amountDueSat(price, price - 1n), 1n);
    assert.equal(amountDueSat(price, price), price);
    assert.equal(amountDueSat(price, price + 1n), price);
  });

  test('expires only while no payment covers it, and late money counts', () => {
    expect([[time, end - 1]], 'pending', []);
    expect([[time, end]], 'expired', []);
    expect([[outputs(output('a', 1n, 0))], [time, end]], 'expired', []);
    expect([[outputs(output('a', price, 0))], [time, end * 9]], 'seen', []);
    expect(
      [
        [time, end],
        [outputs(output('a', price, 0)), end + 1],
      ],
      'seen',
      [],
      true,
    );
    expect(
      [
        [time, end],
        [outputs(output('a', price, 2)), end + 1],
      ],
      'confirmed',
      ['mint'],
      true,
    );
  });

  test('is not late if the network had the payment in time but the node was asked later', () => {
    expect(
      [
        [time, end],
        [outputs(output('a', price, 2, end - 1)), end + 9],
      ],
      'confirmed',
      ['mint'],
    );
    const topUp = [output('a', price - 1n, 5, end - 1), output('b', 1n, 5, end)];
    expect(
      [
        [time, end],
        [outputs(...topUp), end + 9],
      ],
      'confirmed',
      ['mint'],
      true,
    );
  });

  test('a payment that is dropped or replaced moves the order back', () => {
    expect([[outputs(output('a', price, 0))], [outputs()]], 'pending', []);
    expect([[outputs(output('a', price, 0))], [outputs(), end]], 'expired', []);
    expect([[outputs(output('a', price, 0))], [outputs(output('b', 5n, 0))]], 'underpaid', []);
  });

  test('a reorganisation below the depth suspends the key until it is confirmed again', () => {
    const [deep, shallow] = [outputs(output('a', price, 2)), outputs(output('a', price, 1))];
    expect([[deep], [shallow]], 'seen', ['mint', 'suspend']);
    expect([[deep], [shallow], [deep]], 'confirmed', ['mint', 'suspend', 'resume']);
    expect(
      [[deep], [outputs()], [time, end], [deep, end + 1]],
      'confirmed',
      ['mint', 'suspend', 'resume'],
      true,
    );
  });

  test('a payment in a block up to the tip at the order’s creation does not count', () => {
    const old = { ...output('a', price, 9), height: tip };
    const order = expect([[outputs(old)]], 'pending', []);
    assert.deepEqual([order.outputs, order.earlier], [[], [`${old.txid}:0`]]);
    expect([[outputs({ ...old, height: tip + 1 })]], 'confirmed', ['mint']);
    expect([[outputs(old, output('b', price - 1n, 2))]], 'underpaid', []);
    expect([[outputs(old)], [time, end]], 'expired', []);
    expect([[outputs(old, output('b', price, 2))]], 'confirmed', ['mint']);
  });

  test('a reorganisation does not make an old payment new, nor a new one old', () => {
    const old = { ...output('a', price, 9), height: tip };
    const moved = { ...old, height: tip + 1, confirmations: 5 };
    expect([[outputs(old)], [outputs()], [outputs(moved)]], 'pending', []);
    expect([[outputs(old)], [outputs({ ...old, height: null, confirmations: 0 })]], 'pending', []);
    const seen = output('b', price, 0);
    const lower = { ...seen, height: tip - 1, confirmations: 2 };
    expect([[outputs(seen)], [outputs(lower)]], 'confirmed', ['mint']);
  });

  test('for an order without a height the time of the block decides, with two hours of tolerance', () => {
    const before: BtcOrder = {
      ...btc,
      createdHeight: null,
      createdAtMs: 20_000_000,
      expiresAtMs: 30_000_000,
    };
    const at = (atMs: number | null): string =>
      run(before, [outputs(output('a', price, 2, atMs)), 21_000_000]).order.status;
    const twoHoursMs = 7_200_000;
    assert.equal(at(before.createdAtMs - twoHoursMs - 1), 'pending');
    assert.equal(at(before.createdAtMs - twoHoursMs), 'confirmed');
    assert.equal(at(null), 'confirmed');
  });

  test('an expired order is looked up after 15 s, then after twice as long each time, up to 6 h', () => {
    const order = { status: 'expired', key: 'none', expiresAtMs: 1_000_000 } as const;
    const looked: number[] = [];
    const roundMs = 15_000;
    for (let nowMs = order.expiresAtMs; nowMs < order.expiresAtMs + 30 * 86_400_000; nowMs += roundMs) {
      if (isDue(order, nowMs - roundMs, nowMs)) looked.push((nowMs - order.expiresAtMs) / 1_000);
    }
    assert.deepEqual(looked.slice(0, 6), [15, 45, 105, 225, 465, 945]);
    const gaps = looked.slice(1).map((at, index) => at - (looked[index] ?? 0));
    assert.ok(gaps.every((gap) => gap <= 21_600));
    assert.equal(gaps.at(-1), 21_600);
    assert.ok(looked.length > 120 && looked.length < 140, `${looked.length}`);
    // Rounds that come late miss none; before the first look-up none comes too early.
    assert.ok(isDue(order, order.expiresAtMs + 15_000, order.expiresAtMs + 45_000));
    assert.ok(isDue(order, -Infinity, order.expiresAtMs + 15_000));
    assert.ok(!isDue(order, -Infinity, order.expiresAtMs + 14_999));
    assert.ok(isDue(order, order.expiresAtMs + 45_000, order.expiresAtMs + 86_400_000));
    assert.ok(!isDue(order, order.expiresAtMs + 45_000, order.expiresAtMs + 104_999));
    assert.ok(!isDue(order, order.expiresAtMs + 45_000, order.expiresAtMs + 45_000));
    for (const status of ['pending', 'underpaid', 'seen', 'confirmed']) {
      assert.ok(isDue({ ...order, status }, order.expiresAtMs + 46_000, order.expiresAtMs + 46_001));
    }
    // Its payment was in a block that was removed.
    assert.ok(isDue({ ...order, key: 'suspended' }, order.expiresAtMs + 46_000, order.expiresAtMs + 46_001));
  });

  test('an expired order is looked up at once after the clock was set back, not when it catches up', () => {
    const order = { status: 'expired', key: 'none', expiresAtMs: 1_000_000 } as const;
    const dayMs = 86_400_000;
    assert.ok(isDue(order, order.expiresAtMs + dayMs, order.expiresAtMs + 20_000));
    assert.ok(isDue(order, order.expiresAtMs + 20_001, order.expiresAtMs + 20_000));
    assert.ok(!isDue(order, order.expiresAtMs + 20_000, order.expiresAtMs + 20_000));
  });

  test('has the height of the chain at which its payments were stored, and no other change stores it', () => {
    const seen = (height: number, depth: number) => ({ ...output('a', price, depth), height });
    const at = (order: BtcOrder, ...told: Parameters<typeof outputs>): BtcOrder =>
      run(order, [outputs(...told)]).order as BtcOrder;
    const first = at(btc, seen(tip + 5, 2), output('b', 1n, 0));
    assert.equal(first.seenHeight, tip + 6);
    assert.equal(
      at(first, output('b', 1n, 0), seen(tip + 7, 2)),
      first,
      'the same depth after another block',
    );
    assert.equal(at(first, seen(tip + 5, 3)).seenHeight, tip + 7);
    assert.equal(at(first, output('a', price, 0)).seenHeight, null);
    assert.equal(at(first).seenHeight, null);
    assert.equal((run(first, [time]).order as BtcOrder).seenHeight, tip + 6);
    assert.equal(
      at(btc, seen(tip, 2)).seenHeight,
      null,
      'what came before the order is none of its payments',
    );
  });

  test('is watched as long as anything can happen to it', () => {
    const at = (steps: readonly (readonly [OrderEvent, number?])[]): BtcOrder =>
      run(btc, ...steps).order as BtcOrder;
    assert.ok(isWatched(btc, 0));
    assert.ok(isWatched(at([[outputs(output('a', price, 5))]]), 0));
    assert.ok(!isWatched(at([[outputs(output('a', price, 6))]]), 0));
    const month = 30 * 86_400_000;
    assert.ok(isWatched(at([[time, end]]), end + month - 1));
    assert.ok(!isWatched(at([[time, end]]), end + month));
    assert.equal(watchedUntilMs(btc), end + month);
  });
});

describe('Lightning', () => {
  const invoice = (
    state: 'open' | 'accepted' | 'settled' | 'canceled',
    paidSat = 0n,
    settledAtMs = 5,
  ): OrderEvent => ({
    kind: 'invoice',
    state,
    paidSat,
    settledAtMs,
  });

  test('only LND ends or settles it', () => {
    assert.equal(run(lightning, [time, end * 9]).order.status, 'pending');
    assert.equal(run(lightning, [invoice('open')], [invoice('accepted')]).order.status, 'pending');
    assert.equal(run(lightning, [invoice('canceled')]).order.status, 'expired');
    const settled = run(
      lightning,
      [invoice('settled', price)],
      [invoice('settled', price)],
      [invoice('canceled')],
    );
    assert.deepEqual(
      [settled.order.status, settled.order.late, settled.effects],
      ['settled', false, ['mint']],
    );
  });

  test('settled after its end is settled, and late', () => {
    const late = run(lightning, [invoice('canceled')], [invoice('settled', price)]);
    assert.deepEqual([late.order.status, late.order.late, late.effects], ['settled', true, ['mint']]);
    assert.equal(run(lightning, [invoice('settled', price, end)]).order.late, true);
  });

  test('an amount below the price mints nothing', () => {
    const short = run(lightning, [invoice('settled', price - 1n)]);
    assert.deepEqual([short.order.status, short.effects], ['pending', []]);
  });
});

describe('card', () => {
  const paid: OrderEvent = { kind: 'card paid', cents: price };
  const refund = (totalCents: bigint): OrderEvent => ({ kind: 'card refunded', totalCents });
  const [disputed, won, lost] = (['card disputed', 'card dispute won', 'card dispute lost'] as const).map(
    (kind): OrderEvent => ({ kind }),
  );
  assert.ok(disputed !== undefined && won !== undefined && lost !== undefined);

  for (const [name, events, status, effects] of [
    ['paid once', [paid, paid], 'paid', ['mint']],
    ['pending, then paid', [{ kind: 'card pending' }, paid], 'paid', ['mint']],
    ['pending, then failed', [{ kind: 'card pending' }, { kind: 'card failed' }], 'failed', []],
    ['paid after it failed', [{ kind: 'card failed' }, paid], 'paid', ['mint']],
    ['paid after it expired', [{ kind: 'card expired' }, paid], 'paid', ['mint']],
    ['expired after it was paid', [paid, { kind: 'card expired' }], 'paid', ['mint']],
    ['too little', [{ kind: 'card paid', cents: price - 1n }], 'open', []],
    ['revealed', [paid, { kind: 'reveal' }, { kind: 'reveal' }], 'revealed', ['mint']],
    ['revealed before it is paid', [{ kind: 'reveal' }], 'open', []],
    ['refunded in part', [paid, refund(1n)], 'paid', ['mint']],
    ['refunded', [paid, refund(1n), refund(price)], 'refunded', ['mint', 'revoke']],
    ['refunded twice', [paid, refund(price), refund(price)], 'refunded', ['mint', 'revoke']],
    ['refunded before it is paid', [refund(price)], 'open', []],
    ['disputed', [paid, disputed], 'disputed', ['mint', 'suspend']],
    ['disputed and won', [paid, disputed, won], 'paid', ['mint', 'suspend', 'resume']],
    [
      'revealed, disputed and won',
      [paid, { kind: 'reveal' }, disputed, won],
      'revealed',
      ['mint', 'suspend', 'resume'],
    ],
    ['disputed and lost', [paid, disputed, lost, paid], 'revoked', ['mint', 'suspend', 'revoke']],
    [
      'disputed and refunded',
      [paid, disputed, refund(price), won],
      'refunded',
      ['mint', 'suspend', 'revoke'],
    ],
    [
      'not revealed while disputed',
      [paid, disputed, { kind: 'reveal' }, won],
      'paid',
      ['mint', 'suspend', 'resume'],
    ],
  ] as const) {
    test(name, () => {
      const result = run(card, ...events.map((event) => [event] as const));
      assert.deepEqual([result.order.status, result.effects], [status, effects]);
      const keys = { mint: 'active', suspend: 'suspended', resume: 'active', revoke: 'revoked' } as const;
      const last = effects.at(-1);
      assert.equal(
        result.order.key,
        last === undefined ? 'none' : keys[last],
        'the key is as the effects say',
      );
    });
  }
});

describe('a repeated report of the network', () => {
  const byName = (left: Output, right: Output): number =>
    `${left.txid} ${left.vout}` < `${right.txid} ${right.vout}` ? -1 : 1;
  const [one, other] = [output('a', 7n, 1), { ...output('a', 8n, 2), vout: 1 }];
  const before = run(btc, [outputs(one, other)]).order as BtcOrder;

  test('leaves the same object, so that nothing is written', () => {
    for (const same of [outputs(one, other), outputs(other, one), outputs(one, other, one), time]) {
      assert.equal(transition(before, same, 0).order, before);
    }
    const old = { ...output('b', 9n, 5), height: tip };
    const { order } = run(btc, [outputs(old)]);
    assert.equal(transition(order, outputs(old), 0).order, order);
    const settled: OrderEvent = { kind: 'invoice', state: 'settled', paidSat: price, settledAtMs: 5 };
    const paid = run(lightning, [settled]).order;
    assert.equal(transition(paid, settled, 0).order, paid);
    const expired = run(lightning, [{ ...settled, state: 'canceled' }]).order;
    assert.equal(transition(expired, { ...settled, state: 'canceled' }, 0).order, expired);
  });

  test('changes the order if one thing about one output differs', () => {
    for (const told of [
      [one],
      [one, other, output('c', 1n, 0)],
      [output('c', 7n, 1), other],
      [output('0', 7n, 1), other],
      [one, { ...other, vout: 2 }],
      [one, { ...other, sat: 9n }],
      [{ ...one, sat: 6n }, other],
      [one, { ...other, confirmations: 3 }],
      [{ ...one, confirmations: 0 }, other],
    ]) {
      const { order } = transition(before, outputs(...told), 0);
      assert.ok(order.rail === 'btc' && order !== before);
      assert.deepEqual(order.outputs, told.toSorted(byName));
    }
  });

  test('of another rail changes nothing', () => {
    const invoice: OrderEvent = { kind: 'invoice', state: 'settled', paidSat: price, settledAtMs: 5 };
    const card: OrderEvent = { kind: 'card paid', cents: price };
    for (const event of [invoice, card]) {
      // Paid and deep enough, it would be confirmed by any event that it heeds.
      const order: BtcOrder = { ...btc, outputs: [output('a', price, 9)] };
      assert.equal(transition(order, event, 0).order, order);
    }
    const open: LightningOrder = { ...lightning, paidSat: price };
    for (const event of [outputs(output('a', price, 9)), card, time]) {
      assert.equal(transition(open, event, 0).order, open);
    }
  });

  test('keeps the names of earlier outputs sorted, whichever came first', () => {
    const old = ['c', 'a', 'b'].map((name) => ({ ...output(name, 1n, 5), height: tip }));
    const [first, ...more] = old;
    assert.ok(first !== undefined);
    const { order } = run(btc, [outputs(first)], [outputs(...more)]);
    assert.ok(order.rail === 'btc');
    assert.deepEqual(order.earlier, old.map(({ txid }) => `${txid}:0`).sort());
  });
});

describe('late', () => {
  test('means covered after the end, in the order of times and not of names', () => {
    const late = (...all: Output[]): boolean => run(btc, [outputs(...all), end + 9]).order.late;
    const [early, after] = [end - 2, end + 1];
    // The first alone covers it, whichever name it has.
    assert.equal(late(output('b', price, 2, early), output('a', price, 2, after)), false);
    assert.equal(late(output('a', price, 2, early), output('b', price, 2, after)), false);
    assert.equal(late(output('b', price - 1n, 2, early), output('a', price, 2, after)), true);
    assert.equal(late(output('a', price - 1n, 2, early), output('b', 1n, 2, after)), true);
    // A time that has not come yet is not believed.
    assert.equal(run(btc, [outputs(output('a', price, 2, end + 5)), end - 1]).order.late, false);
  });

  test('stays as it was decided when the price was first covered', () => {
    const seen = run(btc, [outputs(output('a', price, 0)), end - 1]).order;
    assert.equal(run(seen, [outputs(output('a', price, 2, end + 5)), end + 9]).order.late, false);
    const tardy = run(btc, [time, end], [outputs(output('a', price, 0)), end + 1]).order;
    assert.equal(run(tardy, [outputs(output('a', price, 2, end - 5)), end + 9]).order.late, true);
    assert.equal(run(tardy, [outputs(), end + 9]).order.late, true);
  });

  test('does not apply to an invoice without a settlement time, or one that only expired', () => {
    const settled = { kind: 'invoice', state: 'settled', paidSat: price } as const;
    const paid = run({ ...lightning, expiresAtMs: 1 }, [{ ...settled, settledAtMs: null }]);
    assert.deepEqual([paid.order.late, paid.order.status], [false, 'settled']);
    assert.equal(run({ ...lightning, expiresAtMs: 1 }, [{ ...settled, settledAtMs: 1 }]).order.late, true);
    assert.equal(run(lightning, [{ ...settled, state: 'canceled', settledAtMs: 1 }]).order.late, false);
  });

  test('applies to a card payment after its session failed or ended', () => {
    const paid: OrderEvent = { kind: 'card paid', cents: price };
    assert.equal(run(card, [paid]).order.late, false);
    assert.equal(run(card, [{ kind: 'card failed' }], [paid]).order.late, true);
    assert.equal(run(card, [{ kind: 'card expired' }], [paid]).order.late, true);
  });
});

describe('an invoice', () => {
  test('that is accepted is not settled, whatever it carries; a settled one is not canceled', () => {
    const event = { kind: 'invoice', paidSat: price, settledAtMs: 5 } as const;
    for (const state of ['open', 'accepted', 'canceled'] as const) {
      const { order, effects } = run(lightning, [{ ...event, state }]);
      assert.deepEqual([order.key, effects], ['none', []]);
    }
    const paid = run(lightning, [{ ...event, state: 'settled' }]).order;
    assert.ok(paid.rail === 'lightning');
    assert.deepEqual([paid.paidSat, paid.key], [price, 'active']);
    assert.equal(run(paid, [{ ...event, state: 'canceled' }]).order, paid);
  });
});

describe('a card order', () => {
  const paid = (more: object = {}): OrderEvent => ({ kind: 'card paid', cents: price, ...more });
  const asCard = (order: OrderRecord): CardOrder => (order.rail === 'card' ? order : assert.fail());

  test('gets its payment intent from the payment, and keeps one that it has', () => {
    const { order } = run(card, [paid({ intent: 'pi_1' })]);
    assert.equal(asCard(order).intent, 'pi_1');
    assert.equal(asCard(order).id, card.id);
    const known: CardOrder = { ...card, intent: 'pi_0' };
    for (const intent of [null, undefined]) {
      const event = paid(intent === null ? { intent } : {});
      assert.equal(asCard(run(known, [event]).order).intent, 'pi_0');
    }
    assert.equal(asCard(run(known, [paid({ intent: 'pi_0', cents: 1n })]).order), known);
  });

  test('accepts less than the price only as a discount', () => {
    const cents = price - 1n;
    assert.deepEqual(run(card, [paid({ cents })]).effects, []);
    assert.deepEqual(run(card, [paid({ cents, discounted: false })]).effects, []);
    const { order, effects } = run(card, [paid({ cents, discounted: true })]);
    assert.deepEqual([asCard(order).paidCents, effects], [cents, ['mint']]);
  });

  test('is refunded up to what was paid, and refund totals only grow', () => {
    const refund = (totalCents: bigint): OrderEvent => ({ kind: 'card refunded', totalCents });
    const bought = asCard(run(card, [paid()]).order);
    const part = asCard(transition(bought, refund(7n), 0).order);
    assert.deepEqual([part.refundedCents, part.status, part.key], [7n, 'paid', 'active']);
    for (const again of [7n, 6n, 0n]) assert.equal(transition(part, refund(again), 0).order, part);
    const all = asCard(transition(part, refund(price + 5n), 0).order);
    assert.deepEqual([all.refundedCents, all.status, all.key], [price, 'refunded', 'revoked']);
    const almost = asCard(transition(bought, refund(price - 1n), 0).order);
    assert.deepEqual([almost.refundedCents, almost.key], [price - 1n, 'active']);
    const disputed = transition(bought, { kind: 'card disputed' }, 0).order;
    assert.equal(asCard(transition(disputed, refund(price), 0).order).key, 'revoked');
  });

  test('that is not open neither fails nor expires', () => {
    for (const kind of ['card failed', 'card expired'] as const) {
      const over = run(card, [{ kind }]).order;
      assert.equal(over.status, kind === 'card failed' ? 'failed' : 'expired');
      for (const next of ['card failed', 'card expired'] as const) {
        assert.equal(run(over, [{ kind: next }]).order, over);
      }
    }
  });

  test('with several disputes has its key back once the last one is won', () => {
    const begun = (dispute: string): OrderEvent => ({ kind: 'card disputed', dispute });
    const won = (dispute: string): OrderEvent => ({ kind: 'card dispute won', dispute });
    const stateAfter = (...events: readonly OrderEvent[]) => {
      const { order, effects } = run(card, ...[paid(), ...events].map((each) => [each] as const));
      return [order.key, order.status, asCard(order).disputes, effects.slice(1)];
    };
    const [a, b, suspend, both] = ['dp_a', 'dp_b', ['suspend'], ['suspend', 'resume']];
    assert.deepEqual(stateAfter(begun(a)), ['suspended', 'disputed', [a], suspend]);
    assert.deepEqual(stateAfter(begun(a), begun(b)), ['suspended', 'disputed', [a, b], suspend]);
    assert.deepEqual(stateAfter(begun(a), begun(a)), ['suspended', 'disputed', [a], suspend]);
    const open = [
      [begun(a), begun(b), won(a)],
      [begun(b), begun(a), won(a)],
      // The beginning of a dispute may come after its end, and never counts then.
      [begun(b), won(a)],
      [begun(b), won('dp_c'), won(a)],
    ];
    for (const events of open) {
      assert.deepEqual(stateAfter(...events), ['suspended', 'disputed', [b], suspend]);
      assert.deepEqual(stateAfter(...events, won(b)), ['active', 'paid', [], both]);
      assert.deepEqual(stateAfter({ kind: 'reveal' }, ...events, won(b)), ['active', 'revealed', [], both]);
      const lost: OrderEvent = { kind: 'card dispute lost', dispute: b };
      assert.deepEqual(stateAfter(...events, lost), ['revoked', 'revoked', [], ['suspend', 'revoke']]);
      const refund: OrderEvent = { kind: 'card refunded', totalCents: price };
      assert.deepEqual(stateAfter(...events, refund), ['revoked', 'refunded', [], ['suspend', 'revoke']]);
      assert.deepEqual(stateAfter(...events, refund, begun('dp_d'))[2], []);
    }
    assert.deepEqual(run(card, [begun(a)]).order, card, 'nothing was paid');
  });

  test('whose dispute an earlier version noted without its id has its key back as before', () => {
    const noted = asCard(run(card, [paid()], [{ kind: 'card disputed' }]).order);
    assert.deepEqual([noted.status, noted.disputes], ['disputed', []]);
    const won = (dispute: string): OrderEvent => ({ kind: 'card dispute won', dispute });
    assert.equal(run(noted, [won('dp_a')]).order.key, 'active');
    const second = run(noted, [{ kind: 'card disputed', dispute: 'dp_b' }]).order;
    assert.equal(run(second, [won('dp_a')]).order.key, 'suspended');
    assert.equal(run(second, [won('dp_a')], [won('dp_b')]).order.key, 'active');
  });

  test('that loses a dispute has no key, even if the beginning of the dispute was never reported', () => {
    const lost: OrderEvent = { kind: 'card dispute lost' };
    const disputed: OrderEvent = { kind: 'card disputed' };
    const reveal: OrderEvent = { kind: 'reveal' };
    for (const events of [[paid()], [paid(), reveal], [paid(), disputed], [paid(), reveal, disputed]]) {
      const { order, effect } = transition(
        run(card, ...events.map((each) => [each] as const)).order,
        lost,
        0,
      );
      assert.deepEqual([order.status, order.key], ['revoked', 'revoked']);
      const reason = 'the payment was taken back after a dispute';
      assert.deepEqual(effect, { kind: 'revoke', reason });
    }
    for (const events of [[], [{ kind: 'card failed' } as const]]) {
      const order = run(card, ...events.map((each) => [each] as const)).order;
      assert.equal(transition(order, lost, 0).order, order);
    }
  });
});

test('a key that is suspended says why', () => {
  const paid = run(btc, [outputs(output('a', price, 2))]).order;
  const { effect } = transition(paid, outputs(output('a', price, 1)), 0);
  assert.deepEqual(effect, { kind: 'suspend', reason: 'the payment is no longer confirmed' });
});

test('an order has depth 0 while its price is not covered', () => {
  assert.equal(confirmations(btc), 0);
  assert.equal(confirmations({ ...btc, outputs: [output('a', price - 1n, 9)] }), 0);
});

describe('an order is looked after', () => {
  test('while only its network knows what happens to it', () => {
    const open = (order: OrderRecord, nowMs = 0): boolean => attended(order, nowMs).open;
    const month = 30 * 86_400_000;
    for (const shut of [false, true]) {
      const was = { open: !shut };
      const settled: LightningOrder = { ...lightning, ...was, status: 'settled' };
      assert.equal(open({ ...lightning, ...was }), true);
      assert.equal(open(settled), false);
      assert.equal(open({ ...settled, status: 'expired' }), false);
      assert.equal(open({ ...card, ...was }), false);
      const outputs = [output('a', price, 6)];
      for (const status of ['pending', 'seen', 'underpaid'] as const) {
        assert.equal(open({ ...btc, ...was, status, outputs }, end + month), true, status);
      }
      assert.equal(open({ ...btc, ...was, status: 'confirmed', outputs }), false);
      assert.equal(open({ ...btc, ...was, status: 'expired' }, end + month - 1), true);
      assert.equal(open({ ...btc, ...was, status: 'expired' }, end + month), false);
    }
  });

  test('and stays the same object if that does not change', () => {
    for (const order of [btc, lightning, { ...card, open: false }]) assert.equal(attended(order, 0), order);
    const changed = attended({ ...lightning, status: 'expired' }, 0);
    assert.deepEqual(changed, { ...lightning, status: 'expired', open: false });
  });

  test('and its buyer is forgotten once it is confirmed or expired', () => {
    const orderedBy = Buffer.from('somebody');
    for (const status of ['pending', 'underpaid', 'seen'] as const) {
      const order: BtcOrder = { ...btc, status, orderedBy };
      assert.equal(attended(order, 0), order);
    }
    for (const status of ['confirmed', 'expired'] as const) {
      const order: BtcOrder = { ...btc, status, orderedBy, outputs: [output('a', price, 2)] };
      assert.deepEqual(attended(order, 0), { ...order, orderedBy: null });
    }
    const deep: BtcOrder = { ...btc, status: 'confirmed', orderedBy, outputs: [output('a', price, 6)] };
    assert.deepEqual(attended(deep, 0), { ...deep, open: false, orderedBy: null }, 'nor looked after');
    const known: BtcOrder = { ...btc, status: 'seen', orderedBy: null };
    assert.equal(attended(known, 0), known);
  });
});

/** Numbers that look random and are the same in every run (Numerical Recipes' generator). */
function generator(seed: number): (count: number) => number {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

const kinds = [
  'time',
  'outputs',
  'invoice',
  'card paid',
  'card pending',
  'card failed',
  'card expired',
  'card refunded',
  'card disputed',
  'card dispute won',
  'card dispute lost',
  'reveal',
] as const satisfies readonly OrderEvent['kind'][];

function randomEvent(choose: (count: number) => number): OrderEvent {
  const kind = kinds[choose(kinds.length)] ?? 'time';
  const amount = [0n, 1n, price - 1n, price, price + 1n][choose(5)] ?? price;
  switch (kind) {
    case 'outputs':
      return outputs(
        ...Array.from({ length: choose(4) }, () => {
          const sat = [1n, price - 1n, price, price + 3n][choose(4)] ?? price;
          return output('abcdef'[choose(6)] ?? 'a', sat, choose(8), choose(2) === 0 ? null : choose(2 * end));
        }),
      );
    case 'invoice': {
      const state = (['open', 'accepted', 'settled', 'canceled'] as const)[choose(4)] ?? 'open';
      return { kind, state, paidSat: amount, settledAtMs: choose(2 * end) };
    }
    case 'card paid':
      return { kind, cents: amount };
    case 'card refunded':
      return { kind, totalCents: amount };
    case 'card disputed':
    case 'card dispute won':
    case 'card dispute lost': {
      const dispute = [undefined, 'dp_1', 'dp_2'][choose(3)];
      return dispute === undefined ? { kind } : { kind, dispute };
    }
    default:
      return { kind };
  }
}

test('100,000 random histories: one key, only for money, never back from revoked', () => {
  const choose = generator(7);
  let minted = 0;
  for (let history = 0; history < 100_000; history += 1) {
    let order: OrderRecord = [btc, lightning, card][history % 3] ?? btc;
    let [mints, reveals, nowMs] = [0, 0, 0];
    for (let step = 0; step < 12; step += 1) {
      const before: OrderRecord = order;
      nowMs += choose(300);
      const event = randomEvent(choose);
      const { order: after, effect } = transition(before, event, nowMs);
      if (effect?.kind === 'mint') {
        mints += 1;
        assert.equal(before.key, 'none');
        if (after.rail === 'btc') assert.ok(deepSat(after) >= price);
        if (after.rail === 'lightning') assert.ok(after.paidSat >= price);
        if (after.rail === 'card') assert.ok(after.paidCents >= price);
      }
      // Every change of the key is told by an effect, and the reverse.
      assert.equal(effect === undefined, before.key === after.key);
      if (before.revealedAtMs === null && after.revealedAtMs !== null) {
        reveals += 1;
        assert.deepEqual([event.kind, before.key], ['reveal', 'active']);
      }
      if (before.key === 'revoked') assert.equal(after, before);
      assert.ok(before.revealedAtMs === null || before.revealedAtMs === after.revealedAtMs);
      // The same again changes nothing.
      assert.equal(transition(after, event, nowMs).effect, undefined);
      order = after;
    }
    assert.ok(mints <= 1 && reveals <= 1);
    minted += mints;
  }
  assert.ok(minted > 10_000, `${minted}`);
});
