/** Coverage of a text: what ran in any process counts, and the rest is listed with its line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coverageOf, marks } from './lines.js';

const text = 'if (a) {\n  b();\n} else {\n  c();\n}\nd();\n';
const lineOf = (place: number): number => text.slice(0, place).split('\n').length;
const at = (part: string): [number, number] => [text.indexOf(part), text.indexOf(part) + part.length];

test('a place that ran in one process counts as run, whatever the others ran', () => {
  const [first, second] = [at('if (a) {\n  b();\n}'), at('d();')];
  const { lines, reached, unreached } = coverageOf(text, marks(text.length, [[first], [second]]), lineOf);
  assert.deepEqual([lines, reached], [5, 3]);
  assert.deepEqual(unreached, [{ line: 3, text: 'else { c(); }' }]);
});

test('a file that nothing loads has no line that ran', () => {
  const { lines, reached, unreached } = coverageOf(text, marks(text.length, []), lineOf);
  assert.deepEqual([lines, reached, unreached.length], [5, 0, 1]);
});

test('punctuation alone is not a place to run, and a file that ran whole has none left', () => {
  const ran = marks(text.length, [[[0, text.length]]]);
  ran.fill(0, text.indexOf('}'), text.indexOf('}') + 1);
  assert.deepEqual(coverageOf(text, ran, lineOf), { lines: 5, reached: 5, unreached: [] });
});
