/**
 * `legs` and `boosts` of POST /v1/fuse against the oracle, to the last bit, explanations that add up, and the
 * 422s of requests that get them wrong.
 */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { FuseResponse } from '../../src/contract/fuse.js';
import { native } from '../../src/native/addon.js';
import { LOOP_BODY_LIMIT, fuseHandler } from '../../src/search/fuse.js';
import { draws } from '../support/length.js';
import type { ReferenceRequest } from '../reference/fuse.js';
import { exponential } from '../reference/exponential.js';
import { answered, noModels, requestWith } from '../support/embedding.js';
import { answerTo, asked, askedAsOracle, refused } from './asked.js';
import { plainStyle, style, writeBody } from '../support/bodies.js';

const names = ['splade', 'clicks', 'Ünïcode', '__proto__', 'a"b', ''];
const number = fc.oneof(
  fc.double({ min: -10, max: 10, noNaN: true }),
  fc.constantFrom(0, -0, 1, 5, 5, 1e300, -1e300, 5e-324, 1e-12, 40_000),
);
const word = fc.constantFrom('fox', 'red', 'dog', 'a');
const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(' '));

/** An object of some of these names. */
function objectOf<Value>(keys: readonly string[], value: fc.Arbitrary<Value>) {
  const pairs = fc.tuple(...keys.map((key) => fc.tuple(fc.constant(key), fc.option(value))));
  return pairs.map((found) => Object.fromEntries(found.filter(([, one]) => one !== null)) as object);
}

const leg = fc.record(
  {
    weight: fc.oneof(fc.double({ min: 0, max: 5, noNaN: true }), fc.constantFrom(1, 1e308, 5e-324)),
    normalize: fc.constantFrom('max', 'minmax', 'zscore', 'log1p', 'rank', 'none'),
    missing: fc.constantFrom('zero', 'min'),
  },
  { requiredKeys: [], noNullPrototype: true },
);
const boost = fc.record(
  {
    origin: number,
    scale: fc.oneof(fc.double({ min: 0.001, max: 100, noNaN: true }), fc.constantFrom(1e-9, 1e300)),
    offset: fc.double({ min: 0, max: 5, noNaN: true }),
    decay: fc.constantFrom(0.001, 0.3, 0.5, 0.999),
    function: fc.constantFrom('exp', 'gauss', 'linear'),
    weight: fc.double({ min: 0, max: 1, noNaN: true }),
  },
  { requiredKeys: ['origin', 'scale'], noNullPrototype: true },
);

/** A request of which legs, boosts and docs name the same numbers. */
const request = fc
  .record({
    sent: fc.subarray(names.slice(0, 5), { minLength: 0 }),
    usual: fc.subarray(['bm25', 'dense'], { minLength: 1 }),
    valued: fc.subarray(['published', 'price', '日本'], { minLength: 0 }),
  })
  .chain(({ sent, usual, valued }) => {
    const doc = fc.record({
      id: fc.constantFrom('a', 'b'),
      text,
      dense_score: fc.double({ min: -1, max: 1, noNaN: true }),
      scores: objectOf(sent, number),
      values: objectOf(valued, number),
    });
    // The first doc has all numbers, so that every name is known.
    const first = doc.chain((made) =>
      fc.tuple(...[...sent, ...valued].map(() => number)).map((numbers) => ({
        ...made,
        scores: Object.fromEntries(sent.map((name, at) => [name, numbers[at]])),
        values: Object.fromEntries(valued.map((name, at) => [name, numbers[at + sent.length]])),
      })),
    );
    const legOf = (name: string) =>
      leg.map(
        (made) => [name, { ...made, ...(usual.includes(name) ? { missing: undefined } : {}) }] as const,
      );
    return fc.record(
      {
        query: text,
        docs: fc.tuple(first, fc.array(doc, { maxLength: 7 })).map(([one, others]) => [one, ...others]),
        legs: fc.tuple(...[...sent, ...usual].map(legOf)).map((found) => Object.fromEntries(found)),
        boosts: fc.tuple(...valued.map((value) => boost.map((made) => ({ value, ...made })))),
        method: fc.constantFrom('maxnorm', 'rrf'),
        tokenizer: fc.constantFrom('ws', 'ngram'),
        rrf_k: fc.double({ min: 1, max: 100, noNaN: true }),
        top_k: fc.integer({ min: 1, max: 9 }),
        explain: fc.boolean(),
      },
      { requiredKeys: ['query', 'docs', 'legs', 'boosts'], noNullPrototype: true },
    );
  })
  .map((made) => JSON.parse(JSON.stringify(made)) as ReferenceRequest)
  .filter(({ legs = {} }) => Object.values(legs).some(({ weight = 1 }) => weight > 0));

