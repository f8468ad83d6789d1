/** What a power cut, a full disk and a failing sync leave of the store on LMDB; needs strace. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../support/run.js';
import { checkWorkload } from './invariants.js';
import { buildWithoutSync } from './noSync.js';
import { generator, powerCuts } from './powerCut.js';
import { skipWithout } from './tools.js';
import { bytesOf, fileEvents, readTrace, targetOf, traceArguments, type Call } from './trace.js';
import { storeAt } from '../support/openStore.js';

const workload = fileURLToPath(new URL('workload.js', import.meta.url));
const skip = skipWithout('strace', 'cc');

/** The calls of a workload of `count` units on the store in `folder`. */
function traceWorkload(folder: string, count: number, environment: Record<string, string> = {}): Call[] {
  const file = join(folder, 'trace');
  const preload = Object.entries(environment).flatMap(([name, value]) => ['-E', `${name}=${value}`]);
  const program = [process.execPath, workload, join(folder, 'store'), 'u', String(count), '4'];
  const run = spawnSync('strace', [...preload, ...traceArguments(file), ...program], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
  return readTrace(readFileSync(file, 'latin1'));
}

/** Names acknowledged before a line of the trace. */
function acknowledgedBefore(calls: readonly Call[], line: number): string[] {
  return calls.flatMap((call) => {
    if (call.name !== 'write' || !call.args.startsWith('1<') || call.begun > line) return [];
    return [
      ...bytesOf(call.args)
        .toString()
        .matchAll(/^ACK (\w+)$/gm),
    ].map(([, name]) => name ?? '');
  });
}

/** Cuts the power everywhere in a workload's trace and checks what is left; returns the count of cuts. */
async function checkCuts(folder: string, base: Buffer, calls: readonly Call[]): Promise<number> {
  const events = fileEvents(calls, '/store/data.mdb');
  let cuts = 0;
  for (const { image, line, how } of powerCuts({ base, events, random: 4, choose: generator(1) })) {
    const remains = join(folder, `cut-${(cuts += 1)}`);
    mkdirSync(remains);
    writeFileSync(join(remains, 'data.mdb'), image);
    const store = await storeAt(`lmdb:${remains}`);
    try {
      await checkWorkload(store, acknowledgedBefore(calls, line));
    } catch (error) {
      throw new Error(`after a cut at line ${line}, ${how}`, { cause: error });
    } finally {
      await store.close();
    }
  }
  return cuts;
}

/** A folder with an empty store, and the bytes of its file. */
async function emptyStore(): Promise<{ folder: string; base: Buffer }> {
  const folder = temporaryFolder();
  await (await storeAt(`lmdb:${join(folder, 'store')}`)).close();
  return { folder, base: readFileSync(join(folder, 'store', 'data.mdb')) };
}

describe('a power cut', { skip }, () => {
  test('at any time loses nothing acknowledged and leaves nothing half-written', async () => {
    const { folder, base } = await emptyStore();
    const calls = traceWorkload(folder, 120);
    assert.equal(acknowledgedBefore(calls, Infinity).length, 120);
    const cuts = await checkCuts(folder, base, calls);
    assert.ok(cuts > 300, `${cuts} cuts`);
  });

  test('is found to lose acknowledged units in a build that does not sync', async () => {
    const { folder, base } = await emptyStore();
    const calls = traceWorkload(folder, 20, { LD_PRELOAD: buildWithoutSync(folder) });
    assert.equal(acknowledgedBefore(calls, Infinity).length, 20);
    await assert.rejects(checkCuts(folder, base, calls), (error: Error) => {
      assert.match(String(error.cause), /nothing acknowledged is lost/);
      return true;
    });
  });

  test('leaves a new store whole or absent', () => {
    const folder = temporaryFolder();
    const calls = traceWorkload(folder, 0);
    const named = calls.findIndex(({ name }) => name === 'linkat' || name === 'link');
    const before = calls.slice(0, named);
    const writes = before.findLastIndex(
      ({ name, args }) => /write/.test(name) && targetOf(args).endsWith('whole.mdb'),
    );
    const syncs = before.findLastIndex(
      ({ name, args }) => name === 'fsync' && targetOf(args).endsWith('whole.mdb'),
    );
    assert.ok(writes !== -1 && syncs > writes, 'written, then synced, then named');
    const folders = calls.slice(named).filter(({ name }) => name === 'fsync');
    assert.deepEqual(
      folders.map(({ args }) => targetOf(args)),
      [join(folder, 'store'), folder],
      'the name itself is synced',
    );
  });
});

/** Runs a workload with a fault in its system calls; what it printed, by outcome. */
function workWithFault(folder: string, count: number, fault: readonly string[]): Map<string, string[]> {
  const program = [process.execPath, workload, join(folder, 'store'), 'u', String(count), '4'];
  const run = spawnSync('strace', ['-f', '-qq', '-o', join(folder, 'faults'), ...fault, ...program], {
    encoding: 'utf8',
  });
  assert.equal(run.status, 0, run.stderr);
  const outcomes = new Map<string, string[]>();
  for (const [, kind = '', name = ''] of run.stdout.matchAll(/^(\w+) (\w+)$/gm)) {
    outcomes.set(kind, [...(outcomes.get(kind) ?? []), name]);
  }
  return outcomes;
}

describe('a sync', { skip }, () => {
  test('that fails is answered "unavailable", and the store goes on', async () => {
    const { folder } = await emptyStore();
    const fault = ['-e', 'trace=fdatasync', '-e', 'inject=fdatasync:error=EIO:when=10+20'];
    const outcomes = workWithFault(folder, 400, fault);
    const done = outcomes.get('ACK') ?? [];
    const failed = outcomes.get('unavailable') ?? [];
    assert.ok(failed.length > 0, 'syncs failed');
    const last = done.findLastIndex((name) => failed.some((other) => parseName(other) < parseName(name)));
    assert.ok(last > 0, 'units after a failure were done');
    const store = await storeAt(`lmdb:${join(folder, 'store')}`);
    await checkWorkload(store, done);
    await store.close();
  });

  test('that is slow hides the record from other processes until it has ended', async () => {
    const { folder } = await emptyStore();
    const store = await storeAt(`lmdb:${join(folder, 'store')}`);
    const fault = ['-e', 'trace=fdatasync', '-e', 'inject=fdatasync:delay_enter=700000'];
    const program = [process.execPath, workload, join(folder, 'store'), 'u', '1', '1'];
    const child = spawn('strace', ['-f', '-qq', '-o', '/dev/null', ...fault, ...program]);
    let printed = '';
    child.stdout.on('data', (data) => (printed += String(data)));
    let writtenMs: number | undefined;
    while ((await store.last('leads')) === 0) {
      // The transaction holds the writers' lock from before it writes until after it has synced.
      writtenMs ??= readFileSync(join(folder, 'store', 'data.mdb')).includes('u1 ..')
        ? Date.now()
        : undefined;
      await pause(5);
    }
    assert.ok(writtenMs !== undefined, 'the record was in the file before it was seen');
    assert.ok(Date.now() - writtenMs > 500, `seen ${Date.now() - writtenMs} ms after it was written`);
    await once(child, 'exit');
    assert.match(printed, /^ACK u1$/m);
    await store.close();
  });
});

/** The number in a unit's name. */
function parseName(name: string): number {
  return Number.parseInt(name.slice(1), 36);
}
