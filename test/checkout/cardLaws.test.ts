/**
 * Laws of card payments, on a real store and over a processor that behaves as Stripe's API does
 * (stripeServer.ts): what a session must have paid, in which order events apply, and that none is lost.
 */
import type { CardOrder } from '../../src/store/tables/cardOrder.js';
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import Stripe from 'stripe';
import { revokeKey } from '../../src/access/issue.js';
import { Card, type CardParts, type MadeCardOrder } from '../../src/checkout/card/card.js';
import type { CardEvent, CardSession, CardSubject } from '../../src/checkout/card/cardEvents.js';
import {
  cardHandlers,
  cardOrders,
  pickUpCard,
  type CardRoutesParts,
} from '../../src/checkout/card/cardRoutes.js';
import type { Rate } from '../../src/checkout/rates.js';
import { StripeClient } from '../../src/checkout/card/stripe.js';
import type {
  CardOrderCreated,
  CardPickupResponse,
  CardStatusResponse,
  CardWebhookResponse,
  CardWebhookStatusResponse,
} from '../../src/contract/card.js';
import type { Answer } from '../../src/contract/exchange.js';
import type { Problem } from '../../src/contract/problem.js';
import {
  findCardEvent,
  findOrderOfIntent,
  heldEvents,
  lastEventMs,
} from '../../src/store/tables/cardEvents.js';
import { findOrderAt } from '../../src/store/tables/orders.js';
import { keepRate } from '../../src/store/tables/rates.js';
import { derive } from '../../src/system/masterSecret.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { request } from '../support/serving.js';
import { call, columnsOf, jsonOf, Shop, tiers, wish } from '../support/shop.js';
import { pollRequest } from '../../src/checkout/orderRoutes.js';
import { StripeServer } from './stripeServer.js';
import { StoreUnavailable } from '../../src/store/store.js';

const shop = await Shop.open();
const stripe = await StripeServer.start();
/** 50,000 sat at 60,000 US dollars a BTC and a surcharge of 10 %. */
const price = 3_300n;
const minute = 60_000;

let rate: Rate = { reason: 'There is no rate.' };

function rail(more: Partial<CardParts> = {}): Card {
  const settings = { webhookReady: true, publicUrl: 'https://keys.example', prices: {} };
  const client = new StripeClient({ secretKey: stripe.secretKey, apiBase: stripe.apiBase });
  return new Card({
    ...shop.book,
    ...settings,
    ...{ stripe: client, tiers, rates: { current: () => Promise.resolve(rate) }, allowDiscounts: false },
    ...{ log: shop.log, ...more },
  });
}

/** The same process, whose commits are not waited for by {@link Shop.beforeCommits}. */
const aside = (): Card => rail({ store: shop.aside.store });

beforeEach(() => {
  shop.time.nowMs += 86_400_000;
  rate = { cents: 6_000_000n, source: 'fixed', atMs: shop.time.nowMs };
  stripe.up = true;
  stripe.hosted = true;
  stripe.failures = 0;
  shop.said();
});

const random = (): string => systemRandomness(8).toString('hex');

async function ordered(card = rail()): Promise<MadeCardOrder> {
  const made = await card.create(wish);
  if (made.kind !== 'made') assert.fail(JSON.stringify(made));
  return made;
}

/** The server's name in its sessions: it stays the same when a newer master secret is put first. */
const ownName = derive(shop.book.secrets.at(-1) ?? '', 'card-sessions').toString('hex', 0, 8);

/** A session that was paid; without an order of ours unless told. */
function paidSession(more: Partial<CardSession> = {}): CardSession {
  const money = { payment: 'paid', totalCents: price, subtotalCents: null, currency: 'usd' } as const;
  const id = `cs_test_${random()}`;
  const made = { single: true, tier: 'developer', server: null, createdAtMs: shop.time.nowMs } as const;
  return { id, ...money, discountCents: 0n, intent: `pi_${random()}`, ...made, ...more };
}

function event(subject: CardSubject, more: Partial<CardEvent> = {}): CardEvent {
  const id = `evt_${random()}`;
  return { id, type: subject.kind, live: false, createdAtMs: shop.time.nowMs, subject, ...more };
}

type What = Extract<CardSubject, { kind: 'session' }>['what'];

const about = (session: CardSession, what: What = 'completed', more: Partial<CardEvent> = {}): CardEvent =>
  event({ kind: 'session', what, session }, more);
const refund = (intent: string | null, cents: bigint, more: Partial<CardEvent> = {}): CardEvent =>
  event({ kind: 'refund', intent: intent ?? '', cents }, more);
const dispute = (
  intent: string | null,
  id: string,
  what: 'begun' | 'won' | 'lost',
  more: Partial<CardEvent> = {},
): CardEvent => event({ kind: 'dispute', intent: intent ?? '', dispute: id, what }, more);

async function result(what: CardEvent, card = rail()): Promise<CardWebhookResponse['result']> {
  const outcome = await card.settle(what);
  if (outcome.kind !== 'settled') assert.fail(outcome.reason);
  return outcome.result;
}

/** Why an event gave no key, as it is recorded and as the operator was told. */
async function reasonOf({ id }: CardEvent): Promise<string | null | undefined> {
  const { reason, about: place = '' } = (await findCardEvent(shop.book.store, id)) ?? {};
  if (!reason) return reason;
  const said = shop.said();
  for (const named of [reason, id]) assert.ok(said.includes(JSON.stringify(named)), 'the operator was told');
  assert.ok(!said.includes(place), 'nobody collects a key with what was logged');
  return reason;
}

async function orderAt({ id }: CardSession): Promise<CardOrder | undefined> {
  return await findOrderAt(shop.book.store, 'card', id);
}

/** Status and key of a session's order. */
async function stateOf(session: CardSession): Promise<unknown> {
  const order = await orderAt(session);
  if (order === undefined) return undefined;
  const keys = await shop.keys(order.id);
  assert.ok(keys.length <= 1);
  return [order.status, keys[0]?.status ?? 'none'];
}

/** The session of an order that was made here, paid; what is not said is as it must be. */
async function paidHere(more: Partial<CardSession> = {}, card = rail()): Promise<CardSession> {
  const { order } = await ordered(card);
  return paidSession({ id: order.place, ...more });
}

describe('a session made here', () => {
  test('is requested from Stripe for the price in dollars, and its order is on disk', async () => {
    const { order, url, claimToken } = await ordered();
    assert.deepEqual(await shop.stored(order.id), order);
    assert.deepEqual(url, `https://checkout.stripe.com/c/pay/${order.place}`);
    assert.match(claimToken, /^ct_/);
    const { id, form, idempotencyKey } = stripe.sessions.at(-1) ?? { id: '', form: {} };
    assert.equal(id, order.place);
    assert.equal(idempotencyKey, order.id, 'asked for again, it is the same');
    assert.deepEqual(form, {
      ...{ mode: 'payment', client_reference_id: order.id, 'metadata[order_id]': order.id },
      ...{ 'metadata[tier]': 'developer', 'payment_intent_data[metadata][order_id]': order.id },
      ...{ 'payment_intent_data[metadata][tier]': 'developer', 'line_items[0][quantity]': '1' },
      'metadata[fusegate_server]': ownName,
      'payment_intent_data[metadata][fusegate_server]': ownName,
      'line_items[0][price_data][currency]': 'usd',
      'line_items[0][price_data][unit_amount]': '3300',
      'line_items[0][price_data][product_data][name]': 'Fusegate API key, tier developer',
      expires_at: String(Math.floor((shop.time.nowMs + 1_860_000) / 1_000)),
      success_url: 'https://keys.example/card/success?session_id={CHECKOUT_SESSION_ID}',
      cancel_url: 'https://keys.example/buy',
    });
    const { rail: name, status, cents, rateCents, sat, expiresAtMs, open, intent } = order;
    assert.deepEqual(
      [name, status, cents, rateCents, sat, expiresAtMs - order.createdAtMs, open, intent],
      ['card', 'open', 3_300n, 6_000_000n, 50_000n, 1_860_000, false, null],
    );
    const { tier, email, source, segment, campaign, eventId, termDays } = order;
    assert.deepEqual({ tier, email, source, segment, campaign, eventId }, { ...wish });
    assert.equal(termDays, 30);
    const { network, address_index, confirmations_required } = columnsOf(order);
    assert.deepEqual([network, address_index, confirmations_required], [null, null, 0]);
  });

  test('is not made if a payment could not be settled, or if there is no price', async () => {
    const before = stripe.sessions.length;
    const refusal = async (card = rail()): Promise<string> => {
      const made = await card.create(wish);
      assert.ok(made.kind === 'rail unavailable', made.kind);
      assert.deepEqual(await card.check(), { ready: false, reason: made.reason });
      return made.reason;
    };
    assert.match(
      await refusal(rail({ webhookReady: false })),
      /cannot be settled: the webhook has no secret/,
    );
    const unknown = 'Card payments need the server’s public address (PUBLIC_URL).';
    assert.equal(await refusal(rail({ publicUrl: null })), unknown);
    rate = { reason: 'The sources differ.' };
    assert.equal(await refusal(), 'The sources differ.');
    rate = { cents: 1n, source: 'fixed', atMs: 0 };
    stripe.up = false;
    assert.match(await refusal(), /does not accept the server’s key/);
    stripe.up = true;
    stripe.hosted = false;
    const made = await rail().create(wish);
    assert.deepEqual(made, {
      kind: 'rail unavailable',
      reason: 'The card processor made no session.',
    });
    assert.match(shop.said(), /^warn: Stripe made no session .*the session has no address/);
    assert.equal(stripe.sessions.length, before + 1);
  });

  test('is requested once more if Stripe fails, and not a third time', async () => {
    stripe.failures = 1;
    const { order } = await ordered();
    assert.equal(stripe.failures, 0);
    assert.equal(stripe.sessions.at(-1)?.id, order.place);
    const card = rail();
    await card.check();
    const before = stripe.sessions.length;
    stripe.failures = 3;
    assert.equal((await card.create(wish)).kind, 'rail unavailable');
    assert.equal(stripe.failures, 1);
    assert.equal(stripe.sessions.length, before);
  });

  test('with an id that an order already has makes no second order', async () => {
    const { order } = await ordered();
    stripe.nextId = order.place;
    await assert.rejects(rail().create(wish), /^Error: Stripe gave a session id twice$/);
    assert.deepEqual(await findOrderAt(shop.book.store, 'card', order.place), order);
  });

  test('makes no order if the rate is gone by then', async () => {
    const rates: readonly Rate[] = [rate, { reason: 'It has gone.' }];
    let asked = 0;
    const current = (): Promise<Rate> => Promise.resolve(rates[Math.min(asked++, 1)] ?? rate);
    const made = await rail({ rates: { current } }).create(wish);
    assert.deepEqual(made, { kind: 'rail unavailable', reason: 'It has gone.' });
  });

  test('is not shown if it may not be on disk', async () => {
    shop.failing.failure = 'not written';
    await assert.rejects(rail().create(wish), StoreUnavailable);
    shop.failing.failure = undefined;
  });

  test('asks Stripe at most twice a minute whether it is available', async () => {
    const card = rail();
    const asked = (): number => stripe.asked.filter((each) => each.includes('limit=1')).length;
    const before = asked();
    await Promise.all([card.check(), card.check()]);
    shop.time.nowMs += 29_999;
    stripe.up = false;
    assert.deepEqual(await card.check(), { ready: true });
    assert.equal(asked(), before + 1);
    shop.time.nowMs += 1;
    assert.equal((await card.check()).ready, false);
    assert.equal(asked(), before + 2);
  });
});

