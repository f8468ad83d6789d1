/**
 * Rerank interfaces of other services on the wire: Cohere v1 and v2, Jina, vLLM, Voyage,
 * text-embeddings-inference. Their clients work once they are given another address. The native module reads
 * the bodies, more leniently than these types, which are for the documents.
 */
import typia, { type tags } from 'typia';
import type { Answer } from './exchange.js';
import { rankingBodyBytes, rankingRoute } from './fuse.js';
import type { ProblemCode } from './problem.js';
import { information, read, type ResourceRoutes } from './route.js';
import { get, post } from './schema/route.js';
import type { Integer } from './schema/tags.js';
import type { ValidationError } from './schema/validation.js';
import { annotated, wireTypes } from './schema/wireType.js';

/** Documents to rank by their relevance to a query. */
export interface RerankRequest {
  /** The user's query text. */
  query: string;
  /** The documents: strings, or objects with `text`. */
  documents: string[] & tags.MinItems<1>;
  /** An installed model; for any other name the default one is used, with a warning. */
  model?: string | null;
  /** Number of results to return; null, 0 or absent: all. */
  top_n?: (number & Integer & tags.Minimum<0>) | null;
  /** True: each result has its document. */
  return_documents?: boolean | null;
}

/** As RerankRequest, with Voyage's names. */
export interface VoyageRerankRequest {
  /** The user's query text. */
  query: string;
  /** The documents. */
  documents: string[] & tags.MinItems<1>;
  /** An installed model; for any other name the default one is used, with a warning. */
  model?: string | null;
  /** Number of results to return; null, 0 or absent: all. */
  top_k?: (number & Integer & tags.Minimum<0>) | null;
  /** True: each result has its document. */
  return_documents?: boolean | null;
}

/** The request of text-embeddings-inference (`texts`), or that of RerankRequest (`documents`). */
export interface BareRerankRequest {
  /** The user's query text. */
  query: string;
  /** The documents of text-embeddings-inference; the answer is then an array of `{index, score, text?}`. */
  texts?: string[] & tags.MinItems<1>;
  /** True: each item of that array has its text. */
  return_text?: boolean | null;
  /** True: fused scores as they are, possibly negative; otherwise they are clamped to 0 to 1. */
  raw_scores?: boolean | null;
  /** The documents of RerankRequest. */
  documents?: string[] & tags.MinItems<1>;
  /** As in RerankRequest. */
  top_n?: (number & Integer & tags.Minimum<0>) | null;
}

/** A document of a result. */
export interface RerankDocument {
  /** Its text as sent. */
  text: string;
}

/** Index and score of one document. */
export interface RerankResult {
  /** Index in `documents`, from 0. */
  index: number & Integer & tags.Minimum<0>;
  /** 0 to 1, descending. */
  relevance_score: number;
  /** Present when asked for; a document that was sent as an object is returned as that object. */
  document?: RerankDocument;
}

/** The interface's version. */
export interface RerankVersion {
  version: string;
  is_experimental: boolean;
}

/** Search units as Cohere counts them; nothing is billed. */
export interface RerankUnits {
  /** One for each 100 documents, rounded up. */
  search_units: number & Integer;
}

/** Number of words that were read. */
export interface RerankTokens {
  /** Words of the documents, and those of the query once for each document. */
  input_tokens: number & Integer;
  output_tokens: number & Integer;
}

/** Notes on an answer. */
export interface RerankMeta {
  api_version: RerankVersion;
  billed_units: RerankUnits;
  tokens: RerankTokens;
  /** Members that were ignored, and reasons why the ranking may be weak. Absent where there are none. */
  warnings?: string[];
}

/** Cohere's answer in version 2. */
export interface RerankV2Response {
  /** The request's id. */
  id: string;
  results: RerankResult[];
  meta: RerankMeta;
}

/** Number of words that were read. */
export interface RerankUsage {
  /** Words of the documents, and those of the query once for each document. */
  total_tokens: number & Integer;
  /** The same as `total_tokens`. */
  prompt_tokens?: number & Integer;
}

/** The answer of Cohere version 1, Jina and vLLM, with the members of all three. */
export interface RerankResponse {
  /** The request's id. */
  id: string;
  /** The model that computed the scores. */
  model: string;
  results: RerankResult[];
  usage: RerankUsage;
  meta: RerankMeta;
}

/** Index and score of one document, with Voyage's names. */
export interface VoyageRerankResult {
  /** Index in `documents`, from 0. */
  index: number & Integer & tags.Minimum<0>;
  /** 0 to 1, descending. */
  relevance_score: number;
  /** The text as sent; present when asked for. */
  document?: string;
}

/** Voyage's answer. */
export interface VoyageRerankResponse {
  object: 'list';
  data: VoyageRerankResult[];
  /** The model that computed the scores. */
  model: string;
  usage: RerankUsage;
  meta: RerankMeta;
}

