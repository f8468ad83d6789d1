/**
 * A server that learns from requests, in each of its workers separately: killed while it learns, it returns
 * with every version that was frozen, and answers by them as before.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CorpusResponse } from '../../src/contract/corpora.js';
import { fromEveryWorker, serve } from '../commands/beside.js';
import { exchange, head, post } from '../support/raw.js';
import { processesOf, temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';

/** Docs that no other call gives. */
function docs(count: number, mark: string): object[] {
  return Array.from({ length: count }, (_, at) => ({
    ...{ id: `${at}`, text: `hiking boots ${mark}${at}`, dense_score: 0 },
  }));
}

async function fused(port: number, request: object): Promise<string> {
  const body = JSON.stringify({ query: 'hiking boots a1', analyzer: 'english', ...request });
  const answer = await exchange(port, post('/v1/fuse', body, { 'Content-Type': 'application/json' }));
  return `${answer.status} ${answer.body.toString()}`;
}

async function known(port: number): Promise<CorpusResponse | undefined> {
  const { status, body } = await exchange(port, head('GET', '/v1/corpora/shop'));
  return status === 200 ? (JSON.parse(body.toString()) as CorpusResponse) : undefined;
}

/** Sends docs in requests of five each, at once, so that both workers get some. */
async function teach(port: number, mark: string, count: number): Promise<void> {
  const all = docs(count, mark);
  const requests = Array.from({ length: count / 5 }, (_, at) => all.slice(5 * at, 5 * at + 5));
  const answers = await Promise.all(
    requests.map((each) => fused(port, { docs: each, corpus: { name: 'shop' }, learn: true })),
  );
  for (const answer of answers) assert.match(answer, /^200 /);
}

test('a version outlives a kill and answers the same bytes from every worker', async () => {
  const folder = temporaryFolder();
  const first = await serve(folder);
  await teach(first.port, 'a', 100);
  // Which docs are in it depends on how the workers came by turns; that it is one for all does not.
  await until(async () => (await known(first.port))?.learning?.docs === 100);
  const { versions = [], learning } = (await known(first.port)) ?? {};
  assert.deepEqual(
    versions.map(({ version, docs, learnt, terms_by }) => [version, docs, learnt, terms_by]),
    [[1, 64, true, 'ws, english']],
  );
  assert.equal(learning?.terms_by, 'ws, english');
  const pinned = { docs: docs(3, 'a'), corpus: { name: 'shop', version: 1 } };
  const ask = async (port: number): Promise<readonly string[]> => [
    ...new Set(await fromEveryWorker(() => fused(port, pinned))),
  ];
  await until(async () => (await ask(first.port)).every((answer) => answer.startsWith('200')));
  const before = await ask(first.port);
  assert.equal(before.length, 1);
  await teach(first.port, 'b', 20);
  for (const pid of processesOf(first.server)) process.kill(pid, 'SIGKILL');
  await first.server.ended();

  const again = await serve(folder);
  assert.deepEqual(await ask(again.port), before);
  const left = (await known(again.port))?.learning?.docs ?? 0;
  assert.ok(left >= 100 && left <= 120, String(left));
  await teach(again.port, 'c', 40);
  await until(async () => (await known(again.port))?.versions.length === 2);
  assert.equal((await known(again.port))?.versions[1]?.docs, 128);
  assert.deepEqual(await ask(again.port), before);
  again.server.child.kill('SIGTERM');
  await again.server.ended();
});
