/**
 * Keys and limits over HTTP: refused by the head alone, shown in every answer, decided while a body arrives.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { KnownKey } from '../../src/access/keyring.js';
import { routes, type Route } from '../../src/contract/routes.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { native } from '../../src/native/addon.js';
import { fuseHandler } from '../../src/search/fuse.js';
import { noModels } from '../support/embedding.js';
import { MemoryKeys, openTiers, shippedTiers, testAccess, type TestAccessParts } from '../support/access.js';
import { startServer } from '../support/http.js';
import { bodyNamed } from '../support/routeTypes.js';
import { exchange, head, post, RawClient, type RawResponse } from '../support/raw.js';
import { text } from './routes.js';

const path = '/v1/fuse';
const good = '{"query":"a","docs":[{"id":"1","text":"a b","dense_score":1}]}';
const handler = fuseHandler({ ...native, embedMode: noModels() });
const limits = { bodyWindowMs: 100, sweepMs: 20, bodyBytes: 1 << 20 };

/** A public route with a limit by address. */
const leads = {
  ...routes.health,
  id: 'leads',
  method: 'POST',
  path: '/leads',
  limit: 'leads',
  body: { kind: 'json', schema: bodyNamed('QuoteRequest'), other: 'none', limit: 1000 },
  cors: true,
} as const satisfies Route & { id: string };

async function serve(given: TestAccessParts): Promise<number> {
  const parts = { ...native, access: testAccess(given) };
  const served = [
    servedRoute({ ...routes.fuse, id: 'fuse' }, handler, parts),
    servedRoute(leads, () => text('kept'), parts),
  ];
  return (await startServer({ routes: served, limits })).port;
}

/** Tiers whose anonymous callers and growth keys have `perMinute` requests. */
function tiersOf(perMinute: number) {
  const anonymous = { requests_per_minute: perMinute, characters_per_month: 0 };
  const growth = { ...shippedTiers().growth, requests_per_minute: perMinute };
  return { ...shippedTiers(), anonymous, growth };
}

function codeOf(response: RawResponse): unknown {
  return (JSON.parse(response.body.toString()) as { code?: string }).code;
}

/** The fields of a limit, as `r` and the policy. */
function limitOf({ headers }: RawResponse): [string | undefined, string | undefined] {
  const value = headers.get('ratelimit');
  return [
    value === undefined ? undefined : /^"minute";r=(\d+);t=\d+$/.exec(value)?.[1],
    headers.get('ratelimit-policy'),
  ];
}

/** Keys whose look-up ends when told. */
class SlowKeys extends MemoryKeys {
  private release: () => void = () => undefined;
  private readonly released = new Promise<void>((resolve) => (this.release = resolve));

  override async find(hash: Uint8Array): Promise<KnownKey | undefined | 'unavailable'> {
    const found = super.find(hash);
    await this.released;
    return found;
  }

  go(): void {
    this.release();
  }
}

describe('by the head alone', () => {
  test('429 and 401 are sent before any byte of the body', async () => {
    const port = await serve({ tiers: tiersOf(1) });
    assert.equal((await exchange(port, post(path, good))).status, 200);
    const large = { 'Content-Length': String(32 << 20) };
    const client = await RawClient.open(port);
    const limited = await client.send(head('POST', path, large)).response();
    assert.deepEqual([limited.status, codeOf(limited)], [429, 'rate_limited']);
    assert.match(limited.headers.get('retry-after') ?? '', /^(59|60)$/);
    assert.deepEqual(limitOf(limited), ['0', '"minute";q=1;w=60']);
    await client.end();
    const unknown = await RawClient.open(port);
    const refused = await unknown.send(head('POST', path, { ...large, 'X-API-Key': 'fg_x' })).response();
    assert.deepEqual([refused.status, codeOf(refused)], [401, 'invalid_api_key']);
    assert.equal(refused.headers.get('www-authenticate'), 'ApiKey');
    assert.deepEqual(limitOf(refused), ['59', '"minute";q=60;w=60'], 'what is left of look-ups');
    await unknown.end();
  });

  test('a connection stays open after a 429 with a small body', async () => {
    const port = await serve({ tiers: tiersOf(1) });
    const client = await RawClient.open(port);
    assert.equal((await client.send(post(path, good)).response()).status, 200);
    assert.equal((await client.send(post(path, good)).response()).status, 429);
    assert.equal((await client.send(post(path, good)).response()).status, 429);
    client.destroy();
  });
});

