/** `POST /v1/fuse` on the wire (contract, FuseRequest and FuseResponse; the rest are marked extensions). */
import typia, { type tags } from 'typia';
import { analyzerFaults, stemmers, type FuseAnalyzer } from './analyzer.js';
import { corpusFaults, learnFaults, type FuseCorpus, type FuseCorpusUsed } from './corpus.js';
import { keyHeadersType } from './key.js';
import { batchDescription, batchProblems, failedLineType } from './lines.js';
import type { FuseProfile, FuseProfileUsed } from './profile.js';
import {
  boostFunctions,
  legMissing,
  legNorms,
  weightFaults,
  type BoostExplanation,
  type FuseBoost,
  type FuseLeg,
  type LegExplanation,
  type NamedNumber,
} from './legs.js';
import {
  collapseBy,
  likenessBy,
  type DiversifyExplanation,
  type FuseCollapse,
  type FuseDiversify,
  type FuseHighlight,
  type FuseWarning,
  type TextFragment,
} from './results.js';
import { keyedProblems, mebibyte, type ResourceRoutes } from './route.js';
import { post, postLines } from './schema/route.js';
import type { Integer } from './schema/tags.js';
import { MAX_ERRORS, type ValidationError, valueError } from './schema/validation.js';
import { bodyType, wireTypes } from './schema/wireType.js';

/** Ways to fuse. */
export const fuseMethods = ['maxnorm', 'rrf'] as const;

/** Ways to cut text into terms. */
export const tokenizers = ['ws', 'ngram'] as const;

/** Ways to treat a doc without a dense score. */
const missingDense = ['embed', 'zero', 'min', 'error'] as const;

/** Meanings of a dense score. */
const denseKinds = ['similarity', 'distance'] as const;

/** One candidate. */
export interface FuseDoc {
  /** Caller-assigned id, echoed back; equal ids are allowed. */
  id: string;
  /** Text for BM25 and, in embed mode, for the embedding. */
  text: string;
  /**
   * Dense similarity of this doc to the query, computed by the caller. If any doc has none, the model
   * computes the scores of all docs.
   */
  dense_score?: number | null;
  /** Scores of this doc for the request's `legs`, by their names. */
  scores?: { [leg: string]: NamedNumber };
  /** Numbers of this doc for the request's `boosts`, by their names. */
  values?: { [name: string]: NamedNumber };
  /** Docs with the same group count as one if `collapse` is by `group`. */
  group?: string;
}

/** Weight of each list in the fused score; only their ratio counts, and at least one must be above 0. */
export interface FuseWeights {
  /** Weight of the BM25 list. */
  bm25: number & tags.Minimum<0>;
  /** Weight of the dense list. */
  dense: number & tags.Minimum<0>;
}

