/**
 * Embed mode of POST /v1/fuse with the static model: scores that another program computed, random bodies
 * against the oracle, and what is refused.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import type { Answer } from '../../src/contract/exchange.js';
import type { FuseRequest, FuseResponse } from '../../src/contract/fuse.js';
import { answerTooLarge, callerGone } from '../../src/contract/answer.js';
import { native } from '../../src/native/addon.js';
import type { Fuser } from '../../src/native/index.js';
import { LOOP_BODY_LIMIT, fuseHandler } from '../../src/search/fuse.js';
import { draws } from '../support/length.js';
import { near } from '../reference/agreement.js';
import {
  fuse,
  leastOfOthers,
  lexicalScores,
  type ReferenceRequest,
  type ReferenceResponse,
} from '../reference/fuse.js';
import { withUnknown } from '../reference/unknown.js';
import { sightOf } from '../reference/wordpiece.js';
import { plainStyle, style, writeBody } from '../support/bodies.js';
import { answered, noModels, requestWith, staticMode } from '../support/embedding.js';
import { fuseRequest } from './requests.js';

const mode = staticMode();
const handler = fuseHandler({ ...native, embedMode: mode });

/** A request as the handler answers it. */
async function answer(request: unknown, key?: string): Promise<{ status: number; body: unknown }> {
  const sent = await handler(requestWith(Buffer.from(JSON.stringify(request)), key));
  const read = { status: sent.status, body: answered(sent) };
  if ('bytes' in sent.body) sent.body.release?.();
  return read;
}

interface Recorded {
  readonly query: string;
  readonly texts: readonly string[];
  readonly scores: readonly number[];
}

function recorded(): Recorded[] {
  const file = fileURLToPath(new URL('../../../test/vectors/static-256.jsonl', import.meta.url));
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Recorded);
}

test('scores equal those that another program computes', async () => {
  let flat = 0;
  for (const { query, texts, scores } of recorded()) {
    const docs = texts.map((text, at) => ({ id: String(at), text }));
    const { status, body } = await answer({ query, docs, embed_model: 'static-256' });
    assert.equal(status, 200);
    const { dense_source: source, results, warnings = [] } = body as FuseResponse;
    assert.equal(source, 'model:static-256');
    assert.equal(results.length, texts.length);
    for (const { id, dense_score: score } of results) {
      assert.ok(near(score, scores[Number(id)] ?? NaN), `${query} ${id}: ${score}`);
    }
    flat += warnings.filter(({ code }) => code === 'dense_leg_flat').length;
  }
  assert.equal(flat, 2);
});

/** A request of which the model scores the docs. */
type Unscored = Omit<ReferenceRequest, 'docs'> & Pick<FuseRequest, 'docs' | 'entity_map'>;

/** A text after `entity_map`: one pass, the longest form first. */
function mapped(text: string, entities: Readonly<Record<string, string>>): string {
  const forms = Object.keys(entities).sort((left, right) => right.length - left.length);
  let read = '';
  for (let at = 0; at < text.length;) {
    const form = forms.find((one) => text.startsWith(one, at)) ?? '';
    read += form === '' ? text.charAt(at) : (entities[form] ?? '');
    at += form === '' ? 1 : form.length;
  }
  return read;
}

/** The model's scores of docs by their places, which a plain request for nothing else brings. */
async function scoresOf(query: string, request: Unscored): Promise<ReadonlyMap<number, number>> {
  const { entity_map: entities } = request;
  const docs = request.docs.map(({ text }, at) => ({ id: String(at), text }));
  const { body } = await answer(
    { query, docs, ...(entities == null ? {} : { entity_map: entities }) },
    'a key',
  );
  return new Map((body as FuseResponse).results.map((one) => [Number(one.id), one.dense_score]));
}