test('every answer of a keyed route shows the limit', async () => {
  const keys = new MemoryKeys();
  const port = await serve({ tiers: tiersOf(100), keys });
  const { key } = keys.issue({ tier: 'growth' });
  const fields = { 'X-API-Key': key };
  const policy = '"minute";q=100;w=60';
  const requests: readonly (readonly [number, string | Uint8Array])[] = [
    [200, post(path, good, fields)],
    [422, post(path, '{}', fields)],
    [422, post(path, good, { ...fields, 'Content-Type': 'text/plain' })],
    [415, post(path, good, { ...fields, 'Content-Encoding': 'gzip' })],
    [413, head('POST', path, { ...fields, 'Content-Length': String((32 << 20) + 1) })],
    [503, head('POST', path, { ...fields, 'Content-Length': String(2 << 20) })],
    [503, post(path, good.replace(',"dense_score":1', ''), fields)],
    [408, head('POST', path, { ...fields, 'Content-Length': '9' })],
  ];
  for (const [at, [status, request]] of requests.entries()) {
    const response = await exchange(port, request);
    assert.equal(response.status, status, response.body.toString());
    const left = Number(limitOf(response)[0]);
    // The bucket fills meanwhile, by one request in 0.6 s.
    assert.ok(left >= 99 - at && left <= 99, `${left} left after ${at + 1}`);
    assert.equal(limitOf(response)[1], policy);
  }
});

test('characters are charged on 200 only', async () => {
  const anonymous = { requests_per_minute: 0, characters_per_month: 34 };
  const port = await serve({ tiers: { ...shippedTiers(), anonymous } });
  for (let count = 0; count < 5; count += 1) {
    assert.equal((await exchange(port, post(path, '{"query":"aaaaaaaaaaaaaaaaaaa"}'))).status, 422);
  }
  assert.equal((await exchange(port, post(path, good))).status, 200, '17 of 34');
  assert.equal((await exchange(port, post(path, good))).status, 200, '34 of 34');
  const over = await exchange(port, post(path, good));
  assert.deepEqual([over.status, codeOf(over)], [429, 'rate_limited']);
  assert.match(over.headers.get('retry-after') ?? '', /^2(592000|591999)$/);
  assert.deepEqual(limitOf(over), [undefined, undefined], 'there is no limit a minute');
});

describe('a route with a limit by address', () => {
  const quote = '{"tier":"growth","currency":"btc"}';

  test('answers 429 beyond it, invalid requests counted too', async () => {
    const port = await serve({ routeLimits: { leads: 2, checkout: 10 } });
    const first = await exchange(port, post('/leads', quote, { 'Content-Type': 'application/json' }));
    assert.deepEqual([first.status, ...limitOf(first)], [200, '1', '"minute";q=2;w=60']);
    assert.equal((await exchange(port, post('/leads', '{}'))).status, 422);
    const origin = { Origin: 'https://example.org', 'Content-Type': 'application/json' };
    const over = await exchange(port, post('/leads', quote, origin));
    assert.deepEqual([over.status, codeOf(over)], [429, 'rate_limited']);
    assert.match(over.headers.get('retry-after') ?? '', /^(29|30)$/);
    assert.equal(over.headers.get('access-control-allow-origin'), '*');
    assert.match(
      over.headers.get('access-control-expose-headers') ?? '',
      /RateLimit, RateLimit-Policy, Retry-After/,
    );
    assert.equal((await exchange(port, post(path, good))).status, 200, 'other routes are not touched');
  });
});

test('a form over its limit gets a page that says so, to be sent again later', async () => {
  const parts = {
    ...native,
    access: testAccess({ routeLimits: { leads: 1, checkout: 1 } }),
  };
  const routesServed = [servedRoute({ ...routes.buy, id: 'buy' }, () => text('ordered'), parts)];
  const { port } = await startServer({ routes: routesServed, limits });
  assert.equal((await exchange(port, post('/buy', 'tier=growth'))).status, 200);
  const over = await exchange(port, post('/buy', 'tier=growth'));
  assert.deepEqual([over.status, over.headers.get('content-type')], [429, 'text/html; charset=utf-8']);
  assert.match(over.headers.get('retry-after') ?? '', /^(59|60)$/);
  assert.equal(limitOf(over)[1], '"minute";q=1;w=60');
  assert.match(over.body.toString(), /role="alert">Over the limit of 1 request a minute for an address on/);
});

