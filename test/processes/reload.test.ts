/** SIGHUP: the served program reads its settings again, and other workers serve with them. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { shippedTiersFile } from '../../src/access/tiers.js';
import { readConfiguration, settings, type Configuration } from '../../src/configuration.js';
import type { LimitsResponse } from '../../src/contract/limits.js';
import { native } from '../../src/native/addon.js';
import { fixedNames, mergeSettings } from '../../src/processes/reload.js';
import { exchange, head } from '../support/raw.js';
import { run, memoryFolder, processesOf } from '../support/run.js';
import { until } from '../support/until.js';
import { SteadyLoad } from './steadyLoad.js';
import { threadsOf } from './threads.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const skip = process.platform === 'linux' ? false : 'sockets can be handed over on Linux only';

/** A server with two workers whose settings stand in a file that can be written anew. */
async function serve() {
  const folder = memoryFolder();
  const tiers = join(folder, 'tiers.json');
  copyFileSync(shippedTiersFile, tiers);
  const store = join(folder, 'data/store');
  const always = { PORT: 0, WORKERS: 2, STORE_URL: `lmdb:${store}`, TIERS_FILE: tiers };
  const write = (given: Readonly<Record<string, unknown>>): void =>
    writeFileSync(join(folder, 'fusegate.json'), JSON.stringify({ ...always, ACCESS: 'metered', ...given }));
  write({});
  const server = run(main, ['serve'], {}, folder);
  const port = Number((await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/))[1]);
  /** Has the settings read again, and waits for a line that says what came of it. */
  const reload = async (line: RegExp): Promise<void> => {
    server.output = '';
    server.child.kill('SIGHUP');
    await server.prints(line);
  };
  return { server, store, port, tiers, write, reload };
}

/** Stops a process at a moment when it does not write to the store, which others could not open otherwise. */
async function standStill(pid: number, store: string): Promise<void> {
  for (;;) {
    process.kill(pid, 'SIGSTOP');
    await until(() => threadsOf(pid).every(({ state }) => state === 'T'));
    const gate = new native.Gate(store);
    const nobodyWrites = gate.tryClose() && gate.tryBeAlone();
    gate.close();
    if (nobodyWrites) return;
    process.kill(pid, 'SIGCONT');
    await pause(1);
  }
}

/** What the workers that answer on many connections say at a path. */
async function everywhere<Said>(port: number, path: string, say: (body: Buffer) => Said): Promise<Set<Said>> {
  const answers = Array.from({ length: 24 }, () => exchange(port, head('GET', path)));
  return new Set((await Promise.all(answers)).map(({ body }) => say(body)));
}

const anonymousLimit = (body: Buffer): number | undefined => {
  const { rates } = JSON.parse(body.toString()) as LimitsResponse;
  return rates.find(({ name }) => name === 'anonymous.requests')?.limit;
};

const holds = /the settings were read again and apply now/;

