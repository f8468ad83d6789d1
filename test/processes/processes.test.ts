/** Parent and workers: start, replacement, drain, metrics; each test runs a server of its own. */
import assert from 'node:assert/strict';
import { chmodSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { restartDelayMs } from '../../src/processes/restartDelay.js';
import { exchange, head, RawClient } from '../support/raw.js';
import { listening, lives, runServer, runServerWithin, memoryFolder } from '../support/run.js';
import { until } from '../support/until.js';

async function workerPid(port: number): Promise<number> {
  return Number((await exchange(port, head('GET', '/pid'))).body.toString());
}

/** Pids of the workers that answer on new connections. */
async function workerPids(port: number, count: number): Promise<number[]> {
  const pids = new Set<number>();
  await until(async () => pids.add(await workerPid(port)).size === count);
  return [...pids];
}

/** Many addresses of this machine, and limits of a shell. */
const onLinux = { skip: process.platform === 'linux' ? false : 'needs Linux' };

describe('the start', () => {
  test('is refused when the port is in use, by whatever program', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const address = other.address();
    assert.ok(typeof address === 'object' && address !== null);
    const refused = runServer({ PORT: String(address.port) });
    await refused.prints(new RegExp(`Port ${address.port} on 127.0.0.1 is in use`));
    other.close();
    const first = runServer();
    const { port } = await listening(first);
    await runServer({ PORT: String(port) }).prints(new RegExp(`Port ${port} on 127.0.0.1 is in use`));
    assert.equal((await exchange(port, head('GET', '/pid'))).status, 200);
  });

  test('is refused when HOST is not of this machine, or no name at all', async () => {
    await runServer({ HOST: '192.0.2.1' }).prints(/HOST 192\.0\.2\.1 is not an address of this machine/);
    await runServer({ HOST: 'no-such-host.invalid' }).prints(/HOST no-such-host\.invalid is not a name/);
  });

  test('is refused when another server holds the data folder, and says which', async () => {
    const STORE_URL = `lmdb:${memoryFolder()}/store`;
    const first = runServer({ STORE_URL });
    await listening(first);
    const second = runServer({ STORE_URL });
    await second.prints(new RegExp(`in use by process ${first.pid}\\.`));
    assert.equal((await second.ended()).code, 0);
    first.child.kill('SIGKILL');
    await first.ended();
    await listening(runServer({ STORE_URL }));
  });

  test('writes the process id into the lock', async () => {
    const folder = memoryFolder();
    const server = runServer({ STORE_URL: `lmdb:${folder}/data/store` });
    await listening(server);
    assert.equal(readFileSync(`${folder}/data/lock`, 'utf8'), String(server.pid));
  });

  test(
    'is refused when the data folder cannot be made',
    { skip: process.getuid?.() === 0 && 'run it as another user than root, who may write anywhere' },
    async () => {
      const folder = memoryFolder();
      chmodSync(folder, 0o500);
      await runServer({ STORE_URL: `lmdb:${folder}/data/store` }).prints(/data folder .* cannot be used/);
    },
  );

  test('is refused when the metrics port is in use', async () => {
    const first = runServer();
    const { port } = await listening(first);
    await runServer({ METRICS_PORT: String(port) }).prints(
      new RegExp(`METRICS_PORT ${port} .* cannot be had`),
    );
  });
});

describe('workers', () => {
  test('share the port', async () => {
    const { port } = await listening(runServer({ WORKERS: '2' }));
    assert.equal((await workerPids(port, 2)).length, 2);
  });

  test('are replaced when they crash, and the operator is told', async () => {
    const server = runServer();
    const { port } = await listening(server);
    const first = await workerPid(port);
    process.kill(first, 'SIGKILL');
    await server.prints(new RegExp(`"workerPid":${first},"how":"SIGKILL".*is replaced`));
    let second = first;
    await until(async () => {
      second = await workerPid(port).catch(() => first);
      return second !== first;
    });
    assert.ok(lives(second));
    assert.equal(server.exit, undefined);
  });

  test('that crash again and again are restarted after ever longer pauses', () => {
    assert.deepEqual([0, 1, 2, 3, 9, 10, 50].map(restartDelayMs), [0, 100, 200, 400, 25_600, 30_000, 30_000]);
  });

  test('die with their parent', async () => {
    const server = runServer({ WORKERS: '2' });
    const { port } = await listening(server);
    const pids = await workerPids(port, 2);
    server.child.kill('SIGKILL');
    await until(() => !pids.some(lives));
  });
});

