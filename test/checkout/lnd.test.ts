/** What LND's REST interface is asked, and what it answers: read exactly, or not at all. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { after, beforeEach, describe, test } from 'node:test';
import { Lnd, walletTransaction, type LndAnswer } from '../../src/checkout/lnd.js';
import { systemClock } from '../../src/system/clock.js';
import { spansOf } from '../telemetry/recording.js';
import { until } from '../support/until.js';
import { makeCertificate, type Certificate } from './certificate.js';
import { HttpsNode, type NodeAnswer } from './httpsNode.js';

type Json = Readonly<Record<string, unknown>>;

/** An LND that answers what it is told to, whatever it is asked. */
class Node extends HttpsNode {
  next: NodeAnswer;
  readonly asked: string[] = [];
  readonly fields: IncomingMessage['headers'][] = [];

  static start(certificate?: Certificate): Promise<Node> {
    return new Node('a-macaroon', certificate).listening();
  }

  protected async answer(request: IncomingMessage): Promise<NodeAnswer> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    this.asked.push(`${request.method} ${request.url}${body === '' ? '' : ` ${body}`}`);
    this.fields.push(request.headers);
    return this.next;
  }
}

const node = await Node.start();
const lnd = new Lnd(node.place, systemClock);
after(() => lnd.close());

beforeEach(() => {
  node.asked.splice(0);
  node.fields.splice(0);
});

/** What is read of an answer; of a failure its reason. */
async function read<Value>(
  ask: () => Promise<LndAnswer<Value>>,
  json: unknown,
  status = 200,
): Promise<unknown> {
  node.next = { status, json };
  const answer = await ask();
  if (answer.kind === 'failed') return answer.reason;
  assert.equal(answer.kind, 'answer');
  return answer.value;
}

const none = (reason: string): string => `LND does not answer (${reason})`;

describe('a status', () => {
  const info = (json: unknown): Promise<unknown> => read(() => lnd.info(), json);

  test('has the node’s network, and defaults for what LND leaves out', async () => {
    const chains = [{ chain: 'bitcoin', network: 'signet' }, { network: 'mainnet' }];
    const all = { synced_to_chain: true, num_active_channels: 3, block_height: 7, block_hash: 'ab' };
    assert.deepEqual(await info({ chains, ...all }), {
      ...{ network: 'signet', syncedToChain: true, activeChannels: 3 },
      ...{ blockHeight: 7, blockHash: 'ab' },
    });
    assert.deepEqual(await info({ chains, block_hash: '' }), {
      ...{ network: 'signet', syncedToChain: false, activeChannels: 0 },
      ...{ blockHeight: 0, blockHash: '' },
    });
    assert.deepEqual(node.asked, ['GET /v1/getinfo', 'GET /v1/getinfo']);
  });

  test('without a network is a failure', async () => {
    for (const chains of [
      undefined,
      null,
      {},
      'bitcoin',
      [],
      [null],
      [[]],
      ['bitcoin'],
      [{}],
      [{ network: 1 }],
    ]) {
      assert.equal(await info({ chains }), none('it names no network'), JSON.stringify(chains));
    }
  });
});

