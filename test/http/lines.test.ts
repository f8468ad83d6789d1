/** Routes of lines (NDJSON): split anywhere, answered in order, at the client's pace, in bounded memory. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import type { Admission } from '../../src/access/admission.js';
import type { RouteRequest } from '../../src/contract/exchange.js';
import { routes as contract } from '../../src/contract/routes.js';
import { Lines } from '../../src/http/lines.js';
import { MemoryBudget } from '../../src/http/memory.js';
import { servedRoute } from '../../src/http/pipeline.js';
import type { ServedRoute } from '../../src/http/routes.js';
import { native } from '../../src/native/addon.js';
import { fuseHandler } from '../../src/search/fuse.js';
import { BufferPool } from '../../src/system/bufferPool.js';
import { openTiers, testAccess } from '../support/access.js';
import { plainStyle, writeBody } from '../support/bodies.js';
import { staticMode } from '../support/embedding.js';
import { fuseVectors } from '../vectors/fuse.js';
import { startServer } from '../support/http.js';
import { exchange, head, post, RawClient } from '../support/raw.js';
import { until } from '../support/until.js';
import { WatchedPool } from '../support/watchedPool.js';
import { route, text } from './routes.js';

const lineLimit = 1_000;

/** Numbers from a seed (mulberry32), below `below`. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Bytes that count as the sender's, where lines were looked for before `looked`, of a body's first `end`. */
function heldOf(body: Buffer, looked: number, end: number): number {
  const begun = looked - (body.subarray(0, looked).lastIndexOf('\n') + 1);
  return end - looked + (begun > 16 ? 0 : begun);
}

/** The piece as one that counts the parts that are cut from it, and from those. */
function counting(piece: Uint8Array, cuts: { count: number }): Uint8Array {
  const subarray = (from: number, to: number): Uint8Array => {
    cuts.count += 1;
    return counting(Uint8Array.prototype.subarray.call(piece, from, to), cuts);
  };
  return Object.assign(piece, { subarray });
}