test('legs and boosts rank as the oracle does, to the last bit, and explanations add up', async () => {
  await fc.assert(
    fc.asyncProperty(request, style, async (made, how) => {
      const { results } = await askedAsOracle(made, how);
      for (const { fused_score: score, explain } of results) {
        if (explain === undefined) continue;
        const parts = Object.values(explain.legs ?? {}).map(({ part }) => part);
        const factors = (explain.boosts ?? []).map(({ factor }) => factor);
        const sum = parts.reduce((total, part) => total + part, 0);
        const whole = factors.reduce((product, factor) => product * factor, sum);
        assert.ok(Math.abs(whole - score) <= 1e-12 * Math.max(1, ...parts.map(Math.abs)));
      }
    }),
    { seed: 20_261_125, numRuns: draws(2_500) },
  );
});

const docs = [
  { id: 'a', text: 'red fox', dense_score: 0.5, scores: { splade: 4 }, values: { age: 0 } },
  { id: 'b', text: 'red dog', dense_score: 0.5, scores: { splade: 8 }, values: { age: 30 } },
  { id: 'c', text: 'dog', dense_score: 0.5 },
];

test('a leg and a boost do what their formulas say', async () => {
  const legs = { splade: { weight: 3 }, bm25: {} };
  const boosts = [{ value: 'age', origin: 0, scale: 30, weight: 0.5 }];
  const { results, dense_source: source, warnings } = await asked({ query: 'fox', docs, legs, boosts });
  const scores = Object.fromEntries(results.map(({ id, fused_score: score }) => [id, score]));
  assert.deepEqual(Object.keys(scores), ['a', 'b', 'c']);
  assert.ok(Math.abs((scores['a'] ?? 0) - (0.25 + 0.75 / 2)) < 1e-12);
  assert.ok(Math.abs((scores['b'] ?? 0) - 0.75 * 0.75) < 1e-12);
  assert.equal(scores['c'], 0);
  assert.deepEqual([source, warnings], ['none', undefined]);
});

test('two legs do the same as weights, by either method', async () => {
  const plain = docs.map(({ id, text: words, dense_score }) => ({ id, text: words, dense_score }));
  for (const method of ['maxnorm', 'rrf']) {
    const weights = { bm25: 3, dense: 1 };
    const legs = { dense: { weight: 1 }, bm25: { weight: 3 } };
    const [one, other] = [
      await asked({ query: 'fox', docs: plain, method, weights }),
      await asked({ query: 'fox', docs: plain, method, legs }),
    ];
    assert.deepEqual(one, other);
  }
});

test('without a dense leg no model is used', async () => {
  const bare = docs.map(({ id, text: words }) => ({ id, text: words }));
  const answer = await fuseHandler({ ...native, embedMode: noModels() })(
    requestWith(writeBody({ query: 'fox', docs: bare, legs: { bm25: {} } }, plainStyle)),
  );
  assert.equal(answer.status, 200);
  const { results } = answered(answer) as FuseResponse;
  assert.deepEqual(
    results.map(({ id, dense_score: score, fused_score: fused }) => [id, score, fused]),
    [
      ['a', 0, 1],
      ['b', 0, 0],
      ['c', 0, 0],
    ],
  );
});

