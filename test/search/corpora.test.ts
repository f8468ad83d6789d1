/**
 * POST /v1/fuse by named statistics: counted texts against a naive count and the oracle, to the last bit;
 * versions, owners, and the 422s of unknown names.
 */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { FuseResponse } from '../../src/contract/fuse.js';
import type { HTTPValidationError } from '../../src/contract/schema/validation.js';
import { native } from '../../src/native/addon.js';
import { corpusOwner, ownerIn } from '../../src/search/corpora.js';
import { LOOP_BODY_LIMIT, fuseHandler } from '../../src/search/fuse.js';
import { stems } from '../reference/analyzer.js';
import { fuse, type ReferenceRequest } from '../reference/fuse.js';
import { foldText } from '../reference/unicode.js';
import { answered, requestWith, staticMode } from '../support/embedding.js';
import { plainStyle, style, writeBody } from '../support/bodies.js';
import { counted, type Way } from './counted.js';

const key = Buffer.from('0123456789abcdef');
const corpora = new native.Corpora(key);
const ownerOf = ownerIn([corpora], (raw) => Buffer.from(raw.repeat(4)));
const handler = fuseHandler({ ...native, embedMode: staticMode(corpora), ownerOf });

async function answerTo(request: unknown, how = plainStyle, owner = '') {
  const answer = await handler(requestWith(writeBody(request, how), owner));
  return { status: answer.status, body: answered(answer) };
}

