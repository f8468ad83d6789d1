/** The served program on its disk: what is synced before an answer leaves, a full disk, a sync that fails. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { writeOver } from '../../src/store/entries.js';
import { encodeTotal } from '../../src/store/tables/fragments.js';
import { exchange, head, post, type RawResponse } from '../support/raw.js';
import { storeAt } from '../support/openStore.js';
import { buildWithoutSync } from '../store/noSync.js';
import { skipWithout } from '../store/tools.js';
import { bytesOf, fileEvents, readTrace, targetOf, traceArguments, type Call } from '../store/trace.js';
import { childrenOf, commandApart, Running, run, temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const json = { 'Content-Type': 'application/json' };

function environmentOf(data: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    PORT: '0',
    WORKERS: '2',
    STORE_URL: `lmdb:${data}/store`,
    PUBLIC_URL: 'https://fuse.example',
    LEADS_PER_MINUTE: '0',
    EMBED_CACHE_MB: '1',
    LOG_LEVEL: 'fatal',
  };
}

/** Serves under strace with `options`; the environment goes to the traced program alone. */
async function serveTraced(data: string, options: readonly string[], more: Record<string, string> = {}) {
  const environment = Object.entries({ ...environmentOf(data), ...more });
  const set = environment.flatMap(([name, value]) => ['-E', `${name}=${value}`]);
  const server = new Running('strace', [...set, ...options, process.execPath, main, 'serve']);
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const stop = async (): Promise<void> => {
    const [parent = NaN] = childrenOf(server.pid);
    process.kill(parent, 'SIGTERM');
    await server.ended();
  };
  return { server, port: Number(port), stop };
}

/** Runs a command on the store of `data`. */
async function command(data: string, ...args: readonly string[]): Promise<string> {
  const { code, output } = await commandApart(args, environmentOf(data));
  assert.equal(code, 0, output);
  return output;
}

function lead(port: number, email: string, more: Record<string, string> = {}): Promise<RawResponse> {
  const body = JSON.stringify({ email, message: 'm'.repeat(1500) });
  return exchange(port, post('/v1/leads', body, { ...json, ...more }));
}

/** A request that stores a fragment with `mark` in its title, by one of the door's routes. */
async function fragmentRequest(port: number, mark: string): Promise<{ path: string; body: unknown }> {
  const fragment = { title: mark, content: 'c' };
  if (mark.startsWith('dream')) return { path: '/dream', body: fragment };
  if (mark.startsWith('harvest')) {
    return { path: '/harvest', body: { text: `<<SHARD>>${JSON.stringify(fragment)}<</SHARD>>` } };
  }
  const preview = await exchange(port, head('GET', `/dream_get?title=${mark}&content=c`));
  const { confirm } = JSON.parse(preview.body.toString()) as { confirm: string };
  return { path: '/dream_confirm', body: { confirm } };
}

/** A request to each route that acknowledges, with `mark` in its record and, as its id, in its answer. */
async function acknowledging(data: string, port: number): Promise<string[]> {
  const marks: string[] = [];
  const marked = (mark: string): Record<string, string> => {
    marks.push(mark);
    return { 'X-Request-Id': mark };
  };
  for (let round = 0; round < 6; round += 1) {
    assert.equal((await lead(port, `lead-${round}-mark`, marked(`lead-${round}-mark`))).status, 200);
    const email = `interest-${round}-mark`;
    const interest = JSON.stringify({ email, delivery_model: 'oem_embedded' });
    const headers = { ...json, ...marked(email) };
    assert.equal((await exchange(port, post('/v1/delivery-interest', interest, headers))).status, 200);
  }
  for (const mark of ['dream-mark', 'confirm-mark', 'harvest-mark']) {
    const { path, body } = await fragmentRequest(port, mark);
    const sent = post(path, JSON.stringify(body), { ...json, ...marked(mark) });
    assert.equal((await exchange(port, sent)).status, 200, mark);
  }
  const printed = await command(data, 'optout', 'link', 'optout-mark@example.com');
  const link = /https:\/\/fuse\.example(\/unsubscribe\S+?)>?[,\s]/.exec(printed)?.[1] ?? '';
  const response = await exchange(port, post(link, 'List-Unsubscribe=One-Click', marked('optout-mark')));
  assert.deepEqual(JSON.parse(response.body.toString()), { ok: true, unsubscribed: true });
  return marks;
}

/** What is missing between the write of a marked record and the sending of its answer; undefined: nothing. */
function missingSync(calls: readonly Call[], mark: string): string | undefined {
  const events = fileEvents(calls, '/store/data.mdb');
  const written = events.find((event) => event.kind === 'write' && event.bytes.includes(mark))?.call;
  if (written === undefined) return 'the record was not written';
  const sends = new Set(['sendto', 'sendmsg', 'write', 'writev']);
  // An answer that left before the write is none of these; a preview's, which tells the title too, is one.
  const sent = calls.find(
    ({ name, args, begun }) =>
      begun > written.begun &&
      sends.has(name) &&
      targetOf(args).startsWith('socket') &&
      bytesOf(args).includes(mark),
  );
  if (sent === undefined) return 'the answer was not sent after the write';
  const synced = events.find(({ kind, call }) => kind === 'sync' && call.begun > written.begun)?.call;
  if (synced === undefined || synced.ended > sent.begun) return 'no sync before the answer';
  const meta = events.find(
    (event) => event.kind === 'write' && event.synced && event.call.begun > synced.ended,
  )?.call;
  return meta === undefined || meta.ended > sent.begun ? 'no synced meta page before the answer' : undefined;
}