/** How alike docs are: the score of each text as the query; 0 where the model knows no word of one. */
async function likenessOf(request: Unscored): Promise<(one: number, other: number) => number> {
  const isBlind = request.docs.map(({ text }) => sightOf(mapped(text, request.entity_map ?? {})) === 'blind');
  const scores: ReadonlyMap<number, number>[] = [];
  for (const { text } of request.docs) scores.push(await scoresOf(text, request));
  return (one, other) =>
    isBlind[one] === true || isBlind[other] === true ? 0 : (scores[one]?.get(other) ?? NaN);
}

/** What the oracle makes of the model's scores. */
async function expectedAnswer(request: Unscored): Promise<ReferenceResponse> {
  const { query, entity_map: entities, docs } = request;
  const scores = await scoresOf(query, request);
  const sights = docs.map(({ text }) => sightOf(mapped(text, entities ?? {})));
  const own = sights.map((sight, at) => (sight === 'blind' ? undefined : (scores.get(at) ?? NaN)));
  const dense = leastOfOthers(own);
  const scored = request.docs.map((doc, at) => ({ ...doc, dense_score: dense[at] ?? NaN }));
  const plain = JSON.parse(JSON.stringify({ ...request, docs: scored })) as ReferenceRequest;
  const replaced = request.docs.some(({ dense_score: score }) => typeof score === 'number');
  const asked = sightOf(mapped(query, entities ?? {}));
  const poorDocs = sights.some((sight) => sight !== 'clear') ? 'docs' : undefined;
  const poor = asked === 'clear' ? poorDocs : 'query';
  const likeness = plain.diversify?.by === 'vectors' ? { likeness: await likenessOf(request) } : {};
  const about = { truncated: false, replaced, poor } as const;
  return fuse(plain, lexicalScores(plain), { model: 'static-256', ...about, ...likeness });
}

const entityMap = fc.option(
  fc.dictionary(fc.constantFrom('fox', 'Fox', 'fo', 'ox', '日本', '水', 'é', '"', '__proto__'), fc.string(), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
);

/** Requests of which at least one doc lacks its score. */
const unscored: fc.Arbitrary<Unscored> = fc
  .tuple(
    fuseRequest,
    entityMap,
    fc.array(fc.constantFrom('kept', 'left out', 'null'), { minLength: 12, maxLength: 12 }),
  )
  .map(([request, entities, habits]) => ({
    ...request,
    ...(entities === null ? {} : { entity_map: entities }),
    docs: request.docs.map(({ id, text, dense_score: score }, at) => {
      const habit = at === 0 && habits[0] === 'kept' ? 'left out' : habits[at];
      if (habit === 'kept') return { id, text, dense_score: score };
      return habit === 'null' ? { id, text, dense_score: null } : { id, text };
    }),
  }));

test('native = oracle to the last bit, however a request is written', async () => {
  const out = new Uint8Array(1 << 20);
  const facts = new Float64Array(2);
  const { Invalid, Written } = native.FuseOutcome;
  const { fuser: without } = noModels();
  await fc.assert(
    fc.asyncProperty(unscored, style, async (request, how) => {
      const body = writeBody(request, how);
      const expected = withUnknown(await expectedAnswer(request), body);
      assert.equal(without.fuse(body, out, facts, 50), Invalid);
      assert.equal(mode.fuser.fuse(body, out, facts, 50), Written);
      assert.deepEqual(JSON.parse(Buffer.from(out.subarray(0, facts[0])).toString()), expected);
      const sent = await handler(requestWith(body));
      assert.equal(sent.status, 200);
      assert.deepEqual(answered(sent), expected);
      const counted = request.docs.map(({ text }) => Math.max(16, Array.from(text).length));
      assert.equal(
        sent.charge,
        counted.reduce((sum, count) => sum + count, Array.from(request.query).length),
      );
    }),
    { seed: 20_261_121, numRuns: draws(1_500) },
  );
});

test('results are diversified by the vectors of the model, as the oracle does, to the last bit', async () => {
  const diversify = fc.record(
    {
      diversity: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0.3, 1)),
      by: fc.constant('vectors' as const),
      candidates: fc.integer({ min: 1, max: 12 }),
    },
    { requiredKeys: ['diversity', 'by'], noNullPrototype: true },
  );
  await fc.assert(
    fc.asyncProperty(unscored, diversify, style, async (made, how, written) => {
      const request: Unscored = { ...made, diversify: how };
      const body = writeBody(request, written);
      const sent = await handler(requestWith(body));
      assert.equal(sent.status, 200);
      assert.deepEqual(answered(sent), withUnknown(await expectedAnswer(request), body));
    }),
    { seed: 20_261_127, numRuns: 300 },
  );
});

