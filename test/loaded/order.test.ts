/** Orders of test files: each element once, reproducible by their seed, and different for another seed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shuffled } from './order.js';

test('an order contains every element once, and a seed reproduces it', () => {
  const list = Array.from({ length: 20 }, (_, at) => at);
  const orders = [1, 2, 3].map((seed) => shuffled(list, seed));
  for (const [at, order] of orders.entries()) {
    assert.deepEqual(
      order.toSorted((left, right) => left - right),
      list,
    );
    assert.deepEqual(order, shuffled(list, at + 1));
    assert.notDeepEqual(order, list);
  }
  assert.equal(new Set(orders.map(String)).size, 3);
});