describe('the client’s address', () => {
  const statusFor = async (port: number, ...lines: readonly string[]): Promise<number> => {
    const fields = lines.map((line) => `${line}\r\n`).join('');
    const length = `Content-Length: ${good.length}\r\n`;
    const request = `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${fields}${length}\r\n${good}`;
    return (await exchange(port, request)).status;
  };

  test('comes from X-Forwarded-For behind a trusted proxy, IPv6 by its /64', async () => {
    const port = await serve({ tiers: tiersOf(1), trustedProxies: ['127.0.0.0/8'] });
    assert.equal(await statusFor(port, 'X-Forwarded-For: 192.0.2.1'), 200);
    assert.equal(await statusFor(port, 'X-Forwarded-For: 192.0.2.1'), 429);
    assert.equal(await statusFor(port, 'X-Forwarded-For: 192.0.2.1', 'X-Forwarded-For: 192.0.2.2'), 200);
    assert.equal(await statusFor(port, 'X-Forwarded-For: 192.0.2.3', 'X-Forwarded-For: 192.0.2.2'), 429);
    assert.equal(await statusFor(port, 'Forwarded: for="[2001:db8::1]:80"'), 200);
    assert.equal(await statusFor(port, 'X-Forwarded-For: 2001:db8::2'), 429);
  });

  test('is that of the peer without one, whatever is sent', async () => {
    const port = await serve({ tiers: tiersOf(1), trustedProxies: ['10.0.0.0/8'] });
    assert.equal(await statusFor(port, 'X-Forwarded-For: 192.0.2.1'), 200);
    assert.equal(await statusFor(port, 'X-Forwarded-For: 192.0.2.2'), 429);
    assert.equal(await statusFor(port, 'Forwarded: for=192.0.2.3'), 429);
  });
});

describe('while a key is looked up', () => {
  test('the body comes, in one piece or many, and is handled once the key is known', async () => {
    for (const pieces of [[good], [good.slice(0, 20), good.slice(20)]]) {
      const keys = new SlowKeys();
      const port = await serve({ keys, tiers: openTiers() });
      const { key } = keys.issue();
      const client = await RawClient.open(port);
      client.send(head('POST', path, { 'X-API-Key': key, 'Content-Length': String(good.length) }));
      for (const piece of pieces) {
        client.send(piece);
        await pause(20);
      }
      assert.equal(client.received.length, 0);
      keys.go();
      const response = await client.response();
      assert.deepEqual([response.status, ...limitOf(response)], [200, '599', '"minute";q=600;w=60']);
      assert.equal((await client.send(post(path, good)).response()).status, 200, 'the connection lives on');
      client.destroy();
    }
  });

  test('any refusal, by the head or by the body, waits for the look-up', async () => {
    const keys = new SlowKeys();
    const port = await serve({ keys });
    const known = { 'X-API-Key': keys.issue().key };
    const unknown = { 'X-API-Key': new MemoryKeys().issue().key };
    const tooLong = { 'Content-Length': String((32 << 20) + 1) };
    const open = async (request: string | Uint8Array): Promise<RawClient> =>
      (await RawClient.open(port)).send(request);
    const clients = await Promise.all([
      open(head('POST', path, { ...known, ...tooLong })),
      open(head('POST', path, { ...unknown, ...tooLong })),
      open(post(path, '{}', known)),
      open(head('POST', path, { ...known, 'Content-Length': '9' })),
      open(head('POST', path, { ...unknown, 'Content-Length': '9' })),
    ]);
    await pause(200);
    assert.ok(clients.every(({ received }) => received.length === 0));
    keys.go();
    const responses = await Promise.all(clients.map((client) => client.response()));
    assert.deepEqual(
      responses.map(({ status }) => status),
      [413, 401, 422, 408, 401],
    );
    assert.deepEqual(
      responses.map((response) => limitOf(response)[0] !== undefined),
      [true, true, true, true, true],
    );
    clients.forEach((client) => client.destroy());
  });

  test('a client that disconnects does no harm', async () => {
    const keys = new SlowKeys();
    const port = await serve({ keys });
    const fields = { 'X-API-Key': keys.issue().key };
    const clients = await Promise.all([1, 2].map(() => RawClient.open(port)));
    clients[0]?.send(post(path, good, fields));
    clients[1]?.send(head('POST', path, { ...fields, 'Content-Length': '100' })).send('{');
    await pause(30);
    clients.forEach((client) => client.destroy());
    await pause(30);
    keys.go();
    assert.equal((await exchange(port, post(path, good, fields))).status, 200);
  });

  test('a failing look-up is a 500 without its reason', async () => {
    const keys = new MemoryKeys();
    const { key } = keys.issue();
    keys.find = () => Promise.reject(new Error('a secret detail'));
    const port = await serve({ keys });
    const response = await exchange(port, post(path, good, { 'X-API-Key': key }));
    assert.equal(response.status, 500);
    assert.equal(response.body.toString(), '{"detail":"Internal Server Error"}');
  });
});
