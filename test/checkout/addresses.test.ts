/** Addresses against BIP 84's vectors, and which keys may be given as an account's. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as secp256k1 from '@bitcoinerlab/secp256k1';
import { BIP32Factory } from 'bip32';
import { networks } from 'bitcoinjs-lib';
import { readAccount } from '../../src/checkout/onchain/addresses.js';
import { bip21 } from '../../src/checkout/onchain/bitcoinView.js';
import type { Network } from '../../src/store/tables/orderRow.js';

interface Vector {
  readonly network: Network;
  readonly account_public: string;
  readonly account_private: string;
  readonly account_xpub_same_key?: string;
  readonly receive: readonly { readonly path: string; readonly address: string }[];
}

const bip32 = BIP32Factory(secp256k1);

const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
  readonly vectors: readonly Vector[];
};
const [mainnet] = vectors.filter(({ network }) => network === 'mainnet');
assert.ok(mainnet !== undefined);

test('addresses follow BIP 84, whatever prefix the key has', () => {
  let checked = 0;
  for (const { network, account_public, account_xpub_same_key, receive } of vectors) {
    for (const key of [account_public, account_xpub_same_key ?? account_public]) {
      const read = readAccount(key, network);
      if ('wrong' in read) assert.fail(read.wrong);
      for (const { path, address } of receive) {
        assert.equal(read.account.address(Number(path.split('/').at(-1))), address, path);
        checked += 1;
      }
    }
  }
  assert.ok(checked >= 60);
});

test('the same account has the same digest, and another account has another', () => {
  const digests = vectors.map(({ account_public, network }) => {
    const read = readAccount(account_public, network);
    return 'account' in read ? read.account.digest.toString('hex') : '';
  });
  assert.equal(new Set(digests).size, vectors.length);
});

test('an account is stored under the first 16 bytes of SHA-256 over its chain code and key', () => {
  const read = readAccount(mainnet.account_public, 'mainnet');
  assert.ok('account' in read);
  const key = bip32.fromBase58(mainnet.account_xpub_same_key ?? '');
  const digest = hash('sha256', Buffer.concat([key.chainCode, key.publicKey]), 'buffer');
  assert.deepEqual(read.account.digest, digest.subarray(0, 16));
});

/** Version bytes of keys by their prefix (SLIP 132), public and private. */
const prefixes = [
  { name: 'xpub', other: 'testnet', bip32: { public: 0x0488b21e, private: 0x0488ade4 } },
  { name: 'zpub', other: 'testnet', bip32: { public: 0x04b24746, private: 0x04b2430c } },
  { name: 'tpub', other: 'mainnet', bip32: { public: 0x043587cf, private: 0x04358394 } },
  { name: 'vpub', other: 'mainnet', bip32: { public: 0x045f1cf6, private: 0x045f18bc } },
] as const;

test('a key is refused if it is of another network or private, which its prefix shows', () => {
  for (const { name, other, bip32: version } of prefixes) {
    const key = bip32.fromSeed(Buffer.alloc(32, 1), { ...networks.bitcoin, bip32: version });
    const [shown, secret] = [key.neutered().toBase58(), key.toBase58()];
    assert.deepEqual([shown.slice(0, 4), secret.slice(0, 4)], [name, name.replace('pub', 'prv')]);
    assert.deepEqual(readAccount(shown, other), {
      wrong: `is a ${name}, which is not of BTC_NETWORK ${other}`,
    });
    const read = readAccount(secret, other);
    assert.match('wrong' in read ? read.wrong : '', /^is a private key: never give one to a server/);
  }
});

test('signet has the same addresses as testnet', () => {
  const testnet = vectors.find(({ network }) => network === 'testnet');
  const read = readAccount(testnet?.account_public ?? '', 'signet');
  assert.ok('account' in read && testnet?.receive[0] !== undefined);
  assert.equal(read.account.address(0), testnet.receive[0].address);
});

test('text that is not a public key of the network is refused, and never shown', () => {
  const { account_public: key, account_private: secret } = mainnet;
  for (const [text, network, expected] of [
    [secret, 'mainnet', /^is a private key: never give one to a server/],
    [key, 'testnet', /^is a zpub, which is not of BTC_NETWORK testnet/],
    [`${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`, 'mainnet', /^must be an extended public key/],
    ['', 'mainnet', /^must be an extended public key/],
    ['zpub', 'mainnet', /^must be an extended public key/],
    ['0'.repeat(111), 'mainnet', /^must be an extended public key/],
  ] as const) {
    const read = readAccount(text, network);
    const wrong = 'wrong' in read ? read.wrong : 'nothing';
    assert.match(wrong, expected);
    if (text.length > 20) assert.ok(!wrong.includes(text));
  }
});

test('payments are BIP 21 URIs with a lower-case scheme', () => {
  const address = mainnet.receive[0]?.address ?? '';
  assert.equal(bip21(address, 250_000n), `bitcoin:${address}?amount=0.00250000`);
  assert.equal(new URL(bip21(address, 1n)).searchParams.get('amount'), '0.00000001');
});