describe('what a session has paid', () => {
  test('the price or more makes one key, however often it is reported', async () => {
    for (const totalCents of [price, price + 1n]) {
      const session = await paidHere({ totalCents });
      const what = about(session);
      assert.equal(await result(what), 'minted');
      assert.equal(await result(what), 'duplicate');
      assert.equal(await result(about(session, 'paid later')), 'duplicate');
      assert.deepEqual(await stateOf(session), ['paid', 'active']);
      const order = await orderAt(session);
      assert.deepEqual(await shop.ledger(order?.id ?? ''), [Number(totalCents)]);
      assert.equal(order?.intent, session.intent);
      assert.equal(order.late, false);
    }
  });

  test('too little, euros, nothing or an unpaid session make no key, and the reason is noted', async () => {
    for (const [more, reason] of [
      [{ totalCents: price - 1n }, 'It paid 3299 cents of 3300.'],
      [{ totalCents: null }, 'It paid 0 cents of 3300.'],
      [{ currency: 'eur' }, 'It was paid in eur, not in usd.'],
      [{ currency: 'eur', totalCents: 10n * price }, 'It was paid in eur, not in usd.'],
      [{ currency: null }, 'It was paid in no currency, not in usd.'],
      [
        { payment: 'no_payment_required', totalCents: 0n, intent: null },
        'Nothing was paid, and STRIPE_ALLOW_DISCOUNTS is no.',
      ],
      [
        { payment: 'no_payment_required', totalCents: price },
        'Nothing was paid, and STRIPE_ALLOW_DISCOUNTS is no.',
      ],
    ] as const) {
      const session = await paidHere(more);
      const what = about(session);
      assert.equal(await result(what), 'mismatch', reason);
      assert.equal(await reasonOf(what), reason);
      assert.deepEqual(await stateOf(session), ['open', 'none']);
    }
    const session = await paidHere({ payment: 'unpaid' });
    const later = about(session, 'paid later');
    assert.equal(await result(later), 'mismatch');
    assert.equal(await reasonOf(later), 'The session is not paid.');
    assert.deepEqual(await stateOf(session), ['open', 'none']);
  });

  test('a discounted total makes a key only if the operator allows discounts', async () => {
    const lenient = rail({ allowDiscounts: true });
    for (const more of [
      { totalCents: 1n },
      { payment: 'no_payment_required', totalCents: 0n, intent: null },
      { payment: 'no_payment_required', totalCents: null, intent: null },
    ] as const) {
      const [strictly, leniently] = [await paidHere(more), await paidHere(more)];
      assert.equal(await result(about(strictly)), 'mismatch');
      assert.deepEqual(await stateOf(strictly), ['open', 'none']);
      assert.equal(await result(about(leniently), lenient), 'minted');
      assert.deepEqual(await stateOf(leniently), ['paid', 'active']);
      assert.equal((await orderAt(leniently))?.paidCents, more.totalCents ?? 0n);
    }
    const euros = await paidHere({ currency: 'eur' });
    assert.equal(await result(about(euros), lenient), 'mismatch', 'euros are no discount');
  });

  test('an event of another mode than that of the server’s key makes no key', async () => {
    const session = await paidHere();
    const live = about(session, 'completed', { live: true });
    assert.equal(await result(live), 'mismatch');
    assert.equal(await reasonOf(live), "The event is of live mode, the server's key is not.");
    const liveKey = new StripeClient({ secretKey: 'sk_live_x', apiBase: stripe.apiBase });
    const other = about(session);
    assert.equal(await result(other, rail({ stripe: liveKey })), 'mismatch');
    assert.equal(await reasonOf(other), "The event is of test mode, the server's key is not.");
    const restricted = new StripeClient({ secretKey: 'rk_live_x', apiBase: stripe.apiBase });
    assert.deepEqual([liveKey.live, restricted.live], [true, true]);
    assert.deepEqual(await stateOf(session), ['open', 'none']);
  });

  test('an unpaid session is pending; failed and expired ones may still be paid, late', async () => {
    for (const end of ['failed', 'expired'] as const) {
      const session = await paidHere({ payment: 'unpaid' });
      assert.equal(await result(about(session)), 'pending');
      assert.deepEqual(await stateOf(session), ['open', 'none']);
      assert.equal(await result(about(session, end)), 'recorded');
      assert.deepEqual(await stateOf(session), [end, 'none']);
      assert.equal(await result(about({ ...session, payment: 'paid' }, 'paid later')), 'minted');
      assert.deepEqual(await stateOf(session), ['paid', 'active']);
      assert.equal((await orderAt(session))?.late, true);
    }
  });
});

describe('a session that no refund could follow', () => {
  test('a subscription makes no key, whatever price it sold', async () => {
    const prices = { price_growth: 'growth' } as const;
    for (const card of [rail(), rail({ prices }), rail({ prices, allowDiscounts: true })]) {
      for (const more of [
        { intent: null },
        { payment: 'no_payment_required', totalCents: 0n, intent: null },
        { server: ownName },
      ] as const) {
        const session = paidSession({ single: false, ...more });
        stripe.sold.set(session.id, [['price_growth', 1]]);
        for (const what of [about(session), about(session, 'paid later')]) {
          assert.equal(await result(what, card), 'mismatch');
          const reason = 'It is not a one-time payment, and this server sells no subscriptions.';
          assert.equal(await reasonOf(what), reason);
        }
        assert.equal(await stateOf(session), undefined);
        assert.equal(await result(about(session, 'expired'), card), 'ignored');
      }
    }
  });

  test('a payment without an intent makes no key, unless there was nothing to pay', async () => {
    const prices = { price_growth: 'growth' } as const;
    for (const card of [rail(), rail({ prices, allowDiscounts: true })]) {
      const [elsewhere, here] = [paidSession({ intent: null }), await paidHere({ intent: null })];
      stripe.sold.set(elsewhere.id, [['price_growth', 1]]);
      for (const session of [elsewhere, here]) {
        const what = about(session);
        assert.equal(await result(what, card), 'mismatch');
        assert.equal(await reasonOf(what), 'It was paid without a payment intent.');
      }
      assert.deepEqual([await stateOf(elsewhere), await stateOf(here)], [undefined, ['open', 'none']]);
    }
    const free = paidSession({ payment: 'no_payment_required', totalCents: 0n, intent: null });
    stripe.sold.set(free.id, [['price_growth', 1]]);
    assert.equal(await result(about(free), rail({ prices, allowDiscounts: true })), 'minted');
  });
});

