/**
 * The book of orders on a real store: one key for each order, handed out once, whatever happens meanwhile.
 */
import type { OrderRecord } from '../../src/store/tables/order.js';
import { reissueOrderKey } from '../../src/checkout/order/reissue.js';
import { poll, type Polled, type PollWish } from '../../src/checkout/order/poll.js';
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import {
  apply,
  makeOrder,
  newOrderId,
  type BookParts,
  type MadeOrder,
  type NewOrder,
  type OrderWish,
} from '../../src/checkout/order/book.js';
import type { OrderEvent } from '../../src/checkout/order/orders.js';
import { native } from '../../src/native/addon.js';
import { findKeyById, allKeys, type KeyRecord } from '../../src/store/tables/keys.js';
import { decodeLedger, findOrder, findOrderAt } from '../../src/store/tables/orders.js';
import { reissueKey, revokeKey } from '../../src/access/issue.js';
import { SetClock } from '../support/access.js';
import { systemClock } from '../../src/system/clock.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { memoryFolder } from '../support/run.js';
import { storeAt } from '../support/openStore.js';
import { FailingStore } from '../support/serving.js';
import { pollOrder } from '../../src/checkout/rail.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { collect } from '../support/collect.js';
import { allOpen } from '../support/shop.js';

const secrets = ['a-secret-of-the-tests-that-opens-nothing'] as const;

async function book(context: TestContext): Promise<BookParts> {
  const store = await storeAt(`lmdb:${memoryFolder()}/store`);
  context.after(() => store.close());
  return { store, clock: systemClock, randomness: systemRandomness, secrets, keyFormat: native };
}

const wish = {
  tier: 'growth',
  sat: 250_000n,
  termDays: 30,
  email: 'ada@example.com',
  source: null,
  segment: null,
  campaign: null,
  eventId: null,
};

const overLightning = { rail: 'lightning', network: 'regtest', bolt11: 'lnbcrt1', lifeMs: 900_000 } as const;
const byCard = { rail: 'card', cents: 3_300n, rateCents: null, lifeMs: 900_000 } as const;

async function made(
  parts: BookParts,
  rail: typeof overLightning | typeof byCard = overLightning,
  more: Partial<OrderWish> = {},
): Promise<MadeOrder> {
  const id = newOrderId(systemRandomness);
  const order = await makeOrder<NewOrder>(parts, { ...wish, ...rail, id, place: `place of ${id}`, ...more });
  if (order.kind !== 'made') assert.fail(order.kind);
  return order;
}

const settled: OrderEvent = { kind: 'invoice', state: 'settled', paidSat: 250_000n, settledAtMs: 1 };

async function happened(parts: BookParts, id: string, event: OrderEvent): Promise<OrderRecord> {
  const outcome = await apply(parts, id, event);
  if (outcome.kind !== 'changed' && outcome.kind !== 'unchanged') assert.fail(outcome.kind);
  return outcome.order;
}

async function polled(parts: BookParts, id: string, more: Partial<PollWish> = {}): Promise<Polled> {
  const order = await findOrder(parts.store, id);
  assert.ok(order !== undefined);
  const outcome = await poll(parts, order, {
    claim: '',
    claimRequired: false,
    mayAct: true,
    aborted: () => false,
    ...more,
  });
  return outcome;
}

async function keysOf(parts: BookParts): Promise<KeyRecord[]> {
  return collect(allKeys(parts.store));
}

/** The money that was booked, in the units in which it came. */
async function ledger(parts: BookParts): Promise<string[]> {
  const entries = await parts.store.read('ledger', { after: 0, limit: 1_000 });
  return entries.map(({ value }) => {
    const { change, unit } = decodeLedger(value);
    return `${change} ${unit}`;
  });
}

test('ids are 128 random bits in base32', () => {
  assert.equal(
    newOrderId(() => Buffer.alloc(16)),
    'a'.repeat(26),
  );
  assert.equal(
    newOrderId(() => Buffer.alloc(16, 255)),
    `${'7'.repeat(25)}4`,
  );
  // RFC 4648, lower case, without padding.
  assert.equal(
    newOrderId(() => Buffer.from('foobarfoobarfoob')),
    'mzxw6ytbojtg633cmfzgm33pmi',
  );
  const many = new Set(Array.from({ length: 1_000 }, () => newOrderId(systemRandomness)));
  assert.equal(many.size, 1_000);
});

