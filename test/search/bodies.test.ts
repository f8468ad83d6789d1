/**
 * The random bodies themselves: whatever its style, a body is read as its request, and every style occurs.
 */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { fuse } from '../reference/fuse.js';
import { assertAgrees } from '../reference/agreement.js';
import { style, writeBody } from '../support/bodies.js';
import { fuseRequest } from './requests.js';

/** `parsed` reduced to the members that `model` has. */
function project(parsed: unknown, model: unknown): unknown {
  if (Array.isArray(model)) return model.map((inside, at) => project((parsed as unknown[])[at], inside));
  if (typeof model !== 'object' || model === null) return parsed;
  const members = Object.entries(model);
  return Object.fromEntries(
    members.map(([name, inside]) => [name, project((parsed as Record<string, unknown>)[name], inside)]),
  );
}

test('a body written in any style is read as its request', () => {
  const seen = { escape: 0, space: 0, repeated: 0, surrogatePair: 0 };
  fc.assert(
    fc.property(fuseRequest, style, (request, how) => {
      const body = new TextDecoder().decode(writeBody(request, how));
      assert.deepEqual(project(JSON.parse(body), request), { ...request });
      seen.escape += Number(body.includes('\\u00'));
      seen.surrogatePair += Number(/\\u[dD][89abAB]..\\u[dD][c-fC-F]/.test(body));
      seen.space += Number(/[\]}"] +[,:}\]]/.test(body));
      seen.repeated += Number(/"query"[^]*"query"\s*:/.test(body));
    }),
    { seed: 3, numRuns: 500 },
  );
  for (const [habit, times] of Object.entries(seen)) assert.ok(times > 10, `${habit}: ${times}`);
});

test('the oracle agrees with itself on random requests', () => {
  fc.assert(
    fc.property(fuseRequest, (request) => assertAgrees(request, fuse(request))),
    { seed: 4, numRuns: 1000 },
  );
});