describe('a session made elsewhere', () => {
  const took = (cents: bigint, atMs: number, stays = false): Promise<unknown> =>
    keepRate(shop.aside.store, { cents, atMs, stays });

  test('makes an order of the tier that it names, once', async () => {
    for (const [tier, cents] of [
      ['developer', 3_300n],
      ['growth', 16_500n],
      ['enterprise', 132_000n],
    ] as const) {
      const session = paidSession({ tier, totalCents: cents });
      const all = [about(session), about(session, 'paid later'), about(session)];
      const results = await Promise.all(all.map((each) => result(each)));
      assert.deepEqual(results.toSorted(), ['duplicate', 'duplicate', 'minted']);
      const order = await orderAt(session);
      assert.deepEqual(
        [order?.tier, order?.cents, order?.sat, order?.rateCents, order?.termDays, order?.email],
        [tier, cents, BigInt(tiers[tier].price_sat), null, 30, null],
      );
      assert.deepEqual(await stateOf(session), ['paid', 'active']);
      assert.deepEqual(await shop.ledger(order?.id ?? ''), [Number(cents)]);
    }
  });

  test('makes no order if it names no tier, paid another price, or paid in another currency', async () => {
    for (const [more, reason] of [
      [{ tier: null }, 'No order has this session, and it names no tier in metadata.tier.'],
      [{ tier: 'anonymous' }, 'No order has this session, and it names no tier in metadata.tier.'],
      [
        { totalCents: price - 1n },
        'It paid 3299 cents, which was no price of developer while it could be paid.',
      ],
      [
        { totalCents: price + 1n },
        'It paid 3301 cents, which was no price of developer while it could be paid.',
      ],
      [{ totalCents: null }, 'It paid 0 cents, which was no price of developer while it could be paid.'],
      [{ currency: 'eur' }, 'It was paid in eur, not in usd.'],
    ] as const) {
      const session = paidSession(more);
      const what = about(session);
      assert.equal(await result(what), 'mismatch', reason);
      assert.equal(await reasonOf(what), reason);
      assert.equal(await stateOf(session), undefined);
    }
    for (const what of ['failed', 'expired'] as const) {
      assert.equal(await result(about(paidSession(), what)), 'ignored');
    }
    assert.equal(await result(about(paidSession({ payment: 'unpaid' }))), 'ignored');
  });

  test('that is judged long after it was paid is not measured by later prices', async () => {
    const [paid, less] = [paidSession(), paidSession({ totalCents: 1_100n })];
    const [right, wrong] = [about(paid), about(less)];
    await took(6_000_000n, shop.time.nowMs);
    shop.time.nowMs += 9 * 86_400_000;
    // At a third of the price.
    rate = { cents: 2_000_000n, source: 'fixed', atMs: shop.time.nowMs };
    await took(2_000_000n, shop.time.nowMs);
    assert.equal(await result(wrong), 'mismatch');
    assert.match((await reasonOf(wrong)) ?? '', /^It paid 1100 cents, which was no price of developer/);
    assert.equal(await result(right), 'minted');
    assert.equal(await result(about(paidSession({ totalCents: 1_100n }))), 'minted', 'it was paid now');
  });

  test('of another server with the same account at Stripe makes no key here', async () => {
    const prices = { price_growth: 'growth' } as const;
    for (const card of [rail(), rail({ prices })]) {
      const session = paidSession({ server: 'f00dfeedf00dfeed' });
      stripe.sold.set(session.id, [['price_growth', 1]]);
      const what = about(session);
      assert.equal(await result(what, card), 'mismatch');
      const reason = 'Another server that uses this account at Stripe made the session.';
      assert.equal(await reasonOf(what), reason);
      assert.equal(await stateOf(session), undefined);
    }
  });

  test('of this server makes one key, even if its order was lost', async () => {
    const lost = paidSession({ server: ownName });
    assert.equal(await result(about(lost)), 'minted');
    const kept = await paidHere({ server: ownName });
    assert.equal(await result(about(kept)), 'minted');
    assert.equal(await result(about(kept)), 'duplicate');
  });

  test('of this server, whose order was lost, is paid at the amount that this server set', async () => {
    rate = { cents: 1n, source: 'fixed', atMs: shop.time.nowMs };
    const prices = { price_growth: 'growth' } as const;
    const minted = [];
    for (const card of [rail(), rail({ prices }), rail({ prices, allowDiscounts: true })]) {
      const lost = paidSession({ server: ownName, tier: 'enterprise', totalCents: 132_001n });
      const paid = about(lost);
      assert.equal(await result(paid, card), 'minted');
      const { tier, cents, paidCents } = (await orderAt(lost)) ?? {};
      assert.deepEqual([tier, cents, paidCents], ['enterprise', 132_001n, 132_001n]);
      minted.push(lost);
      assert.equal(await result(about(paidSession({ server: ownName, totalCents: 1n })), card), 'minted');
      for (const more of [
        { server: 'f00dfeedf00dfeed' },
        { server: null },
        { server: ownName, tier: 'gold' },
        { server: ownName, tier: null },
        { server: ownName, currency: 'eur' },
        { server: ownName, discountCents: 1n },
        { server: ownName, totalCents: 0n },
        { server: ownName, totalCents: null },
        { server: ownName, intent: null },
        { server: ownName, single: false },
      ] as const) {
        const session = paidSession({ tier: 'enterprise', totalCents: 132_001n, ...more });
        stripe.sold.set(session.id, [['price_other', 1]]);
        assert.equal(await result(about(session), card), 'mismatch', JSON.stringify(Object.keys(more)));
        assert.equal(await stateOf(session), undefined);
      }
      const unpaid = paidSession({ server: ownName, payment: 'unpaid' });
      assert.equal(await result(about(unpaid), card), 'ignored');
    }
    for (const lost of minted) {
      assert.equal(await result(refund(lost.intent, 132_001n)), 'revoked');
      assert.deepEqual(await stateOf(lost), ['refunded', 'revoked']);
    }
  });

  test('may have paid a price in force ten minutes before it was made, and no older one', async () => {
    const madeAtMs = shop.time.nowMs;
    // Each is in force until the next: 1,100, 1,650 and 2,200 cents.
    const taken = async (second: number): Promise<void> => {
      await took(2_000_000n, second - 1);
      await took(3_000_000n, second);
      await took(4_000_000n, second + minute);
    };
    rate = { reason: 'There is none now.' };
    await taken(madeAtMs - 600_000);
    for (const cents of [1_100n, 1_650n, 2_200n]) {
      const session = paidSession({ totalCents: cents, createdAtMs: madeAtMs });
      assert.equal(await result(about(session)), 'minted', String(cents));
    }
    // A millisecond later the first was no longer in force ten minutes before.
    const later = { createdAtMs: madeAtMs + 1 };
    assert.equal(await result(about(paidSession({ ...later, totalCents: 1_100n }))), 'mismatch');
    assert.equal(await result(about(paidSession({ ...later, totalCents: 1_650n }))), 'minted');
    // What is in force now is a price, too.
    assert.equal(await result(about(paidSession({ ...later, totalCents: price }))), 'mismatch');
    rate = { cents: 6_000_000n, source: 'fixed', atMs: 0 };
    assert.equal(await result(about(paidSession({ ...later, totalCents: price }))), 'minted');
    assert.equal(await result(about(paidSession({ ...later, totalCents: 1_650n }))), 'minted');
  });

  test('may have paid a price that came up to a minute later, as clocks differ', async () => {
    const paidMs = shop.time.nowMs;
    for (const [afterMs, came] of [
      [60_000, 'minted'],
      [60_001, 'mismatch'],
    ] as const) {
      rate = { cents: 2_000_000n, source: 'fixed', atMs: paidMs + afterMs };
      assert.equal(await result(about(paidSession({ totalCents: 1_100n }))), came);
    }
  });

  test('gets the tier of the one price that it sold, if prices are mapped to tiers', async () => {
    const card = rail({ prices: { price_a: 'growth', price_b: 'developer' } });
    const settle = async (
      sold: readonly (readonly [string | null, number | null])[],
      more: Partial<CardSession> = {},
    ) => {
      const session = paidSession({ totalCents: 999n, tier: 'enterprise', ...more });
      stripe.sold.set(session.id, sold);
      const what = about(session);
      return { session, what, came: await result(what, card) };
    };
    const bought = await settle([['price_a', 1]]);
    assert.equal(bought.came, 'minted');
    const { tier, cents } = (await orderAt(bought.session)) ?? {};
    assert.deepEqual([tier, cents], ['growth', 999n]);
    const wrong = 'It is for something other than one price of STRIPE_PRICES.';
    for (const sold of [
      [],
      [['price_c', 1]],
      [[null, 1]],
      [['price_a', 2]],
      [
        ['price_a', 1],
        ['price_b', 1],
      ],
      [
        ['price_a', 1],
        ['price_c', 1],
      ],
    ] as const) {
      const { session, what, came } = await settle(sold);
      assert.equal(came, 'mismatch', JSON.stringify(sold));
      assert.equal(await reasonOf(what), wrong);
      assert.equal(await stateOf(session), undefined);
    }
    assert.equal((await settle([['price_a', null]])).came, 'minted', 'without a number it is one');
    assert.equal((await settle([['price_a', 1]], { currency: 'eur' })).came, 'mismatch');
    const one = paidSession({ totalCents: 1n });
    stripe.sold.set(one.id, [['price_a', 1]]);
    assert.equal(await result(about(one), rail({ prices: { price_a: 'growth' } })), 'minted');
    // What cannot be asked now is no mismatch: the event comes again.
    const session = paidSession();
    const what = about(session);
    const unanswered = await card.settle(what);
    assert.match(unanswered.kind === 'unanswered' ? unanswered.reason : '', /No such/);
    stripe.sold.set(session.id, [['price_b', 1]]);
    assert.equal(await result(what, card), 'minted');
  });

  test('with a mapped price gives no key if it was discounted, unless that is allowed', async () => {
    const prices = { price_a: 'growth' } as const;
    const settle = async (allowDiscounts: boolean, discountCents: bigint) => {
      const session = paidSession({ discountCents });
      stripe.sold.set(session.id, [['price_a', 1]]);
      const what = about(session);
      return { session, what, came: await result(what, rail({ prices, allowDiscounts })) };
    };
    const refused = await settle(false, 1n);
    assert.equal(refused.came, 'mismatch');
    assert.equal(
      await reasonOf(refused.what),
      'Discounts took 1 cents off, and STRIPE_ALLOW_DISCOUNTS is no.',
    );
    assert.equal(await stateOf(refused.session), undefined);
    assert.equal((await settle(true, 1n)).came, 'minted');
    assert.equal((await settle(false, 0n)).came, 'minted');
  });

  test('that names a tier gives a key if its sum was a price, and its discount is allowed', async () => {
    const free = { payment: 'no_payment_required', totalCents: 0n, intent: null } as const;
    const took = (cents: number): string =>
      `Discounts took ${cents} cents off, and STRIPE_ALLOW_DISCOUNTS is no.`;
    const noPrice = (cents: bigint): string =>
      `It paid ${cents} cents, which was no price of developer while it could be paid.`;
    for (const [more, strictly, leniently] of [
      [{ ...free, subtotalCents: price, discountCents: price }, took(3_300), null],
      // Tax and shipping are in the total, and not in the sum.
      [{ totalCents: 500n, subtotalCents: price, discountCents: price }, took(3_300), null],
      [{ totalCents: price - 1n, subtotalCents: price, discountCents: 1n }, took(1), null],
      [{ totalCents: 1n, subtotalCents: price - 1n, discountCents: price }, noPrice(1n), noPrice(1n)],
      [{ totalCents: 1n, subtotalCents: price + 1n, discountCents: price }, noPrice(1n), noPrice(1n)],
      [{ totalCents: 1n, subtotalCents: null, discountCents: price }, noPrice(1n), noPrice(1n)],
      [{ totalCents: 1n, subtotalCents: price, discountCents: 0n }, noPrice(1n), noPrice(1n)],
      [{ ...free, subtotalCents: 0n, discountCents: 0n }, noPrice(0n), noPrice(0n)],
      [{ totalCents: price, subtotalCents: 2n * price, discountCents: price }, null, null],
    ] as const) {
      for (const [allowDiscounts, reason] of [
        [false, strictly],
        [true, leniently],
      ] as const) {
        const session = paidSession(more);
        const what = about(session);
        assert.equal(await result(what, rail({ allowDiscounts })), reason === null ? 'minted' : 'mismatch');
        assert.equal(await reasonOf(what), reason);
        assert.deepEqual(await stateOf(session), reason === null ? ['paid', 'active'] : undefined);
        if (reason === null) assert.equal((await orderAt(session))?.paidCents, session.totalCents);
      }
    }
  });

  test('whose order another event makes at the same time has one order and one key', async () => {
    const session = paidSession();
    shop.beforeCommits.push(async () => {
      assert.equal(await result(about(session), aside()), 'minted');
    });
    const second = about(session, 'paid later');
    assert.equal(await result(second), 'duplicate');
    assert.deepEqual(await stateOf(session), ['paid', 'active']);
    const noted = await findCardEvent(shop.book.store, second.id);
    assert.deepEqual([noted?.result, noted?.about], ['duplicate', session.id]);
  });
});

