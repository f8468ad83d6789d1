/** Memory of bodies and answers: shares by network, by key, and of all; who is cut off when it is used up. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import type { Admission } from '../../src/access/admission.js';
import { MemoryBudget, networkName } from '../../src/http/memory.js';
import type { ServedRoute } from '../../src/http/routes.js';
import { startServer, type TestServer } from '../support/http.js';
import { exchange, head, post, RawClient } from '../support/raw.js';
import { route, text } from './routes.js';
import { until } from '../support/until.js';

const MiB = 1 << 20;

test('memory has a share for each network, one for callers without a key, and the whole', () => {
  const budget = new MemoryBudget(100, 20);
  assert.equal(budget.shortage('a', 20), undefined);
  budget.take('a', 15);
  assert.equal(budget.shortage('a', 6), 'network');
  assert.equal(budget.shortage('a', 30, 15), undefined, 'the only piece of a network may be larger');
  budget.take('b', 20);
  assert.equal(budget.shortage('c', 16), 'keyless', 'half is for those with a key');
  assert.equal(budget.shortage(undefined, 65), undefined);
  assert.equal(budget.shortage(undefined, 66), 'all');
  budget.take(undefined, 60);
  assert.equal(budget.shortage('c', 6), 'all');
  budget.give('a', 15);
  budget.give('b', 20);
  budget.give(undefined, 60);
  assert.equal(budget.held, 0);
  assert.equal(budget.shortage('a', 50), undefined);
});

test('each share can be filled to the byte, and what is returned can be taken again', () => {
  const mebibyte = 1024 * 1024;
  const usual = new MemoryBudget(1024 * mebibyte);
  usual.take('a', 1);
  assert.equal(usual.shortage('a', 64 * mebibyte - 1), undefined, 'a network may hold 64 MiB');
  assert.equal(usual.shortage('a', 64 * mebibyte), 'network');
  const budget = new MemoryBudget(100, 20);
  assert.equal(budget.shortage('a', 50), undefined, 'its only piece may be larger');
  budget.take('a', 5);
  assert.deepEqual([budget.shortage('a', 15), budget.shortage('a', 16)], [undefined, 'network']);
  assert.deepEqual([budget.shortage('a', 45, 5), budget.shortage('a', 46, 5)], [undefined, 'keyless']);
  assert.equal(budget.shortage('a', 16, 4), 'network', 'another piece is held beside this one');
  assert.deepEqual([budget.shortage(undefined, 95), budget.shortage(undefined, 96)], [undefined, 'all']);
  for (const holder of ['a', undefined]) {
    budget.take(holder, 10);
    budget.give(holder, 10);
    assert.deepEqual(
      [budget.held, budget.shortage('b', 45), budget.shortage('b', 46)],
      [5, undefined, 'keyless'],
    );
    assert.deepEqual([budget.shortage('a', 15), budget.shortage('a', 16)], [undefined, 'network']);
  }
  budget.give('a', 5);
  assert.deepEqual(
    [budget.held, budget.shortage('a', 50), budget.shortage('a', 51)],
    [0, undefined, 'keyless'],
  );
});

test('shares have to be checked once as much is held as the smallest of them has', () => {
  for (const [limit, perNetwork, smallest] of [
    [100, 20, 20],
    [100, 80, 50],
  ] as const) {
    const budget = new MemoryBudget(limit, perNetwork);
    assert.deepEqual([budget.isTight(smallest), budget.isTight(smallest + 1)], [false, true]);
    budget.take(undefined, 7);
    assert.deepEqual([budget.isTight(smallest - 7), budget.isTight(smallest - 6)], [false, true]);
  }
});

test('a network is a /24 or a /48', () => {
  assert.equal(networkName(Uint8Array.of(192, 0, 2, 7)), 'c00002');
  assert.equal(networkName(Uint8Array.of(0x20, 1, 0xd, 0xb8, 0, 1, 2, 3)), '20010db80001');
  assert.equal(networkName(new Uint8Array(0)), '');
});

/**
 * Admits by fields: `x-api-key` is a key, `x-from` the last but one part of an address without one; with
 * neither nobody asked for the address.
 */
