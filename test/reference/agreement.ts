/**
 * Compares an answer of POST /v1/fuse with the oracle's: strings exactly, numbers within 1e-9 relative (1e-12
 * absolute), order up to scores as near as that.
 */
import assert from 'node:assert/strict';
import { fuse, lexicalScores } from './fuse.js';
import type { ReferenceRequest, ReferenceResponse, ReferenceResult } from './fuse.js';

const RELATIVE = 1e-9;
const ABSOLUTE = 1e-12;

/** Whether two numbers differ by no more than another order of summation explains. */
export function near(left: number, right: number): boolean {
  if (left === right) return true;
  const difference = Math.abs(left - right);
  return difference <= ABSOLUTE || difference <= RELATIVE * Math.max(Math.abs(left), Math.abs(right));
}

/** Whether some scores are near each other and not equal, so that their ranks rest on their last bits. */
function hasNearTies(scores: readonly number[]): boolean {
  const sorted = [...scores].sort((left, right) => left - right);
  return sorted.some((score, at) => at > 0 && score !== sorted[at - 1] && near(score, sorted[at - 1] ?? NaN));
}

function numbersAgree(actual: ReferenceResult, expected: ReferenceResult): boolean {
  const pairs: [number, number][] = [
    [actual.bm25_score, expected.bm25_score],
    [actual.fused_score, expected.fused_score],
  ];
  const [mine, theirs] = [actual.explain, expected.explain];
  if ((mine === undefined) !== (theirs === undefined)) return false;
  if (mine !== undefined && theirs !== undefined) {
    if (mine.bm25_rank !== theirs.bm25_rank || mine.dense_rank !== theirs.dense_rank) return false;
    pairs.push([mine.bm25_norm, theirs.bm25_norm], [mine.dense_norm, theirs.dense_norm]);
    pairs.push([mine.bm25_part, theirs.bm25_part], [mine.dense_part, theirs.dense_part]);
  }
  return pairs.every(([left, right]) => near(left, right));
}

function sameDoc(actual: ReferenceResult, expected: ReferenceResult): boolean {
  return (
    actual.id === expected.id &&
    actual.text === expected.text &&
    Object.is(actual.dense_score, expected.dense_score)
  );
}

/** What each answer owes itself: ranks from 1, scores descending, parts that sum to the fused score. */
function assertConsistent(results: readonly ReferenceResult[]): void {
  for (const [at, result] of results.entries()) {
    assert.equal(result.rank, at + 1);
    const before = results[at - 1];
    assert.ok(before === undefined || before.fused_score >= result.fused_score, 'descending fused_score');
    if (result.explain === undefined) continue;
    const sum = result.explain.bm25_part + result.explain.dense_part;
    assert.ok(Math.abs(sum - result.fused_score) <= 1e-12, 'explain parts sum to fused_score');
  }
}

/** Each result stands where the oracle has it, or where a document of a score near that one may stand. */
function assertSameOrder(actual: readonly ReferenceResult[], all: readonly ReferenceResult[]): void {
  const taken = new Set<number>();
  for (const [at, result] of actual.entries()) {
    const here = all[at];
    const found = all.findIndex(
      (candidate, place) =>
        !taken.has(place) &&
        sameDoc(result, candidate) &&
        numbersAgree(result, candidate) &&
        near(candidate.fused_score, here?.fused_score ?? NaN),
    );
    assert.notEqual(
      found,
      -1,
      `result ${at}: ${JSON.stringify(result)}, the oracle has ${JSON.stringify(here)}`,
    );
    taken.add(found);
  }
}

/** Letters that call for `ngram`, and characters that may: the scripts' blocks hold more than letters. */
const CALLS_FOR_NGRAM = /(?=\p{L})[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const MAY_CALL_FOR_NGRAM = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{Cn}]/u;

/** Codes as the oracle's, in its order; the empty lexical leg names `ngram` where that would help. */
function assertWarnings(
  request: ReferenceRequest,
  actual: ReferenceResponse,
  expected: ReferenceResponse,
): void {
  const { warnings } = actual;
  assert.deepEqual(
    warnings?.map((warning) => warning.code),
    expected.warnings?.map((warning) => warning.code),
  );
  for (const { code, message } of warnings ?? []) {
    assert.ok(message.length > 0);
    if (code !== 'lexical_leg_empty') continue;
    const texts = request.docs.map((doc) => doc.text).join(' ');
    const byWhitespace = request.tokenizer !== 'ngram';
    if (byWhitespace && CALLS_FOR_NGRAM.test(texts)) assert.match(message, /ngram/);
    if (!byWhitespace || !MAY_CALL_FOR_NGRAM.test(texts)) assert.doesNotMatch(message, /ngram/);
  }
}

/** An answer without its lists, in full: a member too many shows. */
function headOf(answer: ReferenceResponse): Record<string, unknown> {
  return { ...answer, results: [], warnings: [] };
}

/**
 * Fails unless a parsed answer is the oracle's answer to a request.
 *
 * Where rrf meets BM25 scores that differ in their last bits only, ranks rest on those bits: the scores are
 * then compared document by document, and the order must only be consistent in itself.
 */
export function assertAgrees(request: ReferenceRequest, answer: unknown): void {
  const actual = answer as ReferenceResponse;
  const scores = lexicalScores(request);
  const expected = fuse({ ...request, top_k: null }, scores);
  const { results } = actual;
  assert.deepEqual(headOf(actual), headOf(expected));
  assert.equal(results.length, Math.min(request.top_k ?? Infinity, request.docs.length));
  assertConsistent(results);
  assertWarnings(request, actual, expected);
  if (request.method === 'rrf' && hasNearTies(scores)) assertScores(request, results, scores);
  else assertSameOrder(results, expected.results);
}

/** BM25 scores near the oracle's, document by document, whatever their ranks. */
function assertScores(
  request: ReferenceRequest,
  results: readonly ReferenceResult[],
  scores: readonly number[],
): void {
  for (const result of results) {
    const found = request.docs.some(
      (doc, at) => doc.id === result.id && near(result.bm25_score, scores[at] ?? NaN),
    );
    assert.ok(found, `no document has this score: ${JSON.stringify(result)}`);
  }
}