describe('lines of a body', () => {
  test('are those that a simple split finds, however the body is cut and whatever waits', () => {
    const number = numbers(7);
    for (let round = 0; round < 500; round += 1) {
      const lines = Array.from(
        { length: number(20) },
        () => (number(9) === 0 ? '\rx' : '') + 'x'.repeat(number(4) === 0 ? number(40) : number(9)),
      );
      const body = Buffer.from(lines.join(number(2) === 0 ? '\n' : '\r\n'));
      const memory = new MemoryBudget(1 << 20);
      const pool = new WatchedPool(1 << 20);
      const cut = new Lines({ memory, pool }, 16, () => 'a');
      const found: [number, string][] = [];
      let looked = 0;
      const takeSome = (most: number, of: number): void => {
        for (let taken = 0; taken < most; taken += 1) {
          const line = cut.next();
          looked = of;
          if (line === undefined) return;
          found.push([cut.count, typeof line === 'string' ? line : Buffer.from(line).toString()]);
          looked = body.toString().split('\n', cut.count).join('\n').length + 1;
        }
      };
      for (let at = 0; at < body.length;) {
        const end = Math.min(body.length, at + 1 + number(30));
        const piece = Uint8Array.from(body.subarray(at, end));
        cut.push(piece);
        takeSome(number(5), end);
        cut.keep();
        assert.equal(memory.held, heldOf(body, looked, end));
        piece.fill(0);
        at = end;
      }
      cut.end();
      takeSome(Infinity, body.length);
      assert.equal(memory.held, 0);
      const expected = body
        .toString()
        .split('\n')
        .flatMap((line, at): [number, string][] => {
          if (line === '' || line === '\r') return [];
          return [[at + 1, line.length > 16 ? 'too long' : line]];
        });
      assert.deepEqual(found, expected);
      assert.ok(cut.isEmpty);
      cut.release();
      assert.equal(memory.held, 0);
    }
  });

  test('that are blank are dropped together, so that they do not delay others', () => {
    const memory = new MemoryBudget(1 << 20);
    const cut = new Lines({ memory, pool: new BufferPool(1 << 20) }, 16, () => 'a');
    const [blank, cuts] = [2 << 20, { count: 0 }];
    const ends = [Buffer.alloc(blank / 2, '\n'), Buffer.alloc(blank, '\r\n')];
    const body = Buffer.concat([...ends, Buffer.from('\r\n\r\nx\n\n\r')]);
    cut.push(counting(body, cuts));
    assert.equal(Buffer.from(cut.next() as Uint8Array).toString(), 'x');
    assert.ok(cuts.count < 10, `${cuts.count} parts`);
    assert.equal(cut.count, blank + 3);
    cut.end();
    assert.equal(cut.next(), undefined);
    assert.equal(cut.count, blank + 5);
    cut.release();
  });

  test('are refused if there is no memory, and later ones are still found', () => {
    const memory = new MemoryBudget(100);
    const cut = new Lines({ memory, pool: new BufferPool(0) }, 80, () => undefined);
    memory.take(undefined, 60);
    for (const piece of ['x'.repeat(30), 'x'.repeat(30), '\nshort\n']) cut.push(Buffer.from(piece));
    assert.equal(cut.next(), 'overloaded');
    assert.equal(Buffer.from(cut.next() as Uint8Array).toString(), 'short');
    assert.equal(cut.next(), undefined);
    memory.give(undefined, 60);
    cut.release();
    assert.equal(memory.held, 0);
  });

  test('count as memory once, even while they are joined', () => {
    const memory = new MemoryBudget(100);
    const cut = new Lines({ memory, pool: new BufferPool(0) }, 80, () => undefined);
    for (const part of ['x'.repeat(70), `${'y'.repeat(10)}\n`]) {
      cut.push(Buffer.from(part));
      cut.keep();
    }
    assert.equal(Buffer.from(cut.next() as Uint8Array).toString(), 'x'.repeat(70) + 'y'.repeat(10));
    assert.equal(memory.held, 0);
  });

  test('that are whole in a piece are not copied, and need no memory', () => {
    const nobody = (): never => assert.fail('nobody holds memory');
    const pool = new WatchedPool(1 << 20);
    const cut = new Lines({ memory: new MemoryBudget(0), pool }, 16, nobody);
    const piece = Uint8Array.from(Buffer.from(`a\n${'x'.repeat(16)}\n`));
    cut.push(piece);
    for (const [start, length] of [
      [0, 1],
      [2, 16],
    ]) {
      const line = cut.next();
      assert.ok(line instanceof Uint8Array && line.buffer === piece.buffer);
      assert.deepEqual([line.byteOffset, line.byteLength], [start, length]);
    }
    assert.equal(cut.next(), undefined);
    cut.release();
    assert.equal(pool.out.size, 0);
  });

  test('that come in many pieces need few buffers, each twice as large as what it holds', () => {
    const pool = new WatchedPool(1 << 20);
    const [limit, step] = [400_000, 50_000];
    const cut = new Lines({ memory: new MemoryBudget(1 << 30), pool }, limit, () => undefined);
    for (let sent = 0; sent < limit; sent += step) {
      cut.push(Buffer.alloc(step, 'x'));
      assert.equal(cut.next(), undefined);
      assert.equal(pool.out.size, 1);
    }
    cut.push(Buffer.from('\n'));
    assert.deepEqual(Buffer.from(cut.next() as Uint8Array), Buffer.alloc(limit, 'x'));
    // A buffer has a power of two: 2^17, 2^19.
    assert.deepEqual(pool.asked, [100_000, 300_000]);
    cut.release();
    assert.equal(pool.out.size, 0);
  });

  test('that were not taken leave nothing in memory', () => {
    for (const [pieces, taken] of [
      [['a\nb', 'c\n', 'd'], 1],
      [['a\nb', 'c'], 2],
      [['x'.repeat(17)], 1],
      [['', 'a'], 0],
    ] as const) {
      const memory = new MemoryBudget(1 << 20);
      const pool = new WatchedPool(1 << 20);
      const cut = new Lines({ memory, pool }, 16, () => 'a');
      for (const piece of pieces) {
        assert.ok(cut.isEmpty || piece !== '');
        cut.push(Buffer.from(piece));
        assert.equal(cut.isEmpty, piece === '');
        cut.keep();
      }
      for (let at = 0; at < taken; at += 1) cut.next();
      for (let times = 0; times < 2; times += 1) {
        cut.release();
        cut.end();
        assert.deepEqual([cut.next(), memory.held, pool.out.size, cut.isEmpty], [undefined, 0, 0, true]);
      }
    }
  });
});

