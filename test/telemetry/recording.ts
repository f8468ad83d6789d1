/** Spans of work as it would be recorded within a request. */
import assert from 'node:assert/strict';
import { systemRandomness } from '../../src/system/randomness.js';
import { Sampler } from '../../src/telemetry/sampler.js';
import { Tracer, type Span, type SpanRecord } from '../../src/telemetry/tracer.js';
import { HandClock } from '../support/handClock.js';

/** Begins a request that is recorded among spans, in the order of their ends. */
export function begin(spans: SpanRecord[] = []): Span {
  const tracer = new Tracer({
    ...{ sampler: new Sampler('always_on', 1, systemRandomness), clock: new HandClock() },
    ...{ record: (span) => spans.push(span), counts: { dropped: 0 } },
  });
  const request = tracer.root('a request', 'server');
  assert.ok(request !== undefined);
  return request;
}

/** Does work within a request that is recorded; resolves to its spans, in the order of their ends. */
export async function spansOf(work: (request: Span) => Promise<unknown>): Promise<SpanRecord[]> {
  const spans: SpanRecord[] = [];
  const request = begin(spans);
  await request.run(() => work(request));
  for (const { parentSpanId } of spans) assert.equal(parentSpanId, request.spanId);
  return spans;
}
