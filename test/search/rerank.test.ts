/**
 * The rerank interfaces of others: the same order and scores as POST /v1/fuse for the same texts, in the form
 * of each interface, whichever habit of their clients a body has.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import type { FuseResponse } from '../../src/contract/fuse.js';
import type { RerankResponse, RerankV2Response, VoyageRerankResponse } from '../../src/contract/rerank.js';
import { native } from '../../src/native/addon.js';
import { fuseHandler, LOOP_BODY_LIMIT } from '../../src/search/fuse.js';
import { rerankHandlers, rerankInfo } from '../../src/search/rerank.js';
import { style, writeBody } from '../support/bodies.js';
import { answered, noModels, requestWith, staticMode } from '../support/embedding.js';

const embedMode = staticMode();
const fuse = fuseHandler({ ...native, embedMode });
const rerank = rerankHandlers({ ...native, embedMode });
type Path = keyof typeof rerank;

function bytes(body: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(body));
}

function ask(path: Path, body: unknown, key = 'fg_x'): Answer | Promise<Answer> {
  return rerank[path](requestWith(bytes(body), key));
}

async function answerOf<Shape>(path: Path, body: unknown): Promise<Shape> {
  const answer = await ask(path, body);
  assert.equal(answer.status, 200, JSON.stringify(answered(answer)));
  return answered(answer) as Shape;
}

/** The order and the scores of POST /v1/fuse for the same texts. */
async function fused(query: string, documents: readonly string[]): Promise<[number, number][]> {
  const tokenizer = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}]/u.test(query) ? 'ngram' : 'ws';
  const docs = documents.map((text, at) => ({ id: String(at), text }));
  const body = bytes({ query, docs, tokenizer, embed_model: 'static-256' });
  const { results } = answered(await fuse(requestWith(body, 'fg_x'))) as FuseResponse;
  return results.map(({ id, fused_score: score }) => [Number(id), Math.min(1, Math.max(0, score))]);
}

const word = fc.constantFrom('red', 'fox', 'river', 'bank', 'capital', 'Nevada', 'naïve', '狐', '🦊', 'a');
const text = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(' '));

test('order and scores are those of /v1/fuse, on every path and however the body is written', async () => {
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.array(text, { minLength: 1, maxLength: 12 }),
      style,
      async (query, documents, how) => {
        const expected = await fused(query, documents);
        // A document counts for 16 characters at least, as a doc of /v1/fuse does.
        const lengths = documents.map((document) => Math.max(16, Array.from(document).length));
        const charged = lengths.reduce((sum, length) => sum + length, Array.from(query).length);
        const paths = ['rerankV2', 'rerankV1', 'rerank'] as const;
        for (const path of paths) {
          const body = writeBody({ query, documents }, how);
          const answer = await rerank[path](requestWith(body, 'fg_x'));
          const { results } = answered(answer) as RerankV2Response;
          assert.deepEqual(
            results.map(({ index, relevance_score: score }) => [index, score]),
            expected,
            path,
          );
          assert.equal(answer.charge, charged);
        }
        const voyage = await answerOf<VoyageRerankResponse>('rerankVoyage', { query, documents });
        assert.deepEqual(
          voyage.data.map(({ index, relevance_score: score }) => [index, score]),
          expected,
        );
        const tei = await answerOf<{ index: number; score: number }[]>('rerank', { query, texts: documents });
        assert.deepEqual(
          tei.map(({ index, score }) => [index, score]),
          expected,
        );
      },
    ),
    { seed: 20_261_122, numRuns: 300 },
  );
});

const query = 'capital of the United States';
const documents = [
  'Carson City is the capital of Nevada.',
  'Washington, D.C. is the capital of the United States.',
  'Bread rose in price.',
];