describe('what can be received', () => {
  const inbound = (json: unknown): Promise<unknown> => read(() => lnd.inbound(), json);
  const channel = (more: Json): Json => ({ active: true, initiator: true, remote_balance: '10000', ...more });

  test('is the balance of the remote sides, less what they must keep', async () => {
    for (const [more, expected] of [
      [{}, 10_000n],
      [{ active: false }, 0n],
      [{ active: 1 }, 0n],
      [{ remote_chan_reserve_sat: '100' }, 9_900n],
      [{ remote_chan_reserve_sat: '100', commit_fee: '30' }, 9_900n],
      [{ remote_chan_reserve_sat: '100', commit_fee: '30', initiator: false }, 9_840n],
      [{ remote_chan_reserve_sat: '100', initiator: false }, 9_900n],
      [{ remote_chan_reserve_sat: '9999' }, 1n],
      [{ remote_chan_reserve_sat: '10000' }, 0n],
      [{ remote_chan_reserve_sat: '10001' }, 0n],
      [{ remote_balance: undefined }, 0n],
      [{ remote_balance: 7 }, 7n],
    ] as const) {
      const found = { sat: expected, announcedSat: expected };
      assert.deepEqual(await inbound({ channels: [channel(more)] }), found, JSON.stringify(more));
    }
    const some = [channel({}), null, 'x', channel({ private: true })];
    assert.deepEqual(await inbound({ channels: some }), { sat: 20_000n, announcedSat: 10_000n });
    assert.deepEqual(await inbound({}), { sat: 0n, announcedSat: 0n });
    assert.equal(node.asked[0], 'GET /v1/channels?active_only=true');
  });

  test('is a failure if the list or an amount is malformed', async () => {
    for (const channels of [{}, 'x', 1]) {
      assert.equal(await inbound({ channels }), none('its channels are not a list'));
    }
    for (const remote_balance of ['', 'x', '1.5', '1e3', '9'.repeat(21), 1.5, 2 ** 53, ['5'], true, {}]) {
      const said = await inbound({ channels: [channel({ remote_balance })] });
      assert.equal(said, none('an amount is not a number'), JSON.stringify(remote_balance));
    }
  });
});

describe('an invoice', () => {
  test('is made for an amount in satoshi, with a memo and a lifetime in seconds', async () => {
    const make = (json: unknown): Promise<unknown> => read(() => lnd.addInvoice(50_000n, 'memo', 900), json);
    const r_hash = Buffer.from('0123abcd', 'hex').toString('base64');
    assert.deepEqual(await make({ r_hash, payment_request: 'lnbc1' }), {
      paymentHash: '0123abcd',
      bolt11: 'lnbc1',
    });
    const plain = '{"memo":"memo","value":"50000","expiry":"900"}';
    assert.equal(node.asked[0], `POST /v1/invoices ${plain}`);
    await read(() => lnd.addInvoice(50_000n, 'memo', 900, true), { r_hash, payment_request: 'lnbc1' });
    assert.equal(node.asked[1], `POST /v1/invoices ${plain.slice(0, -1)},"private":true}`);
    for (const wrong of [
      {},
      { r_hash },
      { payment_request: 'lnbc1' },
      { r_hash: 1, payment_request: 'lnbc1' },
    ]) {
      assert.equal(await make(wrong), none('its invoice is malformed'));
    }
  });

  test('has a known state, the amount paid, and when it was paid', async () => {
    const look = (json: unknown): Promise<unknown> => read(() => lnd.invoice('ab'), json);
    for (const [name, state] of [
      ['OPEN', 'open'],
      ['ACCEPTED', 'accepted'],
      ['SETTLED', 'settled'],
      ['CANCELED', 'canceled'],
    ]) {
      assert.deepEqual(await look({ state: name }), { state, paidSat: 0n, settledAtMs: null });
    }
    const paid = { state: 'SETTLED', amt_paid_sat: '50000' };
    assert.deepEqual(await look({ ...paid, settle_date: '1790000000' }), {
      ...{ state: 'settled', paidSat: 50_000n, settledAtMs: 1_790_000_000_000 },
    });
    assert.deepEqual(await look({ ...paid, settle_date: '1' }), {
      ...{ state: 'settled', paidSat: 50_000n, settledAtMs: 1_000 },
    });
    assert.equal(node.asked[0], 'GET /v1/invoice/ab');
    for (const state of [undefined, '', 'open', 'constructor', ['OPEN'], 1]) {
      assert.equal(await look({ state }), none('an invoice has no known state'), JSON.stringify(state));
    }
    assert.equal(await look({ state: 'OPEN', amt_paid_sat: 'x' }), none('an amount is not a number'));
    assert.equal(await look({ state: 'OPEN', settle_date: 'x' }), none('an amount is not a number'));
  });

  test('that is paid is listed, however many there are', async () => {
    const list = (json: unknown): Promise<unknown> => read(() => lnd.settledInvoices(1_999), json);
    const r_hash = Buffer.from('ab', 'hex').toString('base64');
    const paid = { state: 'SETTLED', memo: 'one', r_hash, amt_paid_sat: '5' };
    const invoices = [paid, { ...paid, state: 'OPEN' }, null, 'x', { ...paid, memo: 'two' }];
    const shown = { paymentHash: 'ab', paidSat: 5n };
    assert.deepEqual(await list({ invoices, last_index_offset: '9' }), [
      { memo: 'one', ...shown },
      { memo: 'two', ...shown },
    ]);
    assert.deepEqual(node.asked, [
      'GET /v1/invoices?index_offset=0&num_max_invoices=1000&creation_date_start=1',
    ]);
    assert.deepEqual(await list({}), []);
    assert.equal(await list({ invoices: {} }), none('its invoices are not a list'));
    node.next = { status: 500, json: { message: 'it is locked' } };
    assert.equal((await lnd.settledInvoices(0)).kind, 'failed');
    // A whole page may be followed by another.
    const pages = [Array.from({ length: 1_000 }, () => paid), [paid]];
    const paged = Object.assign(Object.create(lnd) as Lnd, {
      ask: (_path: string, _body: unknown, of: (json: Json) => unknown) => {
        node.asked.push(_path);
        return Promise.resolve({
          kind: 'answer',
          value: of({ invoices: pages.shift(), last_index_offset: '1000' }),
        });
      },
    });
    const all = await paged.settledInvoices(0);
    assert.equal(all.kind === 'answer' && all.value.length, 1_001);
    assert.match(node.asked.at(-1) ?? '', /index_offset=1000&/);
  });
});

