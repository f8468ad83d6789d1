/** What all fragments take of the disk, and what happens once that is as much as they may. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followTotal } from '../../src/receipts/total.js';
import type { DreamResponse } from '../../src/contract/dream.js';
import { countFragments, fragmentBytes } from '../../src/store/tables/fragments.js';
import { openTestStore } from '../support/serving.js';
import { startDoor } from '../support/door.js';

test('fragments are counted once each, and none is stored beyond the most', async () => {
  const store = await openTestStore();
  const lines: string[] = [];
  const say = (_: unknown, text: string): number => lines.push(text);
  const total = followTotal({
    store,
    mostBytes: 10_000,
    clock: { every: () => ({ stop: () => undefined }) },
    log: { warn: say, info: say },
  });
  const door = await startDoor({ store, isDoorFull: total.isFull });
  const send = (count: number) =>
    door.post<DreamResponse>('/dream', { title: `title ${count}`, content: 'c'.repeat(1_000) });
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
  assert.equal((await door.get(`/receipt/${receipts[0] ?? ''}`)).status, 200);
  assert.equal(lines.length, 1);
});

test('0 is any number', async () => {
  const store = await openTestStore();
  const log = { warn: () => undefined, info: () => undefined } as never;
  const total = followTotal({ store, mostBytes: 0, clock: { every: () => assert.fail() }, log });
  await total.look();
  assert.equal(total.isFull(), false);
});