/** A failure with the members of all these interfaces. */
export interface RerankFailure {
  /** The request's id. */
  id: string;
  /** The fault and its remedy, as a sentence. */
  message: string;
  /** The same sentence. */
  detail: string;
  /** The same sentence. */
  error: string;
  /** The kind of failure, as text-embeddings-inference names it. */
  error_type: 'validation' | 'empty' | 'unauthorized' | 'overloaded' | 'unhealthy' | 'backend';
  /** One of a closed list. */
  code: string;
}

/** The one label of a reranker. */
export interface RerankerLabels {
  id2label: { [id: string]: string };
  label2id: { [label: string]: number & Integer };
}

/** The type of the served model. */
export interface RerankerType {
  reranker: RerankerLabels;
}

/** `GET /info` in the form of text-embeddings-inference. */
export interface RerankerInfo {
  /** The model of requests that name none; "" where no model is installed. */
  model_id: string;
  /** SHA-256 of the model's description. */
  model_sha: string | null;
  model_dtype: string;
  served_model_name: string;
  model_type: RerankerType;
  /** Most connections of a worker. */
  max_concurrent_requests: number & Integer;
  /** Most tokens of a text that the model reads. */
  max_input_length: number & Integer;
  max_batch_tokens: number & Integer;
  max_batch_requests: (number & Integer) | null;
  /** Most documents of a request with a key. */
  max_client_batch_size: number & Integer;
  /** Longer texts are cut, and an answer says so. */
  auto_truncate: boolean;
  tokenization_workers: number & Integer;
  version: string;
  sha: string | null;
  docker_label: string | null;
}

/** An installed model. */
export interface ModelEntry {
  id: string;
  object: 'model';
  owned_by: string;
}

/** `GET /v1/models`. */
export interface ModelList {
  object: 'list';
  data: ModelEntry[];
}

const [requestType, voyageRequestType, bareRequestType] = wireTypes(
  typia.json.schemas<[RerankRequest, VoyageRerankRequest, BareRerankRequest]>(),
);
const [v2ResponseType, responseType, voyageResponseType, failureType, infoType, modelListType] = wireTypes(
  typia.json.schemas<
    [RerankV2Response, RerankResponse, VoyageRerankResponse, RerankFailure, RerankerInfo, ModelList]
  >(),
);

function errorType(status: number, code: string): RerankFailure['error_type'] {
  if (code === 'no_documents') return 'empty';
  if (status === 401) return 'unauthorized';
  if (status === 429) return 'overloaded';
  if (status < 500) return 'validation';
  return status === 503 && code !== 'no_model' && code !== 'embed_failed' ? 'unhealthy' : 'backend';
}

/** A failure's body. `id`: the request's id. */
function rerankFailure(status: number, detail: string, code: string, id: string): RerankFailure {
  return { id, message: detail, detail, error: detail, error_type: errorType(status, code), code };
}

/** Members of failures elsewhere in Fusegate: a sentence and usually a code, or a list of errors. */
interface Plain {
  readonly detail: string | readonly ValidationError[];
  readonly code?: string;
}

/** Codes of failures that have no code elsewhere. */
const otherCodes: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  404: 'not_found',
  405: 'method_not_allowed',
  500: 'internal_error',
};

/** A failure of Fusegate in the form of these interfaces. None of them has a list of errors. */
function inTheirWords(answer: Answer, id: string): Answer {
  const { body } = answer;
  const plain = ('json' in body ? body.json : JSON.parse(Buffer.from(body.bytes).toString())) as Plain;
  const listed = typeof plain.detail === 'string' ? undefined : plain.detail[0];
  const status = listed === undefined ? answer.status : 400;
  const sentence =
    typeof plain.detail === 'string'
      ? plain.detail
      : `invalid request: ${listed?.loc.join('.') ?? 'body'}: ${listed?.msg ?? 'it does not fit'}.`;
  const code = plain.code ?? otherCodes[status] ?? 'error';
  return { ...answer, status, body: { json: rerankFailure(status, sentence, code, id) } };
}

/** How the failures of these routes are written and documented. */
const failure = {
  schema: failureType,
  write: inTheirWords,
  example: (status: number, detail: string, code: string) => rerankFailure(status, detail, code, 'request'),
} as const;

const invalid = ['invalid_request', 'no_documents'] as const satisfies readonly ProblemCode[];

const rerankRoute = {
  ...rankingRoute,
  unprocessable: false,
  failure,
  extension: true,
  problems: { ...rankingRoute.problems, 400: invalid },
} as const;

function bodyOf(type: typeof requestType) {
  const extensions = Object.keys(type.schema.properties ?? {});
  const described = annotated(type, { extensions });
  return { kind: 'own', described, other: 'none', limit: rankingBodyBytes } as const;
}

