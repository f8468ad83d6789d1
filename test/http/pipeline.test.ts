/** Routes of the contract through the pipeline: media types, JSON and parameters are checked first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Access } from '../../src/access/admission.js';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { routes, type Route } from '../../src/contract/routes.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { native } from '../../src/native/addon.js';
import { openTiers, testAccess } from '../support/access.js';
import { loopBytes, type BodyReader, type BodyReading } from '../../src/contract/schema/bytes.js';
import { bodyNamed, parametersNamed } from '../support/routeTypes.js';
import { startServer } from '../support/http.js';
import { exchange, head, post, RawClient, type RawResponse } from '../support/raw.js';
import { assertTakesTurn } from '../support/threadPool.js';

/** Ids of the requests that reached a handler. */
const handled: string[] = [];

function seen(request: RouteRequest): Answer {
  handled.push(request.id);
  return { status: 200, body: { json: { input: request.input ?? null, query: request.query } }, charge: 0 };
}

const quoteBody = { kind: 'json', schema: bodyNamed('QuoteRequest'), other: 'none', limit: 1000 } as const;
const base: Route = { ...routes.health, method: 'POST', body: quoteBody };

const served = [
  { ...base, id: 'quote', path: '/quote' },
  {
    ...base,
    id: 'dream',
    path: '/dream',
    body: { kind: 'json', schema: bodyNamed('DreamRequest'), other: 'none', limit: 1000 },
    parameters: { header: parametersNamed('DreamHeaders') },
  },
  {
    ...base,
    id: 'confirm',
    path: '/confirm',
    body: { kind: 'raw', schema: bodyNamed('DreamConfirmRequest'), other: 'form', limit: 1000 },
  },
  { ...base, id: 'form', path: '/form', body: { ...quoteBody, other: 'form' } },
  {
    ...base,
    id: 'card',
    method: 'GET',
    path: '/card',
    body: { kind: 'none' },
    parameters: { query: parametersNamed('CardStatusQuery') },
  },
  {
    ...base,
    id: 'near',
    method: 'GET',
    path: '/near',
    body: { kind: 'none' },
    parameters: { query: parametersNamed('NearQuery'), header: parametersNamed('CardStatusQuery') },
  },
] as const satisfies readonly (Route & { id: string })[];

const access = testAccess({ tiers: openTiers() });
const { port } = await startServer({
  routes: served.map((route) => servedRoute(route, seen, { ...native, access })),
});

test('while the disk is nearly full, nothing from strangers is stored, and all else goes on', async () => {
  let reserved = false;
  const answers = () => ({ status: 200, body: { json: {} }, charge: 0 });
  const stored = Object.entries<Route>(routes).filter(([, route]) => route.storesFromStrangers === true);
  const others = ['cardWebhook', 'unsubscribe', 'bitcoinOrder', 'buyReveal'] as const;
  const parts = { ...native, access, isStorageReserved: () => reserved };
  const reserve = await startServer({
    routes: [...stored, ...others.map((id) => [id, routes[id]] as const)].map(([id, route]) =>
      servedRoute({ ...route, id }, answers, parts),
    ),
  });
  const status = async (method: string, path: string): Promise<[number, string]> => {
    const target = path.replaceAll(/\{\w+\}/g, 'btc');
    const asked =
      method === 'GET'
        ? head('GET', target)
        : post(target, '{}', { 'Content-Type': 'application/json' }).toString().replace(/^POST/, method);
    const answer = await exchange(reserve.port, asked);
    return [answer.status, answer.body.toString()];
  };
  const ids = stored.map(([id]) => id).sort();
  assert.deepEqual(ids, [
    'buy',
    'createBitcoinOrder',
    'createCardOrder',
    'createLightningOrder',
    'deliveryInterest',
    'dream',
    'dreamConfirm',
    'harvest',
    'leads',
    'putCorpus',
    'putProfile',
  ]);
  reserved = true;
  for (const [id, { method, path }] of stored) {
    const [refused, body] = await status(method, path);
    assert.equal(refused, 503, id);
    assert.match(body, /"code":"storage_reserved"|nearly full/, id);
  }
  for (const id of others) assert.notEqual((await status(routes[id].method, routes[id].path))[0], 503, id);
  reserved = false;
  for (const [id, { method, path }] of stored) assert.notEqual((await status(method, path))[0], 503, id);
});

test('a caller that may store nothing without a key is refused before the body comes', async () => {
  const refuseKeyless: Answer = { status: 401, body: { json: { detail: 'Send a key.' } }, charge: 0 };
  const parts = { ...native, access: testAccess({ storedKbPerMinute: 64 }), refuseKeyless };
  const { port } = await startServer({
    routes: [servedRoute({ ...routes.putCorpus, id: 'putCorpus' }, seen, parts)],
  });
  const client = await RawClient.open(port);
  const fields = { 'Content-Type': 'application/x-ndjson', 'Content-Length': '100000' };
  assert.equal((await client.send(head('PUT', '/v1/corpora/shop', fields)).response()).status, 401);
  client.destroy();
});

