/**
 * The obvious, slow reading of POST /v1/fuse: tokenizer, BM25 (Lucene's idf), max-norm and reciprocal rank
 * fusion, one sentence of the rules a function. Nothing of it is shared with the service.
 *
 * Orders of summation, where the last bits depend on them: a document's BM25 score adds its query terms in
 * order of their first occurrence in the query, `count in query * idf * tf part` each; a fused score is the
 * BM25 part plus the dense part, each part weight * (score / largest absolute score). So an answer is the
 * service's to the last bit.
 */
import { termParts, type ReferenceCorpus } from './bm25.js';
import { formOf, queryTerms, type ReferenceAnalyzer } from './analyzer.js';
import {
  factorOf,
  legParts,
  type LegPart,
  type Numbers,
  type ReferenceBoost,
  type ReferenceLeg,
} from './legs.js';
import {
  collapsed,
  diversified,
  fragmentsOf,
  jaccard,
  placedRuns,
  type Choice,
  type Fragment,
  type Match,
  type ReferenceCollapse,
  type ReferenceDiversify,
  type ReferenceHighlight,
} from './results.js';
import { foldText, isWordCharacter } from './unicode.js';

/** A request whose documents all have a dense score. */
export interface ReferenceRequest {
  readonly query: string;
  readonly docs: readonly ReferenceDoc[];
  readonly method?: 'maxnorm' | 'rrf' | undefined;
  readonly tokenizer?: 'ws' | 'ngram' | undefined;
  readonly top_k?: number | null | undefined;
  readonly weights?: { readonly bm25: number; readonly dense: number } | undefined;
  readonly rrf_k?: number | undefined;
  readonly k1?: number | undefined;
  readonly b?: number | undefined;
  readonly return_text?: boolean | undefined;
  readonly explain?: boolean | undefined;
  readonly analyzer?: string | ReferenceAnalyzer | undefined;
  readonly corpus?: ReferenceCorpus | undefined;
  readonly legs?: Readonly<Record<string, ReferenceLeg>> | undefined;
  readonly boosts?: readonly ReferenceBoost[] | undefined;
  readonly min_score?: number | undefined;
  readonly collapse?: ReferenceCollapse | undefined;
  readonly diversify?: ReferenceDiversify | undefined;
  readonly highlight?: ReferenceHighlight | undefined;
}

export interface ReferenceDoc {
  readonly id: string;
  readonly text: string;
  readonly dense_score: number;
  readonly scores?: Numbers | undefined;
  readonly values?: Numbers | undefined;
  readonly group?: string | undefined;
}

/** A term of the query that a document has. */
export interface ReferenceTerm {
  readonly term: string;
  readonly matched: readonly string[];
  readonly tf: number;
  readonly df: number;
  readonly idf: number;
  readonly part: number;
}

/** How one document's fused score came about. */
export interface Explanation {
  readonly bm25_norm: number;
  readonly dense_norm: number;
  readonly bm25_part: number;
  readonly dense_part: number;
  readonly bm25_rank: number;
  readonly dense_rank: number;
  readonly terms?: readonly ReferenceTerm[];
  readonly legs?: Readonly<Record<string, LegPart>>;
  readonly boosts?: readonly { value: string; number: number | null; factor: number }[];
  readonly diversify?: Choice;
}

export interface ReferenceResult extends ReferenceDoc {
  readonly bm25_score: number;
  readonly fused_score: number;
  readonly rank: number;
  readonly explain?: Explanation;
  readonly highlights?: readonly Fragment[];
}

export interface ReferenceWarning {
  readonly code:
    | 'lexical_leg_empty'
    | 'dense_leg_flat'
    | 'dense_scores_replaced'
    | 'dense_leg_blind'
    | 'truncated_input'
    | 'unknown_field';
  readonly message: string;
}

/** Who computed the dense scores, where the caller did not. */
export interface ReferenceModel {
  readonly model: string;
  /** Whether it read only the beginning of the query or of a text. */
  readonly truncated: boolean;
  /** True if some docs came with a score. */
  readonly replaced: boolean;
  /** Whether most words of the query, or of one of the texts, are unknown to it. */
  readonly poor?: 'query' | 'docs' | undefined;
  /** How alike two docs' texts are to it. */
  readonly likeness?: (one: number, other: number) => number;
}

/** Docs without a score of their own get the least of the others; 0 where there are none. */
export function leastOfOthers(scores: readonly (number | undefined)[]): number[] {
  const own = scores.filter((score) => score !== undefined);
  return scores.map((score) => score ?? (own.length === 0 ? 0 : Math.min(...own)));
}