describe('a payment that gave no key', () => {
  const mended = { prices: { price_a: 'growth' } } as const;
  const unmended = { prices: { price_b: 'developer' } } as const;
  const notSold = 'It is for something other than one price of STRIPE_PRICES.';

  /** A session made elsewhere, for a price that the operator forgot. */
  function forgotten(): CardSession {
    const session = paidSession();
    stripe.sold.set(session.id, [['price_a', 1]]);
    return session;
  }

  /** Events of such a session, each of which gave no key. */
  async function keyless(...kinds: readonly What[]) {
    const session = forgotten();
    const events = kinds.map((what) => about(session, what));
    for (const each of events) assert.equal(await result(each, rail(unmended)), 'mismatch');
    return { session, events, event: events[0] ?? assert.fail() };
  }

  test('gives it once its event is sent again after the setting was mended, and only once', async () => {
    const { session, event } = await keyless('completed');
    assert.equal(await result(event, rail(mended)), 'minted');
    assert.equal((await orderAt(session))?.tier, 'growth');
    const noted = await findCardEvent(shop.book.store, event.id);
    assert.deepEqual([noted?.result, noted?.reason], ['minted', null]);
    for (const card of [rail(mended), rail(unmended)]) assert.equal(await result(event, card), 'duplicate');
    assert.deepEqual(await stateOf(session), ['paid', 'active']);
    assert.deepEqual(await shop.ledger((await orderAt(session))?.id ?? ''), [3_300]);
  });

  test('gives none while nothing was mended, and its record has the reason of the present', async () => {
    const { session, event } = await keyless('completed');
    const before = await findCardEvent(shop.book.store, event.id);
    shop.said();
    shop.time.nowMs += minute;
    assert.equal(await result(event, rail(unmended)), 'mismatch');
    assert.equal(await reasonOf(event), notSold);
    assert.deepEqual(await findCardEvent(shop.book.store, event.id), before);
    assert.equal(await result(event), 'minted', 'it names a tier at a valid price');
    const other = await keyless('completed');
    shop.said();
    rate = { cents: 1n, source: 'fixed', atMs: shop.time.nowMs };
    assert.equal(await result(other.event), 'mismatch');
    assert.match((await reasonOf(other.event)) ?? '', /^It paid 3300 cents, which was no price/);
    assert.equal((await findCardEvent(shop.book.store, other.event.id))?.atMs, shop.time.nowMs);
    assert.deepEqual(await stateOf(session), ['paid', 'active']);
    assert.equal(await stateOf(other.session), undefined);
  });

  test('keeps its record if its event is sent again as one that says nothing of a payment', async () => {
    const { event } = await keyless('completed');
    const before = await findCardEvent(shop.book.store, event.id);
    const other: CardEvent = { ...event, subject: { kind: 'other' } };
    assert.equal(await result(other), 'duplicate');
    assert.deepEqual(await findCardEvent(shop.book.store, event.id), before);
    const both = { id: 'evt_both' } as const;
    shop.beforeCommits.push(async () => {
      const faster = about(paidSession({ tier: null }), 'completed', both);
      assert.equal(await result(faster, aside()), 'mismatch');
    });
    assert.equal(await result({ ...other, ...both }), 'duplicate', 'another process was faster');
  });

  test('gives one key if all its events are sent again, at once and more than once', async () => {
    const { session, events } = await keyless('completed', 'paid later');
    const again = [...events, ...events, about(session), ...events];
    const results = await Promise.all(again.map((each) => result(each, rail(mended))));
    assert.deepEqual(results.toSorted(), [...Array<string>(6).fill('duplicate'), 'minted']);
    assert.deepEqual(await stateOf(session), ['paid', 'active']);
    assert.deepEqual(await shop.ledger((await orderAt(session))?.id ?? ''), [3_300]);
  });

  test('gives one key wherever another process handles the same event', async () => {
    for (let commits = 0; commits < 2; commits += 1) {
      const { session, event } = await keyless('completed');
      const free = (): Promise<void> => Promise.resolve();
      shop.beforeCommits.push(...Array<typeof free>(commits).fill(free), async () => {
        assert.equal(await result(event, rail({ ...mended, store: shop.aside.store })), 'minted');
      });
      assert.equal(await result(event, rail(mended)), 'duplicate');
      assert.deepEqual(await stateOf(session), ['paid', 'active']);
      assert.deepEqual(await shop.ledger((await orderAt(session))?.id ?? ''), [3_300]);
    }
  });

  test('gives none after its session gave one, even if that has ended', async () => {
    const { session, events } = await keyless('completed', 'paid later');
    assert.equal(await result(about(session), rail(mended)), 'minted');
    assert.equal(await result(refund(session.intent, price)), 'revoked');
    for (const each of events) assert.equal(await result(each, rail(mended)), 'duplicate');
    assert.deepEqual(await stateOf(session), ['refunded', 'revoked']);
    for (const { id } of events) assert.equal((await findCardEvent(shop.book.store, id))?.reason, null);
  });

  test('gives it though a process with other settings judges the event at the same time', async () => {
    const unknown = forgotten();
    const { session: known, event } = await keyless('completed');
    rate = { cents: 1n, source: 'fixed', atMs: shop.time.nowMs };
    for (const [session, what] of [
      [unknown, about(unknown)],
      [known, event],
    ] as const) {
      shop.beforeCommits.push(async () => {
        assert.equal(await result(what, aside()), 'mismatch');
      });
      assert.equal(await result(what, rail(mended)), 'minted');
      assert.deepEqual(await stateOf(session), ['paid', 'active']);
      assert.equal((await findCardEvent(shop.book.store, what.id))?.result, 'minted');
    }
  });

  test('or a refund of the other mode, takes effect once the server has the key of that mode', async () => {
    const live = { live: true };
    const session = await paidHere();
    const all = [about(session, 'completed', live), refund(session.intent, price, live)];
    for (const each of all) assert.equal(await result(each), 'mismatch');
    const liveKey = new StripeClient({ secretKey: 'sk_live_x', apiBase: stripe.apiBase });
    const results = [];
    for (const each of all) results.push(await result(each, rail({ stripe: liveKey })));
    assert.deepEqual(results, ['minted', 'revoked']);
    const early = refund(`pi_${random()}`, price, live);
    assert.equal(await result(early), 'mismatch');
    assert.equal(await result(early, rail({ stripe: liveKey })), 'recorded');
    const held = await heldEvents(
      shop.book.store,
      early.subject.kind === 'refund' ? early.subject.intent : '',
    );
    assert.equal(held.length, 1);
    const expired = about(paidSession(), 'expired', live);
    assert.equal(await result(expired), 'mismatch');
    assert.equal(await result(expired, rail({ stripe: liveKey })), 'ignored');
  });

  test('gives it, and only one, if the store fails at any one operation', async () => {
    await shop.eachFault(
      () => keyless('completed'),
      ({ event }) => rail(mended).settle(event),
      async ({ session, event }) => {
        await result(event, rail(mended));
        assert.deepEqual(await stateOf(session), ['paid', 'active']);
        assert.deepEqual(await shop.ledger((await orderAt(session))?.id ?? ''), [3_300]);
      },
    );
  });
});