const admit: ServedRoute['admit'] = (request): Admission => {
  const passes = { refusal: undefined, rateLimit: '', rateLimitPolicy: '', charge: () => undefined };
  if (request.field('x-api-key') !== '') return { ...passes, key: 'k' };
  if (request.field('x-from') === '') return passes;
  return { ...passes, address: Uint8Array.of(10, 0, Number(request.field('x-from')), 1) };
};

const fixed = new Uint8Array(24 * MiB).fill(7);
const routes: ServedRoute[] = [
  {
    route: route({ id: 'take', method: 'POST', path: '/take', bodyLimit: 64 * MiB }),
    handler: (request) => text(`${(request as { body: Uint8Array }).body.byteLength}`),
    admit,
  },
  {
    route: route({ id: 'large', path: '/large', keylessAnswerLimit: 32 * MiB }),
    handler: (request) =>
      text('x'.repeat(Number((request as { query: Record<string, string> }).query['bytes']))),
    admit,
  },
  {
    route: route({ id: 'fixed', path: '/fixed' }),
    handler: () => ({ status: 200, body: { bytes: fixed, type: 'text/plain', immutable: true }, charge: 0 }),
    admit,
  },
];

async function held(of: TestServer, name: string, holds: (bytes: number) => boolean): Promise<void> {
  await until(() => holds(of.metric(name)));
}

describe('bodies', () => {
  const sweep = { sweepMs: 20, bodyWindowMs: 60_000 };

  test('count as they come, not as they are announced', async () => {
    const own = await startServer({ routes, limits: sweep });
    const slow = await Promise.all(Array.from({ length: 20 }, () => RawClient.open(own.port)));
    for (const client of slow) {
      client.send(head('POST', '/take', { 'Content-Length': String(32 * MiB), 'x-from': '1' }));
      client.send(Buffer.alloc(300 << 10));
    }
    await held(own, 'fusegate_http_body_bytes', (bytes) => bytes === 20 * (300 << 10));
    const body = Buffer.alloc(1.4 * MiB);
    for (const fields of [{ 'x-from': '1' }, { 'x-from': '2' }, { 'x-api-key': 'k' }] as Record<
      string,
      string
    >[]) {
      assert.equal((await exchange(own.port, post('/take', body, fields))).status, 200);
    }
    for (const client of slow) client.destroy();
    await held(own, 'fusegate_http_body_bytes', (bytes) => bytes === 0);
  });

  test('of one network do not keep out those of others', async () => {
    const limits = { ...sweep, bodyBytes: 64 * MiB, networkBytes: 4 * MiB };
    const own = await startServer({ routes, limits });
    const holder = await RawClient.open(own.port);
    holder.send(head('POST', '/take', { 'Content-Length': String(4 * MiB), 'x-from': '1' }));
    holder.send(Buffer.alloc(3 * MiB));
    await held(own, 'fusegate_http_body_bytes', (bytes) => bytes === 3 * MiB);
    const body = Buffer.alloc(3 * MiB);
    const status = async (fields: Record<string, string>): Promise<number> =>
      (await exchange(own.port, post('/take', body, fields))).status;
    assert.equal(await status({ 'x-from': '1' }), 503);
    assert.equal(await status({ 'x-from': '2' }), 200);
    assert.equal(await status({ 'x-api-key': 'k' }), 200);
    holder.destroy();
    await held(own, 'fusegate_http_body_bytes', (bytes) => bytes === 0);
  });

  test('of one network may be as large as the path allows, one at a time', async () => {
    const own = await startServer({ routes, limits: { ...sweep, bodyBytes: 64 * MiB, networkBytes: MiB } });
    const client = await RawClient.open(own.port);
    const body = Buffer.alloc(24 * MiB);
    const answer = await client.send(post('/take', body, { 'x-from': '1' })).response();
    assert.equal(answer.body.toString(), String(24 * MiB));
    client.destroy();
  });
});

