/** What Stripe is asked, at which address, and what a trace says about it. */
import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { beforeEach, describe, test } from 'node:test';
import { addressOf, StripeClient, type StripePlace } from '../../src/checkout/card/stripe.js';
import { spansOf } from '../telemetry/recording.js';
import { StripeServer } from './stripeServer.js';

const server = await StripeServer.start();
const place: StripePlace = { secretKey: server.secretKey, apiBase: server.apiBase };

beforeEach(() => {
  server.up = true;
  server.failures = 0;
  server.asked.splice(0);
  server.fields.splice(0);
});

const wish = {
  ...{ orderId: 'an-order', server: 'f00d', tier: 'growth', cents: 16_500, expiresAtMs: 1_790_001_860_999 },
  publicUrl: 'https://keys.example',
};

test('an origin is a protocol, a host and a port, which is the usual one where it names none', () => {
  for (const [origin, protocol, host, port] of [
    ['https://stripe.example', 'https', 'stripe.example', 443],
    ['https://stripe.example:84', 'https', 'stripe.example', 84],
    ['http://10.0.0.1:81', 'http', '10.0.0.1', 81],
    ['http://localhost', 'http', 'localhost', 80],
    ['http://[fd00::1]:81', 'http', 'fd00::1', 81],
  ] as const) {
    assert.deepEqual(addressOf(new URL(origin)), { protocol, host, port });
  }
});

test('a key of live payments is known by its form', () => {
  for (const [secretKey, live] of [
    ['sk_live_x', true],
    ['rk_live_x', true],
    ['sk_test_x', false],
    ['rk_test_x', false],
    ['x_sk_live_x', false],
    ['pk_live_x', false],
  ] as const) {
    assert.equal(new StripeClient({ secretKey, apiBase: null }).live, live, secretKey);
  }
});

describe('an account', () => {
  test('is asked for little, with its key and without anything about the machine', async () => {
    const client = new StripeClient(place);
    server.sold.set('cs_test_a', [
      ['price_a', 2],
      [null, null],
    ]);
    assert.deepEqual(await client.check(), { ready: true });
    assert.deepEqual(await client.methods(), ['card']);
    assert.deepEqual(await client.pricesOf('cs_test_a'), {
      kind: 'answer',
      value: ['price_a', 'price_a', ''],
    });
    const made = await client.createSession(wish);
    assert.equal(made.kind, 'answer');
    assert.deepEqual(server.asked, [
      'GET /v1/checkout/sessions?limit=1',
      'GET /v1/payment_method_configurations?limit=50',
      'GET /v1/checkout/sessions/cs_test_a/line_items?limit=10',
      'POST /v1/checkout/sessions',
    ]);
    for (const fields of server.fields) {
      assert.equal(fields.authorization, `Bearer ${server.secretKey}`);
      assert.equal(fields['x-stripe-client-telemetry'], undefined);
    }
    assert.equal(server.sessions.at(-1)?.form['expires_at'], '1790001860', 'within the order’s time');
  });

  test('that does not accept the key is not ready, has no methods, and says why', async () => {
    const client = new StripeClient({ ...place, secretKey: 'sk_test_another' });
    const reason = 'The card processor does not accept the server’s key, or does not answer.';
    assert.deepEqual(await client.check(), { ready: false, reason });
    assert.deepEqual(await client.methods(), []);
    for (const answer of [await client.createSession(wish), await client.pricesOf('cs_test_a')]) {
      assert.deepEqual(answer, { kind: 'failed', reason: 'Invalid API Key' });
    }
  });
});

test('events come oldest first, in few pages, by their types and from a given time on', async () => {
  const at = (id: string, created: number, type = 'charge.refunded') => ({ id, created, type });
  server.events.push(at('evt_1', 10), at('evt_2', 20), at('evt_3', 20, 'customer.created'), at('evt_4', 30));
  server.pageEvents = 1;
  const answer = await new StripeClient(place).events(20_999, ['charge.refunded', 'charge.failed']);
  server.events.splice(0);
  assert.deepEqual(answer, {
    kind: 'answer',
    value: [at('evt_2', 20), at('evt_4', 30)],
  });
  const asked = server.asked.map((line) => new URLSearchParams(line.split('?')[1]));
  assert.deepEqual(
    asked.map((query) => [query.get('limit'), query.get('created[gte]'), query.get('starting_after')]),
    [
      ['100', '20', null],
      ['100', '20', 'evt_4'],
    ],
  );
  assert.deepEqual(
    [...(asked[0] ?? [])].filter(([name]) => name.startsWith('types')).map(([, type]) => type),
    ['charge.refunded', 'charge.failed'],
  );
});

test('an account without a default configuration has no methods', async () => {
  server.hasDefault = false;
  const methods = await new StripeClient(place).methods();
  server.hasDefault = true;
  assert.deepEqual(methods, []);
});

test('an answer is awaited as long as a buyer waits, and no longer', async () => {
  const waited: unknown[] = [];
  // Node's documentation, "HTTP": what it publishes when an answer begins.
  subscribe('http.client.response.finish', (message) => {
    const { request } = message as { readonly request: ClientRequest };
    if (request.getHeader('authorization') === `Bearer ${server.secretKey}`)
      waited.push(request.socket?.timeout);
  });
  assert.deepEqual(await new StripeClient(place).check(), { ready: true });
  assert.deepEqual(waited, [8_000]);
});

test('a call is a span of its request: it says whether it failed, and nothing about the buyer', async () => {
  const client = new StripeClient(place);
  const spans = await spansOf(async () => {
    assert.deepEqual(await client.check(), { ready: true });
    server.up = false;
    assert.equal((await client.check()).ready, false);
  });
  const shown = spans.map(({ name, kind, attributes, hasFailed }) => [name, kind, attributes, hasFailed]);
  const about = { 'server.address': 'api.stripe.com' };
  assert.deepEqual(shown, [
    ['Stripe', 'client', about, false],
    ['Stripe', 'client', { ...about, 'error.type': 'Error' }, true],
  ]);
  for (const { traceparent } of server.fields) assert.equal(traceparent, undefined);
});
