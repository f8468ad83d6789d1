/** Where two texts differ: the parts of each side join to its text, and what is the same is not marked. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { differences } from '../../src/pages/differences.js';

const changed = (before: string, after: string): (readonly [string, string])[] =>
  differences(before, after)
    .filter((part) => part.before !== part.after)
    .map((part) => [part.before, part.after]);

test('only what changed differs, however far apart the changes are', () => {
  assert.deepEqual(changed('CafÃ© crème brÃ»lÃ©e', 'Café crème brûlée'), [
    ['Ã©', 'é'],
    ['Ã»lÃ©', 'ûlé'],
  ]);
  assert.deepEqual(changed('a b c d', 'a x c y'), [
    ['b', 'x'],
    ['d', 'y'],
  ]);
  assert.deepEqual(changed('same', 'same'), []);
  assert.deepEqual(changed('', 'new'), [['', 'new']]);
  assert.deepEqual(changed('I ❤️ tea', 'I ❤️ (red heart) tea'), [['', '(red heart) ']]);
});

test('the parts of each side join to its text, for any texts', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'é', '😀', '\n'), maxLength: 60 });
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const parts = differences(before, after);
      assert.equal(parts.map((part) => part.before).join(''), before);
      assert.equal(parts.map((part) => part.after).join(''), after);
    }),
  );
  const long = 'word '.repeat(500);
  assert.deepEqual(changed(`${long}x`, `${long}y`), [['x', 'y']]);
  assert.equal(changed('a b '.repeat(10), 'a c '.repeat(10)).length, 10);
  // So many words are not compared with each other.
  assert.equal(changed('a b '.repeat(40), 'a c '.repeat(40)).length, 1);
});