test('what strangers store counts by its bytes, and a harvest by its markers', async () => {
  const limited = testAccess({ storedKbPerMinute: 64 });
  const parts = { ...native, access: limited };
  const store = (markers: number) =>
    startServer({
      routes: [
        servedRoute({ ...routes.harvest, id: 'harvest' }, () => answerOf(markers), parts),
        servedRoute({ ...routes.leads, id: 'leads' }, () => answerOf(0), parts),
      ],
    });
  const answerOf = (charge: number): Answer => ({ status: 200, body: { json: {} }, charge });
  const send = async (to: { port: number }, path: string, body: unknown): Promise<[number, string]> => {
    const sent = post(path, JSON.stringify(body), { 'Content-Type': 'application/json' });
    const { status, body: got } = await exchange(to.port, sent);
    return [status, got.toString()];
  };
  const server = await store(40);
  assert.equal((await send(server, '/harvest', { text: 'forty markers' }))[0], 200);
  // 40 records of 2 kB are more than 64 kB: nothing else is stored for now, on whichever route.
  const [status, refusal] = await send(server, '/v1/leads', { email: 'a@example.com' });
  assert.equal(status, 429);
  assert.match(refusal, /"code":"rate_limited"/);
  assert.match(refusal, /STORED_KB_PER_MINUTE/);
  // A harvest that begins just before its network owes anything counts by its markers all the same.
  const late = testAccess({ storedKbPerMinute: 1 });
  const counted: number[] = [];
  const stored: Access['stored'] = (limit, address, bytes) => {
    counted.push(bytes);
    late.stored(limit, address, bytes);
  };
  const owing = await startServer({
    routes: [
      servedRoute({ ...routes.harvest, id: 'harvest' }, () => answerOf(40), {
        ...native,
        access: { keyed: late.keyed, limited: late.limited, store: late.store, stored },
      }),
    ],
  });
  assert.equal((await send(owing, '/harvest', { text: 'forty markers' }))[0], 200);
  assert.deepEqual(counted, [39 * 2_048]);
  const other = testAccess({ storedKbPerMinute: 64 });
  const chunked = await startServer({
    routes: [servedRoute({ ...routes.leads, id: 'leads' }, () => answerOf(0), { ...native, access: other })],
  });
  const fields = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
  const lead = '{"email":"a@example.com"}';
  const bytes = `${head('POST', '/v1/leads', fields)}${lead.length.toString(16)}\r\n${lead}\r\n0\r\n\r\n`;
  assert.equal((await exchange(chunked.port, bytes)).status, 200);
  // A chunked body may be as long as the path takes, which is more than 64 kB.
  assert.equal((await exchange(chunked.port, bytes)).status, 429);
});

const json = { 'Content-Type': 'application/json' };
const quote = '{"tier":"growth","currency":"btc"}';

interface Refusal {
  readonly detail: readonly { type: string; loc: unknown[]; ctx?: Record<string, unknown> }[];
}

/** The errors of a 422, as type and loc; checks that no handler saw the request. */
async function refusals(request: string | Uint8Array): Promise<[string, unknown[]][]> {
  const before = handled.length;
  const response = await exchange(port, request);
  assert.equal(response.status, 422, response.body.toString());
  assert.equal(handled.length, before);
  const { detail } = JSON.parse(response.body.toString()) as Refusal;
  return detail.map(({ type, loc }) => [type, loc]);
}

function bodyOf(response: RawResponse): unknown {
  return JSON.parse(response.body.toString());
}

