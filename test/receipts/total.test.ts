/** The disk space of all fragments, and what happens once it reaches its limit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followTotal } from '../../src/receipts/total.js';
import type { DreamResponse } from '../../src/contract/dream.js';
import type { HarvestResponse } from '../../src/contract/harvest.js';
import { StoreUnavailable } from '../../src/store/store.js';
import {
  addBytes,
  bindingBytes,
  countFragments,
  encodeTotal,
  fragmentBytes,
} from '../../src/store/tables/fragments.js';
import { HandClock } from '../support/handClock.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { startDoor } from '../support/door.js';

test('fragments are counted once each, and none is stored beyond the limit', async () => {
  const store = await openTestStore();
  const lines: string[] = [];
  const say = (_: unknown, text: string): number => lines.push(text);
  const total = followTotal({
    store,
    mostBytes: 10_000,
    clock: { every: () => ({ stop: () => undefined }) },
    log: { warn: say, info: say },
  });
  const door = await startDoor({ store, room: total });
  const send = (count: number) =>
    door.post<DreamResponse>('/dream', {
      ...{ title: `title ${count}`, content: 'c'.repeat(1_000), idempotency_key: `key ${count}` },
    });
  assert.equal(await fragmentBytes(store), 0);
  const receipts: string[] = [];
  for (let count = 0; count < 5; count += 1) receipts.push((await send(count)).body.receipt);
  assert.equal(await countFragments(store, 2), 2);
  const two = await fragmentBytes(store);
  assert.equal(await countFragments(store), 3);
  assert.equal(await countFragments(store), 0, 'nothing new');
  const five = await fragmentBytes(store);
  assert.ok(five > 2 * two && five > 10_000, `${two} and ${five} bytes`);
  await total.look();
  const refused = await door.post<{ code: string; detail: string }>('/dream', { title: 'b', content: 'b' });
  assert.deepEqual([refused.status, refused.body.code], [503, 'storage_reserved']);
  assert.match(refused.body.detail, /DOOR_MAX_GB/);
  assert.equal(refused.headers.get('retry-after'), '3600');
  assert.equal((await door.get(`/receipt/${receipts[0] ?? ''}`)).status, 200);
  // What is stored answers as before: by its key, and by its content.
  const again = { content: 'c'.repeat(1_000), title: 'title 1' };
  for (const key of ['key 1', undefined]) {
    const { status, body } = await door.post<DreamResponse>('/dream', { ...again, idempotency_key: key });
    assert.deepEqual([status, body.status, body.receipt], [200, 'duplicate', receipts[1]]);
  }
  // A new key could not be bound to it: it would be free for another content later.
  for (const each of [again, { title: 'b', content: 'b' }]) {
    assert.equal((await door.post('/dream', { ...each, idempotency_key: 'another key' })).status, 503);
  }
  const shards = [
    { ...again, title: 'title 2' },
    { title: 'new', content: 'new' },
  ];
  const text = shards.map((each) => `<<SHARD>>${JSON.stringify(each)}<</SHARD>>`).join(' ');
  const harvested = await door.post<HarvestResponse>('/harvest', { text });
  const told = harvested.body.results.map(({ ok, status, error }) => [ok, status, error]);
  assert.deepEqual(told[0], [true, 'duplicate', undefined]);
  assert.match(String(told[1]?.[2]), /DOOR_MAX_GB/);
  assert.equal(lines.length, 1);
});

test('keys that are bound to an earlier fragment count once each, also after an outage', async () => {
  const opened = await openTestStore();
  const store = new FailingStore(opened);
  const log = { warn: () => undefined, info: () => undefined };
  const clock = { every: () => ({ stop: () => undefined }) };
  const total = followTotal({ store: store.seen, mostBytes: 700_000, clock, log });
  const door = await startDoor({ store: opened, room: total });
  const send = (key?: string) =>
    door.post<DreamResponse>('/dream', { title: 'a', content: 'b', idempotency_key: key });
  await send('first');
  await countFragments(opened);
  const before = await fragmentBytes(opened);
  for (const key of ['second', 'second', 'third', undefined]) {
    assert.equal((await send(key)).body.status, 'duplicate');
  }
  store.failure = 'not written';
  await total.look();
  store.failure = undefined;
  const other = async (): Promise<void> => {
    while (!(await addBytes(opened, 1_000)));
  };
  await Promise.all([total.look(), other()]);
  await total.look();
  await total.look();
  assert.equal(await fragmentBytes(opened), before + 1_000 + 2 * bindingBytes);
  total.countBinding();
  await total.look();
  assert.equal(await fragmentBytes(opened), before + 1_000 + 3 * bindingBytes, 'a single one counts, too');
  // So many of them are the limit, too.
  for (let bound = 0; bound < 3_200; bound += 1) total.countBinding();
  await total.look();
  await total.look();
  assert.equal(total.isFull(), true);
});

test('the total is read at once and every five seconds, and each change is reported once', async () => {
  const clock = new HandClock();
  const store = { bytes: 3_999_998, away: false, reads: 0 };
  const get = (): Promise<Uint8Array> => {
    store.reads += 1;
    if (store.away) return Promise.reject(new StoreUnavailable('told to fail'));
    return Promise.resolve(encodeTotal({ position: 1, bytes: store.bytes }));
  };
  const commit = (): never => assert.fail('nothing is to be added');
  const lines: unknown[] = [];
  const say =
    (level: string) =>
    (about: object): void =>
      void lines.push([level, about]);
  const log = { warn: say('warn'), info: say('info') };
  const total = followTotal({ store: { get, commit }, mostBytes: 3_999_999, clock, log });
  const after = async (ms: number): Promise<unknown[]> => {
    await clock.pass(ms);
    return [store.reads, total.isFull(), ...lines.splice(0)];
  };
  assert.deepEqual(await after(0), [1, false]);
  store.bytes = 3_999_999;
  assert.deepEqual(await after(4_999), [1, false]);
  assert.deepEqual(await after(1), [2, true, ['warn', { megabytes: 3 }]]);
  assert.deepEqual(await after(5_000), [3, true]);
  // What was last known counts.
  store.away = true;
  assert.deepEqual(await after(5_000), [4, true]);
  Object.assign(store, { away: false, bytes: 2_500_000 });
  assert.deepEqual(await after(5_000), [5, false, ['info', { megabytes: 2 }]]);
  assert.deepEqual(await after(5_000), [6, false]);
  total.stop();
  assert.deepEqual(await after(60_000), [6, false]);
  assert.equal(clock.timers, 0);
});

test('0 means no limit', async () => {
  const store = await openTestStore();
  const log = { warn: () => undefined, info: () => undefined } as never;
  const total = followTotal({ store, mostBytes: 0, clock: { every: () => assert.fail() }, log });
  await total.look();
  assert.equal(total.isFull(), false);
  total.stop();
});
