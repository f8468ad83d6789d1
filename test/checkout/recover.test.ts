/** Orders of a restored store: addresses, keys and payments of the time that the backup does not know. */
import { nextAddressIndex, takeIndexes } from '../../src/store/tables/addressIndexes.js';
import { poll } from '../../src/checkout/order/poll.js';
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { apply, makeOrder, newOrderId, type BookParts } from '../../src/checkout/order/book.js';
import type { CaughtUp } from '../../src/checkout/card/card.js';
import type { Chain } from '../../src/checkout/onchain/chain.js';
import { recoverCards, recoverOrders, type RecoverParts, type Recovery } from '../../src/checkout/recover.js';
import { native } from '../../src/native/addon.js';
import { findKey, type KeyRecord } from '../../src/store/tables/keys.js';
import { findOrder } from '../../src/store/tables/orders.js';
import { systemClock } from '../../src/system/clock.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { account, Shop } from '../support/shop.js';
import { memoryFolder } from '../support/run.js';
import { storeAt } from '../support/openStore.js';

const secrets = ['a-secret-of-the-tests-that-opens-nothing'] as const;

async function book(context: TestContext): Promise<BookParts> {
  const store = await storeAt(`lmdb:${memoryFolder()}/store`);
  context.after(() => store.close());
  return { store, clock: systemClock, randomness: systemRandomness, secrets, keyFormat: native };
}

/** A chain on which the addresses of some indexes were paid; it fails where `down` says so. */
function chainWith(paid: ReadonlyMap<number, bigint>, down = false): Chain {
  const sats = new Map([...paid].map(([index, sat]) => [account.address(index), sat]));
  return {
    network: () => Promise.resolve({ kind: 'answer', value: 'mainnet' }),
    lookup(address) {
      if (down) return Promise.resolve({ kind: 'failed', reason: 'it is down' });
      const sat = sats.get(address);
      const place = { txid: 'ab'.repeat(32), vout: 0, height: 98 };
      const output = { ...place, sat: sat ?? 0n, confirmations: 3, atMs: 1 };
      return Promise.resolve({ kind: 'answer', value: sat === undefined ? [] : [output] });
    },
    tip: () => Promise.resolve({ kind: 'answer', value: 100 }),
    used(addresses) {
      if (down) return Promise.resolve({ kind: 'failed', reason: 'it is down' });
      const value = new Set(addresses.filter((address) => sats.has(address)));
      return Promise.resolve({ kind: 'answer', value });
    },
    close: () => undefined,
  };
}

async function giveOut(parts: BookParts, key: Uint8Array, next: number): Promise<void> {
  const outcome = await parts.store.commit([takeIndexes(key, { bytes: undefined, passedOver: 0 }, next)]);
  assert.equal(outcome.kind, 'done');
}

async function nextOf(parts: BookParts, key: Uint8Array): Promise<number> {
  return (await nextAddressIndex(parts.store, key)).next;
}

async function recovered(parts: BookParts, more: Partial<RecoverParts> = {}): Promise<Recovery> {
  const outcome = await recoverOrders({
    ...parts,
    chain: undefined,
    lnd: undefined,
    madeAtMs: 0,
    progress: () => undefined,
    ...more,
  });
  return outcome;
}

test('indexes go past the stored one and the highest that the chain knows', async (context) => {
  const parts = await book(context);
  const other = Buffer.alloc(16, 7);
  await giveOut(parts, account.digest, 10);
  await giveOut(parts, other, 5);
  // Index 4 was the backup's; 60 and 900 came later. 900 is found as 60 moves the end of the search.
  const chain = chainWith(
    new Map([
      [4, 1n],
      [60, 70_000n],
      [1_050, 30_000n],
    ]),
  );
  const { lost, done, answered } = await recovered(parts, { chain: { account, chain } });
  assert.ok(answered);
  assert.deepEqual(done, ['The address index was moved on, past 1000 addresses.']);
  assert.equal(await nextOf(parts, account.digest), 2_051);
  assert.equal(await nextOf(parts, other), 1_005);
  assert.deepEqual(
    lost,
    [60, 1_050].map((index) => {
      const sat = index === 60 ? 70_000 : 30_000;
      return `${sat} sat came to ${account.address(index)}, whose order was made after the backup.`;
    }),
  );
});

test('an account that the backup does not know starts past its history', async (context) => {
  const parts = await book(context);
  await recovered(parts, { chain: { account, chain: chainWith(new Map([[3, 5n]])) } });
  assert.equal(await nextOf(parts, account.digest), 1_004);
  const first = await book(context);
  await recovered(first, { chain: { account, chain: chainWith(new Map([[0, 5n]])) } });
  assert.equal(await nextOf(first, account.digest), 1_001);
  const unused = await book(context);
  await recovered(unused, { chain: { account, chain: chainWith(new Map()) } });
  assert.equal(await nextOf(unused, account.digest), 0);
});