/** Requests that were admitted, and characters that were charged. */
const counted = { admitted: 0, charged: 0, most: Infinity };

const refusal = {
  ...{ status: 429, body: { json: { detail: 'Too many.', code: 'rate_limited' } }, charge: 0 },
  headers: { 'retry-after': '7' },
} as const;

const admit: ServedRoute['admit'] = (): Admission => ({
  ...{ rateLimit: '', rateLimitPolicy: '', address: Uint8Array.of(10, 0, 0, 1) },
  refusal: (counted.admitted += 1) > counted.most ? refusal : undefined,
  charge: (characters) => (counted.charged += characters),
});

type Line = RouteRequest<never>;
let open: (() => void) | undefined;

const routes: ServedRoute[] = [
  {
    route: route({ id: 'lines', method: 'POST', path: '/lines', bodyLimit: Infinity, lineLimit }),
    admit,
    handler: (request: Line) => {
      const said = Buffer.from(request.body).toString();
      if (said === 'throw') throw new Error('a secret detail');
      if (said === 'bad') return { ...text('{"detail":"Bad."}', 422), charge: 0 };
      if (!said.startsWith('later')) return { ...text(`<${said}>`), charge: said.length };
      const kept = request.retain();
      return new Promise((resolve) =>
        setImmediate(() => resolve({ ...text(`<${Buffer.from(kept).toString()}>`), charge: 1 })),
      );
    },
  },
  {
    route: route({ id: 'many', method: 'POST', path: '/many', bodyLimit: Infinity, lineLimit }),
    handler: () => text('y'.repeat(200_000)),
  },
  {
    route: route({ id: 'gate', method: 'POST', path: '/gate', bodyLimit: Infinity, lineLimit }),
    handler: () => new Promise((resolve) => (open = () => resolve(text('opened')))),
  },
];