describe('a wallet', () => {
  test('has accounts, each with the number of addresses that it handed out', async () => {
    const accounts = [
      { name: 'shop', extended_public_key: 'zpub', external_key_count: 7 },
      null,
      'x',
      { name: 'bare', extended_public_key: 'vpub' },
    ];
    const [shop, bare] = [
      { name: 'shop', extendedPublicKey: 'zpub', handedOut: 7 },
      { name: 'bare', extendedPublicKey: 'vpub', handedOut: 0 },
    ];
    assert.deepEqual(await read(() => lnd.accounts(), { accounts }), [shop, bare]);
    assert.deepEqual(await read(() => lnd.account('a shop'), { accounts }), shop);
    for (const wrong of [undefined, {}, 'x', [], [null]]) {
      assert.deepEqual(await read(() => lnd.accounts(), { accounts: wrong }), []);
      assert.equal(
        await read(() => lnd.account('shop'), { accounts: wrong }),
        none('it has no account shop'),
      );
    }
    assert.deepEqual(node.asked.slice(0, 2), [
      'GET /v2/wallet/accounts',
      'GET /v2/wallet/accounts?name=a%20shop',
    ]);
    assert.equal(await read(() => lnd.nextAddress('shop'), { addr: 'bc1q' }), 'bc1q');
    assert.equal(node.asked.at(-1), 'POST /v2/wallet/address/next {"account":"shop","change":false}');
  });

  test('has transactions, in a block or outside, with their valid outputs', async () => {
    const output_details = [{ address: 'a', output_index: '2', amount: '7' }, null, 'x', { address: 'b' }];
    const bare = { tx_hash: 'aa', output_details, time_stamp: '1790000000' };
    const outputs = [
      { address: 'a', vout: 2, sat: 7n },
      { address: 'b', vout: 0, sat: 0n },
    ];
    const waiting = { txid: 'aa', height: 0, confirmations: 0, atMs: 1_790_000_000_000, outputs };
    assert.deepEqual(walletTransaction(bare), waiting);
    const mined = { ...bare, block_height: 9, num_confirmations: 3 };
    assert.deepEqual(walletTransaction(mined), { ...waiting, height: 9, confirmations: 3 });
    const list = (json: unknown): Promise<unknown> => read(() => lnd.transactions('a shop', 5), json);
    assert.deepEqual(await list({ transactions: [bare, null, 'x'] }), [waiting]);
    assert.deepEqual(await list({}), []);
    assert.equal(await list({ transactions: {} }), none('its transactions are not a list'));
    assert.equal(node.asked[0], 'GET /v1/transactions?account=a%20shop&start_height=5&end_height=-1');
  });
});

