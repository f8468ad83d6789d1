/**
 * A btcd that is followed over a websocket with a certificate of its own: what it is asked to report, what
 * becomes a hint, and when the connection counts as lost.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, afterEach, describe, test } from 'node:test';
import { address as addresses, networks, Transaction } from 'bitcoinjs-lib';
import { WebSocketServer, type WebSocket } from 'ws';
import { Btcd } from '../../src/checkout/onchain/btcd.js';
import type { Following } from '../../src/checkout/onchain/chain.js';
import { HandClock } from '../support/handClock.js';
import { until } from '../support/until.js';
import { makeCertificate } from './certificate.js';

const [user, password] = ['shop', 'a-password-of-the-tests'];

/** Addresses of regtest. */
const [ours, theirs] = [1, 2].map((byte) => addresses.toBech32(Buffer.alloc(20, byte), 0, 'bcrt')) as [
  string,
  string,
];

/** A transaction that pays to these addresses, after an output without one; in hex, as btcd writes it. */
function paying(...to: readonly string[]): string {
  const transaction = new Transaction();
  transaction.addInput(Buffer.alloc(32, 9), 0);
  transaction.addOutput(Buffer.of(0x6a, 1, 1), 0n);
  for (const each of to) transaction.addOutput(addresses.toOutputScript(each, networks.regtest), 1_000n);
  return transaction.toHex();
}

/** A connection that a follower made. */
interface Connection {
  readonly socket: WebSocket;
  readonly authorization: string | undefined;
  /** What it was asked: method and parameters. */
  readonly asked: string[];
  pings: number;
  closed: boolean;
}

const certificate = makeCertificate();
const server = createServer(certificate);
const sockets = new WebSocketServer({ server, path: '/ws' });
const connections: Connection[] = [];

sockets.on('connection', (socket, { headers }: IncomingMessage) => {
  const connection: Connection = {
    ...{ socket, authorization: headers.authorization, asked: [], pings: 0, closed: false },
  };
  connections.push(connection);
  socket.on('message', (data: Buffer) => {
    const { method, params, ...more } = JSON.parse(data.toString()) as { method: string; params: unknown };
    // Without an id btcd answers nothing.
    assert.deepEqual(more, { jsonrpc: '1.0', id: 1 });
    connection.asked.push(`${method} ${JSON.stringify(params)}`);
  });
  socket.on('ping', () => (connection.pings += 1));
  socket.on('close', () => (connection.closed = true));
});

server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
after(() => {
  for (const { socket } of connections) socket.terminate();
  server.close();
});