test('a body too long for the event loop gets the same answer from the pool', async () => {
  const texts = Array.from(
    { length: 900 },
    (_, at) => `fox ${'wing lift '.repeat(40)} ${at} ${'red '.repeat(at % 7)}`,
  );
  const docs = texts.map((text, at) => ({ id: `d${at}`, text }));
  const request = { query: 'a red fox', docs, entity_map: { fox: 'reynard' } };
  for (const escapedNames of [0, 0.01, 1]) {
    const body = writeBody(request, { ...plainStyle, escapedNames });
    assert.ok(body.length > LOOP_BODY_LIMIT, `${body.length} bytes`);
    const sent = await handler(requestWith(body, 'a key'));
    assert.deepEqual(answered(sent), await expectedAnswer(request));
  }
});

test('a model does not read the texts of a long body on the event loop', async () => {
  const keys = Array.from({ length: 4_000 }, (_, at) => [`k${at}`, 'v'] as const);
  const request = {
    query: 'a red fox',
    docs: [
      { id: 'a', text: 'a red k12 k3999k4000' },
      { id: 'b', text: 'kk7' },
    ],
  };
  const maps = [{}, Object.fromEntries(keys.slice(0, 500)), Object.fromEntries(keys)];
  for (const map of maps) {
    for (const length of [0, 60_000]) {
      const docs = [...request.docs, { id: 'c', text: 'k '.repeat(length / 2) }];
      const asked = { ...request, docs, entity_map: map };
      const body = Buffer.from(JSON.stringify(asked));
      assert.ok(body.length <= LOOP_BODY_LIMIT);
      const sent = handler(requestWith(body));
      assert.equal(sent instanceof Promise, body.length > 48 << 10);
      assert.deepEqual(answered(await sent), await expectedAnswer(asked));
    }
  }
  const scored = request.docs.map((doc) => ({ ...doc, text: 'k '.repeat(30_000), dense_score: 1 }));
  const given = handler(requestWith(Buffer.from(JSON.stringify({ ...request, docs: scored }))));
  assert.ok(!(given instanceof Promise));
});

test('texts that an entity_map makes long are not read on the event loop', async () => {
  for (const [count, isLong] of [
    [16, false],
    [17, true],
  ] as const) {
    const docs = [{ id: 'a', text: 'a'.repeat(count) }];
    const entities = { a: ' red fox'.repeat(375), unused: 'x'.repeat(17_000) };
    const asked = { query: 'red fox', docs, entity_map: entities };
    const sent = handler(requestWith(Buffer.from(JSON.stringify(asked))));
    assert.equal(sent instanceof Promise, isLong, `${count * 3_000} bytes`);
    assert.deepEqual(answered(await sent), await expectedAnswer(asked));
  }
});

