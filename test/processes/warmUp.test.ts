/** What a worker does before it takes over: it answers requests that it sends to itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { warmUp } from '../../src/compose/warmUp.js';
import type { RouteRequest } from '../../src/contract/exchange.js';
import type { ServedRoute } from '../../src/http/routes.js';
import { route, text } from '../http/routes.js';

/** A route in the place of the served one. */
function fuse(handler: (request: RouteRequest<never>) => ReturnType<ServedRoute['handler']>): ServedRoute {
  const refuse = (): never => {
    throw new Error('the admission of others was asked');
  };
  return {
    route: route({ id: 'fuse', method: 'POST', path: '/v1/fuse' }),
    handler,
    admit: refuse,
  };
}

test('a worker answers 200 requests for a re-ranking, without admission', async () => {
  const seen: string[] = [];
  const ranking = fuse((request) => {
    seen.push(Buffer.from(request.body).toString());
    return text('ranked');
  });
  assert.equal(await warmUp([ranking], 60_000), 200);
  assert.equal(seen.length, 200);
  const { query, docs } = JSON.parse(seen[0] ?? '') as { query: string; docs: { dense_score: number }[] };
  assert.ok(query.length > 0);
  assert.equal(docs.length, 10);
  assert.ok(docs.every(({ dense_score }) => Number.isFinite(dense_score)));
});

test('a worker without the route, or whose handler fails or hangs, serves nevertheless', async () => {
  assert.equal(await warmUp([]), 0);
  let asked = 0;
  const failing = fuse(() => {
    asked += 1;
    throw new Error('broken');
  });
  assert.deepEqual([await warmUp([failing]), asked], [0, 1]);
  assert.equal(await warmUp([fuse(() => new Promise(() => undefined))]), 0);
});