export interface ReferenceResponse {
  readonly query: string;
  readonly method: string;
  readonly tokenizer: string;
  readonly dense_source: string;
  readonly results: readonly ReferenceResult[];
  readonly warnings?: readonly ReferenceWarning[];
}

/** Maximal runs of word characters of the case-folded text. */
function runs(text: string): string[][] {
  const found: string[][] = [];
  let run: string[] = [];
  for (const character of [...Array.from(foldText(text)), ' ']) {
    if (isWordCharacter(character)) run.push(character);
    else if (run.length > 0) {
      found.push(run);
      run = [];
    }
  }
  return found;
}

/** A text's tokens: its runs (`ws`), or the character bigrams in each run, a run of one being a token. */
export function tokenize(text: string, tokenizer: 'ws' | 'ngram'): string[] {
  if (tokenizer === 'ws') return runs(text).map((run) => run.join(''));
  return runs(text).flatMap((run) =>
    run.length === 1 ? run : run.slice(1).map((character, at) => `${run[at] ?? ''}${character}`),
  );
}

/** An analyzer by its settings. */
function settingsOf(analyzer: ReferenceRequest['analyzer'] = 'plain'): ReferenceAnalyzer {
  if (typeof analyzer !== 'string') {
    const { stopwords } = analyzer;
    if (stopwords == null || typeof stopwords === 'string') return analyzer;
    return { ...analyzer, stopwords: stopwords.flatMap((word) => tokenize(word, 'ws')) };
  }
  if (analyzer === 'plain') return {};
  // Of the languages with stop words English alone is asked for by its name.
  return { stemmer: analyzer, stopwords: analyzer === 'english' ? 'english' : null };
}

/** What the query's terms brought to each document, with the tokens that stand for them. */
function matchedTerms(request: ReferenceRequest): ReferenceTerm[][] {
  const { query, docs, tokenizer = 'ws', k1 = 1.5, b = 0.75, corpus } = request;
  const analyzer = settingsOf(request.analyzer);
  const texts = docs.map((doc) => tokenize(doc.text, tokenizer));
  const forms = texts.map((tokens) => tokens.map((token) => formOf(analyzer, token)));
  const terms = termParts(queryTerms(analyzer, tokenize(query, tokenizer)), forms, { k1, b, corpus });
  return terms.map((found, at) =>
    found.map(({ term, ...rest }) => {
      const tokens = (texts[at] ?? []).filter((_, place) => forms[at]?.[place] === term);
      return { term, matched: [...new Set(tokens)].slice(0, 10), ...rest };
    }),
  );
}

/** Scores divided by their largest absolute value; zeros stay zeros. */
function maxnorm(scores: readonly number[]): number[] {
  const largest = Math.max(...scores.map(Math.abs));
  return scores.map((score) => (largest === 0 ? 0 : score / largest));
}

/** Rank of each score from 1, descending, ties by input order. */
function ranks(scores: readonly number[]): number[] {
  return scores.map(
    (score, at) =>
      1 + scores.filter((other, place) => other > score || (other === score && place < at)).length,
  );
}

/** Weights scaled by the larger, then divided by their sum. */
function normalised({ bm25: lexical, dense }: { bm25: number; dense: number }): [number, number] {
  const larger = Math.max(lexical, dense);
  const sum = lexical / larger + dense / larger;
  return [lexical / larger / sum, dense / larger / sum];
}

function explanations(request: ReferenceRequest, lexical: number[], dense: number[]): Explanation[] {
  const [lexicalWeight, denseWeight] = normalised(request.weights ?? { bm25: 1, dense: 1 });
  const [lexicalNorms, denseNorms] = [maxnorm(lexical), maxnorm(dense)];
  const [lexicalRanks, denseRanks] = [ranks(lexical), ranks(dense)];
  const k = request.rrf_k ?? 60;
  return request.docs.map((_, at) => {
    const [bm25_norm = NaN, dense_norm = NaN] = [lexicalNorms[at], denseNorms[at]];
    const [bm25_rank = NaN, dense_rank = NaN] = [lexicalRanks[at], denseRanks[at]];
    const byRank = request.method === 'rrf';
    const bm25_part = byRank ? (2 * lexicalWeight) / (k + bm25_rank) : lexicalWeight * bm25_norm;
    const dense_part = byRank ? (2 * denseWeight) / (k + dense_rank) : denseWeight * dense_norm;
    return { bm25_norm, dense_norm, bm25_part, dense_part, bm25_rank, dense_rank };
  });
}

