/** `fusegate backup` and `fusegate restore`: one moment of a store in use, and only complete backups. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Manifest } from '../../src/store/backup.js';
import type { Engine } from '../../src/store/engine.js';
import { walkOver } from '../../src/store/records.js';
import { here } from '../support/here.js';
import { commandApart, run, runServer, listening, temporaryFolder } from '../support/run.js';
import { checkWorkload } from './invariants.js';
import { engineAt, newUnitId, storeAt } from '../support/openStore.js';
import { postgresMissing, suiteServer } from '../support/postgresServer.js';
import { HandClock } from '../support/handClock.js';
import { Passage } from './passage.js';
import { bytes } from './subject.js';
import { workloadUnit } from './workload.js';
import { until } from '../support/until.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const MASTER_SECRET = 'a-secret-of-the-tests-that-opens-nothing';
const lmdb = (): string => `lmdb:${temporaryFolder()}/store`;

async function fusegate(
  STORE_URL: string,
  ...args: string[]
): Promise<{ code: number | null; said: string }> {
  const { code, output } = await commandApart(args, { STORE_URL, MASTER_SECRET });
  return { code, said: output };
}

async function succeeds(STORE_URL: string, ...args: string[]): Promise<string> {
  const { code, said } = await fusegate(STORE_URL, ...args);
  assert.equal(code, 0, said);
  return said;
}

async function fails(STORE_URL: string, ...args: string[]): Promise<string> {
  const { code, said } = await fusegate(STORE_URL, ...args);
  assert.equal(code, 1, said);
  return said;
}

/** A store with units of the workload in it; its URL. */
async function seeded(url: string, count: number): Promise<string> {
  const store = await storeAt(url);
  for (let index = 0; index < count; index += 1) {
    await store.commit(workloadUnit(newUnitId(), `s${index.toString(36)}`).operations);
  }
  await store.close();
  return url;
}

/** Whether nothing was written to a store: it was not made, or holds no record. */
async function untouched(url: string): Promise<boolean> {
  if (url.startsWith('lmdb:') && !existsSync(join(url.slice(5), 'data.mdb'))) return true;
  const engine = await engineAt(url);
  const found = await walkOver((range) => engine.scan(range))(() => undefined);
  await engine.close();
  return found.records === 0;
}

/** Backs a store up while units are committed, restores it to `target`, and checks what is there. */
async function backUpUnderLoad(url: string, target: string): Promise<void> {
  const folder = join(temporaryFolder(), 'backup');
  const store = await storeAt(url);
  let over = false;
  const acknowledged: string[] = [];
  let before = 0;
  const load = async (prefix: string): Promise<void> => {
    for (let index = 0; !over; index += 1) {
      const name = `${prefix}${index.toString(36)}`;
      const outcome = await store.commit(workloadUnit(newUnitId(), name).operations);
      if (outcome.kind === 'done') acknowledged.push(name);
    }
  };
  const loads = ['x', 'y', 'z'].map(load);
  await until(() => acknowledged.length >= 100);
  before = acknowledged.length;
  const said = await succeeds(url, 'backup', folder);
  const afterwards = acknowledged.length;
  over = true;
  await Promise.all(loads);
  await store.close();
  assert.match(said, /^Backed up \d+ records \(.+\) of .+ to .+\.$/m);
  assert.match(await succeeds(target, 'restore', folder), /^Restored \d+ records into/m);
  const restored = await storeAt(target);
  const present = await checkWorkload(restored, acknowledged.slice(0, before));
  await restored.close();
  assert.ok(present <= afterwards + 3, `${present} units of at most ${afterwards}`);
  assert.ok(afterwards > before, 'the store was in use meanwhile');
}

