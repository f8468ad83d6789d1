/** The tracing of a process; the exporter is loaded only if traces are sent. */
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Metric } from '../system/metrics.js';
import type { Randomness } from '../system/randomness.js';
import { Sampler } from './sampler.js';
import { sendsTraces, type TelemetrySettings } from './settings.js';
import { spanMetrics, SpanQueue } from './spanQueue.js';
import { Tracer } from './tracer.js';

/** Time limit for sending the spans left at the end of the process (ms). */
const lastSendMs = 2_000;

/** Dependencies of tracing. */
export interface TracingParts {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
  /** Version of the program. */
  readonly version: string;
  /** True if answers show the time of their stages. */
  readonly hasStages: boolean;
}

/** The tracing of a process. */
export interface Tracing {
  /** Undefined: nothing is recorded or measured. */
  readonly tracer: Tracer | undefined;
  readonly metrics: () => Metric[];
  /** Sends the spans that are left, within a bounded time. */
  readonly close: () => Promise<void>;
}

/** Opens the tracing of a process. */
export async function openTracing(settings: TelemetrySettings, parts: TracingParts): Promise<Tracing> {
  const { clock, log, randomness, version, hasStages } = parts;
  if (!sendsTraces(settings)) {
    const unsent = { metrics: () => spanMetrics(), close: () => Promise.resolve() };
    if (!hasStages) return { tracer: undefined, ...unsent };
    const none = { sampler: new Sampler('always_off', 0, randomness), record: () => undefined };
    return { tracer: new Tracer({ ...none, clock, counts: { dropped: 0 }, hasStages }), ...unsent };
  }
  const { spanSender } = await import('./otlp.js');
  const send = spanSender({ settings, version });
  const queue = new SpanQueue({ clock, log, send, delayMs: settings.otelSpanDelayMs });
  const sampler = new Sampler(settings.otelSampler, settings.otelSamplerArg, randomness);
  return {
    tracer: new Tracer({ sampler, clock, record: queue.add, counts: queue.counts, hasStages }),
    metrics: () => spanMetrics(queue.counts),
    close: () => queue.flush(lastSendMs),
  };
}
