/** What btcd says is read as money once, exactly, or not at all. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { after, beforeEach, describe, test } from 'node:test';
import { Btcd } from '../../src/checkout/onchain/btcd.js';
import { systemClock } from '../../src/system/clock.js';
import { spansOf } from '../telemetry/recording.js';
import { until } from '../support/until.js';
import { HttpsNode, type NodeAnswer } from './httpsNode.js';

const ours = 'bcrt1qours';
const [user, password] = ['shop', 'a-password-of-the-tests'];
const id = (number: number): string => number.toString(16).padStart(64, '0');

type Json = Readonly<Record<string, unknown>>;

/** A transaction that pays bitcoin to us, so deep in its block. */
function paying(number: number, value: number, confirmations: number, more: Json = {}): Json {
  return {
    txid: id(number),
    ...(confirmations === 0 ? {} : { confirmations, blockhash: `block ${confirmations}` }),
    ...{ time: 1_790_000_000, blocktime: 1_790_000_600 },
    vout: [{ value, n: 0, scriptPubKey: { address: ours } }],
    ...more,
  };
}

/** Of btcd's JSON-RPC API what the checkout asks. */
class BtcdServer extends HttpsNode {
  /** What it answers to a method, or the error. */
  readonly results = new Map<string, (params: readonly unknown[]) => unknown>();
  readonly asked: string[] = [];
  /** The traces that it was asked for. */
  readonly traces = new Set<unknown>();

  static start(): Promise<BtcdServer> {
    return new BtcdServer('').listening();
  }

  protected async answer(request: IncomingMessage): Promise<NodeAnswer> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const expected = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    if (request.headers.authorization !== expected) return { status: 401, json: '401 Unauthorized.' };
    const { method, params, ...more } = JSON.parse(body) as { method: string; params: readonly unknown[] };
    // As its documentation has requests.
    assert.deepEqual([request.method, more], ['POST', { jsonrpc: '1.0', id: 1 }]);
    this.traces.add(request.headers['traceparent']);
    this.asked.push(`${method} ${JSON.stringify(params)}`);
    const answer = this.results.get(method);
    if (answer === undefined) return undefined;
    const result = answer(params);
    if (result instanceof Raw) return { status: 200, json: result.json };
    if (result instanceof Refusal) return { status: 500, json: { result: null, error: result.error, id: 1 } };
    return { status: 200, json: { result, error: null, id: 1 } };
  }
}

/** An answer as it is. */
class Raw {
  constructor(readonly json: unknown) {}
}

class Refusal {
  constructor(readonly error: unknown) {}
}

const unknownAddress = new Refusal({ code: -5, message: 'No information available about address' });

const server = await BtcdServer.start();

