/** The machine's clock, as records rely on it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/system/clock.js';

test('wall time is in whole milliseconds', () => {
  for (let look = 0; look < 1_000; look += 1) assert.ok(Number.isSafeInteger(systemClock.wallMs()));
});
