/**
 * `collapse`, `diversify` and `highlight` of POST /v1/fuse against the oracle, and the 422s of requests that
 * get them wrong.
 */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { LOOP_BODY_LIMIT } from '../../src/search/fuse.js';
import { draws } from '../support/length.js';
import type { ReferenceRequest } from '../reference/fuse.js';
import { asked, askedAsOracle, refused } from './asked.js';
import { plainStyle, style } from '../support/bodies.js';

const words = [
  'fox',
  'Fox',
  'red',
  'the',
  'running',
  'runs',
  'straße',
  'STRASSE',
  'ﬁ',
  'x²',
  'İ',
  '日本語',
  '日本',
];
const long = 'abcdefghijklmnopqrstuvwxyz';
const word = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...words) },
  { weight: 2, arbitrary: fc.constantFrom('a', 'dog', '😀', long, long.repeat(8), 'é') },
);
const separator = fc.constantFrom(' ', ' ', ' ', '', '-', ', ', '。', '"');
const text = fc.array(fc.tuple(word, separator), { maxLength: 40 }).map((parts) => parts.flat().join(''));
const ascii = fc
  .array(fc.constantFrom('fox', 'Fox', 'red', 'the', 'dog', 'a', long), { maxLength: 60 })
  .map((parts) => parts.join(' '));
const anyText = fc.oneof(text, ascii);

const request = fc
  .record(
    {
      query: anyText,
      docs: fc.array(
        fc.record(
          {
            id: fc.constantFrom('a', 'b'),
            text: anyText,
            dense_score: fc.oneof(fc.double({ min: -1, max: 1, noNaN: true }), fc.constantFrom(0, 0.5)),
            group: fc.constantFrom('g', 'h', ''),
          },
          { requiredKeys: ['id', 'text', 'dense_score'], noNullPrototype: true },
        ),
        { minLength: 1, maxLength: 9 },
      ),
      collapse: fc.record(
        { by: fc.constantFrom('text', 'group'), keep: fc.integer({ min: 1, max: 3 }) },
        { requiredKeys: ['by'], noNullPrototype: true },
      ),
      diversify: fc.record(
        {
          diversity: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 0.3, 1)),
          by: fc.constant('terms'),
          candidates: fc.integer({ min: 1, max: 12 }),
        },
        { requiredKeys: ['diversity'], noNullPrototype: true },
      ),
      highlight: fc.record(
        { chars: fc.integer({ min: 20, max: 60 }), fragments: fc.integer({ min: 1, max: 4 }) },
        { requiredKeys: [], noNullPrototype: true },
      ),
      method: fc.constantFrom('maxnorm', 'rrf'),
      tokenizer: fc.constantFrom('ws', 'ngram'),
      min_score: fc.double({ min: -1, max: 1, noNaN: true }),
      top_k: fc.integer({ min: 1, max: 9 }),
      explain: fc.boolean(),
    },
    { requiredKeys: ['query', 'docs'], noNullPrototype: true },
  )
  .map((made) => {
    const parsed = JSON.parse(JSON.stringify(made)) as ReferenceRequest;
    const { collapse, docs } = parsed;
    if (collapse?.by !== 'group' || docs.some(({ group }) => group !== undefined)) return parsed;
    return { ...parsed, collapse: { ...collapse, by: 'text' as const } };
  });

test('collapse, diversify and highlight do what the oracle does, to the last bit', async () => {
  await fc.assert(
    fc.asyncProperty(request, style, async (made, how) => {
      const { results } = await askedAsOracle(made, how);
      const { diversity = 0 } = made.diversify ?? {};
      for (const { explain } of results) {
        const chosen = explain?.diversify;
        if (chosen === undefined) continue;
        const sum = (1 - diversity) * chosen.relevance - diversity * chosen.similarity;
        assert.ok(Math.abs(sum - chosen.score) < 1e-12);
      }
    }),
    { seed: 20_261_126, numRuns: draws(3_000) },
  );
});

const docs = [
  { id: 'a', text: 'Red foxes run in the snow', dense_score: 1, group: 'g' },
  { id: 'b', text: 'RED FOXES RUN in the \uff53\uff4e\uff4f\uff57', dense_score: 0.9, group: 'h' },
  { id: 'c', text: 'A dog sleeps', dense_score: 0.8, group: 'g' },
];

async function ids(request: object): Promise<string> {
  return (await asked({ query: 'fox', docs, ...request })).results.map(({ id }) => id).join('');
}

test('docs of one text or of one group count as one', async () => {
  assert.equal(await ids({}), 'abc');
  assert.equal(await ids({ collapse: { by: 'text' } }), 'ac');
  assert.equal(await ids({ collapse: { by: 'group' } }), 'ab');
  assert.equal(await ids({ collapse: { by: 'group', keep: 2 } }), 'abc');
  // Collapsed docs leave their places to others.
  assert.equal(await ids({ collapse: { by: 'text' }, top_k: 2 }), 'ac');
});

test('the next result is unlike those before it', async () => {
  assert.equal(await ids({ diversify: { diversity: 0.5 } }), 'acb');
  assert.equal(await ids({ diversify: { diversity: 0 } }), 'abc');
  assert.equal(await ids({ diversify: { diversity: 0.5, candidates: 2 } }), 'abc');
  // Texts without a term are like nothing.
  const emoji = [docs[0], docs[1], { ...docs[2], text: '😀' }, { ...docs[2], id: 'd', text: '😀' }];
  assert.equal(await ids({ docs: emoji, diversify: { diversity: 0.5 } }), 'acdb');
});

