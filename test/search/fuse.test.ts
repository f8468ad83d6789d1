/**
 * The paths of POST /v1/fuse (the native one on the event loop and in the thread pool, the exact one, and the
 * handler that chooses) against the recorded answers and, on random bodies, against the oracle.
 */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Answer } from '../../src/contract/exchange.js';
import { native } from '../../src/native/addon.js';
import { fuseExact } from '../../src/search/exact.js';
import type { ScoredRequest } from '../../src/search/exact.js';
import { LOOP_BODY_LIMIT, fuseHandler } from '../../src/search/fuse.js';
import { exactOffLoop } from '../../src/search/offLoop.js';
import { answered, requestWith, staticMode } from './embedding.js';
import { assertAgrees } from '../reference/agreement.js';
import type { ReferenceRequest } from '../reference/fuse.js';
import { fuseVectors } from '../vectors/fuse.js';
import { plainStyle, style, writeBody } from './bodies.js';
import { fuseRequest } from './requests.js';

const handler = fuseHandler({ ...native, answerExactlyOffLoop: exactOffLoop(), embedMode: staticMode() });
let out = new Uint8Array(64);
const facts = new Float64Array(1);

function parse(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
}

/** The fast path's answer parsed, `undefined` where it leaves the body to the exact path. */
function fastAnswer(body: Uint8Array): unknown {
  const before = body.slice();
  let length = native.fuse(body, out, facts);
  if (length < -2) {
    out = new Uint8Array(-length);
    length = native.fuse(body, out, facts);
  }
  assert.deepEqual(body, before, 'a body is read only');
  if (length === -1) return undefined;
  assert.ok(length > 0, `fuse returned ${length}`);
  return parse(out.subarray(0, length));
}

/** The exact path's answer as its bytes would be read. */
function exactAnswer(request: ReferenceRequest): unknown {
  const scored: ScoredRequest = JSON.parse(JSON.stringify(request)) as ScoredRequest;
  return JSON.parse(JSON.stringify(fuseExact(scored, native.logarithm)));
}

/** A handler's answer parsed; it must be a 200. */
function bodyOf(answer: Answer): unknown {
  assert.equal(answer.status, 200);
  if ('bytes' in answer.body) assert.match(answer.body.type, /^application\/json/);
  return answered(answer);
}

function codePoints(request: ReferenceRequest): number {
  return [request.query, ...request.docs.map((doc) => doc.text)].flatMap((text) => Array.from(text)).length;
}

test('every path gives the recorded answers', async () => {
  for (const { id, request } of fuseVectors()) {
    const body = writeBody(request, plainStyle);
    const fast = fastAnswer(body);
    assert.ok(fast !== undefined, id);
    assertAgrees(request, fast);
    assert.equal(facts[0], codePoints(request), id);
    assert.deepEqual(exactAnswer(request), fast, id);
    const room = Buffer.alloc(1 << 20);
    const pooled = await native.fuseAsync(Buffer.from(body), room);
    assert.deepEqual(parse(room.subarray(0, pooled.length)), fast, id);
    assert.equal(pooled.characters, facts[0], id);
    assert.ok((await native.fuseAsync(Buffer.from(body), Buffer.alloc(0))).length < -2, id);
  }
});

test('fast path = exact path = oracle on random requests, however they are written', () => {
  let taken = 0;
  const numRuns = 4000;
  fc.assert(
    fc.property(fuseRequest, style, (request, how) => {
      const exact = exactAnswer(request);
      assertAgrees(request, exact);
      const fast = fastAnswer(writeBody(request, how));
      const mustTake = how.escapedNames === 0 && how.repeated === 0 && how.extra === 0;
      assert.ok(fast !== undefined || !mustTake, 'left to the exact path');
      if (fast === undefined) return;
      taken++;
      // To the last bit: which path answers must not show.
      assert.deepEqual(fast, exact);
      assert.equal(facts[0], codePoints(request));
    }),
    { seed: 20_260_102, numRuns },
  );
  assert.ok(taken > numRuns / 3, `${taken} of ${numRuns} taken`);
});

test('the handler answers what no path may change: every valid body, and its charge', async () => {
  await fc.assert(
    fc.asyncProperty(fuseRequest, style, async (request, how) => {
      const answer = await handler(requestWith(writeBody(request, how)));
      assert.deepEqual(bodyOf(answer), exactAnswer(request));
      assert.equal(answer.charge, codePoints(request));
    }),
    { seed: 20_260_103, numRuns: 1000 },
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
  for (const escapedNames of [0, 0.01]) {
    const request: ReferenceRequest = { ...vector.request, docs };
    const body = writeBody(request, { ...plainStyle, escapedNames });
    assert.ok(body.length > LOOP_BODY_LIMIT, `${body.length} bytes`);
    const answer = await handler(requestWith(body));
    assertAgrees(request, bodyOf(answer));
    assert.equal(answer.charge, codePoints(request));
  }
});
