/** How a long turn of the event loop is noticed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Turn } from '../../src/http/turn.js';
import { turn as nextTurn } from './connection.js';

describe('a turn of the event loop', () => {
  test('is long 20 ms after its first request', async () => {
    const turn = new Turn();
    for (const startMs of [0, 1_000]) {
      for (const [ms, isLong] of [
        [0, false],
        [19.9, false],
        [20, true],
        [500, true],
      ] as const) {
        assert.equal(turn.isLong(startMs + ms), isLong, `${startMs} + ${ms}`);
      }
      await nextTurn();
    }
  });

  test('is looked at every 5 ms at most', async () => {
    const turn = new Turn();
    assert.equal(turn.isLong(100), false);
    await nextTurn();
    // Not looked at.
    for (const ms of [104.9, 104.99]) assert.equal(turn.isLong(ms), false);
    assert.equal(turn.isLong(105), false);
    assert.equal(turn.isLong(124.9), false);
    assert.equal(turn.isLong(125), true);
    await nextTurn();
    assert.equal(turn.isLong(126), false, 'the next turn');
    assert.equal(turn.isLong(146), true);
  });
});
