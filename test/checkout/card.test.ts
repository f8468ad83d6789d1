/**
 * Card payments by signed events, through HTTP, on a real store: they take effect once, in any order, and
 * never without a payment. Stripe's own helper signs; sessions at its API are tested with the other payment
 * nodes.
 */
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Stripe from 'stripe';
import type {
  CardPickupResponse,
  CardWebhookResponse,
  CardWebhookStatusResponse,
} from '../../src/contract/card.js';
import type { Problem } from '../../src/contract/problem.js';
import { allCardEvents, type CardEventRecord } from '../../src/store/tables/cardEvents.js';
import { allKeys, type KeyRecord } from '../../src/store/tables/keys.js';
import { keepRate } from '../../src/store/tables/rates.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { exchange, head, post, type RawResponse } from '../support/raw.js';
import { forLength } from '../support/length.js';
import { run, memoryFolder, type Running } from '../support/run.js';
import { until } from '../support/until.js';
import { storeAt } from '../support/openStore.js';
import { collect } from '../support/collect.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const secret = 'whsec_of_the_tests_that_signs_nothing_else';
const older = 'whsec_that_is_being_replaced';
const path = '/v1/checkout/card';
const data = memoryFolder();
/** 50,000 sat at 60,000 US dollars a BTC and a surcharge of 10 %. */
const developer = 3_300;

interface Sent {
  readonly secret?: string;
  readonly atS?: number;
  readonly body?: (signed: string) => string;
  readonly signature?: string;
}

function random(): string {
  return systemRandomness(8).toString('hex');
}

function event(type: string, object: object, more: object = {}): object {
  const created = Math.floor(Date.now() / 1_000);
  return {
    id: `evt_${random()}`,
    object: 'event',
    type,
    created,
    livemode: false,
    data: { object },
    ...more,
  };
}

interface Session {
  readonly id: string;
  readonly payment_intent: string | null;
}

function session(more: object = {}): Session {
  return {
    ...{
      id: `cs_test_${random()}`,
      object: 'checkout.session',
      mode: 'payment',
      created: Math.floor(Date.now() / 1_000),
    },
    ...{ payment_status: 'paid', amount_total: developer, currency: 'usd', payment_intent: `pi_${random()}` },
    ...{ metadata: { tier: 'developer' } },
    ...more,
  };
}

const completed = (of: object): object => event('checkout.session.completed', of);
const refunded = (intent: string | null, cents: number): object =>
  event('charge.refunded', { object: 'charge', payment_intent: intent, amount_refunded: cents });
const disputed = (intent: string | null, id: string, what: 'created' | 'closed', status: string): object =>
  event(`charge.dispute.${what}`, { id, object: 'dispute', payment_intent: intent, status });

function headersFor(body: string, sent: Sent): Record<string, string> {
  const signature = Stripe.webhooks.generateTestHeaderString({
    payload: body,
    secret: sent.secret ?? secret,
    ...(sent.atS === undefined ? {} : { timestamp: sent.atS }),
  });
  return { 'Content-Type': 'application/json', 'Stripe-Signature': sent.signature ?? signature };
}

