/** One suite for every source of chain data: btcd, Esplora's API (answered from btcd), an account of LND. */
import { takeIndexes } from '../../../src/store/tables/addressIndexes.js';
import type { BtcOrder } from '../../../src/store/tables/bitcoinOrder.js';
import type { Output } from '../../../src/store/tables/orderRow.js';
import type { OrderRecord } from '../../../src/store/tables/order.js';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Account } from '../../../src/checkout/onchain/account.js';
import { readAccount } from '../../../src/checkout/onchain/addresses.js';
import { Bitcoin } from '../../../src/checkout/onchain/bitcoin.js';
import type { BookParts } from '../../../src/checkout/order/book.js';
import { Btcd } from '../../../src/checkout/onchain/btcd.js';
import type { Chain, Following } from '../../../src/checkout/onchain/chain.js';
import { Esplora } from '../../../src/checkout/onchain/esplora.js';
import { Lnd } from '../../../src/checkout/lnd.js';
import { LndChain } from '../../../src/checkout/onchain/lndChain.js';
import type { FoundOutput } from '../../../src/store/tables/bitcoinOrder.js';
import { native } from '../../../src/native/addon.js';
import { findOrder } from '../../../src/store/tables/orders.js';
import { systemClock } from '../../../src/system/clock.js';
import { systemRandomness } from '../../../src/system/randomness.js';
import { temporaryFolder } from '../../support/run.js';
import { until } from '../../support/until.js';
import { storeAt } from '../../support/openStore.js';
import { startEsplora } from './esploraServer.js';
import { nodesSkip, PaymentNodes } from './nodes.js';

const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
  readonly vectors: readonly { readonly network: string; readonly account_public: string }[];
};
const key = vectors.find(({ network }) => network !== 'mainnet')?.account_public ?? '';
const name = 'shop';

function accountOf(text: string): Account {
  const read = readAccount(text, 'regtest');
  assert.ok('account' in read);
  return read.account;
}

/** Sums of an address' outputs by depth. */
function depths(outputs: readonly Output[]): Record<number, number> {
  const sums: Record<number, number> = {};
  for (const { confirmations, sat } of outputs) {
    sums[confirmations] = (sums[confirmations] ?? 0) + Number(sat);
  }
  return sums;
}

const price = 50_000;
const wish = {
  ...{ tier: 'growth', sat: BigInt(price), termDays: 30, email: null },
  ...{ source: null, segment: null, campaign: null, eventId: null },
};
const ignore = (): void => undefined;

async function orderOf(rail: Bitcoin): Promise<BtcOrder> {
  const made = await rail.create(wish);
  if (made.kind !== 'made') assert.fail(inspect(made));
  return made.order;
}

async function stored({ store }: BookParts, { id }: OrderRecord): Promise<OrderRecord> {
  const order = await findOrder(store, id);
  assert.ok(order !== undefined);
  return order;
}

/** State of an order, and that of its key. */
async function keysOf(book: BookParts, order: OrderRecord): Promise<readonly [string, string]> {
  const { status, key } = await stored(book, order);
  return [status, key];
}

