/** Raw keys: equal to those that another implementation derives, and different for any other input. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deriveKey, hintOfKey, type KeyFormat, type KeySeed } from '../../src/access/derive.js';
import { native } from '../../src/native/addon.js';

const hex: KeyFormat = { writeKey: (bytes) => Buffer.from(bytes).toString('hex'), hashKey: () => null };

const given: KeySeed = {
  secret: 'example-secret-0123456789-abcdefghij',
  orderId: 'order_1',
  generation: 0,
  seed: Buffer.from(Array.from({ length: 32 }, (_, byte) => byte)),
};

test('a key equals the one that another implementation derives', () => {
  assert.equal(deriveKey(given, hex), '5c4d66c3743c551a737791e7143d9aa7e3e881418159511c5453f88b27c888b5');
  const again = deriveKey({ ...given, generation: 1 }, hex);
  assert.equal(again, '635ef21da7fdbfab41f46a4be942d5c467917ef194e60ad6431b2830f18a05a3');
});

test('the secret, the order, the generation and the seed each change the key', () => {
  const others: readonly KeySeed[] = [
    given,
    { ...given, secret: `${given.secret}k` },
    { ...given, orderId: 'order_2' },
    { ...given, generation: 1 },
    { ...given, seed: Buffer.alloc(32) },
    { ...given, seed: given.seed.subarray(1) },
    { ...given, orderId: 'order_1\0', generation: 0 },
  ];
  assert.equal(new Set(others.map((each) => deriveKey(each, hex))).size, others.length);
});

test('a hint shows a key’s first seven and last four characters', () => {
  const key = deriveKey(given, native);
  assert.match(key, /^fg_[A-Za-z0-9_-]{49}$/);
  assert.equal(hintOfKey(key), `${key.slice(0, 7)}…${key.slice(48)}`);
});
