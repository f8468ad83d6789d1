/** Shared answers: one question for simultaneous callers and for a while after; failures are asked again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { oneAtATime, Recent } from '../../src/system/shared.js';

describe('a recent answer', () => {
  function asked() {
    const time = { nowMs: 1_000 };
    const recent = new Recent<number>({ monotonicMs: () => time.nowMs }, 500);
    let questions = 0;
    const ask = (): Promise<number> => Promise.resolve((questions += 1));
    return { time, recent, ask };
  }

  test('is valid from its question on, and no longer', async () => {
    const { time, recent, ask } = asked();
    const both = [recent.of(ask), recent.of(ask)];
    assert.deepEqual(await Promise.all(both), [1, 1]);
    time.nowMs += 499;
    assert.equal(await recent.of(ask), 1);
    time.nowMs += 1;
    assert.equal(await recent.of(ask), 2);
  });

  test('is valid for its subject only', async () => {
    const { time, recent, ask } = asked();
    assert.deepEqual([await recent.of(ask, 'a'), await recent.of(ask, 'b')], [1, 2]);
    time.nowMs += 300;
    assert.deepEqual([await recent.of(ask, 'c'), await recent.of(ask, 'a')], [3, 1]);
    time.nowMs += 300;
    assert.deepEqual([await recent.of(ask, 'a'), await recent.of(ask, 'c')], [4, 3]);
    assert.equal(await recent.of(ask, 'b'), 5);
  });

  test('is asked for again after a failure, which all waiting callers get at once', async () => {
    const { recent, ask } = asked();
    const fail = (): Promise<number> => Promise.reject(new Error('no'));
    const both = [recent.of(fail), recent.of(ask)];
    assert.deepEqual(
      (await Promise.allSettled(both)).map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.equal(await recent.of(ask), 1);
  });

  test('stays valid, whatever becomes of an older question', async () => {
    const { time, recent, ask } = asked();
    let fail = (): void => undefined;
    const failing = new Promise<number>((_, reject) => (fail = () => reject(new Error('late'))));
    const failed = assert.rejects(
      recent.of(() => failing),
      /late/,
    );
    time.nowMs += 500;
    assert.equal(await recent.of(ask), 1);
    fail();
    await failed;
    assert.equal(await recent.of(ask), 1);
  });
});

describe('work that runs once at a time', () => {
  test('is shared by simultaneous callers, and begins again after its end', async () => {
    const ends: (() => void)[] = [];
    const work = oneAtATime(() => new Promise<number>((resolve) => ends.push(() => resolve(ends.length))));
    const both = [work.run(), work.run()];
    assert.equal(ends.length, 1);
    ends[0]?.();
    assert.deepEqual(await Promise.all(both), [1, 1]);
    await work.settled();
    const again = work.run();
    ends[1]?.();
    assert.equal(await again, 2);
  });

  test('settles once it has ended', async () => {
    let [end, hasSettled] = [(): void => undefined, false];
    const work = oneAtATime(() => new Promise<void>((resolve) => (end = resolve)));
    await work.settled();
    void work.run();
    const settled = work.settled().then(() => (hasSettled = true));
    await new Promise(setImmediate);
    assert.equal(hasSettled, false);
    end();
    await settled;
  });

  test('settles whether it succeeds or fails', async () => {
    const work = oneAtATime(() => Promise.reject(new Error('no')));
    const failed = assert.rejects(work.run(), /no/);
    await work.settled();
    await failed;
    await assert.rejects(work.run(), /no/);
  });
});
