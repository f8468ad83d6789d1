/** Addresses against BIP 84's vectors, and what may be given as an account's key. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
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

const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
  readonly vectors: readonly Vector[];
};
const [mainnet] = vectors.filter(({ network }) => network === 'mainnet');
assert.ok(mainnet !== undefined);

test('addresses are those of BIP 84, whatever prefix the key has', () => {
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

test('the same account has the same digest, another has another', () => {
  const digests = vectors.map(({ account_public, network }) => {
    const read = readAccount(account_public, network);
    return 'account' in read ? read.account.digest.toString('hex') : '';
  });
  assert.equal(new Set(digests).size, vectors.length);
});

test('what is no public key of the network is refused, and never shown', () => {
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