describe('SIGHUP', { skip }, () => {
  test('makes every worker serve with the current settings, and loses no request', async () => {
    const { server, port, tiers, write, reload } = await serve();
    assert.deepEqual(await everywhere(port, '/v1/limits', anonymousLimit), new Set([60]));
    const before = processesOf(server);
    const load = new SteadyLoad(port, head('GET', '/health'));
    write({
      ANONYMOUS_REQUESTS_PER_MINUTE: 17,
      LOG_LEVEL: 'debug',
      HOST: '127.0.0.2',
      EMBED_QUEUE: 77,
      WORKERS: 1,
    });
    const text = readFileSync(tiers, 'utf8');
    writeFileSync(tiers, text.replace('"price_sat": 50000', '"price_sat": 50001'));
    await reload(holds);
    await server.prints(/"settings":\["HOST","EMBED_QUEUE"\].*apply from the next start/);
    assert.deepEqual(await everywhere(port, '/v1/limits', anonymousLimit), new Set([17]));
    const price = (body: Buffer): boolean => body.includes('50001');
    assert.deepEqual(await everywhere(port, '/v1/pricing', price), new Set([true]));
    await server.prints(/"level":20.*"route":"health"/);
    await load.goesOn();
    write({ LOG_LEVEL: 'info' });
    await reload(holds);
    await load.goesOn();
    assert.deepEqual(await load.stop(), []);
    assert.deepEqual(await everywhere(port, '/v1/limits', anonymousLimit), new Set([60]));
    const after = processesOf(server).slice(1);
    assert.ok(!after.some((pid) => before.includes(pid)), 'the workers are others');
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.ended(), { code: 0, signal: null });
  });

  test('says that new settings apply once nobody is served with the old ones', async () => {
    const { server, store, port, write, reload } = await serve();
    const former = processesOf(server);
    const [, slow = 0] = former;
    write({ ANONYMOUS_REQUESTS_PER_MINUTE: 19 });
    const applied = reload(holds);
    await until(() => processesOf(server).some((pid) => !former.includes(pid)));
    await standStill(slow, store);
    await until(async () => {
      const limits = await everywhere(port, '/v1/limits', anonymousLimit);
      return limits.size === 1 && limits.has(19);
    });
    assert.doesNotMatch(server.output, holds, 'the one that stands still may yet take a connection');
    process.kill(slow, 'SIGCONT');
    await applied;
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.ended(), { code: 0, signal: null });
  });

  test('keeps the settings if new ones are wrong, and says why in one line', async () => {
    const { server, port, tiers, write, reload } = await serve();
    const workers = processesOf(server);
    const text = readFileSync(tiers, 'utf8');
    const kept = /"level":50.*the settings stay as they were/;
    write({ ANONYMOUS_REQUESTS_PER_MINUTE: 'many', LOG_LEVEL: 'loud' });
    await reload(kept);
    assert.match(server.output, /"reasons":\["[^\n]*LOG_LEVEL must[^\n]*ANONYMOUS_REQUESTS_PER_MINUTE must/);
    write({ LOG_LEVEL: 'debug' });
    writeFileSync(tiers, '{"term_days":1.5}');
    await reload(kept);
    assert.match(server.output, /term_days must be a whole number/);
    // Settings that each can be read, and with which no worker can serve.
    writeFileSync(tiers, text);
    write({ MASTER_SECRET: 'f'.repeat(31) + '0123456789abcdefghijkl' });
    await reload(kept);
    assert.match(server.output, /secret/);
    assert.equal(
      server.output
        .trim()
        .split('\n')
        .filter((line) => line.includes('"level":50')).length,
      1,
    );
    assert.deepEqual(processesOf(server), workers);
    assert.deepEqual(await everywhere(port, '/v1/limits', anonymousLimit), new Set([60]));
    write({ ANONYMOUS_REQUESTS_PER_MINUTE: 18 });
    await reload(holds);
    assert.deepEqual(await everywhere(port, '/v1/limits', anonymousLimit), new Set([18]));
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.ended(), { code: 0, signal: null });
  });
});

test('settings of the parent do not change, and are named', () => {
  const read = (environment: Readonly<Record<string, string>>): Configuration => {
    const outcome = readConfiguration(environment, { platform: 'linux', cores: 2 });
    assert.ok('configuration' in outcome);
    return outcome.configuration;
  };
  const present = read({});
  const given = read({ HOST: '::1', STORE_URL: 'lmdb:/elsewhere/store', WORKERS: '7', LOG_LEVEL: 'warn' });
  const { configuration, unchanged } = mergeSettings(present, given);
  assert.deepEqual(unchanged, ['HOST', 'STORE_URL']);
  assert.deepEqual(configuration, { ...present, workers: 7, logLevel: 'warn' });
  const names = new Set(Object.values(settings).map(({ name }) => name));
  assert.ok(fixedNames.every((name) => names.has(name)));
});