test('a payment to an order that the backup has is not reported as lost', async (context) => {
  const parts = await book(context);
  const order = await makeOrder(parts, {
    ...{ id: newOrderId(systemRandomness), rail: 'btc', tier: 'growth', network: 'mainnet', sat: 250_000n },
    ...{ email: null, source: null, segment: null, campaign: null, eventId: null, termDays: 30 },
    ...{ place: account.address(3), addressIndex: 3, confirmationsRequired: 2, createdHeight: null },
    lifeMs: 3_600_000,
  });
  assert.equal(order.kind, 'made');
  const chain = chainWith(
    new Map([
      [3, 5n],
      [4, 7n],
    ]),
  );
  const { lost } = await recovered(parts, { chain: { account, chain } });
  assert.deepEqual(lost, [`7 sat came to ${account.address(4)}, whose order was made after the backup.`]);
});

test('if the node stops answering, what it said is reported, and the rest as unknown', async (context) => {
  const parts = await book(context);
  const paid = new Map([
    [3, 5n],
    [4, 6n],
  ]);
  const [chain, down] = [chainWith(paid), chainWith(paid, true)];
  const stopping: Chain = {
    ...chain,
    lookup: (address) => (address === account.address(3) ? chain : down).lookup(address),
  };
  const { lost, answered } = await recovered(parts, { chain: { account, chain: stopping } });
  assert.equal(answered, false);
  assert.deepEqual(lost, [
    `5 sat came to ${account.address(3)}, whose order was made after the backup.`,
    'Payments to addresses of lost orders could not be looked for: it is down.',
  ]);
  assert.equal(await nextOf(parts, account.digest), 1_005);
});

test('if the node does not answer, the stored index is moved, and this is reported', async (context) => {
  const parts = await book(context);
  await giveOut(parts, account.digest, 10);
  const down = { chain: { account, chain: chainWith(new Map(), true) } };
  const { lost, answered } = await recovered(parts, down);
  assert.deepEqual([await nextOf(parts, account.digest), answered], [1_010, false]);
  assert.deepEqual(lost, ['Payments to addresses of lost orders could not be looked for: it is down.']);
});

test('an account whose node is not configured is moved, and keeps its count', async (context) => {
  const parts = await book(context);
  const known = takeIndexes(account.digest, { bytes: undefined, passedOver: 3 }, 10);
  assert.equal((await parts.store.commit([known])).kind, 'done');
  assert.deepEqual((await recovered(parts)).lost, []);
  const { next, passedOver } = await nextAddressIndex(parts.store, account.digest);
  assert.deepEqual([next, passedOver], [1_010, 3]);
});

test('an account that only the chain knows starts with no addresses skipped', async (context) => {
  const parts = await book(context);
  await recovered(parts, { chain: { account, chain: chainWith(new Map([[3, 5n]])) } });
  const { passedOver, bytes } = await nextAddressIndex(parts.store, account.digest);
  assert.deepEqual([passedOver, bytes?.byteLength], [0, 4]);
});

test('an account without later payments is moved past what may have been shown', async (context) => {
  const parts = await book(context);
  await giveOut(parts, account.digest, 10);
  await recovered(parts, { chain: { account, chain: chainWith(new Map([[4, 5n]])) } });
  assert.equal(await nextOf(parts, account.digest), 1_010);
});

test('an unknown account is not started if its node does not answer', async (context) => {
  const parts = await book(context);
  const { done } = await recovered(parts, { chain: { account, chain: chainWith(new Map(), true) } });
  assert.deepEqual(done, []);
  assert.equal((await nextAddressIndex(parts.store, account.digest)).bytes, undefined);
});

test('a payment that its block lost again is no lost payment; its address stays used', async (context) => {
  const parts = await book(context);
  const chain = chainWith(new Map([[3, 5n]]));
  const gone: Chain = { ...chain, lookup: () => Promise.resolve({ kind: 'answer', value: [] }) };
  assert.deepEqual((await recovered(parts, { chain: { account, chain: gone } })).lost, []);
  assert.equal(await nextOf(parts, account.digest), 1_004);
});

test('indexes are not moved while another process uses the store', async () => {
  const shop = await Shop.open();
  shop.beforeCommits.push(() => giveOut(shop.aside, account.digest, 7));
  const chain = { account, chain: chainWith(new Map([[3, 5n]])) };
  await assert.rejects(recovered(shop.book, { chain }), /^Error: Another process uses the store/);
  assert.equal(await nextOf(shop.aside, account.digest), 7);
});

