/**
 * The queue of spans for the collector: bounded in number, sent in batches, one batch at a time. Only the end
 * of the process waits for it, for a bounded time. Spans that do not fit are dropped and counted.
 */
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Metric } from '../system/metrics.js';
import type { SpanRecord } from './tracer.js';

/** Most spans in the queue, and in a batch: OpenTelemetry's defaults. */
const mostWaiting = 2_048;
const batchSpans = 512;

/** Sends a batch. Resolves to undefined once the collector has it, else to the reason for the failure. */
export type SendSpans = (spans: readonly SpanRecord[]) => Promise<string | undefined>;

/** Dependencies of a queue. */
export interface SpanQueueParts {
  readonly clock: Pick<Clock, 'after' | 'sleep'>;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly send: SendSpans;
  /** Longest time that a span waits for a full batch (ms). */
  readonly delayMs: number;
}

/** Counts of spans by outcome. */
export interface SpanCounts {
  /** The collector has them. */
  sent: number;
  /** The queue was full, or the limit of requests a second was reached. */
  dropped: number;
  /** The collector did not accept them. */
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

  /** Adds a span, or drops it if the queue is full. */
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

  /** Sends all spans; resolves once each was tried, or after `boundMs`. The rest counts as failed. */
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
    // A failing collector is reported once, and once more when it works again.
    if (isFailing && !this.isFailing)
      this.parts.log.warn({ reason }, 'spans cannot be sent to the collector');
    if (!isFailing && this.isFailing) this.parts.log.info({}, 'spans can be sent to the collector again');
    this.isFailing = isFailing;
  }
}