/** The terms of a text, each with its place in code points. */
function placedTerms(request: ReferenceRequest, text: string): Match[] {
  const analyzer = settingsOf(request.analyzer);
  return placedRuns(text).flatMap((run) => {
    const [first, last] = [run[0]?.at ?? 0, (run.at(-1)?.at ?? 0) + 1];
    const whole = run.map(({ character }) => character);
    if (request.tokenizer !== 'ngram') {
      return [{ start: first, end: last, term: formOf(analyzer, whole.join('')) }];
    }
    if (run.length === 1) return [{ start: first, end: last, term: whole.join('') }];
    return run.slice(1).map(({ character, at }, before) => ({
      ...{ start: run[before]?.at ?? 0, end: at + 1 },
      term: `${whole[before] ?? ''}${character}`,
    }));
  });
}

/** The places of a text that have terms of the query. */
function matchesIn(request: ReferenceRequest, text: string): Match[] {
  const { query, tokenizer = 'ws' } = request;
  const terms = new Set(queryTerms(settingsOf(request.analyzer), tokenize(query, tokenizer)));
  return placedTerms(request, text).filter(({ term }) => terms.has(term));
}

/** The results of scored docs: those that stay, in their order. */
function listed(
  request: ReferenceRequest,
  results: readonly ReferenceResult[],
  likeness: ReferenceModel['likeness'],
): ReferenceResult[] {
  const { min_score: least = -Infinity, collapse, diversify, highlight, docs } = request;
  const { top_k: topK } = request;
  const textOf = ({ place }: { place: number }): string => docs[place]?.text ?? '';
  let kept = results
    .map((result, place) => ({ result, place }))
    .filter(({ result }) => result.fused_score >= least)
    .sort((one, other) => one.result.rank - other.result.rank);
  if (collapse !== undefined) {
    kept = collapsed(kept, collapse, (one) => ({ text: textOf(one), group: docs[one.place]?.group }));
  }
  let choices: Choice[] = [];
  if (diversify !== undefined) {
    const terms = kept.map((one) => new Set(placedTerms(request, textOf(one)).map(({ term }) => term)));
    const scores = kept.map(({ result }) => result.fused_score);
    const places = kept.map(({ place }) => place);
    const alike = (one: number, other: number): number =>
      diversify.by === 'vectors'
        ? Math.max(0, likeness?.(places[one] ?? NaN, places[other] ?? NaN) ?? NaN)
        : jaccard(terms[one] ?? new Set(), terms[other] ?? new Set());
    const chosen = diversified(scores, alike, diversify, topK ?? Infinity);
    choices = chosen.choices;
    kept = chosen.order.flatMap((at) => kept[at] ?? []);
  }
  return kept.slice(0, topK ?? kept.length).map(({ result, place }, at) => {
    const choice = choices[at];
    const { explain, ...rest } = result;
    const text = docs[place]?.text ?? '';
    return {
      ...{ ...rest, rank: at + 1 },
      ...(explain === undefined
        ? {}
        : { explain: choice === undefined ? explain : { ...explain, diversify: choice } }),
      ...(highlight === undefined
        ? {}
        : { highlights: fragmentsOf(text, matchesIn(request, text), highlight) }),
    };
  });
}

/** Fused scores and their explanations, with the request's legs and boosts. */
function fusedBy(request: ReferenceRequest, lexical: number[], dense: number[]) {
  const { legs, boosts, docs } = request;
  const usual = explanations(request, lexical, dense);
  const byLeg = legs === undefined ? undefined : legParts(request, [lexical, dense], ranks);
  return docs.map((doc, at) => {
    const parts = byLeg?.map(([name, found]) => [name, found[at]] as [string, LegPart]);
    const { bm25_rank, dense_rank, ...norms } = usual[at] as Explanation;
    const of = (name: string): { norm: number; part: number } =>
      parts?.find(([other]) => other === name)?.[1] ?? { norm: 0, part: 0 };
    const own =
      parts === undefined
        ? norms
        : {
            ...{ bm25_norm: of('bm25').norm, dense_norm: of('dense').norm },
            ...{ bm25_part: of('bm25').part, dense_part: of('dense').part },
          };
    const fused = (parts ?? []).reduce((sum, [, { part }]) => sum + part, 0);
    const factors = (boosts ?? []).map((boost) => factorOf(boost, doc.values));
    const told = boosts?.map(({ value }, place) => ({
      value,
      number: doc.values?.[value] ?? null,
      factor: factors[place] ?? NaN,
    }));
    return {
      score:
        (parts === undefined ? own.bm25_part + own.dense_part : fused) *
        factors.reduce((product, factor) => product * factor, 1),
      explanation: {
        ...{ ...own, bm25_rank, dense_rank },
        ...(parts === undefined ? {} : { legs: Object.fromEntries(parts) }),
        ...(told === undefined || told.length === 0 ? {} : { boosts: told }),
      },
    };
  });
}

