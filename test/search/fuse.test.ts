/**
 * POST /v1/fuse (the native module on the event loop and in the thread pool, and the handler over it) against
 * the recorded answers and, on random bodies, against the oracle, to the last bit.
 */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { answerTooDetailed, answerTooLarge } from '../../src/contract/answer.js';
import type { Answer } from '../../src/contract/exchange.js';
import { native } from '../../src/native/addon.js';
import { LOOP_BODY_LIMIT, fuseHandler } from '../../src/search/fuse.js';
import { answered, requestWith, staticMode } from '../support/embedding.js';
import { draws } from '../support/length.js';
import { assertAgrees } from '../reference/agreement.js';
import { fuse, type ReferenceRequest, type ReferenceResponse } from '../reference/fuse.js';
import { fuseVectors } from '../vectors/fuse.js';
import { withUnknown } from '../reference/unknown.js';
import { plainStyle, style, writeBody } from '../support/bodies.js';
import { fuseRequest } from './requests.js';

const embedMode = staticMode();
const { fuser } = embedMode;
const outcomes = native.FuseOutcome;
const handler = fuseHandler({ ...native, embedMode });
let out = new Uint8Array(64);
const facts = new Float64Array(2);

function parse(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
}

/** The native module's answer parsed: it takes every valid body. */
function nativeAnswer(body: Uint8Array): unknown {
  const before = body.slice();
  let outcome = fuser.fuse(body, out, facts, 50);
  if (outcome === outcomes.NeedsRoom) {
    out = new Uint8Array(facts[0] ?? 0);
    outcome = fuser.fuse(body, out, facts, 50);
  }
  assert.deepEqual(body, before, 'a body is read only');
  assert.equal(outcome, outcomes.Written);
  return parse(fuser.takeAnswer() ?? out.subarray(0, facts[0]));
}

/** The oracle's answer to the request as its bytes would be read. */
function expectedAnswer(request: ReferenceRequest): ReferenceResponse {
  return fuse(JSON.parse(JSON.stringify(request)) as ReferenceRequest);
}

/** A handler's answer parsed; it must be a 200. */
function bodyOf(answer: Answer): unknown {
  assert.equal(answer.status, 200);
  if ('bytes' in answer.body) assert.match(answer.body.type, /^application\/json/);
  return answered(answer);
}

/** The characters that a request counts for: of each text at least 16. */
function codePoints({ query, docs }: ReferenceRequest): number {
  const counted = docs.map(({ text }) => Math.max(16, Array.from(text).length));
  return counted.reduce((sum, count) => sum + count, Array.from(query).length);
}

test('every path gives the recorded answers', async () => {
  for (const { id, request } of fuseVectors()) {
    const body = writeBody(request, plainStyle);
    const answer = nativeAnswer(body);
    assertAgrees(request, answer);
    assert.equal(facts[1], codePoints(request), id);
    assert.deepEqual(answer, expectedAnswer(request), id);
    const room = Buffer.alloc(1 << 20);
    const pooled = await fuser.fuseAsync(Buffer.from(body), room, 50);
    assert.equal(pooled.outcome, outcomes.Written, id);
    assert.deepEqual(parse(room.subarray(0, pooled.length)), answer, id);
    assert.equal(pooled.characters, facts[1], id);
    const cramped = await fuser.fuseAsync(Buffer.from(body), Buffer.alloc(0), 50);
    assert.equal(cramped.outcome, outcomes.NeedsRoom, id);
    assert.ok(cramped.length >= pooled.length, id);
  }
});

test('native = oracle on random requests, however they are written', () => {
  fc.assert(
    fc.property(fuseRequest, style, (request, how) => {
      const expected = expectedAnswer(request);
      assertAgrees(request, expected);
      // To the last bit: how a body is written must not show.
      const body = writeBody(request, how);
      assert.deepEqual(nativeAnswer(body), withUnknown(expected, body));
      assert.equal(facts[1], codePoints(request));
    }),
    { seed: 20_260_102, numRuns: draws(4_000) },
  );
});

