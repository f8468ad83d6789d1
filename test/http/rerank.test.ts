/**
 * The rerank interfaces of others over HTTP: errors in their words and with their statuses, and the requests
 * of programs that cannot be installed here, as those programs send them.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { RerankFailure, RerankResponse, VoyageRerankResponse } from '../../src/contract/rerank.js';
import { rerankRoutes } from '../../src/contract/rerank.js';
import type { Handlers } from '../../src/contract/routes.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { native } from '../../src/native/addon.js';
import { rerankHandlers, rerankInfo } from '../../src/search/rerank.js';
import { MemoryKeys, openTiers, shippedTiers, testAccess } from '../support/access.js';
import { noModels, staticMode } from '../support/embedding.js';
import { startServer } from '../support/http.js';
import { exchange, head, post, type RawResponse } from '../support/raw.js';

const keys = new MemoryKeys();
const { key } = keys.issue();

async function serve(tiers = openTiers(), embedMode = staticMode()): Promise<number> {
  const parts = { ...native, access: testAccess({ tiers, keys }) };
  const handlers: Pick<Handlers, keyof typeof rerankRoutes> = {
    ...rerankHandlers({ ...native, embedMode }),
    ...rerankInfo({ embedMode, maxConnections: 8192, version: '0.4.0' }),
  };
  const routes = (Object.keys(rerankRoutes) as (keyof typeof rerankRoutes)[]).map((id) =>
    servedRoute({ ...rerankRoutes[id], id }, handlers[id], parts),
  );
  const limits = { bodyWindowMs: 100, sweepMs: 20 };
  return (await startServer({ routes, limits })).port;
}

const port = await serve();

/** A failure with the members that every one of these interfaces' clients reads. */
function failureOf(response: RawResponse): RerankFailure {
  const failure = JSON.parse(response.body.toString()) as RerankFailure;
  assert.deepEqual(Object.keys(failure), ['id', 'message', 'detail', 'error', 'error_type', 'code']);
  assert.equal(failure.id, response.headers.get('x-request-id'));
  assert.deepEqual([failure.message, failure.error], [failure.detail, failure.detail]);
  assert.match(failure.detail, /./);
  return failure;
}

const d = '"documents":["a","b"]';
const q = '"query":"a"';
const cohere = ['/v2/rerank', '/v1/rerank', '/voyage/v1/rerank'] as const;

/** Path, body, status, and what the sentence says. */
const wrong: readonly (readonly [string, string, number, RegExp])[] = [
  ...cohere.flatMap((path) => [
    [path, '', 400, /not JSON \(syntax at byte 0\)/] as const,
    [path, '{', 400, /not JSON \(syntax at byte 1\)/] as const,
    [path, `{${q},${d}`, 400, /not JSON/] as const,
    [path, `{${q},${d}}}`, 400, /not JSON/] as const,
    [path, `{${q},"documents":["a",]}`, 400, /not JSON/] as const,
    [path, `{'query':'a'}`, 400, /not JSON/] as const,
    [path, '[]', 400, /must be a JSON object/] as const,
    [path, '"query"', 400, /must be a JSON object/] as const,
    [path, '{}', 400, /query is required/] as const,
    [path, `{${d}}`, 400, /query is required/] as const,
    [path, `{${q}}`, 400, /documents is required/] as const,
    [path, `{${q},"texts":["a"]}`, 400, /documents is required/] as const,
    [path, `{${q},"documents":[]}`, 400, /list of documents must not be empty/] as const,
    [path, `{${q},"documents":"a"}`, 400, /documents must be a list/] as const,
  ]),
  ['/v2/rerank', `{"query":null,${d}}`, 400, /query must be a string/],
  ['/v2/rerank', `{"query":["a"],${d}}`, 400, /query must be a string/],
  ['/v2/rerank', `{${q},"documents":null}`, 400, /documents must be a list/],
  ['/v2/rerank', `{${q},"documents":{"0":"a"}}`, 400, /documents must be a list/],
  ['/v2/rerank', `{${q},"documents":["a",1]}`, 400, /documents\[1\] must be a string/],
  ['/v2/rerank', `{${q},"documents":[null]}`, 400, /documents\[0\] must be a string/],
  ['/v1/rerank', `{${q},"documents":[{"title":"a"}]}`, 400, /documents\[0\] must be a string, or an object/],
  ['/v1/rerank', `{${q},"documents":[{"text":1}]}`, 400, /documents\[0\]/],
  ['/v1/rerank', `{${q},"documents":["a",["b"]]}`, 400, /documents\[1\]/],
  ['/v2/rerank', `{${q},${d},"top_n":-1}`, 400, /top_n must be a whole number/],
  ['/v2/rerank', `{${q},${d},"top_n":1.5}`, 400, /top_n must be a whole number/],
  ['/v2/rerank', `{${q},${d},"top_n":"many"}`, 400, /top_n must be a whole number/],
  ['/v1/rerank', `{${q},${d},"top_k":[1]}`, 400, /top_k must be a whole number/],
  ['/v1/rerank', `{${q},${d},"return_documents":"maybe"}`, 400, /return_documents must be true or false/],
  ['/v1/rerank', `{${q},${d},"return_documents":2}`, 400, /return_documents must be true or false/],
  ['/v2/rerank', `{${q},${d},"model":3}`, 400, /model must be a string/],
  ['/v2/rerank', `{${q},${d},"model":["m"]}`, 400, /model must be a string/],
  ['/voyage/v1/rerank', `{${q},${d},"top_k":{}}`, 400, /top_k must be a whole number/],
  ['/rerank', '', 400, /not JSON/],
  ['/rerank', '{}', 400, /query is required/],
  ['/rerank', `{${q}}`, 400, /documents is required/],
  ['/rerank', `{${q},"documents":[]}`, 400, /list of documents must not be empty/],
  ['/rerank', `{${q},"texts":[]}`, 400, /list of texts must not be empty/],
  ['/rerank', '{"texts":["a"]}', 422, /query is required/],
  ['/rerank', `{${q},"texts":"a"}`, 422, /texts must be a list/],
  ['/rerank', `{${q},"texts":["a",2]}`, 422, /texts\[1\] must be a string/],
  ['/rerank', `{${q},"texts":["a"],"return_text":"x"}`, 422, /return_text must be true or false/],
  ['/rerank', `{${q},"texts":["a"],"raw_scores":[]}`, 422, /raw_scores must be true or false/],
  ['/rerank', `{"query":7,"texts":["a"]}`, 422, /query must be a string/],
];

