/** Request bodies: pieces, limits, slowness, aborts (RFC 9110, 9112). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { RouteRequest } from '../../src/contract/exchange.js';
import type { ServedRoute } from '../../src/http/routes.js';
import { startServer, testRoutes } from '../support/http.js';
import { exchange, head, post, RawClient } from '../support/raw.js';
import { route, text } from './routes.js';
import { until } from '../support/until.js';

const MiB = 1 << 20;

/** Whether each body that reached `/where` still lay in the receive buffer after a pause. */
const borrowedAfterPause: boolean[] = [];

const more: ServedRoute[] = [
  {
    route: route({ id: 'where', method: 'POST', path: '/where' }),
    handler: async (request: RouteRequest<never>) => {
      await pause(5);
      borrowedAfterPause.push(request.body.byteLength === 0);
      return text('seen');
    },
  },
  {
    route: route({ id: 'small', method: 'POST', path: '/small', bodyLimit: 1000 }),
    handler: (request: RouteRequest<never>) => text(`${request.body.byteLength}`),
  },
  {
    route: route({ id: 'huge', method: 'POST', path: '/huge', bodyLimit: 64 * MiB }),
    handler: (request: RouteRequest<never>) => text(`${request.body.byteLength}`),
  },
];

/** Called with the caller's address that a handler asked for once its client had gone. */
const asked: ((caller: string) => void)[] = [];

more.push({
  route: route({ id: 'late', method: 'POST', path: '/late' }),
  handler: async (request: RouteRequest<never>) => {
    await until(() => request.aborted());
    asked.shift()?.(Buffer.from(request.caller()).join('.'));
    return text('nobody reads it');
  },
});

const limits = { bodyWindowMs: 300, bodyWindowBytes: 20_000, sweepMs: 20, bodyBytes: 16 * MiB };
const { port, server, metric } = await startServer({ routes: [...testRoutes(), ...more], limits });