describe('answers', () => {
  /** A reader that takes nothing. */
  async function stalled(port: number, bytes: number, fields: Record<string, string>): Promise<RawClient> {
    const client = await RawClient.open(port);
    client.socket.pause();
    client.send(head('GET', `/large?bytes=${bytes}`, fields));
    return client;
  }

  const limits = { answerBytes: 128 * MiB, networkBytes: 32 * MiB, sendWindowMs: 600_000 };
  const waiting = 'fusegate_http_answer_bytes';

  async function bounded(fields: Record<string, string>): Promise<void> {
    const own = await startServer({ routes, limits });
    const aborted = (): number => own.metric('fusegate_http_aborted_total');
    const readers: RawClient[] = [];
    for (let count = 0; count < 40; count += 1) {
      readers.push(await stalled(own.port, 12 * MiB, fields));
      await held(own, waiting, (bytes) => bytes > 0);
      assert.ok(own.metric(waiting) <= 32 * MiB);
    }
    await until(() => aborted() >= 8);
    const other = await exchange(own.port, head('GET', `/large?bytes=${12 * MiB}`, { 'x-from': '2' }));
    assert.equal(other.body.byteLength, 12 * MiB, 'others are served meanwhile');
    for (const client of readers) client.destroy();
    await held(own, waiting, (bytes) => bytes === 0);
  }

  test('that wait are bounded: a network’s slowest reader is cut first', () => bounded({ 'x-from': '1' }));

  test('count against the network of the peer, even if nothing else needed its address', () => bounded({}));

  test('for callers without a key leave half of the memory to callers with one', async () => {
    const own = await startServer({ routes, limits });
    const readers: RawClient[] = [];
    for (let from = 0; from < 12; from += 1) {
      readers.push(await stalled(own.port, 14 * MiB, { 'x-from': String(from) }));
      await held(own, waiting, (bytes) => bytes > 0);
      assert.ok(own.metric(waiting) <= 64 * MiB);
    }
    const keyed = await exchange(own.port, head('GET', `/large?bytes=${40 * MiB}`, { 'x-api-key': 'k' }));
    assert.equal(keyed.body.byteLength, 40 * MiB);
    for (const client of readers) client.destroy();
    await held(own, waiting, (bytes) => bytes === 0);
  });

  test('that never change are sent from one copy', async () => {
    const own = await startServer({ routes, limits: { ...limits, answerBytes: MiB } });
    const readers: RawClient[] = [];
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 20; count += 1) {
      const client = await RawClient.open(own.port);
      client.socket.pause();
      readers.push(client.send(head('GET', '/fixed')));
    }
    const inFlight = (): number => own.metric('fusegate_http_requests_in_flight');
    await until(() => inFlight() >= 20);
    assert.equal(own.metric(waiting), 0);
    assert.ok(process.memoryUsage().arrayBuffers - before < 24 * MiB);
    for (const client of readers) client.socket.resume();
    for (const client of readers) {
      const { body } = await client.response();
      assert.ok(body.equals(fixed));
      client.destroy();
    }
  });

  test('larger than a caller without a key may have are 413, and charge nothing', async () => {
    const own = await startServer({ routes, limits });
    const path = `/large?bytes=${32 * MiB + 1}`;
    const refused = await exchange(own.port, head('GET', path, { 'x-from': '1' }));
    assert.equal(refused.status, 413);
    assert.match(refused.body.toString(), /"code":"answer_too_large"/);
    assert.equal(
      (await exchange(own.port, head('GET', path, { 'x-api-key': 'k' }))).body.byteLength,
      32 * MiB + 1,
    );
    const whole = await exchange(own.port, head('GET', `/large?bytes=${32 * MiB}`, { 'x-from': '1' }));
    assert.equal(whole.status, 200);
  });

  test('a reader below the pace is closed, one above it gets all', async () => {
    const pace = { answerBytes: 128 * MiB, sendWindowMs: 300, sendWindowBytes: 64 << 10, sweepMs: 20 };
    const own = await startServer({ routes, limits: pace });
    const crawling = connect(own.port, '127.0.0.1');
    crawling.on('error', () => undefined).pause();
    const closed = new Promise((resolve) => crawling.once('close', resolve));
    crawling.write(head('GET', `/large?bytes=${24 * MiB}`, { 'x-from': '1' }));
    await held(own, waiting, (bytes) => bytes > 0);
    // A byte now and then is not the pace.
    const crawl = setInterval(() => void crawling.read(1), 20);
    await held(own, waiting, (bytes) => bytes === 0);
    clearInterval(crawl);
    crawling.resume();
    await closed;
  });
});
