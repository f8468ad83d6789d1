/** Events, webhooks, the card processor's events and the operators' history in the store. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nextAddressIndex, takeIndexes } from '../../src/store/tables/addressIndexes.js';
import {
  allCardEvents,
  beginDispute,
  bindIntent,
  endDispute,
  findCardEvent,
  findOrderOfIntent,
  heldEvents,
  holdEvent,
  putCardEvent,
  lastEventMs,
  putLastEvent,
  releaseHeld,
} from '../../src/store/tables/cardEvents.js';
import {
  announceEnd,
  appendEvent,
  decodeEvent,
  isEndAnnounced,
  removeOldEvents,
  removeOldNotices,
} from '../../src/store/tables/events.js';
import { beginEntry, historyAfter } from '../../src/store/tables/history.js';
import { insertOrder } from '../../src/store/tables/orders.js';
import {
  addWebhook,
  allWebhooks,
  findWebhook,
  movePlace,
  placeOf,
  removeWebhook,
  settleDelivery,
  stopWebhook,
  waitingDeliveries,
  type Delivery,
  type Webhook,
} from '../../src/store/tables/webhooks.js';
import { acquireLease } from '../../src/store/leases.js';
import type { Fence, Operation, Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { collect } from '../support/collect.js';
import { openTestStore } from '../support/serving.js';
import { Shop } from '../support/shop.js';
import { bytes, commit } from './subject.js';

/** How a unit ended. */
async function kindOf(store: Store, ...operations: readonly Operation[]): Promise<string> {
  return (await commit(store, ...operations)).kind;
}

/** The keys of a space, as text. */
async function keysOf(store: Store, space: 'cardMarks' | 'heldCardEvents' | 'webhookDeliveries') {
  return (await store.scan(space, { limit: 9 })).map(({ key }) => Buffer.from(key).toString());
}

describe('events', () => {
  test('older than a time are removed, to the millisecond, and counted', async () => {
    const store = await openTestStore();
    for (const atMs of [1, 2, 3]) {
      await commit(store, appendEvent({ type: 'order.paid', object: `o${atMs}`, atMs }));
    }
    assert.equal(await removeOldEvents(store, 3, 9), 2);
    assert.equal(await removeOldEvents(store, 3, 9), 0);
    const left = await store.read('events', { after: 0, limit: 9 });
    assert.deepEqual(
      left.map(({ value }) => decodeEvent(value)),
      [{ type: 'order.paid', object: 'o3', atMs: 3 }],
    );
  });

  test('announce each end of a key once', async () => {
    const store = await openTestStore();
    assert.equal(await isEndAnnounced(store, 'key_1', 500), false);
    assert.equal(await kindOf(store, ...announceEnd('key_1', 500, 7.9)), 'done');
    assert.equal(await kindOf(store, ...announceEnd('key_1', 500, 8)), 'conflict');
    assert.equal(await isEndAnnounced(store, 'key_1', 500), true);
    assert.deepEqual(
      [await isEndAnnounced(store, 'key_1', 501), await isEndAnnounced(store, 'key_2', 500)],
      [false, false],
    );
    assert.equal(await kindOf(store, ...announceEnd('key_1', 900, 9)), 'done', 'it was prolonged');
    const events = (await store.read('events', { after: 0, limit: 9 })).map(({ value }) =>
      decodeEvent(value),
    );
    assert.deepEqual(
      events.map(({ type, object, atMs }) => [type, object, atMs]),
      [
        ['key.expiring', 'key_1', 7],
        ['key.expiring', 'key_1', 9],
      ],
    );
    const [note] = await store.scan('keyNotices', { limit: 1 });
    assert.deepEqual(
      [Buffer.from(note?.key ?? []), Buffer.from(note?.value ?? [])],
      [Buffer.concat([Buffer.from('00000000000001f4', 'hex'), bytes('key_1')]), Buffer.of(1)],
      'as every version noted it',
    );
  });

  test('announcements are removed once the ends are over, and counted', async () => {
    const store = await openTestStore();
    for (const endMs of [0, 500.5, 600, 700]) await commit(store, ...announceEnd('key_1', endMs, 1));
    assert.equal(await removeOldNotices(store, -5), 0);
    assert.equal(await removeOldNotices(store, 1), 1);
    assert.equal(await removeOldNotices(store, 500.9), 0);
    assert.equal(await removeOldNotices(store, 501), 1);
    assert.equal(await removeOldNotices(store, 601), 1);
    assert.equal(await isEndAnnounced(store, 'key_1', 700), true);
    const many = Array.from({ length: 1_001 }, (_, at) => at);
    await Promise.all(many.map((at) => commit(store, ...announceEnd(`key_${at}`, 1, 1))));
    assert.equal(await removeOldNotices(store, 2), 1_000, 'the rest with the next call');
    assert.equal(await removeOldNotices(store, 2), 1);
  });
});

