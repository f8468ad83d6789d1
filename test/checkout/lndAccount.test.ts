/** A watch-only account of LND: what its wallet reports is read as money once, exactly, or not at all. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { after, beforeEach, describe, test } from 'node:test';
import * as secp256k1 from '@bitcoinerlab/secp256k1';
import { BIP32Factory } from 'bip32';
import { networks } from 'bitcoinjs-lib';
import type { Account } from '../../src/checkout/onchain/account.js';
import { readAccount } from '../../src/checkout/onchain/addresses.js';
import { Lnd } from '../../src/checkout/lnd.js';
import { LndChain } from '../../src/checkout/onchain/lndChain.js';
import { systemClock } from '../../src/system/clock.js';
import { HttpsNode, type NodeAnswer } from './httpsNode.js';

type Json = Readonly<Record<string, unknown>>;

const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
  readonly vectors: readonly { readonly network: string; readonly account_public: string }[];
};

const bip32 = BIP32Factory(secp256k1);

/** The keys of two accounts, of mainnet and of the other networks. */
const [mainKey = '', testKey = ''] = [true, false].map(
  (isMain) => vectors.find(({ network }) => (network === 'mainnet') === isMain)?.account_public,
);

/** The key of another account of the test networks. */
const otherKey = bip32
  .fromSeed(Buffer.alloc(32, 5), networks.testnet)
  .derivePath("m/84'/1'/1'")
  .neutered()
  .toBase58();

const account = ((): Account => {
  const read = readAccount(testKey, 'regtest');
  if ('wrong' in read) assert.fail(read.wrong);
  return read.account;
})();

/** A transaction of the wallet as LND writes it, in a block of this height; 0: in none. */
function paying(tx_hash: string, height: number, amount: unknown, more: Json = {}): Json {
  return {
    ...{ tx_hash, block_height: height, num_confirmations: height === 0 ? 0 : 1_000 - height + 1 },
    ...{ time_stamp: '1790000000', output_details: [{ address: 'ours', output_index: '1', amount }] },
    ...more,
  };
}

/** Of LND's interface what an account's chain asks. */
class Wallet extends HttpsNode {
  tip = 1_000;
  synced = true;
  accounts: readonly Json[] = [];
  transactions: readonly unknown[] = [];
  /** The path that it does not answer. */
  broken: string | undefined;
  /** Whether it hands out addresses. */
  hands = true;
  handedOut = 0;
  readonly asked: string[] = [];

  static start(): Promise<Wallet> {
    return new Wallet('a-macaroon').listening();
  }

  protected async answer(request: IncomingMessage): Promise<NodeAnswer> {
    const { method = '', url = '' } = request;
    let body = '';
    for await (const chunk of request) body += String(chunk);
    this.asked.push(`${method} ${url}${body === '' ? '' : ` ${body}`}`);
    const { pathname, searchParams } = new URL(url, 'https://localhost');
    const name = searchParams.get('name');
    if (pathname === this.broken) return undefined;
    switch (pathname) {
      case '/v1/getinfo':
        return { status: 200, json: this.info() };
      case '/v2/wallet/accounts':
        return {
          status: 200,
          json: { accounts: this.accounts.filter((each) => name === null || each['name'] === name) },
        };
      case '/v2/wallet/address/next':
        if (!this.hands) return { status: 500, json: { message: 'the wallet is locked' } };
        this.handedOut += 1;
        this.shown();
        return { status: 200, json: { addr: `address ${this.handedOut}` } };
      default:
        return { status: 200, json: this.list(searchParams) };
    }
  }

  private info(): Json {
    const chains = [{ chain: 'bitcoin', network: 'regtest' }];
    return { block_height: this.tip, block_hash: 'a', synced_to_chain: this.synced, chains };
  }

  private list(query: URLSearchParams): Json {
    const from = Number(query.get('start_height'));
    const isAsked = (each: unknown): boolean => {
      const height = (each as { readonly block_height?: number } | null)?.block_height ?? 0;
      return height === 0 || height >= from;
    };
    return { transactions: this.transactions.filter(isAsked) };
  }

  /** Has the account with our key say how many addresses were handed out. */
  shown(): void {
    this.accounts = [
      { name: 'shop', extended_public_key: testKey, external_key_count: this.handedOut },
      { name: 'other', extended_public_key: mainKey, external_key_count: 5 },
    ];
  }
}

const wallet = await Wallet.start();
const lnd = new Lnd(wallet.place, systemClock);
after(() => lnd.close());

