/** The places of hidden fragments in the file of vectors, while it grows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hiddenFragments } from '../../src/explore/hiddenFragments.js';
import { keepNotice } from '../../src/store/tables/notices.js';
import { openTestStore } from '../support/serving.js';

test('a hidden fragment that is added while places are looked up is placed once', async () => {
  const store = await openTestStore();
  await keepNotice(store, 'fr_1', { hidden: true, reason: 'It names a person.', atMs: 0 });
  let nowMs = 0;
  let count = 1;
  const asked: number[] = [];
  const hidden = hiddenFragments(
    store,
    { monotonicMs: () => nowMs },
    {
      state: () => ({ count, position: count, lastReceipt: '' }),
      placesOf: (_, from) => {
        asked.push(from);
        // It is the second, which the count does not have yet.
        return Promise.resolve(from <= 1 ? [1] : []);
      },
    },
  );
  const places = async (): Promise<readonly number[]> => {
    nowMs += 1_000;
    return (await hidden()).places;
  };
  assert.deepEqual(await places(), []);
  count = 2;
  const found = await places();
  assert.deepEqual(found, [1]);
  assert.equal(await places(), found, 'the same array while nothing changes');
  assert.deepEqual(asked, [0, 1, 2]);
});
