/** Which media types a client accepts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prefers } from '../../src/contract/accept.js';

test('a type is preferred to JSON by its own weight, or by that of its kind or of all types', () => {
  for (const [accept, expected] of [
    ['', false],
    ['text/html', true],
    ['*/*', false],
    ['text/*', true],
    ['application/json, text/html', false],
    ['application/json;q=0.5, text/html', true],
    ['text/html;q=0.5, */*;q=0.4', true],
    ['text/html;q=soon, */*;q=0.1', false],
    ['TEXT/HTML; Q=1', true],
    ['*/*;q=0.5, application/json;q=0.1', true],
    ['application/json;q=soon, text/html', true],
  ] as const) {
    assert.equal(prefers(accept, 'text/html'), expected, accept);
  }
});

test('at most a hundred ranges are read', () => {
  const others = (count: number): string => 'image/png,'.repeat(count);
  assert.equal(prefers(`${others(99)}text/html`, 'text/html'), true);
  assert.equal(prefers(`${others(100)}text/html`, 'text/html'), false);
});
