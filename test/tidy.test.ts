/** The style, as a test. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

test('placeholder until the rules stand', () => {
  assert.ok(true);
});
