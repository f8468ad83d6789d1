/**
 * What uWebSockets.js answers by itself, as documented in docs/http.md, and how its native build is found.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { loadUws } from '../../src/http/uws.js';
import { startServer } from '../support/http.js';
import { head, post, RawClient } from '../support/raw.js';

const { port, server } = await startServer();

/** Sends bytes and gives all that came until the server closed the connection. */
async function untilClosed(request: string | Uint8Array): Promise<string> {
  const client = await RawClient.open(port);
  client.send(request);
  await client.end();
  return client.received.toString('latin1');
}

/** A request with so many header fields, `Host` among them. */
function withFields(count: number): string {
  return `GET /hello HTTP/1.1\r\nHost: a\r\n${'X: a\r\n'.repeat(count - 1)}\r\n`;
}

/** The first bytes of a client that takes the port for one with TLS. */
function clientHello(): Promise<Uint8Array> {
  return new Promise((resolve) => {
    const listener = createServer((socket) => {
      socket.once('data', (hello) => {
        socket.destroy();
        listener.close();
        resolve(hello);
      });
    });
    listener.listen(0, '127.0.0.1', () => {
      const { port: at } = listener.address() as AddressInfo;
      connectTls({ port: at, host: '127.0.0.1' }).on('error', () => undefined);
    });
  });
}

/** One message of each row, by the wording of its row. */
const refused: Readonly<Record<string, [number, string | Uint8Array]>> = {
  'no `Host`': [400, 'GET /hello HTTP/1.1\r\n\r\n'],
  'a control character in a header field': [400, head('GET', '/hello', { X: 'a\u0001b' })],
  'both `Content-Length` and `Transfer-Encoding`': [
    400,
    head('POST', '/echo', { 'Content-Length': '3', 'Transfer-Encoding': 'chunked' }) + 'abc',
  ],
  'a `Content-Length` that is not a number, or has over 18 digits': [
    400,
    head('POST', '/echo', { 'Content-Length': '3x' }) + 'abc',
  ],
  'broken chunked coding': [400, head('POST', '/echo', { 'Transfer-Encoding': 'chunked' }) + 'zz\r\nabc\r\n'],
  'a head over 65,536 bytes': [431, head('GET', '/hello', { X: 'a'.repeat(70_000) })],
  'over 98 header fields, `Host` included': [431, withFields(99)],
  'HTTP/1.0, HTTP/2 without TLS': [505, 'GET /hello HTTP/1.0\r\nHost: a\r\n\r\n'],
  'a TLS handshake': [505, await clientHello()],
  'a target that does not begin with `/`': [505, 'GET http://localhost/hello HTTP/1.1\r\nHost: a\r\n\r\n'],
};

describe('uWebSockets.js answers by itself', () => {
  const page = readFileSync('docs/http.md', 'utf8');
  for (const [row, [status, message]] of Object.entries(refused)) {
    test(`${status} to ${row}`, async () => {
      assert.match(
        await untilClosed(message),
        new RegExp(`^HTTP/1\\.1 ${status} [^]*\\r\\nConnection: close\\r\\n`),
      );
      assert.ok(page.includes(`| ${row} | ${status} |`), 'the page has the row');
    });
  }

  test('no request is in flight after them', () => {
    const metric = server.metrics().find(({ name }) => name === 'fusegate_http_requests_in_flight');
    assert.deepEqual(metric?.values, [{ value: 0, labels: {} }]);
  });
});

test('where no native build fits, one sentence names Node, the C library and the architecture', () => {
  const wanted = new RegExp(`Node ${process.versions.node} with .*(glibc|musl|darwin).* on ${process.arch}`);
  assert.throws(() => loadUws(['no-such-build']), wanted);
});

test('Windows is not supported, as README says, whatever builds there are', () => {
  assert.throws(
    () => loadUws(undefined, 'win32'),
    /^Error: Fusegate does not run on Windows: it needs .*Linux/,
  );
  assert.match(readFileSync('README.md', 'utf8'), /does not run on Windows/);
  assert.throws(
    () => loadUws(['no-such-build']),
    (error: Error) => !error.message.includes('Windows'),
  );
});

test('98 header fields are taken', async () => {
  const client = await RawClient.open(port);
  client.send(withFields(98));
  assert.equal((await client.response()).status, 200);
  client.destroy();
});

test('a head of 60,000 bytes is taken', async () => {
  const client = await RawClient.open(port);
  client.send(head('GET', `/items/1/parts/2?q=${'a'.repeat(60_000)}`));
  assert.equal((await client.response()).status, 200);
  client.destroy();
});

test('a request sent before the last is answered closes the connection, unless that was quick', async () => {
  const client = await RawClient.open(port);
  client.send(head('GET', '/hello') + head('GET', '/hello'));
  assert.equal((await client.response()).status, 200);
  assert.equal((await client.response()).status, 200);
  client.send(Buffer.concat([post('/slow', 'x'), Buffer.from(head('GET', '/hello'))]));
  await client.end();
  assert.equal(client.received.length, 0);
});

test('an idle connection lives about ten seconds', async () => {
  const silent = await RawClient.open(port);
  const kept = await RawClient.open(port);
  await kept.send(head('GET', '/hello')).response();
  await pause(6_000);
  assert.deepEqual([silent.closed, kept.closed], [false, false]);
  await Promise.all([silent.end(), kept.end()]);
});