/** The faults of a refused request. */
async function refused(request: object, owner = ''): Promise<string[]> {
  const { status, body } = await answerTo(request, plainStyle, owner);
  assert.equal(status, 422, JSON.stringify(body));
  const { detail = [] } = body as HTTPValidationError;
  return detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`);
}

/** Stored statistics of texts. */
async function frozen(texts: readonly string[], analyzer: unknown = 'plain', ngram = false) {
  const counter = new native.CorpusCounter(key, JSON.stringify(analyzer), ngram ? 'ngram' : 'ws');
  // In pieces, as a long file comes.
  for (const text of texts)
    assert.equal(await counter.add(Buffer.from(`${JSON.stringify({ text })}\n`)), null);
  return counter.finish();
}

const words = stems.filter(({ language, word }) => language === 'english' && foldText(word) === word);
const few = words.filter((_, at) => at % Math.ceil(words.length / 24) === 0).map(({ word }) => word);
const word = fc.constantFrom(...few, '2024', 'x2', 'the', 'of');
const separator = fc.constantFrom(' ', ' ', ', ', '\n', '"');
const phrase = fc
  .array(fc.tuple(word, separator), { maxLength: 12 })
  .map((parts) => parts.flat().join(''))
  .map((text) => (text.length % 3 === 0 ? text.toUpperCase() : text));

const asked = fc.record(
  {
    query: phrase,
    docs: fc.array(
      fc.record(
        { id: word, text: phrase, dense_score: fc.double({ min: -1, max: 1, noNaN: true }) },
        { noNullPrototype: true },
      ),
      { minLength: 1, maxLength: 8 },
    ),
    method: fc.constantFrom('maxnorm', 'rrf'),
    top_k: fc.integer({ min: 1, max: 9 }),
    explain: fc.boolean(),
  },
  { requiredKeys: ['query', 'docs'], noNullPrototype: true },
);
const ways = fc.constantFrom<Way[]>(
  { analyzer: 'plain', tokenizer: 'ws' },
  { analyzer: 'english', tokenizer: 'ws' },
  { analyzer: 'plain', tokenizer: 'ngram' },
);

test('named statistics rank as the oracle does with the naive count, to the last bit', async () => {
  let version = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(phrase, { minLength: 1, maxLength: 12 }),
      asked,
      ways,
      style,
      async (texts, given, way, how) => {
        const { refused: wrong, bytes } = await frozen(texts, way.analyzer, way.tokenizer === 'ngram');
        const expected = counted(texts, way);
        if (expected.average_length === 0) {
          assert.equal(wrong?.reason, 'empty');
          return;
        }
        version += 1;
        assert.equal(await corpora.add('counted', version, bytes), true);
        const plain = JSON.parse(JSON.stringify({ ...given, ...way })) as ReferenceRequest;
        const corpus = { name: 'counted', version, docs: texts.length };
        for (const named of [{ name: 'counted' }, { name: 'counted', version }]) {
          const { status, body } = await answerTo({ ...plain, corpus: named }, { ...how, extra: 0 });
          assert.equal(status, 200, JSON.stringify(body));
          assert.deepEqual(body, { ...fuse({ ...plain, corpus: expected }), corpus });
        }
        if (version % 50 === 0) corpora.remove('counted');
      },
    ),
    { seed: 20_261_125, numRuns: 600 },
  );
});

const docs = [
  { id: 'a', text: 'iphone case', dense_score: 0 },
  { id: 'b', text: 'case', dense_score: 0 },
];
const asking = { query: 'iphone case', docs };

function given(docCount: number): Promise<{ readonly bytes: Buffer }> {
  const statistics = { docs: docCount, average_length: 2, df: { iphone: 1, case: docCount } };
  return native.freezeCorpus(Buffer.from(JSON.stringify(statistics)), key);
}

async function put(name: string, version: number, docCount: number): Promise<void> {
  assert.equal(await corpora.add(name, version, (await given(docCount)).bytes), true);
}

async function used(corpus: object, owner = ''): Promise<unknown> {
  const { body } = await answerTo({ ...asking, corpus }, plainStyle, owner);
  return (body as FuseResponse).corpus;
}

test('the newest version answers, and a pinned one stays', async () => {
  await put('shop', 1, 10);
  const first = await answerTo({ ...asking, corpus: { name: 'shop', version: 1 } });
  await put('shop', 2, 20);
  assert.deepEqual(await used({ name: 'shop' }), { name: 'shop', version: 2, docs: 20 });
  assert.deepEqual(await answerTo({ ...asking, corpus: { name: 'shop', version: 1 } }), first);
  assert.deepEqual(corpora.versions('shop'), [1, 2]);
});

test('statistics by name give the same answer as those in the request', async () => {
  await put('same', 1, 10);
  const inline = { docs: 10, average_length: 2, df: { iphone: 1, case: 10 } };
  const byName = await answerTo({ ...asking, explain: true, corpus: { name: 'same' } });
  const { body } = await answerTo({ ...asking, explain: true, corpus: inline });
  assert.deepEqual(byName.body, { ...(body as object), corpus: { name: 'same', version: 1, docs: 10 } });
});

test('an unknown name is refused at its place, with the known names', async () => {
  await put('wiki', 1, 10);
  assert.match(
    (await refused({ ...asking, corpus: { name: 'shpo' } }))[0] ?? '',
    /^corpus\.name: .*no statistics have this name; known: .*wiki/,
  );
  assert.match(
    (await refused({ ...asking, corpus: { name: 'wiki', version: 9 } }))[0] ?? '',
    /^corpus\.version: .*no such version/,
  );
  const long = { ...asking, corpus: { name: 'x'.repeat(LOOP_BODY_LIMIT) } };
  assert.match((await refused(long))[0] ?? '', /^corpus\.name: /);
  const without = fuseHandler({ ...native, embedMode: staticMode() });
  const answer = await without(
    requestWith(Buffer.from(JSON.stringify({ ...asking, corpus: { name: 'a' } }))),
  );
  assert.match(JSON.stringify(answered(answer)), /there are none here/);
});

test('statistics are given or named, not both', async () => {
  const inline = { docs: 10, average_length: 2, df: {} };
  const faults = (corpus: object) => refused({ ...asking, corpus });
  assert.match((await faults({ name: 'wiki', ...inline }))[0] ?? '', /^corpus: .*but not both/);
  assert.match((await faults({ ...inline, version: 1 }))[0] ?? '', /^corpus\.version: .*by name/);
  assert.deepEqual(
    (await faults({})).map((fault) => fault.split(':')[0]),
    ['corpus.docs', 'corpus.average_length', 'corpus.df'],
  );
  assert.match((await faults({ name: 7 }))[0] ?? '', /^corpus\.name: /);
  assert.match((await faults({ name: 'wiki', version: 0 }))[0] ?? '', /^corpus\.version: .*greater/);
});

test('the names of a key are its own', async () => {
  const owner = corpusOwner(Buffer.from('ada-'.repeat(4)));
  await put('everyone', 1, 10);
  await put(`${owner}/mine`, 1, 30);
  await put(`${owner}/everyone`, 4, 40);
  assert.deepEqual(await used({ name: 'mine' }, 'ada-'), { name: 'mine', version: 1, docs: 30 });
  assert.deepEqual(await used({ name: 'everyone' }, 'ada-'), { name: 'everyone', version: 4, docs: 40 });
  assert.deepEqual(await used({ name: 'everyone' }, 'bob-'), { name: 'everyone', version: 1, docs: 10 });
  for (const name of ['mine', `${owner}/mine`]) {
    const [fault = ''] = await refused({ ...asking, corpus: { name } }, 'bob-');
    assert.match(fault, /^corpus\.name: /);
    assert.doesNotMatch(fault, /mine|\//);
  }
});

test('a large body by name is answered off the event loop, the same', async () => {
  await put('large', 1, 10);
  const padded = { id: 'c', text: 'x '.repeat(LOOP_BODY_LIMIT), dense_score: 0 };
  const { body } = await answerTo({
    ...asking,
    docs: [...docs, padded],
    top_k: 1,
    corpus: { name: 'large' },
  });
  assert.deepEqual((body as FuseResponse).corpus, { name: 'large', version: 1, docs: 10 });
});

test('statistics that are damaged, or of another master secret, are refused', async () => {
  const { bytes } = await given(5);
  assert.equal(await corpora.add('damaged', 1, bytes.subarray(0, bytes.length - 1)), false);
  const other = new native.Corpora(Buffer.from('fedcba9876543210'));
  assert.equal(await other.add('damaged', 1, bytes), false);
  assert.deepEqual(corpora.versions('damaged'), []);
});