describe('shapes', () => {
  test('Cohere, version 2', async () => {
    const answer = await answerOf<RerankV2Response>('rerankV2', { model: 'static-256', query, documents });
    const { results, ...rest } = answer;
    assert.deepEqual(rest, {
      id: 'test',
      meta: {
        api_version: { version: '2', is_experimental: false },
        billed_units: { search_units: 1 },
        tokens: { input_tokens: 36, output_tokens: 0 },
      },
    });
    assert.deepEqual(
      results.map((result) => Object.keys(result)),
      documents.map(() => ['index', 'relevance_score']),
    );
  });

  test('Cohere version 1, Jina and vLLM in one; documents are returned as they came', async () => {
    const objects = [documents[0], { text: documents[1], title: 'DC', 'n"': [1] }, { text: 'x' }];
    const body = { query, documents: objects, return_documents: true };
    for (const path of ['rerankV1', 'rerank'] as const) {
      const answer = await answerOf<RerankResponse>(path, body);
      assert.equal(answer.model, 'static-256');
      assert.equal(answer.meta.api_version.version, '1');
      assert.ok(answer.usage.total_tokens > 0);
      assert.equal(answer.usage.prompt_tokens, answer.usage.total_tokens);
      for (const { index, document } of answer.results) {
        const sent = objects[index];
        assert.deepEqual(document, typeof sent === 'string' ? { text: sent } : sent);
      }
    }
  });

  test('Voyage, by top_k at /v1/rerank and always at /voyage/v1/rerank', async () => {
    const body = { query, documents, top_k: null, truncation: true, return_documents: true };
    const answer = await answerOf<VoyageRerankResponse>('rerankV1', body);
    assert.deepEqual(Object.keys(answer), ['object', 'data', 'model', 'usage', 'meta']);
    assert.equal(answer.object, 'list');
    for (const { index, document } of answer.data) assert.equal(document, documents[index]);
    assert.deepEqual(await answerOf<VoyageRerankResponse>('rerank', body), answer);
    const without = { query, documents, return_documents: true };
    assert.deepEqual(await answerOf<VoyageRerankResponse>('rerankVoyage', without), answer);
    const two = await answerOf<VoyageRerankResponse>('rerankV1', { ...without, top_k: 2 });
    assert.deepEqual(two.data, answer.data.slice(0, 2));
  });

  test('text-embeddings-inference: an array, with texts when asked', async () => {
    const body = { query, texts: documents, return_text: true, truncate: true };
    const answer = await answerOf<{ index: number; score: number; text: string }[]>('rerank', body);
    assert.deepEqual(answer.map(({ index }) => index).sort(), [0, 1, 2]);
    for (const { index, text: back } of answer) assert.equal(back, documents[index]);
    const bare = await answerOf<object[]>('rerank', { query, texts: documents });
    assert.deepEqual(Object.keys(bare[0] ?? {}), ['index', 'score']);
  });

  test('raw scores go below 0, others do not', async () => {
    const texts = ['red fox', 'Kubernetes ingress', 'quarterly earnings call'];
    const asked = { query: 'red fox', texts };
    const raw = await answerOf<{ score: number }[]>('rerank', { ...asked, raw_scores: true });
    const cut = await answerOf<{ score: number }[]>('rerank', asked);
    assert.deepEqual(
      cut.map(({ score }) => score),
      raw.map(({ score }) => Math.max(0, score)),
    );
  });

  test('a document without text scores 0 and comes last; without a query all of them score 0', async () => {
    const blank = ['', ' \n', '\u3000'];
    const { results } = await answerOf<RerankV2Response>('rerankV2', {
      query,
      documents: [...blank, ...documents],
    });
    const last = blank.map((_, index) => ({ index, relevance_score: 0 }));
    assert.deepEqual(results.slice(-blank.length), last);
    for (const nothing of blank) {
      const none = await answerOf<RerankV2Response>('rerankV2', { query: nothing, documents });
      assert.deepEqual(
        none.results,
        documents.map((_, index) => ({ index, relevance_score: 0 })),
      );
    }
  });

  test('a large body is answered off the event loop, the same', async () => {
    const all = Array.from(
      { length: 900 },
      (_, at) => `${documents[at % 3] ?? ''} ${'word '.repeat(60)}${at}`,
    );
    const body = { query, documents: all, return_documents: true };
    // The body of a few is read on the event loop, and answered by a thread.
    for (const many of [all.slice(0, 200), all]) {
      const asked = { ...body, documents: many };
      assert.equal(bytes(asked).length > LOOP_BODY_LIMIT, many === all);
      const { results } = await answerOf<RerankResponse>('rerankV1', asked);
      assert.deepEqual(
        results.map(({ index, relevance_score: score }) => [index, score]),
        await fused(query, many),
      );
    }
    const refused = await ask('rerankV1', { ...body, top_n: -1 });
    assert.equal(refused.status, 400);
  });
});

