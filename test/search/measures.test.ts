/** Measures of rankings against values worked out by hand, and what an interval must be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bootstrapped, measured } from '../../src/search/measures.js';
import { near } from '../reference/agreement.js';

const places = (count: number, from = 0): number[] => Array.from({ length: count }, (_, at) => at + from);

test('nDCG, reciprocal rank and recall of rankings worked out by hand', () => {
  const judged = new Map([
    [3, 2],
    [7, 1],
    [500, 3],
  ]);
  const best = 3 + 2 / Math.log2(3) + 1 / 2;
  const cases: readonly [readonly number[], number, number, number][] = [
    [[500, 3, 7], 1, 1, 1],
    [[7, 3, 500], (1 + 2 / Math.log2(3) + 3 / 2) / best, 1, 1],
    [[1, 2, 3, ...places(90, 100)], 2 / 2 / best, 1 / 3, 1 / 3],
    [[...places(10, 20), 3, 7], 0, 0, 2 / 3],
    [[...places(100, 20), 3], 0, 0, 0],
    [[], 0, 0, 0],
  ];
  for (const [ranking, ndcg, mrr, recall] of cases) {
    const found = measured(ranking, judged);
    assert.ok(near(found.ndcg_at_10, ndcg), `${found.ndcg_at_10} is not ${ndcg}`);
    assert.deepEqual([found.mrr_at_10, found.recall_at_100], [mrr, recall]);
  }
});

test('with over ten relevant docs the first ten can be perfect, in any order among equals', () => {
  const judged = new Map(places(40).map((place) => [place, 1]));
  const found = measured([...places(5, 30), ...places(5), 99], judged);
  assert.deepEqual([found.ndcg_at_10, found.mrr_at_10, found.recall_at_100], [1, 1, 0.25]);
});

test('an interval contains its mean, is reproducible, and is a point if all values are equal', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 30 }),
      (values) => {
        const found = bootstrapped(values);
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
        assert.ok(near(found.mean, mean));
        const [least, most] = [Math.min(...values), Math.max(...values)];
        assert.ok(least - 1e-12 <= found.low && found.low <= found.high && found.high <= most + 1e-12);
        assert.ok(values.length < 10 || (found.low <= mean + 1e-12 && mean <= found.high + 1e-12));
        assert.deepEqual(bootstrapped(values), found);
      },
    ),
    { numRuns: 40 },
  );
  assert.deepEqual(bootstrapped([0.25, 0.25]), { mean: 0.25, low: 0.25, high: 0.25 });
});

test('an interval is as wide as the normal approximation says', () => {
  const values = places(400).map((at) => ((at * 7_919) % 1_000) / 1_000);
  const { mean, low, high } = bootstrapped(values);
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  const half = 1.96 * Math.sqrt(variance / values.length);
  assert.ok(Math.abs(high - mean - half) < half / 10 && Math.abs(mean - low - half) < half / 10);
});
