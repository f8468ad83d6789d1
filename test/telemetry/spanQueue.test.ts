/** The queue of spans: bounded, in batches, one at a time, and never delaying anything else. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SpanQueue, spanMetrics } from '../../src/telemetry/spanQueue.js';
import type { SpanRecord } from '../../src/telemetry/tracer.js';
import { HandClock } from '../support/handClock.js';

const span = (name: string): SpanRecord => ({
  ...{ name, kind: 'server', traceId: '1'.repeat(32), spanId: '2'.repeat(16), parentSpanId: undefined },
  ...{ isParentRemote: false, state: '', startMs: 0, endMs: 1, attributes: {}, hasFailed: false },
});

/** A queue whose collector answers when it is told to. */
function queueWith(answers: (batch: readonly SpanRecord[]) => Promise<string | undefined>) {
  const clock = new HandClock();
  const batches: string[][] = [];
  const logged: string[] = [];
  const log = {
    warn: (_: unknown, message: string) => void logged.push(`warn ${message}`),
    info: (_: unknown, message: string) => void logged.push(`info ${message}`),
  };
  const send = (spans: readonly SpanRecord[]) => {
    batches.push(spans.map(({ name }) => name));
    return answers(spans);
  };
  return { queue: new SpanQueue({ clock, log, send, delayMs: 1_000 }), clock, batches, logged };
}

const fill = (queue: SpanQueue, count: number): void => {
  for (let at = 0; at < count; at += 1) queue.add(span(String(at)));
};

describe('the queue', () => {
  test('sends what waits after the delay, a full batch at once', async () => {
    const { queue, clock, batches } = queueWith(() => Promise.resolve(undefined));
    fill(queue, 2);
    await clock.pass(999);
    assert.equal(batches.length, 0);
    await clock.pass(1);
    assert.deepEqual(batches, [['0', '1']]);
    fill(queue, 512);
    assert.equal(batches.at(1)?.length, 512);
    await clock.pass(0);
    assert.deepEqual(queue.counts, { sent: 514, dropped: 0, failed: 0 });
  });

  test('is limited: while the collector is slow, one batch is sent and the rest is dropped', async () => {
    let answer = (): void => undefined;
    const { queue, clock, batches } = queueWith(
      () => new Promise((resolve) => (answer = () => resolve(undefined))),
    );
    fill(queue, 10_000);
    await clock.pass(60_000);
    assert.equal(batches.length, 1);
    assert.deepEqual(queue.counts, { sent: 0, dropped: 10_000 - 512 - 2_048, failed: 0 });
    for (let batch = 1; batch <= 5; batch += 1) {
      answer();
      await clock.pass(1_000);
    }
    assert.deepEqual(queue.counts, { sent: 2_560, dropped: 7_440, failed: 0 });
  });

  test('continues without a collector, and reports its loss once and its return once', async () => {
    let reason: string | undefined = 'ECONNREFUSED';
    const { queue, clock, logged } = queueWith(() =>
      reason === 'thrown' ? Promise.reject(new Error(reason)) : Promise.resolve(reason),
    );
    for (const next of ['ECONNREFUSED', 'thrown', 'ECONNREFUSED', undefined, undefined]) {
      reason = next;
      fill(queue, 3);
      await clock.pass(1_000);
    }
    assert.deepEqual(queue.counts, { sent: 6, dropped: 0, failed: 9 });
    assert.deepEqual(logged, [
      'warn spans cannot be sent to the collector',
      'info spans can be sent to the collector again',
    ]);
  });

  test('is emptied at the end, as far as time allows', async () => {
    const good = queueWith(() => Promise.resolve(undefined));
    fill(good.queue, 1_300);
    await good.queue.flush(2_000);
    assert.deepEqual(good.queue.counts, { sent: 1_300, dropped: 0, failed: 0 });
    const stuck = queueWith(() => new Promise<undefined>(() => undefined));
    fill(stuck.queue, 600);
    let over = false;
    const flushed = stuck.queue.flush(2_000).then(() => (over = true));
    await stuck.clock.pass(1_999);
    assert.equal(over, false);
    await stuck.clock.pass(1);
    await flushed;
    assert.equal(stuck.queue.counts.failed, 600 - 512);
  });

  test('is a metric, zero where nothing is sent', () => {
    const [metric] = spanMetrics({ sent: 1, dropped: 2, failed: 3 });
    const values = metric?.values.map(({ value, labels }) => [labels['outcome'], value]);
    assert.deepEqual(values, [
      ['sent', 1],
      ['dropped', 2],
      ['failed', 3],
    ]);
    assert.ok(spanMetrics()[0]?.values.every(({ value }) => value === 0));
  });
});
