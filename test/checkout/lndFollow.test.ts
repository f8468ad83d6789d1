/** An LND that is followed: when it counts as connected, what it reports, and what its reports invalidate. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Account } from '../../src/checkout/onchain/account.js';
import { readAccount } from '../../src/checkout/onchain/addresses.js';
import type { Following } from '../../src/checkout/onchain/chain.js';
import { LndChain } from '../../src/checkout/onchain/lndChain.js';
import type {
  Lnd,
  LndAnswer,
  NodeInfo,
  Stream,
  StreamListener,
  WalletAccount,
  WalletTransaction,
} from '../../src/checkout/lnd.js';
import { HandClock } from '../support/handClock.js';

/** The key of an account of the test networks. */
const key = ((): string => {
  const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
    readonly vectors: readonly { readonly network: string; readonly account_public: string }[];
  };
  return vectors.find(({ network }) => network !== 'mainnet')?.account_public ?? '';
})();

const account = ((): Account => {
  const read = readAccount(key, 'regtest');
  if ('wrong' in read) assert.fail(read.wrong);
  return read.account;
})();

/** A transaction that pays to these addresses, as LND streams it. */
function paying(...addresses: readonly string[]): Readonly<Record<string, unknown>> {
  const output_details = addresses.map((address, at) => ({ address, output_index: String(at), amount: '1' }));
  return { tx_hash: 'aa', time_stamp: '1790000000', output_details };
}

interface OpenStream {
  readonly account: string;
  readonly listener: StreamListener;
  stopped: number;
}

/** An LND whose streams and answers are set by hand. */
class StreamedLnd {
  readonly streams: OpenStream[] = [];
  up = true;
  blockHash = 'block a';
  /** How often its status was asked for. */
  asked = 0;
  /** What its answers wait for. */
  held: Promise<void> = Promise.resolve();
  /** How often the account's payments were read. */
  read = 0;
  /** What readings wait for. */
  heldReading: Promise<void> = Promise.resolve();
  walletAccounts: readonly WalletAccount[] = [];

  async info(): Promise<LndAnswer<NodeInfo>> {
    this.asked += 1;
    const { up, blockHash } = this;
    await this.held;
    if (!up) return { kind: 'failed', absent: false, reason: 'it sleeps' };
    const more = { blockHeight: 1_000, blockHash };
    return {
      kind: 'answer',
      value: { network: 'regtest', syncedToChain: true, activeChannels: 1, ...more },
    };
  }

  accounts(): Promise<LndAnswer<readonly WalletAccount[]>> {
    return Promise.resolve({ kind: 'answer', value: this.walletAccounts });
  }

  async transactions(): Promise<LndAnswer<readonly WalletTransaction[]>> {
    this.read += 1;
    await this.heldReading;
    return { kind: 'answer', value: [] };
  }

  streamTransactions(name: string, listener: StreamListener): Stream {
    const stream = { account: name, listener, stopped: 0 };
    this.streams.push(stream);
    // A connection that is closed reports its end, as sockets do.
    const stop = (): void => {
      stream.stopped += 1;
      queueMicrotask(() => listener.onEnd());
    };
    return { stop };
  }

  /** The stream that was opened last. */
  get last(): OpenStream {
    const stream = this.streams.at(-1);
    assert.ok(stream !== undefined);
    return stream;
  }
}

