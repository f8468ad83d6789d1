/**
 * A benchmark checks its own answers: each peer's, once a body, against the oracle with that peer's own BM25
 * variant and token rule.
 */
import { assertAgrees, near } from '../test/reference/agreement.js';
import { bm25 } from '../test/reference/bm25.js';
import { fuse, lexicalScores } from '../test/reference/fuse.js';
import type { ReferenceRequest, ReferenceResponse, ReferenceResult } from '../test/reference/fuse.js';
import { foldText } from '../test/reference/unicode.js';

/** Fails with a sentence unless an answer is right. */
export type Check = (request: ReferenceRequest, answer: unknown) => void;

/**
 * Fusegate's answers: all of the oracle's, order included, but for warnings of unknown members, which a body
 * may have and its request has not.
 */
export const checkFusegate: Check = (request, answer) => {
  const { warnings = [], ...rest } = answer as ReferenceResponse;
  const others = warnings.filter(({ code }) => code !== 'unknown_field');
  assertAgrees(request, others.length === 0 ? rest : { ...rest, warnings: others });
};

/** Tokens by Python's `\w+` (letters, numbers, underscore) on case-folded text; their bigrams where asked. */
function pythonTokens(text: string, { tokenizer }: ReferenceRequest): string[] {
  const words = foldText(text).match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (tokenizer !== 'ngram') return words;
  return words.flatMap((word) => {
    const characters = Array.from(word);
    if (characters.length === 1) return characters;
    return characters.slice(1).map((character, at) => `${characters[at] ?? ''}${character}`);
  });
}

/** Okapi BM25 as rank_bm25 has it: idf is log((N - df + 0.5) / (df + 0.5)), below 0 a quarter of the mean. */
function okapiScores(request: ReferenceRequest): number[] {
  const docs = request.docs.map((doc) => pythonTokens(doc.text, request));
  const averageLength = docs.reduce((sum, tokens) => sum + tokens.length, 0) / docs.length;
  const frequencies = new Map<string, number>();
  for (const tokens of docs) {
    for (const term of new Set(tokens)) frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
  }
  const idf = (df: number): number => Math.log(docs.length - df + 0.5) - Math.log(df + 0.5);
  const all = Array.from(frequencies.values(), idf);
  const floor = (0.25 * all.reduce((sum, value) => sum + value, 0)) / all.length;
  const query = pythonTokens(request.query, request);
  return docs.map((tokens) => {
    const norm = 1.5 * (0.25 + (0.75 * tokens.length) / averageLength);
    return query.reduce((score, term) => {
      const tf = tokens.filter((token) => token === term).length;
      const raw = idf(frequencies.get(term) ?? 0);
      return tf === 0 ? score : score + ((raw < 0 ? floor : raw) * tf * 2.5) / (tf + norm);
    }, 0);
  });
}

function byId(results: readonly ReferenceResult[]): Map<string, ReferenceResult> {
  return new Map(results.map((result) => [result.id, result]));
}

/** Every document once, its scores within `tolerance` of what they should be, in falling order. */
function compare(
  request: ReferenceRequest,
  answer: unknown,
  scores: readonly number[],
  tolerance: number,
): void {
  const { results } = answer as ReferenceResponse;
  const expected = byId(fuse(request, [...scores]).results);
  if (results.length !== request.docs.length) throw new Error(`${results.length} results`);
  for (const [at, result] of results.entries()) {
    const should = expected.get(result.id);
    const close = (left: number, right = NaN): boolean =>
      near(left, right) || Math.abs(left - right) <= tolerance * Math.max(1, Math.abs(right));
    const right =
      should?.text === result.text &&
      close(result.bm25_score, should.bm25_score) &&
      close(result.fused_score, should.fused_score) &&
      result.rank === at + 1 &&
      result.fused_score <= (results[at - 1]?.fused_score ?? Infinity);
    if (!right) throw new Error(`${JSON.stringify(result)}, expected ${JSON.stringify(should)}`);
  }
}

/** rank_bm25's answers, in process or from FastAPI. */
export const checkRankBm25: Check = (request, answer) => compare(request, answer, okapiScores(request), 1e-9);

/** bm25s' answers: method lucene, in single precision. */
export const checkBm25s: Check = (request, answer) => {
  const tokens = (text: string): string[] => pythonTokens(text, request);
  const docs = request.docs.map((doc) => tokens(doc.text));
  compare(request, answer, bm25(tokens(request.query), docs, 1.5, 0.75), 1e-5);
};

/**
 * tantivy's answers: k1 is 1.2, scores carry a factor k1 + 1, and lengths over 40 tokens are rounded down to
 * steps of up to an eighth, which a score feels by at most as much.
 */
export const checkTantivy: Check = (request, answer) => {
  const scores = lexicalScores({ ...request, k1: 1.2 }).map((score) => 2.2 * score);
  compare(request, answer, scores, 0.13);
};