test('of 1,000 simultaneous first polls of a settled order one carries the key', async (context) => {
  const parts = await book(context);
  const { order } = await made(parts);
  await happened(parts, order.id, settled);
  const polls = await Promise.all(Array.from({ length: 1_000 }, () => polled(parts, order.id)));
  const keys = polls.flatMap(({ apiKey }) => (apiKey === null ? [] : [apiKey]));
  assert.equal(keys.length, 1);
  assert.equal(polls.filter(({ keyStatus }) => keyStatus === 'revealed_now').length, 1);
  assert.equal(polls.filter(({ keyStatus }) => keyStatus === 'already_revealed').length, 999);
  const [key] = await keysOf(parts);
  assert.deepEqual(native.hashKey(keys[0] ?? ''), Buffer.from(key?.hash ?? []));
  assert.deepEqual([key?.tier, key?.origin, key?.status], ['growth', order.id, 'active']);
  const after = await findOrderAt(parts.store, 'lightning', order.place);
  assert.equal(after?.seed, null, 'nobody can derive it again');
});

test('1,000 simultaneous settlements: one key, one entry of the ledger', async (context) => {
  const parts = await book(context);
  const { order } = await made(parts);
  const outcomes = await Promise.all(Array.from({ length: 1_000 }, () => apply(parts, order.id, settled)));
  assert.equal(outcomes.filter(({ kind }) => kind === 'changed').length, 1);
  assert.equal((await keysOf(parts)).length, 1);
  assert.deepEqual(await ledger(parts), ['250000 sat']);
});

test('an event takes effect only once, by its id', async (context) => {
  const parts = await book(context);
  const { order } = await made(parts, byCard);
  const seen = {
    kind: 'insert',
    space: 'orderEvents',
    key: Buffer.from('evt_1'),
    value: Buffer.of(1),
  } as const;
  const effect = () => [seen];
  const paid: OrderEvent = { kind: 'card paid', cents: 3_300n };
  assert.equal((await apply(parts, order.id, paid, effect)).kind, 'changed');
  assert.equal(
    (await apply(parts, order.id, { kind: 'card refunded', totalCents: 1n }, effect)).kind,
    'refused',
  );
  assert.deepEqual(await ledger(parts), ['3300 cent']);
});

describe('the claim token', () => {
  test('is needed once it has been shown: the payment hash alone reveals nothing then', async (context) => {
    const parts = await book(context);
    const { order, claimToken } = await made(parts);
    assert.equal((await polled(parts, order.id, { claim: claimToken })).keyStatus, 'none');
    await happened(parts, order.id, settled);
    assert.deepEqual(await shown(parts, order.id, { claim: '' }), [null, 'claim_required']);
    assert.deepEqual(await shown(parts, order.id, { claim: 'ct_another' }), [null, 'claim_required']);
    const right = await polled(parts, order.id, { claim: claimToken });
    assert.equal(right.keyStatus, 'revealed_now');
    assert.deepEqual(await shown(parts, order.id, { claim: claimToken }), [null, 'already_revealed']);
  });

  test('may be required for every order', async (context) => {
    const parts = await book(context);
    const { order, claimToken } = await made(parts);
    await happened(parts, order.id, settled);
    assert.deepEqual(await shown(parts, order.id, { claimRequired: true }), [null, 'claim_required']);
    const right = await polled(parts, order.id, { claimRequired: true, claim: claimToken });
    assert.notEqual(right.apiKey, null);
  });

  test('is needed some time after the payment, and not before', async (context) => {
    const clock = new SetClock();
    const parts = { ...(await book(context)), clock };
    const [early, late] = [await made(parts), await made(parts)];
    for (const { order } of [early, late]) await happened(parts, order.id, settled);
    clock.pass(600_000);
    assert.equal((await polled(parts, early.order.id, { bareMs: 600_000 })).keyStatus, 'revealed_now');
    clock.pass(1);
    assert.deepEqual(await shown(parts, late.order.id, { bareMs: 600_000 }), [null, 'claim_required']);
    const right = await polled(parts, late.order.id, { bareMs: 600_000, claim: late.claimToken });
    assert.equal(right.keyStatus, 'revealed_now');
  });

  test('is needed no later because the clock was set back', async (context) => {
    const clock = new SetClock();
    const parts = { ...(await book(context)), clock };
    const [early, late] = [await made(parts), await made(parts)];
    for (const { order } of [early, late]) await happened(parts, order.id, settled);
    // Clocks of two machines may differ.
    clock.pass(-600_000);
    assert.equal((await polled(parts, early.order.id, { bareMs: 600_000 })).keyStatus, 'revealed_now');
    clock.pass(-1);
    assert.deepEqual(await shown(parts, late.order.id, { bareMs: 600_000 }), [null, 'claim_required']);
  });

  test('is needed from the beginning if the order was made that way', async (context) => {
    const parts = await book(context);
    const { order, claimToken } = await made(parts, overLightning, { claimed: true });
    await happened(parts, order.id, settled);
    assert.deepEqual(await shown(parts, order.id, {}), [null, 'claim_required']);
    assert.equal((await polled(parts, order.id, { claim: claimToken })).keyStatus, 'revealed_now');
  });

  test('of the wrong form neither reveals a key nor claims an order', async (context) => {
    const parts = await book(context);
    const { order } = await made(parts);
    await happened(parts, order.id, settled);
    assert.deepEqual(await shown(parts, order.id, { claim: 'x'.repeat(10_000) }), [null, 'claim_required']);
    assert.notEqual((await polled(parts, order.id)).apiKey, null);
  });
});

