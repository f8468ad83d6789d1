/**
 * The queue of texts with an embedder whose texts take a set time, on a clock that the test moves: which call
 * is next, which are refused, and that those accepted are done in time.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Embedded, InstalledModel } from '../../src/models/embedder.js';
import { EmbedQueue, type CallHandle, type TextJob } from '../../src/models/queue.js';
import { systemClock, type Clock, type Timer } from '../../src/system/clock.js';
import { shippedModel } from '../support/models.js';

const model: InstalledModel = { ...(await shippedModel()), dimension: 1 };
const other: InstalledModel = { ...model, id: 'other', digest: 'other' };

const deadlineMs = 30_000;

/** Time a text takes (ms), by the model's id. */
const textMs: Readonly<Record<string, number>> = { [model.id]: 25, other: 200 };

interface Ended {
  readonly name: string;
  readonly outcome: Embedded;
  readonly atMs: number;
}

/** Texts of a call; each ends with its number. */
function textsOf(name: string, from: number, to: number): Buffer[] {
  return Array.from({ length: to - from }, (_, at) => Buffer.from(`${name} ${from + at}`));
}

/** A queue and one embedder, in a time of their own. */
class Machine {
  readonly ended: Ended[] = [];
  nowMs = 0;
  private readonly timers = new Set<{ atMs: number; action: () => void }>();
  private readonly jobs: TextJob[] = [];
  private workedMs = 0;
  private readonly queue: EmbedQueue;

  constructor() {
    const after = (delayMs: number, action: () => void): Timer => {
      const timer = { atMs: this.nowMs + delayMs, action };
      this.timers.add(timer);
      return { stop: () => void this.timers.delete(timer) };
    };
    const clock: Clock = { ...systemClock, monotonicMs: () => this.nowMs, after };
    const send = (job: TextJob): void => void this.jobs.push(job);
    this.queue = new EmbedQueue({ clock, mostTexts: 100_000, deadlineMs, send });
    this.queue.ready();
  }

  /** Has one text of each model measured. */
  static measured(): Machine {
    const machine = new Machine();
    for (const each of [model, other]) {
      machine.add(`first of ${each.id}`, 1, each);
      machine.pass(1_000);
    }
    assert.deepEqual([...machine.kinds().values()], ['vectors', 'vectors']);
    machine.ended.length = 0;
    return machine;
  }

  add(name: string, count: number, by = model): CallHandle | undefined {
    return this.begin(name, count, textsOf(name, 0, count), by);
  }

  /** Adds a call of which some texts, or none, have come. */
  begin(name: string, count: number, texts: readonly Uint8Array[], by = model): CallHandle | undefined {
    const end = (outcome: Embedded): void => void this.ended.push({ name, outcome, atMs: this.nowMs });
    return this.queue.add(by, { count, texts }, end);
  }

  waiting(): number | undefined {
    return this.queue.metrics().find(({ name }) => name === 'fusegate_embed_queue_texts')?.values[0]?.value;
  }

  /** Moves the clock; texts are done and timers run in the order of their times. */
  pass(ms: number): void {
    const endMs = this.nowMs + ms;
    for (;;) {
      const [job] = this.jobs;
      const doneMs = job === undefined ? Infinity : this.workedMs + (textMs[job.model.id] ?? NaN);
      const timer = [...this.timers].sort((one, next) => one.atMs - next.atMs)[0];
      const nextMs = Math.min(doneMs, timer?.atMs ?? Infinity);
      if (nextMs > endMs) break;
      this.nowMs = nextMs;
      if (job !== undefined && doneMs === nextMs) this.finish(job);
      else if (timer !== undefined) {
        this.timers.delete(timer);
        timer.action();
      }
      if (this.jobs.length === 0) this.workedMs = this.nowMs;
    }
    this.nowMs = endMs;
    if (this.jobs.length === 0) this.workedMs = endMs;
  }

