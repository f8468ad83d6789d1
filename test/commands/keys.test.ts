/** API keys end to end: made, used, changed and ended by commands while two workers serve. */
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { exchange, post, type RawResponse } from '../support/raw.js';
import { commandApart, run, memoryFolder, type Running } from '../support/run.js';
import { here, type Ended } from '../support/here.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const data = memoryFolder();
const environment = { STORE_URL: `lmdb:${data}/store`, TIERS_FILE: join(data, 'tiers.json') };

/** What ships, but for a month of keys of the smallest tier, which two requests use up. */
const tiers = JSON.parse(readFileSync('src/access/tiers.json', 'utf8')) as Record<string, object>;
const developer = { ...tiers['developer'], characters_per_month: 45 };
writeFileSync(environment.TIERS_FILE, JSON.stringify({ ...tiers, developer }));
const workers = 2;

const start = AsyncResource.bind(async (): Promise<{ server: Running; port: number }> => {
  const server = run(main, ['serve'], { ...environment, PORT: '0', WORKERS: `${workers}` });
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  return { server, port: Number(port) };
});

let { server, port } = await start();

/** Runs `fusegate keys …`, where the program is loaded already. */
function keys(...args: readonly string[]): Promise<Ended> {
  return here(['keys', ...args], environment);
}

/** The same in a process of its own. */
function program(...args: readonly string[]): Promise<Ended> {
  return commandApart(['keys', ...args], environment);
}

/** What the command prints of a key as JSON. */
type Shown = Record<string, string | null>;

async function json(...args: readonly string[]): Promise<Shown> {
  const { code, output } = await keys(...args, '--json');
  assert.equal(code, 0, output);
  return JSON.parse(output) as Shown;
}

async function create(...args: readonly string[]): Promise<{ id: string; key: string }> {
  const { code, output } = await program('create', ...args, '--json');
  assert.equal(code, 0, output);
  const shown = JSON.parse(output) as Shown;
  assert.ok(typeof shown['id'] === 'string' && typeof shown['api_key'] === 'string');
  return { id: shown['id'], key: shown['api_key'] };
}

const body = JSON.stringify({ query: 'a', docs: [{ id: '1', text: 'a b', dense_score: 1 }] });

function fuse(key: string): Promise<RawResponse> {
  return exchange(port, post('/v1/fuse', body, { 'Content-Type': 'application/json', 'X-API-Key': key }));
}

function codeOf(response: RawResponse): unknown {
  return (JSON.parse(response.body.toString()) as { code?: unknown }).code;
}

/** Waits until so many answers in a row, on new connections and so from every worker, are refused. */
async function refusedEverywhere(key: string, code: string): Promise<number> {
  const begunMs = performance.now();
  for (let row = 0; row < 8 * workers;) {
    const response = await fuse(key);
    if (response.status === 200) row = 0;
    else {
      assert.deepEqual([response.status, codeOf(response)], [401, code]);
      row += 1;
    }
    if (row === 0) await pause(10);
  }
  return performance.now() - begunMs;
}

describe('keys', () => {
  test('a key that was made is admitted with the limits of its tier, by every worker', async () => {
    const { key } = await create('--tier', 'growth');
    assert.match(key, /^fg_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$/);
    const responses = await Promise.all(Array.from({ length: 16 }, () => fuse(key)));
    const left = responses.map(({ status, headers }) => {
      assert.deepEqual([status, headers.get('ratelimit-policy')], [200, '"minute";q=6000;w=60']);
      return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
    });
    // Counted by all workers together; a request comes back every 10 ms.
    assert.ok(left.every((each) => each > 5980 && each < 6000) && Math.min(...left) < 5999, left.join());
  });

  test('the key is the last word that is printed, and the list of keys does not show it', async () => {
    const { code, output } = await keys('create', '--tier', 'developer', '--note', 'for Ada');
    assert.equal(code, 0);
    const key = output.trim().split(/\s+/).at(-1) ?? '';
    assert.equal((await fuse(key)).status, 200);
    const listed = await keys('list');
    assert.ok(listed.output.includes('for Ada') && listed.output.includes(key.slice(0, 7)));
    assert.ok(!listed.output.includes(key.slice(0, 20)));
  });

  test('a revoked key is refused by every worker within a second, also after a restart', async () => {
    const { id, key } = await create('--tier', 'growth');
    assert.equal((await fuse(key)).status, 200);
    const { code, output } = await keys('revoke', id, '--reason', 'leaked');
    assert.deepEqual([code, output.includes('is revoked')], [0, true]);
    const waitedMs = await refusedEverywhere(key, 'key_revoked');
    assert.ok(waitedMs < 1000, `${waitedMs} ms`);
    const shown = await json('show', id);
    assert.deepEqual([shown['status'], shown['reason']], ['revoked', 'leaked']);
    assert.match((await keys('revoke', id)).output, /was revoked before/);
    server.child.kill('SIGTERM');
    await server.ended();
    ({ server, port } = await start());
    assert.equal(codeOf(await fuse(key)), 'key_revoked');
  });

  test('a key made anew takes the place of the old one', async () => {
    const old = await create('--tier', 'enterprise', '--term-days', '0');
    const made = await json('reissue', old.id);
    assert.deepEqual([made['tier'], made['expires_at']], ['enterprise', null]);
    assert.equal((await fuse(made['api_key'] ?? '')).status, 200);
    await refusedEverywhere(old.key, 'key_revoked');
    assert.equal((await json('show', old.id))['reason'], `replaced by ${made['id']}`);
    const again = await keys('reissue', old.id);
    assert.deepEqual([again.code, /is revoked and cannot be reissued/.test(again.output)], [1, true]);
  });

  test('the characters used survive a restart of the server', async () => {
    const { key } = await create('--tier', 'developer');
    // Seventeen characters each: the third goes beyond 45, the fourth comes too late.
    for (let count = 0; count < 3; count += 1) assert.equal((await fuse(key)).status, 200);
    assert.deepEqual([(await fuse(key)).status, codeOf(await fuse(key))], [429, 'rate_limited']);
    server.child.kill('SIGTERM');
    await server.ended();
    ({ server, port } = await start());
    const response = await fuse(key);
    assert.deepEqual([response.status, codeOf(response)], [429, 'rate_limited']);
    assert.match(response.headers.get('retry-after') ?? '', /^25\d{5}$/, 'almost thirty days');
  });

  test('an error is explained, and changes nothing', async () => {
    const before = (await keys('list', '--json')).output;
    const wrong: readonly [readonly string[], RegExp][] = [
      [['create', '--tier', 'gold'], /There is no tier gold\. The tiers are developer, growth, enterprise\./],
      [['create', '--tier', 'growth', '--term-days', '1.5'], /--term-days must be a whole number/],
      [['create', '--tier', 'growth', '--term-days', ''], /--term-days must be a whole number/],
      [['create', '--tier', 'growth', '--term-days', '1e3'], /--term-days must be a whole number/],
      [['create', '--tier', 'growth', '--term-days', '-1'], /--term-days must be a whole number/],
      [['create'], /--tier/],
      [['show', 'key_none'], /There is no key key_none/],
      [['revoke', 'x'.repeat(5000)], /There is no key x/],
      [['reissue', ''], /There is no key/],
    ];
    for (const [args, expected] of wrong) {
      const { code, output } = await keys(...args);
      // Without its option the command line itself is wrong.
      assert.equal(code, args.length === 1 ? 2 : 1, output);
      assert.match(output, expected);
    }
    assert.equal((await keys('list', '--json')).output, before);
  });
});