describe('a request of lines', async () => {
  const { port, metric } = await startServer({ routes, limits: { sweepMs: 20 } });

  test('is answered with one line for each, in order, failures too', async () => {
    Object.assign(counted, { admitted: 0, charged: 0, most: Infinity });
    const body = ['one', 'later two', '', 'bad', 'x'.repeat(lineLimit + 1), 'throw', 'seven'].join('\n');
    const { status, headers, body: answer } = await exchange(port, post('/lines', body));
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'application/x-ndjson');
    const [one, two, bad, long, thrown, seven, rest] = answer.toString().split('\n');
    assert.deepEqual([one, two, seven, rest], ['<one>', '<later two>', '<seven>', '']);
    assert.deepEqual(JSON.parse(bad ?? ''), { error: { line: 4, status: 422, detail: 'Bad.' } });
    assert.match(
      long ?? '',
      /^\{"error":\{"line":5,"status":413,"detail":".*1000 bytes.*","code":"body_too_large"/,
    );
    assert.match(thrown ?? '', /^\{"error":\{"line":6,"status":500,"detail":"Internal Server Error"\}\}$/);
    assert.ok(!answer.includes('secret'));
    assert.deepEqual([counted.admitted, counted.charged], [5, 3 + 1 + 5], 'lines count one by one');
  });

  test('is refused line by line where its sender may send no more', async () => {
    Object.assign(counted, { admitted: 0, charged: 0, most: 2 });
    const { body } = await exchange(port, post('/lines', 'one\ntwo\nthree\nfour'));
    const error = { status: 429, detail: 'Too many.', code: 'rate_limited', retry_after: 7 };
    const lines = [{ error: { line: 3, ...error } }, { error: { line: 4, ...error } }];
    assert.equal(
      body.toString(),
      `<one>\n<two>\n${lines.map((each) => `${JSON.stringify(each)}\n`).join('')}`,
    );
    const refused = await exchange(port, post('/lines', 'one'));
    assert.equal(refused.status, 429);
    counted.most = Infinity;
  });

  test('is ended by too many short lines that fail, so that its cost fits its bytes', async () => {
    counted.most = Infinity;
    const keeps = await RawClient.open(port);
    const short = await keeps.send(post('/lines', `${'bad\n'.repeat(3_000)}last\n`)).response();
    assert.equal(short.status, 200);
    const next = await keeps.send(post('/lines', 'next')).response();
    assert.equal(next.body.toString(), '<next>\n', 'a body that was read to its end leaves the connection');
    keeps.destroy();
    const lines = short.body.toString().trimEnd().split('\n');
    // 500, and one for each 128 of the 12,005 bytes; then the error that stands for the rest.
    assert.equal(lines.length, 595);
    const { error } = JSON.parse(lines.at(-1) ?? '') as { error: Record<string, unknown> };
    assert.deepEqual([error['line'], error['status'], error['code']], [595, 400, 'invalid_request']);
    const padded = await exchange(port, post('/lines', `bad${'\n'.repeat(126)}`.repeat(3_000)));
    assert.equal(padded.body.toString().trimEnd().split('\n').length, 3_000);
    const client = await RawClient.open(port);
    client.send(head('POST', '/lines', { 'Transfer-Encoding': 'chunked' }));
    client.send(`4000\r\n${'bad\n'.repeat(4_096)}\r\n`);
    assert.match((await client.response()).body.toString(), /"status":400,"detail":"Too many short lines/);
    client.send('4\r\none\n\r\n0\r\n\r\n');
    client.destroy();
    await until(() => metric('fusegate_http_body_bytes') === 0);
  });

  test('may come in any pieces, and its connection serves the next one', async () => {
    const client = await RawClient.open(port);
    const number = numbers(11);
    for (let round = 0; round < 50; round += 1) {
      const sent = Array.from({ length: number(30) }, (_, at) =>
        number(3) === 0 ? `later ${at}` : `now ${at}`,
      );
      const bytes = post('/lines', sent.map((line) => `${line}\n`).join(''));
      for (let at = 0; at < bytes.length;) {
        const end = at + 1 + number(60);
        client.send(bytes.subarray(at, end));
        if (number(4) === 0) await new Promise(setImmediate);
        at = end;
      }
      const { status, body } = await client.response();
      assert.equal(status, 200);
      assert.equal(body.toString(), sent.map((line) => `<${line}>\n`).join(''));
    }
    client.destroy();
  });

  test('is answered while its body comes; after a chunked body its connection reads no more', async () => {
    const client = await RawClient.open(port);
    client.send(head('POST', '/lines', { 'Transfer-Encoding': 'chunked' }) + '4\r\none\n\r\n');
    await until(() => client.received.includes('<one>'));
    client.send('3\r\ntwo\r\n0\r\n\r\n');
    const { headers, body } = await client.response();
    assert.equal(body.toString(), '<one>\n<two>\n');
    assert.equal(headers.get('connection'), 'close');
    client.send(post('/lines', 'three'));
    for (let at = 0; at < 5; at += 1) await exchange(port, post('/lines', 'another'));
    assert.equal(client.received.length, 0);
    client.destroy();
    const behind = await RawClient.open(port);
    const chunked = head('POST', '/lines', { 'Transfer-Encoding': 'chunked' });
    behind.send(`${chunked}3\r\none\r\n0\r\n\r\n${head('GET', '/hidden')}`);
    await behind.end();
    assert.ok(!behind.received.includes(' 404 '));
  });

  test('without a line gets an empty answer', async () => {
    const { status, body } = await exchange(port, post('/lines', '\n\n'));
    assert.deepEqual([status, body.length], [200, 0]);
  });

  test('waits for a client that does not read, in bounded memory, and ends when it goes', async () => {
    const lines = 100;
    const socket = connect(port, '127.0.0.1');
    const received = { bytes: 0, end: '' };
    socket.on('data', (piece) => {
      received.bytes += piece.length;
      received.end = (received.end + piece.toString('latin1', Math.max(0, piece.length - 5))).slice(-5);
    });
    socket.pause();
    socket.write(post('/many', 'line\n'.repeat(lines)));
    await until(() => metric('fusegate_http_answer_bytes') > 0);
    for (let at = 0; at < 5; at += 1) await exchange(port, post('/lines', 'another'));
    assert.ok(metric('fusegate_http_answer_bytes') < 1 << 20);
    socket.resume();
    await until(() => received.end === '0\r\n\r\n');
    assert.ok(received.bytes > lines * 200_001);
    socket.pause();
    socket.write(post('/many', 'line\n'.repeat(lines)));
    await until(() => metric('fusegate_http_answer_bytes') > 0);
    socket.destroy();
    await until(() => metric('fusegate_http_answer_bytes') === 0);
    await until(() => metric('fusegate_http_body_bytes') === 0);
  });

  test('is not read any further while a line waits for its answer', async () => {
    const client = await RawClient.open(port);
    const flood = Buffer.alloc(900 << 10, `${'x'.repeat(899)}\n`);
    client.send(head('POST', '/gate', { 'Content-Length': String(64 * flood.length) }));
    for (let at = 0; at < 64; at += 1) client.send(flood);
    await until(() => open !== undefined && client.socket.writableLength > 0);
    for (let at = 0; at < 5; at += 1) await exchange(port, post('/lines', 'another'));
    assert.ok(metric('fusegate_http_body_bytes') < 4 << 20);
    open?.();
    await until(() => client.received.includes('opened'));
    client.destroy();
    // Who is not read from is found gone when the next answers are written.
    await until(() => {
      open?.();
      return metric('fusegate_http_body_bytes') === 0;
    });
  });

  test('that stops coming is a 408, as an error line if there were lines before', async () => {
    const own = await startServer({ routes, limits: { sweepMs: 10, bodyWindowMs: 50 } });
    const silent = await RawClient.open(own.port);
    silent.send(head('POST', '/lines', { 'Content-Length': '100' }));
    assert.equal((await silent.response()).status, 408);
    const slow = await RawClient.open(own.port);
    slow.send(head('POST', '/lines', { 'Content-Length': '100' }) + 'one\ntw');
    const { body } = await slow.response();
    assert.match(
      body.toString(),
      /^<one>\n\{"error":\{"line":2,"status":408,.*"code":"body_timeout","docs":"[^"]+"\}\}\n$/,
    );
    slow.send(`o\n${post('/lines', 'three').toString()}`);
    for (let at = 0; at < 5; at += 1) await exchange(own.port, post('/lines', 'another'));
    assert.equal(slow.received.length, 0);
    slow.destroy();
  });
});

test('a batch answers each recorded request as POST /v1/fuse does', async () => {
  const handler = fuseHandler({ ...native, embedMode: staticMode() });
  const parts = { ...native, access: testAccess({ tiers: openTiers() }) };
  const served = [
    servedRoute({ ...contract.fuse, id: 'fuse' }, handler, parts),
    servedRoute({ ...contract.fuseBatch, id: 'fuseBatch' }, handler, parts),
  ];
  const { port } = await startServer({ routes: served });
  const bodies = fuseVectors().map(({ request }) => writeBody(request, plainStyle));
  const single = await RawClient.open(port);
  const expected: string[] = [];
  for (const body of bodies) {
    const { status, body: answer } = await single.send(post('/v1/fuse', body)).response();
    assert.equal(status, 200);
    expected.push(`${answer.toString()}\n`);
  }
  single.destroy();
  const lines = Buffer.concat(bodies.flatMap((body) => [body, Buffer.from('\n')]));
  const { body } = await exchange(port, post('/v1/fuse/batch', lines));
  assert.equal(body.toString(), expected.join(''));
});