describe('a stream of transactions', () => {
  /** Streams what the node answers with; what was reported, once it has ended. */
  async function streamed(next: NodeAnswer, stopAt = Infinity): Promise<unknown[]> {
    node.next = next;
    const reported: unknown[] = [];
    let ends = 0;
    const stream = lnd.streamTransactions('a shop', {
      onTransaction: (json) => reported.push(json),
      onEnd: () => (ends += 1),
    });
    await until(() => ends > 0 || reported.length >= stopAt);
    stream.stop();
    await until(() => ends > 0);
    return reported;
  }

  test('is requested for one account with the macaroon, and reports each transaction', async () => {
    const lines = [{ tx_hash: 'a' }, { tx_hash: 'b' }].map((result) => JSON.stringify({ result }));
    assert.deepEqual(await streamed({ lines }, 2), [{ tx_hash: 'a' }, { tx_hash: 'b' }]);
    assert.deepEqual(node.asked, ['GET /v1/transactions/subscribe?account=a%20shop']);
    assert.equal(node.fields[0]?.['grpc-metadata-macaroon'], 'a-macaroon');
  });

  test('ends at a line that is not a transaction', async () => {
    const good = JSON.stringify({ result: { tx_hash: 'a' } });
    for (const bad of ['no JSON', '{}', '[]', 'null', '7', '{"result":[]}', '{"error":{"message":"busy"}}']) {
      assert.deepEqual(await streamed({ lines: [good, bad, good] }), [{ tx_hash: 'a' }], bad);
    }
  });
});

describe('an answer', () => {
  test('that refuses is reported in LND’s words, and says whether LND lacks what was asked for', async () => {
    const refused = async (status: number, json: unknown): Promise<unknown> => {
      node.next = { status, json };
      return lnd.invoice('ab');
    };
    const said = { kind: 'failed', absent: false, reason: 'LND says: it is locked' };
    assert.deepEqual(await refused(500, { message: 'it is locked' }), said);
    assert.deepEqual(await refused(404, { message: 'it is locked' }), { ...said, absent: true });
    assert.deepEqual(await refused(503, { message: 7 }), { ...said, reason: 'LND says: status 503' });
    const nothing = { ...said, reason: none('its answer is not a JSON object') };
    for (const json of [[], null, 7, 'x']) assert.deepEqual(await refused(404, json), nothing);
  });

  test('comes on one connection, which closes when it is no longer needed', async () => {
    const own = new Lnd(node.place, systemClock);
    node.next = { status: 200, json: {} };
    node.sockets.clear();
    for (let count = 0; count < 3; count += 1) await own.accounts();
    const [socket, ...more] = node.sockets;
    assert.ok(socket !== undefined && more.length === 0);
    own.close();
    await until(() => socket.destroyed);
  });

  test('is of the operator’s own node: it gets the macaroon, and the trace of the question', async () => {
    node.next = { status: 200, json: {} };
    const [span] = await spansOf(() => lnd.accounts());
    const [fields] = node.fields;
    assert.equal(fields?.['grpc-metadata-macaroon'], 'a-macaroon');
    assert.equal(fields['traceparent'], `00-${span?.traceId}-${span?.spanId}-01`);
  });

  test('is accepted from the pinned certificate only, not from one that it signed', async () => {
    const pinned = makeCertificate();
    const [own, issued] = [await Node.start(pinned), await Node.start(makeCertificate(pinned))];
    for (const each of [own, issued]) {
      each.next = { status: 200, json: {} };
      const client = new Lnd({ ...each.place, certificate: pinned.cert }, systemClock);
      const answer = await client.accounts();
      client.close();
      if (each === own) assert.equal(answer.kind, 'answer');
      else assert.equal(answer.kind === 'failed' && answer.reason, none('it shows another certificate'));
    }
  });
});