describe('a btcd that is followed', () => {
  const open: Following[] = [];

  afterEach(() => {
    for (const following of open.splice(0)) following.stop();
    connections.splice(0);
  });

  /** Follows; what is reported is listed in order. */
  function follow(place: { readonly url?: string; readonly certificate?: string } = {}) {
    const [clock, reported] = [new HandClock(), [] as string[]];
    const own = { url, user, password, certificate: certificate.cert, ...place };
    const following: Following = new Btcd(own, clock, 'regtest').follow({
      onConnected() {
        reported.push('connected');
        following.watch([ours]);
      },
      onAddresses: (found) => reported.push(found.join()),
      onBlock: () => reported.push('block'),
      onLost: () => reported.push('lost'),
    });
    open.push(following);
    /** Waits until so much was reported since this was asked last. */
    const news = async (count: number): Promise<string[]> => {
      await until(() => reported.length >= count);
      return reported.splice(0);
    };
    return { clock, following, news };
  }

  /** The follower's connection of this number, once it has subscribed. */
  async function connection(at = 0): Promise<Connection> {
    await until(() => (connections[at]?.asked.length ?? 0) >= 2);
    const found = connections[at];
    assert.ok(found !== undefined);
    return found;
  }

  const tell = ({ socket }: Connection, method: string, params: unknown): void =>
    socket.send(JSON.stringify({ jsonrpc: '1.0', method, params, id: null }));

  test('is asked for blocks before it counts as connected, so that no block is missed', async () => {
    const { news } = follow();
    assert.deepEqual(await news(1), ['connected']);
    const { asked, authorization } = await connection();
    assert.deepEqual(asked, ['notifyblocks []', `loadtxfilter [false,["${ours}"],[]]`]);
    assert.equal(authorization, `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`);
  });

  test('is asked to watch a thousand addresses at a time, and only while it is connected', async () => {
    const { clock, following, news } = follow();
    following.watch(['before']);
    await news(1);
    const first = await connection();
    const many = Array.from({ length: 2_001 }, (_, at) => `address ${at}`);
    following.watch(many);
    following.watch([]);
    await until(() => first.asked.length >= 5);
    const filter = (some: readonly string[]): string => `loadtxfilter ${JSON.stringify([false, some, []])}`;
    assert.deepEqual(first.asked.slice(2), [
      filter(many.slice(0, 1_000)),
      filter(many.slice(1_000, 2_000)),
      filter(many.slice(2_000)),
    ]);
    first.socket.close();
    assert.deepEqual(await news(1), ['lost']);
    following.watch(['between']);
    await clock.pass(1_000);
    following.watch(['while it connects']);
    await clock.pass(1_000);
    const second = await connection(1);
    assert.deepEqual(second.asked, ['notifyblocks []', filter([ours])]);
  });

  test('reports blocks, and which addresses a payment pays, in the pool or in a block', async () => {
    const { news } = follow();
    await news(1);
    const node = await connection();
    tell(node, 'relevanttxaccepted', [paying(ours, theirs)]);
    assert.deepEqual(await news(1), [`${ours},${theirs}`]);
    tell(node, 'filteredblockconnected', [7, 'header', [paying(theirs), paying(ours)]]);
    assert.deepEqual(await news(2), [`${theirs},${ours}`, 'block']);
    tell(node, 'filteredblockdisconnected', [7, 'header']);
    assert.deepEqual(await news(1), ['block']);
  });

  test('reports no address for a malformed transaction, and goes on', async () => {
    const { news } = follow();
    await news(1);
    const node = await connection();
    for (const params of [['no hex'], [7], [], 'x', null, {}]) tell(node, 'relevanttxaccepted', params);
    assert.deepEqual(await news(6), Array<string>(6).fill(''));
    tell(node, 'filteredblockconnected', [7, 'header', ['no hex', paying(ours), null]]);
    assert.deepEqual(await news(2), [ours, 'block']);
    for (const params of [[7, 'header', 'x'], [7]]) tell(node, 'filteredblockconnected', params);
    assert.deepEqual(await news(4), ['', 'block', '', 'block']);
    for (const text of ['no JSON', '7', 'null', '[]', '{}']) node.socket.send(text);
    tell(node, 'a method of its own', [paying(ours)]);
    tell(node, 'filteredblockdisconnected', [7, 'header']);
    assert.deepEqual(await news(1), ['block']);
  });

  test('is lost when its connection closes, and is connected again a second later', async () => {
    const { clock, news } = follow();
    await news(1);
    (await connection()).socket.terminate();
    assert.deepEqual(await news(1), ['lost']);
    await clock.pass(999);
    assert.equal(connections.length, 1);
    await clock.pass(1);
    assert.deepEqual(await news(1), ['connected']);
    assert.equal((await connection(1)).asked.length, 2);
  });

  test('is trusted by its own certificate only', async () => {
    const { clock, news } = follow({ certificate: makeCertificate().cert });
    assert.deepEqual(await news(1), ['lost']);
    await clock.pass(1_000);
    assert.deepEqual(await news(1), ['lost']);
    assert.equal(connections.length, 0);
  });

  test('counts as dead after five silent seconds; an answer to a ping is not silence', async () => {
    const { clock, news } = follow();
    await news(1);
    const node = await connection();
    for (let beat = 1; beat <= 20; beat += 1) {
      await clock.pass(1_000);
      await until(() => node.pings === beat);
    }
    // It hangs: it reads nothing more. What it says is heard.
    node.socket.pause();
    await clock.pass(5_000);
    tell(node, 'filteredblockdisconnected', []);
    assert.deepEqual(await news(1), ['block']);
    await clock.pass(5_000);
    tell(node, 'filteredblockdisconnected', []);
    assert.deepEqual(await news(1), ['block']);
    await clock.pass(6_000);
    assert.deepEqual(await news(1), ['lost']);
    await clock.pass(1_000);
    assert.deepEqual(await news(1), ['connected']);
    // The next connection has its own five seconds.
    const next = await connection(1);
    next.socket.pause();
    await clock.pass(5_000);
    tell(next, 'filteredblockdisconnected', []);
    assert.deepEqual(await news(1), ['block']);
  });

  test('is left alone after a stop', async () => {
    const { clock, following, news } = follow();
    await news(1);
    const node = await connection();
    following.stop();
    await until(() => node.closed);
    assert.equal(clock.timers, 0);
    await clock.pass(60_000);
    assert.deepEqual([node.pings, connections.length, await news(0)], [0, 1, []]);
    const other = follow();
    await other.news(1);
    (await connection(1)).socket.terminate();
    assert.deepEqual(await other.news(1), ['lost']);
    other.following.stop();
    assert.equal(other.clock.timers, 0);
  });
});
