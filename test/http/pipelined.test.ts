/**
 * Clients that send requests without reading the answers, and what follows a chunked body on its connection.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import type { ServedRoute } from '../../src/http/routes.js';
import { systemClock, type Clock } from '../../src/system/clock.js';
import { startServer, wholeClock } from '../support/http.js';
import { head, post, RawClient } from '../support/raw.js';
import { until } from '../support/until.js';
import { route, text } from './routes.js';

/** Connections to a server. */
function opened(port: number, count: number): Promise<RawClient[]> {
  return Promise.all(Array.from({ length: count }, () => RawClient.open(port)));
}

/** A server whose handlers count their calls. */
async function counting(clock: Clock = systemClock) {
  const calls = { count: 0 };
  const counted = (path: string, body: string): ServedRoute => ({
    route: route({ id: path.slice(1), path }),
    handler: () => {
      calls.count += 1;
      return text(body);
    },
  });
  const slow = counted('/slow', 'x');
  const handler: ServedRoute['handler'] = (request) => {
    const endMs = performance.now() + 1;
    while (performance.now() < endMs);
    return slow.handler(request);
  };
  const routes = [counted('/short', 'x'), counted('/long', 'x'.repeat(32_000)), { ...slow, handler }];
  return { ...(await startServer({ routes, clock })), calls };
}

describe('a client that sends requests and reads no answer', () => {
  test('is cut off before its answers fill the memory', async () => {
    for (const [method, path, count] of [
      ['GET', '/long', 8_000],
      ['GET', '/short', 120_000],
      ['HEAD', '/short', 120_000],
    ] as const) {
      const { port, calls, metric } = await counting();
      const socket = connect(port, '127.0.0.1').pause();
      socket.on('error', () => undefined);
      await new Promise((resolve) => socket.once('connect', resolve));
      await until(() => metric('fusegate_http_connections') === 1);
      socket.write(head(method, path).repeat(count));
      await until(() => metric('fusegate_http_connections') === 0);
      // What was answered went into the kernel's buffers, a few MiB.
      assert.ok(calls.count < count / 2, `${path}: ${calls.count} of ${count}`);
      assert.equal(metric('fusegate_http_answer_bytes'), 0);
      socket.destroy();
    }
  });

  test('gets all answers if it reads, however many requests it sends at once', async () => {
    const { port } = await counting(wholeClock);
    const client = await RawClient.open(port);
    client.send(head('GET', '/long') + head('HEAD', '/long') + head('GET', '/short').repeat(20));
    assert.equal((await client.response()).body.length, 32_000);
    const { headers } = await client.response({ bodyless: true });
    assert.equal(headers.get('content-length'), '32000');
    for (let at = 0; at < 20; at += 1) assert.equal((await client.response()).body.toString(), 'x');
    client.destroy();
  });
});

test('a client that sends on without waiting is cut off after its part of a turn', async () => {
  const { port, calls, metric } = await counting();
  const [client, others] = [await RawClient.open(port), await opened(port, 50)];
  client.send(head('GET', '/slow').repeat(2_000));
  for (const other of others) other.send(head('GET', '/slow'));
  await client.end();
  // Each takes a millisecond; by the clock, so that a busy machine serves fewer.
  assert.ok(calls.count < 200, `${calls.count}`);
  for (const other of others) assert.equal((await other.response()).body.toString(), 'x');
  for (const other of others) other.destroy();
  await until(() => metric('fusegate_http_requests_in_flight') === 0);
});

describe('after a chunked body', () => {
  const fields = { 'Transfer-Encoding': 'chunked' };
  const body = '3\r\nabc\r\n0\r\n\r\n';

  for (const [method, path, status, length] of [
    ['HEAD', '/hello', 200, '17'],
    ['HEAD', '/nothing', 204, undefined],
    ['OPTIONS', '/echo', 204, undefined],
    ['GET', '/nothing', 204, undefined],
    ['GET', '/hello', 200, '17'],
    ['POST', '/echo', 200, '3'],
  ] as const) {
    test(`${method} ${path} ends the connection`, async () => {
      const { port, metric } = await startServer();
      const client = await RawClient.open(port);
      client.send(head(method, path, fields) + body);
      const { status: given, headers } = await client.response({ bodyless: method === 'HEAD' });
      assert.deepEqual(
        [given, headers.get('content-length'), headers.get('connection')?.toLowerCase()],
        [status, length, 'close'],
      );
      assert.ok(Date.parse(headers.get('date') ?? '') > 0);
      client.send(head('GET', '/hello'));
      await client.end();
      assert.equal(client.received.length, 0);
      await until(() => metric('fusegate_http_requests_in_flight') === 0);
    });
  }

  test('a longer answer ends the connection, too', async () => {
    const { port, metric } = await startServer();
    const client = await RawClient.open(port);
    const chunk = 'x'.repeat(100_000);
    client.send(head('POST', '/echo', fields) + `${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`);
    assert.equal((await client.response()).body.length, 100_000);
    await client.end();
    await until(() => metric('fusegate_http_connections') === 0);
  });

  test('nothing is read after an answer of 128 KiB', async () => {
    const { port } = await startServer();
    const client = await RawClient.open(port);
    const chunk = 'x'.repeat(131_072);
    client.send(head('POST', '/echo', fields) + `${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`);
    const { headers, body: echoed } = await client.response();
    assert.deepEqual([headers.get('connection'), echoed.length], ['close', 131_072]);
    const other = await RawClient.open(port);
    client.send(post('/echo', 'unread'));
    other.send(post('/echo', 'read'));
    assert.equal((await other.response()).body.toString(), 'read');
    assert.equal(client.received.length, 0);
    client.destroy();
    other.destroy();
  });
});
