/** Wrong requests to a server with its defaults: each answer names the fault and the next step. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { wordsOf, wrongRequests } from '../vectors/wrongRequests.js';
import { run, memoryFolder } from '../support/run.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const server = run(main, ['serve'], {
  ...{ PORT: '0', WORKERS: '1', EMBED_CACHE_MB: '1' },
  STORE_URL: `lmdb:${memoryFolder()}/store`,
});
const [, port = ''] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
after(async () => {
  server.child.kill('SIGTERM');
  await server.ended();
});

describe('a wrong request', () => {
  test('there are 60 of them', () => assert.ok(wrongRequests.length >= 60));
  for (const { method, path, body, headers, status, says } of wrongRequests) {
    test(`${method} ${path} ${body ?? ''}`, async () => {
      const sent = { 'content-type': 'application/json', ...headers };
      const given = body === undefined ? { method, headers: headers ?? {} } : { method, headers: sent, body };
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, given);
      assert.deepEqual([answer.status, wordsOf(await answer.text())], [status, says]);
    });
  }
});
