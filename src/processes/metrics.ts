/** The metrics of all processes, summed by the parent and served as Prometheus text. */
import { createServer, type Server } from 'node:http';
import type { PrometheusContentType } from 'prom-client';
import type { Log } from '../system/log.js';
import { single, type Metric, type MetricValue } from '../system/metrics.js';
import type { EmbedderProcess } from './embedder.js';
import type { WorkerPool } from './pool.js';

/** Longest time that a scrape waits for the workers (ms). */
const collectMs = 1_000;

/** The metrics of several processes as Prometheus text, summed by metric and by label. */
async function textOf(each: readonly (readonly Metric[])[]): Promise<string> {
  // Loaded by the first scrape: it has a hundred files.
  const { AggregatorRegistry } = await import('prom-client');
  return AggregatorRegistry.aggregate<PrometheusContentType>([...each]).metrics();
}

/** A gauge that is always 1; its labels name versions. */
function buildInfo(labels: Readonly<Record<string, string>>): Metric {
  const help = 'What runs: 1, with versions as labels.';
  return {
    name: 'fusegate_build_info',
    help,
    type: 'gauge',
    aggregator: 'max',
    values: [{ value: 1, labels }],
  };
}

/** The metrics of all processes, once they have answered. */
export interface Scraped {
  /** Summed, as Prometheus text. */
  readonly text: () => Promise<string>;
  /** Summed, as values. */
  readonly values: () => Metric[];
}

/** Asks all processes for their metrics. */
export type Scrape = () => Promise<Scraped>;

/**
 * A scrape of the workers, of the embedder and of the parent (`own`). The last reported counters of a process
 * that has ended stay in the sums, so counters never fall.
 */
export function createScrape(
  pool: WorkerPool,
  embedder: EmbedderProcess,
  own: () => readonly Metric[],
  versions: Readonly<Record<string, string>>,
): Scrape {
  let retired: readonly Metric[] = [];
  let missed = 0;
  for (const source of [pool, embedder]) {
    source.onRetired = (counters) => {
      retired = sumOf([retired, counters]);
    };
  }
  return async () => {
    const { metrics, missing } = await pool.collect(collectMs);
    missed += missing;
    const parent = [
      buildInfo(versions),
      single('gauge', 'fusegate_workers', 'Workers that listen.', pool.listening),
      single(
        'counter',
        'fusegate_worker_restarts_total',
        'Workers started to replace crashed ones.',
        pool.restarts,
      ),
      single(
        'counter',
        'fusegate_worker_scrapes_missed_total',
        'Workers that did not answer a scrape in time.',
        missed,
      ),
      ...own(),
    ];
    const all = [parent, embedder.metrics(), retired, ...metrics];
    return { text: () => textOf(all), values: () => sumOf(all) };
  };
}

/** Combines the metrics of several processes, series by series, each by the metric's own rule. */
function sumOf(each: readonly (readonly Metric[])[]): Metric[] {
  const sums = new Map<string, { metric: Metric; series: Map<string, MetricValue> }>();
  for (const metric of each.flat()) {
    const sum = sums.get(metric.name) ?? { metric, series: new Map<string, MetricValue>() };
    sums.set(metric.name, sum);
    for (const value of metric.values) {
      const key = JSON.stringify([value.metricName, value.labels]);
      const before = sum.series.get(key)?.value ?? 0;
      const both = metric.aggregator === 'max' ? Math.max(before, value.value) : before + value.value;
      sum.series.set(key, { ...value, value: both });
    }
  }
  return [...sums.values()].map(({ metric, series }) => ({ ...metric, values: [...series.values()] }));
}

/** A listening metrics server, or a sentence if there is none. */
export type MetricsResult = { readonly server: Server; readonly port: number } | { readonly refused: string };

/** Serves `GET /metrics` on its own port, or on a listening socket inherited from another server. */
export function serveMetrics(
  host: string,
  port: number,
  scrape: Scrape,
  log: Pick<Log, 'error'>,
  left?: number,
): Promise<MetricsResult> {
  const server = createServer((request, response) => {
    const { method, url } = request;
    if ((method !== 'GET' && method !== 'HEAD') || url !== '/metrics') {
      response
        .writeHead(404, { 'content-type': 'text/plain; charset=utf-8' })
        .end('Not Found: see /metrics\n');
      return;
    }
    const answered = scrape().then((scraped) => scraped.text());
    answered.then(
      (text) => {
        const length = Buffer.byteLength(text);
        response.writeHead(200, { 'content-type': metricsType, 'content-length': length }).end(text);
      },
      () => response.writeHead(500).end(),
    );
  });
  return new Promise((resolve) => {
    const reported = new Set<string>();
    // For ever: an error event without a listener, as of a connection that cannot be accepted, would end the
    // parent, and all workers with it. It may come with each connection, and is logged once.
    server.on('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code ?? error.message;
      if (server.listening && !reported.has(reason)) {
        reported.add(reason);
        log.error({ reason }, 'the server of metrics failed');
      }
      resolve({
        refused: `METRICS_PORT ${port} on ${host} cannot be had (${reason}). Set it to a free port.`,
      });
    });
    server.listen(left === undefined ? { port, host } : { fd: left }, () => {
      const address = server.address();
      resolve({ server, port: typeof address === 'object' && address !== null ? address.port : port });
    });
  });
}

/** Media type of Prometheus' text format. */
const metricsType = 'text/plain; version=0.0.4; charset=utf-8';
