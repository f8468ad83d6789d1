/** A map of a bounded size: what makes room, and what stays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from '../../src/system/boundedMap.js';

test('a full map drops the entry that was put first', () => {
  const map = new BoundedMap<string, number>(2);
  const held = (): (number | undefined)[] => ['a', 'b', 'c', 'd'].map((key) => map.get(key));
  map.set('a', 1);
  map.set('b', 2);
  assert.deepEqual(held(), [1, 2, undefined, undefined]);
  map.set('b', 3);
  assert.deepEqual(held(), [1, 3, undefined, undefined], 'a key that is there takes no room');
  map.set('c', 4);
  assert.deepEqual(held(), [undefined, 3, 4, undefined]);
  map.set('d', 5);
  assert.deepEqual(held(), [undefined, undefined, 4, 5]);
});