describe('lenience', () => {
  const places = async (more: object): Promise<number[]> => {
    const answer = await answerOf<RerankResponse>('rerankV1', { query, documents, ...more });
    return answer.results.map(({ index }) => index);
  };

  test('top_n null, 0, absent or beyond the documents is all', async () => {
    const all = await places({});
    assert.equal(all.length, 3);
    for (const top of [null, 0, 3, 4, 1e300, '0', '3']) assert.deepEqual(await places({ top_n: top }), all);
    assert.deepEqual(await places({ top_n: 1 }), all.slice(0, 1));
    assert.deepEqual(await places({ top_n: '2' }), all.slice(0, 2));
  });

  test('booleans may be strings or numbers', async () => {
    for (const [value, comes] of [
      ...[true, 'true', 'True', '1', 'yes', 'on', 1].map((each) => [each, true] as const),
      ...[false, 'false', 'FALSE', '0', 'no', 'off', 0, null].map((each) => [each, false] as const),
    ]) {
      const body = { query, documents, return_documents: value };
      const { results } = await answerOf<RerankResponse>('rerankV1', body);
      assert.equal(results[0]?.document !== undefined, comes, String(value));
    }
  });

  test('ignored members are listed in the warnings, unless they ask for nothing', async () => {
    const warnings = async (more: object): Promise<readonly string[] | undefined> =>
      (await answerOf<RerankV2Response>('rerankV2', { query, documents, ...more })).meta.warnings;
    const ignored = (name: string) => [`${name} is not used.`];
    const unknown = (name: string) => `${name} is not known here, and was ignored.`;
    const cases: readonly (readonly [object, readonly string[] | undefined])[] = [
      [{}, undefined],
      [{ model: 'static-256', top_n: null, return_documents: false }, undefined],
      [{ model: '' }, undefined],
      [{ model: null }, undefined],
      [{ max_tokens_per_doc: 4096, truncate_prompt_tokens: -1, max_chunks_per_doc: null }, undefined],
      [{ priority: 0, rank_fields: ['text'], truncation: true, truncation_direction: 'Right' }, undefined],
      [{ rank_fields: null, priority: null, max_tokens_per_doc: null }, undefined],
      [{ max_tokens_per_doc: 3 }, ignored('max_tokens_per_doc')],
      [{ truncate_prompt_tokens: 3 }, ignored('truncate_prompt_tokens')],
      [{ max_chunks_per_doc: 10 }, ignored('max_chunks_per_doc')],
      [{ rank_fields: ['title'] }, ignored('rank_fields')],
      [{ priority: 3 }, ignored('priority')],
      [{ truncation_direction: 'Left' }, ignored('truncation_direction')],
      [{ model: 'rerank-v3.5' }, ['No model rerank-v3.5 is installed here: static-256 made the scores.']],
      [{ model: 'x'.repeat(101) }, ['No model so named is installed here: static-256 made the scores.']],
      [{ texts: null, return_text: false, top_k: null, top_n: 2 }, undefined],
      [{ top_n: 2, top_k: 2 }, undefined],
      [{ top_n: 1, top_k: 2 }, ignored('top_n')],
      [{ texts: ['a'] }, ignored('texts')],
      [{ return_text: true }, ignored('return_text')],
      [{ user: 'u', 'a"b': 1, texts: [] }, ['texts is not used.', unknown('user'), unknown('a"b')]],
      [
        Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`m${at}`, at])),
        [
          ...Array.from({ length: 10 }, (_, at) => unknown(`m${at}`)),
          'Other members are not known here, and were ignored.',
        ],
      ],
      [{ ['n'.repeat(101)]: 1 }, ['Other members are not known here, and were ignored.']],
      [{ query: 'zebra' }, ['No document contains a word of the query: the model alone decided the order.']],
      [
        { query: 'red', documents: ['red', 'red'] },
        ['The model scores all documents alike: the words of the query alone decided the order.'],
      ],
    ];
    for (const [more, expected] of cases)
      assert.deepEqual(await warnings(more), expected, JSON.stringify(more));
  });

  test('texts before or after any documents get the answer of text-embeddings-inference', async () => {
    const plain = await answerOf<object[]>('rerank', { query, texts: documents });
    for (const other of [null, [], ['other'], 'other', {}]) {
      const [first, last] = [
        { query, documents: other, texts: documents },
        { query, texts: documents, documents: other },
      ];
      assert.deepEqual(await answerOf('rerank', first), plain, JSON.stringify(other));
      assert.deepEqual(await answerOf('rerank', last), plain, JSON.stringify(other));
    }
  });

  test('of a repeated member the last counts', async () => {
    const twice = `{"query":1,"documents":3,"top_n":-1,"documents":["a b","b"],"query":"b","top_n":1}`;
    const answer = await rerank.rerankV2(requestWith(Buffer.from(twice), 'fg_x'));
    assert.deepEqual((answered(answer) as RerankV2Response).results, [{ index: 1, relevance_score: 1 }]);
  });
});

describe('limits', () => {
  const many = (count: number) => ({ query, documents: Array.from({ length: count }, () => 'a') });

  test('50 documents without a key, 1,000 with one', async () => {
    assert.equal((await ask('rerankV2', many(50), '')).status, 200);
    assert.equal((await ask('rerankV2', many(51), '')).status, 400);
    assert.equal((await ask('rerankV2', many(1000))).status, 200);
    const refused = await ask('rerankV2', many(1001));
    assert.equal(refused.status, 400);
    const { detail } = answered(refused) as { detail: string };
    assert.equal(detail, 'invalid request: 1001 documents were sent, and at most 1000 are taken at once.');
  });

  test('a server without a model says so', async () => {
    const handlers = rerankHandlers({ ...native, embedMode: noModels() });
    const answer = await handlers.rerankV2(requestWith(bytes({ query, documents })));
    assert.equal(answer.status, 503);
    assert.equal((answered(answer) as { code: string }).code, 'no_model');
  });
});

test('/info is that of a reranker, /v1/models lists what is installed', async () => {
  const handlers = rerankInfo({ embedMode, maxConnections: 7, version: '1.2.3' });
  const request: RouteRequest = requestWith(new Uint8Array());
  const info = answered(await handlers.rerankerInfo(request)) as Record<string, unknown>;
  assert.deepEqual(Object.keys(info['model_type'] as object), ['reranker']);
  assert.deepEqual(
    [info['model_id'], info['max_concurrent_requests'], info['version']],
    ['static-256', 7, '1.2.3'],
  );
  assert.deepEqual(answered(await handlers.models(request)), {
    object: 'list',
    data: [{ id: 'static-256', object: 'model', owned_by: 'fusegate' }],
  });
});