describe('refunds and disputes', () => {
  async function minted(): Promise<CardSession> {
    const session = await paidHere();
    assert.equal(await result(about(session)), 'minted');
    return session;
  }

  const held = async ({ intent }: CardSession): Promise<number> =>
    (await heldEvents(shop.book.store, intent ?? '')).length;

  test('apply to the order of their payment, each with one result', async () => {
    const session = await minted();
    const { intent } = session;
    const other = await minted();
    assert.equal(await result(refund(intent, 1n)), 'recorded');
    assert.equal(await result(dispute(intent, 'dp_1', 'begun')), 'suspended');
    assert.deepEqual(await stateOf(session), ['disputed', 'suspended']);
    assert.equal(await result(dispute(intent, 'dp_1', 'won')), 'recorded');
    assert.deepEqual(await stateOf(session), ['paid', 'active']);
    const all = refund(intent, price);
    assert.equal(await result(all), 'revoked');
    assert.equal(await result(all), 'duplicate');
    assert.deepEqual(await stateOf(session), ['refunded', 'revoked']);
    assert.deepEqual(await stateOf(other), ['paid', 'active']);
    assert.deepEqual(await shop.ledger((await orderAt(session))?.id ?? ''), [3_300, -1, -3_299]);
  });

  test('that were held apply in the order in which they happened', async () => {
    // Ids are in the order against it, as the store would give them.
    const session = paidSession();
    const { intent } = session;
    const at = (id: string, step: number): Partial<CardEvent> => ({
      id: `evt_${id}_${random()}`,
      createdAtMs: shop.time.nowMs + step,
    });
    const waiting = [
      dispute(intent, `dp_${random()}`, 'begun', at('a', 3)),
      dispute(intent, 'dp_first', 'begun', at('c', 1)),
      dispute(intent, 'dp_first', 'won', at('b', 2)),
    ];
    for (const each of waiting) assert.equal(await result(each), 'recorded');
    assert.equal(await held(session), 3);
    assert.equal(await result(about(session)), 'minted');
    assert.deepEqual(await stateOf(session), ['disputed', 'suspended']);
    assert.equal(await held(session), 0);
  });

  test('that were held apply in the order in which they happened, each with its amount', async () => {
    const session = paidSession();
    const { intent } = session;
    const at = (id: string, step: number): Partial<CardEvent> => ({
      id: `evt_${id}_${random()}`,
      createdAtMs: shop.time.nowMs + step,
    });
    // Totals only grow: the lesser one, applied second, would be lost.
    assert.equal(await result(refund(intent, 300n, at('a', 2))), 'recorded');
    assert.equal(await result(refund(intent, 100n, at('b', 1))), 'recorded');
    assert.equal(await result(about(session)), 'minted');
    assert.deepEqual(await stateOf(session), ['paid', 'active']);
    assert.deepEqual(await shop.ledger((await orderAt(session))?.id ?? ''), [3_300, -100, -200]);
  });

  test('leave a mark of their beginning or end only if they are disputes', async () => {
    const session = await minted();
    const marks = async (): Promise<string[]> => {
      const range = { from: Buffer.from('dispute:'), to: Buffer.from('dispute:\u007f'), limit: 1_000 };
      const found = await shop.book.store.scan('cardMarks', range);
      return found.map(({ key }) => Buffer.from(key).toString());
    };
    const before = await marks();
    await result(refund(session.intent, 1n));
    await result(about(session, 'expired'));
    assert.deepEqual(await marks(), before);
    await result(dispute(session.intent, 'dp_noted', 'begun'));
    assert.deepEqual(new Set(await marks()), new Set([...before, 'dispute:dp_noted']));
    for (const mark of before) assert.match(mark, /^dispute:dp_/);
  });

  test('that were held and no longer change anything are dropped', async () => {
    const session = paidSession();
    const { intent } = session;
    const same = { createdAtMs: shop.time.nowMs };
    // Told of in the same second, the end first by its id.
    await result(dispute(intent, 'dp_same', 'won', { ...same, id: `evt_a_${random()}` }));
    await result(dispute(intent, 'dp_same', 'begun', { ...same, id: `evt_b_${random()}` }));
    assert.equal(await result(about(session)), 'minted');
    assert.deepEqual(await stateOf(session), ['paid', 'active']);
    assert.equal(await held(session), 0);
  });

  test('a refund that comes while its payment is being settled is not lost', async () => {
    const session = paidSession();
    shop.beforeCommits.push(async () => {
      assert.equal(await result(about(session), aside()), 'minted');
    });
    assert.equal(await result(refund(session.intent, price)), 'recorded');
    assert.deepEqual(await stateOf(session), ['refunded', 'revoked']);
    assert.equal(await held(session), 0);
  });

  test('that were held are released when an event whose answer was lost is repeated', async () => {
    for (const again of ['the payment', 'the refund'] as const) {
      const session = paidSession();
      const [payment, returned] = [about(session), refund(session.intent, price)];
      assert.equal(await result(returned), 'recorded');
      // The order is made, its payment is noted, and then nothing can be written.
      const free = (): Promise<void> => Promise.resolve();
      const down = (): Promise<void> => {
        shop.failing.failure = 'not written';
        shop.failing.failReads = false;
        return Promise.resolve();
      };
      shop.beforeCommits.push(free, free, down);
      await assert.rejects(rail().settle(payment), StoreUnavailable);
      shop.failing.failure = undefined;
      shop.failing.failReads = true;
      assert.deepEqual(await stateOf(session), ['paid', 'active']);
      assert.equal(await result(again === 'the payment' ? payment : returned), 'duplicate');
      assert.deepEqual(await stateOf(session), ['refunded', 'revoked'], again);
      assert.equal(await held(session), 0);
    }
  });

  test('take effect once if the same event arrives twice at the same time', async () => {
    const session = await paidHere();
    const what = about(session);
    shop.beforeCommits.push(async () => {
      assert.equal(await result(what, aside()), 'minted');
    });
    assert.equal(await result(what), 'duplicate');
    const returned = refund(session.intent, 100n);
    shop.beforeCommits.push(async () => {
      assert.equal(await result(returned, aside()), 'recorded');
    });
    assert.equal(await result(returned), 'duplicate');
    assert.deepEqual(await shop.ledger((await orderAt(session))?.id ?? ''), [3_300, -100]);
    const unknown = refund(`pi_${random()}`, 1n);
    shop.beforeCommits.push(async () => {
      assert.equal(await result(unknown, aside()), 'recorded');
    });
    assert.equal(await result(unknown), 'duplicate');
  });

  test('change nothing if a beginning comes after its end, which is recorded', async () => {
    const session = await minted();
    const { intent } = session;
    assert.equal(await result(dispute(intent, 'dp_over', 'won')), 'recorded');
    const begun = dispute(intent, 'dp_over', 'begun');
    assert.equal(await result(begun), 'recorded');
    assert.deepEqual(await stateOf(session), ['paid', 'active']);
    assert.equal((await findCardEvent(shop.book.store, begun.id))?.result, 'recorded');
    assert.equal(await result(begun), 'duplicate');
  });

  test('of which one is won leave the key suspended while another is open', async () => {
    const paidFirst = await minted();
    const paidLater = paidSession();
    for (const session of [paidFirst, paidLater]) {
      const { intent } = session;
      const [one, two] = [`dp_${random()}`, `dp_${random()}`];
      const step = async (id: string, what: 'begun' | 'won'): Promise<unknown> => {
        shop.time.nowMs += 1_000;
        return result(dispute(intent, id, what));
      };
      const first = await step(one, 'begun');
      assert.deepEqual([await step(two, 'begun'), await step(one, 'won')], ['recorded', 'recorded']);
      if (session === paidLater) assert.equal(await result(about(session)), 'minted');
      else assert.equal(first, 'suspended');
      assert.deepEqual(await stateOf(session), ['disputed', 'suspended']);
      assert.deepEqual((await orderAt(session))?.disputes, [two]);
      // A dispute that Stripe reports twice has begun once.
      assert.equal(await step(two, 'begun'), 'recorded');
      assert.equal(await step(two, 'won'), 'recorded');
      assert.deepEqual(await stateOf(session), ['paid', 'active']);
      assert.equal(await step(one, 'begun'), 'recorded');
      assert.deepEqual(await stateOf(session), ['paid', 'active']);
    }
  });

  test('find their order by the payment intent, which is bound to it once', async () => {
    const session = await minted();
    const order = await orderAt(session);
    const bound = await findOrderOfIntent(shop.book.store, session.intent ?? '');
    assert.equal(bound?.id, order?.id);
    assert.equal(await result(about(session)), 'duplicate');
  });

  test('are neither lost nor repeated if the store fails at any one operation', async () => {
    const begin = async () => {
      const session = await minted();
      return { session, what: refund(session.intent, 100n) };
    };
    await shop.eachFault(
      begin,
      ({ what }) => rail().settle(what),
      async ({ session, what }) => {
        await result(what);
        assert.deepEqual(await shop.ledger((await orderAt(session))?.id ?? ''), [3_300, -100]);
      },
    );
    const waiting = async () => {
      const session = paidSession();
      const returned = refund(session.intent, price);
      assert.equal(await result(returned), 'recorded');
      return { session, payment: about(session) };
    };
    const operations = await shop.eachFault(
      waiting,
      ({ payment }) => rail().settle(payment),
      async ({ session, payment }) => {
        await result(payment);
        assert.deepEqual(await stateOf(session), ['refunded', 'revoked']);
        assert.deepEqual(await shop.ledger((await orderAt(session))?.id ?? ''), [3_300, -3_300]);
        assert.equal(await held(session), 0);
      },
    );
    assert.equal(operations, 14, 'reads and commits, none of them in vain');
  });

  test('that are held, repeated or ignored are not lost if the store fails at any operation', async () => {
    const early = () => Promise.resolve({ session: paidSession(), id: random() });
    await shop.eachFault(early, ({ session, id }) => rail().settle(refund(session.intent, 1n, { id })));
    const known = async () => {
      const session = paidSession({ payment: 'unpaid' });
      const what = refund(session.intent, 1n);
      await result(what);
      return { what };
    };
    await shop.eachFault(known, ({ what }) => rail().settle(what));
    await shop.eachFault(early, () => rail().settle(event({ kind: 'other' })));
    const over = async () => {
      const session = await minted();
      await result(dispute(session.intent, `dp_of_${session.id}`, 'lost'));
      return { session, what: dispute(session.intent, `dp_of_${session.id}`, 'begun') };
    };
    await shop.eachFault(
      over,
      ({ what }) => rail().settle(what),
      async ({ session, what }) => {
        await result(what);
        assert.deepEqual(await stateOf(session), ['revoked', 'revoked']);
      },
    );
    const ended = async () => {
      const session = paidSession();
      const dp = `dp_of_${session.id}`;
      const same = { createdAtMs: shop.time.nowMs };
      await result(dispute(session.intent, dp, 'won', { ...same, id: `evt_a_${random()}` }));
      await result(dispute(session.intent, dp, 'begun', { ...same, id: `evt_b_${random()}` }));
      return { session, payment: about(session) };
    };
    await shop.eachFault(
      ended,
      ({ payment }) => rail().settle(payment),
      async ({ session, payment }) => {
        await result(payment);
        assert.deepEqual([await stateOf(session), await held(session)], [['paid', 'active'], 0]);
      },
    );
  });

  test('that concern no key are not reported to the operator, whatever their mode', async () => {
    const live = event({ kind: 'other' }, { live: true });
    assert.equal(await result(live), 'ignored');
    assert.equal(await lastEventMs(shop.book.store), shop.time.nowMs);
    assert.equal(await rail().reconcile(), 0);
    assert.deepEqual(await findCardEvent(shop.book.store, live.id), {
      ...{ id: live.id, type: 'other', about: '', result: 'ignored', reason: null },
      atMs: shop.time.nowMs,
    });
    assert.equal(await result(about(paidSession(), 'expired')), 'ignored');
    assert.equal(await result(refund(`pi_${random()}`, 1n)), 'recorded');
    assert.equal(shop.said(), '');
  });

  test('are not accepted while the store does not answer, and all are once it does', async () => {
    const session = await paidHere();
    const all = [about(session), refund(session.intent, 1n), event({ kind: 'other' })];
    for (const failure of ['not written', 'written'] as const) {
      for (const failReads of [true, false]) {
        for (const each of all) {
          if (failure === 'written' && !failReads) continue;
          shop.failing.failure = failure;
          shop.failing.failReads = failReads;
          await assert.rejects(rail().settle(each), StoreUnavailable);
          shop.failing.failure = undefined;
          shop.failing.failReads = true;
        }
      }
    }
    const results = [];
    for (const each of all) results.push(await result(each));
    assert.deepEqual(results, ['minted', 'recorded', 'duplicate'], 'the last was written, and not answered');
    assert.equal((await orderAt(session))?.refundedCents, 1n);
  });
});

