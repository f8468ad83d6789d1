/** A server that takes the place of a running one on the same port and the same data folder. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exchange, head, post, RawClient } from '../support/raw.js';
import { until } from '../support/until.js';
import { freePort } from '../support/ports.js';
import { listening, memoryFolder, run, runServer, type Running } from '../support/run.js';
import { SteadyLoad } from './steadyLoad.js';
import { nicenessOf } from './threads.js';

const skip = process.platform === 'linux' ? false : 'sockets can be handed over on Linux only';

const json = { 'Content-Type': 'application/json' };
const pidRequest = head('GET', '/pid');

/** Starts the tests' server program in the place of one that runs. */
function takeFrom(environment: Readonly<Record<string, string>>): Running {
  return runServer({ TEST_TAKE_OVER: 'yes', ...environment });
}

async function pidOf(client: RawClient): Promise<number> {
  return Number((await client.send(pidRequest).response()).body.toString());
}

async function scrape(port: number): Promise<string> {
  return (await exchange(port, head('GET', '/metrics', { Connection: 'close' }))).body.toString();
}

/** A folder in memory, and the settings of servers that use it. */
function shared() {
  const folder = memoryFolder();
  return { folder, settings: { STORE_URL: `lmdb:${folder}/store`, WORKERS: '2' } };
}

describe('a server that takes over', { skip }, () => {
  test('serves on the same port, while the other finishes its requests and ends', async () => {
    const { folder, settings } = shared();
    const first = runServer(settings);
    const { port } = await listening(first);
    const busy = await RawClient.open(port);
    const file = join(folder, 'go on');
    busy.send(head('GET', `/wait?file=${encodeURIComponent(file)}`));
    const idle = await RawClient.open(port);
    const before = await pidOf(idle);
    const second = takeFrom({ ...settings, PORT: String(port) });
    assert.equal((await listening(second)).port, port);
    assert.equal(readFileSync(join(folder, 'lock'), 'utf8'), String(second.pid));
    writeFileSync(file, '');
    const answer = await busy.response();
    assert.deepEqual([answer.body.toString(), answer.headers.get('connection')], ['waited', 'close']);
    // A connection that did nothing may send one more request, which its own worker answers.
    const last = await idle.send(pidRequest).response();
    assert.deepEqual([Number(last.body.toString()), last.headers.get('connection')], [before, 'close']);
    assert.deepEqual(await first.ended(), { code: 0, signal: null });
    assert.match(first.output, /another server asks to take over/);
    assert.match(first.output, /\{"kind":"stopped"\}/);
    const workers = new Set<number>();
    await until(async () => workers.add(await pidOf(await RawClient.open(port))).size === 2);
    assert.ok(!workers.has(before));
    // They started at a lower priority, if this system lets them go back.
    for (const worker of workers) assert.deepEqual(new Set(nicenessOf(worker)), new Set([getPriority()]));
  });

  test('loses no request of old and new connections, however the number of workers changes', async () => {
    const { settings } = shared();
    let server = runServer(settings);
    const { port } = await listening(server);
    const load = new SteadyLoad(port, pidRequest);
    for (const WORKERS of ['1', '3', '2']) {
      const next = takeFrom({ ...settings, WORKERS, PORT: '0' });
      assert.equal((await listening(next)).port, port);
      await load.goesOn();
      assert.deepEqual(await server.ended(), { code: 0, signal: null }, server.output);
      server = next;
    }
    assert.deepEqual(await load.stop(), []);
  });

  test('keeps the port of the metrics, and counts only its own', async () => {
    const { settings } = shared();
    const METRICS_PORT = String(await freePort());
    const first = runServer({ ...settings, METRICS_PORT });
    const { port, metricsPort } = await listening(first);
    for (let sent = 0; sent < 9; sent += 1) await exchange(port, pidRequest);
    assert.match(await scrape(metricsPort), /requests_total\{route="pid",status="200"\} 9$/m);
    const second = takeFrom({ ...settings, METRICS_PORT });
    assert.equal((await listening(second)).metricsPort, metricsPort);
    await first.ended();
    await exchange(port, pidRequest);
    assert.match(await scrape(metricsPort), /requests_total\{route="pid",status="200"\} 1$/m);
  });

  test('starts as usual if none is running', async () => {
    const { settings } = shared();
    const { port } = await listening(takeFrom(settings));
    assert.equal((await exchange(port, pidRequest)).status, 200);
  });
});