const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`;

describe('a body', () => {
  test('in one piece is not copied, and in several pieces is joined', async () => {
    assert.equal((await exchange(port, post('/echo', 'one piece'))).body.toString(), 'one piece');
    const client = await RawClient.open(port);
    client.send(head('POST', '/echo', { 'Content-Length': '11' }));
    for (const piece of ['two', ' pi', 'eces!']) {
      await pause(5);
      client.send(piece);
    }
    assert.equal((await client.response()).body.toString(), 'two pieces!');
    await exchange(port, post('/where', 'x'));
    client.send(head('POST', '/where', { 'Content-Length': '2' })).send('x');
    await pause(5);
    await client.send('y').response();
    client.destroy();
    assert.deepEqual(borrowedAfterPause, [true, false]);
  });

  test('of many sizes comes back as it was', async () => {
    const client = await RawClient.open(port);
    for (const size of [0, 1, 511, 65_536, 131_071, 131_072, 524_288, 1_000_000, MiB]) {
      const body = Buffer.alloc(size, `${size}.`);
      const response = await client.send(post('/echo', body)).response();
      assert.ok(response.body.equals(body), `${size} bytes`);
    }
    client.destroy();
  });

  test('in chunked coding is gathered', async () => {
    const client = await RawClient.open(port);
    client.send(head('POST', '/echo', { 'Transfer-Encoding': 'chunked' }) + chunk('hello') + chunk(', '));
    await pause(5);
    client.send(chunk('world') + '0\r\n\r\n');
    assert.equal((await client.response()).body.toString(), 'hello, world');
    await client.end();
    const large = 'x'.repeat(300_000);
    const other = await RawClient.open(port);
    other.send(
      head('POST', '/echo', { 'Transfer-Encoding': 'chunked' }) + chunk(large) + chunk(large) + '0\r\n\r\n',
    );
    assert.equal((await other.response()).body.length, 600_000);
    other.destroy();
  });

  test('stays intact for a handler that waits', async () => {
    assert.equal((await exchange(port, post('/slow', 'kept'))).body.toString(), 'kept');
  });

  test('without a Content-Length is empty', async () => {
    assert.equal((await exchange(port, head('POST', '/small'))).body.toString(), '0');
  });

  test('announced by Expect is requested', async () => {
    const client = await RawClient.open(port);
    client.send(head('POST', '/echo', { 'Content-Length': '2', Expect: '100-continue' }));
    assert.equal((await client.response()).status, 100);
    assert.equal((await client.send('ok').response()).body.toString(), 'ok');
    client.destroy();
  });
});

describe('a body over its limit', () => {
  const tooLarge =
    /^\{"detail":"[^"]*1000 bytes[^"]*","code":"body_too_large","docs":"\/docs\/guides\/http"\}$/;

  test('is 413 by its Content-Length, before a byte of it came', async () => {
    for (const length of ['1001', '16777217', '2147483648', '999999999999999999']) {
      const client = await RawClient.open(port);
      const response = await client.send(head('POST', '/small', { 'Content-Length': length })).response();
      const end = length === '1001' ? undefined : 'close';
      assert.deepEqual([response.status, response.headers.get('connection')], [413, end], length);
      assert.match(response.body.toString(), tooLarge);
      if (end === undefined) client.destroy();
      else await client.end();
    }
    assert.equal((await exchange(port, post('/small', 'x'.repeat(1000)))).body.toString(), '1000');
  });

  test('is answered for a client that has sent all of it, and the connection goes on', async () => {
    for (const path of ['/small', '/nowhere']) {
      const client = await RawClient.open(port);
      for (let turn = 0; turn < 5; turn += 1) {
        const { status } = await client.send(post(path, 'x'.repeat(12_000_000))).response();
        assert.equal(status, path === '/small' ? 413 : 404);
      }
      assert.equal((await client.send(post('/small', 'x')).response()).body.toString(), '1');
      client.destroy();
    }
  });

  test('is 413 in chunked coding as soon as it is too long', async () => {
    const client = await RawClient.open(port);
    client.send(head('POST', '/small', { 'Transfer-Encoding': 'chunked' }) + chunk('x'.repeat(600)));
    await pause(10);
    assert.equal(client.received.length, 0);
    const response = await client.send(chunk('x'.repeat(600))).response();
    assert.equal(response.status, 413);
    assert.match(response.body.toString(), tooLarge);
    await client.end();
  });
});

test('a compressed body is 415, an identity one is not', async () => {
  const refused = await exchange(port, post('/echo', 'x', { 'Content-Encoding': 'gzip' }));
  assert.equal(refused.status, 415);
  assert.match(refused.body.toString(), /"code":"unsupported_encoding"/);
  assert.equal((await exchange(port, post('/echo', 'x', { 'Content-Encoding': 'Identity' }))).status, 200);
});

describe('a slow body', () => {
  test('that stops is 408, and its connection ends', async () => {
    const client = await RawClient.open(port);
    const response = await client.send(head('POST', '/echo', { 'Content-Length': '100' })).response();
    assert.deepEqual([response.status, response.headers.get('connection')], [408, 'close']);
    assert.match(response.body.toString(), /"code":"body_timeout"/);
    await client.end();
  });

  test('that trickles without end is 408', async () => {
    const client = await RawClient.open(port);
    client.send(head('POST', '/echo', { 'Transfer-Encoding': 'chunked' }));
    while (client.received.length === 0) {
      client.send(chunk('x'));
      await pause(5);
    }
    assert.equal((await client.response()).status, 408);
    await client.end();
  });

  test('that keeps the pace is waited for', async () => {
    const client = await RawClient.open(port);
    client.send(head('POST', '/echo', { 'Content-Length': '600000' }));
    for (let sent = 0; sent < 600_000; sent += 30_000) {
      client.send(Buffer.alloc(30_000));
      await pause(50);
    }
    assert.equal((await client.response()).status, 200);
    client.destroy();
  });
});

test('a handler may still ask for the caller after the client has gone', async () => {
  const caller = new Promise((resolve) => asked.push(resolve));
  const client = await RawClient.open(port);
  client.send(post('/late', 'x'));
  await until(() => metric('fusegate_http_requests_in_flight') !== 0);
  client.destroy();
  assert.equal(await caller, '127.0.0.1');
});

describe('memory for bodies', () => {
  test('is bounded: beyond it there is a 503, and it is released again', async () => {
    const holder = await RawClient.open(port);
    holder.send(head('POST', '/huge', { 'Content-Length': String(7 * MiB) })).send(Buffer.alloc(6 * MiB));
    await until(() => metric('fusegate_http_body_bytes') >= 6 * MiB);
    const refused = await exchange(port, head('POST', '/huge', { 'Content-Length': String(3 * MiB) }));
    assert.equal(refused.status, 503);
    assert.match(refused.body.toString(), /"code":"overloaded"/);
    assert.equal(refused.headers.get('retry-after'), '1');
    const grown = await RawClient.open(port);
    grown.send(head('POST', '/huge', { 'Transfer-Encoding': 'chunked' }) + chunk('x'.repeat(3 * MiB)));
    assert.equal((await grown.response()).status, 503);
    holder.send(Buffer.alloc(MiB));
    assert.equal((await holder.response()).body.toString(), String(7 * MiB));
    assert.equal(metric('fusegate_http_body_bytes'), 0);
    holder.destroy();
  });

  test('is not all taken by a large announcement with a small beginning', async () => {
    const client = await RawClient.open(port);
    client.send(head('POST', '/huge', { 'Content-Length': String(8 * MiB) })).send('x');
    await until(() => metric('fusegate_http_body_bytes') !== 0);
    assert.equal(metric('fusegate_http_body_bytes'), 1);
    client.destroy();
    await until(() => metric('fusegate_http_body_bytes') === 0);
  });
});

test('what http refuses itself is counted by its code', async () => {
  const counted = (): number => {
    const values = server.metrics().find(({ name }) => name === 'fusegate_http_problems_total')?.values ?? [];
    const own = values.find(
      ({ labels }) => labels['route'] === 'small' && labels['code'] === 'body_too_large',
    );
    return own?.value ?? 0;
  };
  const before = counted();
  assert.equal((await exchange(port, post('/small', 'x'.repeat(1_001)))).status, 413);
  assert.equal(counted(), before + 1);
});

test('connections that end in mid-body or before the answer are counted and forgotten', async () => {
  const inBody = await RawClient.open(port);
  inBody.send(head('POST', '/echo', { 'Content-Length': '1000' })).send('half');
  const inHandler = await RawClient.open(port);
  inHandler.send(post('/slow', 'x'));
  const inFlight = (): number => metric('fusegate_http_requests_in_flight');
  await until(() => inFlight() === 2);
  inBody.destroy();
  inHandler.destroy();
  await until(() => inFlight() === 0);
  const aborted = server.metrics().find(({ name }) => name === 'fusegate_http_aborted_total')?.values;
  assert.equal(aborted?.find(({ labels }) => labels['route'] === 'slow')?.value, 1);
  assert.equal((await exchange(port, post('/echo', 'alive'))).body.toString(), 'alive');
});
