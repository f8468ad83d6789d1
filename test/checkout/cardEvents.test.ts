/** Events of the card processor: how each is read, and which are not events at all. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  cardEventTypes,
  readCardEvent,
  type CardEvent,
  type CardSubject,
} from '../../src/checkout/card/cardEvents.js';

/** An event of Stripe's around an object. */
function event(type: string, object: unknown, more: object = {}): object {
  return {
    id: 'evt_1',
    object: 'event',
    type,
    created: 1_790_000_000,
    livemode: false,
    data: { object },
    ...more,
  };
}

const session = {
  ...{ id: 'cs_test_1', object: 'checkout.session', created: 1_789_999_000, payment_status: 'paid' },
  ...{ amount_total: 3_300, currency: 'usd', payment_intent: 'pi_1', metadata: { tier: 'growth' } },
};

/** What an event is about; it must be one. */
function subjectOf(type: string, object: unknown): CardSubject {
  const read = readCardEvent(event(type, object));
  assert.ok(read !== undefined);
  return read.subject;
}

const other = { kind: 'other' };

test('an event is read as its id, type, mode and time, and what it is about', () => {
  const expected: CardEvent = {
    ...{ id: 'evt_1', type: 'checkout.session.completed', live: false, createdAtMs: 1_790_000_000_000 },
    subject: {
      ...{ kind: 'session', what: 'completed' },
      session: {
        ...{ id: 'cs_test_1', payment: 'paid', totalCents: 3_300n, currency: 'usd', intent: 'pi_1' },
        single: true,
        subtotalCents: null,
        discountCents: 0n,
        ...{ tier: 'growth', server: null, createdAtMs: 1_789_999_000_000 },
      },
    },
  };
  assert.deepEqual(readCardEvent(event('checkout.session.completed', session)), expected);
  const live = readCardEvent(event('checkout.session.completed', session, { livemode: true }));
  assert.equal(live?.live, true);
});

test('what has no id, type, mode, time or data is no event', () => {
  for (const id of ['a', 'evt-1_A', 'a'.repeat(100)]) {
    assert.equal(readCardEvent(event('a', {}, { id }))?.id, id);
  }
  for (const wrong of [
    ...['', 'a'.repeat(101), 'x y', 'é', ' a', 'a ', 1, null, undefined].map((id) => ({ id })),
    ...[1, null, undefined].map((type) => ({ type })),
    ...['false', 0, null, undefined].map((livemode) => ({ livemode })),
    ...['1790000000', null, undefined].map((created) => ({ created })),
    ...[null, undefined, 'x', []].map((data) => ({ data })),
  ]) {
    assert.equal(readCardEvent(event('a', {}, wrong)), undefined, JSON.stringify(wrong));
  }
  for (const none of [undefined, null, 'x', 1, [], [event('a', {})]]) {
    assert.equal(readCardEvent(none), undefined);
  }
  for (const object of [undefined, null, 'x', [session]]) {
    assert.deepEqual(subjectOf('checkout.session.completed', object), other);
  }
});