async function snapshotSeesOneMoment(engine: Engine): Promise<void> {
  const keys = ['a', 'b', 'c'].map((name) => Buffer.concat([Buffer.of(1), bytes(name)]));
  const write = (value: string): Promise<unknown> =>
    engine.transact(
      () => keys,
      () => keys.map((key) => ({ key, value: bytes(value) })),
    );
  await write('old');
  const range = { from: Buffer.of(1), to: Buffer.of(2), limit: 9 };
  const seen = await engine.snapshot(async (scan) => {
    const first = await scan({ ...range, limit: 1 });
    await write('new');
    assert.deepEqual(await engine.get(keys[2] ?? bytes('')), bytes('new'));
    return [...first, ...(await scan({ ...range, from: keys[1] ?? range.from }))];
  });
  assert.deepEqual(
    seen.map(({ value }) => Buffer.from(value).toString()),
    ['old', 'old', 'old'],
  );
  const now = await engine.scan(range);
  assert.deepEqual(
    now.map(({ value }) => Buffer.from(value).toString()),
    ['new', 'new', 'new'],
  );
}

test('a snapshot sees one moment, and the engine goes on', async () => {
  const engine = await engineAt(lmdb());
  await snapshotSeesOneMoment(engine);
  await engine.close();
});

test('a store in use is backed up and restored', () => backUpUnderLoad(lmdb(), lmdb()));

test('the manifest describes the file, and only its owner can read it', async () => {
  const url = await seeded(lmdb(), 50);
  const folder = join(temporaryFolder(), 'deep', 'backup');
  const output = await succeeds(url, 'backup', folder, '--json');
  const told = JSON.parse(lastLine(output)) as Manifest;
  assert.match(output, new RegExp(`^backup: ${told.records} of ${told.records} records$`, 'm'));
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  assert.deepEqual(told, { folder, ...manifest });
  const records = readFileSync(join(folder, 'records'));
  assert.equal(manifest.sha256, createHash('sha256').update(records).digest('hex'));
  assert.equal(manifest.bytes, records.byteLength);
  assert.deepEqual(readdirSync(folder).sort(), ['manifest.json', 'records']);
  for (const path of ['', 'manifest.json', 'records']) {
    assert.equal(statSync(join(folder, path)).mode & 0o077, 0, path);
  }
});

test('a backup runs at a lower priority than the server', async () => {
  const STORE_URL = await seeded(lmdb(), 5);
  const folder = join(temporaryFolder(), 'backup');
  const { code, lowered } = await here(['backup', folder], { STORE_URL, MASTER_SECRET });
  assert.deepEqual([code, lowered], [0, 1]);
});

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

test('a backup that is damaged, cut off or too new is refused before anything is written', async () => {
  const url = await seeded(lmdb(), 50);
  const folder = join(temporaryFolder(), 'backup');
  await succeeds(url, 'backup', folder);
  const [records, manifest] = ['records', 'manifest.json'].map((name) => readFileSync(join(folder, name)));
  assert.ok(records !== undefined && manifest !== undefined);
  const put = (name: string, data: Buffer | string): void => writeFileSync(join(folder, name), data);
  const refused = async (expected: RegExp): Promise<void> => {
    const target = lmdb();
    assert.match(await fails(target, 'restore', folder), expected);
    assert.ok(await untouched(target));
    put('records', records);
    put('manifest.json', manifest);
  };
  const flipped = Buffer.from(records);
  const middle = Math.floor(records.byteLength / 2);
  flipped[middle] = (flipped[middle] ?? 0) ^ 1;
  put('records', flipped);
  await refused(/cannot be used: it (is not what the manifest says|contains something that is not a record)/);
  truncateSync(join(folder, 'records'), records.byteLength - 1);
  await refused(/cannot be used: it ends within a record/);
  put('records', '');
  await refused(/is not what the manifest says/);
  put('manifest.json', manifest.toString().replace('"version": 1', '"version": 2'));
  await refused(/made by a later version of Fusegate/);
  put('manifest.json', '{}');
  await refused(/is not a manifest of a Fusegate backup/);
  put('manifest.json', '');
  await refused(/holds no whole backup/);
  assert.match(await fails(lmdb(), 'restore', temporaryFolder()), /holds no whole backup/);
});