async function shown(parts: BookParts, id: string, more: Partial<PollWish>): Promise<unknown[]> {
  const { apiKey, keyStatus } = await polled(parts, id, more);
  return [apiKey, keyStatus];
}

test('a poll that may not act changes nothing', async (context) => {
  const parts = await book(context);
  const { order, claimToken } = await made(parts);
  await happened(parts, order.id, settled);
  assert.deepEqual(await shown(parts, order.id, { mayAct: false, claim: claimToken }), [null, 'none']);
  const after = await findOrder(parts.store, order.id);
  assert.deepEqual([after?.claimed, after?.revealedAtMs], [false, null]);
});

test('a key that the operator revoked is not handed out, and no event brings it back', async (context) => {
  const parts = await book(context);
  const { order } = await made(parts, byCard);
  const { keyId } = await happened(parts, order.id, { kind: 'card paid', cents: 3_300n });
  await revokeKey(parts, keyId ?? '', 'misuse');
  assert.deepEqual(await shown(parts, order.id, {}), [null, 'revoked']);
  await happened(parts, order.id, { kind: 'card disputed' });
  await happened(parts, order.id, { kind: 'card dispute won' });
  const key = await findKeyById(parts.store, keyId ?? '');
  assert.deepEqual([key?.status, key?.reason], ['revoked', 'misuse']);
});

test('a key that the operator revoked after it was handed out is shown as revoked', async (context) => {
  const parts = await book(context);
  const { order } = await made(parts);
  const { keyId } = await happened(parts, order.id, settled);
  assert.equal((await polled(parts, order.id)).keyStatus, 'revealed_now');
  assert.deepEqual(await shown(parts, order.id, {}), [null, 'already_revealed']);
  await revokeKey(parts, keyId ?? '', 'misuse');
  assert.deepEqual(await shown(parts, order.id, {}), [null, 'revoked']);
});

test('a key follows its order through disputes and refunds, and the ledger balances', async (context) => {
  const parts = await book(context);
  const { order } = await made(parts, byCard);
  const { keyId } = await happened(parts, order.id, { kind: 'card paid', cents: 3_300n });
  const status = async (): Promise<string | undefined> =>
    (await findKeyById(parts.store, keyId ?? ''))?.status;
  await happened(parts, order.id, { kind: 'card disputed' });
  assert.equal(await status(), 'suspended');
  assert.deepEqual(await shown(parts, order.id, {}), [null, 'suspended']);
  await happened(parts, order.id, { kind: 'card dispute won' });
  assert.equal(await status(), 'active');
  await happened(parts, order.id, { kind: 'card refunded', totalCents: 1_000n });
  assert.equal(await status(), 'active');
  await happened(parts, order.id, { kind: 'card refunded', totalCents: 3_300n });
  assert.equal(await status(), 'revoked');
  assert.deepEqual(await shown(parts, order.id, {}), [null, 'revoked']);
  assert.deepEqual(await ledger(parts), ['3300 cent', '-1000 cent', '-2300 cent']);
});

test('a lost key is made anew for a buyer who shows the claim token', async (context) => {
  const parts = await book(context);
  const { order, claimToken } = await made(parts);
  const reissue = (claim: string) => reissueOrderKey(parts, order.id, claim);
  assert.equal((await reissue(claimToken)).kind, 'without key');
  await happened(parts, order.id, settled);
  const { apiKey: lost } = await polled(parts, order.id);
  assert.equal((await reissue('ct_another')).kind, 'absent');
  assert.equal((await reissueOrderKey(parts, 'nobodys', claimToken)).kind, 'absent');
  const again = await reissue(claimToken);
  if (again.kind !== 'reissued') assert.fail(again.kind);
  assert.notEqual(again.rawKey, lost);
  const keys = await keysOf(parts);
  const states = new Map(keys.map(({ hash, status }) => [Buffer.from(hash).toString('hex'), status]));
  const hashOf = (raw: string | null): string => native.hashKey(raw ?? '')?.toString('hex') ?? '';
  assert.deepEqual(
    [states.get(hashOf(lost)), states.get(hashOf(again.rawKey)), keys.length],
    ['revoked', 'active', 2],
  );
  assert.equal(
    new Set(keys.map(({ expiresAtMs }) => expiresAtMs)).size,
    1,
    'it ends when the lost one would',
  );
  assert.deepEqual(await shown(parts, order.id, { claim: claimToken }), [null, 'already_revealed']);
  assert.equal((await findOrder(parts.store, order.id))?.seed, null);
  const byKey = await reissueKey({ ...parts, secret: secrets[0], format: native }, again.key.id);
  assert.deepEqual(byKey, { kind: 'sold', orderId: order.id }, 'a key is not cut loose from its payment');
  // What happens to the order happens to the key that is in use.
  const third = await reissue(claimToken);
  assert.equal(third.kind, 'reissued');
  assert.equal((await keysOf(parts)).filter(({ status }) => status === 'active').length, 1);
  // The operator may answer for it himself: that is recorded with the key that ends.
  const forced = await reissueOrderKey(parts, order.id, null);
  if (forced.kind !== 'reissued') assert.fail(forced.kind);
  const reasons = (await keysOf(parts)).map(({ reason }) => reason);
  assert.ok(reasons.includes(`replaced by ${forced.key.id}, without a claim token`));
  assert.equal((await keysOf(parts)).filter(({ status }) => status === 'active').length, 1);
});

