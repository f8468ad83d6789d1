/** Work on bodies in the thread pool leaves a thread for others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inPool, inPoolAnyway, poolQueue } from '../../src/system/threadPool.js';

/** Work that ends when it is told to; the names of what has begun, in order. */
function held() {
  const began: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      began.push(name);
      ends.push(() => resolve(name));
    });
  return { began, ends, work };
}

test('three pieces run at once, others wait; what nobody waits for never begins', async () => {
  const { began, ends, work } = held();
  const { signal } = new AbortController();
  const gone = new AbortController();
  const all = [
    inPool(work('a'), signal),
    inPoolAnyway(work('b')),
    inPool(work('c'), signal),
    inPool(work('gone'), gone.signal),
    inPoolAnyway(work('d')),
  ];
  assert.deepEqual(began, ['a', 'b', 'c']);
  gone.abort();
  assert.equal(await all[3], 'busy');
  ends[0]?.();
  assert.equal(await all[0], 'a');
  assert.deepEqual(began, ['a', 'b', 'c', 'd']);
  for (const end of ends) end();
  assert.deepEqual(await Promise.all(all), ['a', 'b', 'c', 'busy', 'd']);
});

test('a queue of its own runs one piece after the other', async () => {
  const { began, ends, work } = held();
  const { signal } = new AbortController();
  const inTurn = poolQueue(1, 1);
  const others = ['a', 'b', 'c'].map((name) => inPoolAnyway(work(name)));
  const own = [inTurn(work('first'), signal), inTurn(work('second'), signal)];
  assert.equal(await inTurn(work('third'), signal), 'busy', 'its queue is full');
  assert.deepEqual(began, ['a', 'b', 'c']);
  for (const end of ends.splice(0)) end();
  await Promise.all(others);
  assert.deepEqual(began, ['a', 'b', 'c', 'first'], 'the second waits, though there are turns left');
  ends.splice(0)[0]?.();
  assert.equal(await own[0], 'first');
  assert.equal(began.at(-1), 'second');
  ends.splice(0)[0]?.();
  assert.equal(await own[1], 'second');
});
