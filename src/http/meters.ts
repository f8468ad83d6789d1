/** Counters of one worker: plain numbers, turned into Prometheus metrics only when asked. */
import type { Answer } from '../contract/exchange.js';
import { single, type Metric, type MetricValue } from '../system/metrics.js';

/** Upper bounds of the latency buckets in seconds: three to four per order of magnitude, 50 µs to 10 s. */
const bucketSeconds = [
  0.00005, 0.0001, 0.00015, 0.0002, 0.0003, 0.0004, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.005,
  0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10,
];
const latencyName = 'fusegate_http_request_duration_seconds';
const bucketMs = Float64Array.from(bucketSeconds, (seconds) => seconds * 1000);

/** Index of the first bucket whose bound is at least `elapsedMs`; the number of buckets if there is none. */
function bucketOf(elapsedMs: number): number {
  let from = 0;
  let to = bucketMs.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((bucketMs[middle] ?? 0) < elapsedMs) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Counts of one route. */
export class RouteMeter {
  /** Number of answers by status, from 100. */
  private readonly statuses = new Float64Array(500);
  /** Refusals by problem code. */
  private readonly problems = new Map<string, number>();
  readonly buckets = new Float64Array(bucketSeconds.length + 1);
  totalMs = 0;
  bytesIn = 0;
  bytesOut = 0;
  aborted = 0;

  constructor(readonly route: string) {}

  /** Counts one answer that was handed over completely. */
  count(status: number, elapsedMs: number, bytesIn: number, bytesOut: number): void {
    this.statuses[status - 100] = (this.statuses[status - 100] ?? 0) + 1;
    const bucket = bucketOf(elapsedMs);
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1;
    this.totalMs += elapsedMs;
    this.bytesIn += bytesIn;
    this.bytesOut += bytesOut;
  }

  /** Counts the problem of a refusal that is about to be sent. */
  countProblem(answer: Answer): void {
    const code = problemOf(answer);
    if (code !== undefined) this.problems.set(code, (this.problems.get(code) ?? 0) + 1);
  }

  /** True once there is something to report. */
  get isUsed(): boolean {
    return this.aborted > 0 || this.statuses.some((count) => count > 0);
  }

  /** Answers by status. */
  statusValues(): MetricValue[] {
    const { route } = this;
    return [...this.statuses].flatMap((value, at) =>
      value === 0 ? [] : [{ value, labels: { route, status: at + 100 } }],
    );
  }

  /** Refusals by code. */
  problemValues(): MetricValue[] {
    const { route } = this;
    return [...this.problems].map(([code, value]) => ({ value, labels: { route, code } }));
  }
}

/** The code of an answer's problem; undefined if there is none. */
function problemOf({ body, problem }: Answer): string | undefined {
  if (problem !== undefined || !('json' in body)) return problem;
  const { json } = body;
  const isProblem =
    typeof json === 'object' && json !== null && 'code' in json && typeof json.code === 'string';
  return isProblem ? String(json.code) : undefined;
}

function latencyValues(meter: RouteMeter): MetricValue[] {
  const labels = { route: meter.route };
  let below = 0;
  const buckets = bucketSeconds.map((le, index) => {
    below += meter.buckets[index] ?? 0;
    return { value: below, labels: { ...labels, le }, metricName: `${latencyName}_bucket` };
  });
  const count = below + (meter.buckets[bucketSeconds.length] ?? 0);
  return [
    ...buckets,
    { value: count, labels: { ...labels, le: '+Inf' }, metricName: `${latencyName}_bucket` },
    { value: meter.totalMs / 1000, labels, metricName: `${latencyName}_sum` },
    { value: count, labels, metricName: `${latencyName}_count` },
  ];
}

/** The metrics of http: requests, latency, bytes, aborted requests by route, and bytes held for bodies. */
export function httpMetrics(
  meters: readonly RouteMeter[],
  bodyBytesHeld: number,
  inFlight: number,
): Metric[] {
  const used = meters.filter((meter) => meter.isUsed);
  const counter = (name: string, help: string, value: (meter: RouteMeter) => number): Metric => {
    const values = used.map((meter) => ({ value: value(meter), labels: { route: meter.route } }));
    return { name, help, type: 'counter', aggregator: 'sum', values };
  };
  return [
    {
      name: 'fusegate_http_requests_total',
      help: 'Answers by route and status.',
      type: 'counter',
      aggregator: 'sum',
      values: used.flatMap((meter) => meter.statusValues()),
    },
    {
      name: 'fusegate_http_problems_total',
      help: 'Refusals by route and code of the problem.',
      type: 'counter',
      aggregator: 'sum',
      values: used.flatMap((meter) => meter.problemValues()),
    },
    {
      name: latencyName,
      help: 'Time from the end of a request’s head to the end of its answer.',
      type: 'histogram',
      aggregator: 'sum',
      values: used.flatMap(latencyValues),
    },
    counter('fusegate_http_request_bytes_total', 'Bytes of request bodies.', (meter) => meter.bytesIn),
    counter('fusegate_http_response_bytes_total', 'Bytes of answers’ bodies.', (meter) => meter.bytesOut),
    counter(
      'fusegate_http_aborted_total',
      'Requests whose connection closed before their answer.',
      (meter) => meter.aborted,
    ),
    single('gauge', 'fusegate_http_requests_in_flight', 'Requests not yet answered in full.', inFlight),
    single('gauge', 'fusegate_http_body_bytes', 'Memory held for request bodies.', bodyBytesHeld),
  ];
}
