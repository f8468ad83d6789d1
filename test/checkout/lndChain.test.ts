/** An account of an LND that is slow to answer: a payment is reported once, however many ask. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Account } from '../../src/checkout/onchain/account.js';
import { readAccount } from '../../src/checkout/onchain/addresses.js';
import { LndChain } from '../../src/checkout/onchain/lndChain.js';
import type { NodeAnswer } from '../../src/checkout/nodeAnswer.js';
import type { Lnd, LndAnswer, NodeInfo, WalletAccount, WalletTransaction } from '../../src/checkout/lnd.js';
import { systemClock } from '../../src/system/clock.js';

const tip = 1_000;
const account: Account = { digest: Buffer.alloc(16), network: 'regtest', address: () => 'nobody' };

function paid(txid: string, height: number): WalletTransaction {
  const outputs = [{ address: 'ours', vout: 0, sat: 25_000n }];
  return { txid, height, confirmations: height === 0 ? 0 : tip - height + 1, atMs: 0, outputs };
}

/** An LND whose answers wait until they are let go. */
class SlowLnd {
  readonly asked: number[] = [];
  private waiting: (() => void)[] = [];
  wallet: readonly WalletTransaction[] = [];
  walletAccounts: readonly WalletAccount[] = [];
  syncedToChain = true;

  accounts(): Promise<LndAnswer<readonly WalletAccount[]>> {
    return Promise.resolve({ kind: 'answer', value: this.walletAccounts });
  }

  account(name: string): Promise<LndAnswer<WalletAccount>> {
    const value = this.walletAccounts.find((each) => each.name === name);
    assert.ok(value !== undefined);
    return Promise.resolve({ kind: 'answer', value });
  }

  info(): Promise<LndAnswer<NodeInfo>> {
    const more = { blockHeight: tip, blockHash: 'tip' };
    const value = { network: 'regtest', syncedToChain: this.syncedToChain, activeChannels: 1, ...more };
    return Promise.resolve({ kind: 'answer', value });
  }

  async transactions(_: string, from: number): Promise<LndAnswer<readonly WalletTransaction[]>> {
    this.asked.push(from);
    const value = this.wallet.filter(({ height }) => height === 0 || height >= from);
    await new Promise<void>((go) => this.waiting.push(go));
    return { kind: 'answer', value };
  }

  async letGo(): Promise<void> {
    for (const go of this.waiting.splice(0)) go();
    await turn();
  }
}

/** Until everything that can go on has gone on. */
function turn(): Promise<void> {
  return new Promise((settle) => setImmediate(settle));
}

describe('an account of LND', () => {
  const made = () => {
    const lnd = new SlowLnd();
    const chain = new LndChain(lnd as unknown as Lnd, 'shop', account, systemClock);
    const sum = async (): Promise<bigint> => {
      const answer = await chain.lookup('ours');
      if (answer.kind === 'failed') assert.fail(answer.reason);
      return answer.value.reduce((total, { sat }) => total + sat, 0n);
    };
    return { lnd, chain, sum };
  };

  test('is read for one look-up after the other, and a payment counts once', async () => {
    const { lnd, sum } = made();
    lnd.wallet = [paid('aa', 500)];
    const first = sum();
    await turn();
    const second = sum();
    await turn();
    assert.deepEqual(lnd.asked, [1], 'the second waits');
    await lnd.letGo();
    assert.equal(await first, 25_000n);
    assert.deepEqual(lnd.asked, [1, tip - 144 + 1], 'and goes on from where the first ended');
    await lnd.letGo();
    assert.equal(await second, 25_000n);
  });

  test('is read once for all look-ups that wait, after they asked', async () => {
    const { lnd, sum } = made();
    const first = sum();
    await turn();
    const waiting = Array.from({ length: 50 }, sum);
    lnd.wallet = [paid('aa', 0), paid('aa', 0)];
    await lnd.letGo();
    assert.equal(await first, 0n);
    await lnd.letGo();
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set([25_000n]));
    assert.equal(lnd.asked.length, 2);
  });

  test('is read again for each look-up: no answer is older than the order', async () => {
    const { lnd, sum } = made();
    const first = sum();
    await turn();
    await lnd.letGo();
    assert.equal(await first, 0n);
    lnd.wallet = [paid('aa', 0)];
    const second = sum();
    await turn();
    await lnd.letGo();
    assert.equal(await second, 25_000n);
  });

  test('shows a payment once LND has scanned its block', async () => {
    const { lnd, sum } = made();
    lnd.syncedToChain = false;
    const read = async (): Promise<bigint> => {
      const reading = sum();
      await turn();
      await lnd.letGo();
      return reading;
    };
    assert.equal(await read(), 0n);
    lnd.wallet = [paid('aa', 500)];
    assert.equal(await read(), 25_000n);
    lnd.syncedToChain = true;
    assert.equal(await read(), 25_000n);
    assert.equal(await read(), 25_000n);
    assert.deepEqual(lnd.asked, [1, 1, 1, tip - 144 + 1]);
  });

  test('shows settled payments beside recent ones, each once, with the depth at the time', async () => {
    const { lnd, chain } = made();
    const read = async <Value>(asked: Promise<NodeAnswer<Value>>): Promise<Value> => {
      await turn();
      await lnd.letGo();
      const answer = await asked;
      if (answer.kind === 'failed') assert.fail(answer.reason);
      return answer.value;
    };
    const other = { ...paid('bb', 400), outputs: [{ address: 'another', vout: 0, sat: 1n }] };
    lnd.wallet = [paid('aa', 500), other, paid('cc', tip - 3)];
    for (const round of ['first', 'second']) {
      const found = await read(chain.lookup('ours'));
      assert.deepEqual(
        found.map(({ txid, confirmations }) => [txid, confirmations]).sort(),
        [
          ['aa', tip - 500 + 1],
          ['cc', 4],
        ],
        round,
      );
    }
    assert.deepEqual(await read(chain.used(['ours', 'another', 'nobody’s'])), new Set(['ours', 'another']));
    assert.deepEqual(await read(chain.lookup('nobody’s')), []);
  });

  test('is found by its key if no name is configured', async () => {
    const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
      readonly vectors: readonly { readonly network: string; readonly account_public: string }[];
    };
    const keyOf = (mainnet: boolean): string =>
      vectors.find(({ network }) => (network === 'mainnet') === mainnet)?.account_public ?? '';
    const [key, other] = [keyOf(false), keyOf(true)];
    const read = readAccount(key, 'regtest');
    assert.ok('account' in read);
    const lnd = new SlowLnd();
    const open = () => new LndChain(lnd as unknown as Lnd, null, read.account, systemClock).network();
    const named = (name: string, extendedPublicKey: string): WalletAccount => {
      return { name, extendedPublicKey, handedOut: 0 };
    };
    const others = [named('default', 'zpub'), named('savings', other)];
    lnd.walletAccounts = [...others, named('shop', key)];
    assert.deepEqual(await open(), { kind: 'answer', value: 'regtest' });
    lnd.walletAccounts = others;
    const none = await open();
    assert.match(none.kind === 'failed' ? none.reason : '', /no account with the key of BTC_XPUB/);
    lnd.walletAccounts = [...others, named('shop', key), named('store', key)];
    const two = await open();
    assert.match(
      two.kind === 'failed' ? two.reason : '',
      /several accounts .*\(shop, store\): name one, as in/,
    );
  });
});
