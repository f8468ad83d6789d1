/** The stock of buffers: sizes, what comes back, and its bound. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferPool } from '../../src/system/bufferPool.js';

const MIB = 1 << 20;

test('a returned buffer is used again, for any size that it can serve', () => {
  const pool = new BufferPool(8 * MIB);
  const first = pool.take(MIB + 1);
  assert.equal(first.byteLength, 2 * MIB);
  pool.give(first);
  assert.equal(pool.take(1.5 * MIB), first);
  assert.notEqual(pool.take(1.5 * MIB), first, 'nobody else holds it');
});

test('a buffer over the limit, or too large to keep, is dropped', () => {
  const pool = new BufferPool(2 * MIB);
  const [first, second] = [pool.take(2 * MIB), pool.take(2 * MIB)];
  pool.give(first);
  pool.give(second);
  assert.equal(pool.take(2 * MIB), first);
  assert.notEqual(pool.take(2 * MIB), second);
  const large = new BufferPool(64 * MIB);
  const huge = large.take(9 * MIB);
  assert.equal(huge.byteLength, 9 * MIB);
  large.give(huge);
  assert.notEqual(large.take(9 * MIB), huge);
});
