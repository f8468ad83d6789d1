/** Laws of the book of orders: keys and their ends, simultaneous polls, master secrets. */
import { encodeOrder, type OrderRecord } from '../../src/store/tables/order.js';
import { reissueOrderKey, replaceUnrevealedKey } from '../../src/checkout/order/reissue.js';
import { poll, unpolled } from '../../src/checkout/order/poll.js';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { revokeKey } from '../../src/access/issue.js';
import {
  apply,
  makeOrder,
  newOrderId,
  type BookParts,
  type MadeOrder,
  type NewOrder,
} from '../../src/checkout/order/book.js';
import type { OrderEvent } from '../../src/checkout/order/orders.js';
import { native } from '../../src/native/addon.js';
import { changeOrder } from '../../src/store/tables/orders.js';
import type { KeyRecord } from '../../src/store/tables/keys.js';
import { secretId } from '../../src/system/masterSecret.js';
import { Shop } from '../support/shop.js';
import { StoreUnavailable } from '../../src/store/store.js';

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

test('an order is created at the time of the clock, and its term begins then', async () => {
  const { order } = await shop.make('lightning');
  assert.equal(order.createdAtMs, shop.time.nowMs);
  assert.equal(order.expiresAtMs, shop.time.nowMs + 900_000);
  assert.equal(order.late, false);
});

test('money is booked in the unit of its rail: satoshi, or cents by card', async () => {
  const output = { txid: 'ab'.repeat(32), vout: 0, sat: 50_000n, confirmations: 2, atMs: null, height: 1 };
  const ids = [
    (await shop.make('btc')).order.id,
    (await shop.make('lightning')).order.id,
    (await shop.make('card')).order.id,
  ] as const;
  await shop.happened(ids[0], { kind: 'outputs', outputs: [output] });
  await shop.happened(ids[1], settled);
  await shop.happened(ids[2], { kind: 'card paid', cents: 3_300n });
  const entries = (await Promise.all(ids.map((id) => shop.entries(id)))).flat();
  assert.deepEqual(
    entries.map(({ change, unit }) => [change, unit]),
    [
      [50_000, 'sat'],
      [50_000, 'sat'],
      [3_300, 'cent'],
    ],
  );
});

test('keys and claim tokens cannot be guessed: each has 32 random bytes', async () => {
  const { order, claimToken } = await shop.make('lightning');
  assert.equal(order.seed?.byteLength, 32);
  assert.match(claimToken, /^ct_[\w-]{43}$/);
});