describe('events of cards', () => {
  const event = (id: string) => ({
    ...{ id, type: 't', about: 'cs_1', result: 'ignored', reason: null, atMs: 3 },
  });

  test('are recorded once, found by their ids and listed in their order', async () => {
    const store = await openTestStore();
    assert.equal(await kindOf(store, putCardEvent(event('evt_2'))), 'done');
    assert.equal(await kindOf(store, putCardEvent(event('evt_1'))), 'done');
    assert.equal(await kindOf(store, putCardEvent({ ...event('evt_1'), result: 'x' })), 'conflict');
    const later = { ...event('evt_1'), result: 'y' };
    assert.equal(await kindOf(store, putCardEvent(later, { ...event('evt_1'), result: 'x' })), 'conflict');
    assert.equal(await kindOf(store, putCardEvent(later, event('evt_1'))), 'done');
    assert.equal(await kindOf(store, putCardEvent(later, event('evt_1'))), 'conflict');
    assert.equal(await kindOf(store, putCardEvent(event('evt_1'), later)), 'done');
    assert.deepEqual(await findCardEvent(store, 'evt_1'), event('evt_1'));
    assert.equal(await findCardEvent(store, 'evt_3'), undefined);
    assert.deepEqual(await collect(allCardEvents(store)), [event('evt_1'), event('evt_2')]);
  });

  test('say when the last one came', async () => {
    const store = await openTestStore();
    assert.equal(await lastEventMs(store), undefined);
    await commit(store, putLastEvent(7));
    await commit(store, putLastEvent(1_764_000_000_000));
    assert.equal(await lastEventMs(store), 1_764_000_000_000);
    const [mark] = await store.scan('cardMarks', { limit: 1 });
    assert.equal(mark?.value.byteLength, 8);
  });

  test('lead from a payment to its one order, if that is by card', async () => {
    const shop = await Shop.open();
    const { store } = shop.book;
    const { order: byCard } = await shop.make('card');
    const { order: onChain } = await shop.make('btc');
    await commit(store, ...insertOrder({ ...byCard, id: 'other', place: 'cs_other' }));
    assert.equal(await kindOf(store, bindIntent('pi_1', byCard.id)), 'done');
    assert.equal(await kindOf(store, bindIntent('pi_1', 'other')), 'conflict');
    await commit(store, bindIntent('pi_2', onChain.id), bindIntent('pi_3', 'gone'));
    const found = async (intent: string) => (await findOrderOfIntent(store, intent))?.id;
    assert.deepEqual(
      [await found('pi_1'), await found('pi_2'), await found('pi_3'), await found('pi_4')],
      [byCard.id, undefined, undefined, undefined],
    );
  });

  test('of a dispute that ended do not begin it again', async () => {
    const store = await openTestStore();
    assert.equal(await kindOf(store, beginDispute('dp_1')), 'done');
    assert.equal(await kindOf(store, beginDispute('dp_1')), 'conflict');
    assert.equal(await kindOf(store, endDispute('dp_1')), 'done');
    assert.equal(await kindOf(store, endDispute('dp_1')), 'done');
    assert.equal(await kindOf(store, endDispute('dp_2')), 'done', 'its end came first');
    assert.equal(await kindOf(store, beginDispute('dp_2')), 'conflict');
    await commit(store, bindIntent('dp_3', 'order'), beginDispute('dp_3'), putLastEvent(1));
    const marks = await store.scan('cardMarks', { limit: 9 });
    assert.deepEqual(
      marks.map(({ key, value }) => [Buffer.from(key).toString(), Buffer.from(value).toString('latin1')]),
      [
        ['card', '\0\0\0\0\0\0\0\u0001'],
        ['dispute:dp_1', 'ended'],
        ['dispute:dp_2', 'ended'],
        ['dispute:dp_3', 'open'],
        ['intent:dp_3', 'order'],
      ],
      'as every version marked them',
    );
  });

  test('that came before their order are held by payment, and released once', async () => {
    const store = await openTestStore();
    assert.equal(await kindOf(store, holdEvent('pi_1', 'evt_2', '2')), 'done');
    await commit(store, holdEvent('pi_1', 'evt_1', '1'), holdEvent('pi_10', 'evt_3', '3'));
    assert.equal(await kindOf(store, holdEvent('pi_1', 'evt_1', 'again')), 'conflict');
    const held = await heldEvents(store, 'pi_1');
    assert.deepEqual(
      held.map(({ json }) => json),
      ['1', '2'],
    );
    const [first] = held;
    assert.ok(first !== undefined);
    assert.equal(await kindOf(store, releaseHeld(first)), 'done');
    assert.equal(await kindOf(store, releaseHeld(first)), 'conflict');
    assert.deepEqual(await keysOf(store, 'heldCardEvents'), ['pi_10:evt_3', 'pi_1:evt_2']);
  });
});

