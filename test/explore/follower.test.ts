/**
 * The file of vectors and its index: one writer, a file of another store, and answers compared to exact ones.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { test } from 'node:test';
import type { NearResponse } from '../../src/contract/near.js';
import type { Store } from '../../src/store/store.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { fill, receiptOf } from '../support/fillFragments.js';
import { threadsOf } from '../processes/threads.js';
import { explored, startDoor, startTestExploration, vectorsFile } from '../support/door.js';
import { until } from '../support/until.js';

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

test('a file of another store is rebuilt, even if that store has more fragments', async () => {
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

test('a failover to a log that ended earlier is noticed, also once it has grown past the file', async () => {
  for (const count of [150, 250]) {
    const [lost, server] = [await openTestStore(), await openTestStore()];
    await fill(lost, 0, 200);
    // The first 100 arrived at both.
    await fill(server, 0, 100);
    await fill(server, 1_100, 1_000 + count);
    let answering = lost;
    const store: Store = {
      ...new FailingStore(lost).seen,
      read: (...asked) => answering.read(...asked),
      get: (...asked) => answering.get(...asked),
      getMany: (...asked) => answering.getMany(...asked),
      last: (...asked) => answering.last(...asked),
    };
    const told: string[] = [];
    const exploration = startTestExploration({ store, file: vectorsFile(), told });
    await explored(exploration);
    answering = server;
    await until(() => exploration.explore.vectors.state().lastReceipt === receiptOf(1_000 + count - 1));
    assert.equal(exploration.explore.vectors.count(1_000_000), count);
    assert.equal(told.filter((line) => line.includes('a log that was lost')).length, 1);
    await exploration.stop();
  }
});

test('from a certain count on, the index answers with exact similarities, also after a restart', async () => {
  const store = await openTestStore();
  await fill(store, 0, 3_000);
  const file = vectorsFile();
  const exploration = startTestExploration({ store, file, indexedFrom: 2_000 });
  await explored(exploration);
  await until(() => exploration.explore.vectors.board() !== null);
  await fill(store, 3_000, 3_040);
  await explored(exploration);
  const door = await startDoor({ store, exploration });
  const all = await startDoor({ store, exploration: startTestExploration({ store, file }) });
  let [found, wanted] = [0, 0];
  for (let number = 0; number < 40; number += 1) {
    const text = `${words[number % 10]} ${words[(number * 3) % 10]} ${number}`;
    const now = (await door.get<NearResponse>('/graph/near', { text, k: '10' })).body;
    const as_of = now.as_of;
    const exact = (await all.get<NearResponse>('/graph/near', { text, k: '10', as_of })).body;
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
  const asked = { receipt: receiptOf(3_039) };
  const tail = (await door.get<NearResponse>('/graph/near', asked)).body;
  assert.equal(tail.search, 'index');
  const again = startTestExploration({ store, file, indexedFrom: 2_000 });
  const other = await startDoor({ store, exploration: again });
  assert.deepEqual((await other.get<NearResponse>('/graph/near', asked)).body, tail);
});

test('an answer of the index can be reproduced after more was stored', async () => {
  const store = await openTestStore();
  await fill(store, 0, 2_500);
  const exploration = startTestExploration({ store, indexedFrom: 1_000 });
  await explored(exploration);
  const door = await startDoor({ store, exploration });
  const paths = [
    ['/graph/near', { text: 'lattice strut' }],
    ['/walk', { seed: 's' }],
    ['/graph', { cursor: '2500.2400' }],
    ['/focus', {}],
    ['/leaderboard', {}],
  ] as const;
  const before = await Promise.all(paths.map(([path, query]) => door.get(path, query)));
  await fill(store, 2_500, 4_000);
  await explored(exploration);
  for (const [index, [path, query]] of paths.entries()) {
    const as_of = String(before[index]?.body['as_of']);
    assert.equal(as_of, '2500');
    assert.deepEqual((await door.get(path, { ...query, as_of })).body, before[index]?.body, path);
  }
});

test('the index grows, and is loaded, on threads at a lower priority', async () => {
  const store = await openTestStore();
  await fill(store, 0, 1_200);
  const file = vectorsFile();
  const exploration = startTestExploration({ store, file, indexedFrom: 100 });
  await explored(exploration);
  await until(() => exploration.explore.vectors.board() !== null);
  assert.equal(await exploration.explore.warmed, true);
  if (process.platform !== 'linux') return;
  const threads = threadsOf('self');
  // The other thread ends with its work.
  assert.ok(threads.some(({ name }) => name === 'fusegate-index'));
  const lowered = threads.filter(({ name }) => name.startsWith('fusegate-'));
  assert.deepEqual(
    new Set(lowered.map(({ niceness }) => niceness)),
    new Set([Math.min(19, getPriority() + 5)]),
  );
});

test('an index that cannot be used is rebuilt from the vectors', async () => {
  const store = await openTestStore();
  await fill(store, 0, 1_500);
  const file = vectorsFile();
  const first = startTestExploration({ store, file, indexedFrom: 100 });
  await explored(first);
  await first.stop();
  const moved = vectorsFile();
  writeFileSync(moved, readFileSync(file));
  writeFileSync(`${moved}.index`, 'nothing');
  const second = startTestExploration({ store, file: moved, indexedFrom: 100 });
  await until(() => second.explore.vectors.board() !== null);
  const door = await startDoor({ store, exploration: second });
  const { body } = await door.get<NearResponse>('/graph/near', { text: 'lattice' });
  assert.deepEqual([body.search, body.results.length, body.total], ['index', 10, 1_500]);
});
