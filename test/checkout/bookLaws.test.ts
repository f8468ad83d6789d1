/** Laws of the book of orders: of keys and what they end with, of polls at once, of master secrets. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { happen, makeOrder, poll, replaceUnrevealedKey, type BookParts } from '../../src/checkout/book.js';
import type { OrderEvent } from '../../src/checkout/orders.js';
import { native } from '../../src/native/addon.js';
import { changeOrder, type OrderRecord } from '../../src/store/orders.js';
import type { KeyRecord } from '../../src/store/keys.js';
import { secretId } from '../../src/system/masterSecret.js';
import { Shop } from './shop.js';

const shop = await Shop.open();
const day = 86_400_000;
const settled: OrderEvent = { kind: 'invoice', state: 'settled', paidSat: 50_000n, settledAtMs: 1 };
const paidByCard: OrderEvent = { kind: 'card paid', cents: 3_300n };

/** The only key of an order; fails where it has none, or another. */
async function keyOf({ id }: OrderRecord): Promise<KeyRecord> {
  const [key, ...more] = await shop.keys(id);
  assert.ok(key !== undefined && more.length === 0);
  return key;
}

function isKey(raw: string | null, key: KeyRecord): boolean {
  return native.hashKey(raw ?? '')?.equals(Buffer.from(key.hash)) === true;
}

describe('a key', () => {
  test('lasts the days that were sold, from its payment on; 0 days are without end', async () => {
    const lasting = async (termDays: number): Promise<number | null> => {
      const { order } = await shop.make('lightning', { termDays });
      shop.time.nowMs += 5_000;
      await shop.happened(order.id, settled);
      const key = await keyOf(order);
      assert.equal(key.issuedAtMs, shop.time.nowMs);
      return key.expiresAtMs === null ? null : key.expiresAtMs - key.issuedAtMs;
    };
    assert.equal(await lasting(30), 30 * day);
    assert.equal(await lasting(1), day);
    assert.equal(await lasting(0), null);
  });

  test('of an order that was made under the master secret before is the one that is handed out', async () => {
    const [old] = shop.book.secrets;
    const rotated: BookParts = { ...shop.book, secrets: ['a-new-secret-of-the-tests-0123456789', old] };
    // Minted before the secret was replaced, or after; handed out by a process that knows both, or one.
    for (const [minting, showing] of [
      [shop.book, rotated],
      [rotated, shop.book],
      [rotated, rotated],
    ] as const) {
      const { order } = await shop.make('lightning');
      assert.equal((await happen(minting, order.id, settled)).kind, 'changed');
      const { apiKey } = await shop.polled(order.id, {}, showing);
      assert.ok(isKey(apiKey, await keyOf(order)));
      assert.equal((await shop.stored(order.id)).secretId, secretId(old));
    }
    // The new secret signs what is ordered from now on.
    const { order: next } = await shop.make('lightning');
    const under = await makeOrder(rotated, { ...draftOf(next), id: `${next.id}x`, place: 'another' });
    assert.equal(under.kind === 'made' && under.order.secretId, secretId(rotated.secrets[0]));
  });

  test('that is replaced after a restore is as usable as the one before, and ends when it would', async () => {
    const { order } = await shop.make('card');
    await shop.happened(order.id, paidByCard);
    await shop.happened(order.id, { kind: 'card disputed' });
    const first = await keyOf(order);
    shop.time.nowMs += day;
    const outcome = await changeOrder(shop.book.store, shop.book.newUnitId, order.id, (record) =>
      Promise.resolve({ kind: 'read', value: replaceUnrevealedKey(shop.book, record, first) }),
    );
    assert.equal(outcome.kind, 'changed');
    const { keyId, keyGeneration } = await shop.stored(order.id);
    const [ended, second] = (await shop.keys(order.id)).toSorted((a) => (a.id === first.id ? -1 : 1));
    assert.deepEqual([second?.id, keyGeneration, ended?.id], [keyId, 1, first.id]);
    assert.deepEqual([ended?.status, ended?.reason], ['revoked', `replaced by ${keyId ?? ''}`]);
    assert.notDeepEqual(second?.hash, first.hash);
    const { status, issuedAtMs, expiresAtMs } = first;
    assert.deepEqual(
      [second?.status, second?.issuedAtMs, second?.expiresAtMs],
      [status, issuedAtMs, expiresAtMs],
    );
    assert.equal(status, 'suspended');
    await shop.happened(order.id, { kind: 'card dispute won' });
    const { apiKey } = await shop.polled(order.id);
    assert.ok(second !== undefined && isKey(apiKey, second));
  });
});

