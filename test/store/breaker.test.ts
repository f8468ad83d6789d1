/** The circuit breaker by itself, with a clock set by hand. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Breaker, type Probed } from '../../src/store/engines/postgres/breaker.js';
import { HandClock } from '../support/handClock.js';

interface Probe {
  readonly timeoutMs: number;
  readonly end: (probed: Probed) => void;
}

/** A breaker, its probes, and what it told. */
function subject() {
  const clock = new HandClock();
  const probes: Probe[] = [];
  const told: string[] = [];
  const breaker: Breaker = new Breaker({
    probe: (timeoutMs) =>
      new Promise((end) => {
        probes.push({ timeoutMs, end });
      }),
    longestProbe: 3_000,
    onOpen: () => told.push(breaker.refusal === undefined ? 'open without a reason' : 'open'),
    onEnd: () => told.push('end'),
    times: { silence: 1_000, doubt: 1_000, probe: 500, pause: 150 },
    clock,
  });
  return { clock, probes, told, breaker };
}

const silent: Probed = { kind: 'silent', reason: 'is silent' };
const refused: Probed = { kind: 'refused', reason: 'says no' };
const works: Probed = { kind: 'works' };

describe('a breaker', () => {
  test('lets calls through for a while after a failure, and none after that', async () => {
    const { clock, breaker, told } = subject();
    breaker.failed('is gone');
    await clock.pass(999);
    assert.deepEqual([breaker.refusal, breaker.answers, told], [undefined, false, []]);
    await clock.pass(1);
    assert.deepEqual([breaker.refusal, told], ['is gone', ['open']]);
  });

  test('stays closed where a call has its answer before that', async () => {
    const { clock, breaker, told } = subject();
    breaker.failed('is gone');
    await clock.pass(900);
    breaker.answered();
    assert.deepEqual([breaker.answers, told], [true, ['end']]);
    await clock.pass(5_000);
    assert.deepEqual([breaker.refusal, told], [undefined, ['end']]);
    breaker.failed('is gone again');
    await clock.pass(1_000);
    assert.equal(breaker.refusal, 'is gone again');
  });

  test('says once that it is open, a while after the first failure', async () => {
    const { clock, breaker, told } = subject();
    breaker.failed('is gone');
    await clock.pass(500);
    breaker.failed('is away');
    await clock.pass(500);
    assert.deepEqual([breaker.refusal, told], ['is away', ['open']]);
    await clock.pass(5_000);
    assert.deepEqual(told, ['open']);
  });

  test('says nothing of answers while nothing has failed', () => {
    const { clock, breaker, told } = subject();
    breaker.answered();
    assert.deepEqual([told, clock.timers], [[], 0]);
  });

  test('starts each doubt anew: closed at first, probed, and without earlier failures', async () => {
    const { clock, breaker, probes, told } = subject();
    breaker.failed('is gone');
    await clock.pass(1_000);
    probes.at(-1)?.end(works);
    await clock.pass(1_000);
    const before = probes.length;
    breaker.waiting();
    assert.deepEqual([breaker.refusal, probes.length], [undefined, before + 1]);
    breaker.answered();
    breaker.waiting();
    await clock.pass(0);
    assert.equal(probes.length, before + 1, 'the doubt of a moment later has the same probe');
    probes.at(-1)?.end(refused);
    await clock.pass(2_000);
    assert.deepEqual([breaker.refusal, told], [undefined, ['open', 'end', 'end', 'end']]);
  });

  test('has one probe at a time, and a slower one beside it', async () => {
    const { clock, breaker, probes } = subject();
    breaker.failed('is gone');
    await clock.pass(0);
    const limits = (): number[] => probes.map(({ timeoutMs }) => timeoutMs);
    assert.deepEqual(limits(), [3_000]);
    await clock.pass(649);
    assert.deepEqual(limits(), [3_000]);
    await clock.pass(1);
    assert.deepEqual(limits(), [3_000, 500]);
    probes[1]?.end(silent);
    await clock.pass(149);
    assert.deepEqual(limits(), [3_000, 500]);
    await clock.pass(1);
    assert.deepEqual(limits(), [3_000, 500, 500]);
    probes[0]?.end(silent);
    probes[2]?.end(silent);
    await clock.pass(150);
    assert.deepEqual(limits(), [3_000, 500, 500, 3_000]);
    assert.equal(breaker.refusal, undefined);
    await clock.pass(500);
    assert.equal(breaker.refusal, 'is silent');
  });

  test('is closed by a probe that works, and not by an earlier call', async () => {
    const { clock, breaker, probes, told } = subject();
    breaker.failed('is gone');
    await clock.pass(1_000);
    breaker.answered();
    assert.equal(breaker.refusal, 'is gone');
    probes[1]?.end(refused);
    await clock.pass(150);
    assert.equal(breaker.refusal, 'says no');
    probes[2]?.end(works);
    await clock.pass(0);
    assert.deepEqual([breaker.refusal, breaker.answers, told], [undefined, true, ['open', 'end']]);
    const before = probes.length;
    probes[0]?.end(silent);
    await clock.pass(5_000);
    assert.deepEqual([breaker.answers, probes.length], [true, before]);
  });

  test('may be closed by the slower probe', async () => {
    const { clock, breaker, probes } = subject();
    breaker.failed('is slow');
    await clock.pass(2_000);
    assert.equal(breaker.refusal, 'is slow');
    probes[0]?.end(works);
    await clock.pass(0);
    assert.equal(breaker.refusal, undefined);
  });

  test('takes a refusal for an answer where calls have only been waiting', async () => {
    const waiting = subject();
    waiting.breaker.waiting();
    await waiting.clock.pass(0);
    waiting.probes[0]?.end(refused);
    await waiting.clock.pass(2_000);
    assert.equal(waiting.breaker.refusal, undefined);
    const failing = subject();
    failing.breaker.waiting();
    failing.breaker.failed('is gone');
    await failing.clock.pass(0);
    failing.probes[0]?.end(refused);
    await failing.clock.pass(2_000);
    assert.equal(failing.breaker.refusal, 'says no');
  });

  test('opens where calls only wait and no probe has an answer', async () => {
    const { clock, breaker, probes, told } = subject();
    breaker.waiting();
    await clock.pass(1_000);
    assert.deepEqual([breaker.refusal, told], ['does not answer (no answer in time)', ['open']]);
    probes[0]?.end(silent);
    await clock.pass(0);
    assert.equal(breaker.refusal, 'is silent');
  });

  test('neither probes nor reports anything after its end', async () => {
    const { clock, breaker, probes, told } = subject();
    breaker.failed('is gone');
    await clock.pass(500);
    const before = probes.length;
    breaker.stop();
    await clock.pass(5_000);
    breaker.failed('is gone');
    probes[0]?.end(works);
    await clock.pass(5_000);
    assert.deepEqual([probes.length, told], [before, []]);
    const unused = subject();
    unused.breaker.stop();
    unused.breaker.failed('is gone');
    await unused.clock.pass(5_000);
    assert.deepEqual([unused.probes.length, unused.told, unused.clock.timers], [0, [], 0]);
  });
});