describe('the card endpoints', () => {
  const secret = 'whsec_of_the_tests_that_signs_nothing_else';

  function routes(more: Partial<CardRoutesParts> = {}): CardRoutesParts {
    const rates = { current: () => Promise.resolve(rate) };
    return { ...shop.book, card: rail(), tiers, rates, webhookSecrets: [secret], ...more };
  }

  /** Delivers a body that was signed so many seconds ago. */
  function delivered(payload: string, parts = routes(), ageS = 0): Promise<Answer> {
    const timestamp = Math.floor(shop.time.nowMs / 1_000) - ageS;
    const header = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });
    const fields = (name: string): string => (name === 'stripe-signature' ? header : '');
    return call(cardHandlers(parts).cardWebhook, {
      input: undefined,
      body: Buffer.from(payload),
      header: fields,
    });
  }

  const signed = (what: object, parts = routes()): Promise<Answer> => delivered(JSON.stringify(what), parts);

  async function pickup(session: string, mayAct = true, parts = routes()): Promise<CardPickupResponse> {
    const asked = { input: undefined, path: { session_id: session }, mayAct };
    return jsonOf(await call(cardHandlers(parts).cardOrder, asked)) as CardPickupResponse;
  }

  test('belong to a rail that is paid elsewhere', () => {
    const { paid, title, note } = cardOrders(routes());
    assert.deepEqual([paid, title, note], ['elsewhere', 'Card', 'Paid at Stripe, in US dollars.']);
  });

  test('hand out paid keys even after the rail was switched off', async () => {
    const session = await paidHere();
    await result(about(session));
    const off = routes({ card: undefined });
    assert.equal((await pickup(session.id, false, off)).status, 'paid');
    const shown = await pickup(session.id, true, off);
    assert.deepEqual([shown.key_status, shown.tier], ['revealed_now', 'developer']);
  });

  test('make a session and describe it', async () => {
    const { eventId: event_id, ...input } = wish;
    const made = await call(cardHandlers(routes()).createCardOrder, { input: { ...input, event_id } });
    const { session_id, claim_token, ...rest } = jsonOf(made) as CardOrderCreated;
    assert.match(claim_token, /^ct_/);
    const order = await findOrderAt(shop.book.store, 'card', session_id);
    assert.deepEqual(rest, {
      order_id: order?.id,
      ...{ checkout_url: `https://checkout.stripe.com/c/pay/${session_id}`, tier: 'developer' },
      ...{ amount_cents: 3_300, currency: 'usd' },
      expires_at: new Date(order?.expiresAtMs ?? 0).toISOString(),
    });
    assert.deepEqual(
      [order?.email, order?.source, order?.segment, order?.campaign, order?.eventId],
      [wish.email, wish.source, wish.segment, wish.campaign, wish.eventId],
    );
    const bare = await call(cardHandlers(routes()).createCardOrder, { input: { tier: 'growth' as const } });
    const { session_id: id, amount_cents } = jsonOf(bare) as CardOrderCreated;
    const none = await findOrderAt(shop.book.store, 'card', id);
    assert.deepEqual(
      [amount_cents, none?.email, none?.source, none?.segment, none?.campaign, none?.eventId],
      [16_500, null, null, null, null, null],
    );
  });

  test('sell nothing if the rail is not set up or not ready, or if the store does not answer', async () => {
    const input = { tier: 'developer' } as const;
    const off = await call(cardHandlers(routes({ card: undefined })).createCardOrder, { input });
    assert.match((jsonOf(off, 503) as Problem).detail, /^Card payments are not configured on this server\. /);
    stripe.up = false;
    const down = await call(cardHandlers(routes()).createCardOrder, { input });
    assert.equal((jsonOf(down, 503) as Problem).code, 'rail_unavailable');
    stripe.up = true;
    shop.failing.failure = 'not written';
    const made = await call(cardHandlers(routes()).createCardOrder, { input });
    shop.failing.failure = undefined;
    assert.equal((jsonOf(made, 503) as Problem).code, 'store_unavailable');
  });

  test('say whether a tier can be paid for, and for how much', async () => {
    const status = async (query: Record<string, string>, parts = routes()): Promise<CardStatusResponse> =>
      jsonOf(await call(cardHandlers(parts).cardStatus, { input: undefined, query })) as CardStatusResponse;
    const on = { rail: 'card', provider: 'stripe', configured: true, ready: true, reason: null } as const;
    const more = { currency: 'usd', methods: ['card'], checkout_url: '/v1/checkout/card' };
    assert.deepEqual(await status({}), { ...on, ...more, tier: 'growth', amount_cents: 16_500 });
    assert.deepEqual(await status({ tier: 'enterprise' }), {
      ...on,
      ...more,
      ...{ tier: 'enterprise', amount_cents: 132_000 },
    });
    rate = { reason: 'There is no rate.' };
    const priceless = await status({});
    assert.deepEqual(
      [priceless.ready, priceless.reason, priceless.amount_cents, priceless.currency, priceless.checkout_url],
      [false, 'There is no rate.', null, null, null],
    );
    assert.deepEqual(priceless.methods, ['card']);
    const off = await status({}, routes({ card: undefined }));
    assert.deepEqual(
      [off.configured, off.ready, off.reason, off.methods],
      [false, false, 'Card payments are not configured on this server.', []],
    );
    const full = await status({}, { ...routes(), isStorageReserved: () => true });
    assert.deepEqual([full.ready, full.reason], [false, 'The server has almost no disk space left.']);
  });

  test('list the payment methods that the account has switched on', async () => {
    const methods = async (): Promise<readonly string[]> => {
      const answer = await call(cardHandlers(routes()).cardStatus, { input: undefined, query: {} });
      return (jsonOf(answer) as CardStatusResponse).methods;
    };
    assert.deepEqual(await methods(), ['card']);
    stripe.methods.set('paypal', true);
    assert.deepEqual(await methods(), ['card', 'paypal']);
    stripe.methods.set('card', false);
    assert.deepEqual(await methods(), ['paypal']);
    stripe.configurations = false;
    assert.deepEqual(await methods(), []);
    stripe.configurations = true;
    stripe.methods.set('card', true).set('paypal', false);
    // Any number of looks within half a minute asks once.
    const parts = routes();
    const asked = (): number => stripe.asked.filter((each) => each.includes('configurations')).length;
    const before = asked();
    for (let at = 0; at < 5; at += 1)
      await call(cardHandlers(parts).cardStatus, { input: undefined, query: {} });
    assert.equal(asked(), before + 1);
  });

  test('accept signed events, and say what came of them', async () => {
    const { order } = await ordered();
    const created = Math.floor(shop.time.nowMs / 1_000);
    const object = {
      ...{ id: order.place, created, payment_status: 'paid', amount_total: 3_300, currency: 'usd' },
      ...{ payment_intent: { id: `pi_${random()}` }, metadata: null },
    };
    const what = { id: `evt_${random()}`, type: 'checkout.session.completed', livemode: false, created };
    const taken = async (more: object, parts = routes()): Promise<string> =>
      (jsonOf(await signed({ ...what, data: { object }, ...more }, parts)) as CardWebhookResponse).result;
    const off = await signed({}, routes({ card: undefined }));
    assert.equal((jsonOf(off, 503) as Problem).code, 'webhook_not_configured');
    const secretless = await signed({}, routes({ webhookSecrets: [] }));
    assert.equal((jsonOf(secretless, 503) as Problem).code, 'webhook_not_configured');
    const foreign = await signed({}, routes({ webhookSecrets: ['whsec_another'] }));
    assert.equal((jsonOf(foreign, 400) as Problem).code, 'bad_signature');
    shop.failing.failure = 'not written';
    const lost = await signed({ ...what, data: { object } });
    shop.failing.failure = undefined;
    assert.equal((jsonOf(lost, 503) as Problem).code, 'store_unavailable');
    // What the processor must be asked first, and does not say: the event is to come again.
    const elsewhere = { ...object, id: `cs_test_${random()}` };
    const asking = routes({ card: rail({ prices: { price_a: 'growth' } }) });
    const unasked = await signed({ ...what, id: `evt_${random()}`, data: { object: elsewhere } }, asking);
    assert.equal((jsonOf(unasked, 503) as Problem).code, 'store_unavailable');
    assert.deepEqual(jsonOf(await signed({})), { received: true, result: 'ignored' });
    assert.equal(await taken({}), 'minted');
    assert.equal(await taken({}), 'duplicate');
    assert.equal(await taken({ id: 'of a shape that is none' }), 'ignored');
    assert.equal(await lastEventMs(shop.book.store), shop.time.nowMs);
    const status = async (more: Partial<CardRoutesParts> = {}): Promise<CardWebhookStatusResponse> =>
      jsonOf(
        await call(cardHandlers(routes(more)).cardWebhookStatus, { input: undefined }),
      ) as CardWebhookStatusResponse;
    assert.deepEqual(await status(), {
      ...{ configured: true, secrets: 1, last_event_at: new Date(shop.time.nowMs).toISOString() },
      ...{ ready: true, reason: null },
    });
    const { store } = (await Shop.open()).book;
    assert.equal((await status({ store })).last_event_at, null, 'where there was none');
    const bare = await status({ webhookSecrets: [] });
    assert.deepEqual(
      [bare.configured, bare.ready, bare.reason],
      [false, false, 'The webhook has no secret.'],
    );
    const none = await status({ card: undefined });
    assert.deepEqual(
      [none.configured, none.ready, none.reason],
      [false, false, 'Card payments are not configured on this server.'],
    );
    shop.failing.failure = 'not written';
    const unread = await call(cardHandlers(routes()).cardWebhookStatus, { input: undefined });
    shop.failing.failure = undefined;
    assert.equal((jsonOf(unread, 503) as Problem).code, 'store_unavailable');
  });

  test('accept signatures of the last 300 seconds, by any of their secrets', async () => {
    const result = async (answer: Promise<Answer>): Promise<string> =>
      (jsonOf(await answer) as CardWebhookResponse).result;
    const refused = async (answer: Promise<Answer>): Promise<string> =>
      (jsonOf(await answer, 400) as Problem).code;
    const body = JSON.stringify({});
    assert.equal(await result(delivered(body, routes(), 300)), 'ignored');
    assert.equal(await refused(delivered(body, routes(), 301)), 'bad_signature');
    for (const webhookSecrets of [
      [secret, 'whsec_another'],
      ['whsec_another', secret],
    ]) {
      assert.equal(await result(delivered(body, routes({ webhookSecrets }))), 'ignored');
    }
    for (const webhookSecrets of [['whsec_another'], ['']]) {
      assert.equal(await refused(delivered(body, routes({ webhookSecrets }))), 'bad_signature');
    }
    assert.equal(await result(delivered('no JSON')), 'ignored', 'signed, and of no known shape');
  });

  test('show a buyer each state of a session, and the tier once it is decided', async () => {
    const seen = async (session: CardSession): Promise<unknown[]> => {
      const { status, tier, key_status } = await pickup(session.id, false);
      return [status, tier, key_status];
    };
    const session = await paidHere();
    assert.deepEqual(await seen(session), ['pending', null, 'none']);
    await result(about(session));
    assert.deepEqual(await seen(session), ['paid', 'developer', 'none']);
    assert.equal((await pickup(session.id)).key_status, 'revealed_now');
    assert.deepEqual(await seen(session), ['paid', 'developer', 'already_revealed']);
    await result(dispute(session.intent, `dp_${random()}`, 'begun'));
    assert.deepEqual(await seen(session), ['paid', 'developer', 'suspended']);
    await result(refund(session.intent, price));
    assert.deepEqual(await seen(session), ['refunded', 'developer', 'revoked']);
    const lost = await paidHere();
    await result(about(lost));
    await result(dispute(lost.intent, `dp_${random()}`, 'lost'));
    assert.deepEqual(await seen(lost), ['refunded', 'developer', 'revoked']);
    // The operator ended the key: the money stays where it is.
    const misused = await paidHere();
    await result(about(misused));
    const keyId = (await orderAt(misused))?.keyId;
    await revokeKey({ ...shop.book, clock: shop.time.clock }, keyId ?? '', 'misuse');
    assert.deepEqual(await seen(misused), ['paid', 'developer', 'revoked']);
    for (const end of ['failed', 'expired'] as const) {
      const ended = await paidHere();
      await result(about(ended, end));
      assert.deepEqual(await seen(ended), ['expired', 'developer', 'none']);
    }
  });

  test('reject session ids that do not have Stripe’s form', async () => {
    for (const id of [
      '',
      'cs_test_',
      'cs_other_a',
      ' cs_test_a',
      'cs_test_a ',
      `cs_test_${'a'.repeat(181)}`,
    ]) {
      const answer = await call(cardHandlers(routes()).cardOrder, {
        input: undefined,
        path: { session_id: id },
      });
      assert.equal((jsonOf(answer, 404) as Problem).code, 'order_not_found', id);
    }
    for (const id of ['cs_test_a', 'cs_live_A_1', `cs_test_${'a'.repeat(180)}`]) {
      assert.equal((await pickup(id)).status, 'pending', id);
    }
    shop.failing.failure = 'not written';
    const path = { session_id: 'cs_test_a' };
    const unread = await call(cardHandlers(routes()).cardOrder, { input: undefined, path });
    const page = await pickUpCard(routes())(pollRequest(request({ input: undefined })), 'cs_test_a');
    shop.failing.failure = undefined;
    assert.equal((jsonOf(unread, 503) as Problem).code, 'store_unavailable');
    assert.equal(page, undefined);
  });

  test('tell the page that a buyer returns to when the key was handed out', async () => {
    const session = await paidHere();
    const look = pickUpCard(routes());
    const asked = pollRequest(request({ input: undefined }));
    assert.equal((await look(asked, 'nonsense'))?.pickup.status, 'pending');
    assert.equal((await look(asked, session.id))?.revealedAtMs, null);
    await result(about(session));
    const shown = await look(asked, session.id);
    assert.deepEqual([shown?.pickup.key_status, shown?.revealedAtMs], ['revealed_now', shop.time.nowMs]);
    const { order } = await ordered();
    shop.time.nowMs += 1;
    const again = await look(asked, session.id);
    assert.deepEqual(
      [again?.pickup.key_status, again?.revealedAtMs],
      ['already_revealed', shop.time.nowMs - 1],
    );
    assert.equal((await look(asked, order.place))?.pickup.status, 'pending');
  });
});