test('texts with thousands of frequent terms are diversified as the oracle says', async () => {
  // Pairs of 60 characters, of which each text leaves some out: over a thousand terms in nearly every text.
  const letters = Array.from({ length: 60 }, (_, at) => String.fromCharCode(0x4e00 + at));
  const pairs = letters.flatMap((one, at) => letters.slice(at + 1, at + 40).map((other) => one + other));
  const docs = Array.from({ length: 24 }, (_, at) => {
    const kept = pairs.filter((_pair, place) => (place * 7 + at) % (3 + (at % 5)) !== 0);
    return { id: `${at}`, text: kept.join(' '), dense_score: 1 - at / 100 };
  });
  const diversify = { diversity: 0.6, candidates: 24 };
  const request: ReferenceRequest = { query: pairs[5] ?? '', docs, top_k: 24, tokenizer: 'ngram', diversify };
  assert.ok(new Set(docs.flatMap(({ text }) => text.split(' '))).size > 1_500);
  await askedAsOracle(request, plainStyle);
});

test('stems decide how similar texts are, and what is highlighted', async () => {
  const stemmed = [
    { id: 'a', text: 'running foxes', dense_score: 1 },
    { id: 'b', text: 'runs a fox', dense_score: 0.9 },
    { id: 'c', text: 'running dogs', dense_score: 0.8 },
  ];
  const more = { docs: stemmed, weights: { bm25: 0, dense: 1 }, diversify: { diversity: 0.5 } };
  assert.equal(await ids(more), 'abc');
  assert.equal(await ids({ ...more, analyzer: 'english' }), 'acb');
  const { results } = await asked({ query: 'fox', docs: stemmed, analyzer: 'english', highlight: {} });
  const matches = results.map(({ id, highlights }) => [id, highlights?.[0]?.matches]);
  assert.deepEqual(Object.fromEntries(matches), { a: [[8, 13]], b: [[7, 10]], c: [] });
});

test('a fragment is cut between words, and positions are in code points', async () => {
  const before = 'Über die Füchse 😀 '.repeat(20);
  const doc = { id: 'a', text: `${before}der rote Fuchs ${before}`, dense_score: 1 };
  const { results } = await asked({ query: 'rote fuchs', docs: [doc], highlight: { chars: 40 } });
  const { start, end, matches } = results[0]?.highlights?.[0] ?? { start: 0, end: 0, matches: [] };
  const characters = Array.from(doc.text);
  const cut = (from: number, to: number): string => characters.slice(from, to).join('');
  assert.ok(end - start <= 40 && end - start > 30);
  assert.match(cut(start, end), / der rote Fuchs /);
  assert.doesNotMatch(`${cut(start - 1, start + 1)} ${cut(end - 1, end + 1)}`, /\p{L}\p{L}/u);
  assert.deepEqual(
    matches.map(([from = 0, to = 0]) => cut(from, to)),
    ['rote', 'Fuchs'],
  );
});

test('a wrong collapse, diversify or highlight is a 422 at its place', async () => {
  const cases: [object, RegExp][] = [
    [{ collapse: {} }, /^collapse\.by: Field required$/],
    [{ collapse: { by: 'id' } }, /^collapse\.by: .*'text' or 'group'$/],
    [{ collapse: { by: 'text', keep: 0 } }, /^collapse\.keep: .*1$/],
    [{ collapse: 'text' }, /^collapse: /],
    [{ diversify: {} }, /^diversify\.diversity: Field required$/],
    [{ diversify: { diversity: 1.5 } }, /^diversify\.diversity: .*1$/],
    [{ diversify: { diversity: 0.5, by: 'words' } }, /^diversify\.by: .*'terms' or 'vectors'$/],
    [{ diversify: { diversity: 0.5, by: 'vectors' } }, /^diversify\.by: .*leave dense_score out$/],
    [
      { legs: { bm25: {} }, diversify: { diversity: 0.5, by: 'vectors' } },
      /^diversify\.by: .*scores no doc here/,
    ],
    [{ diversify: { diversity: 0.5, candidates: 501 } }, /^diversify\.candidates: .*500$/],
    [{ highlight: { chars: 19 } }, /^highlight\.chars: .*20$/],
    [{ highlight: { fragments: 11 } }, /^highlight\.fragments: .*10$/],
    [{ highlight: true }, /^highlight: /],
    [{ docs: [{ ...docs[0], group: 5 }] }, /^docs\.0\.group: .*string$/],
  ];
  for (const [more, told] of cases) {
    assert.match((await refused({ query: 'q', docs, ...more }))[0] ?? '', told, JSON.stringify(more));
  }
  for (const padding of ['', 'x'.repeat(LOOP_BODY_LIMIT)]) {
    const bare = [{ id: 'a', text: padding, dense_score: 1 }];
    const found = await refused({ query: 'q', docs: bare, collapse: { by: 'group' } });
    assert.match(found[0] ?? '', /^collapse\.by: .*no doc has a group$/);
  }
});

test('fragments that need more room than the texts are written nevertheless', async () => {
  const many = Array.from({ length: 300 }, (_, at) => {
    return { id: `${at}`, text: 'a b '.repeat(100), dense_score: 1 };
  });
  const { results } = await asked({
    ...{ query: 'a b', docs: many, return_text: false },
    highlight: { chars: 400, fragments: 10 },
  });
  assert.ok(results.every(({ highlights = [] }) => highlights[0]?.matches.length === 200));
});