test('a hundred errors of names list a few short ones', async () => {
  const names = Array.from({ length: 16 }, (_, at) => `${'n'.repeat(60)}${at}`);
  const legs = Object.fromEntries(names.map((name) => [name, {}]));
  const unknown = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`u${at}`, 1]));
  const scores = Object.fromEntries(names.map((name) => [name, 1]));
  const listed = [{ id: 'a', text: '', dense_score: 1, scores: { ...scores, ...unknown } }];
  const errors = await refused({ query: 'q', docs: listed, legs });
  assert.equal(errors.length, 100);
  assert.match(errors[0] ?? '', /^docs\.0\.scores\.u0: .*; named there: (n{60}\d+, ){3}n{60}\d+$/);
});

test('a wrong leg or boost is a 422 at its place that says what is allowed', async () => {
  const wrong = (more: object, listed: object[] = docs): Promise<string[]> =>
    refused({ query: 'q', docs: listed, legs: { splade: {} }, boosts, ...more });
  const age = { value: 'age', origin: 0, scale: 1 };
  const boosts = [age];
  const cases: [object, RegExp][] = [
    [{ legs: { splade: {}, slpade: {} } }, /^legs\.slpade: .*no doc has a score.*; sent: splade$/],
    [{ legs: { bm25: {} } }, /^docs\.0\.scores\.splade: .*legs does not name it; legs names none$/],
    [{ boosts: [] }, /^docs\.0\.values\.age: .*boosts does not name it/],
    [{ boosts: [age, { ...age, value: 'agee' }] }, /^boosts\.1\.value: .*no doc has a value.*; sent: age$/],
    [{ boosts: [age, age] }, /^boosts\.1\.value: .*another boost has this value$/],
    [{ boosts: [{ value: 'age', origin: 0 }] }, /^boosts\.0\.scale: Field required$/],
    [{ boosts: [{ ...age, decay: 1 }] }, /^boosts\.0\.decay: .*0\.999$/],
    [{ boosts: [{ ...age, scale: 0 }] }, /^boosts\.0\.scale: /],
    [{ boosts: [{ ...age, weight: 2 }] }, /^boosts\.0\.weight: .*1$/],
    [{ boosts: [{ ...age, function: 'step' }] }, /^boosts\.0\.function: .*'exp', 'gauss' or 'linear'$/],
    [{ boosts: Array(17).fill(age) }, /^boosts: .*at most 16/],
    [{ legs: {} }, /^legs: .*1 to 16/],
    [{ legs: [] }, /^legs: /],
    [{ legs: { splade: { weight: -1 } } }, /^legs\.splade\.weight: .*greater than or equal to 0$/],
    [{ legs: { splade: { weight: 0 } } }, /^legs: .*not all weights may be 0$/],
    [
      { legs: { splade: { normalize: 'l2' } } },
      /^legs\.splade\.normalize: .*'max', 'minmax', 'zscore', 'log1p', 'rank' or 'none'$/,
    ],
    [{ legs: { splade: { missing: 'error' } } }, /^legs\.splade\.missing: .*'zero' or 'min'$/],
    [{ legs: { splade: {}, dense: { missing: 'min' } } }, /^legs\.dense\.missing: .*on_missing_dense/],
    [{ legs: { splade: {}, ['x'.repeat(65)]: {} } }, /^legs\.x{64}: .*1 to 64 characters$/],
    [{ legs: { splade: null } }, /^legs\.splade: /],
    [{ weights: { bm25: 1, dense: 1 } }, /^weights: .*legs have weights of their own$/],
    [{ docs: [{ ...docs[0], scores: { splade: '4' } }] }, /^docs\.0\.scores\.splade: .*number$/],
    [{ docs: [{ ...docs[0], values: { age: 1e301 } }] }, /^docs\.0\.values\.age: /],
    [{ docs: [{ ...docs[0], values: null }] }, /^docs\.0\.values: /],
  ];
  for (const [more, told] of cases) assert.match((await wrong(more))[0] ?? '', told, JSON.stringify(more));
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`leg${at}`, {}]));
  assert.match((await wrong({ legs: many }))[0] ?? '', /^legs: .*1 to 16 legs/);
});

