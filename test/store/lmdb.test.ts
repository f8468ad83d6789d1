/** The store's contract on LMDB. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine } from '../../src/store/engine.js';
import { createStore } from '../../src/store/groupCommit.js';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/store.js';
import { temporaryFolder } from '../processes/run.js';
import { conformance } from './conformance.js';
import { engineAt, newUnitId, storeAt, testParts } from './open.js';

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
  const own: Engine = {
    get: (key) => engine.get(key),
    scan: (range) => engine.scan(range),
    snapshot: (use) => engine.snapshot(use),
    count: () => engine.count(),
    transact: (keys, decide) => inTurn(() => engine.transact(keys, decide)),
    removeRange: (range) => inTurn(() => engine.removeRange(range)),
    close,
  };
  return createStore(own, newUnitId);
}

const fresh = (): Promise<string> => Promise.resolve(`lmdb:${temporaryFolder()}/store`);

conformance({ name: 'LMDB', skip: false, fresh, open });

test('LMDB is not opened twice in a process', async () => {
  const url = await fresh();
  const store = await storeAt(url);
  const second = await openStore(url, testParts);
  assert.match(second.kind === 'unavailable' ? second.reason : '', /is open in this process already/);
  await store.close();
  await (await storeAt(url)).close();
});
