/** What an Esplora server says is read as money once, exactly, or not at all. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Esplora } from '../../src/checkout/onchain/esplora.js';
import { systemClock } from '../../src/system/clock.js';
import { until } from '../support/until.js';

const ours = 'bc1qours';
const txid = (number: number): string => number.toString(16).padStart(64, '0');

interface Shown {
  readonly txid: unknown;
  readonly vout: unknown;
  readonly status: unknown;
}

/** A transaction that pays to us in a block of this height; null: in none. */
function paying(number: number, sat: number, height: number | null, more: Partial<Shown> = {}): Shown {
  const block = { confirmed: true, block_height: height, block_time: 1_790_000_000 + number };
  return {
    txid: txid(number),
    vout: [{ scriptpubkey_address: ours, value: sat }],
    status: height === null ? { confirmed: false } : block,
    ...more,
  };
}

describe('an Esplora server', () => {
  const answers = new Map<string, string>();
  const asked: string[] = [];
  /** The connections that it was asked on. */
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const { url: path = '', method, headers } = request;
    assert.deepEqual([method, headers['content-length']], ['GET', '0']);
    asked.push(path);
    sockets.add(request.socket);
    if (path.startsWith('/gone')) {
      request.socket.destroy();
      return;
    }
    const answer = answers.get(path);
    response.writeHead(answer === undefined ? 404 : 200);
    response.end(answer ?? 'not found');
  });
  let chain: Esplora;

  const at = (folder: string): Esplora =>
    new Esplora(`http://127.0.0.1:${(server.address() as AddressInfo).port}${folder}`, systemClock);

  before(async () => {
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    chain = at('/api');
  });

  after(() => {
    chain.close();
    server.close();
  });

  beforeEach(() => {
    answers.clear();
    asked.splice(0);
    answers.set('/api/blocks/tip/height', '100');
  });

  const shows = (list: unknown, path = `/api/address/${ours}/txs`): unknown =>
    answers.set(path, JSON.stringify(list));

  async function lookedUp(): Promise<readonly unknown[]> {
    const answer = await chain.lookup(ours);
    assert.ok(answer.kind === 'answer', answer.kind === 'failed' ? answer.reason : answer.kind);
    return answer.value;
  }

  const failed = (reason: string): unknown => ({ kind: 'failed', reason: `Esplora: ${reason}` });

  test('is on the network of its first block', async () => {
    for (const [hash, network] of [
      ['000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f', 'mainnet'],
      ['000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943', 'testnet'],
      ['00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043', 'testnet'],
      ['00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6\n', 'signet'],
      ['0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206', 'regtest'],
      ['00'.repeat(32), 'an unknown network'],
    ] as const) {
      answers.set('/api/block-height/0', hash);
      assert.deepEqual(await chain.network(), { kind: 'answer', value: network });
    }
    answers.delete('/api/block-height/0');
    assert.deepEqual(await chain.network(), failed('it answers with status 404'));
  });

  test('must report its height as a number', async () => {
    for (const text of ['100', '100\n', '0']) {
      answers.set('/api/blocks/tip/height', text);
      assert.deepEqual(await chain.tip(), { kind: 'answer', value: Number(text) });
    }
    for (const text of ['', 'soon', '1.5', '-1', '1e3', '9'.repeat(17)]) {
      answers.set('/api/blocks/tip/height', text);
      assert.deepEqual(await chain.tip(), failed('its height is not a number'), text);
    }
  });

  test('must report the time of its last block as a number', async () => {
    answers.set('/api/blocks', JSON.stringify([{ timestamp: 1_790_000_000 }, { timestamp: 1_789_999_000 }]));
    assert.deepEqual(await chain.tipAtMs(), { kind: 'answer', value: 1_790_000_000_000 });
    for (const text of ['[]', '[{}]', '[null]', '[{"timestamp":"1790000000"}]', '{}', 'null', 'soon']) {
      answers.set('/api/blocks', text);
      assert.deepEqual(await chain.tipAtMs(), failed('its last block has no time'), text);
    }
    answers.delete('/api/blocks');
    assert.deepEqual(await chain.tipAtMs(), failed('it answers with status 404'));
  });

  test('says which addresses have a history, in blocks or outside', async () => {
    const stats = (name: string, chained: unknown, waiting: unknown): unknown =>
      answers.set(
        `/api/address/${name}`,
        JSON.stringify({ chain_stats: { tx_count: chained }, mempool_stats: { tx_count: waiting } }),
      );
    stats('fresh', 0, 0);
    stats('mined', 1, 0);
    stats('waiting', 0, 2);
    const answer = await chain.used(['fresh', 'mined', 'waiting']);
    assert.deepEqual(answer, { kind: 'answer', value: new Set(['mined', 'waiting']) });
    stats('odd', 0, '0');
    assert.deepEqual(
      await chain.used(['mined', 'odd']),
      failed('its statistics of an address are malformed'),
    );
    for (const text of ['{}', 'null', 'no JSON']) {
      answers.set('/api/address/odd', text);
      assert.deepEqual(await chain.used(['odd']), failed('its statistics of an address are malformed'), text);
    }
    assert.deepEqual(await chain.used(['unknown']), failed('it answers with status 404'));
    assert.deepEqual(await chain.used([]), { kind: 'answer', value: new Set() });
  });

  test('reports each output that pays an address, and no others', async () => {
    const vout = [
      { scriptpubkey_address: 'bc1qtheirs', value: 900_000 },
      { scriptpubkey_address: ours, value: 25_000 },
      { value: 0 },
      { scriptpubkey_address: ours, value: 1 },
    ];
    shows([paying(1, 0, 91, { vout })]);
    const found = { txid: txid(1), confirmations: 10, atMs: 1_790_000_001_000, height: 91 };
    assert.deepEqual(await lookedUp(), [
      { ...found, vout: 1, sat: 25_000n },
      { ...found, vout: 3, sat: 1n },
    ]);
    shows([]);
    assert.deepEqual(await lookedUp(), []);
  });

  test('counts how deep a payment is: 0 in no block, 1 in the last', async () => {
    shows([
      paying(1, 5, null),
      paying(2, 5, 101),
      paying(3, 5, 100),
      paying(4, 5, 99),
      paying(5, 5, 99, { status: { confirmed: true, block_height: 99 } }),
    ]);
    const found = (await lookedUp()) as readonly { confirmations: number; height: unknown; atMs: unknown }[];
    assert.deepEqual(
      found.map(({ confirmations, height }) => [confirmations, height]),
      [
        [0, null],
        [1, 101],
        [1, 100],
        [2, 99],
        [2, 99],
      ],
    );
    assert.deepEqual([found[0]?.atMs, found[4]?.atMs], [null, null]);
  });

  test('is asked for every page, and an output that it reports twice counts once', async () => {
    const first = Array.from({ length: 25 }, (_, at) => paying(at + 1, 10, 90));
    shows([paying(90, 1, null), paying(91, 2, null), ...first]);
    const second = Array.from({ length: 25 }, (_, at) => paying(at + 25, 10, 80));
    shows(second, `/api/address/${ours}/txs/chain/${txid(25)}`);
    shows([paying(99, 100, 70)], `/api/address/${ours}/txs/chain/${txid(49)}`);
    const found = (await lookedUp()) as readonly { readonly sat: bigint }[];
    assert.equal(found.length, 2 + 49 + 1);
    assert.equal(
      found.reduce((sum, { sat }) => sum + sat, 0n),
      3n + 490n + 100n,
    );
    assert.equal(asked.length, 4);
    // Payments in no block do not make a page of blocks full.
    asked.splice(0);
    shows([...Array.from({ length: 5 }, (_, at) => paying(at + 50, 1, null)), ...first.slice(0, 24)]);
    assert.equal((await lookedUp()).length, 29);
    assert.equal(asked.length, 2);
  });

  test('that returns malformed transactions counts as not answering', async () => {
    const none = failed('its transactions are not a list');
    for (const wrong of [
      {},
      null,
      'x',
      [null],
      [paying(1, 5, 90, { txid: 1 })],
      [paying(1, 5, 90, { vout: null })],
      [paying(1, 5, 90, { vout: [null] })],
      [paying(1, 0.5, 90)],
      [paying(1, 5, 90, { vout: [{ value: 5 }, { scriptpubkey_address: ours, value: 0.5 }] })],
      [paying(1, 5, 90, { vout: [{ scriptpubkey_address: ours, value: '5' }] })],
      [paying(1, 5, 90, { status: null })],
      [paying(1, 5, 90, { status: { confirmed: 'yes', block_height: 90 } })],
      [paying(1, 5, 90, { status: { confirmed: true } })],
      [paying(2, 5, 90), paying(1, 5, 90, { status: {} })],
    ]) {
      shows(wrong);
      assert.deepEqual(await chain.lookup(ours), none, JSON.stringify(wrong));
    }
    answers.set(`/api/address/${ours}/txs`, 'no JSON');
    assert.deepEqual(await chain.lookup(ours), none);
    shows(Array.from({ length: 25 }, (_, at) => paying(at + 1, 10, 90)));
    assert.deepEqual(await chain.lookup(ours), failed('it answers with status 404'), 'half of it is not all');
    shows([]);
    answers.delete('/api/blocks/tip/height');
    assert.deepEqual(await chain.lookup(ours), failed('it answers with status 404'), 'without a tip');
  });

  test('is asked on one connection, which closes when it is no longer needed', async () => {
    const own = at('/api');
    sockets.clear();
    for (let count = 0; count < 3; count += 1) assert.equal((await own.tip()).kind, 'answer');
    const [socket, ...more] = sockets;
    assert.ok(socket !== undefined && more.length === 0);
    const other = at('/api');
    assert.equal((await other.tip()).kind, 'answer');
    assert.equal(sockets.size, 2, 'its own, which no other client uses');
    other.close();
    own.close();
    await until(() => socket.destroyed);
  });

  test('that breaks off a response counts as not answering', async () => {
    const gone = at('/gone');
    const answer = await gone.tip();
    gone.close();
    assert.match(answer.kind === 'failed' ? answer.reason : '', /^Esplora: it does not answer \(.+\)$/);
  });
});
