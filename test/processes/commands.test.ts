/** The command line of the compiled program: help, version, mistakes, configuration errors, serving. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { LimitsResponse } from '../../src/contract/limits.js';
import { exchange, head, post } from '../support/raw.js';
import { forLength } from '../support/length.js';
import { closedPort } from '../support/ports.js';
import { run, memoryFolder, type Running } from '../support/run.js';
import { until } from '../support/until.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const child = fileURLToPath(new URL('../../src/child.js', import.meta.url));

/** A server's lines as at a terminal. */
const forPeople = { LOG_FORMAT: 'text' };

function fusegate(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Running {
  return run(main, args, environment);
}

test('--version and --help', async () => {
  const version = fusegate(['--version']);
  assert.equal((await version.ended()).code, 0);
  assert.equal(version.output, '0.4.0\n');
  const help = fusegate(['--help']);
  assert.equal((await help.ended()).code, 0);
  assert.match(help.output, /serve \[options\] +serve until stopped/);
  assert.doesNotMatch(help.output, /worker/);
});

test('a mistyped command is named, with the nearest one', async () => {
  const mistaken = fusegate(['serv']);
  assert.equal((await mistaken.ended()).code, 2);
  assert.match(mistaken.output, /unknown command 'serv'\n\(Did you mean serve\?\)/);
  const bare = fusegate([]);
  assert.equal((await bare.ended()).code, 2);
  assert.match(bare.output, /Usage: fusegate/);
  const option = fusegate(['keys', 'list', '--jsno']);
  assert.equal((await option.ended()).code, 2);
  assert.match(
    option.output,
    /unknown option '--jsno'\n\(Did you mean --json\?\)\nSee fusegate keys list --help\.\n$/,
  );
  const worker = run(child, ['worker'], {});
  assert.equal((await worker.ended()).code, 2);
  assert.match(worker.output, /is started by fusegate serve/);
});

test('serve lists every configuration error and every doubtful name', async () => {
  const refused = fusegate(['serve'], { PORT: 'x', WORKERS: '-1', LOGLEVEL: 'debug' });
  assert.equal((await refused.ended()).code, 1);
  assert.match(refused.output, /PORT must be/);
  assert.match(refused.output, /WORKERS must be/);
  assert.match(refused.output, /LOGLEVEL is not read; did you mean LOG_LEVEL\?/);
});

test('serve lists the errors of other files and of keys with them', async () => {
  const refused = fusegate(['serve'], {
    BTC_NETWORK: 'regtest',
    BTC_XPUB: 'abc',
    BTC_CHAIN: `esplora+http://127.0.0.1:${await closedPort()}`,
    PORT: 'foo',
    TIERS_FILE: '/nofile',
    EMBED_MODEL: 'foo',
    STORE_URL: `lmdb:${memoryFolder()}/store`,
    ...forPeople,
  });
  assert.equal((await refused.ended()).code, 1);
  const [heading, ...errors] = refused.output.trimEnd().split('\n');
  assert.equal(heading, 'Fusegate cannot start with this configuration:');
  for (const name of ['PORT must', 'BTC_XPUB must', 'TIERS_FILE /nofile', 'EMBED_MODEL names foo']) {
    assert.equal(errors.filter((error) => error.startsWith(`  ${name}`)).length, 1, refused.output);
  }
  assert.equal(errors.length, 4, refused.output);
});

test('serve says in one line that the data folder is not a folder', async () => {
  const file = join(memoryFolder(), 'file');
  writeFileSync(file, '');
  const refused = fusegate(['serve'], { PORT: '0', STORE_URL: `lmdb:${file}/store`, ...forPeople });
  assert.equal((await refused.ended()).code, 1);
  // Root is warned in the log, whose lines begin with the time.
  const said = refused.output.replaceAll(/^\d{4}-.*\n/gm, '');
  assert.match(said, /^\S+ cannot be listed \(ENOTDIR\)\. Set STORE_URL to .+\.\n$/);
});

test('serve lists every error of the file of tiers', async () => {
  const TIERS_FILE = join(memoryFolder(), 'tiers.json');
  writeFileSync(TIERS_FILE, '{"term_days":1.5}');
  const refused = fusegate(['serve'], { PORT: '0', TIERS_FILE });
  assert.equal((await refused.ended()).code, 1);
  assert.match(refused.output, /anonymous must be an object/);
  assert.match(refused.output, /term_days must be a whole number/);
});

test('a limit holds exactly over all workers', async () => {
  const STORE_URL = `lmdb:${memoryFolder()}/store`;
  const environment = { PORT: '0', WORKERS: '2', STORE_URL, ANONYMOUS_REQUESTS_PER_MINUTE: '6' };
  const server = fusegate(['serve'], environment);
  const [, text = ''] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const port = Number(text);
  const body = '{"query":"a","docs":[{"id":"1","text":"a b","dense_score":0.5}]}';
  const answers = await Promise.all(Array.from({ length: 40 }, () => exchange(port, post('/v1/fuse', body))));
  assert.equal(answers.filter(({ status }) => status === 200).length, 6);
  assert.equal(answers.filter(({ status }) => status === 429).length, 34);
  const limits = JSON.parse(
    (await exchange(port, head('GET', '/v1/limits'))).body.toString(),
  ) as LimitsResponse;
  const anonymous = limits.rates.find(({ name }) => name === 'anonymous.requests');
  assert.equal(anonymous?.limit, 6);
  server.child.kill('SIGTERM');
  assert.deepEqual(await server.ended(), { code: 0, signal: null });
});

test('serve announces its address, answers, and ends with exit code 0', async () => {
  const STORE_URL = `lmdb:${memoryFolder()}/store`;
  const server = fusegate(['serve'], { PORT: '0', WORKERS: '2', STORE_URL, ...forPeople });
  const [, port = ''] = await server.prints(
    /^Fusegate 0\.4\.0 listens on http:\/\/127\.0\.0\.1:(\d+) \(2 workers, /m,
  );
  assert.equal((await exchange(Number(port), head('GET', '/health'))).body.toString(), '{"status":"ok"}');
  const body = '{"query":"a","docs":[{"id":"1","text":"a b","dense_score":0.5}]}';
  const fused = await exchange(Number(port), post('/v1/fuse', body, { 'Content-Type': 'application/json' }));
  assert.equal(fused.status, 200);
  assert.match(fused.headers.get('server-timing') ?? '', /^app;dur=/);
  await server.prints(
    /^Access open: no key is needed, and nobody without one is limited on fuse and normalize \(/m,
  );
  const docs = Array.from({ length: 60 }, (_, at) => ({ id: String(at), text: `text ${at}` }));
  const embedded = JSON.stringify({ query: 'a', docs, embed_model: 'static-256' });
  for (let count = 0; count < 70; count += 1) {
    assert.equal((await exchange(Number(port), post('/v1/fuse', embedded))).status, 200, `request ${count}`);
  }
  const second = fusegate(['serve'], { PORT: '0', STORE_URL });
  assert.equal((await second.ended()).code, 1);
  assert.match(second.output, new RegExp(`in use by process ${server.pid}\\.`));
  server.child.kill('SIGTERM');
  assert.deepEqual(await server.ended(), { code: 0, signal: null });
});

test('serve needs a key if ACCESS is keys, and limits callers if it is metered', async () => {
  const body = '{"query":"a","docs":[{"id":"1","text":"a b"}],"embed_model":"static-256"}';
  const STORE_URL = `lmdb:${memoryFolder()}/store`;
  const server = fusegate(['serve'], { PORT: '0', WORKERS: '1', STORE_URL, ACCESS: 'keys', ...forPeople });
  const [, port = ''] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  await server.prints(/^Access keys: fuse and normalize need a key \(ACCESS is keys\)/m);
  for (const path of ['/v1/fuse', '/v1/normalize']) {
    const refused = await exchange(Number(port), post(path, body));
    assert.equal(refused.status, 401);
    assert.match(refused.body.toString(), /"code":"key_required"/);
  }
  const made = fusegate(['keys', 'create', '--tier', 'developer'], { STORE_URL });
  const [key = ''] = await made.prints(/fg_\S+/);
  const answered = await exchange(Number(port), post('/v1/fuse', body, { 'X-API-Key': key }));
  assert.equal(answered.status, 200);
  server.child.kill('SIGTERM');
  await server.ended();
});

test('server and commands read the same file, and serve what it names', async () => {
  const folder = memoryFolder();
  const settings = { PORT: 0, WORKERS: 1, STORE_URL: `lmdb:${folder}/store`, SERVE: ['fuse', 'audit'] };
  const path = join(folder, 'fusegate.json');
  writeFileSync(path, JSON.stringify(settings));
  const server = run(main, ['serve'], { ACCESS: 'keys', ...forPeople }, folder);
  const [, port = ''] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+) \(1 worker, /);
  await server.prints(
    /^Serves fuse, audit \(SERVE\)\nSettings from .*fusegate\.json and the environment\nAccess keys/m,
  );
  const statuses = ['/v1/audit/stacks', '/health', '/v1/pricing', '/graph', '/buy', '/v1/delivery-models'];
  const found = statuses.map(async (path) => (await exchange(Number(port), head('GET', path))).status);
  assert.deepEqual(await Promise.all(found), [200, 200, 404, 404, 404, 404]);
  const made = fusegate(['keys', 'create', '--tier', 'developer', '--config', path]);
  const [key = ''] = await made.prints(/fg_\S+/);
  const body = '{"query":"a","docs":[{"id":"1","text":"a b","dense_score":0.5}]}';
  assert.equal((await exchange(Number(port), post('/v1/fuse', body, { 'X-API-Key': key }))).status, 200);
  const named = fusegate(['doctor'], { FUSEGATE_CONFIG: path });
  assert.equal((await named.ended()).code, 0, named.output);
  assert.match(named.output, /Every variable can be used\. .*fusegate\.json was read, too\./);
  assert.match(named.output, /serves +fuse, audit\./);
  server.child.kill('SIGTERM');
  await server.ended();
  writeFileSync(path, '{"PROT": 1}');
  const refused = run(main, ['serve'], {}, folder);
  assert.equal((await refused.ended()).code, 1);
  assert.match(refused.output, /fusegate\.json: PROT is no setting; did you mean PORT\?/);
});

test('a signal while the workers start ends them at once', async (context) => {
  if (!existsSync('/proc/self/task')) {
    context.skip('whether there are workers is read from /proc');
    return;
  }
  for (let afterMs = 0; afterMs < 1_200; afterMs += forLength({ short: 300, long: 150 })) {
    const STORE_URL = `lmdb:${memoryFolder()}/store`;
    const server = fusegate(['serve'], { PORT: '0', WORKERS: '2', STORE_URL, ...forPeople });
    const children = `/proc/${server.pid}/task/${server.pid}/children`;
    await until(() => readFileSync(children, 'utf8').trim().split(' ').length === 2);
    await pause(afterMs);
    const signalledMs = performance.now();
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.ended(), { code: 0, signal: null }, `${afterMs} ms: ${server.output}`);
    assert.ok(performance.now() - signalledMs < 8_000, `${afterMs} ms`);
  }
});
