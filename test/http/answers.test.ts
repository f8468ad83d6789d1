/** Large answers to slow readers, aborts in mid-answer, and the drain. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ServedRoute } from '../../src/http/routes.js';
import { startServer, testRoutes } from '../support/http.js';
import { exchange, head, post, RawClient } from '../support/raw.js';
import { until } from '../support/until.js';
import { route } from './routes.js';

const MiB = 1 << 20;

/** Memory that the handler of `/reused` writes anew for every answer. */
const reused = new Uint8Array(32 * MiB);
const routes: ServedRoute[] = [
  ...testRoutes(),
  {
    route: route({ id: 'reused', path: '/reused' }),
    handler: (request: { query: Readonly<Record<string, string>> }) => {
      reused.fill(Number(request.query['fill']));
      return { status: 200, body: { bytes: reused, type: 'application/octet-stream' }, charge: 0 };
    },
  },
];

const inFlight = 'fusegate_http_requests_in_flight';
const bodyBytes = 'fusegate_http_body_bytes';

test('a slow reader gets all of a large answer while others are served from the same memory', async () => {
  const { port } = await startServer({ routes });
  const slow = await RawClient.open(port);
  slow.send(head('GET', '/reused?fill=1'));
  slow.socket.pause();
  await pause(50);
  for (let fill = 2; fill < 6; fill += 1) {
    const other = await exchange(port, head('GET', `/reused?fill=${fill}`));
    assert.ok(other.body.equals(Buffer.alloc(32 * MiB, fill)), `answer ${fill}`);
    assert.equal((await exchange(port, head('GET', '/hello'))).status, 200);
  }
  slow.socket.resume();
  const response = await slow.response();
  assert.equal(response.headers.get('content-length'), String(32 * MiB));
  assert.ok(response.body.equals(Buffer.alloc(32 * MiB, 1)), 'what was not yet sent had been copied');
  assert.equal((await slow.send(head('GET', '/hello')).response()).status, 200, 'the connection lives on');
  slow.destroy();
});

test('memory of answers is released, even if readers disconnect', async () => {
  const { port, metric } = await startServer({ routes });
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const external = (): number => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const before = external();
  for (let round = 0; round < 8; round += 1) {
    const client = await RawClient.open(port);
    client.socket.pause();
    client.send(head('GET', '/reused?fill=7'));
    await until(() => metric(inFlight) === 1);
    client.destroy();
    await until(() => metric(inFlight) === 0);
  }
  // Eight unsent remainders together would be over 200 MiB. V8 frees what it collected on threads of its own.
  await until(() => external() - before < 32 * MiB);
});

test('a reader that takes nothing is closed, one that is slow is not', async () => {
  const sendWindowMs = 1000;
  const limits = { sendWindowMs, sendWindowBytes: 16 * 1024, sweepMs: 50 };
  const { port, metric } = await startServer({ routes, limits });
  const stalled = await RawClient.open(port);
  stalled.socket.pause();
  stalled.send(head('GET', '/reused?fill=1'));
  const slow = await RawClient.open(port);
  slow.send(head('GET', '/reused?fill=2'));
  // One read of up to 64 KiB each time: some 6 MiB a second, because the kernel opens a full window in steps.
  const trickle = setInterval(() => void slow.socket.resume(), 10);
  slow.socket.on('data', () => slow.socket.pause());
  const gone = once(stalled.socket, 'close');
  await pause(sendWindowMs / 2);
  assert.equal(metric(inFlight), 2, 'neither is closed before its time');
  await until(() => metric(inFlight) !== 2);
  stalled.socket.resume();
  await gone;
  await pause(sendWindowMs * 1.5);
  assert.equal(metric(inFlight), 1, 'the stalled one is gone, the slow one is not');
  clearInterval(trickle);
  slow.socket.removeAllListeners('data');
  slow.destroy();
});

test('a drain accepts no new connections, finishes answers under way and closes the rest', async () => {
  const { port, server, metric } = await startServer({ routes });
  const idle = await RawClient.open(port);
  await idle.send(head('GET', '/hello')).response();
  const inBody = await RawClient.open(port);
  inBody.send(head('POST', '/echo', { 'Content-Length': '8' })).send('half');
  const busy = await RawClient.open(port);
  await until(() => metric(bodyBytes) === 4);
  busy.send(post('/slow', 'in flight'));
  await until(() => metric(bodyBytes) === 4 + 'in flight'.length);
  const drained = server.drain(2000);
  inBody.send('half');
  const answer = await busy.response();
  assert.deepEqual([answer.body.toString(), answer.headers.get('connection')], ['in flight', 'close']);
  assert.equal((await inBody.response()).body.toString(), 'halfhalf');
  assert.equal(await drained, true);
  await Promise.all([idle.end(), busy.end(), inBody.end()]);
  await assert.rejects(RawClient.open(port), { code: 'ECONNREFUSED' });
});

test('a drain ends in bounded time', async () => {
  const { port, server, metric } = await startServer({ routes });
  const never = await RawClient.open(port);
  never.send(head('POST', '/echo', { 'Content-Length': '8' })).send('half');
  await until(() => metric(bodyBytes) === 4);
  assert.equal(await server.drain(100), false);
  await never.end();
});