const order =
  'Each document is scored by BM25 over the documents of the request and by the model, and both lists are ' +
  'fused as in `/v1/fuse`. Scores lie between 0 and 1; every document is in the answer unless `top_n` cuts ' +
  'it. `meta.warnings` names members that were ignored. ';

const documents = [
  'Carson City is the capital of Nevada.',
  'Washington, D.C. is the capital of the United States.',
];
const query = 'capital of the United States';

const meta: RerankMeta = {
  api_version: { version: '1', is_experimental: false },
  billed_units: { search_units: 1 },
  tokens: { input_tokens: 27, output_tokens: 0 },
};
const results: RerankResult[] = [
  { index: 1, relevance_score: 1 },
  { index: 0, relevance_score: 0.5049241417957789 },
];

const information2 = { ...information, ...read, extension: true } as const;

/** Routes of the rerank interfaces of other services. */
export const rerankRoutes = {
  rerankV2: {
    ...rerankRoute,
    path: '/v2/rerank',
    summary: 'Re-rank documents as Cohere (version 2) does',
    description: `${order}Cohere clients need only another base URL and any token.`,
    body: bodyOf(requestType),
    answers: { 200: { schema: v2ResponseType, description: 'Indexes and scores, best first.' } },
    example: post(
      '/v2/rerank',
      { model: 'static-256', query, documents },
      { id: 'request', results, meta: { ...meta, api_version: { version: '2', is_experimental: false } } },
    ),
  },
  rerankV1: {
    ...rerankRoute,
    path: '/v1/rerank',
    summary: 'Re-rank documents as Cohere (version 1), Jina and vLLM do',
    description: `${order}A request with \`top_k\`, even null, gets Voyage's answer.`,
    body: bodyOf(requestType),
    answers: { 200: { schema: responseType, description: 'Indexes and scores, best first.' } },
    example: post(
      '/v1/rerank',
      { model: 'static-256', query, documents, top_n: 1, return_documents: true },
      {
        id: 'request',
        model: 'static-256',
        results: [{ index: 1, relevance_score: 1, document: { text: documents[1] } }],
        usage: { total_tokens: 27, prompt_tokens: 27 },
        meta,
      },
    ),
  },
  rerank: {
    ...rerankRoute,
    path: '/rerank',
    summary: 'Re-rank documents as text-embeddings-inference does',
    description:
      `${order}With \`texts\` the answer is that of text-embeddings-inference, an array of ` +
      '`{index, score, text?}`, and an invalid body gets 422; otherwise the route works like `/v1/rerank`.',
    body: bodyOf(bareRequestType),
    problems: { ...rerankRoute.problems, 422: ['invalid_request'] },
    answers: {
      200: { schema: responseType, description: 'Indexes and scores, best first; an array for `texts`.' },
    },
    example: post(
      '/rerank',
      { query, documents },
      { id: 'request', model: 'static-256', results, usage: { total_tokens: 27, prompt_tokens: 27 }, meta },
    ),
  },
  rerankVoyage: {
    ...rerankRoute,
    path: '/voyage/v1/rerank',
    summary: 'Re-rank documents as Voyage does',
    description: `${order}For Voyage clients that do not send \`top_k\`.`,
    body: bodyOf(voyageRequestType),
    answers: { 200: { schema: voyageResponseType, description: 'Indexes and scores, best first.' } },
    example: post(
      '/voyage/v1/rerank',
      { model: 'static-256', query, documents },
      { object: 'list', data: results, model: 'static-256', usage: { total_tokens: 27 }, meta },
    ),
  },
  rerankerInfo: {
    ...information2,
    path: '/info',
    tag: 'fuse',
    summary: 'The reranker as text-embeddings-inference describes it',
    description: 'Programs that call text-embeddings-inference ask this route whether a reranker runs here.',
    answers: { 200: { schema: infoType, description: 'The model of requests that name none.' } },
    example: get('/info', {
      model_id: 'static-256',
      model_sha: '0'.repeat(64),
      model_dtype: 'float32',
      served_model_name: 'static-256',
      model_type: { reranker: { id2label: { '0': 'LABEL_0' }, label2id: { LABEL_0: 0 } } },
      max_concurrent_requests: 8192,
      max_input_length: 512,
      max_batch_tokens: 512000,
      max_batch_requests: null,
      max_client_batch_size: 1000,
      auto_truncate: true,
      tokenization_workers: 1,
      version: '0.4.0',
      sha: null,
      docker_label: null,
    } satisfies RerankerInfo),
  },
  models: {
    ...information2,
    path: '/v1/models',
    tag: 'fuse',
    summary: 'The installed models',
    description: 'Names that `model` and `embed_model` accept.',
    answers: { 200: { schema: modelListType, description: 'The models.' } },
    example: get('/v1/models', {
      object: 'list',
      data: [{ id: 'static-256', object: 'model', owned_by: 'fusegate' }],
    } satisfies ModelList),
  },
} as const satisfies ResourceRoutes;