describe('webhooks', () => {
  const webhook = (id: string): Webhook => ({
    ...{ id, url: 'https://a.example', types: ['order.paid', 'lead.received'], status: 'active' },
    ...{ reason: null, createdAtMs: 1, secretId: 's' },
  });
  const delivery = (position: number, log: Delivery['log'] = 'events'): Delivery => ({
    ...{ log, position, object: 'o', attempts: 1, nextAtMs: 5 },
  });
  const start = { events: 0, leads: 0, interests: 0 };

  /** A store with one webhook, and the fence of who sends its events. */
  async function world(): Promise<{ store: Store; fence: Fence; lost: Fence }> {
    const store = await openTestStore();
    await addWebhook(store, webhook('wh_1'));
    const held = await acquireLease({ store, clock: systemClock }, 'webhooks', 'test', 60_000);
    assert.ok(held.kind === 'held');
    const fence = { lease: 'webhooks', token: held.lease.record.token };
    return { store, fence, lost: { ...fence, token: fence.token + 1 } };
  }

  test('are found by their ids, which have at most 64 bytes, and listed in their order', async () => {
    const { store } = await world();
    const [longest, longer] = ['é'.repeat(32), 'w'.repeat(65)] as const;
    for (const id of [longest, longer, 'a']) await addWebhook(store, webhook(id));
    assert.deepEqual(await findWebhook(store, 'wh_1'), webhook('wh_1'));
    assert.deepEqual(await findWebhook(store, 'a'), webhook('a'));
    assert.deepEqual(await findWebhook(store, longest), webhook(longest));
    for (const id of ['', longer, 'w'.repeat(1_000), 'wh_2']) {
      assert.equal(await findWebhook(store, id), undefined, id);
    }
    assert.deepEqual(
      (await allWebhooks(store)).map(({ id }) => id),
      ['a', 'wh_1', longer, longest],
    );
    await assert.rejects(addWebhook(store, webhook('a')), /^Error: A new webhook came to conflict$/);
  });

  test('start after the events that exist already', async () => {
    const { store } = await world();
    assert.deepEqual(await placeOf(store, 'wh_1'), start);
    const logs = ['events', 'leads', 'leads', 'interests', 'interests', 'interests'] as const;
    for (const log of logs) await commit(store, { kind: 'append', log, value: bytes('e') });
    await addWebhook(store, webhook('wh_2'));
    assert.deepEqual(await placeOf(store, 'wh_2'), { events: 1, leads: 2, interests: 3 });
    assert.equal(await placeOf(store, 'wh_3'), undefined);
  });

  test('move on with what failed, only from where they are and under the lease', async () => {
    const { store, fence, lost } = await world();
    const to = { ...start, events: 3 };
    const untaken = [delivery(3), delivery(1), delivery(2, 'leads'), delivery(4, 'interests')];
    const moved = { from: start, to, untaken };
    assert.equal(await movePlace(store, lost, 'wh_1', moved), false);
    assert.equal(await movePlace(store, fence, 'wh_2', moved), false, 'it was removed');
    assert.deepEqual([await placeOf(store, 'wh_1'), await waitingDeliveries(store, 'wh_1')], [start, []]);
    assert.equal(await movePlace(store, fence, 'wh_1', moved), true);
    assert.deepEqual(await placeOf(store, 'wh_1'), to);
    assert.equal(await movePlace(store, fence, 'wh_1', moved), false, 'it has moved');
    assert.deepEqual(await waitingDeliveries(store, 'wh_1'), [
      delivery(1),
      delivery(3),
      delivery(4, 'interests'),
      delivery(2, 'leads'),
    ]);
    assert.deepEqual(
      await keysOf(store, 'webhookDeliveries'),
      [
        'events/0000000000000001',
        'events/0000000000000003',
        'interests/0000000000000004',
        'leads/0000000000000002',
      ].map((rest) => `wh_1/${rest}`),
      'the keys that every version gave them',
    );
  });

  test('settle a delivery that waits, only as it is and under the lease', async () => {
    const { store, fence, lost } = await world();
    const untaken = [delivery(1), delivery(2)];
    await movePlace(store, fence, 'wh_1', { from: start, to: start, untaken });
    const later = { ...delivery(1), attempts: 2, nextAtMs: 9 };
    assert.equal(await settleDelivery(store, lost, 'wh_1', delivery(1), later), false);
    assert.equal(await settleDelivery(store, fence, 'wh_1', delivery(1), later), true);
    assert.equal(await settleDelivery(store, fence, 'wh_1', delivery(1), undefined), false, 'it changed');
    assert.deepEqual(await waitingDeliveries(store, 'wh_1'), [later, delivery(2)]);
    assert.equal(await settleDelivery(store, fence, 'wh_1', later, undefined), true);
    assert.deepEqual(await waitingDeliveries(store, 'wh_1'), [delivery(2)]);
  });

  test('stop for a reason, only as they are and under the lease', async () => {
    const { store, fence, lost } = await world();
    assert.equal(await stopWebhook(store, lost, webhook('wh_1'), 'gone'), false);
    assert.equal(await stopWebhook(store, fence, webhook('wh_1'), 'gone'), true);
    const stopped = { ...webhook('wh_1'), status: 'stopped', reason: 'gone' };
    assert.deepEqual(await findWebhook(store, 'wh_1'), stopped);
    assert.equal(await stopWebhook(store, fence, webhook('wh_1'), 'again'), false);
    assert.equal(await stopWebhook(store, fence, webhook('wh_2'), 'again'), false);
  });

  test('are removed with all that waits for them, and that of others stays', async () => {
    const { store, fence } = await world();
    await addWebhook(store, webhook('wh_10'));
    for (const id of ['wh_1', 'wh_10']) {
      await movePlace(store, fence, id, { from: start, to: start, untaken: [delivery(1), delivery(2)] });
    }
    assert.equal(await removeWebhook(store, 'wh_2'), false);
    assert.equal(await removeWebhook(store, 'wh_1'), true);
    assert.equal(await removeWebhook(store, 'wh_1'), false);
    assert.deepEqual(
      [await findWebhook(store, 'wh_1'), await placeOf(store, 'wh_1')],
      [undefined, undefined],
    );
    assert.deepEqual(
      await keysOf(store, 'webhookDeliveries'),
      [1, 2].map((position) => `wh_10/events/000000000000000${position}`),
    );
    const other = { ...start, events: 1 };
    assert.equal(
      await movePlace(store, fence, 'wh_1', { from: start, to: other, untaken: [] }),
      false,
      'who still sends to it writes nothing',
    );
  });

  test('are removed once, even if several remove them at once', async () => {
    const { store } = await world();
    const removed = await Promise.all([1, 2, 3].map(() => removeWebhook(store, 'wh_1')));
    assert.deepEqual(removed.filter(Boolean), [true]);
  });

  test('are removed even if their place moves in the meantime', async () => {
    const { store, fence } = await world();
    let commits = 0;
    const late: Store = {
      ...store,
      get: (space, key) => store.get(space, key),
      scan: (space, range) => store.scan(space, range),
      commit: async (operations) => {
        commits += 1;
        if (commits === 1) {
          await movePlace(store, fence, 'wh_1', { from: start, to: start, untaken: [delivery(1)] });
          await movePlace(store, fence, 'wh_1', { from: start, to: { ...start, leads: 1 }, untaken: [] });
        }
        return store.commit(operations);
      },
    };
    assert.equal(await removeWebhook(late, 'wh_1'), true);
    assert.equal(commits, 2);
    assert.deepEqual(await keysOf(store, 'webhookDeliveries'), []);
  });
});

