/** The oracle of POST /v1/fuse against the recorded answers and against what can be worked out by hand. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { assertAgrees, near } from './agreement.js';
import { fuse, tokenize } from './fuse.js';
import { fuseVectors } from '../vectors/fuse.js';

test('the oracle gives the recorded answers', () => {
  const vectors = fuseVectors();
  assert.equal(vectors.length, 120);
  for (const { id, request, response } of vectors) {
    const answer = fuse(request);
    assert.deepEqual(
      answer.results.map((result) => [result.id, result.text, result.dense_score, result.rank]),
      // Adding 0 makes a recorded -0.0 the 0 that Number::toString writes.
      response.results.map((result) => [result.id, result.text, result.dense_score + 0, result.rank]),
      id,
    );
    for (const [at, result] of answer.results.entries()) {
      const recorded = response.results[at];
      assert.ok(near(result.bm25_score, recorded?.bm25_score ?? NaN), id);
      assert.ok(near(result.fused_score, recorded?.fused_score ?? NaN), id);
    }
  }
});

test('tokens: full case folding, runs of L, N and M, bigrams inside a run', () => {
  assert.deepEqual(tokenize("Straße STRASSE don't x² İ", 'ws'), [
    'strasse',
    'strasse',
    'don',
    't',
    'x²',
    'i̇',
  ]);
  assert.deepEqual(tokenize('日本語 A 𐐀𐐨', 'ngram'), ['日本', '本語', 'a', '𐐨𐐨']);
  assert.deepEqual(tokenize('_-😀 ', 'ws'), []);
});

test('two documents worked out by hand', () => {
  const request = {
    query: 'red red fox',
    docs: [
      { id: 'a', text: 'Red fox', dense_score: 0.5 },
      { id: 'b', text: 'fox', dense_score: -1 },
    ],
    explain: true,
  } as const;
  const answer = fuse(request);
  const part = (length: number): number => 1 / (1 + 1.5 * (0.25 + (0.75 * length) / 1.5));
  const first = (2 * Math.log(1 + 1.5 / 1.5) + Math.log(1 + 0.5 / 2.5)) * part(2);
  const second = Math.log(1 + 0.5 / 2.5) * part(1);
  assert.ok(near(answer.results[0]?.bm25_score ?? NaN, first));
  assert.ok(near(answer.results[1]?.fused_score ?? NaN, 0.5 * (second / first) - 0.5));
  assertAgrees(request, answer);
});

test('the comparison refuses another order, another number, another text', () => {
  const request = {
    query: 'fox',
    docs: [
      { id: 'a', text: 'fox', dense_score: 1 },
      { id: 'b', text: 'dog', dense_score: 0.5 },
    ],
  };
  const answer = fuse(request);
  const [first, second] = answer.results;
  assert.ok(first !== undefined && second !== undefined);
  const broken = [
    [second, first],
    [
      { ...second, rank: 1 },
      { ...first, rank: 2 },
    ],
    [{ ...first, bm25_score: first.bm25_score * (1 + 1e-6) }, second],
    [{ ...first, text: 'Fox' }, second],
    [{ ...first, dense_score: 1.0000000001 }, second],
    [first],
    [first, first],
  ];
  for (const results of broken) assert.throws(() => assertAgrees(request, { ...answer, results }));
  assertAgrees(request, answer);
});
