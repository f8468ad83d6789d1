/** The file of vectors and its index: one writer, another store's file, candidates that change no answer. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadHnsw, readState } from '../../src/door/nearestIndex.js';
import type { ExplorationProcess } from '../../src/door/exploration.js';
import type { NearResponse } from '../../src/contract/near.js';
import { openTestStore } from '../outreach/fixture.js';
import { fill, receiptOf } from './fill.js';
import { embedding, explored, startDoor, startTestExploration, vectorsFile } from './fixture.js';
import { until } from '../until.js';

const words = [
  'lattice',
  'ledger',
  'signal',
  'anchor',
  'proof',
  'relay',
  'witness',
  'strut',
  'bread',
  'star',
];

test('of two processes one writes, and both have what is written', async () => {
  const store = await openTestStore();
  await fill(store, 0, 250);
  const file = vectorsFile();
  const both = [startTestExploration({ store, file }), startTestExploration({ store, file })];
  for (const each of both) await explored(each);
  await fill(store, 250, 300);
  for (const each of both) {
    await explored(each);
    assert.equal(each.explore.vectors.count(300), 300);
  }
});

test('a file of another store is made anew, also where that has more', async () => {
  for (const count of [5, 400]) {
    const file = vectorsFile();
    const former = await openTestStore();
    await fill(former, 1_000, 1_200);
    const first = startTestExploration({ store: former, file });
    await explored(first);
    await first.stop();
    const store = await openTestStore();
    await fill(store, 0, count);
    // The writer's lock lasts as long as its process, so that the next one needs another name for the file.
    const told: string[] = [];
    const moved = vectorsFile();
    writeFileSync(moved, readFileSync(file));
    const second = startTestExploration({ store, file: moved, told });
    await until(() => second.explore.vectors.state().lastReceipt.endsWith(`${count - 1}`));
    await explored(second);
    assert.equal(second.explore.vectors.count(1_000_000), count);
    assert.ok(told.some((line) => line.includes('another store')));
  }
});

test(
  'the index is built in a thread, saved, loaded, and answers with exact similarities',
  {
    skip: loadHnsw() === undefined ? 'hnswlib-node is not installed' : false,
  },
  async () => {
    const store = await openTestStore();
    await fill(store, 0, 3_000);
    const file = vectorsFile();
    const exploration: ExplorationProcess = startTestExploration({ store, file, indexedFrom: 2_000 });
    await until(() => exploration.indexed() > 0);
    await explored(exploration);
    const count = exploration.indexed();
    assert.ok(count >= 2_000 && count <= 3_000);
    assert.equal(readState(`${file}.hnsw`, embedding.method)?.count, count);
    assert.ok(existsSync(`${file}.hnsw`));
    await fill(store, 3_000, 3_040);
    await explored(exploration);
    const door = await startDoor({ store, exploration });
    let [found, wanted] = [0, 0];
    for (let number = 0; number < 40; number += 1) {
      const text = `${words[number % 10]} ${words[(number * 3) % 10]} ${number}`;
      const now = (await door.get<NearResponse>('/graph/near', { text, k: '10' })).body;
      const as_of = now.as_of;
      const exact = (await door.get<NearResponse>('/graph/near', { text, k: '10', as_of })).body;
      assert.deepEqual([now.search, exact.search], ['index', 'exact']);
      const known = new Map(exact.results.map(({ receipt, similarity }) => [receipt, similarity]));
      for (const { receipt, similarity } of now.results) {
        if (known.has(receipt)) assert.equal(similarity, known.get(receipt));
      }
      wanted += exact.results.length;
      found += now.results.filter(
        ({ similarity }) => similarity >= (exact.results.at(-1)?.similarity ?? 0),
      ).length;
    }
    assert.ok(found / wanted > 0.95, `recall ${found / wanted}`);
    const tail = (await door.get<NearResponse>('/graph/near', { receipt: receiptOf(3_039) })).body;
    assert.equal(tail.search, 'index');
    const again = startTestExploration({ store, file, indexedFrom: 2_000 });
    await until(() => again.indexed() === exploration.indexed());
  },
);

test('an index that cannot be read is none', async () => {
  const store = await openTestStore();
  await fill(store, 0, 50);
  const file = vectorsFile();
  const told: string[] = [];
  writeFileSync(`${file}.hnsw`, 'nothing');
  const state = { method: embedding.method, count: 50, receipt: receiptOf(49) };
  writeFileSync(`${file}.hnsw.json`, JSON.stringify(state));
  const exploration = startTestExploration({ store, file, told });
  await explored(exploration);
  await until(() => told.some((line) => line.includes('cannot be read')) || loadHnsw() === undefined);
  assert.equal(exploration.indexed(), 0);
  const door = await startDoor({ store, exploration });
  const { body } = await door.get<NearResponse>('/graph/near', { text: 'lattice' });
  assert.deepEqual([body.search, body.results.length], ['exact', 10]);
});
