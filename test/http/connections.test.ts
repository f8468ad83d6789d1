/**
 * Connections: what follows a chunked body, and how many may be open in all and by address (RFC 9112, 7.1).
 */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { affordable, connectedTo, Connections, descriptorLimit } from '../../src/http/connections.js';
import type { HttpResponse, TemplatedApp } from '../../src/http/uws.js';
import { startServer } from '../support/http.js';
import { head, RawClient } from '../support/raw.js';
import { until } from '../support/until.js';

describe('after a chunked body', () => {
  const chunked = { 'Transfer-Encoding': 'chunked' };

  test('a trailer is not read as a request', async () => {
    const { port } = await startServer();
    const smuggled = 'X:GET /hello HTTP/1.1\r\nHost: x\r\n\r\n';
    for (const first of [head('POST', '/echo', chunked), head('POST', '/slow', chunked)]) {
      for (const body of [`4\r\nbody\r\n0\r\n${smuggled}`, `0\r\n${smuggled}`]) {
        const client = await RawClient.open(port);
        client.send(first + body);
        await client.end();
        assert.doesNotMatch(client.received.toString(), /world/);
      }
    }
  });

  test('a late trailer is not read as a request either', async () => {
    const { port } = await startServer();
    const client = await RawClient.open(port);
    const answer = await client.send(`${head('POST', '/echo', chunked)}4\r\nbody\r\n0\r\nX:`).response();
    assert.deepEqual([answer.body.toString(), answer.headers.get('connection')], ['body', 'close']);
    client.send('GET /hello HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.end();
    assert.equal(client.received.length, 0);
  });

  test('the connection closes, on every path and with every answer', async () => {
    const { port } = await startServer();
    for (const [method, path, status] of [
      ['POST', '/echo', 200],
      ['POST', '/nowhere', 404],
      ['GET', '/hello', 200],
      ['DELETE', '/hello', 405],
      ['OPTIONS', '/hello', 204],
    ] as const) {
      const client = await RawClient.open(port);
      const answer = await client.send(`${head(method, path, chunked)}0\r\n\r\n`).response();
      assert.deepEqual(
        [answer.status, answer.headers.get('connection')],
        [status, 'close'],
        `${method} ${path}`,
      );
      await client.end();
    }
  });
});

/** Opens a connection from an address of this machine; resolves to whether it stays open. */
async function opened(port: number, from: string): Promise<Socket | undefined> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from }).on('error', () => undefined);
  const closed = new Promise<undefined>((resolve) => socket.once('close', () => resolve(undefined)));
  const answered = new Promise<Socket>((resolve) => socket.once('data', () => resolve(socket)));
  socket.write(head('GET', '/hello'));
  return Promise.race([closed, answered]);
}

async function openedOf(port: number, count: number, from: (at: number) => string): Promise<Socket[]> {
  const kept: Socket[] = [];
  for (let at = 0; at < count; at += 1) {
    const socket = await opened(port, from(at));
    if (socket !== undefined) kept.push(socket);
  }
  return kept;
}

describe('the limit of connections', () => {
  test('a worker keeps as many as set, and has room again once some have closed', async () => {
    const { port, metric, logged } = await startServer({ limits: { maxConnections: 64 } });
    const kept = await openedOf(port, 100, (at) => `127.0.${at}.1`);
    assert.equal(kept.length, 64);
    assert.equal(logged.filter(({ level }) => level === 'warn').length, 1, 'said once');
    assert.deepEqual(
      [metric('fusegate_http_connections'), metric('fusegate_http_connections_refused_total')],
      [64, 36],
    );
    const gone = kept.splice(0, 10).map((socket) => {
      socket.destroy();
      return new Promise((resolve) => socket.once('close', resolve));
    });
    await Promise.all(gone);
    await until(() => metric('fusegate_http_connections') === 54);
    assert.equal((await openedOf(port, 10, (at) => `127.1.${at}.1`)).length, 10);
    for (const socket of kept) socket.destroy();
  });

  test(
    'one address may have an eighth of it, and a trusted proxy all',
    { skip: process.platform !== 'linux' && 'reads the kernel’s table of Linux' },
    async () => {
      const limits = { maxConnections: 128, sweepMs: 5 };
      const { port } = await startServer({ limits, trustedProxies: ['127.0.0.9'] });
      const one = await openedOf(port, 120, () => '127.0.0.7');
      assert.ok(one.length >= 16 && one.length <= 40, `${one.length} of one address`);
      const others = await openedOf(port, 30, (at) => `127.0.${at}.1`);
      assert.equal(others.length, 30, 'other addresses have room');
      const proxied = await openedOf(port, 40, () => '127.0.0.9');
      assert.equal(proxied.length, 40);
      for (const socket of [...one, ...others, ...proxied]) socket.destroy();
    },
  );

  test('a connection that opens while the kernel’s table is read is counted', async () => {
    let resolve: (tables: readonly string[]) => void = () => undefined;
    const tables = new Promise<readonly string[]>((settle) => (resolve = settle));
    const bounds = { most: 128, workers: 1, isProxy: () => false };
    const connections = new Connections(bounds, { warn: () => undefined }, () => tables);
    let told: (response: HttpResponse, change: number) => void = () => undefined;
    connections.watch({ filter: (filter: typeof told) => (told = filter) } as unknown as TemplatedApp);
    connections.listensOn(8080);
    let kept = 0;
    const openMany = (count: number): void => {
      for (let at = 0; at < count; at += 1) {
        let isKept = true as boolean;
        const close = (): void => {
          isKept = false;
          told(response, -1);
        };
        const getRemoteAddress = (): ArrayBuffer => Uint8Array.of(127, 0, 0, 7).buffer;
        const response = { getRemoteAddress, close } as unknown as HttpResponse;
        told(response, 1);
        kept += isKept ? 1 : 0;
      }
    };
    openMany(10);
    const looked = connections.look();
    openMany(10);
    assert.equal(kept, 16, 'an eighth');
    const row = '   0: 0100007F:1F90 0700007F:D431 01 00000000:00000000\n';
    resolve([row.repeat(10)]);
    await looked;
    openMany(10);
    assert.equal(kept, 16);
  });

  test('the limit is no higher than the descriptors of the process allow', () => {
    const limits = ['Limit              Soft Limit  Hard Limit', 'Max open files     1024        4096'].join(
      '\n',
    );
    assert.equal(
      descriptorLimit(() => limits),
      1024,
    );
    const none = (): string => {
      throw new Error('ENOENT');
    };
    assert.equal(descriptorLimit(none), Infinity);
    assert.deepEqual([affordable(8192, 1024), affordable(512, 1024), affordable(512, 100)], [768, 512, 16]);
  });

  test('the kernel’s table is read by address, IPv4-mapped ones as IPv4', () => {
    const table = [
      '  sl  local_address rem_address   st tx_queue rx_queue',
      '   0: 00000000:1F90 00000000:0000 0A 00000000:00000000',
      '   1: 0100007F:1F90 0700007F:D431 01 00000000:00000000',
      '   2: 0100007F:1F90 0700007F:D432 01 00000000:00000000',
      '   3: 0100007F:1F91 0700007F:D433 01 00000000:00000000',
      '   6: 0700007F:D431 0100007F:1F90 01 00000000:00000000',
      '   4: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000700007F:D434 01 0',
      '   5: 00000000000000000000000001000000:1F90 B80D0120000000000000000001000000:D435 01 0',
    ].join('\n');
    assert.deepEqual(
      [...connectedTo(8080, table)],
      [
        ['7f000007', 3],
        ['20010db800000000', 1],
      ],
    );
  });
});