test('60 wrong bodies and more get the status of their interface and a sentence', async () => {
  assert.ok(wrong.length >= 60, String(wrong.length));
  for (const [path, body, status, sentence] of wrong) {
    const response = await exchange(port, post(path, body));
    assert.equal(response.status, status, `${path} ${body}: ${response.body.toString()}`);
    const { detail, code, error_type: type } = failureOf(response);
    assert.match(detail, sentence, `${path} ${body}`);
    assert.match(detail, /^invalid request: .*\.$/);
    const empty = /must not be empty/.test(detail);
    assert.deepEqual([code, type], empty ? ['no_documents', 'empty'] : ['invalid_request', 'validation']);
  }
});

test('lone surrogates, deep nesting and invalid UTF-8 are not JSON, wherever they are', async () => {
  const deep = `{${q},${d},"x":${'['.repeat(130)}${']'.repeat(130)}}`;
  const surrogate = `{${q},"documents":["\\ud800"]}`;
  const request = Buffer.concat([
    Buffer.from(head('POST', '/v2/rerank', { 'Content-Length': '3', 'Content-Type': 'application/json' })),
    Uint8Array.of(0x22, 0xff, 0x22),
  ]);
  for (const sent of [post('/v2/rerank', deep), post('/v2/rerank', surrogate), request]) {
    const response = await exchange(port, sent);
    assert.equal(response.status, 400);
    assert.match(failureOf(response).detail, /the body is not JSON/);
  }
});

