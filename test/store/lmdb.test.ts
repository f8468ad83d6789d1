/** The store's contract on LMDB. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Engine } from '../../src/store/engine.js';
import { createStore } from '../../src/store/groupCommit.js';
import { openEnvironment } from '../../src/store/engines/lmdb/lmdb.js';
import { openStore } from '../../src/store/open.js';
import { systemClock } from '../../src/system/clock.js';
import { native } from '../../src/native/addon.js';
import type { Store } from '../../src/store/store.js';
import { temporaryFolder } from '../support/run.js';
import { conformance } from './conformance.js';
import { engineOver } from './engineOver.js';
import { engineAt, newUnitId, storeAt, testParts } from '../support/openStore.js';
import { bytes, commit } from './subject.js';

const peerProgram = fileURLToPath(new URL('peer.js', import.meta.url));

/** Engines that are open, and how many stores use each: LMDB may be open once in a process. */
const shared = new Map<string, { readonly engine: Promise<Engine>; users: number; last: Promise<unknown> }>();

async function open(url: string): Promise<Store> {
  const entry = shared.get(url) ?? { engine: engineAt(url), users: 0, last: Promise.resolve() };
  shared.set(url, entry);
  entry.users += 1;
  const engine = await entry.engine;
  const close = async (): Promise<void> => {
    entry.users -= 1;
    if (entry.users > 0) return;
    shared.delete(url);
    await engine.close();
  };
  // An engine runs one transaction at a time; the stores take turns.
  const inTurn = <Value>(step: () => Promise<Value>): Promise<Value> => {
    const turn = entry.last.then(step);
    entry.last = turn.catch(() => undefined);
    return turn;
  };
  const own = engineOver(engine, {
    transact: (keys, decide) => inTurn(() => engine.transact(keys, decide)),
    removeRange: (range) => inTurn(() => engine.removeRange(range)),
    close,
  });
  return createStore(own, newUnitId);
}

const fresh = (): Promise<string> => Promise.resolve(`lmdb:${temporaryFolder()}/store`);

conformance({ name: 'LMDB', skip: false, fresh, open });

test('LMDB is not opened twice in a process', async () => {
  const url = await fresh();
  const store = await storeAt(url);
  const message = /is open in this process already/;
  await assert.rejects(openStore(url, testParts), { name: 'StoreUnavailable', message });
  await store.close();
  await (await storeAt(url)).close();
});

test('a new store is readable by its owner only, and the files used to make it are gone', async () => {
  const url = await fresh();
  const folder = url.slice('lmdb:'.length);
  const store = await storeAt(url);
  const { ino } = statSync(join(folder, 'data.mdb'));
  assert.deepEqual(readdirSync(folder).sort(), ['data.mdb', 'gate.room', 'gate.turnstile', 'lock.mdb']);
  const modes = [folder, join(folder, 'data.mdb')].map((path) => statSync(path).mode & 0o777);
  assert.deepEqual(modes, [0o700, 0o600]);
  await store.close();
  await (await storeAt(url)).close();
  assert.equal(statSync(join(folder, 'data.mdb')).ino, ino, 'one that is there is taken as it is');
});

test('a folder that cannot hold a store is an error', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'store'), 'a file');
  await assert.rejects(openStore(`lmdb:${folder}/store`, testParts), { name: 'StoreUnavailable' });
});

test('a store of a later format is refused, and not kept open', async () => {
  const url = await fresh();
  const folder = url.slice('lmdb:'.length);
  await (await storeAt(url)).close();
  const write = async (format: number): Promise<void> => {
    const environment = openEnvironment(folder);
    await environment.put(Buffer.of(0), Buffer.of(format));
    await environment.close();
  };
  await write(2);
  for (let count = 0; count < 2; count += 1) {
    const message = /by a later version of Fusegate/;
    await assert.rejects(openStore(url, testParts), { name: 'StoreUnavailable', message });
  }
  await write(1);
  await (await storeAt(url)).close();
});

test('nobody writes while a process opens the store', async () => {
  const url = await fresh();
  await (await storeAt(url)).close();
  let wake: (() => void) | undefined;
  const sleep = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
      asked();
    });
  let asked: () => void = () => undefined;
  const store = await openStore(url, { ...testParts, clock: { ...systemClock, sleep } });
  const gate = new native.Gate(url.slice('lmdb:'.length));
  assert.deepEqual([gate.tryClose(), gate.tryBeAlone()], [true, true]);
  const waits = new Promise<string>((resolve) => {
    asked = () => resolve('it waits');
  });
  const outcome = commit(store, { kind: 'append', log: 'leads', value: bytes('x') });
  assert.equal(await Promise.race([waits, outcome.then(({ kind }) => kind)]), 'it waits');
  assert.equal(await store.last('leads'), 0);
  gate.close();
  wake?.();
  assert.equal((await outcome).kind, 'done');
  await store.close();
});

/** Runs a process that appends one entry; this one does nothing meanwhile, timers included. */
function appendElsewhere(url: string): void {
  execFileSync(process.execPath, [peerProgram, url, 'append', '1']);
}

test('reads see at once what another process was told is done', async () => {
  const url = await fresh();
  const store = await storeAt(url);
  // From inside an answer of the disk: no timer fires until what is asked for here has been read.
  await access(url.slice('lmdb:'.length));
  assert.equal(await store.last('leads'), 0);
  appendElsewhere(url);
  assert.equal(await store.last('leads'), 1, 'get');
  await access(url.slice('lmdb:'.length));
  assert.equal(await store.last('leads'), 1);
  appendElsewhere(url);
  const entries = await store.read('leads', { after: 0, limit: 9 });
  assert.equal(entries.length, 2, 'scan');
  await store.close();
});
