/** Card sessions at stripe-mock, Stripe's own test double of its API, and the events that settle them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Stripe from 'stripe';
import type {
  CardOrderCreated,
  CardPickupResponse,
  CardStatusResponse,
  CardWebhookResponse,
} from '../../../src/contract/card.js';
import type { Problem } from '../../../src/contract/problem.js';
import { closedPort } from '../../support/ports.js';
import { temporaryFolder } from '../../support/run.js';
import { bodyOf, Gateway } from './gateway.js';
import { nodesSkip, PaymentNodes } from './nodes.js';

const path = '/v1/checkout/card';
const secret = 'whsec_of_the_tests_that_signs_nothing_else';
const data = temporaryFolder();

describe('card', { skip: nodesSkip, timeout: 300_000 }, () => {
  let nodes: PaymentNodes;
  const gateway = new Gateway(() => ({
    STORE_URL: `lmdb:${data}/store`,
    WORKERS: '1',
    PUBLIC_URL: 'https://fuse.example',
    STRIPE_SECRET_KEY: 'sk_test_123',
    STRIPE_WEBHOOK_SECRET: secret,
    STRIPE_API_BASE: `http://127.0.0.1:${nodes.stripeMockPort}`,
  }));

  before(async () => {
    nodes = await PaymentNodes.start();
    await gateway.start();
  });
  after(() => nodes.stop());

  async function status(): Promise<CardStatusResponse> {
    return bodyOf(await gateway.get(`${path}/status?tier=developer`)) as CardStatusResponse;
  }

  async function order(expected = 200): Promise<unknown> {
    return bodyOf(await gateway.post(path, '{"tier":"developer"}'), expected);
  }

  test('a paid session gives its key once, to whoever shows the claim token', async () => {
    const found = await status();
    assert.deepEqual([found.configured, found.ready, found.amount_cents], [true, true, 3_300]);
    const made = (await order()) as CardOrderCreated;
    assert.match(made.session_id, /^cs_test_/);
    assert.match(made.checkout_url, /^https:\/\//);
    assert.equal(made.amount_cents, 3_300);
    const object = {
      ...{
        id: made.session_id,
        object: 'checkout.session',
        mode: 'payment',
        created: Math.floor(Date.now() / 1_000),
      },
      ...{ payment_status: 'paid', amount_total: 3_300, currency: 'usd', payment_intent: 'pi_peer' },
    };
    const payload = JSON.stringify({
      ...{ id: 'evt_peer', object: 'event', type: 'checkout.session.completed', livemode: false },
      ...{ created: object.created, data: { object } },
    });
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret });
    const delivered = await gateway.post(`${path}/webhook`, payload, { 'Stripe-Signature': signature });
    assert.equal((bodyOf(delivered) as CardWebhookResponse).result, 'minted');
    const claim = { 'X-Claim-Token': made.claim_token };
    const picked = bodyOf(await gateway.get(`${path}/${made.session_id}`, claim)) as CardPickupResponse;
    assert.deepEqual([picked.status, picked.key_status], ['paid', 'revealed_now']);
  });

  test('a price of STRIPE_PRICES says what a session made elsewhere is for', async () => {
    // What stripe-mock says of any session's line items.
    const stripe = new Stripe('sk_test_123', {
      host: '127.0.0.1',
      port: nodes.stripeMockPort,
      protocol: 'http',
    });
    const items = await stripe.checkout.sessions.listLineItems('cs_test_elsewhere');
    const price = items.data[0]?.price?.id ?? '';
    await gateway.restart({ STRIPE_PRICES: `${price}=growth` });
    const object = {
      ...{
        id: 'cs_test_elsewhere',
        object: 'checkout.session',
        mode: 'payment',
        created: Math.floor(Date.now() / 1_000),
      },
      ...{ payment_status: 'paid', amount_total: 9_900, currency: 'usd', payment_intent: 'pi_elsewhere' },
    };
    const payload = JSON.stringify({
      ...{ id: 'evt_elsewhere', object: 'event', type: 'checkout.session.completed', livemode: false },
      ...{ created: object.created, data: { object } },
    });
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret });
    const delivered = await gateway.post(`${path}/webhook`, payload, { 'Stripe-Signature': signature });
    assert.equal((bodyOf(delivered) as CardWebhookResponse).result, 'minted');
    const picked = bodyOf(await gateway.get(`${path}/cs_test_elsewhere`)) as CardPickupResponse;
    assert.deepEqual([picked.tier, picked.key_status], ['growth', 'revealed_now']);
  });

  test('a key that Stripe does not take, or no Stripe: an honest 503 and ready: false', async () => {
    const nobodyThere = `http://127.0.0.1:${await closedPort()}`;
    for (const more of [{ STRIPE_SECRET_KEY: 'sk_live_wrong' }, { STRIPE_API_BASE: nobodyThere }]) {
      await gateway.restart(more);
      const found = await status();
      assert.deepEqual([found.configured, found.ready, found.checkout_url], [true, false, null]);
      assert.match(found.reason ?? '', /does not accept the server’s key, or does not answer/);
      assert.equal(((await order(503)) as Problem).code, 'rail_unavailable');
    }
    await gateway.restart({ PUBLIC_URL: '' });
    assert.match((await status()).reason ?? '', /PUBLIC_URL/);
    await gateway.restart({ STRIPE_WEBHOOK_SECRET: '' });
    assert.match((await status()).reason ?? '', /the webhook has no secret/);
  });
});