test('a text of which the model knows no word gets the least score of the others', async () => {
  const asked = async (query: string, ...texts: string[]): Promise<[number[], unknown[]]> => {
    const docs = texts.map((text, at) => ({ id: String(at), text }));
    const { results, warnings = [] } = (await answer({ query, docs })).body as FuseResponse;
    const scores = new Map(results.map(({ id, dense_score: score }) => [id, score]));
    const dense = docs.map(({ id }) => scores.get(id) ?? NaN);
    return [dense, warnings.filter(({ code }) => code.startsWith('dense')).map(({ code }) => code)];
  };
  const [[near = NaN, far = NaN, ...blind], codes] = await asked('phone battery', 'a battery', 'x', '番茄');
  assert.ok(near > 0.5 && far < near, `${near} ${far}`);
  assert.deepEqual([blind, codes], [[far], ['dense_leg_blind']]);
  assert.deepEqual(await asked('电池', '番茄', '律师', 'a battery'), [
    [0, 0, 0],
    ['dense_leg_flat', 'dense_leg_blind'],
  ]);
  assert.deepEqual((await asked('phone battery', '番茄 x 律师', 'a battery'))[1], ['dense_leg_blind']);
  assert.deepEqual((await asked('phone battery', 'a 电池 for my phone', ''))[1], []);
});

test('entity_map changes what the model reads, and nothing else', async () => {
  const docs = [
    { id: 'a', text: 'a 🐎 in the field' },
    { id: 'b', text: 'price of bread' },
  ];
  const plain = (await answer({ query: 'horse', docs })).body as FuseResponse;
  const mapped = (await answer({ query: 'horse', docs, entity_map: { '🐎': 'horse', price: 'x' } }))
    .body as FuseResponse;
  const scores = ({ results }: FuseResponse) => new Map(results.map((one) => [one.id, one.dense_score]));
  assert.ok((scores(mapped).get('a') ?? 0) > (scores(plain).get('a') ?? 0) + 0.2);
  assert.notEqual(scores(mapped).get('b'), scores(plain).get('b'));
  const rest = ({ results }: FuseResponse) =>
    results.map(({ id, text, bm25_score: score }) => [id, text, score]).sort();
  assert.deepEqual(rest(mapped), rest(plain));
  const sameCase = (await answer({ query: 'horse', docs, entity_map: { Price: 'x' } })).body as FuseResponse;
  assert.deepEqual(scores(sameCase), scores(plain));
});

test('the model scores every doc where one lacks its score', async () => {
  const texts = ['red fox', 'blue fish', 'green tree'];
  const bare = texts.map((text, at) => ({ id: String(at), text }));
  const some = bare.map((doc, at) => (at === 1 ? doc : { ...doc, dense_score: 7 }));
  const { warnings, ...replaced } = (await answer({ query: 'fox', docs: some })).body as FuseResponse;
  assert.deepEqual(replaced, (await answer({ query: 'fox', docs: bare })).body);
  assert.deepEqual(
    warnings?.map(({ code }) => code),
    ['dense_scores_replaced'],
  );
});

/** The errors of a 422. */
async function errors(
  request: unknown,
  key?: string,
): Promise<{ type: string; loc: unknown[]; msg: string; ctx: unknown }[]> {
  const { status, body } = await answer(request, key);
  assert.equal(status, 422);
  return (body as { detail: { type: string; loc: unknown[]; msg: string; ctx: unknown }[] }).detail;
}

test('more docs than a model may score, with a key and without', async () => {
  const docs = (count: number) => Array.from({ length: count }, (_, at) => ({ id: String(at), text: 'fox' }));
  assert.equal((await answer({ query: 'fox', docs: docs(50) })).status, 200);
  assert.equal((await answer({ query: 'fox', docs: docs(1_000) }, 'a key')).status, 200);
  const [error] = await errors({ query: 'fox', docs: docs(51) });
  assert.ok(error !== undefined);
  assert.deepEqual([error.type, error.loc], ['too_long', ['body', 'docs']]);
  const hint =
    'docs.0 has no dense_score, so that a model scores all docs, of 50 at most here. ' +
    'Send dense_score with every doc, or fewer docs.';
  assert.deepEqual(error.ctx, { field_type: 'List', max_length: 50, actual_length: 51, hint });
  assert.equal(error.msg, 'List should have at most 50 items after validation, not 51');
  const [keyed] = await errors({ query: 'fox', docs: docs(1_001) }, 'a key');
  const most = { field_type: 'List', max_length: 1_000, actual_length: 1_001 };
  assert.deepEqual(keyed?.ctx, { ...most, hint: hint.replace('50', '1000') });
  const scored = docs(1_001).map((doc) => ({ ...doc, dense_score: 1 }));
  assert.equal((await answer({ query: 'fox', docs: scored })).status, 200);
});