test('terms that differ in one byte are different, whatever their length and wherever it is', () => {
  for (let length = 1; length <= 72; length += 1) {
    const term = Array.from({ length }, (_, at) => 'abcdefghijklm'[at % 13]).join('');
    for (let at = 0; at < length; at += 1) {
      const other = `${term.slice(0, at)}z${term.slice(at + 1)}`;
      const docs = [other, term].map((text, number) => ({ id: String(number), text, dense_score: 0 }));
      const request = { query: term, docs, tokenizer: 'ws' };
      const answer = nativeAnswer(writeBody(request, plainStyle)) as ReferenceResponse;
      const scores = new Map(answer.results.map(({ id, bm25_score: score }) => [id, score]));
      assert.ok(scores.get('0') === 0 && Number(scores.get('1')) > 0, `${term} ${other}`);
    }
  }
});

test('the handler answers every valid body, and charges it', async () => {
  await fc.assert(
    fc.asyncProperty(fuseRequest, style, async (request, how) => {
      const body = writeBody(request, how);
      const answer = await handler(requestWith(body));
      assert.deepEqual(bodyOf(answer), withUnknown(expectedAnswer(request), body));
      assert.equal(answer.charge, codePoints(request));
    }),
    { seed: 20_260_103, numRuns: draws(1_000) },
  );
});

test('a body too long for the event loop gets the same answer from the pool', async () => {
  const [vector] = fuseVectors();
  assert.ok(vector !== undefined);
  const docs = Array.from({ length: 1800 }, (_, at) => ({
    id: `d${at}`,
    text: `${vector.request.docs[at % 5]?.text ?? ''} ${at} ${'fox '.repeat(at % 7)}`,
    dense_score: Math.sin(at),
  }));
  for (const escapedNames of [0, 0.01, 1]) {
    const request: ReferenceRequest = { ...vector.request, docs };
    const body = writeBody(request, { ...plainStyle, escapedNames });
    assert.ok(body.length > LOOP_BODY_LIMIT, `${body.length} bytes`);
    const answer = await handler(requestWith(body));
    assertAgrees(request, bodyOf(answer));
    assert.equal(answer.charge, codePoints(request));
  }
});

test('an answer whose explanations are long gets the room that it needs, wherever it is made', async () => {
  const docs = Array.from({ length: 8_000 }, () => ({ id: '', text: 'running', dense_score: 1 }));
  for (const some of [docs.slice(0, 6_000), docs]) {
    const request: ReferenceRequest = { query: 'running', docs: some, explain: true, analyzer: 'english' };
    const body = Buffer.from(JSON.stringify(request));
    assert.equal(body.length > LOOP_BODY_LIMIT, some === docs);
    assertAgrees(request, bodyOf(await handler(requestWith(body))));
  }
});

