/**
 * POST /v1/fuse on parsed values, one rule a function: what the fast path leaves (repeated or escaped member
 * names) is answered here, with the same numbers to the last bit.
 *
 * Sums run as in native/core/src/fuse.rs: a BM25 score adds the query's terms in order of first occurrence.
 */
import type {
  FuseDoc,
  FuseExplanation,
  FuseRequest,
  FuseResponse,
  FuseWarning,
  RankedDoc,
} from '../contract/fuse.js';
import type { ComputedScores } from './embedMode.js';
import { type Tokenizer, tokenize } from './tokenize.js';
import { hasCjk } from './unicode.js';

/** A valid request whose docs all have a dense score. */
export interface ScoredRequest extends Omit<FuseRequest, 'docs'> {
  readonly docs: readonly (FuseDoc & { dense_score: number })[];
}

interface Settings {
  readonly method: 'maxnorm' | 'rrf';
  readonly tokenizer: Tokenizer;
  readonly k1: number;
  readonly b: number;
  readonly rrfK: number;
  /** Weights after normalisation: they sum to 1. */
  readonly bm25Weight: number;
  readonly denseWeight: number;
}

function settings(request: ScoredRequest): Settings {
  const { bm25, dense } = request.weights ?? { bm25: 1, dense: 1 };
  // Scaled by the larger before summing, so that the sum cannot overflow.
  const larger = Math.max(bm25, dense);
  const sum = bm25 / larger + dense / larger;
  return {
    method: request.method ?? 'maxnorm',
    tokenizer: request.tokenizer ?? 'ws',
    k1: request.k1 ?? 1.5,
    b: request.b ?? 0.75,
    rrfK: request.rrf_k ?? 60,
    bm25Weight: bm25 / larger / sum,
    denseWeight: dense / larger / sum,
  };
}

/** What the texts have of the query's terms. */
interface Statistics {
  /** How often each distinct term occurs in the query, by first occurrence. */
  readonly queryCounts: readonly number[];
  /** In how many docs each term occurs. */
  readonly docCounts: readonly number[];
  /** For each doc its length in tokens, and its terms with their counts by ascending term. */
  readonly docs: readonly { readonly length: number; readonly matches: readonly [number, number][] }[];
}

/** One pass over the texts: the work grows with the tokens, never with terms times docs. */
function statistics(query: string, texts: readonly string[], tokenizer: Tokenizer): Statistics {
  const places = new Map<string, number>();
  const queryCounts: number[] = [];
  for (const token of tokenize(query, tokenizer)) {
    const place = places.get(token) ?? places.size;
    places.set(token, place);
    queryCounts[place] = (queryCounts[place] ?? 0) + 1;
  }
  const docCounts = queryCounts.map(() => 0);
  const docs = texts.map((text) => {
    const tokens = tokenize(text, tokenizer);
    const found = new Map<number, number>();
    for (const token of tokens) {
      const place = places.get(token);
      if (place !== undefined) found.set(place, (found.get(place) ?? 0) + 1);
    }
    const matches = [...found].sort(([left], [right]) => left - right);
    for (const [place] of matches) docCounts[place] = (docCounts[place] ?? 0) + 1;
    return { length: tokens.length, matches };
  });
  return { queryCounts, docCounts, docs };
}

/** BM25 of each doc over the docs (Kamphuis et al., 2020: the variant of Lucene). */
function bm25Scores(
  { queryCounts, docCounts, docs }: Statistics,
  { k1, b }: Settings,
  logarithm: (value: number) => number,
): number[] {
  const average = docs.reduce((sum, { length }) => sum + length, 0) / docs.length;
  const weights = queryCounts.map((inQuery, term) => {
    const inDocs = docCounts[term] ?? 0;
    return inQuery * logarithm(1 + (docs.length - inDocs + 0.5) / (inDocs + 0.5));
  });
  return docs.map(({ length, matches }) => {
    const norm = k1 * (1 - b + (b * length) / average);
    return matches.reduce(
      (score, [term, count]) => score + (weights[term] ?? 0) * (count / (count + norm)),
      0,
    );
  });
}

/** Places by descending score, ties by place. */
function order(scores: readonly number[]): number[] {
  return scores.map((_, place) => place).sort((left, right) => (scores[right] ?? 0) - (scores[left] ?? 0));
}

