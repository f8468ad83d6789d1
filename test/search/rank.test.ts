/**
 * Extensions of POST /v1/fuse (analyzers, a corpus, missing dense scores, distances, a minimum score) against
 * the oracle, to the last bit, and the 422s of requests that get them wrong.
 */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { FuseResponse } from '../../src/contract/fuse.js';
import type { HTTPValidationError } from '../../src/contract/schema/validation.js';
import { native } from '../../src/native/addon.js';
import { LOOP_BODY_LIMIT, fuseHandler } from '../../src/search/fuse.js';
import { draws } from '../support/length.js';
import { stems, type ReferenceAnalyzer } from '../reference/analyzer.js';
import { fuse, type ReferenceRequest } from '../reference/fuse.js';
import { foldText } from '../reference/unicode.js';
import { answered, requestWith, staticMode } from '../support/embedding.js';
import { plainStyle, style, writeBody } from '../support/bodies.js';

const embedMode = staticMode();
const handler = fuseHandler({ ...native, embedMode });

async function answerTo(request: unknown, how = plainStyle): Promise<{ status: number; body: unknown }> {
  const answer = await handler(requestWith(writeBody(request, how)));
  return { status: answer.status, body: answered(answer) };
}

/** A request's places of errors, with what is said. */
async function refused(request: object): Promise<string[]> {
  const { status, body } = await answerTo(request);
  assert.equal(status, 422, JSON.stringify(body));
  const { detail = [] } = body as HTTPValidationError;
  return detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`);
}

function wordsOf(language: string): string[] {
  const words = stems.filter((vector) => vector.language === language).map(({ word }) => word);
  // Texts are folded first: a word with a final sigma is met without it.
  return words.filter((word) => foldText(word) === word);
}

/** Texts of a language's words and of tokens that every analyzer leaves. */
function textOf(language: string): fc.Arbitrary<string> {
  // A few words that many texts share, and any other.
  const words = wordsOf(language);
  const few = [...words.slice(0, 4), ...words.slice(-14), '2024', 'x2', 'word\u0663'];
  const word = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...few) },
    { weight: 1, arbitrary: fc.constantFrom(...words, 'ab1'.repeat(60)) },
  );
  const cased = fc
    .tuple(word, fc.boolean(), fc.constantFrom(' ', ' ', ', ', ' — ', '\n', '"'))
    .map(
      ([letters, upper, after]) =>
        `${upper && /^[a-z]*$/.test(letters) ? letters.toUpperCase() : letters}${after}`,
    );
  return fc.array(cased, { maxLength: 24 }).map((parts) => parts.join(''));
}

function requestsOf(language: string, analyzer: fc.Arbitrary<string | ReferenceAnalyzer>) {
  const text = textOf(language);
  const doc = fc.record(
    { id: fc.string({ maxLength: 3 }), text, dense_score: fc.double({ min: -1, max: 1, noNaN: true }) },
    { noNullPrototype: true },
  );
  return fc.record(
    {
      query: text,
      docs: fc.array(doc, { minLength: 1, maxLength: 8 }),
      analyzer,
      method: fc.constantFrom('maxnorm', 'rrf'),
      top_k: fc.integer({ min: 1, max: 9 }),
      k1: fc.double({ min: 0, max: 3, noNaN: true }),
      b: fc.double({ min: 0, max: 1, noNaN: true }),
      explain: fc.boolean(),
    },
    { requiredKeys: ['query', 'docs', 'analyzer'], noNullPrototype: true },
  ) as fc.Arbitrary<ReferenceRequest>;
}

const english = fc.oneof(
  fc.constantFrom<(string | ReferenceAnalyzer)[]>('plain', 'english'),
  fc.record(
    {
      stemmer: fc.constantFrom(null, 'english'),
      stopwords: fc.constantFrom<(string | string[] | null)[]>(
        null,
        'english',
        [],
        ['case', 'The'.toLowerCase()],
        ['', 'éte the case', 'THE "', '\\u00e9', 'Café'],
      ),
      fold_accents: fc.boolean(),
    },
    { requiredKeys: [], noNullPrototype: true },
  ),
);
const languages = ['arabic', 'finnish', 'greek', 'italian', 'russian', 'german'];
const requests = fc.oneof(
  { weight: 3, arbitrary: requestsOf('english', english) },
  ...languages.map((stemmer) => ({
    weight: 1,
    arbitrary: requestsOf(stemmer, fc.constant({ stemmer })),
  })),
  {
    weight: 1,
    arbitrary: requestsOf(
      'french',
      fc.constantFrom(
        { fold_accents: true, stopwords: ['2024'] },
        { fold_accents: true, stopwords: ['été', 'à la'] },
      ),
    ),
  },
);

test('an analyzer ranks as the oracle does, to the last bit, and its terms add up', async () => {
  await fc.assert(
    fc.asyncProperty(requests, style, async (request, how) => {
      const { status, body } = await answerTo(request, { ...how, extra: 0 });
      assert.equal(status, 200);
      const { results } = body as FuseResponse;
      assert.deepEqual(body, fuse(JSON.parse(JSON.stringify(request)) as ReferenceRequest));
      for (const { bm25_score: score, explain } of results) {
        const parts = (explain?.terms ?? []).map(({ part }) => part);
        if (explain !== undefined)
          assert.ok(Math.abs(parts.reduce((sum, part) => sum + part, 0) - score) < 1e-12);
      }
    }),
    { seed: 20_261_122, numRuns: draws(1_500) },
  );
});

const docs = [
  { id: 'a', text: 'He runs and was running in the caf\u00e9', dense_score: 0 },
  { id: 'b', text: 'the cafe\u0301 is closed', dense_score: 0 },
];

test('a term lists the tokens that it matched', async () => {
  const request = { query: 'the run', docs, analyzer: 'english', explain: true };
  const { body } = await answerTo(request);
  const [first, second] = (body as FuseResponse).results;
  assert.deepEqual(
    first?.explain?.terms?.map(({ term, matched, tf, df }) => ({ term, matched, tf, df })),
    [{ term: 'run', matched: ['runs', 'running'], tf: 2, df: 1 }],
  );
  assert.deepEqual(second?.explain?.terms, []);
});

test('a term names the first ten tokens that stand for it', async () => {
  const tokens = 'a á à â ä ã å ā ă ą ǎ ȃ'.split(' ');
  const spelled = [{ id: 'a', text: [...tokens, ...tokens].join(' '), dense_score: 0 }];
  const request = { query: 'a', docs: spelled, analyzer: { fold_accents: true }, explain: true };
  const { body } = await answerTo(request);
  const [term] = (body as FuseResponse).results[0]?.explain?.terms ?? [];
  assert.deepEqual([term?.tf, term?.matched], [24, tokens.slice(0, 10)]);
});

test('a term names the tokens of a text as it was repaired, and only where it is', async () => {
  const garbled = [{ id: 'a', text: 'CafÃ©', dense_score: 0 }];
  const matched = async (query: string, normalize: boolean): Promise<unknown> => {
    const request = { query, docs: garbled, analyzer: { normalize, fold_accents: true }, explain: true };
    const { body } = await answerTo(request);
    return (body as FuseResponse).results[0]?.explain?.terms?.map((term) => term.matched);
  };
  assert.deepEqual(await matched('cafe', true), [['café']]);
  assert.deepEqual(await matched('cafa', false), [['cafã']]);
});

test('accents fold and texts are repaired, but characters are counted as they came', async () => {
  const asked = async (query: string, analyzer: unknown): Promise<number> => {
    const { body } = await answerTo({ query, docs, analyzer });
    return (body as FuseResponse).results.filter(({ bm25_score: score }) => score > 0).length;
  };
  assert.equal(await asked('cafe', 'plain'), 0);
  assert.equal(await asked('cafe', { fold_accents: true }), 2);
  assert.equal(await asked('CAF\u00c3\u2030', { normalize: true }), 2);
  assert.equal(await asked('caf\u00c3\u00a9', { normalize: true, fold_accents: true }), 2);
  const answer = await handler(
    requestWith(writeBody({ query: 'x', docs, analyzer: { normalize: true } }, plainStyle)),
  );
  assert.equal(answer.charge, 1 + docs.reduce((sum, { text }) => sum + Array.from(text).length, 0));
});

test('stop words count if they are the whole query', async () => {
  const { body } = await answerTo({ query: 'The is', docs, analyzer: 'english' });
  assert.ok((body as FuseResponse).results.every(({ bm25_score: score }) => score > 0));
});

test('a wrong analyzer is a 422 at its place that lists what is allowed', async () => {
  const asked = (analyzer: unknown, more: object = {}): Promise<string[]> =>
    refused({ query: 'q', docs, analyzer, ...more });
  assert.match((await asked('klingon'))[0] ?? '', /^analyzer: .*not one of plain, arabic, .*, yiddish$/);
  assert.match(
    (await asked({ stemmer: 'klingon' }))[0] ?? '',
    /^analyzer\.stemmer: .*'arabic', .* or 'yiddish'$/,
  );
  assert.match(
    (await asked({ stopwords: 'greek' }))[0] ?? '',
    /^analyzer\.stopwords: .*danish, .*, swedish$/,
  );
  assert.match((await asked({ stopwords: [1] }))[0] ?? '', /^analyzer\.stopwords\.0: /);
  assert.match((await asked({ fold_accents: 'yes' }))[0] ?? '', /^analyzer\.fold_accents: /);
  assert.match((await asked(null))[0] ?? '', /^analyzer: /);
  assert.match((await asked(['english']))[0] ?? '', /^analyzer: /);
  assert.match((await asked('english', { tokenizer: 'ngram' }))[0] ?? '', /^analyzer: .*tokenizer ws$/);
  const { status } = await answerTo({ query: 'q', docs, analyzer: { stopwords: [] }, tokenizer: 'ngram' });
  assert.equal(status, 200);
});

const someAnalyzer = fc.oneof(
  fc.constantFrom<unknown[]>('plain', 'english', 'greek', 'English', '', null, 5, [], ['english'], true),
  fc.record(
    {
      stemmer: fc.constantFrom<unknown[]>(null, 'english', 'yiddish', 'porter', 5, {}),
      stopwords: fc.constantFrom<unknown[]>(null, 'english', 'greek', [], ['a b', ''], [null], {}, 1),
      fold_accents: fc.constantFrom<unknown[]>(true, false, null, 'true'),
      normalize: fc.constantFrom<unknown[]>(true, false, 0),
      other: fc.constantFrom<unknown[]>(1, [], null),
    },
    { requiredKeys: [], noNullPrototype: true },
  ),
);

test('the native module accepts the analyzers that the contract accepts, and no others', async () => {
  const seen = { 200: 0, 422: 0 };
  const tokenizer = fc.constantFrom('ws', 'ngram');
  await fc.assert(
    fc.asyncProperty(someAnalyzer, tokenizer, style, async (analyzer, cut, how) => {
      // A body that one side takes and the other refuses throws.
      const { status } = await answerTo({ query: 'q', docs, analyzer, tokenizer: cut }, { ...how, extra: 0 });
      assert.ok(status === 200 || status === 422);
      seen[status]++;
    }),
    { numRuns: 600, seed: 20_261_123 },
  );
  assert.ok(seen[200] > 50 && seen[422] > 50, JSON.stringify(seen));
});

const term = fc.constantFrom(
  'fox',
  'red',
  'Fox',
  'a',
  '日本',
  '本',
  'x',
  '__proto__',
  'constructor',
  '',
  '"',
);
const plainText = fc.array(fc.tuple(term, fc.constantFrom(' ', '-', '。')), { maxLength: 12 });
const phrase = plainText.map((parts) => parts.flat().join(''));
const dense = fc.oneof(fc.constant(null), fc.constant(0), fc.double({ min: 0, max: 9, noNaN: true }));

/** Statistics of a collection, in which no term is in more docs than there are. */
const corpus = fc
  .tuple(fc.integer({ min: 1, max: 2000 }), fc.double({ min: 0.01, max: 50, noNaN: true }))
  .chain(([count, length]) => {
    const df = fc.dictionary(term, fc.integer({ min: 0, max: count }), { noNullPrototype: true });
    return df.map((frequencies) => ({ docs: count, average_length: length, df: frequencies }));
  });

const statedRequest = fc.record(
  {
    query: phrase,
    docs: fc.array(fc.record({ id: term, text: phrase, dense_score: dense }, { noNullPrototype: true }), {
      minLength: 1,
      maxLength: 8,
    }),
    on_missing_dense: fc.constantFrom('zero', 'min'),
    tokenizer: fc.constantFrom('ws', 'ngram'),
    method: fc.constantFrom('maxnorm', 'rrf'),
    corpus,
    dense_kind: fc.constantFrom('similarity', 'distance'),
    min_score: fc.double({ min: -0.1, max: 1, noNaN: true }),
    top_k: fc.integer({ min: 1, max: 9 }),
    explain: fc.boolean(),
  },
  { requiredKeys: ['query', 'docs', 'on_missing_dense'], noNullPrototype: true },
);

type Stated = typeof statedRequest extends fc.Arbitrary<infer Value> ? Value : never;

/** Every doc with the score that is fused for it, by the rules one after the other. */
function withScores(request: Stated): ReferenceRequest {
  const turned = request.docs.map(({ dense_score: score }) => {
    if (score === null) return null;
    return request.dense_kind === 'distance' ? 1 / (1 + score) : score;
  });
  const sent = turned.filter((score) => score !== null);
  const missing = request.on_missing_dense === 'min' && sent.length > 0 ? Math.min(...sent) : 0;
  const docs = request.docs.map((doc, at) => ({ ...doc, dense_score: turned[at] ?? missing }));
  return { ...request, docs };
}

test('corpus, missing scores, distances and a least score: as the oracle, to the last bit', async () => {
  await fc.assert(
    fc.asyncProperty(statedRequest, style, async (request, how) => {
      const { status, body } = await answerTo(request, { ...how, extra: 0 });
      assert.equal(status, 200, JSON.stringify(body));
      const expected = fuse(withScores(JSON.parse(JSON.stringify(request)) as Stated));
      const least = request.min_score ?? -Infinity;
      const results = expected.results.filter(({ fused_score: score }) => score >= least);
      assert.deepEqual(body, { ...expected, results });
    }),
    { seed: 20_261_124, numRuns: draws(2_000) },
  );
});

test('scores that a model replaces are reported, and those it must not replace are refused', async () => {
  const some = [docs[0], { id: 'b', text: 'cafe' }];
  const { body } = await answerTo({ query: 'cafe', docs: some });
  assert.deepEqual(
    (body as FuseResponse).warnings?.map(({ code }) => code),
    ['dense_scores_replaced'],
  );
  assert.equal((body as FuseResponse).dense_source, 'model:static-256');
  const none = await answerTo({
    query: 'cafe',
    docs: [
      { id: 'b', text: 'cafe' },
      { id: 'c', text: 'x' },
    ],
  });
  assert.equal((none.body as FuseResponse).warnings, undefined);
  const asked = { query: 'q', docs: some, on_missing_dense: 'error' };
  assert.match((await refused(asked))[0] ?? '', /^docs\.1\.dense_score: .*every doc needs a dense_score$/);
  const kept = await answerTo({ ...asked, on_missing_dense: 'zero' });
  assert.equal((kept.body as FuseResponse).dense_source, 'caller');
});

test('wrong statistics and distances are a 422 at their place', async () => {
  const asked = (more: object): Promise<string[]> => refused({ query: 'q', docs, ...more });
  const own = { docs: 2, average_length: 3, df: { q: 1 } };
  assert.match(
    (await asked({ corpus: { ...own, df: { q: 3 } } }))[0] ?? '',
    /^corpus\.df\.q: .*at most 2 docs$/,
  );
  assert.match((await asked({ corpus: { ...own, df: { q: 0.5 } } }))[0] ?? '', /^corpus\.df\.q: .*integer$/);
  assert.match(
    (await asked({ corpus: { ...own, docs: 0 } }))[0] ?? '',
    /^corpus\.docs: .*greater than or equal to 1$/,
  );
  assert.match(
    (await asked({ corpus: { ...own, average_length: 0 } }))[0] ?? '',
    /^corpus\.average_length: /,
  );
  assert.match(
    (await asked({ corpus: { docs: 1, df: {} } }))[0] ?? '',
    /^corpus\.average_length: Field required$/,
  );
  assert.match((await asked({ corpus: 'shop' }))[0] ?? '', /^corpus: /);
  assert.match((await asked({ min_score: '1' }))[0] ?? '', /^min_score: .*number$/);
  assert.match((await asked({ dense_kind: 'l2' }))[0] ?? '', /^dense_kind: .*'similarity' or 'distance'$/);
  assert.match(
    (await asked({ on_missing_dense: 'max' }))[0] ?? '',
    /^on_missing_dense: .*'embed', 'zero', 'min' or 'error'$/,
  );
  const far = [{ id: 'a', text: 'a', dense_score: -0.5 }];
  assert.match(
    (await refused({ query: 'q', docs: far, dense_kind: 'distance' }))[0] ?? '',
    /^docs\.0\.dense_score: /,
  );
});

test('an error after any number of docs and terms is a 422 at its place', async () => {
  const count = 400;
  const many = Array.from({ length: count }, (_, at) => ({ id: `${at}`, text: 'a', dense_score: 1 }));
  const without = many.map((doc, at) => (at < 390 ? doc : { id: doc.id, text: doc.text }));
  const far = many.map((doc, at) => (at < 390 ? doc : { ...doc, dense_score: 380 - at }));
  const frequencies = Object.fromEntries(many.map(({ id }) => [`t${id}`, 5]));
  const corpus = { docs: 5, average_length: 2, df: { ...frequencies, last: 6, t0: 1 } };
  for (const padding of ['', 'x'.repeat(LOOP_BODY_LIMIT)]) {
    const asked = (more: object): Promise<string[]> =>
      refused({ query: `q ${padding}`, docs: many, ...more });
    assert.match((await asked({ corpus })).join('; '), /^corpus\.df\.last: [^;]*at most 5 docs$/);
    const missing = await asked({ docs: without, on_missing_dense: 'error' });
    assert.match(missing.join('; '), /^docs\.390\.dense_score: [^;]*every doc needs a dense_score$/);
    const negative = await asked({ docs: far, dense_kind: 'distance' });
    assert.match(negative.join('; '), /^docs\.399\.dense_score: [^;]*a distance is 0 or more/);
  }
});

test('of a repeated term the last number counts', async () => {
  const asked = (df: string): Buffer =>
    Buffer.from(
      '{"query":"q","docs":[{"id":"a","text":"q","dense_score":1}],' +
        `"corpus":{"docs":9,"average_length":1,"df":${df}}}`,
    );
  const scoreOf = async (df: string): Promise<unknown> => {
    const answer = await handler(requestWith(asked(df)));
    assert.equal(answer.status, 200, df);
    return (answered(answer) as FuseResponse).results[0]?.bm25_score;
  };
  const expected = await scoreOf('{"q":2}');
  for (const df of ['{"q":9,"q":2}', '{"q":-1,"x":1,"q":2}', '{"q":"","q":0.5,"\\u0071":2e0}']) {
    assert.equal(await scoreOf(df), expected);
  }
  for (const df of ['{"q":2,"q":-1}', '{"q":2,"q":10}', '{"x":null,"q":2}']) {
    assert.equal((await handler(requestWith(asked(df)))).status, 422, df);
  }
});

test('terms that need more room than the texts are written nevertheless', async () => {
  const words = Array.from({ length: 200 }, (_, at) => `word${at}`).join(' ');
  const many = Array.from({ length: 40 }, (_, at) => ({ id: `${at}`, text: words }));
  const long = many.map((doc) => ({ ...doc, text: `${words} ${'.'.repeat(8000)}` }));
  for (const [listed, least] of [
    [many, 0],
    [long, LOOP_BODY_LIMIT],
  ] as const) {
    assert.ok(JSON.stringify(listed).length > least);
    const request = { query: words, docs: listed, analyzer: 'english', explain: true };
    const { status, body } = await answerTo(request);
    assert.equal(status, 200);
    const { results } = body as FuseResponse;
    assert.ok(results.every(({ explain }) => explain?.terms?.length === 200));
  }
});

test('a doc counts for 16 characters at least, with an analyzer as without', async () => {
  const listed = ['', 'red', 'a red fox and a grey one'].map((text, at) => {
    return { id: `${at}`, text, dense_score: 1 };
  });
  const ways = [{}, { analyzer: 'english' }, { analyzer: { normalize: true } }, { tokenizer: 'ngram' }];
  for (const more of ways) {
    const answer = await handler(requestWith(writeBody({ query: 'fox', docs: listed, ...more }, plainStyle)));
    assert.deepEqual([answer.status, answer.charge], [200, 3 + 16 + 16 + 24], JSON.stringify(more));
  }
});
