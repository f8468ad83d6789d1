/** The search of an account, and its next address: progress, wallet nodes, and the operator's sentence. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Chain } from '../../src/checkout/onchain/chain.js';
import type { NodeAnswer, Failed } from '../../src/checkout/nodeAnswer.js';
import {
  addressSentence,
  beginAccount,
  freshIndexes,
  searchHistory,
} from '../../src/checkout/onchain/freshAddresses.js';
import { nextAddressIndex, takeIndexes } from '../../src/store/tables/addressIndexes.js';
import { openTestStore } from '../support/serving.js';
import { Dice, SimulatedChain, Time } from '../support/world.js';

const account = {
  digest: Buffer.alloc(16),
  network: 'mainnet',
  address: (at: number) => `bc1${at}`,
} as const;

/** A chain with a payment to the address of each index. */
function chainOf(...indexes: readonly number[]): Chain {
  const simulated = new SimulatedChain(new Dice(1), new Time());
  for (const index of indexes) simulated.pay(account.address(index), 1n);
  simulated.mine();
  return simulated.chain;
}

const { clock } = new Time();
const locked: Failed = { kind: 'failed', reason: 'the wallet is locked' };

describe('a search of an account', () => {
  test('reports how many addresses it has asked for, and an estimate of how many there are', async () => {
    const said: string[] = [];
    const progress = (asked: number, about: number): unknown => said.push(`${asked} of ${about}`);
    const found = await searchHistory({ account, chain: chainOf(3, 110, 120) }, 100, progress);
    assert.deepEqual(found, { kind: 'answer', value: [110, 120] });
    assert.deepEqual(said.slice(0, 4), ['0 of 1000', '16 of 1011', '32 of 1021', '48 of 1021']);
    assert.equal(said.at(-1), '1008 of 1021');
  });

  test('is not begun on a node that cannot be relied on', async () => {
    const store = await openTestStore();
    const begin = (network: NodeAnswer<string>) => {
      const chain = { ...chainOf(3), network: () => Promise.resolve(network) };
      return beginAccount({ account, chain, store, clock });
    };
    assert.deepEqual(await begin(locked), locked);
    const reason = 'The Bitcoin node is on testnet, not on mainnet.';
    assert.deepEqual(await begin({ kind: 'answer', value: 'testnet' }), { kind: 'failed', reason });
    assert.equal((await nextAddressIndex(store, account.digest)).bytes, undefined);
  });

  test('decides nothing where the node does not say which addresses it has handed out', async () => {
    const store = await openTestStore();
    const chain: Chain = { ...chainOf(), firstUnshown: () => Promise.resolve(locked) };
    assert.deepEqual(await beginAccount({ account, chain, store, clock }), locked);
    assert.equal((await nextAddressIndex(store, account.digest)).bytes, undefined);
  });
});

describe('a new address', () => {
  test('is handed out by a wallet node before its history is asked for, or else not shown', async () => {
    const done: string[] = [];
    const chain = chainOf(5);
    const wallet: Chain = {
      ...chain,
      async prepare(index) {
        await new Promise(setImmediate);
        done.push(`hands out up to ${index}`);
        return { kind: 'answer', value: undefined };
      },
      used(addresses) {
        done.push(`tells of ${addresses.join()}`);
        return chain.used(addresses);
      },
    };
    const fresh = await freshIndexes({ account, chain: wallet }, 4, 2);
    assert.deepEqual(fresh, { kind: 'answer', value: { indexes: [4, 6], passedOver: 1 } });
    const first = ['hands out up to 5', 'tells of bc14,bc15'];
    assert.deepEqual(done, [...first, 'hands out up to 6', 'tells of bc16']);
    const closed: Chain = { ...chain, prepare: () => Promise.resolve(locked) };
    assert.deepEqual(await freshIndexes({ account, chain: closed }, 4, 2), locked);
  });

  test('has an index that the operator is told, with the number of addresses skipped before it', async () => {
    const store = await openTestStore();
    const none = 'No on-chain address was given out yet; the first start looks for earlier payments.';
    assert.equal(await addressSentence(store, account), none);
    for (const [next, passedOver, said] of [
      [1, 0, 'The next on-chain order gets the address of index 1.'],
      [2, 1, 'The next on-chain order gets the address of index 2. One address was skipped because of'],
      [4, 2, 'The next on-chain order gets the address of index 4. 2 addresses were skipped because of'],
    ] as const) {
      const { bytes } = await nextAddressIndex(store, account.digest);
      await store.commit([takeIndexes(account.digest, { bytes, passedOver }, next)]);
      assert.ok((await addressSentence(store, account)).startsWith(said), said);
    }
  });
});