async function traced(data: string, more: Record<string, string> = {}): Promise<(string | undefined)[]> {
  const file = join(data, 'trace');
  const { port, stop } = await serveTraced(data, traceArguments(file), more);
  const marks = await acknowledging(data, port);
  await stop();
  const calls = readTrace(readFileSync(file, 'latin1'));
  return marks.map((mark) => missingSync(calls, mark));
}

describe('an acknowledging answer', { skip: skipWithout('strace', 'cc') }, () => {
  test('leaves after the record and the meta page were synced, on every route', async () => {
    const missing = await traced(temporaryFolder());
    assert.deepEqual(missing, Array(16).fill(undefined));
  });

  test('is found to leave too early in a build that does not sync', async () => {
    const data = temporaryFolder();
    const missing = await traced(data, { LD_PRELOAD: buildWithoutSync(data) });
    assert.deepEqual([...new Set(missing)], ['no sync before the answer']);
  });
});

/** Ids of the leads in the store. */
async function leadIds(data: string): Promise<string[]> {
  const lines = (await command(data, 'leads', 'export', '--format', 'jsonl')).trim().split('\n');
  return lines.map((line) => (JSON.parse(line) as { id: string }).id);
}

/** The id of a lead that was kept; undefined when the answer says that the store is unavailable. */
function idOrUnavailable(response: RawResponse): string | undefined {
  const body = JSON.parse(response.body.toString()) as { id?: string; code?: string };
  if (response.status === 200) return body.id;
  assert.deepEqual([response.status, body.code], [503, 'store_unavailable']);
  assert.match(response.headers.get('retry-after') ?? '', /^\d+$/);
  return undefined;
}

describe('a sync that fails', { skip: skipWithout('strace') }, () => {
  test('is a 503; the server survives, and goes on by itself', async () => {
    const data = temporaryFolder();
    const fault = ['-e', 'trace=fdatasync', '-e', 'inject=fdatasync:error=EIO:when=12+25'];
    const { port, stop } = await serveTraced(data, ['-f', '-qq', '-o', '/dev/null', ...fault]);
    const kept: string[] = [];
    const statuses: number[] = [];
    for (let count = 0; count < 150; count += 1) {
      const response = await lead(port, `sync-${count}`);
      statuses.push(response.status);
      const id = idOrUnavailable(response);
      if (id === undefined) await pause(20);
      else kept.push(id);
    }
    assert.ok(statuses.includes(503) && statuses.lastIndexOf(200) > statuses.indexOf(503), statuses.join());
    await stop();
    const stored = await leadIds(data);
    assert.equal(new Set(stored).size, stored.length);
    assert.deepEqual(
      kept.filter((id) => !stored.includes(id)),
      [],
    );
  });
});

/** A small file system in memory, gone after the tests; undefined where this user may not have one. */
function smallDisk(bytes: number): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-small-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]).status === 0;
  after(() => {
    if (mounted) spawnSync('umount', ['-l', folder]);
    rmdirSync(folder);
  });
  return mounted ? folder : undefined;
}

test('a full disk is a 503; the rest is served, and writing goes on once there is space', async (context) => {
  const data = smallDisk(32 << 20);
  if (data === undefined) {
    context.skip('only root may mount a small file system');
    return;
  }
  const environment = { ...environmentOf(data), EMBED_CACHE_MB: '64', LOG_LEVEL: 'warn', DISK_RESERVE: '0' };
  const server = run(main, ['serve'], environment);
  const [, shown] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  assert.match(server.output, /computed vectors are not kept/, 'it starts without a cache that does not fit');
  const port = Number(shown);
  const kept: string[] = [];
  const send = async (): Promise<boolean> => {
    const id = idOrUnavailable(await lead(port, `disk-${kept.length}`));
    if (id !== undefined) kept.push(id);
    return id !== undefined;
  };
  assert.ok(await send());
  const ballast = join(data, 'ballast');
  const { bavail, bsize } = statfsSync(data);
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - (256 << 10)));
  await until(async () => !(await send()));
  assert.equal((await exchange(port, head('GET', '/health'))).status, 200);
  assert.equal((await exchange(port, head('GET', '/ready'))).status, 503);
  const fuse = JSON.stringify({ query: 'a', docs: [{ id: '1', text: 'a', dense_score: 1 }] });
  assert.equal((await exchange(port, post('/v1/fuse', fuse, json))).status, 200);
  rmSync(ballast);
  const fullMs = performance.now();
  await until(send);
  assert.ok(performance.now() - fullMs < 3000, 'writes go on by themselves');
  // The other worker finds out by itself.
  for (let row = 0; row < 20; row = (await send()) ? row + 1 : 0) await pause(5);
  const stored = await leadIds(data);
  assert.deepEqual([new Set(stored).size, kept.filter((id) => !stored.includes(id))], [stored.length, []]);
  server.child.kill('SIGTERM');
  await server.ended();
});

test('a server whose fragments fill their disk space stores no more of them', async () => {
  const data = temporaryFolder();
  const store = await storeAt(`lmdb:${data}/store`);
  const total = encodeTotal({ position: 0, bytes: 1_000_000_000 });
  await store.commit([writeOver('state', Buffer.from('bytes of fragments'), undefined, total)]);
  await store.close();
  const server = run(main, ['serve'], { ...environmentOf(data), DOOR_MAX_GB: '1' });
  const [, port = ''] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  let count = 0;
  const refused = async (): Promise<string> => {
    count += 1;
    const body = JSON.stringify({ title: `title ${count}`, content: 'content' });
    const { status, body: told } = await exchange(Number(port), post('/dream', body, json));
    return status === 200 ? '' : `${status} ${(JSON.parse(told.toString()) as { code: string }).code}`;
  };
  // Each worker reads the total at its start.
  await until(async () => (await refused()) === '503 storage_reserved');
});
