/** `/v1/corpora/{name}` on the wire: named statistics of collections, for the scores of POST /v1/fuse. */
import typia, { type tags } from 'typia';
import { stemmers } from './analyzer.js';
import { tokenizers } from './fuse.js';
import { keyHeadersType } from './key.js';
import { keyedLookUp, keyedProblems, mebibyte, namedRoute, type ResourceRoutes } from './route.js';
import { ndjson } from './schema/body.js';
import { get, linesOf, remove, type Example } from './schema/route.js';
import type { Integer, MaxCodePoints } from './schema/tags.js';
import { annotated, wireTypes } from './schema/wireType.js';

/** Analyzers for texts that are counted. */
const corpusAnalyzers = ['plain', ...stemmers] as const;

/** The path of the routes. */
export interface CorpusPath {
  /** Name of the statistics: 1 to 64 of A-Z a-z 0-9 . _ -. */
  name: string & MaxCodePoints<64>;
}

/** Query of PUT: how texts become terms. Requests that use the statistics must set the same. */
export interface CorpusQuery {
  /** Tokenizer of the requests. */
  tokenizer?: (typeof tokenizers)[number];
  /** Analyzer of the requests: `plain`, or a language's name. */
  analyzer?: (typeof corpusAnalyzers)[number];
}

/** A version of named statistics. */
export interface CorpusVersion {
  version: number & Integer & tags.Minimum<1>;
  /** Number of docs that were counted. */
  docs: number & Integer & tags.Minimum<1>;
  /** Their mean length in tokens. */
  average_length: number;
  /** Number of their distinct terms. */
  terms: number & Integer & tags.Minimum<0>;
  /** Tokenizer and analyzer that made the terms; `given` where statistics were sent instead of texts. */
  terms_by: string;
  /** RFC 3339 UTC. */
  created_at: string;
  /** True if it was learnt from requests; else absent. */
  learnt?: boolean;
}

/** The sample of docs that the statistics are learnt from. */
export interface CorpusLearning {
  /** Number of docs in it so far. */
  docs: number & Integer & tags.Minimum<0>;
  /** Tokenizer and analyzer that make the terms. */
  terms_by: string;
  /** RFC 3339 UTC. */
  updated_at: string;
}

/** A new version. */
export interface PutCorpusResponse extends CorpusVersion {
  name: string;
}

/** Named statistics. */
export interface CorpusResponse {
  name: string;
  /** True if everybody may use them, not only the key of the request. */
  shared: boolean;
  /** Oldest first; empty until a learnt name has enough docs. */
  versions: CorpusVersion[];
  /** Present where requests with `learn` add docs to the name. */
  learning?: CorpusLearning;
}

/** Statistics that were removed. */
export interface RemovedCorpusResponse {
  name: string;
  removed: true;
}

const [pathType, queryType, putType, corpusType, removedType] = wireTypes(
  typia.json.schemas<[CorpusPath, CorpusQuery, PutCorpusResponse, CorpusResponse, RemovedCorpusResponse]>(),
  { tokenizer: tokenizers, analyzer: corpusAnalyzers },
);
const corpusQueryType = annotated(queryType, { defaults: { tokenizer: 'ws', analyzer: 'plain' } });

const version: CorpusVersion = {
  version: 1,
  docs: 3,
  average_length: 2,
  terms: 4,
  terms_by: 'ws, english',
  created_at: '2026-11-21T09:30:00.000Z',
};

const texts = [{ text: 'Hiking boots' }, 'boots', { id: 'sku-1042', text: 'leather boot, waterproof' }];

/** Members common to these routes. */
const corpusRoute = {
  ...namedRoute,
  path: '/v1/corpora/{name}',
} as const;

/** Longest body of PUT (bytes). */
const corpusBodyBytes = 32 * mebibyte;

/** Further members of the routes without a body. */
const bodyless = {
  parameters: { path: pathType, header: keyHeadersType },
  body: { kind: 'none' },
  problems: { ...keyedLookUp, 404: ['corpus_not_found'] },
} as const;

/** PUT, GET and DELETE /v1/corpora/{name}. */
export const corporaRoutes = {
  putCorpus: {
    ...corpusRoute,
    method: 'PUT',
    summary: 'Count texts for named statistics',
    description:
      'Makes the next version of named statistics, for `corpus: {name}` of POST /v1/fuse. The body has one ' +
      'text per line (NDJSON, `application/x-ndjson`: a string, or an object with a `text`); texts are ' +
      'counted, not stored. Or it has, as `application/json`, the statistics themselves: `docs`, ' +
      '`average_length` and `df`, as in `corpus`. They belong to the API key of the request; if ACCESS is ' +
      '`open`, those of a request without a key are shared. Every worker knows a new version within a ' +
      'second. Bytes of the body are charged as characters. For more texts than fit in a body, use ' +
      '`fusegate corpora put`.',
    parameters: { path: pathType, query: corpusQueryType, header: keyHeadersType },
    reads: ['content-type'],
    body: { kind: 'any', types: [ndjson, 'application/json'], limit: corpusBodyBytes },
    answers: { 200: { schema: putType, description: 'The new version.' } },
    storesFromStrangers: true,
    problems: {
      ...keyedProblems,
      409: ['corpus_limit'],
      503: ['overloaded', 'store_unavailable', 'storage_reserved'],
    },
    example: {
      request: {
        method: 'PUT',
        path: '/v1/corpora/shop?analyzer=english',
        headers: { 'content-type': ndjson },
        body: linesOf(texts),
      },
      response: { status: 200, type: 'application/json', body: { name: 'shop', ...version } },
    } satisfies Example,
  },
  corpus: {
    ...corpusRoute,
    ...bodyless,
    method: 'GET',
    summary: 'The versions of named statistics',
    description: 'The statistics of the request’s API key; if it has none under this name, the shared ones.',
    answers: { 200: { schema: corpusType, description: 'The versions.' } },
    example: get('/v1/corpora/shop', { name: 'shop', shared: true, versions: [version] }),
  },
  removeCorpus: {
    ...corpusRoute,
    ...bodyless,
    method: 'DELETE',
    summary: 'Remove named statistics',
    description:
      'Removes the statistics of the request’s API key with all versions, whose numbers are never used ' +
      'again. Without a key, if ACCESS is `open`, removes the shared ones.',
    answers: { 200: { schema: removedType, description: 'They are removed.' } },
    example: remove('/v1/corpora/shop', { name: 'shop', removed: true }),
  },
} as const satisfies ResourceRoutes;