/** What an order was wished as. */
function draftOf({ createdAtMs, expiresAtMs, ...order }: OrderRecord): Parameters<typeof makeOrder>[1] {
  const { rail, tier, network, sat, cents, rateCents, termDays, email, source, segment } = order;
  const { campaign, eventId, reference, addressIndex, confirmationsRequired, id, place } = order;
  return {
    ...{ rail, tier, network, sat, cents, rateCents, termDays, email, source, segment },
    ...{ campaign, eventId, reference, addressIndex, confirmationsRequired, id, place },
    lifeMs: expiresAtMs - createdAtMs,
  };
}

describe('polls at once', () => {
  test('of one with the claim token and one without it, one carries the key', async () => {
    const { order, claimToken } = await shop.make('lightning');
    await shop.happened(order.id, settled);
    let first: string | null = null;
    // The one without the token is first on disk, while the other has made up its mind.
    shop.beforeCommits.push(async () => {
      first = (await shop.polled(order.id, {}, shop.aside)).apiKey;
    });
    const second = await shop.polled(order.id, { claim: claimToken });
    assert.ok(isKey(first, await keyOf(order)));
    assert.deepEqual([second.apiKey, second.keyStatus], [null, 'already_revealed']);
    assert.equal((await shop.stored(order.id)).claimed, true);
  });

  test('of two without the token, the second finds it handed out', async () => {
    const { order } = await shop.make('lightning');
    await shop.happened(order.id, settled);
    let first: string | null = null;
    shop.beforeCommits.push(async () => {
      first = (await shop.polled(order.id, {}, shop.aside)).apiKey;
    });
    const second = await shop.polled(order.id);
    assert.ok(isKey(first, await keyOf(order)));
    assert.deepEqual([second.apiKey, second.keyStatus], [null, 'already_revealed']);
  });

  test('a claim that comes between shuts those out that carry none', async () => {
    const { order, claimToken } = await shop.make('lightning');
    await shop.happened(order.id, { kind: 'time' });
    await shop.happened(order.id, settled);
    const unpaid = await shop.make('lightning');
    const read = await shop.stored(unpaid.order.id);
    await shop.happened(unpaid.order.id, settled);
    await shop.polled(order.id, { claim: claimToken });
    // This one read the order before it was settled; what is on disk decides.
    const late = await poll(shop.book, read, { claim: '', claimRequired: false, mayAct: true });
    assert.equal(late.kind === 'polled' && late.apiKey, null);
    assert.notEqual((await shop.polled(unpaid.order.id, { claim: unpaid.claimToken })).apiKey, null);
  });

  test('a write whose answer was lost hands nothing out, and nobody is told twice', async () => {
    const { order } = await shop.make('lightning');
    await shop.happened(order.id, settled);
    const asked = { claim: '', claimRequired: false, mayAct: true };
    const record = await shop.stored(order.id);
    for (const failure of ['not written', 'written'] as const) {
      shop.failing.failure = failure;
      shop.failing.failReads = false;
      assert.equal((await poll(shop.book, record, asked)).kind, 'unavailable');
      shop.failing.failure = undefined;
      shop.failing.failReads = true;
      const { seed } = await shop.stored(order.id);
      assert.equal(seed === null, failure === 'written');
    }
    assert.equal((await shop.polled(order.id)).keyStatus, 'already_revealed');
  });
});