describe('the history', () => {
  const given = { command: 'keys revoke', object: 'key_1', user: 'ada', host: 'web1', atMs: 1 };

  test('has an entry from before a command changes anything, and then how it ended', async () => {
    const store = await openTestStore();
    const first = await beginEntry(store, given);
    await beginEntry(store, { ...given, object: null });
    const entries = async (after = 0) => await collect(historyAfter(store, after));
    const second = { position: 2, value: { ...given, object: null, outcome: 'begun' } };
    assert.deepEqual(await entries(), [{ position: 1, value: { ...given, outcome: 'begun' } }, second]);
    await first.end('done', 'key_2');
    const ended = { position: 1, value: { ...given, object: 'key_2', outcome: 'done' } };
    assert.deepEqual(await entries(), [ended, second]);
    await first.end('failed', null);
    assert.deepEqual(await entries(), [ended, second], 'an entry ends once');
    assert.deepEqual(await entries(1), [second]);
    await (await beginEntry(store, given)).end('failed', null);
    assert.deepEqual(await entries(2), [
      { position: 3, value: { ...given, object: null, outcome: 'failed' } },
    ]);
  });
});

test('addresses are taken from one counter for each account, by one process at a time', async () => {
  const store = await openTestStore();
  const [account, other] = [bytes('xpub 1'), bytes('xpub 2')];
  const fresh = await nextAddressIndex(store, account);
  assert.deepEqual(fresh, { next: 0, passedOver: 0, bytes: undefined });
  assert.equal(await kindOf(store, takeIndexes(account, fresh, 3)), 'done');
  assert.equal(await kindOf(store, takeIndexes(account, fresh, 4)), 'conflict');
  const found = await nextAddressIndex(store, account);
  assert.deepEqual([found.next, found.passedOver, found.bytes?.byteLength], [3, 0, 4]);
  assert.equal(await kindOf(store, takeIndexes(account, { ...found, passedOver: 1 }, 65_536)), 'done');
  const later = await nextAddressIndex(store, account);
  assert.deepEqual([later.next, later.passedOver], [65_536, 1]);
  assert.equal(Buffer.from(later.bytes ?? []).toString('hex'), '0001000000000001');
  assert.equal((await nextAddressIndex(store, other)).next, 0);
});