/** The blocks of Han, kana and Hangul. */
const UNSPACED_SCRIPTS = new RegExp(
  '[\\u1100-\\u11ff\\u2e80-\\u2fdf\\u3005-\\u3007\\u3021-\\u3029\\u3038-\\u303b\\u3040-\\u30ff' +
    '\\u3130-\\u318f\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\ua960-\\ua97f\\uac00-\\ud7ff' +
    '\\uf900-\\ufaff\\uff66-\\uffdc\\u{1aff0}-\\u{1b16f}\\u{20000}-\\u{3ffff}]',
  'u',
);

function matchesNothing(request: ReferenceRequest): boolean {
  return matchedTerms(request).every((terms) => terms.length === 0);
}

function warningsOf(request: ReferenceRequest, computed: ReferenceModel | undefined): ReferenceWarning[] {
  const warnings: ReferenceWarning[] = [];
  const isFused = (leg: string): boolean => request.legs === undefined || Object.hasOwn(request.legs, leg);
  if (isFused('bm25') && matchesNothing(request)) {
    const ngramHelps =
      request.tokenizer !== 'ngram' && request.docs.some((doc) => UNSPACED_SCRIPTS.test(doc.text));
    const remedy = ngramHelps
      ? ' The texts hold Chinese, Japanese or Korean, which ws does not split into words: ' +
        'try tokenizer ngram.'
      : '';
    const message = `No document contains a term of the query: every bm25_score is 0.${remedy}`;
    warnings.push({ code: 'lexical_leg_empty', message });
  }
  const [first, ...others] = request.docs;
  const equal = isFused('dense') && others.length > 0;
  if (equal && others.every((doc) => doc.dense_score === first?.dense_score)) {
    const message = 'All dense scores are equal: they do not change the order.';
    warnings.push({ code: 'dense_leg_flat', message });
  }
  if (computed?.replaced === true) {
    const message =
      'Some docs came with a dense_score and some without: the model computed those of all docs. ' +
      'Set on_missing_dense to keep those that came.';
    warnings.push({ code: 'dense_scores_replaced', message });
  }
  if (computed?.poor === 'query') {
    const message =
      'The model does not know most words of the query, so that its scores say little. ' +
      "Name a model of the query's language, or send dense_score.";
    warnings.push({ code: 'dense_leg_blind', message });
  }
  if (computed?.poor === 'docs') {
    const message =
      'The model does not know most words of some texts. A text of which it knows no word counts as the ' +
      "least dense score of the others. Name a model of the texts' language, or send dense_score.";
    warnings.push({ code: 'dense_leg_blind', message });
  }
  if (computed?.truncated === true) {
    const message =
      'The model read only the beginning of the query or of a text: they are longer than it takes.';
    warnings.push({ code: 'truncated_input', message });
  }
  return warnings;
}

/** BM25 scores of a request's documents, in input order. */
export function lexicalScores(request: ReferenceRequest): number[] {
  return matchedTerms(request).map((terms) => terms.reduce((sum, { part }) => sum + part, 0));
}

/**
 * Answers a request.
 *
 * @param lexical BM25 scores in input order; given to see what follows from another's scores.
 * @param computed who made the dense scores; nobody: the caller did.
 */
export function fuse(
  request: ReferenceRequest,
  lexical = lexicalScores(request),
  computed?: ReferenceModel,
): ReferenceResponse {
  const { query, docs, method = 'maxnorm', tokenizer = 'ws' } = request;
  const dense = docs.map((doc) => doc.dense_score);
  const explained = fusedBy(request, lexical, dense);
  const fused = explained.map(({ score }) => score);
  const places = ranks(fused);
  const named = request.analyzer !== undefined || request.corpus !== undefined;
  const terms = named ? matchedTerms(request).map((found) => ({ terms: found })) : [];
  const results = docs.map((doc, at): ReferenceResult => ({
    id: doc.id,
    text: request.return_text === false ? '' : doc.text,
    dense_score: doc.dense_score,
    bm25_score: lexical[at] ?? NaN,
    fused_score: fused[at] ?? NaN,
    rank: places[at] ?? NaN,
    ...(request.explain === true
      ? { explain: { ...(explained[at]?.explanation as Explanation), ...terms[at] } }
      : {}),
  }));
  const warnings = warningsOf(request, computed);
  const caller = request.legs === undefined || Object.hasOwn(request.legs, 'dense') ? 'caller' : 'none';
  const answer = {
    query,
    method,
    tokenizer,
    dense_source: computed === undefined ? caller : `model:${computed.model}`,
    results: listed(request, results, computed?.likeness),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
  // Through text, as the service's numbers go: ECMAScript's Number::toString, -0 as 0.
  return JSON.parse(JSON.stringify(answer)) as ReferenceResponse;
}