/** Candidates to re-rank against a query. */
export interface FuseRequest {
  /** The user's query text; may be empty. */
  query: string;
  /** The candidates, in the order that breaks ties. */
  docs: FuseDoc[] & tags.MinItems<1>;
  /**
   * Fusion of the two lists: `maxnorm` (recommended) divides each by its largest absolute value;
   * `rrf` is reciprocal rank fusion, a baseline for comparison.
   */
  method?: (typeof fuseMethods)[number];
  /** `ws`: runs of letters, marks and numbers; `ngram`: character bigrams inside those runs, for CJK. */
  tokenizer?: (typeof tokenizers)[number];
  /**
   * Installed sentence-embedding model that computes dense scores when a doc has none. `static-256` answers
   * at once; with other models the first answer takes longer.
   */
  embed_model?: string;
  /**
   * Maps surface forms to substitutes, in query and texts, for the embedding only: longest match first, in
   * one pass, case-sensitive. No key may be empty.
   */
  entity_map?: { [surface: string]: string } | null;
  /** Number of results to return after fusion; null or absent: all. */
  top_k?: (number & Integer & tags.Minimum<1>) | null;
  /** Weight of each list in the fused score. */
  weights?: FuseWeights;
  /** The constant of reciprocal rank fusion. */
  rrf_k?: number & tags.Minimum<1> & tags.Maximum<1e6>;
  /** BM25's term-frequency saturation. */
  k1?: number & tags.Minimum<0>;
  /** BM25's length normalisation. */
  b?: number & tags.Minimum<0> & tags.Maximum<1>;
  /** False: `text` is returned as "". */
  return_text?: boolean;
  /** True: each result has the parts of its score. */
  explain?: boolean;
  /**
   * How tokens become terms, with the tokenizer `ws`: `plain`, or a language for its stemmer and stop words
   * (arabic, armenian, basque, catalan, czech, danish, dutch, english, esperanto, estonian, finnish, french,
   * german, greek, hindi, hungarian, indonesian, irish, italian, lithuanian, nepali, norwegian, persian,
   * polish, portuguese, romanian, russian, serbian, sesotho, spanish, swedish, tamil, turkish, ukrainian,
   * yiddish), or settings one by one. With `explain`, results list the terms that matched.
   */
  analyzer?: string | FuseAnalyzer;
  /** Statistics for BM25; absent: those of the request's docs. */
  corpus?: FuseCorpus;
  /**
   * Treatment of a doc without `dense_score`. `embed`: the model computes the scores of all docs; `zero`: 0;
   * `min`: the lowest score that was sent (0 where none was); `error`: the request is refused.
   */
  on_missing_dense?: (typeof missingDense)[number];
  /** Meaning of `dense_score`: a `similarity`, or a `distance` d of 0 or more, counted as 1 / (1 + d). */
  dense_kind?: (typeof denseKinds)[number];
  /** Results with a lower fused score are left out. */
  min_score?: number;
  /**
   * The lists to fuse, by name, up to 16: `bm25`, `dense`, and lists whose scores the docs have in `scores`.
   * Replaces `weights`. Without `dense` no dense score is needed.
   */
  legs?: { [name: string]: FuseLeg };
  /** Up to 16 numbers of each doc that raise or lower its fused score: dates, distances, prices. */
  boosts?: FuseBoost[] & tags.MaxItems<16>;
  /** Which docs count as one; only the best of them are returned. */
  collapse?: FuseCollapse;
  /** Prefers results that differ from those before them. */
  diversify?: FuseDiversify;
  /** Each result says where its text has the query's terms, in code points. */
  highlight?: FuseHighlight;
  /**
   * True: the statistics under `corpus.name` are learnt from the docs of this request. The sample is those
   * 512 of all docs seen whose text has the smallest keyed hash. It becomes the name's next version at 64,
   * 128, 256 and 512 docs, then each time the number of docs seen doubles. Before the first version, a
   * request is scored with the statistics of its own docs.
   */
  learn?: boolean;
  /**
   * Settings that are stored on the server under a name. Members of the request itself take precedence;
   * `weights` and `legs` replace each other.
   */
  profile?: string | FuseProfile;
}

/** Defaults of absent fields. */
export const fuseDefaults = {
  method: 'maxnorm',
  tokenizer: 'ws',
  rrf_k: 60,
  k1: 1.5,
  b: 0.75,
  return_text: true,
  explain: false,
  on_missing_dense: 'embed',
  dense_kind: 'similarity',
  learn: false,
} as const satisfies Partial<FuseRequest>;

/** A term of the query that is in a text. */
export interface FuseTerm {
  /** The term as the analyzer makes it. */
  term: string;
  /** Tokens of the text that become this term, up to 10 distinct ones. */
  matched: string[];
  /** Number of its occurrences in the text. */
  tf: number & Integer & tags.Minimum<1>;
  /** Number of docs of the request, or of the `corpus`, that have it. */
  df: number & Integer & tags.Minimum<0>;
  /** Inverse document frequency: ln(1 + (N − df + 0.5) / (df + 0.5)). */
  idf: number;
  /** Its part of `bm25_score`; the parts of a text sum to that score within 1e-12. */
  part: number;
}

/** Parts of a fused score; their sum, times the factors of `boosts`, is that score within 1e-12. */
export interface FuseExplanation {
  /** BM25 score divided by the list's largest absolute value. */
  bm25_norm: number;
  /** Dense score divided by the list's largest absolute value. */
  dense_norm: number;
  /** Contribution of the BM25 list. */
  bm25_part: number;
  /** Contribution of the dense list. */
  dense_part: number;
  /** Rank by BM25 score alone, from 1. */
  bm25_rank: number & Integer & tags.Minimum<1>;
  /** Rank by dense score alone, from 1. */
  dense_rank: number & Integer & tags.Minimum<1>;
  /** The query's terms that the text has; present when the request named an `analyzer` or a `corpus`. */
  terms?: FuseTerm[];
  /** Contribution of each leg, by name; present when the request named `legs`. */
  legs?: { [name: string]: LegExplanation };
  /** Effect of each boost; present when the request named `boosts`. */
  boosts?: BoostExplanation[];
  /** How the result was chosen; present when the request set `diversify`, on the results that it chose. */
  diversify?: DiversifyExplanation;
}