describe('card', () => {
  let server: Running;
  let port = 0;
  const environment = {
    ...{ STORE_URL: `lmdb:${data}/store`, PORT: '0', WORKERS: '2', RATE_SOURCE: 'fixed:60000' },
    ...{ STRIPE_SECRET_KEY: 'sk_test_of_the_tests', STRIPE_WEBHOOK_SECRET: `${secret},${older}` },
    CHECKOUT_REQUESTS_PER_MINUTE: '0',
    POLLS_PER_MINUTE: '0',
    PAGES_PER_MINUTE: '0',
    CARD_EVENTS_PER_MINUTE: '0',
  };
  const launch = AsyncResource.bind((more: Record<string, string>) =>
    run(main, ['serve'], { ...environment, ...more }),
  );

  async function start(more: Record<string, string> = {}): Promise<void> {
    server = launch(more);
    port = Number((await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/))[1]);
  }

  async function stop(): Promise<void> {
    server.child.kill('SIGTERM');
    await server.ended();
  }

  before(() => start());

  function deliver(what: object, sent: Sent = {}): Promise<RawResponse> {
    const body = JSON.stringify(what);
    return exchange(port, post(`${path}/webhook`, sent.body?.(body) ?? body, headersFor(body, sent)));
  }

  async function result(what: object, sent: Sent = {}): Promise<CardWebhookResponse['result']> {
    const answer = await deliver(what, sent);
    assert.equal(answer.status, 200, answer.body.toString());
    return (JSON.parse(answer.body.toString()) as CardWebhookResponse).result;
  }

  async function pickup(id: string, mayAct = true): Promise<CardPickupResponse> {
    const fields = mayAct ? {} : { 'Sec-Purpose': 'prefetch' };
    const answer = await exchange(port, head('GET', `${path}/${id}`, fields));
    assert.equal(answer.status, 200, answer.body.toString());
    return JSON.parse(answer.body.toString()) as CardPickupResponse;
  }

  /** A session whose payment settled. */
  async function paid(): Promise<Session> {
    const made = session();
    assert.equal(await result(completed(made)), 'minted');
    return made;
  }

  async function onStore<Value>(read: (store: Awaited<ReturnType<typeof storeAt>>) => Promise<Value>) {
    const store = await storeAt(`lmdb:${data}/store`);
    try {
      return await read(store);
    } finally {
      await store.close();
    }
  }

  async function keys(): Promise<KeyRecord[]> {
    return onStore((store) => collect(allKeys(store)));
  }

  async function events(): Promise<CardEventRecord[]> {
    return onStore((store) => collect(allCardEvents(store)));
  }

  async function statusWith(key: string | null): Promise<number> {
    const body = JSON.stringify({ query: 'a', docs: [{ id: '1', text: 'a', dense_score: 1 }] });
    const fields = { 'Content-Type': 'application/json', 'X-API-Key': key ?? '' };
    return (await exchange(port, post('/v1/fuse', body, fields))).status;
  }

  test('a paid event makes a key, which is picked up once', async () => {
    const made = session();
    assert.deepEqual(await pickup(made.id), {
      ...{ order_id: null, session_id: made.id, status: 'pending', tier: null },
      ...{ api_key: null, key_status: 'none', key_detail: null, key_expires_at: null },
    });
    const what = completed(made);
    assert.equal(await result(what), 'minted');
    assert.equal(await result(what), 'duplicate');
    assert.equal((await pickup(made.id, false)).api_key, null);
    const first = await pickup(made.id);
    assert.deepEqual([first.status, first.tier, first.key_status], ['paid', 'developer', 'revealed_now']);
    assert.equal(await statusWith(first.api_key), 200);
    const second = await pickup(made.id);
    assert.deepEqual([second.api_key, second.key_status], [null, 'already_revealed']);
  });

  test('the page a buyer comes back to waits, shows the key once, and then says when it did', async () => {
    const made = session();
    const look = async (method = 'GET'): Promise<string> => {
      const answer = await exchange(port, head(method, `/card/success?session_id=${made.id}`));
      assert.equal(answer.status, 200);
      return answer.body.toString();
    };
    assert.match(await look(), /http-equiv="refresh" content="5"[^]*Waiting for the processor/);
    assert.doesNotMatch(await look(), /Thank you/, 'nobody is thanked for a payment that is not known');
    const nowhere = (await exchange(port, head('GET', '/card/success'))).body.toString();
    assert.match(nowhere, /names no payment[^]*href="\/buy"/);
    assert.doesNotMatch(nowhere, /Thank you|http-equiv="refresh"/);
    assert.equal(await result(completed(made)), 'minted');
    assert.equal(await look('HEAD'), '');
    const [, key] = /<p class="value key">(fg_[\w-]+)<\/p>/.exec(await look()) ?? [];
    assert.equal(await statusWith(key ?? ''), 200);
    const later = await look();
    assert.match(later, /It was shown on \w{3}, \d{2} \w{3} \d{4} [\d:]{8} GMT, and is not stored/);
    assert.ok(!later.includes('fg_') && !later.includes('http-equiv="refresh"'));
    assert.equal(await result(refunded(made.payment_intent, developer)), 'revoked');
    assert.match(await look(), /This payment was returned/);
  });

  test('a signature that is wrong, old, doubled or missing is 400, and the event has no effect', async () => {
    const made = session();
    const what = completed(made);
    const body = JSON.stringify(what);
    const wrong: readonly Sent[] = [
      { secret: 'whsec_another_one' },
      { atS: Math.floor(Date.now() / 1_000) - 301 },
      { body: (signed) => signed.slice(0, -1) },
      { body: (signed) => JSON.stringify(JSON.parse(signed), undefined, 1) },
      { body: (signed) => `${signed} ` },
      { signature: '' },
      { signature: 't=,v1=' },
      { signature: `t=${Math.floor(Date.now() / 1_000)},v1=${'0'.repeat(64)},v1=${'1'.repeat(64)}` },
      { signature: `t=9e99,v1=${'0'.repeat(64)}` },
    ];
    for (const sent of wrong) {
      const answer = await deliver(what, sent);
      assert.equal(answer.status, 400, JSON.stringify(sent));
      assert.equal((JSON.parse(answer.body.toString()) as Problem).code, 'bad_signature');
    }
    // The same signature twice in the field is Stripe's way while a secret is replaced.
    const { 'Stripe-Signature': good = '' } = headersFor(body, {});
    const both = `${good},v1=${'0'.repeat(64)}`;
    assert.equal((await pickup(made.id)).status, 'pending');
    assert.equal(await result(what, { signature: both }), 'minted');
    assert.equal(await result(completed(session()), { secret: older }), 'minted');
  });

  test('a payment that matches no order or no price gives no key, and is recorded', async () => {
    const before = (await keys()).length;
    const cases: readonly (readonly [object, RegExp])[] = [
      [session({ amount_total: developer - 1 }), /^It paid 3299 cents, which was no price of developer/],
      [session({ amount_total: developer + 1 }), /^It paid 3301 cents, which was no price/],
      [session({ metadata: { tier: 'growth' } }), /^It paid 3300 cents, which was no price of growth/],
      [session({ metadata: { tier: 'gold' } }), /names no tier/],
      [session({ metadata: null }), /names no tier/],
      [session({ currency: 'eur' }), /^It was paid in eur, not in usd\.$/],
      [session({ mode: 'subscription', payment_intent: null }), /^It is not a one-time payment, /],
      [session({ payment_intent: null }), /^It was paid without a payment intent\.$/],
    ];
    const reasons = new Map<string, string | null>();
    for (const [of] of cases) assert.equal(await result(completed(of)), 'mismatch', JSON.stringify(of));
    const live = session();
    assert.equal(await result(event('checkout.session.completed', live, { livemode: true })), 'mismatch');
    const free = session({ payment_status: 'no_payment_required', amount_total: 0, payment_intent: null });
    assert.equal(await result(completed(free)), 'mismatch');
    for (const { about, reason } of await events()) reasons.set(about, reason);
    for (const [of, expected] of cases) assert.match(reasons.get((of as Session).id) ?? '', expected);
    assert.match(reasons.get(live.id) ?? '', /live mode/);
    assert.equal((await keys()).length, before);
    assert.equal((await pickup(live.id)).status, 'pending');
  });

  test('the price that was fixed when a session was made stays valid, however long it lasts', async () => {
    const nowMs = Date.now();
    const before = { cents: 5_000_000n, atMs: nowMs - 3_600_000, stays: true };
    await onStore((store) => keepRate(store, before));
    const created = Math.floor(nowMs / 1_000) - 1_800;
    assert.equal(await result(completed(session({ created, amount_total: 2_751 }))), 'mismatch');
    assert.equal(await result(completed(session({ created, amount_total: 2_750 }))), 'minted');
  });

  test('events that say nothing about keys are ignored, whatever they hold', async () => {
    const before = (await keys()).length;
    for (const what of [
      event('payment_intent.succeeded', { id: 'pi_1' }),
      event('checkout.session.completed', {}),
      event('checkout.session.completed', { id: 5, created: 'x' }),
      event('checkout.session.completed', session({ payment_status: 'maybe' })),
      event('checkout.session.expired', session()),
      event('charge.refunded', { amount_refunded: -1, payment_intent: 'pi_2' }),
      event('charge.dispute.created', {
        id: 'dp_1',
        payment_intent: 'pi_3',
        status: 'warning_needs_response',
      }),
    ]) {
      assert.equal(await result(what), 'ignored', JSON.stringify(what));
    }
    const thin = { id: 'evt_1', object: 'v2.core.event', type: 'v1.billing.meter.no_meter_found' };
    for (const what of [thin, {}, [], { id: 'evt', type: 1 }, { id: 'x y', type: 'a', data: {} }]) {
      assert.equal(await result(what), 'ignored', JSON.stringify(what));
      const unsigned = await deliver(what, { secret: 'whsec_another_one' });
      assert.equal(unsigned.status, 400);
    }
    assert.equal((await keys()).length, before);
  });

  test('a payment that arrives later is pending until then', async () => {
    const made = session({ payment_status: 'unpaid' });
    assert.equal(await result(completed(made)), 'ignored');
    const later = { ...made, payment_status: 'paid' };
    assert.equal(await result(event('checkout.session.async_payment_succeeded', later)), 'minted');
    assert.equal(await result(event('checkout.session.async_payment_failed', later)), 'recorded');
    assert.equal((await pickup(made.id)).status, 'paid');
  });

  test('a partial refund is recorded, and a full one ends the key', async () => {
    const made = await paid();
    const { api_key: key } = await pickup(made.id);
    assert.equal(await result(refunded(made.payment_intent, 1_000)), 'recorded');
    assert.equal(await statusWith(key), 200);
    assert.equal(await result(refunded(made.payment_intent, developer)), 'revoked');
    assert.deepEqual(
      [(await pickup(made.id)).status, (await pickup(made.id)).key_status],
      ['refunded', 'revoked'],
    );
    // Every worker learns of it within a second.
    await until(async () => (await statusWith(key)) === 401);
  });

  test('a dispute suspends the key, which returns if it is won and ends if it is lost', async () => {
    const made = await paid();
    assert.equal(
      await result(disputed(made.payment_intent, 'dp_a', 'created', 'needs_response')),
      'suspended',
    );
    assert.deepEqual(
      [(await pickup(made.id)).status, (await pickup(made.id)).key_status],
      ['paid', 'suspended'],
    );
    assert.equal(await result(disputed(made.payment_intent, 'dp_a', 'closed', 'won')), 'recorded');
    assert.equal((await pickup(made.id)).key_status, 'revealed_now');
    assert.equal(
      await result(disputed(made.payment_intent, 'dp_b', 'created', 'needs_response')),
      'suspended',
    );
    assert.equal(await result(disputed(made.payment_intent, 'dp_b', 'closed', 'lost')), 'revoked');
    assert.equal((await pickup(made.id)).key_status, 'revoked');
  });

  test('a dispute may end before it begins', async () => {
    const won = await paid();
    assert.equal(await result(disputed(won.payment_intent, 'dp_c', 'closed', 'won')), 'recorded');
    assert.equal(await result(disputed(won.payment_intent, 'dp_c', 'created', 'needs_response')), 'recorded');
    assert.equal((await pickup(won.id)).key_status, 'revealed_now');
    const lost = await paid();
    assert.equal(await result(disputed(lost.payment_intent, 'dp_d', 'closed', 'lost')), 'revoked');
    assert.equal(
      await result(disputed(lost.payment_intent, 'dp_d', 'created', 'needs_response')),
      'recorded',
    );
    assert.equal((await pickup(lost.id)).key_status, 'revoked');
  });

  test('an event that overtakes its payment waits for it', async () => {
    const made = session();
    assert.equal(await result(refunded(made.payment_intent, developer)), 'recorded');
    assert.equal(await result(completed(made)), 'minted');
    assert.deepEqual(
      [(await pickup(made.id)).status, (await pickup(made.id)).key_status],
      ['refunded', 'revoked'],
    );
    const other = session();
    assert.equal(
      await result(disputed(other.payment_intent, 'dp_e', 'created', 'needs_response')),
      'recorded',
    );
    assert.equal(await result(completed(other)), 'minted');
    assert.equal((await pickup(other.id)).key_status, 'suspended');
  });

  const rounds = forLength({ short: 5, long: 10 });
  test(`${rounds * 100} deliveries in any order over 4 processes, with kills between: one key`, async () => {
    await stop();
    await start({ WORKERS: '4' });
    const made = session();
    const all = [
      completed(made),
      event('checkout.session.async_payment_succeeded', made),
      refunded(made.payment_intent, 1_000),
      disputed(made.payment_intent, 'dp_f', 'created', 'needs_response'),
      disputed(made.payment_intent, 'dp_f', 'closed', 'won'),
    ];
    const results: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const asked = Array.from({ length: 100 }, (_, index) =>
        deliver(all[(index * 7 + round) % all.length] ?? {}).catch(() => undefined),
      );
      if (round % 3 === 1) {
        await Promise.race(asked);
        server.child.kill('SIGKILL');
        await server.ended();
      }
      for (const answer of await Promise.all(asked)) {
        if (answer?.status !== 200) continue;
        results.push((JSON.parse(answer.body.toString()) as CardWebhookResponse).result);
      }
      if (round % 3 === 1) await start({ WORKERS: '4' });
    }
    // A delivery whose answer was lost comes again, as Stripe sends it.
    for (const each of all) results.push(await result(each));
    assert.ok(results.filter((each) => each === 'minted').length <= 1);
    const own = (await keys()).filter(({ origin }) => origin !== '');
    const picked = await pickup(made.id);
    assert.deepEqual([picked.status, picked.key_status], ['paid', 'revealed_now']);
    const hashes = new Set(own.map(({ hash }) => Buffer.from(hash).toString('hex')));
    assert.equal(hashes.size, own.length);
    assert.equal(await statusWith(picked.api_key), 200);
    const orders = own.map(({ origin }) => origin);
    assert.equal(new Set(orders).size, orders.length, 'an order has two keys');
  });

  test('a free session made elsewhere gives no key, even where discounts are allowed', async () => {
    await stop();
    await start({ STRIPE_ALLOW_DISCOUNTS: 'yes' });
    const free = session({ payment_status: 'no_payment_required', amount_total: 0, payment_intent: null });
    assert.equal(await result(completed(free)), 'mismatch', 'made elsewhere: nothing says what it is worth');
  });

  test('the status of the webhook says when the last event came, and shows no secret', async () => {
    const answer = await exchange(port, head('GET', `${path}/webhook/status`));
    const status = JSON.parse(answer.body.toString()) as CardWebhookStatusResponse;
    assert.deepEqual([status.configured, status.ready, status.secrets], [true, true, 2]);
    assert.ok(Date.now() - Date.parse(status.last_event_at ?? '') < 60_000);
    assert.ok(!answer.body.toString().includes('whsec'));
  });

  test('a webhook without a secret accepts nothing', async () => {
    await stop();
    await start({ STRIPE_WEBHOOK_SECRET: '' });
    const answer = await deliver(completed(session()));
    assert.equal(answer.status, 503);
    assert.equal((JSON.parse(answer.body.toString()) as Problem).code, 'webhook_not_configured');
    const status = await exchange(port, head('GET', `${path}/webhook/status`));
    assert.match(status.body.toString(), /"ready":false,"reason":"The webhook has no secret\."/);
  });

  test('malformed ids are not found', async () => {
    for (const id of ['x', 'cs_test_', 'cs_live_%00', `cs_test_${'a'.repeat(200)}`]) {
      assert.equal((await exchange(port, head('GET', `${path}/${id}`))).status, 404, id);
    }
  });
});