describe('a signal to stop', () => {
  test('drains: requests under way are answered, and a second signal changes nothing', async () => {
    const server = runServer();
    const { port } = await listening(server);
    const pid = await workerPid(port);
    const client = await RawClient.open(port);
    client.send(head('GET', '/wait?ms=400'));
    await pause(100);
    server.child.kill('SIGTERM');
    // A terminal's Ctrl-C reaches every process of the group, and npm forwards it once more.
    process.kill(pid, 'SIGINT');
    await pause(50);
    server.child.kill('SIGTERM');
    server.child.kill('SIGINT');
    const response = await client.response();
    assert.deepEqual([response.body.toString(), response.headers.get('connection')], ['waited', 'close']);
    assert.deepEqual(await server.ended(), { code: 0, signal: null });
    assert.match(server.output, /\{"kind":"stopped"\}/);
    assert.equal(lives(pid), false);
  });

  test('keep fewer connections where they have few descriptors', onLinux, async () => {
    const server = runServerWithin(400);
    const { port } = await listening(server);
    await server.prints(/"descriptors":400,"most":144/);
    const sockets = Array.from({ length: 500 }, (_, at) => {
      const from = { port, host: '127.0.0.1', localAddress: `127.0.${at % 250}.${at < 250 ? 1 : 2}` };
      return connect(from).on('error', () => undefined);
    });
    let closed = 0;
    for (const socket of sockets) socket.resume().on('close', () => (closed += 1));
    await until(() => closed >= 500 - 144);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await workerPid(port).catch(() => 0)) > 0);
    assert.doesNotMatch(server.output, /EMFILE/);
  });

  test('SIGUSR1 opens no inspector, in parent or worker', async () => {
    const server = runServer();
    const { port } = await listening(server);
    const worker = await workerPid(port);
    for (const pid of [server.pid, worker]) {
      process.kill(pid, 'SIGUSR1');
      // Caught by a handler of ours: bit 9 of the mask; the inspector's own thread would have blocked it.
      const caught = /^SigCgt:\s*([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
      assert.ok((BigInt(`0x${caught}`) >> 9n) & 1n);
    }
    assert.equal(await workerPid(port), worker);
    server.child.kill('SIGTERM');
    await server.ended();
    assert.doesNotMatch(server.output, /Debugger|ws:\/\//);
  });

  test('ends in bounded time', async () => {
    const server = runServer();
    const { port } = await listening(server);
    const client = await RawClient.open(port);
    client.send(head('GET', '/wait?ms=60000'));
    await pause(100);
    const startedMs = performance.now();
    server.child.kill('SIGTERM');
    await server.ended();
    assert.ok(performance.now() - startedMs < 4_000);
    await client.end();
  });
});

describe('metrics', () => {
  const scrape = async (port: number): Promise<string> =>
    (await exchange(port, head('GET', '/metrics', { Connection: 'close' }))).body.toString();
  const answers = (text: string): number =>
    Number(/fusegate_http_requests_total\{route="pid",status="200"\} (\d+)/.exec(text)?.[1] ?? 0);

  test('are summed over the workers, and the counts of a dead one stay', async () => {
    const free = runServer();
    const { port: metricsPort } = await listening(free);
    free.child.kill('SIGTERM');
    await free.ended();
    const server = runServer({ WORKERS: '2', METRICS_PORT: String(metricsPort) });
    const { port } = await listening(server);
    const pids = await workerPids(port, 2);
    for (let sent = 0; sent < 20; sent += 1) await workerPid(port);
    const before = await scrape(metricsPort);
    assert.ok(answers(before) >= 22);
    assert.match(before, /fusegate_http_request_duration_seconds_bucket\{.*le="\+Inf".*\} \d+/);
    assert.match(before, /^fusegate_workers 2$/m);
    assert.match(before, /^fusegate_loop_delay_seconds_bucket\{le="\+Inf"\} [1-9]/m);
    assert.match(before, /^fusegate_loop_delay_max_seconds 0?\.?\d+/m);
    process.kill(pids[0] ?? 0, 'SIGKILL');
    await until(async () => /^fusegate_workers 2$/m.test(await scrape(metricsPort)));
    const afterwards = await scrape(metricsPort);
    assert.equal(answers(afterwards), answers(before));
    assert.match(afterwards, /^fusegate_worker_restarts_total 1$/m);
  });

  test('leave out and count a worker that does not answer in time', async () => {
    const free = runServer();
    const { port: metricsPort } = await listening(free);
    free.child.kill('SIGTERM');
    await free.ended();
    const server = runServer({ METRICS_PORT: String(metricsPort) });
    const { port } = await listening(server);
    const pid = await workerPid(port);
    const before = answers(await scrape(metricsPort));
    process.kill(pid, 'SIGSTOP');
    const during = await scrape(metricsPort);
    process.kill(pid, 'SIGCONT');
    assert.match(during, /^fusegate_worker_scrapes_missed_total 1$/m);
    assert.equal(answers(during), before, 'counters do not fall');
  });
});