async function keyOf(parts: BookParts, raw: string | null): Promise<KeyRecord['status'] | undefined> {
  const hash = native.hashKey(raw ?? '');
  assert.ok(hash !== null);
  return (await findKey(parts.store, hash))?.status;
}

test('a key that may have been handed out since the backup is replaced; others stay', async (context) => {
  const parts = await book(context);
  const make = async (): Promise<string> => {
    const id = newOrderId(systemRandomness);
    const order = await makeOrder(parts, {
      ...{ id, rail: 'lightning', tier: 'growth', network: 'regtest', sat: 250_000n, termDays: 30 },
      ...{ email: null, source: null, segment: null, campaign: null, eventId: null },
      ...{ place: `place of ${id}`, bolt11: 'lnbcrt1', lifeMs: 900_000 },
    });
    assert.equal(order.kind, 'made');
    return id;
  };
  const pay = async (id: string): Promise<void> => {
    const outcome = await apply(parts, id, {
      kind: 'invoice',
      state: 'settled',
      paidSat: 250_000n,
      settledAtMs: 1,
    });
    assert.equal(outcome.kind, 'changed');
  };
  const reveal = async (id: string): Promise<string | null> => {
    const order = await findOrder(parts.store, id);
    assert.ok(order !== undefined);
    const asked = { claim: '', claimRequired: false, mayAct: true, aborted: () => false };
    return (await poll(parts, order, asked)).apiKey;
  };
  const [revealed, paid, unpaid] = [await make(), await make(), await make()];
  await pay(revealed);
  const kept = await reveal(revealed);
  await pay(paid);
  const before = await findOrder(parts.store, paid);
  const { keys, done } = await recovered(parts);
  assert.deepEqual([keys, done], [2, ['2 orders will give out another key than before.']]);
  assert.equal(await keyOf(parts, kept), 'active');
  const after = await findOrder(parts.store, paid);
  assert.notEqual(after?.keyId, before?.keyId);
  assert.equal(after?.keyGeneration, 1);
  const handedOut = await reveal(paid);
  assert.equal(await keyOf(parts, handedOut), 'active');
  assert.deepEqual((await recovered(parts)).done, ['1 order will give out another key than before.']);
  await pay(unpaid);
  assert.equal(await keyOf(parts, await reveal(unpaid)), 'active');
});

test('events of cards that the backup may lack are applied; what is missing is named', async () => {
  const [hour, day] = [3_600_000, 86_400_000];
  const madeAtMs = Date.UTC(2026, 10, 1);
  const asked: number[] = [];
  let mismatches: CaughtUp['mismatches'] = [];
  const told = (outcome: { changed: number } | { wrong: string }, nowMs = madeAtMs + day) => {
    const catchUp = (fromMs: number): Promise<CaughtUp> => {
      asked.push(fromMs);
      return Promise.resolve({ ...outcome, mismatches });
    };
    return recoverCards({ catchUp }, madeAtMs, nowMs);
  };
  assert.deepEqual(await recoverCards(undefined, madeAtMs, madeAtMs), { done: [], lost: [], answered: true });
  assert.deepEqual(await told({ changed: 0 }), { done: [], lost: [], answered: true });
  // Stripe sends an event again for three days.
  const fromMs = madeAtMs - 3 * day - hour;
  const one = ['card: 1 event applied that the backup lacked.'];
  assert.deepEqual(await told({ changed: 1 }, fromMs + 30 * day), { done: one, lost: [], answered: true });
  const old = await told({ changed: 1 }, fromMs + 30 * day + 1);
  assert.deepEqual(old.done, one);
  assert.match(old.lost.join(), /keeps events for 30 days: compare payments since 2026-10-28T23:00:00.000Z/);
  const failed = await told({ wrong: 'it is down' });
  assert.deepEqual([failed.done, failed.answered], [[], false]);
  assert.match(failed.lost.join(), /\(it is down\)\. Send its events since 2026-10-28T23:00:00.000Z again/);
  mismatches = [
    { kind: 'mismatch', about: 'cs_1', reason: 'It paid 500 cents of 3300.' },
    { kind: 'mismatch', about: 'cs_2', reason: 'It was paid in eur, not in usd.' },
  ];
  const keyless = [
    'card: cs_1 gave no key. It paid 500 cents of 3300.',
    'card: cs_2 gave no key. It was paid in eur, not in usd.',
  ];
  assert.deepEqual(await told({ changed: 1 }), { done: one, lost: keyless, answered: true });
  const late = await told({ changed: 1 }, fromMs + 30 * day + 1);
  assert.deepEqual(late.lost, [...keyless, ...old.lost]);
  const cut = await told({ wrong: 'it is down' });
  assert.deepEqual(cut.lost, [...keyless, ...failed.lost]);
  assert.deepEqual(new Set(asked), new Set([fromMs]));
});