describe('failures before a body is read', () => {
  const good = `{${q},${d}}`;

  test('401, 413, 415, 405, 408, a media type', async () => {
    for (const path of [...cohere, '/rerank']) {
      const cases: readonly (readonly [string | Uint8Array, number, string, string])[] = [
        [post(path, good, { Authorization: 'Bearer fg_x' }), 401, 'invalid_api_key', 'unauthorized'],
        [post(path, good, { 'X-API-Key': 'x' }), 401, 'invalid_api_key', 'unauthorized'],
        [
          post(path, good, { 'X-API-Key': key, Authorization: 'fg_other' }),
          401,
          'invalid_api_key',
          'unauthorized',
        ],
        [
          head('POST', path, { 'Content-Length': String((32 << 20) + 1) }),
          413,
          'body_too_large',
          'validation',
        ],
        [post(path, good, { 'Content-Encoding': 'gzip' }), 415, 'unsupported_encoding', 'validation'],
        [post(path, good, { 'Content-Type': 'text/plain' }), 400, 'invalid_request', 'validation'],
        [head('GET', path), 405, 'method_not_allowed', 'validation'],
        [head('POST', path, { 'Content-Length': '9' }), 408, 'body_timeout', 'validation'],
      ];
      for (const [request, status, code, type] of cases) {
        const response = await exchange(port, request);
        assert.equal(response.status, status, response.body.toString());
        const failure = failureOf(response);
        assert.deepEqual([failure.code, failure.error_type], [code, type]);
      }
    }
  });

  test('429 with Retry-After, and 503 of a server without a model', async () => {
    const anonymous = { requests_per_minute: 1, characters_per_month: 0 };
    const limited = await serve({ ...shippedTiers(), anonymous });
    assert.equal((await exchange(limited, post('/v2/rerank', good))).status, 200);
    const refused = await exchange(limited, post('/v2/rerank', good));
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get('retry-after') ?? '', /^(59|60)$/);
    assert.deepEqual(
      [failureOf(refused).code, failureOf(refused).error_type],
      ['rate_limited', 'overloaded'],
    );
    const without = await exchange(await serve(openTiers(), noModels()), post('/rerank', good));
    assert.equal(without.status, 503);
    assert.deepEqual([failureOf(without).code, failureOf(without).error_type], ['no_model', 'backend']);
  });

  test('a chunked body gets the same answers', async () => {
    const chunked = head('POST', '/v2/rerank', {
      'Transfer-Encoding': 'chunked',
      'Content-Type': 'application/json',
    });
    const response = await exchange(port, `${chunked}2\r\n{}\r\n0\r\n\r\n`);
    assert.equal(response.status, 400);
    assert.match(failureOf(response).detail, /query is required/);
  });
});

test('placeholder tokens do not count as keys, and real keys do', async () => {
  const limited = await serve({
    ...shippedTiers(),
    anonymous: { requests_per_minute: 5, characters_per_month: 0 },
  });
  const body = `{${q},"documents":[${Array.from({ length: 51 }, () => '"a"').join()}]}`;
  for (const token of ['Bearer x', 'Bearer fake-api-key', 'Bearer ', 'x']) {
    const response = await exchange(limited, post('/v1/rerank', body, { Authorization: token }));
    assert.equal(response.status, 400, 'more than 50 documents need a key');
  }
  for (const token of [`Bearer ${key}`, key]) {
    const response = await exchange(limited, post('/v1/rerank', body, { Authorization: token }));
    assert.equal(response.status, 200, response.body.toString());
  }
});

describe('requests as programs send them', () => {
  const query = 'How do I reset my password?';
  const texts = ['Bread rises in an hour.', 'Reset a password in the settings.', ''];
  const best = 1;

  async function ask<Shape>(path: string, body: object, fields: Readonly<Record<string, string>> = {}) {
    const response = await exchange(port, post(path, JSON.stringify(body), fields));
    assert.equal(response.status, 200, response.body.toString());
    return JSON.parse(response.body.toString()) as Shape;
  }

  test('Open WebUI: every index, sorted by it afterwards, with an empty bearer token', async () => {
    const body = { model: 'reranker', query, documents: texts, top_n: texts.length };
    const { results } = await ask<RerankResponse>('/v1/rerank', body, { Authorization: 'Bearer ' });
    const scores = results.sort((a, b) => a.index - b.index).map(({ relevance_score: score }) => score);
    assert.equal(scores.length, texts.length);
    assert.equal(scores.indexOf(Math.max(...scores)), best);
  });

  test('Dify: OpenAI-compatible, Cohere, Jina, Voyage, text-embeddings-inference', async () => {
    const compatible = { model: 'reranker', query, documents: texts, top_n: 0 };
    assert.equal((await ask<RerankResponse>('/v1/rerank', compatible)).results.length, texts.length);
    const cohereBody = { query, documents: texts, model: 'rerank-v3.5', top_n: 2, return_documents: true };
    const { results } = await ask<RerankResponse>('/v1/rerank', cohereBody, { Authorization: 'Bearer x' });
    assert.deepEqual([results.length, results[0]?.document?.text], [2, texts[best]]);
    const jina = { model: 'jina-reranker-v2-base-multilingual', query, documents: texts, top_n: null };
    for (const path of ['/rerank', '/v1/rerank']) {
      const answer = await ask<RerankResponse>(path, jina);
      assert.deepEqual([answer.results[0]?.index, answer.results[0]?.document], [best, undefined]);
    }
    const voyage = { model: 'rerank-2', query, documents: texts, top_k: 2, return_documents: true };
    const { data, usage } = await ask<VoyageRerankResponse>('/v1/rerank', voyage);
    assert.deepEqual([data[0]?.document, data.length, usage.total_tokens > 0], [texts[best], 2, true]);
    const info = await exchange(port, head('GET', '/info'));
    const described = JSON.parse(info.body.toString()) as { model_type: object };
    assert.deepEqual(Object.keys(described.model_type), ['reranker']);
    const tei = { query, texts, return_text: true, truncate: true, raw_scores: false };
    const array = await ask<{ index: number; text: string; score: number }[]>('/rerank', tei);
    assert.deepEqual([array[0]?.text, array.length], [texts[best], texts.length]);
  });

  test('RAGFlow: Jina and compatible servers, Xinference with booleans as strings', async () => {
    const jina = { model: 'jina-reranker-v2', query, documents: texts, top_n: texts.length };
    const answer = await ask<RerankResponse>('/v1/rerank', jina, { Authorization: 'Bearer key' });
    assert.ok(answer.usage.total_tokens > 0);
    const xinference = {
      ...{ model: 'bge-reranker', query, documents: texts },
      ...{ return_documents: 'true', return_len: 'true' },
    };
    const { results, meta } = await ask<RerankResponse>('/v1/rerank', xinference);
    assert.deepEqual([results.length, results[0]?.document], [texts.length, { text: texts[best] }]);
    assert.deepEqual(meta.warnings, [
      'No model bge-reranker is installed here: static-256 made the scores.',
      'return_len is not known here, and was ignored.',
    ]);
  });

  test('Elasticsearch, inference service custom: its JSON paths find indexes and scores', async () => {
    const { results } = await ask<RerankResponse>('/v1/rerank', {
      model: 'fusegate',
      query,
      documents: texts,
    });
    const [indexes, scores] = [
      results.map(({ index }) => index),
      results.map(({ relevance_score: score }) => score),
    ];
    assert.deepEqual([...indexes].sort(), [0, 1, 2]);
    assert.ok(scores.every((score) => score >= 0 && score <= 1));
  });

  test('OpenSearch, the connector for Cohere, and infinity', async () => {
    const connector = { documents: texts, query, model: 'fusegate', top_n: 2 };
    assert.equal((await ask<RerankResponse>('/v1/rerank', connector)).results[0]?.index, best);
    const infinity = {
      query,
      documents: texts,
      return_documents: false,
      raw_scores: false,
      model: 'm',
      top_n: 3,
    };
    assert.equal((await ask<RerankResponse>('/rerank', infinity)).results[0]?.index, best);
  });
});