test('a model that is not installed is an error, next to the other errors', async () => {
  const docs = Array.from({ length: 51 }, () => ({ id: 'a', text: 'fox' }));
  const places = async (request: object): Promise<unknown> =>
    (await errors({ query: 'fox', ...request })).map(({ type, loc }) => `${type} ${loc.join('.')}`);
  const wrong = { embed_model: 'bge-huge', entity_map: { '': 'x' }, weights: { bm25: 0, dense: 0 } };
  assert.deepEqual(await places({ ...wrong, docs }), ['too_long body.docs'], 'a limit is told before rules');
  assert.deepEqual(await places({ ...wrong, docs: docs.slice(1) }), [
    'value_error body.embed_model',
    'value_error body.entity_map',
    'value_error body.weights',
  ]);
  const [found] = await errors({ query: 'fox', docs: docs.slice(1), embed_model: 'bge-huge' });
  assert.equal(found?.msg, 'Value error, "bge-huge" is not installed; installed: static-256');
  const scored = [{ id: 'a', text: 'fox', dense_score: 1 }];
  assert.equal((await answer({ query: 'fox', docs: scored, embed_model: 'bge-huge' })).status, 200);
});

test('a model is named in any letter case, and an error says how to install it', async () => {
  const request = { query: 'fox', docs: [{ id: 'a', text: 'fox' }] };
  const { status, body } = await answer({ ...request, embed_model: 'Static-256' });
  assert.deepEqual([status, (body as FuseResponse).dense_source], [200, 'model:static-256']);
  const [found] = await errors({ ...request, embed_model: 'BAAI/bge-base-en-v1.5' });
  assert.equal(
    found?.msg,
    'Value error, "BAAI/bge-base-en-v1.5" is not installed; installed: static-256. ' +
      'The operator installs it with: fusegate models add BAAI/bge-base-en-v1.5',
  );
});

test('an entity_map that cannot be applied', async () => {
  const docs = [{ id: 'a', text: 'a'.repeat(100) }];
  const [empty] = await errors({ query: 'fox', docs, entity_map: { '': 'x' } });
  assert.deepEqual([empty?.type, empty?.loc], ['value_error', ['body', 'entity_map']]);
  const [grown] = await errors({ query: 'fox', docs, entity_map: { a: 'b'.repeat(400_000) } });
  assert.deepEqual([grown?.type, grown?.loc], ['value_error', ['body', 'entity_map']]);
  assert.match(grown?.msg ?? '', /makes the texts longer than twice the body and 16384 bytes, or /);
  const [keys] = await errors({ query: 'fox', docs, entity_map: { ['k'.repeat(1_048_577)]: 'x' } });
  assert.match(keys?.msg ?? '', /its keys have more than 1048576 bytes/);
});

test('a server without a model says so', async () => {
  const without = fuseHandler({ ...native, embedMode: noModels() });
  const body = Buffer.from('{"query":"fox","docs":[{"id":"a","text":"fox"}]}');
  const sent = await without(requestWith(body));
  assert.equal(sent.status, 503);
  assert.equal((answered(sent) as { code: string }).code, 'no_model');
});

/** A request that compares the vectors of so many docs. */
const diverse = (count: number): object => ({
  query: 'fox',
  docs: Array.from({ length: count }, (_, at) => ({ id: `${at}`, text: `fox ${at}` })),
  ...{ top_k: count, diversify: { diversity: 0.5, by: 'vectors', candidates: count } },
});