test('long texts are repaired, stemmed or compared off the event loop', async () => {
  const text = Array.from({ length: 9_000 }, (_, at) => `w${at.toString(36)}`).join(' ');
  const isOff = async (query: string, analyzer: unknown, long = text, more = {}): Promise<boolean> => {
    const docs = [{ id: 'a', text: long, dense_score: 1 }];
    const made = handler(requestWith(Buffer.from(JSON.stringify({ query, docs, analyzer, ...more }))));
    assert.equal((await made).status, 200);
    return made instanceof Promise;
  };
  assert.ok(text.length > 40_000 && text.length < 48_000);
  const many = text.slice(0, 1_200);
  assert.equal(await isOff(many, 'english', `${text} ${text}`), true);
  assert.equal(await isOff(many, 'english'), false, 'a short body');
  assert.equal(await isOff('word', 'english', `${text} ${text}`), false, 'few words are stemmed');
  assert.equal(await isOff('word', 'turkish', `${text} ${text}`), true, 'every word is');
  assert.equal(await isOff('word', { normalize: true }, `${text} ${text}`), true);
  assert.equal(await isOff('word', { fold_accents: true }, `${text} ${text}`), false);
  assert.equal(await isOff('word', { fold_accents: true }, `${text} ${text} ${text}`), true);
  assert.equal(await isOff('word', 'english', `${text} ${text} ${text}`), true, 'but of many');
  assert.equal(await isOff('word', { stopwords: ['a'] }, `${text} ${text} ${text}`), false);
  assert.equal(await isOff('word', 'english', text, { explain: true }), true, 'read twice');
  const diversify = { diversity: 0.5 };
  assert.equal(await isOff('word', 'english', text, { diversify }), true, 'read twice');
  assert.equal(await isOff('word', 'plain', text, { diversify }), false);
  assert.equal(await isOff('word', 'plain', `${text} ${text} ${text}`, { diversify }), true);
  const highlight = { chars: 40 };
  assert.equal(await isOff('word', 'plain', text, { highlight }), false);
  assert.equal(await isOff('word', 'plain', `${text} ${text}`, { highlight }), true);
  assert.equal(await isOff(text, { stopwords: ['a'] }, 'a'), true, 'a long query');
  assert.equal(await isOff(many, { stopwords: ['a'] }, 'a'), false);
});

test('docs that are sorted again for each leg that is explained leave the event loop', async () => {
  const isOff = async (count: number, explain: boolean): Promise<boolean> => {
    const names = Array.from({ length: 16 }, (_, at) => `leg${at}`);
    const legs = Object.fromEntries(names.map((name) => [name, { normalize: 'rank' }]));
    const scores = Object.fromEntries(names.map((name) => [name, 1]));
    const docs = Array.from({ length: count }, () => ({ id: '', text: '', dense_score: 1 }));
    const asked = { query: 'a', top_k: 1, explain, legs, docs: [{ ...docs[0], scores }, ...docs] };
    const made = handler(requestWith(Buffer.from(JSON.stringify(asked))));
    assert.equal((await made).status, 200);
    return made instanceof Promise;
  };
  assert.equal(await isOff(5_000, true), true);
  assert.equal(await isOff(5_000, false), false);
  assert.equal(await isOff(4_000, true), false);
});

test('explanations cost at most so much for each byte of the request, wherever they are made', async () => {
  const names = Array.from({ length: 14 }, (_, at) => `${'\u0001'.repeat(60)}${at}`);
  const legs = Object.fromEntries(names.map((name) => [name, { missing: 'min' as const }]));
  const scores = Object.fromEntries(names.map((name) => [name, 1]));
  const sent = (count: number, topK: number, text = ''): Buffer => {
    const docs = Array.from({ length: count }, () => ({ id: '', text, dense_score: 1 }));
    const asked = { query: 'a', explain: true, legs, top_k: topK, docs: [{ ...docs[0], scores }, ...docs] };
    return Buffer.from(JSON.stringify(asked));
  };
  // A result is explained by 6 KB.
  for (const [body, status] of [
    [sent(5, 10), 200],
    [sent(100, 10), 200],
    [sent(100, 40), 200],
    [sent(100, 80), 413],
    [sent(100, 100), 413],
    [sent(1_500, 1_500), 413],
    [sent(1_500, 1_500, 'x'.repeat(300)), 200],
    [sent(1_500, 1_500, 'x'.repeat(180)), 413],
  ] as const) {
    const answer = await handler({ ...requestWith(body), mostAnswerBytes: 256 << 20 });
    assert.equal(answer.status, status, `${body.length} bytes`);
    if (status === 413) assert.deepEqual(answer, answerTooDetailed);
  }
  // A caller with a lower limit is told that one, and one without any gets all.
  assert.equal((await handler(requestWith(sent(1_500, 1_500)))).status, 200);
  const mostAnswerBytes = 100_000;
  const limited = await handler({ ...requestWith(sent(100, 100)), mostAnswerBytes });
  assert.deepEqual(limited, answerTooLarge(mostAnswerBytes));
});