/** One result. */
export interface RankedDoc {
  /** The doc's id as sent. */
  id: string;
  /** The doc's text as sent; "" when the request set `return_text` to false. */
  text: string;
  /** The dense score that was fused. */
  dense_score: number;
  /** BM25 score of the text. */
  bm25_score: number;
  /** The score that orders the results. */
  fused_score: number;
  /** Position from 1. */
  rank: number & Integer & tags.Minimum<1>;
  /** Present when the request set `explain`. */
  explain?: FuseExplanation;
  /**
   * Parts of the text with the query's terms, in the order of the text; if it has none of them, its
   * beginning. Present when the request set `highlight`.
   */
  highlights?: TextFragment[];
}

/** The re-ranked candidates. */
export interface FuseResponse {
  /** The query as sent. */
  query: string;
  /** The method that was used. */
  method: string;
  /** The tokenizer that was used. */
  tokenizer: string;
  /**
   * `caller` when every doc had a dense score, else `model:` and the model's id; `none` where no leg is
   * `dense`.
   */
  dense_source: string;
  /** Results by descending fused score, unless `diversify` chose them; ties in the order of the docs. */
  results: RankedDoc[];
  /** The statistics that BM25 used, where the request named them and they have a version. */
  corpus?: FuseCorpusUsed;
  /** The profile that was used, where the request named one. */
  profile?: FuseProfileUsed;
  /** Present only when there is one. */
  warnings?: FuseWarning[];
}

/** The error of a doc without a dense score if each doc needs one. */
export function scoreMissing(at: number): ValidationError {
  const sentence = 'on_missing_dense is error: every doc needs a dense_score';
  return valueError(['body', 'docs', at, 'dense_score'], sentence, null);
}

/** The error of a dense score that cannot be a distance. */
export function distanceNegative(at: number, score: number): ValidationError {
  const sentence = 'a distance is 0 or more; send inner products as similarities';
  return valueError(['body', 'docs', at, 'dense_score'], sentence, score);
}

/** Errors of dense scores that cannot be distances, or that are missing although each doc needs one. */
function denseFaults(request: FuseRequest): ValidationError[] {
  const { docs, dense_kind: kind, on_missing_dense: missing } = request;
  const errors: ValidationError[] = [];
  for (const [at, { dense_score: score = null }] of docs.entries()) {
    if (errors.length === MAX_ERRORS) break;
    if (score === null && missing === 'error') errors.push(scoreMissing(at));
    else if (score !== null && score < 0 && kind === 'distance') errors.push(distanceNegative(at, score));
  }
  return errors;
}

/** Rules across the members of a request, which hold for a profile's settings too. */
export function fuseRules(request: FuseRequest): ValidationError[] {
  const { weights, entity_map: entityMap, analyzer, tokenizer } = request;
  const errors = [
    ...analyzerFaults(analyzer, tokenizer),
    ...corpusFaults(request.corpus),
    ...learnFaults(request.learn, request.corpus),
    ...denseFaults(request),
    ...weightFaults(request),
  ];
  if (entityMap != null && Object.hasOwn(entityMap, '')) {
    errors.push(valueError(['body', 'entity_map'], 'an empty key matches nothing', entityMap));
  }
  if (weights?.bm25 === 0 && weights.dense === 0) {
    errors.push(valueError(['body', 'weights'], 'bm25 and dense must not both be 0', weights));
  }
  return errors;
}

/** Allowed values of the members of a request, which are those of a profile's settings too. */
export const fuseValues = {
  method: fuseMethods,
  tokenizer: tokenizers,
  stemmer: stemmers,
  on_missing_dense: missingDense,
  dense_kind: denseKinds,
  normalize: legNorms,
  missing: legMissing,
  function: boostFunctions,
  'FuseCollapse.by': collapseBy,
  'FuseDiversify.by': likenessBy,
} as const;

const [requestType, fuseResponseType] = wireTypes(
  typia.json.schemas<[FuseRequest, FuseResponse]>(),
  fuseValues,
);