test('the vectors of many docs are compared off the event loop, with the same result', async () => {
  const asked = (request: object) => handler(requestWith(Buffer.from(JSON.stringify(request)), 'key'));
  assert.ok(!(asked(diverse(100)) instanceof Promise));
  const made = asked(diverse(500));
  assert.ok(made instanceof Promise);
  // As long as this it is in the thread pool from the start.
  const padded = asked({ ...diverse(500), x: 'x'.repeat(300_000) });
  const resultsOf = (from: Answer): unknown => (answered(from) as FuseResponse).results;
  assert.deepEqual(resultsOf(await made), resultsOf(await padded));
});

test('a deferred body is read once, and answered in the thread pool, the same', async () => {
  const { fuser } = mode;
  let reads = 0;
  const fuse: Fuser['fuse'] = (...sent) => {
    reads += 1;
    return fuser.fuse(...sent);
  };
  // It can read no body in the thread pool.
  const once = { fuse, takePending: (body: Buffer) => fuser.takePending(body) } as unknown as Fuser;
  const deferring = fuseHandler({ ...native, embedMode: { ...mode, fuser: once } });
  const docs = Array.from({ length: 50 }, (_, at) => ({
    id: `${at}`,
    text: `${'a red fox '.repeat(175)}${at}`,
  }));
  const plain = { query: 'red fox', docs };
  const entityMap = { fox: 'reynard' };
  for (const [request, status] of [
    [plain, 200],
    [{ ...plain, entity_map: entityMap, explain: true, analyzer: { normalize: true } }, 200],
    [{ ...plain, collapse: { by: 'text' }, highlight: {} }, 200],
    [{ ...plain, docs: docs.map((doc) => ({ ...doc, dense_score: 0.5 })), highlight: {} }, 200],
    [{ ...plain, entity_map: { a: 'b'.repeat(100_000) } }, 422],
  ] as const) {
    const [body, padded] = [0, LOOP_BODY_LIMIT].map((length) =>
      Buffer.from(JSON.stringify({ ...request, x: 'x'.repeat(length) })),
    );
    assert.ok(body !== undefined && padded !== undefined && body.length > 64 * 1024);
    reads = 0;
    let [retained, held] = [0, 0];
    const hold = (bytes: number): void => {
      held += bytes;
    };
    const retain = (): Uint8Array => {
      retained += 1;
      return Uint8Array.from(body);
    };
    const made = deferring({ ...requestWith(body), retain, hold });
    // Its bytes are retained: the caller's memory may hold another request by now.
    const sent = body.toString();
    body.fill(0x20);
    assert.ok(made instanceof Promise);
    const answer = await made;
    assert.deepEqual([answer.status, reads, retained], [status, 1, 1]);
    assert.ok(held > 40 * docs.length, 'its docs count, too');
    assert.deepEqual(answered(answer), answered(await handler(requestWith(padded))));
    const most = { ...requestWith(Buffer.from(sent)), mostAnswerBytes: 10 };
    assert.deepEqual(status === 200 ? await deferring(most) : answerTooLarge(10), answerTooLarge(10));
    const gone = requestWith(Buffer.from(sent), '', AbortSignal.abort());
    assert.equal(await deferring(gone), callerGone);
  }
});

test('a request that waits takes no memory that a longer one before it has left', () => {
  const { Deferred, Written } = native.FuseOutcome;
  const { fuser } = mode;
  const asked = (count: number, text: string): Buffer => {
    const docs = Array.from({ length: count }, () => ({ id: '', text, dense_score: 1 }));
    return Buffer.from(JSON.stringify({ query: '', top_k: 1, docs, collapse: { by: 'text' } }));
  };
  const fuse = (body: Buffer): number => fuser.fuse(body, new Uint8Array(65_536), new Float64Array(2), 50);
  assert.equal(fuse(asked(500, '')), Written);
  const short = asked(1, 'x'.repeat(30_000));
  assert.equal(fuse(short), Deferred);
  const pending = fuser.takePending(short);
  assert.ok(pending.bytes < 2_000, `${pending.bytes}`);
  pending.release();
});

