/** The pool of workers, with a small program in place of a worker, in a process that cannot start others. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { WorkerPool, type PoolParts } from '../../src/processes/pool.js';
import { HandClock } from '../support/handClock.js';
import { temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';

const worker = `
process.on('message', ({ kind }) => {
  if (kind === 'start') process.send({ kind: 'listening' });
  else if (kind === 'drain') process.exit();
});
`;

test('a worker is replaced once its process can be started again', async () => {
  const program = join(temporaryFolder(), 'worker.mjs');
  writeFileSync(program, worker);
  const clock = new HandClock();
  const reasons: unknown[] = [];
  const say = (fields: object): void => {
    if ('reason' in fields) reasons.push(fields.reason);
  };
  const log = { debug: say, info: say, warn: say, error: say, fatal: say, debugging: false };
  const parts = {
    ...{ program, programArguments: [], configuration: { workers: 2 }, tiers: {}, models: [] },
    ...{ embedder: { forget: () => undefined }, port: 0, doorPort: undefined, clock, log, logFormat: 'json' },
    repairFolder: () => undefined,
  } as unknown as PoolParts;
  const pool = new WorkerPool(parts);
  assert.equal(await pool.start(), undefined);
  const pids: number[] = [];
  for (const { child } of (pool as unknown as { workers: Set<{ child: { pid: number } }> }).workers) {
    pids.push(child.pid);
  }
  const node = process.execPath;
  process.execPath = '/nowhere/node';
  try {
    process.kill(pids[0] ?? assert.fail(), 'SIGKILL');
    await until(() => reasons.length === 1);
    await clock.pass(10_000);
    await until(() => reasons.length > 3);
  } finally {
    process.execPath = node;
  }
  assert.equal(pool.listening, 1);
  assert.match(String(reasons[3]), /^A worker could not be started \(spawn \/nowhere\/node ENOENT\)\.$/);
  await clock.pass(60_000);
  await until(() => pool.listening === 2);
  assert.equal(await pool.stop(1_000), true);
});