describe('a server that cannot take over', { skip }, () => {
  test('says why, and the running one serves on and can be taken over from', async () => {
    const { folder, settings } = shared();
    const first = runServer(settings);
    const { port } = await listening(first);
    const refusals: readonly [Readonly<Record<string, string>>, RegExp][] = [
      [
        { PORT: String(await freePort()) },
        /listens on 127\.0\.0\.1 port \d+, which a server that takes over keeps/,
      ],
      [{ HOST: '::1' }, /Set HOST and PORT as it has them/],
      [{ STORE_URL: `lmdb:${folder}/other` }, /The running server has lmdb:.*, not lmdb:.*\/other/],
      [{ TEST_BUILD: 'refuse' }, /This worker cannot serve\./],
      [{ TEST_TAKE_OVER: 'no' }, new RegExp(`in use by process ${first.pid}\\.`)],
    ];
    for (const [environment, reason] of refusals) {
      const refused = takeFrom({ ...settings, ...environment });
      await refused.prints(reason);
      await refused.ended();
      assert.equal((await exchange(port, pidRequest)).status, 200);
    }
    await listening(takeFrom(settings));
    assert.deepEqual(await first.ended(), { code: 0, signal: null }, first.output);
  });

  test('because it is killed halfway leaves the running one as it was', async () => {
    const { settings } = shared();
    const first = runServer(settings);
    const { port } = await listening(first);
    const load = new SteadyLoad(port, pidRequest);
    const hanging = takeFrom({ ...settings, TEST_BUILD: 'hang' });
    await first.prints(/another server asks to take over/);
    await takeFrom(settings).prints(/Another server is already taking over/);
    hanging.child.kill('SIGKILL');
    await first.prints(/has ended, and this one goes on serving/);
    await load.goesOn();
    assert.deepEqual(await load.stop(), []);
    await listening(takeFrom(settings));
    await first.ended();
  });

  test('because another data folder has the port is told that the port is in use', async () => {
    const { port } = await listening(runServer());
    await takeFrom({ PORT: String(port) }).prints(new RegExp(`Port ${port} on 127.0.0.1 is in use`));
  });
});

test('a server that was taken over from ends soon once it is told to stop', { skip }, async () => {
  const { settings } = shared();
  const first = runServer({ ...settings, TEST_DRAIN_MS: '100' });
  const { port } = await listening(first);
  const busy = await RawClient.open(port);
  busy.send(head('GET', '/wait?ms=3600000'));
  await listening(takeFrom(settings));
  assert.equal(first.exit, undefined);
  first.child.kill('SIGTERM');
  await first.ended();
  assert.match(first.output, /\{"kind":"killed"\}|\{"kind":"stopped"\}/);
  await busy.end();
});

/** A server with a request that lasts until a file is there. */
async function kept(settings: Readonly<Record<string, string>>, folder: string) {
  const server = runServer({ ...settings, TEST_DRAIN_MS: '100' });
  const { port } = await listening(server);
  const busy = await RawClient.open(port);
  const file = join(folder, 'go on');
  busy.send(head('GET', `/wait?file=${encodeURIComponent(file)}`));
  return { server, busy, file };
}

test('two take-overs in a row cut no request of the first server', { skip }, async () => {
  const { folder, settings } = shared();
  const { server: first, busy, file } = await kept(settings, folder);
  const second = takeFrom(settings);
  await listening(second);
  await listening(takeFrom(settings));
  writeFileSync(file, '');
  assert.equal((await busy.response()).body.toString(), 'waited');
  for (const server of [first, second]) {
    assert.deepEqual(await server.ended(), { code: 0, signal: null });
    assert.doesNotMatch(server.output, /ends soon, too/);
  }
});

test('servers that leave end soon if the last one dies, so that another can start', { skip }, async () => {
  const { folder, settings } = shared();
  const { server: first, busy } = await kept(settings, folder);
  const second = takeFrom(settings);
  await listening(second);
  const last = takeFrom(settings);
  await listening(last);
  last.child.kill('SIGKILL');
  for (const server of [second, first]) {
    await server.prints(/the server that took over has ended: this one ends soon, too/);
    await server.ended();
  }
  assert.equal((await exchange((await listening(takeFrom(settings))).port, pidRequest)).status, 200);
  await busy.end();
});

test('limits and previews survive a take-over', { skip }, async () => {
  const { settings } = shared();
  const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
  const limited = { ACCESS: 'metered', ANONYMOUS_REQUESTS_PER_MINUTE: '6' };
  const METRICS_PORT = String(await freePort());
  const environment = { ...settings, ...limited, PORT: '0', METRICS_PORT };
  const first = run(main, ['serve'], environment);
  const announced = /listens on http:\/\/127\.0\.0\.1:(\d+)/;
  const port = Number((await first.prints(announced))[1]);
  const fuse = post('/v1/fuse', '{"query":"a","docs":[{"id":"1","text":"a b","dense_score":0.5}]}');
  const beganMs = performance.now();
  for (let sent = 0; sent < 4; sent += 1) assert.equal((await exchange(port, fuse)).status, 200);
  const shown = await exchange(port, head('GET', '/dream_get?title=a&content=b'));
  const { confirm } = JSON.parse(shown.body.toString()) as { confirm: string };
  const second = run(main, ['serve', '--take-over'], environment);
  assert.equal(Number((await second.prints(announced))[1]), port);
  let admitted = 0;
  while ((await exchange(port, fuse)).status === 200) admitted += 1;
  // Two of the six are left, and another comes every ten seconds.
  const regained = Math.floor((performance.now() - beganMs) / 10_000);
  assert.ok(admitted >= 2 && admitted <= 2 + regained, `${admitted} admitted, ${regained} regained`);
  // Those that its workers answered before they took over are not counted.
  const counted = (await scrape(Number(METRICS_PORT))).match(/^fusegate_http_requests_total\{.*$/gm);
  // Which worker answered first decides which line comes first.
  assert.deepEqual(counted?.sort(), [
    `fusegate_http_requests_total{route="fuse",status="200"} ${admitted}`,
    'fusegate_http_requests_total{route="fuse",status="429"} 1',
  ]);
  const confirmed = await exchange(port, post('/dream_confirm', JSON.stringify({ confirm }), json));
  assert.equal(confirmed.status, 200, confirmed.body.toString());
  assert.deepEqual(await first.ended(), { code: 0, signal: null }, first.output);
});