describe('a session', () => {
  test('completed, paid later, failed or expired', () => {
    for (const [type, what] of [
      ['completed', 'completed'],
      ['async_payment_succeeded', 'paid later'],
      ['async_payment_failed', 'failed'],
      ['expired', 'expired'],
    ] as const) {
      const subject = subjectOf(`checkout.session.${type}`, session);
      assert.equal(subject.kind === 'session' && subject.what, what);
    }
    for (const type of ['checkout.session.created', 'toString', 'constructor', '']) {
      assert.deepEqual(subjectOf(type, session), other, type);
    }
  });

  test('has an id, a time, and a payment that is one of three', () => {
    for (const wrong of [
      ...[1, null, undefined].map((id) => ({ id })),
      ...['1', null, undefined].map((created) => ({ created })),
      ...['', 'PAID', 'maybe', null, undefined].map((payment_status) => ({ payment_status })),
    ]) {
      const subject = subjectOf('checkout.session.completed', { ...session, ...wrong });
      assert.deepEqual(subject, other, JSON.stringify(wrong));
    }
    for (const payment of ['paid', 'unpaid', 'no_payment_required'] as const) {
      const subject = subjectOf('checkout.session.completed', { ...session, payment_status: payment });
      assert.equal(subject.kind === 'session' && subject.session.payment, payment);
    }
  });

  test('is a single payment if Stripe names that mode, or none', () => {
    for (const [mode, single] of [
      ...(['payment', undefined] as const).map((each) => [each, true] as const),
      ...['subscription', 'setup', 'PAYMENT', '', null, 5].map((each) => [each, false] as const),
    ]) {
      const subject = subjectOf('checkout.session.completed', { ...session, mode });
      assert.equal(subject.kind === 'session' && subject.session.single, single, String(mode));
    }
  });

  test('may lack a total, a currency, an intent and a tier', () => {
    const read = (more: object): unknown => {
      const subject = subjectOf('checkout.session.completed', { ...session, ...more });
      return subject.kind === 'session' && subject.session;
    };
    const known = read({});
    const sessionWith = (more: object): object => ({ ...(known as object), ...more });
    for (const amount_total of [null, undefined, '3300', -1, 0.5, 2 ** 53, NaN]) {
      assert.deepEqual(read({ amount_total }), sessionWith({ totalCents: null }), String(amount_total));
    }
    assert.deepEqual(read({ amount_total: 0 }), sessionWith({ totalCents: 0n }));
    for (const amount_subtotal of [null, undefined, '3300', -1, 0.5]) {
      assert.deepEqual(read({ amount_subtotal }), sessionWith({ subtotalCents: null }));
    }
    assert.deepEqual(read({ amount_subtotal: 3_400 }), sessionWith({ subtotalCents: 3_400n }));
    for (const total_details of [null, 5, {}, { amount_discount: -1 }, { amount_discount: '1' }]) {
      assert.deepEqual(read({ total_details }), known, JSON.stringify(total_details));
    }
    const total_details = { amount_discount: 100, amount_shipping: 2, amount_tax: 3 };
    assert.deepEqual(read({ total_details }), sessionWith({ discountCents: 100n }));
    for (const currency of [null, undefined, '', 5]) {
      assert.deepEqual(read({ currency }), sessionWith({ currency: null }));
    }
    for (const payment_intent of [null, undefined, '', 5, {}, { id: 5 }, ['pi_1']]) {
      assert.deepEqual(read({ payment_intent }), sessionWith({ intent: null }));
    }
    assert.deepEqual(read({ payment_intent: { id: 'pi_2', object: 'x' } }), sessionWith({ intent: 'pi_2' }));
    for (const metadata of [null, undefined, {}, { tier: '' }, { tier: 1 }, 'growth', ['growth']]) {
      assert.deepEqual(read({ metadata }), sessionWith({ tier: null }));
    }
    const made = { tier: 'growth', fusegate_server: 'f00d' };
    assert.deepEqual(read({ metadata: made }), sessionWith({ server: 'f00d' }));
    for (const fusegate_server of ['', 5, null, {}]) {
      assert.deepEqual(read({ metadata: { ...made, fusegate_server } }), sessionWith({ server: null }));
    }
  });
});

test('the types of events that are asked for are those that the guide subscribes an endpoint to', () => {
  const guide = readFileSync('docs/checkout.md', 'utf8');
  const [, names = ''] = /webhook` with the events\n([^]*?), and put its/.exec(guide) ?? [];
  let prefix = '';
  const written = [...names.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => {
    if (!name.startsWith('.')) prefix = name.slice(0, name.lastIndexOf('.'));
    return name.startsWith('.') ? prefix + name : name;
  });
  assert.deepEqual(cardEventTypes, written);
});

test('a refund tells what was refunded of a payment so far', () => {
  const refund = (more: object): CardSubject =>
    subjectOf('charge.refunded', { payment_intent: 'pi_1', amount_refunded: 100, ...more });
  assert.deepEqual(refund({}), { kind: 'refund', intent: 'pi_1', cents: 100n });
  assert.deepEqual(refund({ amount_refunded: 0 }), { kind: 'refund', intent: 'pi_1', cents: 0n });
  assert.deepEqual(refund({ payment_intent: null }), other);
  assert.deepEqual(refund({ amount_refunded: null }), other);
  assert.deepEqual(refund({ amount_refunded: -1 }), other);
});

test('a dispute begins when money is taken, and ends won or lost', () => {
  const dispute = (what: string, status: unknown, more: object = {}): CardSubject =>
    subjectOf(`charge.dispute.${what}`, { id: 'dp_1', payment_intent: 'pi_1', status, ...more });
  const told = (what: string): object => ({ kind: 'dispute', intent: 'pi_1', dispute: 'dp_1', what });
  assert.deepEqual(dispute('created', 'needs_response'), told('begun'));
  assert.deepEqual(dispute('created', undefined), told('begun'));
  assert.deepEqual(dispute('funds_withdrawn', 'under_review'), told('begun'));
  for (const inquiry of ['warning_needs_response', 'warning_under_review', 'warning_closed']) {
    assert.deepEqual(dispute('created', inquiry), other);
    assert.deepEqual(dispute('closed', inquiry), other);
  }
  assert.deepEqual(dispute('closed', 'won'), told('won'));
  assert.deepEqual(dispute('closed', 'lost'), told('lost'));
  assert.deepEqual(dispute('closed', 'needs_response'), other);
  assert.deepEqual(dispute('updated', 'lost'), other);
  for (const more of [{ id: null }, { id: '' }, { payment_intent: null }]) {
    assert.deepEqual(dispute('created', 'needs_response', more), other);
    assert.deepEqual(dispute('closed', 'lost', more), other);
  }
});