describe('an LND that is followed', () => {
  const followed = (name: string | null = 'shop', onReport: (what: string) => void = () => undefined) => {
    const [lnd, clock, reported] = [new StreamedLnd(), new HandClock(), [] as string[]];
    const chain = new LndChain(lnd as unknown as Lnd, name, account, clock);
    const following: Following = chain.follow({
      onConnected: () => reported.push('connected'),
      onAddresses(addresses) {
        reported.push(addresses.join());
        onReport(addresses.join());
      },
      onBlock() {
        reported.push('block');
        onReport('block');
      },
      onLost: () => reported.push('lost'),
    });
    /** What was reported since this was asked last. */
    const news = (): string[] => reported.splice(0);
    return { lnd, clock, chain, following, news };
  };

  test('counts as connected once it answers after its stream was opened, reported once', async () => {
    const { lnd, clock, news } = followed();
    assert.deepEqual(
      lnd.streams.map((each) => each.account),
      ['shop'],
    );
    await clock.pass(999);
    assert.deepEqual(news(), []);
    await clock.pass(1);
    assert.deepEqual(news(), ['connected']);
    await clock.pass(5_000);
    assert.deepEqual([news(), lnd.streams.length, lnd.asked], [[], 1, 6]);
  });

  test('whose stream ends is lost, and connected again within a second', async () => {
    const { lnd, clock, news } = followed();
    await clock.pass(1_000);
    const [first] = lnd.streams;
    first?.listener.onEnd();
    assert.deepEqual(news(), ['connected', 'lost']);
    await clock.pass(1_000);
    assert.deepEqual([news(), lnd.streams.length], [['connected'], 2]);
    // The end of the first stream is not that of the second.
    first?.listener.onEnd();
    await clock.pass(5_000);
    assert.deepEqual([news(), lnd.streams.length], [[], 2]);
  });

  test('that was never connected is not lost', async () => {
    const { lnd, clock, news } = followed();
    lnd.up = false;
    await clock.pass(3_000);
    assert.deepEqual(news(), []);
    lnd.up = true;
    await clock.pass(1_000);
    assert.deepEqual(news(), ['connected']);
  });

  test('that does not answer has its stream closed, as a hanging node would leave it open', async () => {
    const { lnd, clock, news } = followed();
    await clock.pass(1_000);
    lnd.up = false;
    await clock.pass(1_000);
    assert.deepEqual([news(), lnd.streams[0]?.stopped], [['connected', 'lost'], 1]);
    await clock.pass(1_000);
    assert.deepEqual([news(), lnd.streams.length, lnd.last.stopped], [[], 2, 1]);
    lnd.up = true;
    await clock.pass(1_000);
    assert.deepEqual([news(), lnd.streams.length], [['connected'], 3]);
  });

  test('is not connected by the answer to a question from before the stream was opened', async () => {
    const { lnd, clock, news } = followed();
    let letGo = (): void => undefined;
    lnd.held = new Promise((go) => (letGo = go));
    await clock.pass(1_000);
    lnd.last.listener.onEnd();
    await clock.pass(1_000);
    assert.deepEqual([lnd.streams.length, lnd.asked], [2, 1], 'one question at a time');
    letGo();
    await clock.pass(999);
    assert.deepEqual(news(), []);
    await clock.pass(1);
    assert.deepEqual([news(), lnd.asked], [['connected'], 2]);
  });

  test('reports the addresses of a payment at once and half a second later', async () => {
    const { lnd, clock, news } = followed();
    await clock.pass(1_000);
    news();
    lnd.last.listener.onTransaction(paying('ours', 'theirs'));
    assert.deepEqual(news(), ['ours,theirs']);
    await clock.pass(499);
    assert.deepEqual(news(), []);
    await clock.pass(1);
    assert.deepEqual(news(), ['ours,theirs']);
    await clock.pass(5_000);
    assert.deepEqual(news(), []);
    assert.throws(() => lnd.last.listener.onTransaction({ tx_hash: 'aa' }), /a transaction is malformed/);
  });

  test('reports a block when its tip changes, but not the first tip that it sees', async () => {
    const { lnd, clock, news } = followed();
    await clock.pass(3_000);
    assert.deepEqual(news(), ['connected']);
    lnd.blockHash = 'block b';
    await clock.pass(1_000);
    assert.deepEqual(news(), ['block']);
    await clock.pass(3_000);
    assert.deepEqual(news(), []);
    // A block that replaces another of the same height is one, too; also if no answer came in between.
    lnd.up = false;
    lnd.blockHash = 'block c';
    await clock.pass(2_000);
    assert.deepEqual(news(), ['lost']);
    lnd.up = true;
    await clock.pass(1_000);
    assert.deepEqual(news(), ['connected', 'block']);
  });

  test('reports nothing after a stop, whatever is under way', async () => {
    const { lnd, clock, following, news } = followed();
    await clock.pass(1_000);
    news();
    const { listener } = lnd.last;
    listener.onTransaction(paying('ours'));
    assert.deepEqual(news(), ['ours']);
    let letGo = (): void => undefined;
    lnd.held = new Promise((go) => (letGo = go));
    lnd.blockHash = 'block b';
    await clock.pass(499);
    const { asked } = lnd;
    following.stop();
    letGo();
    await clock.pass(10_000);
    assert.equal(clock.timers, 0);
    listener.onTransaction(paying('ours'));
    await clock.pass(10_000);
    assert.deepEqual(news(), []);
    assert.deepEqual([lnd.last.stopped, lnd.streams.length, lnd.asked], [1, 1, asked]);
  });

  test('that is stopped while a question is open ignores the answer', async () => {
    for (const up of [true, false]) {
      const { lnd, clock, following, news } = followed();
      lnd.up = up;
      let letGo = (): void => undefined;
      lnd.held = new Promise((go) => (letGo = go));
      await clock.pass(1_000);
      following.stop();
      letGo();
      await clock.pass(5_000);
      assert.deepEqual([news(), lnd.asked, lnd.last.stopped], [[], 1, 1]);
    }
  });

  test('without an account name is connected once its account exists', async () => {
    const { lnd, clock, following, news } = followed(null);
    await clock.pass(2_000);
    assert.deepEqual([news(), lnd.streams], [[], []]);
    // LND answers all the same.
    assert.equal(lnd.asked, 2);
    lnd.walletAccounts = [{ name: 'savings', extendedPublicKey: key, handedOut: 0 }];
    await clock.pass(2_000);
    assert.deepEqual([news(), lnd.last.account, lnd.streams.length], [['connected'], 'savings', 1]);
    following.stop();
  });

  test('is read anew after each report', async () => {
    const looks: Promise<unknown>[] = [];
    const all = followed('shop', () => looks.push(all.chain.lookup('ours')));
    const { lnd, clock, following, news } = all;
    await clock.pass(1_600);
    const readings = async (): Promise<number> => {
      await Promise.all(looks.splice(0));
      return lnd.read;
    };
    const before = await readings();
    lnd.last.listener.onTransaction(paying('ours'));
    assert.equal(await readings(), before + 1);
    lnd.blockHash = 'block b';
    await clock.pass(400);
    assert.deepEqual(news(), ['connected', 'ours', 'block']);
    assert.equal(await readings(), before + 2);
    following.stop();
  });

  test('shares one reading between look-ups before and after a report, if it has not begun', async () => {
    const { lnd, clock, chain, following } = followed();
    let letGo = (): void => undefined;
    lnd.heldReading = new Promise((go) => (letGo = go));
    const looked: Promise<{ readonly kind: string }>[] = [chain.lookup('ours')];
    await clock.pass(500);
    looked.push(chain.lookup('ours'));
    lnd.last.listener.onTransaction(paying('ours'));
    looked.push(chain.lookup('ours'), chain.used(['ours']), chain.used(['ours']));
    letGo();
    for (const { kind } of await Promise.all(looked)) assert.equal(kind, 'answer');
    assert.equal(lnd.read, 2);
    following.stop();
  });
});
