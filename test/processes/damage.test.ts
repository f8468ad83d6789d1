/** Mapped files of the data folder that are damaged while the served program runs. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exchange, head, post } from '../support/raw.js';
import { childrenOf, run, temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const json = { 'Content-Type': 'application/json' };
const skip = process.platform === 'linux' ? false : 'a page behind the end of a file is Linux’s SIGBUS';

/** Serves with two workers, limits that are counted, and a small cache of vectors. */
async function serve(data: string) {
  const server = run(main, ['serve'], {
    PORT: '0',
    WORKERS: '2',
    STORE_URL: `lmdb:${data}/store`,
    ACCESS: 'metered',
    EMBED_CACHE_MB: '1',
    ANONYMOUS_REQUESTS_PER_MINUTE: '100000',
    EXPLORATIONS_PER_MINUTE: '100000',
    PREVIEWS_PER_MINUTE: '100000',
  });
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  return { server, port: Number(port) };
}

/** How long a condition is waited for on a busy machine (ms). */
const patienceMs = 60_000;

const fuse = post('/v1/fuse', '{"query":"a","docs":[{"id":"1","text":"a b"}]}', json);
const fragment = (title: string) => post('/dream', JSON.stringify({ title, content: 'A red bike.' }), json);
const preview = head('GET', '/dream_get?title=a&content=b');
const near = head('GET', '/graph/near?text=red%20bike');

/** The status of a request; undefined where its worker ended amid it. */
async function statusOf(port: number, request: string | Uint8Array): Promise<number | undefined> {
  const answer = await exchange(port, request).catch(() => undefined);
  return answer?.status;
}

const workersOf = (pid: number): number[] => childrenOf(pid).slice(0, 2);

test('a truncated file is made again, and every request is answered', { skip }, async () => {
  const data = temporaryFolder();
  const { server, port } = await serve(data);
  assert.equal(await statusOf(port, fragment('one')), 200);
  const requests: Readonly<Record<string, string | Uint8Array>> = {
    limits: fuse,
    previews: preview,
    vectors: near,
    embeddings: fuse,
  };
  await until(() => statSync(join(data, 'vectors')).size > 4_096, patienceMs);
  for (const [name, request] of Object.entries(requests)) {
    const file = join(data, name);
    const { size } = statSync(file);
    truncateSync(file, 0);
    await server.prints(new RegExp(`"file":"[^"]*/${name}".*is created again`));
    if (name !== 'vectors') assert.equal(statSync(file).size, size);
    // Both workers, twice over: connections are handed out to either.
    let answered = 0;
    await until(async () => {
      answered = (await statusOf(port, request)) === 200 ? answered + 1 : 0;
      return answered >= 16;
    }, patienceMs);
  }
  assert.equal(await statusOf(port, fragment('two')), 200);
  await until(async () => {
    const answer = await exchange(port, near).catch(() => undefined);
    const { results = [] } = JSON.parse(answer?.body.toString() ?? '{}') as { results?: unknown[] };
    return results.length === 2;
  }, patienceMs);
  server.child.kill('SIGTERM');
  assert.equal((await server.ended()).code, 0, server.output);
});

test('where a file cannot be made again, workers go on without it', { skip }, async () => {
  const data = temporaryFolder();
  const { server, port } = await serve(data);
  for (const name of ['limits', 'previews', 'vectors', 'embeddings']) {
    rmSync(join(data, name));
    mkdirSync(join(data, name, 'in the way'), { recursive: true });
    writeFileSync(join(data, name, 'in the way', 'file'), '');
  }
  const before = workersOf(server.pid);
  for (const pid of before) process.kill(pid, 'SIGKILL');
  await server.prints(/limits".*cannot be created again/);
  let answered = 0;
  await until(async () => {
    const statuses = await Promise.all([fuse, preview, near].map((request) => statusOf(port, request)));
    answered = statuses.every((status) => status === 200) ? answered + 1 : 0;
    return answered >= 4 && workersOf(server.pid).every((pid) => !before.includes(pid));
  }, patienceMs);
  assert.match(server.output, /limits".*goes on with its own/);
  server.child.kill('SIGTERM');
  assert.equal((await server.ended()).code, 0, server.output);
});
