/** Keys of orders: which order they belong to, and which of them end together. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rotateKey } from '../../src/access/rotate.js';
import { rawKeyOf } from '../../src/checkout/order/orderKeys.js';
import { reissueOrderKey } from '../../src/checkout/order/reissue.js';
import { native } from '../../src/native/addon.js';
import { Shop } from '../support/shop.js';

const day = 86_400_000;

/** A paid order whose key was picked up: its id, and its raw key. */
async function sold(shop: Shop): Promise<{ readonly id: string; readonly rawKey: string }> {
  const { order } = await shop.make('card');
  await shop.happened(order.id, { kind: 'card paid', cents: 3_300n });
  const { apiKey } = await shop.polled(order.id);
  assert.ok(apiKey !== null);
  return { id: order.id, rawKey: apiKey };
}

test('every order and every making of its key has a key of its own, even from one seed', async () => {
  const shop = await Shop.open();
  const { order } = await shop.make('card');
  const record = await shop.stored(order.id);
  const keys = [
    record,
    { ...record, id: `${record.id}x` },
    { ...record, keyGeneration: record.keyGeneration + 1 },
    { ...record, seed: Buffer.alloc(32, 9) },
  ].map((each) => rawKeyOf(shop.book, each));
  assert.equal(new Set(keys).size, 4);
  assert.equal(rawKeyOf(shop.book, record), keys[0]);
});

test('a key has an id of ten random bytes', async () => {
  const shop = await Shop.open();
  const { id } = await sold(shop);
  for (const key of await shop.keys(id)) assert.match(key.id, /^key_[0-9a-f]{20}$/);
});

test('a key made again ends the one before, and the one that its holder had replaced by that', async () => {
  const shop = await Shop.open();
  const { id, rawKey } = await sold(shop);
  const { store, clock, randomness, secrets } = shop.book;
  const parts = { store, clock, randomness, secret: secrets[0], format: native };
  const hash = native.hashKey(rawKey);
  assert.ok(hash !== null);
  const rotated = await rotateKey(parts, hash, 7 * day, () => false);
  assert.ok(rotated.kind === 'issued');
  const again = await reissueOrderKey(shop.book, id, null);
  assert.ok(again.kind === 'reissued');
  const keys = await shop.keys(id);
  const active = keys.filter(({ status }) => status === 'active');
  assert.deepEqual(
    active.map((key) => key.id),
    [again.key.id],
  );
  for (const { reason, status } of keys.filter((key) => key.id !== again.key.id)) {
    assert.deepEqual([status, reason], ['revoked', `replaced by ${again.key.id}, without a claim token`]);
  }
  assert.equal(keys.length, 3);
});

test('a key that its holder replaced, while it still works, changes with its replacement', async () => {
  const shop = await Shop.open();
  const { id, rawKey } = await sold(shop);
  const { store, clock, randomness, secrets } = shop.book;
  const hash = native.hashKey(rawKey);
  assert.ok(hash !== null);
  const parts = { store, clock, randomness, secret: secrets[0], format: native };
  const rotated = await rotateKey(parts, hash, 7 * day, () => false);
  assert.ok(rotated.kind === 'issued');
  for (const [kind, status] of [
    ['card disputed', 'suspended'],
    ['card dispute won', 'active'],
    ['card dispute lost', 'revoked'],
  ] as const) {
    await shop.happened(id, { kind });
    const keys = await shop.keys(id);
    assert.deepEqual(
      keys.map((key) => key.status),
      [status, status],
    );
  }
});