describe('btcd', () => {
  const open = (pass = password): Btcd => {
    const { url, certificate } = server.place;
    return new Btcd({ url, user, password: pass, certificate }, systemClock, 'regtest');
  };
  let chain = open();

  after(() => chain.close());

  beforeEach(() => {
    server.results.clear();
    server.asked.splice(0);
    chain.close();
    chain = open();
    server.results.set('getblockheader', ([block]) => ({ height: 101 - Number(String(block).slice(6)) }));
  });

  /** Has btcd know these transactions of every address. */
  function shows(transactions: readonly unknown[]): void {
    server.results.set('searchrawtransactions', ([, , skip, count]) => {
      const page = transactions.slice(Number(skip), Number(skip) + Number(count));
      return page.length === 0 ? unknownAddress : page;
    });
  }

  async function lookedUp(): Promise<readonly Json[]> {
    const answer = await chain.lookup(ours);
    assert.ok(answer.kind === 'answer', answer.kind === 'failed' ? answer.reason : answer.kind);
    return answer.value as unknown as readonly Json[];
  }

  test('is on the network that it reports', async () => {
    for (const [name, network] of [
      ['mainnet', 'mainnet'],
      ['testnet3', 'testnet'],
      ['testnet4', 'testnet'],
      ['signet', 'signet'],
      ['regtest', 'regtest'],
    ]) {
      server.results.set('getblockchaininfo', () => ({ chain: name }));
      assert.deepEqual(await chain.network(), { kind: 'answer', value: network });
    }
    for (const wrong of ['mainnet', null, []]) {
      server.results.set('getblockchaininfo', () => wrong);
      assert.deepEqual(await chain.network(), { kind: 'answer', value: 'undefined' });
    }
    server.results.set('getblockchaininfo', () => new Refusal({ code: 1, message: 'busy' }));
    const busy = await chain.network();
    assert.equal(busy.kind === 'failed' && busy.reason, 'btcd says: busy');
  });

  test('must report its height as a number', async () => {
    server.results.set('getblockcount', () => 100);
    assert.deepEqual(await chain.tip(), { kind: 'answer', value: 100 });
    for (const wrong of ['100', 1.5, null]) {
      server.results.set('getblockcount', () => wrong);
      assert.deepEqual(await chain.tip(), { kind: 'failed', reason: 'its height is not a number' });
    }
  });

  test('must report the time of its last block as a number', async () => {
    server.results.set('getbestblockhash', () => 'block 1');
    server.results.set('getblockheader', ([block]) => ({ time: block === 'block 1' ? 1_790_000_000 : 0 }));
    assert.deepEqual(await chain.tipAtMs(), { kind: 'answer', value: 1_790_000_000_000 });
    assert.ok(server.asked.includes('getblockheader ["block 1",true]'), 'as an object');
    for (const wrong of [{ time: '1790000000' }, { time: 0.5 }, {}, null]) {
      server.results.set('getblockheader', () => wrong);
      assert.deepEqual(await chain.tipAtMs(), { kind: 'failed', reason: 'its last block has no time' });
    }
    for (const method of ['getbestblockhash', 'getblockheader']) {
      server.results.set('getbestblockhash', () => 'block 1');
      server.results.set('getblockheader', () => ({ time: 1 }));
      server.results.set(method, () => new Refusal({ code: 1, message: 'busy' }));
      const busy = await chain.tipAtMs();
      assert.equal(busy.kind === 'failed' && busy.reason, 'btcd says: busy');
    }
  });

  test('says which addresses have a history', async () => {
    const used = new Set(['a', 'c']);
    server.results.set('searchrawtransactions', ([address]) =>
      used.has(String(address)) ? ['00'] : unknownAddress,
    );
    assert.deepEqual(await chain.used(['a', 'b', 'c']), { kind: 'answer', value: used });
    assert.ok(server.asked.includes('searchrawtransactions ["b",0,0,1]'));
    server.results.set('searchrawtransactions', () => new Refusal({ code: -32601, message: 'no index' }));
    const answer = await chain.used(['a']);
    assert.deepEqual([answer.kind, 'reason' in answer && answer.reason], ['failed', 'btcd says: no index']);
  });

  test('reports each output that pays an address, and no others', async () => {
    const vout = [
      { value: 9, n: 0, scriptPubKey: { address: 'bcrt1qtheirs' } },
      { value: 0.00025, n: 1, scriptPubKey: { address: ours } },
      { value: 1, n: 2, scriptPubKey: {} },
      { value: 1, n: 3 },
      null,
      { value: 0.29, n: 5, scriptPubKey: { address: ours } },
    ];
    shows([paying(1, 0, 3, { vout })]);
    const found = { txid: id(1), confirmations: 3, atMs: 1_790_000_600_000, height: 98 };
    assert.deepEqual(await lookedUp(), [
      { ...found, vout: 1, sat: 25_000n },
      { ...found, vout: 5, sat: 29_000_000n },
    ]);
  });

  test('reports amounts in bitcoin, which are converted to exact satoshi', async () => {
    const amounts = [1n, 3n, 25_001n, 28_999_999n, 100_000_001n, 2_099_999_997_690_000n];
    shows(amounts.map((sat, at) => paying(at, Number(sat) / 1e8, 1)));
    assert.deepEqual(
      (await lookedUp()).map(({ sat }) => sat),
      amounts,
    );
  });

  test('says how deep a payment is, in which block, and since when', async () => {
    shows([
      paying(1, 1, 0),
      paying(2, 1, 1),
      paying(3, 1, 2),
      paying(4, 1, 2, { blocktime: 0 }),
      paying(7, 1, 2, { blocktime: '1790000601' }),
      paying(8, 1, 2, { blocktime: 1 }),
      paying(5, 1, 0, { blocktime: undefined, time: undefined }),
      paying(6, 1, 0, { confirmations: 0, blockhash: 'block 7' }),
    ]);
    const found = (await lookedUp()).map((each) => [each['confirmations'], each['height'], each['atMs']]);
    const [atMs, blockMs] = [1_790_000_000_000, 1_790_000_600_000];
    assert.deepEqual(found, [
      [0, null, blockMs],
      [1, 100, blockMs],
      [2, 99, blockMs],
      [2, 99, atMs],
      [2, 99, atMs],
      [2, 99, 1_000],
      [0, null, null],
      [0, null, blockMs],
    ]);
    // A block never changes its height: each is asked for once.
    const headers = (): number => server.asked.filter((each) => each.startsWith('getblockheader')).length;
    assert.equal(headers(), 2);
    assert.ok(server.asked.includes('getblockheader ["block 1",true]'));
    await lookedUp();
    assert.equal(headers(), 2);
  });

  test('is asked for every page of payments', async () => {
    shows(Array.from({ length: 250 }, (_, at) => paying(at, 0.00000001, 1)));
    assert.equal((await lookedUp()).length, 250);
    const pages = [0, 100, 200].map(
      (skip) => `searchrawtransactions ["${ours}",1,${skip},100,0,false,["${ours}"]]`,
    );
    const search = (): string[] => server.asked.filter((each) => each.startsWith('search'));
    assert.deepEqual(search(), pages);
    server.asked.splice(0);
    shows(Array.from({ length: 100 }, (_, at) => paying(at, 0.00000001, 1)));
    assert.equal((await lookedUp()).length, 100, 'after a full page there is none');
    assert.deepEqual(search(), pages.slice(0, 2));
    shows([]);
    assert.deepEqual(await lookedUp(), []);
  });

  test('that returns malformed transactions counts as not answering', async () => {
    const reasonOf = async (): Promise<string> => {
      const answer = await chain.lookup(ours);
      return answer.kind === 'failed' ? answer.reason : answer.kind;
    };
    for (const wrong of [
      null,
      'x',
      paying(1, 1, 1, { txid: 1 }),
      paying(1, 1, 1, { vout: {} }),
      paying(1, 1, 1, { confirmations: 1.5 }),
      paying(1, 1, 1, { confirmations: '1' }),
    ]) {
      shows([paying(9, 1, 1), wrong]);
      assert.equal(await reasonOf(), 'a transaction is malformed', JSON.stringify(wrong));
    }
    for (const wrong of [
      { value: '1', n: 0 },
      { value: 1, n: 0.5 },
      { value: 1, n: null },
    ]) {
      shows([paying(1, 1, 1, { vout: [{ ...wrong, scriptPubKey: { address: ours } }] })]);
      assert.equal(await reasonOf(), 'an output is malformed', JSON.stringify(wrong));
    }
    server.results.set('searchrawtransactions', () => ({}));
    assert.equal(await reasonOf(), 'its transactions are not a list');
    server.results.set('searchrawtransactions', () => new Refusal({ code: -1, message: 'no index' }));
    assert.equal(await reasonOf(), 'btcd says: no index');
    shows([paying(1, 1, 1)]);
    for (const wrong of [{ height: 'high' }, null, []]) {
      server.results.set('getblockheader', () => wrong);
      assert.equal(await reasonOf(), 'a block has no height');
    }
    server.results.set('getblockheader', () => new Refusal({ code: -5, message: 'Block not found' }));
    assert.equal(await reasonOf(), 'btcd says: Block not found');
  });

  test('answers in JSON-RPC', async () => {
    const tipOf = async (json: unknown): Promise<unknown> => {
      server.results.set('getblockcount', () => new Raw(json));
      const tip = await chain.tip();
      return tip.kind === 'failed' ? tip.reason : tip.value;
    };
    assert.equal(await tipOf({ result: 7 }), 7);
    assert.equal(await tipOf({ result: 7, error: null }), 7);
    for (const none of [null, [], 'x', 7]) assert.equal(await tipOf(none), 'its answer is not a JSON object');
    for (const error of ['busy', false, []]) {
      assert.equal(await tipOf({ result: 7, error }), 'btcd says: undefined');
    }
    assert.equal(await tipOf({ result: 7, error: { message: 'busy' } }), 'btcd says: busy');
  });

  test('is asked on one connection, which closes when it is no longer needed', async () => {
    server.results.set('getblockcount', () => 100);
    server.sockets.clear();
    for (let count = 0; count < 3; count += 1) assert.equal((await chain.tip()).kind, 'answer');
    const [socket, ...more] = server.sockets;
    assert.ok(socket !== undefined && more.length === 0);
    chain.close();
    await until(() => socket.destroyed);
  });

  test('belongs to the operator, so it gets the trace of each request', async () => {
    server.results.set('getblockcount', () => 100);
    server.traces.clear();
    const [span] = await spansOf(() => chain.tip());
    assert.ok(span !== undefined);
    assert.deepEqual([...server.traces], [`00-${span.traceId}-${span.spanId}-01`]);
  });

  test('is not used with another password or behind another certificate', async () => {
    server.results.set('getblockcount', () => 100);
    const stranger = open('another');
    const refused = await stranger.tip();
    assert.deepEqual(refused, { kind: 'failed', reason: 'btcd does not know this user or password' });
    stranger.close();
    const { url } = server.place;
    const unpinned = new Btcd({ url, user, password, certificate: null }, systemClock, 'regtest');
    const untrusted = await unpinned.tip();
    unpinned.close();
    const reason = untrusted.kind === 'failed' ? untrusted.reason : '';
    assert.match(reason, /^btcd does not answer \(.+\)$/);
    assert.ok(!reason.includes(password));
    server.results.delete('getblockcount');
    const broken = await chain.tip();
    assert.match(broken.kind === 'failed' ? broken.reason : '', /^btcd does not answer \(.+\)$/);
  });
});
