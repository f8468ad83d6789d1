/**
 * Spans on their way to the collector: bounded in number, sent in batches, one batch at a time. Nobody waits
 * for it but the end of the process, for a bounded time; what finds no room is dropped and counted.
 */
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Metric } from '../system/metrics.js';
import type { SpanRecord } from './tracer.js';

/** Spans that wait at most, and spans of a batch: the defaults of OpenTelemetry. */
const mostWaiting = 2_048;
const batchSpans = 512;

/** Sends a batch. Resolves to undefined once the collector has it, else to the reason why not. */
export type SendSpans = (spans: readonly SpanRecord[]) => Promise<string | undefined>;

/** Dependencies of a queue. */
export interface SpanQueueParts {
  readonly clock: Pick<Clock, 'after' | 'sleep'>;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly send: SendSpans;
  /** Longest time that a span waits for others (ms). */
  readonly delayMs: number;
}

/** Counts of spans by what became of them. */
export interface SpanCounts {
  /** The collector has them. */
  sent: number;
  /** There was no room for them. */
  dropped: number;
  /** The collector did not take them. */
  failed: number;
}

/** The metric of spans, zero in a process that sends none. */
export function spanMetrics(counts: SpanCounts = { sent: 0, dropped: 0, failed: 0 }): Metric[] {
  return [
    {
      name: 'fusegate_otlp_spans_total',
      help: 'Recorded spans by outcome.',
      type: 'counter',
      aggregator: 'sum',
      values: Object.entries(counts).map(([outcome, value]: [string, number]) => ({
        value,
        labels: { outcome },
      })),
    },
  ];
}

/** The queue of one process. */
export class SpanQueue {
  readonly counts: SpanCounts = { sent: 0, dropped: 0, failed: 0 };
  private waiting: SpanRecord[] = [];
  private timer: Timer | undefined;
  private sending: Promise<void> | undefined;
  private isFailing = false;

  constructor(private readonly parts: SpanQueueParts) {}

  /** Takes a span, unless too many wait. */
  readonly add = (span: SpanRecord): void => {
    if (this.waiting.length >= mostWaiting) {
      this.counts.dropped += 1;
      return;
    }
    this.waiting.push(span);
    if (this.sending !== undefined) return;
    if (this.waiting.length >= batchSpans) this.begin();
    else this.timer ??= this.parts.clock.after(this.parts.delayMs, () => this.begin());
  };

  /** Sends what waits; resolves once all of it was tried, or after `boundMs`. What is left has failed. */
  async flush(boundMs: number): Promise<void> {
    const emptied = async (): Promise<void> => {
      while (this.sending !== undefined || this.waiting.length > 0) {
        if (this.sending === undefined) this.begin();
        await this.sending;
      }
    };
    await Promise.race([emptied(), this.parts.clock.sleep(boundMs)]);
    this.timer?.stop();
    this.counts.failed += this.waiting.length;
    this.waiting = [];
  }

  private begin(): void {
    this.timer?.stop();
    this.timer = undefined;
    if (this.waiting.length === 0) return;
    this.sending = this.sendBatch(this.waiting.splice(0, batchSpans)).finally(() => {
      this.sending = undefined;
      if (this.waiting.length >= batchSpans) this.begin();
      else if (this.waiting.length > 0) {
        this.timer ??= this.parts.clock.after(this.parts.delayMs, () => this.begin());
      }
    });
  }

  private async sendBatch(batch: readonly SpanRecord[]): Promise<void> {
    const reason = await this.parts.send(batch).catch((error: unknown) => String(error));
    this.counts[reason === undefined ? 'sent' : 'failed'] += batch.length;
    const isFailing = reason !== undefined;
    // A collector that is away is reported once, and once more when it is back.
    if (isFailing && !this.isFailing)
      this.parts.log.warn({ reason }, 'spans cannot be sent to the collector');
    if (!isFailing && this.isFailing) this.parts.log.info({}, 'spans can be sent to the collector again');
    this.isFailing = isFailing;
  }
}
