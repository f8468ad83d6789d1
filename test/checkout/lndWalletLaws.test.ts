/** Laws of LND's wallet: what a stamp asks of it, and what follows from malformed answers and refusals. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Psbt, Transaction } from 'bitcoinjs-lib';
import { Lnd, type LndAnswer, type NodeInfo } from '../../src/checkout/lnd.js';
import { LndWallet } from '../../src/checkout/lndWallet.js';
import { systemClock } from '../../src/system/clock.js';
import type { JsonObject } from '../../src/system/json.js';
import { reasonOf } from '../../src/system/reason.js';
import { LndWalletServer } from './lndWalletServer.js';

const data = Buffer.alloc(32, 5);

interface Asked {
  readonly path: string;
  readonly body: object | undefined;
}

/** A wallet over a node that gives one answer to each path, and refuses the others; what it was asked. */
function walletOver(answers: Readonly<Record<string, JsonObject>>, blockHeight = 800_000) {
  const asked: Asked[] = [];
  const status = { network: 'regtest', syncedToChain: true, activeChannels: 0, blockHash: '00' };
  const info = (): Promise<LndAnswer<NodeInfo>> =>
    Promise.resolve({ kind: 'answer', value: { ...status, blockHeight } });
  const ask: Lnd['ask'] = (path, body, read) => {
    asked.push({ path, body });
    const json = answers[path.split('?')[0] ?? ''];
    if (json === undefined) {
      return Promise.resolve({ kind: 'failed', absent: false, reason: 'LND says: it is locked' });
    }
    try {
      return Promise.resolve({ kind: 'answer', value: read(json) });
    } catch (error) {
      return Promise.resolve({ kind: 'failed', absent: false, reason: reasonOf(error) });
    }
  };
  return { asked, wallet: new LndWallet({ info, ask }) };
}

const locked = { wrong: 'LND says: it is locked' };

describe('a transaction', () => {
  test('is funded to confirm within a day, after a search for a payment of the last days', async () => {
    for (const [tip, from] of [
      [800_000, 799_568],
      [431, 0],
    ] as const) {
      const { asked, wallet } = walletOver({ '/v1/transactions': { transactions: {} } }, tip);
      assert.deepEqual(await wallet.sign(data, 'a day', 250n), locked);
      const [searched, funded] = asked;
      assert.equal(searched?.path, `/v1/transactions?start_height=${from}&end_height=-1`);
      assert.equal(funded?.path, '/v2/wallet/psbt/fund');
      const { target_conf, min_confs } = funded.body as JsonObject;
      assert.deepEqual([target_conf, min_confs], [144, 1]);
    }
  });

  test('that cannot be read releases the coins that were locked for it, and no others', async () => {
    const coin = { id: 'a lock', outpoint: { txid_str: 'aa', output_index: 0 } };
    const amountless = new Psbt().addInput({ hash: Buffer.alloc(32, 1), index: 0 }).toBase64();
    for (const [funded_psbt, wrong] of [
      [undefined, 'its answer lacks bytes'],
      ['', 'its answer lacks bytes'],
      [amountless, 'an input has no amount'],
    ] as const) {
      const { asked, wallet } = walletOver({
        '/v1/transactions': {},
        '/v2/wallet/psbt/fund': { funded_psbt, locked_utxos: [coin, null, 'x'] },
      });
      assert.deepEqual(await wallet.sign(data, 'a day', 250n), { wrong });
      const released = asked.filter(({ path }) => path === '/v2/wallet/utxos/release');
      assert.deepEqual(released, [{ path: '/v2/wallet/utxos/release', body: coin }]);
    }
  });

  test('is published unless the node or the network refuses it', async () => {
    const published = (answer: JsonObject | undefined): Promise<unknown> =>
      walletOver(answer === undefined ? {} : { '/v2/wallet/tx': answer }).wallet.publish(data, 'a day');
    assert.equal(await published({ publish_error: '' }), undefined);
    assert.equal(await published({}), undefined);
    assert.equal(await published({ publish_error: null }), undefined);
    assert.deepEqual(await published({ publish_error: 'its fee is too low' }), {
      wrong: 'LND says: its fee is too low',
    });
    assert.deepEqual(await published(undefined), locked);
  });

  test('waits while it has no depth, and is a failure if its block is missing', async () => {
    const transaction = new Transaction();
    transaction.addInput(Buffer.alloc(32, 1), 0);
    const raw = transaction.toBuffer();
    const found = (
      more: JsonObject,
      answers: Readonly<Record<string, JsonObject>> = {},
    ): Promise<unknown> => {
      const known = { tx_hash: transaction.getId(), ...more };
      return walletOver({ '/v1/transactions': { transactions: [known] }, ...answers }).wallet.find(raw, 1);
    };
    assert.deepEqual(await found({}), { kind: 'waiting' });
    assert.deepEqual(await found({ num_confirmations: 0 }), { kind: 'waiting' });
    const mined = { num_confirmations: 1, block_height: 2, block_hash: 'ab' };
    assert.deepEqual(await found(mined), locked);
    for (const raw_block of [undefined, '', 7]) {
      assert.deepEqual(await found(mined, { '/v2/chainkit/block': { raw_block } }), {
        wrong: 'its answer lacks bytes',
      });
    }
  });

  test('is in its block from a depth of one on, with its header and the bytes of its id', async () => {
    const node = await LndWalletServer.start('ab'.repeat(40));
    const lnd = new Lnd(node.place, systemClock);
    after(() => lnd.close());
    const wallet = new LndWallet(lnd);
    const signed = await wallet.sign(data, 'a day', 250n);
    assert.ok('transaction' in signed);
    await wallet.publish(signed.transaction, 'a day');
    node.mine(1);
    const found = await wallet.find(signed.transaction, signed.tipHeight);
    assert.ok('kind' in found && found.kind === 'in block');
    const transaction = Transaction.fromBuffer(signed.transaction);
    transaction.stripWitnesses();
    assert.deepEqual(found.hashed, Buffer.from(transaction.toBuffer()));
    assert.deepEqual([found.confirmations, found.header.byteLength], [1, 80]);
  });
});