/** A view whose index of addresses is behind: it knows no history, while it knows payments. */
function withoutHistory(chain: Chain): Chain {
  const used: Chain['used'] = () => Promise.resolve({ kind: 'answer', value: new Set() });
  return new Proxy(chain, {
    get: (target, name) => {
      if (name === 'used') return used;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('the chain', { skip: nodesSkip, timeout: 600_000 }, () => {
  let nodes: PaymentNodes;
  let esplora: { readonly url: string; readonly server: Server };
  const account = accountOf(key);
  let nextIndex = 0;

  function merchant(): Lnd {
    const { url, certificatePath } = nodes.merchant;
    const certificate = readFileSync(certificatePath, 'utf8');
    return new Lnd({ url, certificate, macaroon: nodes.macaroon }, systemClock);
  }

  before(async () => {
    nodes = await PaymentNodes.start();
    esplora = await startEsplora(nodes);
    const imported = { name, extended_public_key: key, address_type: 'WITNESS_PUBKEY_HASH' };
    await nodes.merchant.call('POST', '/v2/wallet/accounts/import', imported);
  });
  after(async () => {
    esplora.server.close();
    await nodes.stop();
  });

  /** A fresh store that sells on the account; `from`: the index at which it stands, else it searches. */
  async function shop(chain: Chain, from?: number): Promise<readonly [BookParts, Bitcoin]> {
    const store = await storeAt(`lmdb:${temporaryFolder()}/store`);
    after(() => store.close());
    if (from !== undefined) {
      const step = takeIndexes(account.digest, { bytes: undefined, passedOver: 0 }, from);
      assert.equal((await store.commit([step])).kind, 'done');
    }
    const secrets = ['a-secret-of-the-tests-that-opens-nothing'] as const;
    const world = { clock: systemClock, randomness: systemRandomness, secrets, keyFormat: native };
    const book = { store, ...world };
    const log = { warn: ignore, info: ignore, debug: ignore };
    const rail = new Bitcoin({
      ...{ ...book, account, chain, log },
      ...{ confirmationsRequired: 2, maxUnpaidOrders: 0 },
    });
    assert.equal(await rail.begin(), 0);
    return [book, rail];
  }

  const kinds = {
    btcd: {
      open: (): Chain => new Btcd(nodes.chainPlace, systemClock, 'regtest'),
      signal: (signal: NodeJS.Signals): void => nodes.signalBtcd(signal),
    },
    esplora: {
      open: (): Chain => new Esplora(esplora.url, systemClock),
      signal: (signal: NodeJS.Signals): void => nodes.signalBtcd(signal),
    },
    'an account of LND': {
      open: (): Chain => new LndChain(merchant(), name, account, systemClock),
      signal: (signal: NodeJS.Signals): void => nodes.merchant.signal(signal),
    },
  } as const;

  for (const [kind, { open, signal }] of Object.entries(kinds)) {
    describe(kind, () => {
      let chain: Chain;
      before(() => {
        chain = open();
      });
      after(() => chain.close());

      async function freshAddress(): Promise<string> {
        const index = nextIndex;
        nextIndex += 1;
        const prepared = await chain.prepare?.(index);
        assert.notEqual(prepared?.kind, 'failed', JSON.stringify(prepared));
        return account.address(index);
      }

      async function look(address: string): Promise<readonly FoundOutput[]> {
        const answer = await chain.lookup(address);
        assert.ok(answer.kind === 'answer', inspect(answer));
        return answer.value;
      }

      async function becomes(address: string, expected: Record<number, number>): Promise<void> {
        let last: unknown;
        await until(async () => {
          last = depths(await look(address));
          return JSON.stringify(last) === JSON.stringify(expected);
        }, 10_000).catch((error: unknown) => {
          throw new Error(`${JSON.stringify(last)} is not ${JSON.stringify(expected)}`, { cause: error });
        });
      }

      test('its network', async () => {
        assert.deepEqual(await chain.network(), { kind: 'answer', value: 'regtest' });
      });

      test('an address that nothing was paid to', async () => {
        assert.deepEqual(await look(await freshAddress()), []);
      });

      test('payments in no block yet, and deeper with every block; several to one address', async () => {
        const address = await freshAddress();
        const txid = await nodes.payAddress(address, 50_000);
        await becomes(address, { 0: 50_000 });
        const [first] = await look(address);
        assert.equal(first?.txid, txid);
        assert.ok(Number.isSafeInteger(first.vout));
        await nodes.mine(1);
        await becomes(address, { 1: 50_000 });
        const [mined] = await look(address);
        assert.ok(Math.abs((mined?.atMs ?? 0) - Date.now()) < 7_200_000);
        await nodes.payAddress(address, 7_000);
        await becomes(address, { 0: 7_000, 1: 50_000 });
        await nodes.mine(2);
        await becomes(address, { 2: 7_000, 3: 50_000 });
      });

      test('the height of the last block, and of a payment’s', async () => {
        const address = await freshAddress();
        await nodes.payAddress(address, 30_000);
        await becomes(address, { 0: 30_000 });
        assert.deepEqual(
          (await look(address)).map(({ height }) => height),
          [null],
        );
        await nodes.mine(1);
        await becomes(address, { 1: 30_000 });
        const height = Number(await nodes.btcd('getblockcount'));
        assert.deepEqual(
          (await look(address)).map((each) => each.height),
          [height],
        );
        assert.deepEqual(await chain.tip(), { kind: 'answer', value: height });
      });

      test('addresses with a history, in a block or in none', async () => {
        const [none, waiting, mined] = [await freshAddress(), await freshAddress(), await freshAddress()];
        await nodes.payAddress(mined, 2_000);
        await nodes.mine(1);
        await becomes(mined, { 1: 2_000 });
        await nodes.payAddress(waiting, 2_000);
        await becomes(waiting, { 0: 2_000 });
        const used = await chain.used([none, waiting, mined]);
        assert.ok(used.kind === 'answer', inspect(used));
        assert.deepEqual([...used.value].sort(), [waiting, mined].sort());
        await nodes.mine(1);
      });

      test('an account with old payments: no order is paid by them', async () => {
        const [old, unconfirmed] = [await freshAddress(), await freshAddress()];
        await nodes.payAddress(old, 50_000);
        await nodes.mine(1);
        await becomes(old, { 1: 50_000 });
        await nodes.payAddress(unconfirmed, 50_000);
        await becomes(unconfirmed, { 0: 50_000 });
        const [book, rail] = await shop(chain);
        const orders = [await orderOf(rail), await orderOf(rail), await orderOf(rail)];
        nextIndex = (orders.at(-1)?.addressIndex ?? nextIndex) + 1;
        for (const each of orders) assert.deepEqual(await look(each.place), []);
        await nodes.mine(6);
        await becomes(unconfirmed, { 6: 50_000 });
        // A top-up of an address that was used before the store was made.
        await nodes.payAddress(old, 50_000);
        await nodes.mine(2);
        assert.notEqual(await rail.reconcile(), undefined);
        for (const each of orders) assert.equal((await stored(book, each)).key, 'none');
        const [, mine] = orders;
        assert.ok(mine !== undefined);
        await nodes.payAddress(mine.place, 50_000);
        await nodes.mine(2);
        await becomes(mine.place, { 2: 50_000 });
        assert.notEqual(await rail.reconcile(), undefined);
        assert.deepEqual(
          [(await stored(book, mine)).status, (await stored(book, mine)).key],
          ['confirmed', 'active'],
        );
        // A second store on the account passes that address over.
        const [other, second] = await shop(chain, mine.addressIndex);
        const theirs = await orderOf(second);
        assert.ok(theirs.addressIndex > mine.addressIndex);
        nextIndex = Math.max(nextIndex, theirs.addressIndex + 1);
        await nodes.mine(2);
        assert.notEqual(await second.reconcile(), undefined);
        assert.deepEqual(await keysOf(other, theirs), ['pending', 'none']);
      });

      test('a payment in the block at which an order is made pays for nothing, later ones do', async () => {
        const address = await freshAddress();
        const index = nextIndex - 1;
        await nodes.payAddress(address, price);
        await nodes.mine(1);
        await becomes(address, { 1: price });
        // The index of addresses is behind, so that the address is shown in spite of its history.
        const [book, rail] = await shop(withoutHistory(chain), index);
        const order = await orderOf(rail);
        assert.equal(order.place, address);
        await nodes.mine(3);
        await becomes(address, { 4: price });
        assert.notEqual(await rail.reconcile(), undefined);
        assert.deepEqual(await keysOf(book, order), ['pending', 'none']);
        await nodes.payAddress(address, price);
        await nodes.mine(2);
        await becomes(address, { 2: price, 6: price });
        assert.notEqual(await rail.reconcile(), undefined);
        assert.deepEqual(await keysOf(book, order), ['confirmed', 'active']);
      });

      test('a reorganisation that moves an old payment after the order pays for nothing', async () => {
        const address = await freshAddress();
        const index = nextIndex - 1;
        await nodes.payAddress(address, 50_000);
        await nodes.mine(1);
        await becomes(address, { 1: 50_000 });
        // The index of addresses is behind, so that the address is shown in spite of its history.
        const blind: Chain = withoutHistory(chain);
        const [book, rail] = await shop(blind, index);
        const order = await orderOf(rail);
        assert.equal(order.place, address);
        assert.notEqual(await rail.reconcile(), undefined);
        const height = Number(await nodes.btcd('getblockcount'));
        await nodes.btcd('invalidateblock', await nodes.btcd('getblockhash', height));
        await nodes.btcd('generate', 4);
        await nodes.mine(2);
        await until(async () => (await look(address)).some((each) => each.confirmations >= 2), 10_000);
        assert.notEqual(await rail.reconcile(), undefined);
        const { status, key } = await stored(book, order);
        assert.deepEqual([status, key], ['pending', 'none']);
      });

      test('a block that is taken back', async () => {
        const address = await freshAddress();
        await nodes.payAddress(address, 60_000);
        await nodes.mine(1);
        await becomes(address, { 1: 60_000 });
        const height = Number(await nodes.btcd('getblockcount'));
        await nodes.btcd('invalidateblock', await nodes.btcd('getblockhash', height));
        await becomes(address, { 0: 60_000 });
        await nodes.mine(3);
        await becomes(address, { 3: 60_000 });
      });

      test('more payments than one answer holds, some in a block and some not', async () => {
        const address = await freshAddress();
        for (let block = 0; block < 4; block += 1) {
          for (let each = 0; each < 15; each += 1) await nodes.payAddress(address, 1_000 + each);
          if (block < 3) await nodes.mine(1);
        }
        const sum = 15 * 1_000 + (14 * 15) / 2;
        await becomes(address, { 0: sum, 1: sum, 2: sum, 3: sum });
        assert.equal(new Set((await look(address)).map(({ txid, vout }) => `${txid}:${vout}`)).size, 60);
        await nodes.mine(1);
      });

      test('it tells of payments and blocks by itself, where it does', async (context) => {
        if (chain.follow === undefined) {
          context.skip('it tells of nothing: open orders are looked up again and again');
          return;
        }
        const told = { connected: 0, blocks: 0, lost: 0, addresses: [] as string[] };
        const following: Following = chain.follow({
          onConnected: () => (told.connected += 1),
          onAddresses: (addresses) => told.addresses.push(...addresses),
          onBlock: () => (told.blocks += 1),
          onLost: () => (told.lost += 1),
        });
        // Also where the test fails: a follower that goes on keeps the process alive.
        context.after(() => following.stop());
        await until(() => told.connected === 1, 10_000);
        const address = await freshAddress();
        following.watch([address]);
        // A node takes the address in silence, and tells nothing of a payment that was faster.
        const hinted = () => told.addresses.includes(address);
        for (let payments = 0; payments < 12 && !hinted(); payments += 1) {
          await nodes.payAddress(address, 9_000);
          await until(hinted, 5_000).catch(() => undefined);
        }
        assert.ok(hinted());
        await until(async () => (depths(await look(address))[0] ?? 0) >= 9_000, 20_000);
        const { blocks } = told;
        await nodes.mine(1);
        await until(() => told.blocks > blocks, 20_000);
        signal('SIGSTOP');
        try {
          await until(() => told.lost === 1, 20_000);
        } finally {
          signal('SIGCONT');
        }
        await until(() => told.connected === 2, 20_000);
      });

      test('one that hangs is given up, and used again when it is back', async () => {
        const address = await freshAddress();
        signal('SIGSTOP');
        try {
          // What was looked up is told again for a moment.
          await pause(1_000);
          const answer = await chain.lookup(address);
          assert.equal(answer.kind, 'failed');
          assert.match(answer.reason, /took too long|status 500/);
        } finally {
          signal('SIGCONT');
        }
        await until(async () => (await chain.lookup(address)).kind === 'answer', 10_000);
      });
    });
  }

  test('an account of LND with another key is not used', async () => {
    const other = { ...account, digest: Buffer.alloc(16) };
    const answer = await new LndChain(merchant(), name, other, systemClock).network();
    assert.equal(answer.kind, 'failed');
    assert.match(answer.reason, /has another key than BTC_XPUB/);
    const absent = await new LndChain(merchant(), 'nobodys', account, systemClock).network();
    assert.equal(absent.kind, 'failed');
  });

  test('the account is found by its key where it is not named', async () => {
    const chain = new LndChain(merchant(), null, account, systemClock);
    assert.deepEqual(await chain.network(), { kind: 'answer', value: 'regtest' });
    const index = nextIndex;
    nextIndex += 1;
    assert.equal((await chain.prepare(index)).kind, 'answer');
    let connected = false;
    const others = { onAddresses: ignore, onBlock: ignore, onLost: ignore };
    const unnamed = new LndChain(merchant(), null, account, systemClock);
    const following = unnamed.follow({ ...others, onConnected: () => (connected = true) });
    await until(() => connected, 10_000);
    following.stop();
    const other = { ...account, digest: Buffer.alloc(16) };
    const none = await new LndChain(merchant(), null, other, systemClock).network();
    assert.match(none.kind === 'failed' ? none.reason : '', /no account with the key of BTC_XPUB/);
  });

  test('several at once have LND hand out all addresses that any of them shows', async () => {
    const from = nextIndex;
    nextIndex += 30;
    const chains = [0, 1, 2].map(() => new LndChain(merchant(), name, account, systemClock));
    const asked = chains.flatMap((each, first) =>
      Array.from({ length: 10 }, (_, at) => each.prepare(from + 3 * at + first)),
    );
    for (const prepared of await Promise.all(asked)) assert.equal(prepared.kind, 'answer');
    const found = await merchant().account(name);
    assert.ok(found.kind === 'answer' && found.value.handedOut >= nextIndex);
  });
});
