/** Sends the summed metrics at an interval, if metrics are to be sent; the exporter is loaded only then. */
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { single, type Metric } from '../system/metrics.js';
import { metricSeries } from './metricData.js';
import { sendsMetrics, type TelemetrySettings } from './settings.js';

/** Time limit for the last metrics (ms). */
const lastSendMs = 2_000;

/** Dependencies of the export. */
export interface MetricExportParts {
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn' | 'info'>;
  /** Version of the program. */
  readonly version: string;
  /** Asks every process for its metrics, and sums them. */
  readonly collect: () => Promise<readonly Omit<Metric, 'aggregator'>[]>;
}

/** An export that continues until it is stopped. */
export interface MetricExport {
  /** Stops the interval and sends the metrics once more, within a bounded time. */
  readonly stop: () => Promise<void>;
}

/** Number of exports that the collector accepted, and of those that failed. */
export interface ExportCounts {
  sent: number;
  failed: number;
}

/** The metrics of the exports. */
export function exportMetrics({ sent, failed }: ExportCounts): Metric[] {
  const name = 'fusegate_otlp_metric_failures_total';
  return [
    single('counter', 'fusegate_otlp_metric_exports_total', 'Exports of metrics to the collector.', sent),
    single('counter', name, 'Exports of metrics that the collector did not accept.', failed),
  ];
}

/** Starts the export; resolves to undefined if metrics are not to be sent. */
export async function startMetricExport(
  settings: TelemetrySettings,
  counts: ExportCounts,
  { clock, log, version, collect }: MetricExportParts,
): Promise<MetricExport | undefined> {
  if (!sendsMetrics(settings)) return undefined;
  const { metricSender } = await import('./otlp.js');
  const send = metricSender({ settings, version });
  const startMs = clock.wallMs();
  let sending: Promise<void> | undefined;
  let isFailing = false;
  const sendOnce = async (): Promise<void> => {
    const reason = await collect()
      .then((metrics) => send(metricSeries(metrics), startMs, clock.wallMs()))
      .catch((error: unknown) => String(error));
    counts[reason === undefined ? 'sent' : 'failed'] += 1;
    if (reason !== undefined && !isFailing) log.warn({ reason }, 'metrics cannot be sent to the collector');
    if (reason === undefined && isFailing) log.info({}, 'metrics can be sent to the collector again');
    isFailing = reason !== undefined;
  };
  // While an export is under way, further ticks are skipped.
  const begin = (): Promise<void> =>
    (sending ??= sendOnce().finally(() => {
      sending = undefined;
    }));
  const timer = clock.every(settings.otelMetricsMs, () => void begin());
  return {
    async stop() {
      timer.stop();
      const last = Promise.resolve(sending).then(begin);
      await Promise.race([last, clock.sleep(lastSendMs)]);
    },
  };
}
