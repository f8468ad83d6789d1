/** Work that may wait: a fifth of a busy loop, with one piece in each turn, and all of an idle one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from '../../src/system/pace.js';
import { systemClock } from '../../src/system/clock.js';
import { inSlice } from '../../src/system/slices.js';
import { until } from '../support/until.js';

/**
 * A pace on a loop of which other events use a share, whatever else runs. Its clock moves by work and rests,
 * and by `others`, the time that other events take for each millisecond of work.
 */
function paced(others: number) {
  const time = { nowMs: 0, busyMs: 0, restedMs: 0 };
  const pass = (ms: number, busy: number): void => {
    time.nowMs += ms;
    time.busyMs += busy;
  };
  const pace = new Pace({
    clock: {
      monotonicMs: () => time.nowMs,
      sleep(delayMs) {
        // While the work rests, other events may have all of the loop.
        pass(delayMs, others > 0 ? delayMs : 0);
        time.restedMs += delayMs;
        return Promise.resolve();
      },
    },
    loopBusyMs: () => time.busyMs,
  });
  const work = async (pieces: number, tookMs: number): Promise<void> => {
    for (let piece = 0; piece < pieces; piece += 1) {
      await pace.run(() => pass(tookMs, tookMs));
      pass(tookMs * others, tookMs * others);
    }
  };
  return { time, work, pace, pass };
}

/** Counts turns of the event loop from now on. */
function countTurns() {
  const turns = {
    passed: 0,
    stop: () => clearImmediate(next),
  };
  const count = (): void => {
    turns.passed += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  return turns;
}

/** A pace whose rests are told and end when they are let. */
function rested() {
  const time = { nowMs: 100, busyMs: 50 };
  const rests: number[] = [];
  let end: () => void = () => undefined;
  const sleep = (delayMs: number): Promise<void> => {
    rests.push(delayMs);
    return new Promise((resolve) => (end = resolve));
  };
  const pass = (busyMs: number, idleMs = 0): void => {
    time.busyMs += busyMs;
    time.nowMs += busyMs + idleMs;
  };
  const clock = { monotonicMs: () => time.nowMs, sleep };
  const pace = new Pace({ clock, loopBusyMs: () => time.busyMs });
  const work = (tookMs: number): Promise<void> => pace.run(() => pass(tookMs));
  return { rests, pass, work, end: () => end() };
}

test('each millisecond of work is followed by a rest, with which the work is over', async () => {
  const { rests, pass, work, end } = rested();
  pass(3);
  await work(0.5);
  assert.deepEqual(rests, [], 'half a millisecond is not worth a rest');
  let isOver = false;
  const working = work(0.5).then(() => (isOver = true));
  await until(() => rests.length > 0);
  // Five times its millisecond, of which four have passed.
  assert.deepEqual([rests, isOver], [[1], false]);
  end();
  await working;
});

test('a piece that waits for a turn with time for it is followed by its rest', async () => {
  const { rests, pass, work, end } = rested();
  pass(3);
  void inSlice(() => {
    const endMs = systemClock.monotonicMs() + 5;
    while (systemClock.monotonicMs() < endMs);
  });
  const working = work(1);
  assert.deepEqual(rests, []);
  await until(() => rests.length > 0);
  assert.deepEqual(rests, [1]);
  end();
  await working;
});

test('a loop that others keep busy for a quarter of the time counts as idle', async () => {
  const { rests, pass, work } = rested();
  pass(1, 2);
  await work(1);
  assert.deepEqual(rests, []);
});

test('without time there is no rest', async () => {
  const { rests, pass, work } = rested();
  pass(4);
  await work(1);
  assert.deepEqual(rests, []);
});

test('on an idle loop many pieces share a turn', async () => {
  const { pace, pass } = paced(0);
  const turns = countTurns();
  for (let piece = 0; piece < 20; piece += 1) await pace.run(() => pass(0.01, 0.01));
  turns.stop();
  assert.ok(turns.passed < 10, `${turns.passed} turns for 20 pieces`);
});

test('work on an idle loop does not rest', async () => {
  const { time, work } = paced(0);
  await work(1_000, 0.4);
  assert.equal(time.restedMs, 0);
});

test('work beside a busy loop takes a fifth of the time, in parts of about a millisecond', async () => {
  const { time, work } = paced(1);
  await work(1_000, 0.4);
  const own = 1_000 * 0.4;
  assert.ok(time.nowMs > 4.9 * own && time.nowMs < 5.1 * own, `${own} of ${time.nowMs} ms`);
  // What the others take between the pieces is part of that time: the rest is what remains.
  assert.ok(time.restedMs > 2.9 * own && time.restedMs < 3.1 * own, `${time.restedMs} ms of rest`);
});

test('work that has had less than a fifth of the time does not rest', async () => {
  const { time, work } = paced(8);
  await work(1_000, 0.4);
  assert.equal(time.restedMs, 0);
});

test('beside a busy loop each piece has a turn of its own', async () => {
  const { pace, pass } = paced(1);
  const busy = (): void => pass(1, 1);
  // The pace finds the loop busy with its first rest.
  for (let piece = 0; piece < 2; piece += 1) {
    await pace.run(busy);
    busy();
  }
  const turns = countTurns();
  const seen: number[] = [];
  for (let piece = 0; piece < 20; piece += 1) {
    await pace.run(() => {
      pass(0.01, 0.01);
      seen.push(turns.passed);
    });
  }
  turns.stop();
  assert.equal(new Set(seen).size, seen.length, `turns of the pieces: ${seen.join(' ')}`);
});

test('events that take less than a quarter of the loop cause no rest', async () => {
  const { time, work } = paced(0.3);
  await work(1_000, 0.4);
  assert.equal(time.restedMs, 0);
});

test('a piece gives its value, or its error, and the next one runs', async () => {
  const { pace } = paced(1);
  assert.equal(await pace.run(() => 'made'), 'made');
  const wrong = new Error('wrong');
  await assert.rejects(
    pace.run(() => {
      throw wrong;
    }),
    wrong,
  );
  assert.equal(await pace.run(() => 'again'), 'again');
});

test('by default the loop of this process is measured', async () => {
  const rests: number[] = [];
  const pace = new Pace({
    clock: {
      monotonicMs: () => systemClock.monotonicMs(),
      sleep: (delayMs) => Promise.resolve(void rests.push(delayMs)),
    },
  });
  const spin = (forMs: number): void => {
    const endMs = systemClock.monotonicMs() + forMs;
    while (systemClock.monotonicMs() < endMs);
  };
  // Other work of this turn keeps the loop busy until the piece runs. A turn in which other processes had the
  // core for long was rest enough.
  for (let turn = 0; turn < 2_000 && rests.length < 10; turn += 1) {
    const running = pace.run(() => spin(2));
    spin(4);
    await running;
    await new Promise(setImmediate);
  }
  assert.equal(rests.length, 10);
  assert.ok(rests.every((delayMs) => delayMs > 0));
});
