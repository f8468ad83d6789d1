/** The server's own histogram of latencies, read from its metrics, and percentiles between two readings. */

/** Latencies so far: requests up to each bound (s), cumulative, ascending; the last bound is infinite. */
export type Histogram = readonly { readonly bound: number; readonly count: number }[];

/** Reads the histogram of POST /v1/fuse from Prometheus' text format. */
export async function scrape(metricsUrl: string): Promise<Histogram> {
  const text = await (await fetch(metricsUrl)).text();
  const rows = text.matchAll(/^fusegate_http_request_duration_seconds_bucket\{(.*)\} (\d+)$/gm);
  return Array.from(rows, ([, labels = '', count = '']) => ({ labels, count: Number(count) }))
    .filter(({ labels }) => labels.includes('route="fuse"'))
    .map(({ labels, count }) => ({ bound: boundOf(labels), count }))
    .sort((left, right) => left.bound - right.bound);
}

function boundOf(labels: string): number {
  const text = /le="([^"]*)"/.exec(labels)?.[1] ?? '';
  return text === '+Inf' ? Infinity : Number(text);
}

/**
 * The 99th percentile (ms) of what came between two scrapes, the slowest `left` requests left out, by linear
 * interpolation within a bucket.
 */
export function p99(before: Histogram, after: Histogram, left: number): number {
  const counts = after.map(({ bound, count }, at) => ({ bound, count: count - (before[at]?.count ?? 0) }));
  const all = (counts.at(-1)?.count ?? 0) - left;
  const rank = 0.99 * all;
  const at = counts.findIndex(({ count }) => count >= rank);
  const [upper, lower] = [counts[at], counts[at - 1] ?? { bound: 0, count: 0 }];
  if (upper === undefined || all <= 0) throw new Error('no small requests were measured');
  const share = (rank - lower.count) / (upper.count - lower.count);
  return 1000 * (lower.bound + share * (upper.bound - lower.bound));
}