/** Ranks from 1 by descending score, ties by place. */
function ranks(scores: readonly number[]): number[] {
  const ranked: number[] = [];
  order(scores).forEach((place, at) => (ranked[place] = at + 1));
  return ranked;
}

/** Scores divided by their largest absolute value; zeros stay zeros. */
function normalized(scores: readonly number[]): number[] {
  const largest = scores.reduce((most, score) => Math.max(most, Math.abs(score)), 0);
  return scores.map((score) => (largest === 0 ? 0 : score / largest));
}

function explanations(
  bm25: readonly number[],
  dense: readonly number[],
  chosen: Settings,
): FuseExplanation[] {
  const [bm25Norms, denseNorms, bm25Ranks, denseRanks] = [
    normalized(bm25),
    normalized(dense),
    ranks(bm25),
    ranks(dense),
  ];
  const part = (weight: number, norm: number, rank: number): number =>
    chosen.method === 'maxnorm' ? weight * norm : (2 * weight) / (chosen.rrfK + rank);
  return bm25.map((_, at) => {
    const [bm25Norm, denseNorm] = [bm25Norms[at] ?? 0, denseNorms[at] ?? 0];
    const [bm25Rank, denseRank] = [bm25Ranks[at] ?? 0, denseRanks[at] ?? 0];
    return {
      bm25_norm: bm25Norm,
      dense_norm: denseNorm,
      bm25_part: part(chosen.bm25Weight, bm25Norm, bm25Rank),
      dense_part: part(chosen.denseWeight, denseNorm, denseRank),
      bm25_rank: bm25Rank,
      dense_rank: denseRank,
    };
  });
}

const truncatedInput: FuseWarning = {
  code: 'truncated_input',
  message: 'The model read only the beginning of the query or of a text: they are longer than it takes.',
};

function warnings(request: ScoredRequest, found: Statistics, tokenizer: Tokenizer): FuseWarning[] {
  const warned: FuseWarning[] = [];
  if (found.docs.every(({ matches }) => matches.length === 0)) {
    const cjk = tokenizer === 'ws' && request.docs.some((doc) => hasCjk(doc.text));
    const remedy = cjk
      ? ' The texts hold Chinese, Japanese or Korean, which ws does not split into words: try tokenizer ' +
        'ngram.'
      : '';
    const message = `No document contains a term of the query: every bm25_score is 0.${remedy}`;
    warned.push({ code: 'lexical_leg_empty', message });
  }
  const first = request.docs[0]?.dense_score;
  if (request.docs.length > 1 && request.docs.every((doc) => doc.dense_score === first)) {
    const message = 'All dense scores are equal: they do not change the order.';
    warned.push({ code: 'dense_leg_flat', message });
  }
  return warned;
}

/**
 * Answers a valid request. `logarithm` is the native module's: an engine's own differs in last bits.
 * `computed`: who made the dense scores, where the caller did not.
 */
export function fuseExact(
  request: ScoredRequest,
  logarithm: (value: number) => number,
  computed?: Pick<ComputedScores, 'model' | 'truncated'>,
): FuseResponse {
  const chosen = settings(request);
  const texts = request.docs.map((doc) => doc.text);
  const counted = statistics(request.query, texts, chosen.tokenizer);
  const bm25 = bm25Scores(counted, chosen, logarithm);
  const explained = explanations(
    bm25,
    request.docs.map((doc) => doc.dense_score),
    chosen,
  );
  const fused = explained.map((parts) => parts.bm25_part + parts.dense_part);
  const results = order(fused).slice(0, request.top_k ?? fused.length);
  const ranked = results.map((place, at): RankedDoc => {
    const doc = request.docs[place];
    const parts = explained[place];
    if (doc === undefined || parts === undefined) throw new Error('a place in the order is no doc');
    return {
      id: doc.id,
      text: request.return_text === false ? '' : doc.text,
      dense_score: doc.dense_score,
      bm25_score: bm25[place] ?? 0,
      fused_score: fused[place] ?? 0,
      rank: at + 1,
      ...(request.explain === true ? { explain: parts } : {}),
    };
  });
  const warned = warnings(request, counted, chosen.tokenizer);
  if (computed?.truncated === true) warned.push(truncatedInput);
  return {
    query: request.query,
    method: chosen.method,
    tokenizer: chosen.tokenizer,
    dense_source: computed === undefined ? 'caller' : `model:${computed.model}`,
    results: ranked,
    ...(warned.length > 0 ? { warnings: warned } : {}),
  };
}