test('nothing is overwritten', async () => {
  const url = await seeded(lmdb(), 3);
  const folder = join(temporaryFolder(), 'backup');
  await succeeds(url, 'backup', folder);
  assert.match(await fails(url, 'backup', folder), /is not empty: it holds manifest\.json/);
  assert.match(await fails(url, 'restore', folder), /holds records already/);
  assert.match(await fails(lmdb(), 'backup', join(temporaryFolder(), 'b')), /There is no store in/);
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  assert.match(await fails(url, 'backup', join(file, 'b')), /cannot be made/);
  const STORE_URL = lmdb();
  const server = runServer({ STORE_URL });
  await listening(server);
  assert.match(await fails(STORE_URL, 'restore', folder), new RegExp(`in use by process ${server.pid}`));
  server.child.kill('SIGTERM');
  await server.ended();
});

test('a backup is not restored without its master secret, which the error names', async () => {
  const STORE_URL = lmdb();
  const first = run(main, ['serve'], { STORE_URL, PORT: '0', WORKERS: '1' });
  await first.prints(/listens on/);
  first.child.kill('SIGTERM');
  await first.ended();
  const secret = readFileSync(join(STORE_URL.slice(5), '..', 'master-secret'), 'utf8');
  const folder = join(temporaryFolder(), 'backup');
  const backup = run(main, ['backup', folder], { STORE_URL });
  assert.equal((await backup.ended()).code, 0, backup.output);
  for (const name of readdirSync(folder)) {
    assert.ok(!readFileSync(join(folder, name)).includes(secret.trim()), name);
  }
  const target = lmdb();
  const place = join(target.slice(5), '..', 'master-secret');
  const refused = run(main, ['restore', folder], { STORE_URL: target });
  const [, named] = await refused.prints(
    /^The server needs master secret [0-9a-f]{12}: put your copy into (.+)\.\nNothing was written\.$/m,
  );
  assert.deepEqual([named, (await refused.ended()).code], [place, 1]);
  assert.ok(await untouched(target));
  mkdirSync(join(place, '..'), { recursive: true });
  writeFileSync(place, secret, { mode: 0o600 });
  const restore = run(main, ['restore', folder], { STORE_URL: target });
  await restore.prints(/^Restored \d+ records/m);
  assert.equal((await restore.ended()).code, 0);
  const served = run(main, ['serve'], { STORE_URL: target, PORT: '0', WORKERS: '1' });
  await served.prints(/listens on/);
  served.child.kill('SIGTERM');
  await served.ended();
});

const skip = postgresMissing();

describe('PostgreSQL', { skip }, () => {
  const server = suiteServer();

  test('a snapshot of PostgreSQL sees one moment while the engine goes on', async () => {
    const engine = await engineAt(await server().database());
    await snapshotSeesOneMoment(engine);
    await engine.close();
  });

  test('a store in use is backed up and restored to the other engine', async () => {
    await backUpUnderLoad(await server().database(), lmdb());
    await backUpUnderLoad(lmdb(), await server().database());
  });

  test('a server that disappears leaves no backup behind', async () => {
    const engine = await engineAt(await seeded(await server().database(), 10));
    const seen = engine.snapshot(async (scan) => {
      await server().query(
        'postgres',
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE state = 'idle in transaction'`,
      );
      return scan({ from: Buffer.of(1), to: Buffer.of(255), limit: 9 });
    });
    await assert.rejects(seen, { name: 'StoreUnavailable', message: /PostgreSQL at/ });
    await engine.close();
  });

  test('a server that falls silent does not keep a backup waiting for ever', async () => {
    const url = await seeded(await server().database(), 10);
    const passage = new Passage(server().port);
    await passage.open();
    const clock = new HandClock();
    const engine = await engineAt(url.replace(`:${server().port}/`, `:${passage.port}/`), { clock });
    const all = { from: Buffer.of(1), to: Buffer.of(255), limit: 9 };
    const seen = engine.snapshot(async (scan) => {
      assert.equal((await scan(all)).length, 9);
      passage.hush();
      const silent = scan(all);
      silent.catch(() => undefined);
      await clock.pass(119_000);
      assert.equal(
        await Promise.race([silent, new Promise((resolve) => setImmediate(resolve, 'waits'))]),
        'waits',
      );
      await clock.pass(2_000);
      return silent;
    });
    await assert.rejects(seen, { name: 'StoreUnavailable', message: /no answer in time/ });
    await passage.close();
    await engine.close();
  });
});