test('a key made anew is handed out although the answer of the store was lost', async (context) => {
  const parts = await book(context);
  const { order, claimToken } = await made(parts);
  await happened(parts, order.id, settled);
  const failing = new FailingStore(parts.store);
  failing.failReads = false;
  failing.failure = 'written';
  const sleep = (): Promise<void> => {
    failing.failure = undefined;
    return Promise.resolve();
  };
  const clock = { ...parts.clock, sleep };
  const again = await reissueOrderKey({ ...parts, store: failing.seen, clock }, order.id, claimToken);
  if (again.kind !== 'reissued') assert.fail(again.kind);
  const keys = await keysOf(parts);
  const inUse = keys.filter(({ status }) => status === 'active');
  assert.deepEqual(inUse, [again.key]);
  assert.deepEqual(again.key.hash, native.hashKey(again.rawKey));
});

test('a key is left for the next poll if the client leaves while the store is away', async (context) => {
  const parts = await book(context);
  const { order } = await made(parts);
  await happened(parts, order.id, settled);
  const failing = new FailingStore(parts.store);
  failing.failReads = false;
  failing.failure = 'not written';
  const asked = { claim: '', claimRequired: false, mayAct: true };
  const find = (id: string) => findOrder(parts.store, id);
  const rail = { refresh: (found: OrderRecord) => Promise.resolve(found) };
  const view = (seen: Polled): Polled => seen;
  const away = { parts: { ...parts, store: failing.seen }, rail, view, find, demanded: asked };
  const aborted = (): boolean => failing.commits === 3;
  await assert.rejects(pollOrder(away, order.id, { ...asked, aborted }), StoreUnavailable);
  assert.equal(failing.commits, 3);
  const { keyStatus } = await polled(parts, order.id);
  assert.equal(keyStatus, 'revealed_now');
});

test('a key is left for the next poll if the client leaves while its order is read', async (context) => {
  const parts = await book(context);
  const { order } = await made(parts);
  await happened(parts, order.id, settled);
  let hasGone = false;
  const reading: Store = {
    ...parts.store,
    async get(space, key) {
      hasGone = true;
      return parts.store.get(space, key);
    },
  };
  const asked = { claim: '', claimRequired: false, mayAct: true, aborted: () => hasGone };
  const { keyStatus, apiKey } = await poll({ ...parts, store: reading }, order, asked);
  assert.deepEqual([keyStatus, apiKey], ['none', null]);
  assert.equal((await polled(parts, order.id)).keyStatus, 'revealed_now');
});

test('a poll that hands out no key does not wait for the store', async (context) => {
  const parts = await book(context);
  const { order, claimToken } = await made(parts);
  const failing = new FailingStore(parts.store);
  failing.failReads = false;
  failing.failure = 'not written';
  const asked = { claim: claimToken, claimRequired: false, mayAct: true, aborted: () => false };
  await assert.rejects(poll({ ...parts, store: failing.seen }, order, asked), StoreUnavailable);
  assert.equal(failing.commits, 1);
});

test('an order is open as long as its network can change it', async (context) => {
  const parts = await book(context);
  const [first, second] = [await made(parts), await made(parts)];
  const card = await made(parts, byCard);
  const open = async (): Promise<string[]> => {
    return (await allOpen(parts.store, 'lightning')).map(({ id }) => id);
  };
  assert.deepEqual(await open(), [first.order.id, second.order.id].sort());
  await happened(parts, first.order.id, settled);
  assert.deepEqual(await open(), [second.order.id]);
  await happened(parts, second.order.id, {
    kind: 'invoice',
    state: 'canceled',
    paidSat: 0n,
    settledAtMs: null,
  });
  assert.deepEqual(await open(), []);
  assert.equal(await findOrderAt(parts.store, 'lightning', card.order.place), undefined);
});