test('wrong names are found after any number of docs', async () => {
  const many = Array.from({ length: 400 }, (_, at) => ({
    ...{ id: `${at}`, text: 'a', dense_score: 1, scores: { splade: at } },
    values: at === 390 ? { aeg: 1 } : {},
  }));
  for (const padding of ['', 'x'.repeat(LOOP_BODY_LIMIT)]) {
    const found = await refused({ query: `q ${padding}`, docs: many, legs: { splade: {} } });
    assert.deepEqual(found, ['docs.390.values.aeg: Value error, boosts does not name it; boosts names none']);
  }
});

test('of a repeated leg, score or boost the last counts', async () => {
  const body = (inside: string, scores: string): Uint8Array =>
    Buffer.from(
      `{"query":"q","legs":${inside},"docs":[{"id":"a","text":"q","scores":${scores}},` +
        '{"id":"b","text":"q","scores":{"x":4,"y":1}}]}',
    );
  const plain = await answerTo(body('{"x":{"weight":3},"y":{}}', '{"x":1,"y":2}'));
  assert.equal(plain.status, 200);
  for (const [legs, scores] of [
    ['{"x":5,"y":{},"x":{"weight":3}}', '{"x":1,"y":2}'],
    ['{"x":{"weight":3},"y":{}}', '{"y":9,"x":"1","y":2,"\\u0078":1}'],
    ['{"x":{"weight":3},"y":{}}', '{"z":1},"scores":{"y":2,"x":1}'],
  ] as const) {
    assert.deepEqual(await answerTo(body(legs, scores)), plain, `${legs} ${scores}`);
  }
});

test('of repeated docs only the last ones count, with their scores, values and groups', async () => {
  const boosts = '"boosts":[{"value":"v","origin":0,"scale":1}],"collapse":{"by":"group"}';
  const settings = `"query":"q","legs":{"x":{},"bm25":{}},${boosts}`;
  const doc = (id: string, members: string): string => `{"id":"${id}","text":"q"${members}}`;
  const last = [doc('a', ',"scores":{"x":1}'), doc('b', ',"values":{"v":5},"group":"g"'), doc('c', '')];
  const before = ['d', 'e', 'f', 'g'].map((id, at) =>
    doc(id, `,"scores":{"x":${9 - at}},"values":{"v":${at}},"group":"g"`),
  );
  const plain = await answerTo(Buffer.from(`{${settings},"docs":[${last.join(',')}]}`));
  assert.equal(plain.status, 200, JSON.stringify(plain.body));
  const repeated = `{"docs":[${before.join(',')}],${settings},"docs":[${last.join(',')}]}`;
  assert.deepEqual(await answerTo(Buffer.from(repeated)), plain);
});

test('a dense score of -0 is 0 in the answer, however it is written', async () => {
  for (const zero of ['-0', '-0.0', '-0e5', '-1e-400']) {
    const body = `{"query":"q","docs":[{"id":"a","text":"q","dense_score":${zero}}]}`;
    const { status, body: found } = await answerTo(Buffer.from(body));
    assert.equal(status, 200);
    const [result] = (found as FuseResponse).results;
    assert.ok(Object.is(result?.dense_score, 0), zero);
  }
});

test('powers of e are those of the platform within the last bit', () => {
  for (let at = 1; at < 4000; at++) {
    const value = -((at * 0.19) ** 2 % 740);
    const [one, other] = [exponential(value), Math.exp(value)];
    assert.ok(Math.abs(one - other) <= Math.max(other * 3e-16, 5e-324), String(value));
  }
});