describe('an account of LND', () => {
  let chain: LndChain;

  beforeEach(() => {
    Object.assign(wallet, { tip: 1_000, synced: true, hands: true, handedOut: 0, transactions: [] });
    wallet.shown();
    wallet.asked.splice(0);
    chain = new LndChain(lnd, 'shop', account, systemClock);
  });

  async function lookedUp(address = 'ours'): Promise<unknown> {
    const answer = await chain.lookup(address);
    if (answer.kind === 'failed') return answer.reason;
    assert.equal(answer.kind, 'answer');
    return answer.value;
  }

  test('has the configured key, on a node that is synced', async () => {
    assert.deepEqual(await chain.network(), { kind: 'answer', value: 'regtest' });
    for (const key of [mainKey, otherKey]) {
      wallet.accounts = [{ name: 'other', extended_public_key: key }];
      const reason = "LND's account other has another key than BTC_XPUB";
      const foreign = await new LndChain(lnd, 'other', account, systemClock).network();
      assert.deepEqual(foreign, { kind: 'failed', reason });
      const unnamed = await new LndChain(lnd, null, account, systemClock).network();
      assert.deepEqual(unnamed, {
        kind: 'failed',
        reason: 'LND has no account with the key of BTC_XPUB',
      });
    }
    wallet.shown();
    const missing = await new LndChain(lnd, 'none', account, systemClock).network();
    assert.match(missing.kind === 'failed' ? missing.reason : '', /it has no account none/);
    assert.deepEqual(await new LndChain(lnd, null, account, systemClock).network(), {
      kind: 'answer',
      value: 'regtest',
    });
    wallet.synced = false;
    const behind = { kind: 'failed', reason: 'LND is not synced to the chain' };
    assert.deepEqual(await chain.network(), behind);
    assert.deepEqual(await chain.tip(), { kind: 'answer', value: 1_000 });
  });

  test('shows what was paid to an address, and to no other', async () => {
    const output_details = [
      { address: 'theirs', output_index: '0', amount: '900000' },
      { address: 'ours', output_index: '1', amount: '25000' },
      { address: 'ours', output_index: '3', amount: 7 },
      { address: 'ours' },
    ];
    wallet.transactions = [paying('aa', 991, '0', { output_details }), paying('bb', 0, '5')];
    const found = { txid: 'aa', confirmations: 10, atMs: 1_790_000_000_000, height: 991 };
    assert.deepEqual(await lookedUp(), [
      { ...found, vout: 1, sat: 25_000n },
      { ...found, vout: 3, sat: 7n },
      { ...found, vout: 0, sat: 0n },
      { txid: 'bb', vout: 1, sat: 5n, confirmations: 0, atMs: null, height: null },
    ]);
    assert.deepEqual(await lookedUp('theirs'), [{ ...found, vout: 0, sat: 900_000n }]);
    assert.deepEqual(await lookedUp('nobody'), []);
    const used = await chain.used(['ours', 'nobody', 'theirs']);
    assert.deepEqual(used, { kind: 'answer', value: new Set(['ours', 'theirs']) });
  });

  test('remembers deep payments, and derives their depth from the tip', async () => {
    const depths = async (): Promise<unknown> => {
      const found = (await lookedUp()) as readonly { txid: string; confirmations: number; height: number }[];
      return Object.fromEntries(
        found.map(({ txid, confirmations, height }) => [txid, [confirmations, height]]),
      );
    };
    wallet.transactions = [paying('first', 1, '1'), paying('deep', 856, '1'), paying('near', 857, '1')];
    assert.deepEqual(await depths(), { first: [1_000, 1], deep: [145, 856], near: [144, 857] });
    wallet.tip = 1_003;
    wallet.transactions = [paying('deep', 856, '1'), paying('near', 857, '1', { num_confirmations: 147 })];
    assert.deepEqual(await depths(), { first: [1_003, 1], deep: [148, 856], near: [147, 857] });
    const asked = wallet.asked.filter((each) => each.startsWith('GET /v1/transactions'));
    const query = (from: number): string =>
      `GET /v1/transactions?account=shop&start_height=${from}&end_height=-1`;
    assert.deepEqual(asked, [query(1), query(857)]);
    // What is deep is there even where LND is asked for later blocks alone.
    wallet.transactions = [];
    assert.deepEqual(await depths(), { first: [1_003, 1], deep: [148, 856], near: [147, 857] });
  });

  test('with malformed transactions counts as not answering', async () => {
    for (const [wrong, reason] of [
      [paying('aa', 991, '1', { tx_hash: 1 }), /a transaction is malformed/],
      [paying('aa', 991, '1', { output_details: {} }), /a transaction is malformed/],
      [paying('aa', 991, 'much'), /an amount is not a number/],
      [paying('aa', 991, 0.5), /an amount is not a number/],
      [paying('aa', 991, null, { time_stamp: 'now' }), /an amount is not a number/],
    ] as const) {
      wallet.transactions = [paying('bb', 990, '1'), wrong];
      assert.match(String(await lookedUp()), reason);
    }
    wallet.transactions = [null, 'x'];
    assert.deepEqual(await lookedUp(), [], 'what is no object is none');
  });

  test('that does not answer is a failure, whichever request fails', async () => {
    wallet.transactions = [paying('aa', 991, '5')];
    const failed = async (answer: Promise<{ readonly kind: string }>, path: string): Promise<void> => {
      assert.equal((await answer).kind, 'failed', path);
    };
    for (const path of ['/v1/getinfo', '/v2/wallet/accounts', '/v1/transactions']) {
      wallet.broken = path;
      const unnamed = new LndChain(lnd, null, account, systemClock);
      const isAccount = path === '/v2/wallet/accounts';
      if (path !== '/v1/transactions') await failed(unnamed.network(), path);
      if (path === '/v1/getinfo') await failed(chain.tip(), path);
      await failed(unnamed.lookup('ours'), path);
      await failed(unnamed.used(['ours']), path);
      if (isAccount) {
        await failed(unnamed.prepare(0), path);
        await failed(chain.prepare(0), path);
        await failed(unnamed.firstUnshown(), path);
        await failed(chain.firstUnshown(), path);
      }
    }
    wallet.broken = undefined;
    assert.equal(((await lookedUp()) as readonly unknown[]).length, 1);
  });

  test('is asked again for histories and payments each time, however fresh the last answer is', async () => {
    const none = await chain.used(['ours']);
    assert.deepEqual(none, { kind: 'answer', value: new Set() });
    wallet.transactions = [paying('aa', 0, '5')];
    const used = await chain.used(['ours']);
    assert.deepEqual(used, { kind: 'answer', value: new Set(['ours']) });
    // So is what was paid to it.
    wallet.transactions = [paying('aa', 0, '5'), paying('bb', 0, '6')];
    assert.equal(((await lookedUp()) as readonly unknown[]).length, 2);
  });

  test('hands out each address before it is shown, and no more than are needed', async () => {
    const [count, next] = [
      'GET /v2/wallet/accounts?name=shop',
      'POST /v2/wallet/address/next {"account":"shop","change":false}',
    ];
    const asks = async (index: number): Promise<string[]> => {
      assert.deepEqual(await chain.prepare(index), { kind: 'answer', value: undefined });
      return wallet.asked.splice(0);
    };
    assert.deepEqual(await asks(2), [count, next, next, next, count]);
    assert.equal(wallet.handedOut, 3);
    assert.deepEqual([await asks(2), await asks(0)], [[], []], 'those are handed out');
    assert.deepEqual(await asks(3), [next, count]);
    assert.equal(wallet.handedOut, 4);
    assert.deepEqual(await chain.firstUnshown(), { kind: 'answer', value: 4 });
    // Another process handed out more: nothing is left to do.
    wallet.handedOut = 8;
    wallet.shown();
    const other = new LndChain(lnd, 'shop', account, systemClock);
    wallet.asked.splice(0);
    assert.deepEqual(await other.prepare(7), { kind: 'answer', value: undefined });
    assert.deepEqual(wallet.asked.splice(0), [count]);
    // An older wallet in its place hands out what is missing there, too.
    wallet.handedOut = 2;
    assert.deepEqual(await asks(4), [next, count, next, next, count]);
    assert.equal(wallet.handedOut, 5);
  });

  test('is not used if its wallet is locked or thousands of addresses behind', async () => {
    wallet.handedOut = 4;
    wallet.shown();
    wallet.hands = false;
    const reasonOf = async (index: number): Promise<string> => {
      const answer = await chain.prepare(index);
      return answer.kind === 'failed' ? answer.reason : answer.kind;
    };
    assert.equal(await reasonOf(4), 'LND says: the wallet is locked');
    assert.equal(await reasonOf(10_004), "LND's account shop is 10000 behind");
    assert.equal(await reasonOf(10_003), 'LND says: the wallet is locked');
  });

  test('that LND does not have is the reason of every failure', async () => {
    wallet.accounts = [{ name: 'other', extended_public_key: otherKey }];
    const unnamed = new LndChain(lnd, null, account, systemClock);
    for (const answer of [
      await unnamed.network(),
      await unnamed.prepare(0),
      await unnamed.firstUnshown(),
      await unnamed.lookup('ours'),
      await unnamed.used(['ours']),
    ]) {
      assert.deepEqual(answer, {
        kind: 'failed',
        reason: 'LND has no account with the key of BTC_XPUB',
      });
    }
    const missing = await new LndChain(lnd, 'none', account, systemClock).firstUnshown();
    assert.match(missing.kind === 'failed' ? missing.reason : '', /it has no account none/);
  });
});
