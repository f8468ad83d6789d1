/** The pool of workers, with a small program in place of a worker, in a process that cannot start others. */
import assert from 'node:assert/strict';
import { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { WorkerPool, type PoolParts } from '../../src/processes/pool.js';
import { HandClock } from '../support/handClock.js';
import { temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';

const settings = { configuration: { workers: 2 }, tiers: {} } as unknown as Pick<
  PoolParts,
  'configuration' | 'tiers'
>;

const worker = `
process.on('message', ({ kind }) => {
  if (kind === 'start') process.send({ kind: 'listening' });
  else if (kind === 'drain') process.exit();
});
`;

/** Children that were killed without having been started: the signal goes to the group of this process. */
const killedUnstarted: ChildProcess[] = [];
type Kill = (this: ChildProcess, signal?: NodeJS.Signals | number) => boolean;
const kill: Kill = Reflect.get(ChildProcess.prototype, 'kill');
ChildProcess.prototype.kill = function (this: ChildProcess, signal) {
  if (this.pid !== undefined) return kill.call(this, signal);
  killedUnstarted.push(this);
  return false;
};
afterEach(() => assert.deepEqual(killedUnstarted, []));

/** A pool of such workers, and the reasons that it logs. */
function poolOf(source = worker): {
  readonly pool: WorkerPool;
  readonly clock: HandClock;
  readonly reasons: unknown[];
} {
  const program = join(temporaryFolder(), 'worker.mjs');
  writeFileSync(program, source);
  const clock = new HandClock();
  const reasons: unknown[] = [];
  const say = (fields: object): void => {
    if ('reason' in fields) reasons.push(fields.reason);
  };
  const log = { debug: say, info: say, warn: say, error: say, fatal: say, debugging: false };
  const parts = {
    ...{ program, programArguments: [], ...settings, models: [] },
    ...{ embedder: { forget: () => undefined }, port: 0, doorPort: undefined, clock, log, logFormat: 'json' },
    repairFolder: () => undefined,
  } as unknown as PoolParts;
  const pool = new WorkerPool(parts);
  after(() => pool.kill());
  return { pool, clock, reasons };
}

/** The processes of a pool's workers. */
function pidsOf(pool: WorkerPool): number[] {
  const { workers } = pool as unknown as { workers: Set<{ child: { pid: number } }> };
  return [...workers].map(({ child }) => child.pid);
}

test('a worker is replaced once its process can be started again', async () => {
  const { pool, clock, reasons } = poolOf();
  assert.equal(await pool.start(), undefined);
  const pids = pidsOf(pool);
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

test('workers that cannot be started refuse the start, and nothing else ends', async () => {
  const node = process.execPath;
  try {
    for (const execPath of ['/nowhere/node', 'no\0name']) {
      process.execPath = execPath;
      const { pool } = poolOf();
      assert.match(String(await pool.start()), /^A worker could not be started \(/);
      assert.equal(await pool.stop(1_000), true);
    }
  } finally {
    process.execPath = node;
  }
});

test('a process that cannot even be asked for counts as one that could not be started', async () => {
  const { pool, clock, reasons } = poolOf();
  assert.equal(await pool.start(), undefined);
  const node = process.execPath;
  // As when memory is short, Node throws instead of reporting it later.
  process.execPath = 'no\0name';
  try {
    process.kill(pidsOf(pool)[0] ?? assert.fail(), 'SIGKILL');
    await until(() => reasons.length === 1);
    await clock.pass(10_000);
    await until(() => reasons.length > 1);
    const started = pool.renew(settings, { port: [], door: [] }, 0);
    assert.match(String(await started), /^A worker could not be started/);
  } finally {
    process.execPath = node;
  }
  assert.match(String(reasons[1]), /^A worker could not be started \(.*null bytes/);
  await clock.pass(60_000);
  await until(() => pool.listening === 2);
  assert.equal(await pool.stop(1_000), true);
});

test('a former worker that ends does not keep the others from handing over their sockets', async () => {
  const { pool } = poolOf(`
    process.on('message', ({ kind }) => {
      if (kind === 'start') process.send({ kind: 'ready' });
      else if (kind === 'listen') process.send({ kind: 'listening' });
      else if (kind === 'drain') process.send({ kind: 'closed' });
      else if (kind === 'handOver') isAsked = true;
    });
    let isAsked = false;
    process.on('SIGUSR2', () => isAsked && process.send({ kind: 'handedOver' }));
  `);
  assert.equal(await pool.start({ port: [], door: [] }), undefined);
  const former = pidsOf(pool);
  assert.equal(await pool.renew(settings, { port: [], door: [] }, 60_000), undefined);
  const handed = pool.handOver({ folder: temporaryFolder(), pid: process.pid });
  for (const pid of former) process.kill(pid, 'SIGKILL');
  await until(() => pidsOf(pool).length === 2);
  // They answer the first of these signals that comes after the question.
  const signals = setInterval(() => pidsOf(pool).forEach((pid) => process.kill(pid, 'SIGUSR2')), 20);
  assert.deepEqual(await handed, { sent: 2 });
  clearInterval(signals);
  pool.kill();
});

test('while it stops, no further workers start, and no sockets are handed over', async () => {
  const { pool } = poolOf();
  assert.equal(await pool.start(), undefined);
  const pids = pidsOf(pool);
  const stopped = pool.stop(1_000);
  const handed = await pool.handOver({ folder: temporaryFolder(), pid: process.pid });
  assert.deepEqual(handed, { failed: 'the server stops' });
  assert.equal(await pool.renew(settings, { port: [], door: [] }, 0), 'The server stops.');
  assert.ok(pidsOf(pool).every((pid) => pids.includes(pid)));
  assert.equal(await stopped, true);
});