describe('events since a backup', () => {
  const at = (ms: number): number => Math.floor(ms / 1_000);

  /** An event as Stripe keeps it. */
  function happens(type: string, object: object): string {
    const id = `evt_${random()}`;
    const created = at(shop.time.nowMs);
    stripe.events.push(Object.assign({ id, created, type }, { livemode: false, data: { object } }));
    return id;
  }

  function pays({ order }: MadeCardOrder, intent: string): string {
    const money = { payment_status: 'paid', amount_total: Number(price), currency: 'usd' };
    const session = { id: order.place, payment_intent: intent, created: at(order.createdAtMs), ...money };
    return happens('checkout.session.completed', session);
  }

  /** A session made after the backup, whose payment gives no key, and why. */
  function paysTooLittle(tier: string) {
    const money = { payment_status: 'paid', amount_total: 500, currency: 'usd', metadata: { tier } };
    const about = `cs_test_${random()}`;
    const session = { id: about, payment_intent: null, created: at(shop.time.nowMs), ...money };
    happens('checkout.session.completed', session);
    const reason = `It paid 500 cents, which was no price of ${tier} while it could be paid.`;
    return { kind: 'mismatch', about, reason } as const;
  }

  beforeEach(() => {
    stripe.events.splice(0);
    stripe.pageEvents = 100;
  });

  test('are applied in their order, over several pages, and once', async () => {
    const card = rail();
    const [paid, refunded, known] = [await ordered(), await ordered(), await ordered()];
    const fromMs = shop.time.nowMs;
    stripe.pageEvents = 2;
    const intent = `pi_${random()}`;
    pays(paid, `pi_${random()}`);
    pays(refunded, intent);
    happens('charge.refunded', { payment_intent: intent, amount_refunded: Number(price) });
    happens('customer.created', { id: 'cus_1' });
    pays(known, `pi_${random()}`);
    assert.deepEqual(await card.catchUp(fromMs), { changed: 4, mismatches: [] });
    const statusOf = async ({ order }: MadeCardOrder) => (await shop.stored(order.id)).key;
    assert.deepEqual(
      [await statusOf(paid), await statusOf(refunded), await statusOf(known)],
      ['active', 'revoked', 'active'],
    );
    assert.deepEqual(await card.catchUp(fromMs), { changed: 0, mismatches: [] });
  });

  test('that gave no key are named with the reason, once', async () => {
    const card = rail();
    const fromMs = shop.time.nowMs;
    const known = paysTooLittle('growth');
    assert.deepEqual(await card.catchUp(fromMs), { changed: 0, mismatches: [known] });
    pays(await ordered(), `pi_${random()}`);
    const unknown = paysTooLittle('developer');
    assert.deepEqual(await card.catchUp(fromMs), { changed: 1, mismatches: [unknown] });
    assert.deepEqual(await card.catchUp(fromMs), { changed: 0, mismatches: [] });
  });

  test('that change no order are not counted', async () => {
    const card = rail();
    const fromMs = shop.time.nowMs;
    const made = await ordered();
    const intent = `pi_${random()}`;
    pays(made, intent);
    const inquiry = { id: 'dp_1', payment_intent: intent, status: 'warning_needs_response' };
    happens('charge.dispute.created', inquiry);
    const euros = { payment_status: 'paid', amount_total: Number(price), currency: 'eur' };
    const session = { id: (await ordered()).order.place, payment_intent: null, created: 0, ...euros };
    happens('checkout.session.completed', session);
    stripe.events.push({ id: 'evt_without_data', created: at(fromMs), type: 'charge.refunded' });
    const reason = 'It was paid in eur, not in usd.';
    const mismatches = [{ kind: 'mismatch', about: session.id, reason }];
    assert.deepEqual(await card.catchUp(fromMs), { changed: 1, mismatches });
  });

  test('stop where Stripe does not say what was sold, and resume there the next time', async () => {
    const card = rail({ prices: { price_a: 'growth' } });
    const fromMs = shop.time.nowMs;
    const intent = `pi_${random()}`;
    const id = `cs_test_${random()}`;
    const money = { payment_status: 'paid', amount_total: 10 * Number(price), currency: 'usd' };
    const other = `cs_test_${random()}`;
    stripe.sold.set(other, [['price_b', 1]]);
    happens('checkout.session.completed', { id: other, payment_intent: null, created: 0, ...money });
    happens('checkout.session.completed', { id, payment_intent: intent, created: at(fromMs), ...money });
    pays(await ordered(), `pi_${random()}`);
    const told = await card.catchUp(fromMs);
    assert.match('wrong' in told ? told.wrong : '', /No such/);
    const reason = 'It is for something other than one price of STRIPE_PRICES.';
    assert.deepEqual(told.mismatches, [{ kind: 'mismatch', about: other, reason }]);
    stripe.sold.set(id, [['price_a', 1]]);
    assert.deepEqual(await card.catchUp(fromMs), { changed: 2, mismatches: [] });
  });

  test('are requested from a given time on', async () => {
    const made = await ordered();
    pays(made, `pi_${random()}`);
    assert.deepEqual(await rail().catchUp(shop.time.nowMs + 1_000), { changed: 0, mismatches: [] });
    assert.equal((await shop.stored(made.order.id)).status, 'open');
  });

  test('that Stripe does not show are reported', async () => {
    stripe.up = false;
    const told = await rail().catchUp(0);
    assert.match('wrong' in told ? told.wrong : '', /Invalid API Key/);
    assert.deepEqual(told.mismatches, []);
  });
});