describe('a key', () => {
  test('lasts the days that were sold, from the payment on; 0 days means forever', async () => {
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

  test('of an order made under an earlier master secret is still the key that is handed out', async () => {
    const [old] = shop.book.secrets;
    const rotated: BookParts = { ...shop.book, secrets: ['a-new-secret-of-the-tests-0123456789', old] };
    // Minted before the secret was replaced, or after; handed out by a process that knows both, or one.
    for (const [minting, showing] of [
      [shop.book, rotated],
      [rotated, shop.book],
      [rotated, rotated],
    ] as const) {
      const { order } = await shop.make('lightning');
      assert.equal((await apply(minting, order.id, settled)).kind, 'changed');
      const { apiKey } = await shop.polled(order.id, {}, showing);
      assert.ok(isKey(apiKey, await keyOf(order)));
      assert.equal((await shop.stored(order.id)).secretId, secretId(old));
    }
    // The new secret signs what is ordered from now on.
    const { order: next } = await shop.make('lightning');
    const under = await makeOrder(rotated, { ...draftOf(next), id: `${next.id}x`, place: 'another' });
    assert.equal(under.kind === 'made' && under.order.secretId, secretId(rotated.secrets[0]));
  });

  test('replaced after a restore has the status and the term of the one before', async () => {
    const { order } = await shop.make('card');
    await shop.happened(order.id, paidByCard);
    await shop.happened(order.id, { kind: 'card disputed' });
    const first = await keyOf(order);
    shop.time.nowMs += day;
    const outcome = await changeOrder(shop.book.store, order.id, (record) =>
      replaceUnrevealedKey(shop.book, record, first),
    );
    assert.equal(outcome.kind, 'changed');
    const { keyId, keyGeneration } = await shop.stored(order.id);
    const [ended, second] = (await shop.keys(order.id)).toSorted((a) => (a.id === first.id ? -1 : 1));
    assert.deepEqual([second?.id, keyGeneration, ended?.id], [keyId, 1, first.id]);
    assert.deepEqual(
      [ended?.status, ended?.reason, ended?.changedAtMs],
      ['revoked', `replaced by ${keyId ?? ''}`, shop.time.nowMs],
    );
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

test('a poll shows the order as it is on disk, and when its key expires', async () => {
  const { order, claimToken } = await shop.make('lightning');
  const none = { order, apiKey: null, keyStatus: 'none', keyExpiresAtMs: null };
  assert.deepEqual(unpolled(order), none);
  assert.deepEqual(await shop.polled(order.id), none);
  // Whoever shows the claim token once needs it from then on.
  await shop.polled(order.id, { claim: claimToken });
  assert.equal((await shop.stored(order.id)).claimed, true);
  await shop.happened(order.id, settled);
  const { expiresAtMs: keyExpiresAtMs } = await keyOf(order);
  const bare = { order: await shop.stored(order.id), apiKey: null, keyExpiresAtMs };
  assert.deepEqual(await shop.polled(order.id), { ...bare, keyStatus: 'claim_required' });
  const { apiKey, ...first } = await shop.polled(order.id, { claim: claimToken });
  const after = await shop.stored(order.id);
  assert.deepEqual(first, { order: after, keyStatus: 'revealed_now', keyExpiresAtMs });
  assert.ok(isKey(apiKey, await keyOf(order)));
  assert.deepEqual([after.claimed, after.revealedAtMs, after.seed], [true, shop.time.nowMs, null]);
  const later = { order: after, apiKey: null, keyStatus: 'already_revealed', keyExpiresAtMs };
  assert.deepEqual(await shop.polled(order.id, { claim: claimToken }), later);
});

test('a key that the operator revoked before a restore is not replaced', async () => {
  const { order } = await shop.make('card');
  await shop.happened(order.id, paidByCard);
  const { id } = await keyOf(order);
  await revokeKey({ ...shop.book, clock: shop.time.clock }, id, 'misuse');
  const record = await shop.stored(order.id);
  const next = { ...record, keyGeneration: 1 };
  assert.deepEqual(await replaceUnrevealedKey(shop.book, record, await keyOf(order)), { to: next });
  // Nor is one that was not made yet; only what it will be derived from is another.
  assert.deepEqual(await replaceUnrevealedKey(shop.book, record, undefined), { to: next });
});

describe('a key that cannot be made', () => {
  test('is not made: its master secret is missing, its seed is erased, or its form is wrong', async () => {
    const { order } = await shop.make('lightning');
    const other: BookParts = { ...shop.book, secrets: ['a-secret-that-is-not-the-one-it-was-made-of'] };
    const needs = /^StoreUnavailable: The key of an order needs master secret \w+, which this process/;
    await assert.rejects(apply(other, order.id, settled), needs);
    const formless: BookParts = { ...shop.book, keyFormat: { ...native, hashKey: () => null } };
    await assert.rejects(apply(formless, order.id, settled), /not of the form of keys/);
    assert.deepEqual([(await shop.stored(order.id)).status, await shop.keys(order.id)], ['pending', []]);
    await shop.happened(order.id, settled);
    await shop.polled(order.id);
    const shown = await shop.stored(order.id);
    const key = await keyOf(order);
    await assert.rejects(replaceUnrevealedKey(shop.book, shown, key), /is erased$/);
  });

  test('is not searched for: an order whose key is missing is an error', async () => {
    const { order } = await shop.make('card');
    await shop.happened(order.id, paidByCard);
    const record = await shop.stored(order.id);
    await changeOrder(shop.book.store, order.id, () =>
      Promise.resolve({ to: { ...record, keyId: 'key_gone' } }),
    );
    const disputed = apply(shop.book, order.id, { kind: 'card disputed' });
    await assert.rejects(disputed, /^Error: The key of order \w+ is not there$/);
    const { apiKey, keyStatus, keyExpiresAtMs } = await shop.polled(order.id);
    assert.deepEqual([apiKey, keyStatus, keyExpiresAtMs], [null, 'none', null]);
  });

  test('is not given away: an order without a price is an error', async () => {
    const { order } = await shop.make('card');
    const bytes = Buffer.from(encodeOrder(order));
    const priceless = Buffer.from(bytes.toString('latin1').replace('"cents":3300', '"cents":null'), 'latin1');
    const key = Buffer.from(order.id);
    await shop.aside.store.commit([{ kind: 'replace', space: 'orders', key, from: bytes, to: priceless }]);
    await assert.rejects(
      apply(shop.book, order.id, { kind: 'card paid', cents: 0n }),
      /has no price in cents\)\.$/,
    );
    assert.deepEqual(await shop.keys(order.id), []);
  });
});

test('an id or a place that is already taken makes no order', async () => {
  const { order } = await shop.make('lightning');
  for (const more of [{ place: 'a place of its own' }, { id: 'a'.repeat(26) }]) {
    const again = await makeOrder(shop.book, { ...draftOf(order), ...more });
    assert.equal(again.kind, 'taken');
  }
  assert.deepEqual(await shop.stored(order.id), order);
});

test('an id has 16 random bytes', () => {
  assert.equal(
    newOrderId((count) => Buffer.alloc(count, 255)),
    `${'7'.repeat(25)}4`,
  );
  assert.equal(
    newOrderId((count) => Buffer.alloc(count, count)),
    'caibaeaqcaibaeaqcaibaeaqca',
  );
});

test('a key says why it cannot be used, and no longer does once it can', async () => {
  const { order } = await shop.make('card');
  await shop.happened(order.id, paidByCard);
  const state = async (): Promise<unknown[]> => {
    const { status, reason, changedAtMs, issuedAtMs } = await keyOf(order);
    return [status, reason, changedAtMs - issuedAtMs];
  };
  assert.deepEqual(await state(), ['active', null, 0]);
  shop.time.nowMs += 1;
  await shop.happened(order.id, { kind: 'card disputed' });
  assert.deepEqual(await state(), ['suspended', 'the payment is disputed', 1]);
  shop.time.nowMs += 1;
  await shop.happened(order.id, { kind: 'card dispute won' });
  assert.deepEqual(await state(), ['active', null, 2]);
  await shop.happened(order.id, { kind: 'card refunded', totalCents: 3_300n });
  assert.deepEqual(await state(), ['revoked', 'the payment was refunded', 2]);
  assert.deepEqual(
    (await shop.entries(order.id)).map(({ unit, change, status, atMs }) => [
      unit,
      change,
      status,
      shop.time.nowMs - atMs,
    ]),
    [
      ['cent', 3_300, 'paid', 2],
      ['cent', -3_300, 'refunded', 0],
    ],
  );
});

describe('a store that fails at any one operation', () => {
  const make = async (): Promise<MadeOrder> => shop.make('card');
  const mint = async (): Promise<MadeOrder> => {
    const made = await shop.make('card');
    await shop.happened(made.order.id, paidByCard);
    return made;
  };

  test('makes an event fail, which takes effect once when it is repeated', async () => {
    const happening =
      (event: OrderEvent) =>
      ({ order }: MadeOrder) =>
        apply(shop.book, order.id, event);
    const count = await shop.eachFault(make, happening(paidByCard), async ({ order }) => {
      await shop.happened(order.id, paidByCard);
      assert.equal((await keyOf(order)).status, 'active');
      assert.deepEqual(await shop.ledger(order.id), [3_300]);
    });
    assert.equal(count, 2);
    const disputed: OrderEvent = { kind: 'card disputed' };
    const more = await shop.eachFault(mint, happening(disputed), async ({ order }) => {
      await shop.happened(order.id, disputed);
      assert.equal((await keyOf(order)).status, 'suspended');
    });
    assert.equal(more, 4);
  });

  test('makes a poll fail, and the next poll hands out the key', async () => {
    const asked = { claimRequired: false, mayAct: true, aborted: () => false };
    const polling = async ({ order: { id }, claimToken: claim }: MadeOrder) =>
      poll(shop.book, await shop.stored(id), { ...asked, claim });
    let handedOut = 0;
    await shop.eachFault(mint, polling, async ({ order, claimToken: claim }) => {
      const { seed } = await shop.stored(order.id);
      if (seed === null) handedOut += 1;
      const { keyStatus } = await shop.polled(order.id, { claim });
      assert.equal(keyStatus, seed === null ? 'already_revealed' : 'revealed_now');
    });
    assert.equal(handedOut, 1, 'the run without a fault');
    const quiet = async ({ order: { id } }: MadeOrder) =>
      poll(shop.book, await shop.stored(id), { ...asked, claim: '', mayAct: false });
    assert.equal(await shop.eachFault(mint, quiet), 2);
    // Once all is said, a poll with the token asks no more of the store.
    const over = async (): Promise<MadeOrder> => {
      const made = await mint();
      await shop.polled(made.order.id, { claim: made.claimToken });
      return made;
    };
    assert.equal(await shop.eachFault(over, polling), 2);
  });

  test('leaves a lost key lost until it is made anew, once', async () => {
    const reissuing = ({ order, claimToken }: MadeOrder) => reissueOrderKey(shop.book, order.id, claimToken);
    await shop.eachFault(mint, reissuing, async ({ order, claimToken }) => {
      const again = await reissueOrderKey(shop.book, order.id, claimToken);
      assert.equal(again.kind, 'reissued');
      const keys = await shop.keys(order.id);
      assert.equal(keys.filter(({ status }) => status === 'active').length, 1);
    });
    await shop.eachFault(make, async ({ order }) => {
      const id = newOrderId(shop.book.randomness);
      return makeOrder(shop.book, { ...draftOf(order), id, place: id });
    });
  });
});

test('a lost key is replaced by one with the same end, which cannot be derived again', async () => {
  const { order, claimToken } = await shop.make('lightning');
  await shop.happened(order.id, settled);
  const first = await keyOf(order);
  const before = await shop.stored(order.id);
  shop.time.nowMs += day;
  const again = await reissueOrderKey(shop.book, order.id, claimToken);
  if (again.kind !== 'reissued') assert.fail(again.kind);
  const { issuedAtMs, expiresAtMs, status, origin } = again.key;
  assert.deepEqual([issuedAtMs, expiresAtMs], [shop.time.nowMs, first.expiresAtMs]);
  assert.deepEqual([status, origin], ['active', order.id]);
  const after = await shop.stored(order.id);
  assert.deepEqual(again.order, after);
  assert.deepEqual(
    [after.keyId, after.keyGeneration, after.seed, after.revealedAtMs],
    [again.key.id, before.keyGeneration + 1, null, shop.time.nowMs],
  );
  const ended = (await shop.keys(order.id)).find(({ id }) => id === first.id);
  const reason = `replaced by ${again.key.id}`;
  assert.deepEqual([ended?.status, ended?.reason, ended?.changedAtMs], ['revoked', reason, shop.time.nowMs]);
  // A key that the operator ended is not made anew.
  await revokeKey({ ...shop.book, clock: shop.time.clock }, again.key.id, 'misuse');
  const without = { kind: 'without key', order: after };
  assert.deepEqual(await reissueOrderKey(shop.book, order.id, claimToken), without);
});

test('a key that was handed out and is replaced counts as handed out at its replacement', async () => {
  const { order } = await shop.make('lightning');
  await shop.happened(order.id, settled);
  await shop.polled(order.id);
  shop.time.nowMs += day;
  assert.equal((await reissueOrderKey(shop.book, order.id, null)).kind, 'reissued');
  assert.equal((await shop.stored(order.id)).revealedAtMs, shop.time.nowMs);
});

/** What a Lightning or card order was wished as. */
function draftOf({ createdAtMs, expiresAtMs, ...order }: OrderRecord): NewOrder {
  const { id, place, tier, sat, termDays, email, source, segment, campaign, eventId } = order;
  const any = { id, place, tier, sat, termDays, email, source, segment, campaign, eventId };
  const lifeMs = expiresAtMs - createdAtMs;
  switch (order.rail) {
    case 'lightning':
      return { ...any, rail: order.rail, lifeMs, network: order.network, bolt11: order.bolt11 };
    case 'card':
      return { ...any, rail: order.rail, lifeMs, cents: order.cents, rateCents: order.rateCents };
    default:
      return assert.fail('no test orders on another rail again');
  }
}

describe('simultaneous polls', () => {
  test('with and without the claim token: only one of them carries the key', async () => {
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

  test('without the token: the second finds the key handed out', async () => {
    const { order } = await shop.make('lightning');
    await shop.happened(order.id, settled);
    let first: string | null = null;
    shop.beforeCommits.push(async () => {
      first = (await shop.polled(order.id, {}, shop.aside)).apiKey;
    });
    const before = shop.failing.commits;
    const second = await shop.polled(order.id);
    assert.ok(isKey(first, await keyOf(order)));
    assert.deepEqual([second.apiKey, second.keyStatus], [null, 'already_revealed']);
    assert.equal(shop.failing.commits, before + 1, 'what changes nothing is not written again');
  });

  test('of an order that does not exist are an error', async () => {
    const { order, claimToken: claim } = await shop.make('lightning');
    const asked = { claim, claimRequired: false, mayAct: true, aborted: () => false };
    await assert.rejects(poll(shop.book, { ...order, id: 'gone' }, asked), /^Error: Order gone is gone$/);
  });

  test('without the token get nothing if a claim comes between', async () => {
    const { order, claimToken } = await shop.make('lightning');
    await shop.happened(order.id, { kind: 'time' });
    await shop.happened(order.id, settled);
    const unpaid = await shop.make('lightning');
    const read = await shop.stored(unpaid.order.id);
    await shop.happened(unpaid.order.id, settled);
    await shop.polled(order.id, { claim: claimToken });
    // This one read the order before it was settled; what is on disk decides.
    const late = await poll(shop.book, read, {
      claim: '',
      claimRequired: false,
      mayAct: true,
      aborted: () => false,
    });
    assert.equal(late.apiKey, null);
    assert.notEqual((await shop.polled(unpaid.order.id, { claim: unpaid.claimToken })).apiKey, null);
  });

  test('whose write has an unknown outcome hand nothing out, and no key is shown twice', async () => {
    const { order } = await shop.make('lightning');
    await shop.happened(order.id, settled);
    const asked = { claim: '', claimRequired: false, mayAct: true, aborted: () => false };
    const record = await shop.stored(order.id);
    for (const failure of ['not written', 'written'] as const) {
      shop.failing.failure = failure;
      shop.failing.failReads = false;
      await assert.rejects(poll(shop.book, record, asked), StoreUnavailable);
      shop.failing.failure = undefined;
      shop.failing.failReads = true;
      const { seed } = await shop.stored(order.id);
      assert.equal(seed === null, failure === 'written');
    }
    assert.equal((await shop.polled(order.id)).keyStatus, 'already_revealed');
  });

  test('hand the key out if the store answers again while they wait, written or not', async () => {
    for (const failure of ['not written', 'written'] as const) {
      const { order } = await shop.make('lightning');
      await shop.happened(order.id, settled);
      const record = await shop.stored(order.id);
      const fails = (now: typeof failure | undefined) => () =>
        Promise.resolve(void (shop.failing.failure = now));
      shop.beforeCommits.push(fails(failure), fails(failure), fails(undefined));
      shop.failing.failReads = false;
      const asked = { claim: '', claimRequired: false, mayAct: true, aborted: () => false };
      const { keyStatus, apiKey } = await poll(shop.book, record, asked);
      shop.failing.failReads = true;
      assert.equal(keyStatus, 'revealed_now');
      assert.notEqual(apiKey, null);
      assert.equal((await shop.polled(order.id)).keyStatus, 'already_revealed');
    }
  });
});
