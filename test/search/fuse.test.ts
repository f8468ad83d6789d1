/** The fast path of /v1/fuse against the recorded answers and, on random bodies, against the oracle. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../src/native/addon.js';
import { assertAgrees } from '../reference/agreement.js';
import type { ReferenceRequest } from '../reference/fuse.js';
import { fuseVectors } from '../vectors/fuse.js';
import { plainStyle, style, writeBody } from './bodies.js';
import { fuseRequest } from './requests.js';

let out = new Uint8Array(64);
const facts = new Float64Array(1);

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
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(out.subarray(0, length)));
}

function codePoints(request: ReferenceRequest): number {
  return [request.query, ...request.docs.map((doc) => doc.text)].flatMap((text) => Array.from(text)).length;
}

test('the fast path gives the recorded answers', () => {
  for (const { id, request } of fuseVectors()) {
    const answer = fastAnswer(writeBody(request, plainStyle));
    assert.ok(answer !== undefined, id);
    assertAgrees(request, answer);
    assert.equal(facts[0], codePoints(request), id);
  }
});

test('fast path = oracle on random requests, however they are written', () => {
  let taken = 0;
  const numRuns = 4000;
  fc.assert(
    fc.property(fuseRequest, style, (request, how) => {
      const answer = fastAnswer(writeBody(request, how));
      const mustTake = how.escapedNames === 0 && how.repeated === 0;
      assert.ok(answer !== undefined || !mustTake, 'left to the exact path');
      if (answer === undefined) return;
      taken++;
      assertAgrees(request, answer);
      assert.equal(facts[0], codePoints(request));
    }),
    { seed: 20_260_102, numRuns },
  );
  assert.ok(taken > numRuns / 2, `${taken} of ${numRuns} taken`);
});