describe('the pages of programs', () => {
  const pages = ['elasticsearch', 'opensearch', 'open-webui', 'dify', 'ragflow'];
  const textOf = (page: string): string => readFileSync(`docs/${page}.md`, 'utf8');

  /** Requests of a page, each with the answer that it shows. */
  function shown(page: string) {
    const pattern = /^```http\n(.*?)\n\n(.*?)\n```\n.*?^```json\n(.*?)```/gms;
    return [...textOf(page).matchAll(pattern)].map(([, lines = '', body = '', answer = '']) => {
      const [target = '', ...fields] = lines.split('\n');
      const named = fields.map((field) => field.split(': ') as [string, string]);
      return { path: target.replace('POST ', ''), fields: Object.fromEntries(named), body, answer };
    });
  }

  for (const page of pages) {
    test(`${page}: each request gets the answer shown`, async () => {
      const requests = shown(page);
      assert.equal(requests.length, page === 'dify' ? 4 : page === 'ragflow' ? 2 : 1);
      for (const { path, fields, body, answer } of requests) {
        const response = await exchange(port, post(path, body, fields));
        assert.equal(response.status, 200, response.body.toString());
        const found = JSON.parse(response.body.toString()) as { id?: string };
        if (found.id !== undefined) found.id = 'request';
        assert.deepEqual(found, JSON.parse(answer), `${page} ${path}: ${JSON.stringify(found)}`);
      }
    });
  }

  test('templates filled in as Elasticsearch and OpenSearch do it give the requests shown', () => {
    const parameters = ['documents', 'query', 'model', 'top_n'];
    const templates = [
      ['elasticsearch', /"request": (".*")/, { query: 'query', input: 'documents' }],
      [
        'opensearch',
        /"request_body": (".*")/,
        Object.fromEntries(parameters.map((name) => [`parameters.${name}`, name])),
      ],
    ] as const;
    for (const [page, pattern, members] of templates) {
      const [, quoted = ''] = pattern.exec(textOf(page)) ?? [];
      const [request] = shown(page);
      assert.ok(request !== undefined);
      const values = JSON.parse(request.body) as Readonly<Record<string, unknown>>;
      let filled = JSON.parse(quoted) as string;
      for (const [name, member] of Object.entries(members)) {
        const written = JSON.stringify(values[member]);
        // A template that has the quotes itself takes a string without them.
        filled = filled.replace(`"\${${name}}"`, written).replace(`\${${name}}`, written);
      }
      assert.deepEqual(JSON.parse(filled), values);
    }
  });
});