test('a request whose vectors are not gathered yet names none, and takes none', () => {
  const { Deferred } = native.FuseOutcome;
  const { fuser } = mode;
  const request = { query: 'fox', docs: [{ id: 'a', text: 'fox '.repeat(13_000) }] };
  const body = Buffer.from(JSON.stringify(request));
  assert.equal(fuser.fuse(body, new Uint8Array(4_096), new Float64Array(2), 50), Deferred);
  const pending = fuser.takePending(body);
  const asked = [() => pending.model, () => pending.missing, () => pending.missingText(0, 9)];
  for (const ask of [...asked, () => pending.complete(new Float32Array(0), [])]) {
    assert.throws(ask, /no vectors are gathered/);
  }
  pending.release();
});

test('a request that waited for vectors is deferred too if it takes long', async () => {
  const { Deferred, Pending, Written } = native.FuseOutcome;
  const facts = new Float64Array(2);
  const { fuser } = mode;
  for (const repeated of [60, 200]) {
    const docs = [{ id: 'a', text: `a ${'quick red fox '.repeat(10 * repeated)}` }];
    const body = Buffer.from(JSON.stringify({ query: 'fox', docs, collapse: { by: 'text' } }));
    assert.equal(fuser.fuse(body, new Uint8Array(8), facts, 500), Pending);
    const pending = fuser.takePending(body);
    const room = Buffer.alloc(pending.room);
    assert.equal(pending.answer(room, facts), body.length > 24 * 1024 ? Deferred : Written);
    assert.equal((await pending.answerAsync(room)).outcome, Written);
    pending.release();
  }
});

test('an answer that lacks room waits with its scores until it has it, and goes when released', async () => {
  const { NeedsRoom, Pending, Written } = native.FuseOutcome;
  const body = Buffer.from(
    '{"query":"fox","docs":[{"id":"a","text":"a red fox"},{"id":"b","text":"a dog"}]}',
  );
  const facts = new Float64Array(2);
  const { fuser } = mode;
  assert.throws(() => fuser.takePending(body), /nothing is pending/);
  assert.equal(fuser.fuse(body, new Uint8Array(8), facts, 50), Pending);
  assert.throws(() => fuser.takePending(body.subarray(1)), /the body is another/);
  assert.equal(fuser.fuse(body, new Uint8Array(8), facts, 50), Pending);
  const pending = fuser.takePending(body);
  assert.throws(() => fuser.takePending(body), /nothing is pending/);
  assert.deepEqual([pending.model, pending.missing], ['static-256', 0]);
  assert.throws(() => pending.missingText(0, 9), /there is no such text/);
  assert.equal(pending.answer(new Uint8Array(8), facts), NeedsRoom);
  assert.equal(facts[0], pending.room);
  const room = Buffer.alloc(pending.room);
  const whole = body.toString();
  assert.equal(pending.answer(room, facts), Written);
  const written = room.toString('utf8', 0, facts[0]);
  assert.deepEqual(JSON.parse(written), (await answer(JSON.parse(whole))).body);
  const again = Buffer.alloc(pending.room);
  const attempt = await pending.answerAsync(again);
  assert.equal(attempt.outcome, Written);
  assert.equal(again.toString('utf8', 0, attempt.length), written);
  pending.release();
  pending.release();
  const asked = [
    () => pending.missing,
    () => pending.missingText(0, 9),
    () => pending.model,
    () => pending.room,
  ];
  for (const ask of [...asked, () => pending.answer(room, facts)]) assert.throws(ask, /released before/);
});
