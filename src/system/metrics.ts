/**
 * Metrics as plain values: workers send them to their parent in the JSON form that prom-client aggregates.
 */

/** One value of a metric with its labels. */
export interface MetricValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  /** The series' name if it differs from the metric's (a histogram's `_bucket`, `_sum`, `_count`). */
  readonly metricName?: string;
}

/** One metric, in base units (seconds, bytes), as Prometheus' naming requires. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Rule to combine the values of several processes. */
  readonly aggregator: 'sum' | 'max';
  readonly values: readonly MetricValue[];
}

/** The metrics that only grow: these are retained after a process ends. */
export function countersOf(metrics: readonly Metric[]): Metric[] {
  return metrics.filter(({ type }) => type !== 'gauge');
}

/** A gauge or counter with one value and no labels. */
export function single(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  value: number,
  aggregator: 'sum' | 'max' = 'sum',
): Metric {
  return { name, help, type, aggregator, values: [{ value, labels: {} }] };
}
