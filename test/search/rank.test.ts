/**
 * What POST /v1/fuse offers beyond its contract (analyzers) against the oracle, to the last bit, and the 422s
 * of what is wrong with it.
 */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { FuseResponse } from '../../src/contract/fuse.js';
import type { HTTPValidationError } from '../../src/contract/schema/validation.js';
import { native } from '../../src/native/addon.js';
import { LOOP_BODY_LIMIT, fuseHandler } from '../../src/search/fuse.js';
import { stems, type ReferenceAnalyzer } from '../reference/analyzer.js';
import { fuse, type ReferenceRequest } from '../reference/fuse.js';
import { foldText } from '../reference/unicode.js';
import { answered, requestWith, staticMode } from './embedding.js';
import { plainStyle, style, writeBody } from './bodies.js';

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
  { weight: 1, arbitrary: requestsOf('french', fc.constant({ fold_accents: true, stopwords: ['2024'] })) },
);

test('an analyzer ranks as the oracle does, to the last bit, and its terms add up', async () => {
  await fc.assert(
    fc.asyncProperty(requests, style, async (request, how) => {
      const { status, body } = await answerTo(request, { ...how, extra: 0 });
      assert.equal(status, 200);
      assert.deepEqual(body, fuse(JSON.parse(JSON.stringify(request)) as ReferenceRequest));
      for (const { bm25_score: score, explain } of (body as FuseResponse).results) {
        const parts = (explain?.terms ?? []).map(({ part }) => part);
        if (explain !== undefined)
          assert.ok(Math.abs(parts.reduce((sum, part) => sum + part, 0) - score) < 1e-12);
      }
    }),
    { seed: 20_261_122, numRuns: 1500 },
  );
});

const docs = [
  { id: 'a', text: 'He runs and was running in the caf\u00e9', dense_score: 0 },
  { id: 'b', text: 'the cafe\u0301 is closed', dense_score: 0 },
];

test('a term names the tokens that stand for it', async () => {
  const request = { query: 'the run', docs, analyzer: 'english', explain: true };
  const { body } = await answerTo(request);
  const [first, second] = (body as FuseResponse).results;
  assert.deepEqual(
    first?.explain?.terms?.map(({ term, matched, tf, df }) => ({ term, matched, tf, df })),
    [{ term: 'run', matched: ['runs', 'running'], tf: 2, df: 1 }],
  );
  assert.deepEqual(second?.explain?.terms, []);
});

test('accents fold, texts are repaired, and the characters that count are those that came', async () => {
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

test('stop words that are the whole query stay', async () => {
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

test('the native module takes the analyzers that the contract takes, and no other', async () => {
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
test('terms that need more room than the texts are written all the same', async () => {
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