test('long explanations and highlights of a short body are made off the event loop, the same', async () => {
  const words = Array.from({ length: 800 }, (_, at) => `w${at.toString(36)}`).join(' ');
  const docs = Array.from({ length: 60 }, (_, at) => ({ id: `${at}`, text: words, dense_score: at }));
  const explained: ReferenceRequest = { query: words, docs: docs.slice(0, 15), explain: true, analyzer: {} };
  const highlight = { chars: 1_000, fragments: 5 };
  const highlighted: ReferenceRequest = { query: words, docs, top_k: 60, highlight };
  for (const one of [explained, highlighted]) {
    const body = Buffer.from(JSON.stringify(one));
    assert.ok(body.length <= LOOP_BODY_LIMIT);
    const made = handler(requestWith(body));
    assert.ok(made instanceof Promise);
    const whole = await made;
    assertAgrees(one, bodyOf(whole));
    assert.ok('bytes' in whole.body && whole.body.bytes.length > 512 * 1024);
    const mostAnswerBytes = whole.body.bytes.length - 1;
    const refused = await handler({ ...requestWith(body), mostAnswerBytes });
    assert.deepEqual(refused, answerTooLarge(mostAnswerBytes));
    const few = Buffer.from(JSON.stringify({ ...one, docs: docs.slice(0, 5) }));
    assert.ok(!(handler(requestWith(few)) instanceof Promise));
  }
});

test('an answer with more bytes than allowed is refused, wherever it is made', async () => {
  const scored = { id: '', text: 'running', dense_score: 1 };
  const unscored = { id: '', text: 'running' };
  for (const [doc, count, explain] of [
    [scored, 100, true],
    [scored, 100, false],
    [scored, 8_000, true],
    [unscored, 40, true],
    [{ ...unscored, text: 'running '.repeat(1_000) }, 40, true],
  ] as const) {
    const docs = Array.from({ length: count }, () => doc);
    const request = { query: 'running', docs, explain, analyzer: 'english' };
    const asked = requestWith(Buffer.from(JSON.stringify(request)));
    const whole = await handler(asked);
    assert.ok('bytes' in whole.body);
    const { length } = whole.body.bytes;
    assert.deepEqual(await handler({ ...asked, mostAnswerBytes: length - 1 }), answerTooLarge(length - 1));
    assert.deepEqual(await handler({ ...asked, mostAnswerBytes: 1 }), answerTooLarge(1));
    const fits = await handler({ ...asked, mostAnswerBytes: length });
    assert.deepEqual([fits.status, fits.charge], [200, whole.charge]);
  }
});

test('small requests are answered while a large one is in the thread pool', async () => {
  const [vector] = fuseVectors();
  assert.ok(vector !== undefined);
  const text = 'fox '.repeat(LOOP_BODY_LIMIT);
  const longOne = { ...vector.request, docs: [{ id: 'a', text, dense_score: 1 }] };
  const large = handler(requestWith(writeBody(longOne, plainStyle)));
  assert.ok(large instanceof Promise);
  const small = await handler(requestWith(writeBody(vector.request, plainStyle)));
  assertAgrees(vector.request, bodyOf(small));
  assert.equal((await large).status, 200);
});

test('an error in a body is explained, however long the body is', async () => {
  const docs = (count: number): object[] =>
    Array.from({ length: count }, (_, at) => ({ id: String(at), text: 'fox '.repeat(60), dense_score: at }));
  for (const count of [1, 2_000]) {
    const body = writeBody({ query: 'fox', docs: [...docs(count), { id: 5, text: 'x' }] }, plainStyle);
    assert.equal(body.length > LOOP_BODY_LIMIT, count > 1);
    const answer = await handler(requestWith(body));
    assert.deepEqual([answer.status, answer.charge], [422, 0]);
    const { detail } = answered(answer) as { detail: { type: string; loc: unknown[] }[] };
    assert.deepEqual(
      detail.map(({ type, loc }) => [type, loc]),
      [['string_type', ['body', 'docs', count, 'id']]],
    );
  }
});
