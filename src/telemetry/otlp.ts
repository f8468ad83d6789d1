/**
 * Sends spans and metrics over OTLP/HTTP by OpenTelemetry's exporters, which encode, retry with growing
 * pauses, and limit the time. The only file that imports these packages. It is imported only if an endpoint
 * is set.
 */
import { hostname } from 'node:os';
import { SpanKind, SpanStatusCode, ValueType } from '@opentelemetry/api';
import { OTLPMetricExporter as JsonMetrics } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetrics } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraces } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraces } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics';
import { codeOf } from '../system/reason.js';
import type { HistogramPoint, MetricSeries, NumberPoint } from './metricData.js';
import type { TelemetrySettings } from './settings.js';
import type { SendSpans } from './spanQueue.js';
import type { SpanRecord } from './tracer.js';

/** Spans and metrics as the exporters accept them. */
type ExportedSpan = Parameters<ProtobufTraces['export']>[0][number];
type ExportedMetrics = Parameters<ProtobufMetrics['export']>[0];
type ExportedMetric = ExportedMetrics['scopeMetrics'][number]['metrics'][number];

type TraceState = NonNullable<ReturnType<ExportedSpan['spanContext']>['traceState']>;

/** Seconds and nanoseconds. */
type HrTime = ExportedSpan['startTime'];

/** OpenTelemetry's names for kinds of spans and of metrics. */
const spanKinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;
const pointTypes = {
  histogram: DataPointType.HISTOGRAM,
  gauge: DataPointType.GAUGE,
  counter: DataPointType.SUM,
} as const;

/** Result code of a successful export. */
const exported = 0;

/** The settings and the version of the program that sends. */
interface Sender {
  readonly settings: TelemetrySettings;
  /** Version of the program. */
  readonly version: string;
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.floor((ms - seconds * 1_000) * 1e6)];
}

/** Attributes of the service; the operator's take precedence. */
function resourceOf({ settings, version }: Sender): Resource {
  const { otelServiceName, otelAttributes } = settings;
  return resourceFromAttributes({
    'service.name': 'fusegate',
    'service.version': version,
    'host.name': hostname(),
    'process.pid': process.pid,
    ...otelAttributes,
    ...(otelServiceName === null ? {} : { 'service.name': otelServiceName }),
  });
}

/** Options of an exporter. All are given, so that it reads none from the environment. */
function optionsOf({ settings }: Sender, path: string) {
  const { otlpEndpoint, otlpHeaders, otlpTimeoutMs } = settings;
  return {
    url: `${otlpEndpoint ?? ''}${path}`,
    headers: { ...otlpHeaders },
    timeoutMillis: otlpTimeoutMs,
    // The caller queues, and makes one call at a time. The exporter releases a call just after its callback.
    concurrencyLimit: 2,
    keepAlive: true,
  };
}

/** The outcome of an export: undefined, or the reason why the collector does not have the data. */
function outcome(
  send: (callback: (result: { readonly code: number; readonly error?: Error }) => void) => void,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    send(({ code, error }) => resolve(code === exported ? undefined : reasonOfExport(error)));
  });
}

/** A reason in words; a collector's own text is not shown. */
function reasonOfExport(error: Error | undefined): string {
  if (error === undefined) return 'it did not answer in time';
  const code = codeOf(error) ?? '';
  return code === '' ? error.message : `${code} ${error.message}`.trim();
}

const noResult = {
  events: [],
  links: [],
  droppedAttributesCount: 0,
  droppedEventsCount: 0,
  droppedLinksCount: 0,
};

/** A `tracestate` that is sent as it was received; nothing here changes one. */
function writtenState(state: string): TraceState {
  const same: TraceState = {
    serialize: () => state,
    get: () => undefined,
    set: () => same,
    unset: () => same,
  };
  return same;
}

function exportedSpan(span: SpanRecord, resource: Resource, version: string): ExportedSpan {
  const { name, traceId, spanId, parentSpanId, isParentRemote, state } = span;
  const context = {
    traceId,
    spanId,
    traceFlags: 1,
    ...(state === '' ? {} : { traceState: writtenState(state) }),
  };
  const parent = { traceId, spanId: parentSpanId ?? '', traceFlags: 1, isRemote: isParentRemote };
  return {
    ...noResult,
    name,
    kind: spanKinds[span.kind],
    spanContext: () => context,
    ...(parentSpanId === undefined ? {} : { parentSpanContext: parent }),
    startTime: hrTime(span.startMs),
    endTime: hrTime(span.endMs),
    duration: hrTime(span.endMs - span.startMs),
    ended: true,
    status: { code: span.hasFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: span.attributes,
    resource,
    instrumentationScope: { name: 'fusegate', version },
  };
}

/** Sends spans. */
export function spanSender(sender: Sender): SendSpans {
  const { settings, version } = sender;
  const Exporter = settings.otlpProtocol === 'http/json' ? JsonTraces : ProtobufTraces;
  const exporter = new Exporter(optionsOf(sender, '/v1/traces'));
  const resource = resourceOf(sender);
  return (spans) =>
    outcome((done) => {
      exporter.export(
        spans.map((span) => exportedSpan(span, resource, version)),
        done,
      );
    });
}

/** Sends metrics of the time from `startMs` to `endMs`; resolves to undefined or the reason for a failure. */
export type SendMetrics = (
  metrics: readonly MetricSeries[],
  startMs: number,
  endMs: number,
) => Promise<string | undefined>;

/** Data points of numbers. */
function numbers(points: readonly NumberPoint[], startTime: HrTime, endTime: HrTime) {
  return points.map(({ labels, value }) => ({ startTime, endTime, attributes: labels, value }));
}

function histogramPoints(points: readonly HistogramPoint[], startTime: HrTime, endTime: HrTime) {
  return points.map(({ labels, bounds, counts, sum, count }) => ({
    ...{ startTime, endTime, attributes: labels },
    value: { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count },
  }));
}

function exportedMetric(metric: MetricSeries, startTime: HrTime, endTime: HrTime): ExportedMetric {
  const valueType = ValueType.DOUBLE;
  const common = {
    descriptor: { name: metric.name, description: metric.help, unit: metric.unit, valueType },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: pointTypes[metric.type],
  };
  const dataPoints =
    metric.type === 'histogram'
      ? histogramPoints(metric.points, startTime, endTime)
      : numbers(metric.points, startTime, endTime);
  return {
    ...common,
    dataPoints,
    ...(metric.type === 'counter' ? { isMonotonic: true } : {}),
  } as ExportedMetric;
}

/** Sends metrics. */
export function metricSender(sender: Sender): SendMetrics {
  const { settings, version } = sender;
  const Exporter = settings.otlpProtocol === 'http/json' ? JsonMetrics : ProtobufMetrics;
  const exporter = new Exporter(optionsOf(sender, '/v1/metrics'));
  const resource = resourceOf(sender);
  return (metrics, startMs, endMs) => {
    const [startTime, endTime] = [hrTime(startMs), hrTime(endMs)];
    const scopeMetrics = [
      {
        scope: { name: 'fusegate', version },
        metrics: metrics.map((each) => exportedMetric(each, startTime, endTime)),
      },
    ];
    return outcome((done) => exporter.export({ resource, scopeMetrics }, done));
  };
}