  kinds(): Map<string, Embedded['kind']> {
    return new Map(this.ended.map(({ name, outcome }) => [name, outcome.kind]));
  }

  served(): string[] {
    return this.ended.filter(({ outcome }) => outcome.kind === 'vectors').map(({ name }) => name);
  }

  private finish(job: TextJob): void {
    this.jobs.shift();
    const ms = textMs[job.model.id] ?? NaN;
    this.workedMs += ms;
    const number = Number(Buffer.from(job.text).toString().split(' ').at(-1));
    this.queue.done(job.job, Float32Array.of(number), number % 2 === 1, ms / 1_000);
  }
}

describe('the queue', () => {
  test('ends equal calls one after the other', () => {
    const machine = Machine.measured();
    for (const name of ['a', 'b', 'c']) machine.add(name, 100);
    machine.pass(deadlineMs);
    assert.deepEqual(machine.served(), ['a', 'b', 'c']);
    const [a, b, c] = machine.ended.map(({ atMs }) => atMs);
    assert.deepEqual([(b ?? 0) - (a ?? 0), (c ?? 0) - (b ?? 0)], [2_500, 2_500]);
  });

  test('does the shorter call first, and the longer one in time however many come', () => {
    const machine = Machine.measured();
    machine.add('long', 700);
    for (let second = 0; second < 60; second += 1) {
      machine.add(`short ${second}`, 38);
      machine.pass(1_000);
    }
    machine.pass(deadlineMs);
    const long = machine.ended.findIndex(({ name }) => name === 'long');
    assert.ok(long >= 5, `after ${long} calls`);
    assert.equal(machine.ended[long]?.outcome.kind, 'vectors');
    assert.ok(!machine.ended.some(({ outcome }) => outcome.kind === 'too_late'));
  });

  test('accepts all calls before the first text was measured, and serves what it can', () => {
    const machine = new Machine();
    for (let at = 0; at < 40; at += 1) machine.add(`${at}`, 50);
    machine.pass(deadlineMs);
    assert.deepEqual(
      machine.served(),
      Array.from({ length: 24 }, (_, at) => String(at)),
    );
    assert.equal([...machine.kinds().values()].filter((kind) => kind === 'too_late').length, 16);
  });

  test('refuses what cannot be done in time, and says when it will be accepted', () => {
    const machine = Machine.measured();
    for (let at = 0; at < 40; at += 1) machine.add(`${at}`, 50);
    const refused = machine.ended.map(({ outcome }) => outcome);
    assert.equal(refused.length, 19);
    assert.deepEqual(refused[0], { kind: 'queue_full', retryAfterSeconds: 27 });
    machine.pass(26_000);
    machine.add('again', 1_200);
    assert.equal(machine.kinds().get('again'), 'queue_full');
    machine.pass(1_000);
    machine.add('again', 1_200);
    machine.pass(deadlineMs);
    assert.equal(machine.kinds().get('again'), 'vectors');
    assert.equal(machine.served().length, 22);
  });

  test('a call that is too long for its deadline delays no other, and returns what was done', () => {
    const machine = Machine.measured();
    machine.add('endless', 1_000, other);
    machine.pass(1_000);
    for (let at = 0; at < 10; at += 1) machine.add(`${at}`, 40);
    machine.pass(deadlineMs);
    assert.deepEqual(
      machine.served(),
      Array.from({ length: 10 }, (_, at) => String(at)),
    );
    const [late] = machine.ended.filter(({ name }) => name === 'endless');
    assert.ok(late?.outcome.kind === 'too_late');
    const { places, vectors, truncated } = late.outcome.some;
    assert.ok(places.length > 90 && places.length < 105, `${places.length} texts`);
    assert.deepEqual([...vectors], places);
    assert.deepEqual(
      truncated,
      places.map((at) => at % 2 === 1),
    );
  });

  test('a call that is taken back returns what was done', () => {
    const machine = Machine.measured();
    const gone = machine.add('gone', 10);
    machine.pass(60);
    gone?.cancel();
    const [ended] = machine.ended;
    assert.ok(ended?.outcome.kind === 'cancelled');
    assert.deepEqual(ended.outcome.some, {
      places: [0, 1],
      vectors: Float32Array.of(0, 1),
      truncated: [false, true],
    });
  });

  test('a call is begun once its last texts have come, and delays no other until then', () => {
    const machine = Machine.measured();
    const parts = machine.begin('parts', 10, textsOf('parts', 0, 4));
    machine.pass(1_000);
    machine.add('whole', 4);
    machine.pass(100);
    parts?.more(textsOf('parts', 4, 8));
    machine.pass(1_000);
    assert.deepEqual([machine.served(), machine.waiting()], [['whole'], 10]);
    parts?.more(textsOf('parts', 8, 10));
    machine.pass(250);
    assert.deepEqual([machine.served(), machine.waiting()], [['whole', 'parts'], 0]);
    const [, { outcome } = assert.fail()] = machine.ended;
    assert.ok(outcome.kind === 'vectors');
    assert.deepEqual([...outcome.vectors], [...Array(10).keys()]);
  });

  test('a call whose texts do not come leaves at its deadline, or when it is taken back', () => {
    const machine = Machine.measured();
    machine.begin('late', 10, textsOf('late', 0, 4));
    const gone = machine.begin('gone', 10, textsOf('gone', 0, 4));
    assert.equal(machine.waiting(), 20);
    gone?.cancel();
    gone?.more(textsOf('gone', 4, 10));
    assert.equal(machine.waiting(), 10);
    machine.pass(deadlineMs);
    assert.deepEqual(
      [...machine.kinds()],
      [
        ['gone', 'cancelled'],
        ['late', 'too_late'],
      ],
    );
    assert.equal(machine.waiting(), 0);
  });

  test('holds 64 MiB of text, or one call: what would be more is refused as it comes', () => {
    const machine = Machine.measured();
    const mebibytes = (count: number): Buffer[] => Array<Buffer>(count).fill(Buffer.alloc(1 << 20));
    const first = machine.begin('first', 100, mebibytes(65));
    assert.equal(machine.begin('at once', 1, mebibytes(1)), undefined);
    const later = machine.begin('later', 2, []);
    later?.more(mebibytes(1));
    assert.deepEqual(
      [...machine.kinds()],
      [
        ['at once', 'queue_full'],
        ['later', 'queue_full'],
      ],
    );
    assert.equal(machine.waiting(), 100);
    first?.cancel();
    const fits = machine.begin('fits', 65, mebibytes(63));
    machine.begin('both', 1, mebibytes(1));
    fits?.more(mebibytes(1));
    assert.deepEqual([...machine.kinds()].slice(2), [
      ['first', 'cancelled'],
      ['fits', 'queue_full'],
    ]);
  });

  test('whatever comes, each accepted call that is not too long by itself is done in time', () => {
    const call = fc.record({
      afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4_000 })),
      texts: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 1_500 })),
      by: fc.constantFrom(model, model, other),
    });
    let full = 0;
    fc.assert(
      fc.property(fc.array(call, { minLength: 20, maxLength: 60 }), (calls) => {
        const machine = Machine.measured();
        for (const [at, { afterMs, texts, by }] of calls.entries()) {
          machine.pass(afterMs);
          machine.add(String(at), texts, by);
        }
        machine.pass(2 * deadlineMs);
        assert.equal(machine.ended.length, calls.length);
        for (const { name, outcome } of machine.ended) {
          const { texts, by } = calls[Number(name)] ?? { texts: 0, by: model };
          const alone = texts * (textMs[by.id] ?? NaN);
          if (outcome.kind === 'queue_full') full += 1;
          else assert.equal(outcome.kind === 'vectors' || alone > deadlineMs * 0.9, true, name);
        }
      }),
      { seed: 20_261_121, numRuns: 200 },
    );
    assert.ok(full > 500, `${full} refused`);
  });
});
