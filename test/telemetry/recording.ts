/** Spans of work as it would be recorded within a request. */
import assert from 'node:assert/strict';
import { systemClock, type Clock } from '../../src/system/clock.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { Sampler } from '../../src/telemetry/sampler.js';
import type { SamplerName } from '../../src/telemetry/settings.js';
import { Tracer, type Span, type SpanRecord } from '../../src/telemetry/tracer.js';
import { HandClock } from '../support/handClock.js';

/** A tracer whose spans are kept, in the order of their ends. */
export function tracerOf(
  name: SamplerName,
  {
    clock = systemClock,
    hasStages = false,
    spans = [],
  }: { readonly clock?: Clock; readonly hasStages?: boolean; readonly spans?: SpanRecord[] } = {},
) {
  const counts = { dropped: 0 };
  const sampler = new Sampler(name, 1, systemRandomness);
  const record = (span: SpanRecord): void => void spans.push(span);
  return { tracer: new Tracer({ sampler, clock, record, counts, hasStages }), spans, counts };
}

/** Begins a request that is recorded among spans, in the order of their ends. */
export function begin(spans: SpanRecord[] = []): Span {
  const { tracer } = tracerOf('always_on', { clock: new HandClock(), spans });
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
