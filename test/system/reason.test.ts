/** The reasons of thrown values, as messages show them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { codeOf, reasonOf, shortReasonOf } from '../../src/system/reason.js';

function thrownBy(step: () => unknown): unknown {
  try {
    step();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
}

test('a reason is the code of an error that has one, else its message, else its text', () => {
  const absent = thrownBy(() => readFileSync('/no/such/file'));
  assert.deepEqual([codeOf(absent), shortReasonOf(absent)], ['ENOENT', 'ENOENT']);
  assert.match(reasonOf(absent), /^ENOENT: no such file/);
  const broken = new Error('broken');
  assert.deepEqual([codeOf(broken), shortReasonOf(broken)], [undefined, 'broken']);
  for (const [thrown, reason] of [
    ['text', 'text'],
    [{ code: 'no error' }, '[object Object]'],
    [null, 'null'],
    [7, '7'],
  ]) {
    assert.deepEqual([codeOf(thrown), shortReasonOf(thrown)], [undefined, reason]);
  }
});
