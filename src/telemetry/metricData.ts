/** Converts scraped metrics to OTLP's form: the same names, values and labels. */
import type { Metric, MetricValue } from '../system/metrics.js';

/** Counts of a histogram by its buckets' upper bounds; the last count is of the values above them all. */
export interface HistogramPoint {
  readonly labels: Readonly<Record<string, string>>;
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

/** A value with its labels. */
export interface NumberPoint {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One metric. */
export type MetricSeries = { readonly name: string; readonly help: string; readonly unit: string } & (
  | { readonly type: 'histogram'; readonly points: readonly HistogramPoint[] }
  | { readonly type: 'counter' | 'gauge'; readonly points: readonly NumberPoint[] }
);

/** The unit that a name ends with, as UCUM writes it. */
function unitOf(name: string): string {
  const plain = name.replace(/_total$/, '');
  if (plain.endsWith('_seconds')) return 's';
  return plain.endsWith('_bytes') ? 'By' : '';
}

function labelsOf(labels: MetricValue['labels']): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}

/** The histograms of one metric, from its cumulative buckets. */
function histograms({ name, values }: Pick<Metric, 'name' | 'values'>): HistogramPoint[] {
  const byLabels = new Map<
    string,
    { labels: Record<string, string>; below: Map<number, number>; sum: number }
  >();
  for (const { value, labels, metricName } of values) {
    const { le, ...others } = labels;
    const key = JSON.stringify(Object.entries(others).sort());
    const found = byLabels.get(key) ?? { labels: labelsOf(others), below: new Map<number, number>(), sum: 0 };
    byLabels.set(key, found);
    if (metricName === `${name}_sum`) found.sum = value;
    if (metricName === `${name}_bucket`) found.below.set(le === '+Inf' ? Infinity : Number(le), value);
  }
  return [...byLabels.values()].map(({ labels, below, sum }) => {
    const buckets = [...below].sort(([left], [right]) => left - right);
    const counts = buckets.map(([, total], at) => total - (buckets[at - 1]?.[1] ?? 0));
    const bounds = buckets.map(([bound]) => bound).filter((bound) => bound < Infinity);
    return { labels, bounds, counts, sum, count: below.get(Infinity) ?? 0 };
  });
}

/** Converts the metrics. */
export function metricSeries(metrics: readonly Omit<Metric, 'aggregator'>[]): MetricSeries[] {
  return metrics.map(({ name, help, type, values }) => {
    const common = { name, help, unit: unitOf(name) };
    if (type === 'histogram') return { ...common, type, points: histograms({ name, values }) };
    return {
      ...common,
      type,
      points: values.map(({ value, labels }) => ({ value, labels: labelsOf(labels) })),
    };
  });
}