/** The body of POST /v1/fuse. */
export const fuseRequestType = bodyType(requestType, typia.createIs<FuseRequest>(), {
  rules: fuseRules,
  defaults: fuseDefaults,
  extensions: [
    ...(['weights', 'rrf_k', 'k1', 'b', 'return_text', 'explain', 'analyzer', 'corpus'] as const),
    ...(['on_missing_dense', 'dense_kind', 'min_score'] as const),
    ...(['legs', 'boosts', 'collapse', 'diversify', 'highlight', 'learn', 'profile'] as const),
  ],
});

const fuseRequest: FuseRequest = {
  query: 'waterproof hiking boots',
  docs: [
    { id: 'sku-1042', text: 'Leather hiking boots with a waterproof membrane', dense_score: 0.82 },
    { id: 'sku-2210', text: 'Trail running shoes, light and breathable', dense_score: 0.64 },
    { id: 'sku-0077', text: 'Waterproof spray for boots and jackets', dense_score: 0.58 },
  ],
  top_k: 2,
};

const fuseResponse: FuseResponse = {
  query: 'waterproof hiking boots',
  method: 'maxnorm',
  tokenizer: 'ws',
  dense_source: 'caller',
  results: [
    {
      id: 'sku-1042',
      text: 'Leather hiking boots with a waterproof membrane',
      dense_score: 0.82,
      bm25_score: 0.7335858033881559,
      fused_score: 1,
      rank: 1,
    },
    {
      id: 'sku-0077',
      text: 'Waterproof spray for boots and jackets',
      dense_score: 0.58,
      bm25_score: 0.38512426762992885,
      fused_score: 0.6161528936538814,
      rank: 2,
    },
  ],
};

const failedLine = {
  error: {
    line: 2,
    status: 422,
    detail: [
      { type: 'missing', loc: ['body', 'docs'], msg: 'Field required', input: { query: 'boots' } },
    ] satisfies ValidationError[],
  },
};

/** Longest body of a route that ranks (bytes). */
export const rankingBodyBytes = 32 * mebibyte;

/** Members common to the routes that rank texts of the request. */
export const rankingRoute = {
  method: 'POST',
  part: 'gateway',
  tag: 'fuse',
  keylessAnswerLimit: 64 * mebibyte,
  parameters: { header: keyHeadersType },
  access: 'key',
  problems: {
    ...keyedProblems,
    413: [...keyedProblems[413], 'answer_too_large'],
    429: ['rate_limited', 'queue_full'],
    503: ['no_model', 'embed_timeout', 'embed_failed', 'overloaded', 'store_unavailable'],
  },
  headers: ['server-timing', 'ratelimit', 'ratelimit-policy'],
  cors: false,
  acts: false,
  documented: true,
} as const;

/** The routes POST /v1/fuse and POST /v1/fuse/batch. */
export const fuseRoutes = {
  fuse: {
    ...rankingRoute,
    path: '/v1/fuse',
    summary: 'Re-rank candidates by BM25 and dense similarity',
    description:
      'Scores the candidates with BM25 against the query, normalises the BM25 scores and the dense scores, ' +
      'and orders the candidates by their weighted sum. Statistics come from the docs of the request, ' +
      'unless it sends or names a `corpus`. If any doc has no `dense_score`, a model computes the scores ' +
      'of all docs: of at most 1,000, or of 50 without a key if callers without a key are limited.',
    body: { kind: 'raw', schema: fuseRequestType, other: 'none', limit: rankingBodyBytes },
    answers: { 200: { schema: fuseResponseType, description: 'The re-ranked candidates.' } },
    unprocessable: true,
    example: post('/v1/fuse', fuseRequest, fuseResponse),
  },
  fuseBatch: {
    ...rankingRoute,
    path: '/v1/fuse/batch',
    extension: true,
    summary: 'Re-rank the candidates of many queries',
    description: batchDescription,
    body: { kind: 'lines', schema: fuseRequestType, limit: 4 * mebibyte },
    answers: {
      200: {
        schema: fuseResponseType,
        failedLine: failedLineType,
        description: 'A line for each line sent: the re-ranked candidates, or why there are none.',
      },
    },
    unprocessable: true,
    problems: batchProblems(rankingRoute.problems),
    headers: ['ratelimit', 'ratelimit-policy'],
    example: postLines('/v1/fuse/batch', [fuseRequest, { query: 'boots' }], [fuseResponse, failedLine]),
  },
} as const satisfies ResourceRoutes;
