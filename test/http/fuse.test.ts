/** POST /v1/fuse over HTTP: recorded requests get the oracle's answers, in any pieces, on one connection. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';

import { native } from '../../src/native/addon.js';
import { fuseHandler } from '../../src/search/fuse.js';
import { staticMode } from '../support/embedding.js';
import { routeList } from '../../src/contract/routes.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { assertAgrees } from '../reference/agreement.js';
import { plainStyle, writeBody } from '../support/bodies.js';
import { fuseVectors } from '../vectors/fuse.js';
import { openTiers, testAccess } from '../support/access.js';
import { startServer } from '../support/http.js';

const access = testAccess({ tiers: openTiers() });
const handler = fuseHandler({ ...native, embedMode: staticMode() });

/** Posts a body in pieces, with its length or in the chunked coding; resolves to status and text. */
function post(
  port: number,
  agent: Agent,
  pieces: readonly Uint8Array[],
  chunked: boolean,
): Promise<{ status: number; text: string }> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const headers = {
    'content-type': 'application/json',
    ...(chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': length }),
  };
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ port, path: '/v1/fuse', method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject);
    for (const piece of pieces) sent.write(piece);
    sent.end();
  });
}

test('every recorded request gets its answer, whole, in pieces and chunked', async () => {
  const route = routeList.find(({ id }) => id === 'fuse');
  assert.ok(route !== undefined);
  const { port } = await startServer({
    routes: [servedRoute(route, handler, { ...native, access })],
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (const [at, { id, request }] of fuseVectors().entries()) {
    const style = { ...plainStyle, seed: at + 1, escapedNames: at % 3 === 0 ? 0.2 : 0 };
    const body = writeBody(request, style);
    const cut = (at * 7919) % body.length;
    const pieces = at % 2 === 0 ? [body] : [body.subarray(0, cut), body.subarray(cut)];
    const { status, text } = await post(port, agent, pieces, at % 4 === 1);
    assert.equal(status, 200, id);
    assertAgrees(request, JSON.parse(text));
  }
  agent.destroy();
});
