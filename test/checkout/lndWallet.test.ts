/** LND's wallet as stamps use it: what it signs, what it refuses, and where it finds a transaction. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Transaction } from 'bitcoinjs-lib';
import { Lnd } from '../../src/checkout/lnd.js';
import { LndWallet } from '../../src/checkout/lndWallet.js';
import { dataScript, type StampWallet } from '../../src/log/stamping.js';
import { systemClock } from '../../src/system/clock.js';
import { after } from 'node:test';
import { LndWalletServer } from './lndWalletServer.js';

const data = Buffer.alloc(32, 5);

async function start(): Promise<{ node: LndWalletServer; wallet: StampWallet }> {
  const node = await LndWalletServer.start('ab'.repeat(40));
  const lnd = new Lnd(node.place, systemClock);
  after(() => lnd.close());
  return { node, wallet: new LndWallet(lnd) };
}

test('a signed transaction has the data and a fee within the limit, and is not published', async () => {
  const { node, wallet } = await start();
  const signed = await wallet.sign(data, 'a day', 250n);
  assert.ok('transaction' in signed);
  const transaction = Transaction.fromBuffer(signed.transaction);
  assert.ok(transaction.outs.some(({ script }) => dataScript(data).equals(script)));
  assert.deepEqual([signed.feeSat, signed.tipHeight, node.published.size], [250n, node.tip, 0]);
  assert.ok(signed.bytes < signed.transaction.byteLength, 'without its witnesses');
  assert.equal(node.held.size, 1);
});

test('a transaction that is too expensive or tampered with is not signed, and frees its coins', async () => {
  const { node, wallet } = await start();
  assert.deepEqual(await wallet.sign(data, 'a day', 249n), {
    wrong: 'it would cost 250 sat now, more than 249',
  });
  node.tamper = (transaction) => void transaction.addOutput(Buffer.of(0x6a, 1, 1), 9n);
  assert.deepEqual(await wallet.sign(data, 'a day', 250n), { wrong: 'LND signed another transaction' });
  assert.equal(node.held.size, 0);
  node.syncedToChain = false;
  assert.deepEqual(await wallet.sign(data, 'a day', 250n), { wrong: 'LND is behind the chain' });
});

test('a transaction is found as absent, waiting or in its block', async () => {
  const { node, wallet } = await start();
  const signed = await wallet.sign(data, 'a day', 250n);
  assert.ok('transaction' in signed);
  const { transaction, tipHeight } = signed;
  assert.deepEqual(await wallet.find(transaction, tipHeight), { kind: 'absent' });
  for (let round = 0; round < 2; round += 1) {
    assert.equal(await wallet.publish(transaction, 'a day'), undefined);
    assert.deepEqual(await wallet.find(transaction, tipHeight), { kind: 'waiting' });
  }
  assert.equal(node.published.size, 1);
  const again = await wallet.sign(data, 'a day', 250n);
  assert.ok('wrong' in again);
  assert.match(again.wrong, /the wallet has paid for it: transaction [0-9a-f]{64}/);
  node.mine(3);
  const found = await wallet.find(transaction, tipHeight);
  assert.ok('kind' in found && found.kind === 'in block');
  assert.deepEqual([found.height, found.confirmations, found.txids.length], [tipHeight + 1, 3, 2]);
});

test('a node that does not answer, or knows another macaroon, is a failure', async () => {
  const { node } = await start();
  const lnd = new Lnd({ ...node.place, macaroon: 'cd'.repeat(40) }, systemClock);
  const other = await new LndWallet(lnd).find(new Transaction().toBuffer(), 1);
  assert.ok('wrong' in other);
  lnd.close();
});