describe('a JSON route', () => {
  test('gives its handler the checked value', async () => {
    const response = await exchange(port, post('/quote', quote, json));
    assert.deepEqual(bodyOf(response), { input: { tier: 'growth', currency: 'btc' }, query: {} });
  });

  test('refuses what the contract does not allow', async () => {
    assert.deepEqual(await refusals(post('/quote', '{"tier":"x"}', json)), [
      ['literal_error', ['body', 'tier']],
      ['missing', ['body', 'currency']],
    ]);
    assert.deepEqual(await refusals(post('/quote', '', json)), [['missing', ['body']]]);
    assert.deepEqual(await refusals(head('POST', '/quote', json)), [['missing', ['body']]]);
    assert.deepEqual(await refusals(post('/quote', 'null', json)), [['model_attributes_type', ['body']]]);
  });

  test('refuses what is not strict JSON, with the byte', async () => {
    assert.deepEqual(await refusals(post('/quote', '{"tier":NaN}', json)), [['json_invalid', ['body', 8]]]);
    const nested = '['.repeat(10_000 / 20) + ']'.repeat(10_000 / 20);
    assert.deepEqual(await refusals(post('/quote', nested, json)), [['json_invalid', ['body', 128]]]);
  });

  test('takes application/json, +json or nothing as media type', async () => {
    for (const type of ['application/json', 'Application/JSON; charset=utf-8', 'application/ld+json']) {
      assert.equal((await exchange(port, post('/quote', quote, { 'Content-Type': type }))).status, 200, type);
    }
    assert.equal((await exchange(port, post('/quote', quote))).status, 200);
    const text = post('/quote', quote, { 'Content-Type': 'text/plain' });
    assert.deepEqual(await refusals(text), [['value_error', ['header', 'content-type']]]);
  });

  test('needs a JSON media type from a page of another origin', async () => {
    const origin = { Origin: 'https://example.org' };
    const refused = await refusals(post('/quote', quote, origin));
    assert.deepEqual(refused, [['value_error', ['header', 'content-type']]]);
    assert.equal((await exchange(port, post('/quote', quote, { ...origin, ...json }))).status, 200);
  });

  test('accepts a form if the route does', async () => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: 'https://example.org' };
    assert.equal((await exchange(port, post('/confirm', 'confirm=x', form))).status, 200);
    const taken = await exchange(port, post('/form', 'tier=growth&currency=btc', form));
    assert.deepEqual(bodyOf(taken), { input: { tier: 'growth', currency: 'btc' }, query: {} });
    assert.deepEqual(await refusals(post('/form', '', form)), [['missing', ['body']]]);
    assert.deepEqual(await refusals(post('/form', 'tier=growth', form)), [['missing', ['body', 'currency']]]);
    assert.deepEqual(await refusals(post('/quote', 'tier=x', form)), [
      ['value_error', ['header', 'content-type']],
    ]);
  });

  test('reads a long body off the event loop, with the same answer', async () => {
    const ways: string[] = [];
    class Reader implements BodyReader {
      private readonly reader: BodyReader;

      constructor(...words: ConstructorParameters<typeof native.BodyReader>) {
        this.reader = new native.BodyReader(...words);
      }

      read(...given: Parameters<BodyReader['read']>): BodyReading {
        ways.push('on it');
        return this.reader.read(...given);
      }

      readAsync(...given: Parameters<BodyReader['readAsync']>): Promise<BodyReading> {
        ways.push('off it');
        return this.reader.readAsync(...given);
      }
    }
    const route: Route = { ...base, body: { ...quoteBody, limit: 2 * loopBytes } };
    const long = await startServer({
      routes: [
        servedRoute({ ...route, id: 'quote', path: '/quote' }, seen, {
          ...{ ...native, BodyReader: Reader, access },
        }),
      ],
    });
    for (const [bytes, way] of [
      [loopBytes, 'on it'],
      [loopBytes + 1, 'off it'],
    ] as const) {
      ways.length = 0;
      const sent = async (body: string): Promise<RawResponse> =>
        exchange(long.port, post('/quote', body.padEnd(bytes), json));
      const taken = await sent(quote);
      assert.deepEqual(bodyOf(taken), { input: { tier: 'growth', currency: 'btc' }, query: {} });
      const { detail } = bodyOf(await sent('{"tier":"growth"}')) as Refusal;
      assert.deepEqual(detail[0]?.loc, ['body', 'currency']);
      assert.deepEqual(ways, [way, way]);
    }
    const turned = await assertTakesTurn(
      () => exchange(long.port, post('/quote', quote.padEnd(loopBytes + 1), json)),
      () => exchange(long.port, post('/quote', quote.padEnd(loopBytes), json)),
    );
    assert.equal(turned.status, 200);
  });
});

describe('parameters', () => {
  test('of the query are checked', async () => {
    assert.equal((await exchange(port, head('GET', '/card?tier=growth'))).status, 200);
    assert.equal((await exchange(port, head('GET', '/card'))).status, 200);
    assert.deepEqual(await refusals(head('GET', '/card?tier=other')), [['literal_error', ['query', 'tier']]]);
    assert.equal(
      (await exchange(port, head('GET', '/card?tier=other&tier=growth'))).status,
      200,
      'the last wins',
    );
  });

  test('that take any text may stand beside checked ones', async () => {
    assert.equal((await exchange(port, head('GET', '/near?receipt=x&k=1'))).status, 200);
    assert.deepEqual(await refusals(head('GET', '/near?receipt=x&k=x')), [['int_type', ['query', 'k']]]);
  });

  test('of the header are absent where no header has them', async () => {
    const withTier = (tier: string): string => head('GET', '/near', { tier });
    assert.equal((await exchange(port, withTier('growth'))).status, 200);
    assert.deepEqual(await refusals(withTier('other')), [['literal_error', ['header', 'tier']]]);
    assert.equal((await exchange(port, head('GET', '/near'))).status, 200);
  });

  test('of the header are checked together with the body, lengths in code points', async () => {
    const withKey = (key: string, body = '{"title":"a","content":"b"}'): Buffer =>
      post('/dream', body, { ...json, 'Idempotency-Key': key });
    assert.equal((await exchange(port, withKey('é'.repeat(64)))).status, 200);
    assert.deepEqual(await refusals(withKey('k'.repeat(65), '{"title":"a"}')), [
      ['string_too_long', ['header', 'idempotency-key']],
      ['missing', ['body', 'content']],
    ]);
  });
});
