/** All processes of a server killed at once: the leads and clicks that it acknowledged are there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exchange, head, post } from '../support/raw.js';
import { commandApart, processesOf, temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';
import { browser, environmentOf, linkIn, rowsOf, starter } from './served.js';

/** The workers of a parent are found by /proc. */
const onLinux = { skip: process.platform === 'linux' ? false : '/proc is needed' };

const environment = environmentOf(temporaryFolder());
const start = starter(environment);
let { server, port } = await start();

async function exported(table: string): Promise<Record<string, unknown>[]> {
  return rowsOf(await commandApart([table, 'export', '--format', 'jsonl'], environment));
}

/** Kills the parent and its workers at one stroke, and starts anew. */
async function killAll(): Promise<void> {
  const processes = processesOf(server);
  assert.equal(processes.length, 3);
  for (const each of processes) process.kill(each, 'SIGKILL');
  await server.ended();
  ({ server, port } = await start());
}

test('an acknowledged lead survives a kill of every process', onLinux, async () => {
  const email = 'killed@example.com';
  const ids: string[] = [];
  for (let index = 0; index < 20; index += 1) {
    const lead = JSON.stringify({ email, message: `${index}` });
    const { body } = await exchange(port, post('/v1/leads', lead, { 'Content-Type': 'application/json' }));
    ids.push((JSON.parse(body.toString()) as { id: string }).id);
  }
  await killAll();
  const found = (await exported('leads')).filter((lead) => lead['email'] === email);
  assert.deepEqual(
    found.map((lead) => lead['id']),
    ids,
  );
});

test('clicks up to a second before a kill are in the log', onLinux, async () => {
  const link = ['click', 'link', 'https://good.example/docs', '--id', 'kill'];
  const path = linkIn(await commandApart(link, environment));
  for (let index = 0; index < 500; index += 1) {
    assert.equal((await exchange(port, head('GET', path, browser))).status, 302);
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await killAll();
  // A server that was started again adds none.
  await until(async () => (await exported('clicks')).length >= 500);
  assert.equal((await exported('clicks')).length, 500);
});
