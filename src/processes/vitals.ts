/** Metrics of every process: processor time, memory, event loop delay. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { single, type Metric } from '../system/metrics.js';

/** Sampling interval of the event loop's delay (ms). */
const resolutionMs = 10;

/** Processor time and memory of this process. */
export function usage(): Metric[] {
  const { user, system } = process.cpuUsage();
  const seconds = (user + system) / 1e6;
  return [
    single('counter', 'fusegate_cpu_seconds_total', 'Processor time of all processes.', seconds),
    single(
      'gauge',
      'fusegate_resident_bytes',
      'Resident memory of all processes.',
      process.memoryUsage.rss(),
    ),
  ];
}

/** Upper bounds of the buckets of the event loop's delay (s). */
const bucketSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5] as const;

const delayName = 'fusegate_loop_delay_seconds';

/** The delay of an event loop, from the runtime's samples. */
class LoopDelay {
  private readonly sampled = monitorEventLoopDelay({ resolution: resolutionMs });
  private readonly buckets = new Float64Array(bucketSeconds.length + 1);
  private totalSeconds = 0;

  constructor() {
    this.sampled.enable();
  }

  /** Adds the samples since the last call to the buckets; returns the longest delay among them (s). */
  private gather(): number {
    const { sampled } = this;
    // The runtime's samples include the interval itself: an idle loop shows that interval.
    const beyond = (nanoseconds: number): number =>
      Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000) : 0;
    const most = beyond(sampled.max);
    let share = 0;
    // The runtime reports values at percentiles ever closer to 100; each step covers this number of samples.
    for (const [percentile, nanoseconds] of sampled.percentiles) {
      const count = ((percentile - share) / 100) * sampled.count;
      const seconds = beyond(nanoseconds);
      const at = bucketSeconds.findIndex((bound) => seconds <= bound);
      const bucket = at < 0 ? bucketSeconds.length : at;
      this.buckets[bucket] = (this.buckets[bucket] ?? 0) + count;
      this.totalSeconds += seconds * count;
      share = percentile;
    }
    sampled.reset();
    return most;
  }

  metrics(): Metric[] {
    const most = this.gather();
    let below = 0;
    const values = [...this.buckets].map((count, at) => {
      below += count;
      return { value: below, labels: { le: bucketSeconds[at] ?? '+Inf' }, metricName: `${delayName}_bucket` };
    });
    const sum = { value: this.totalSeconds, labels: {}, metricName: `${delayName}_sum` };
    const count = { value: below, labels: {}, metricName: `${delayName}_count` };
    const help = 'Delay of event loops, sampled every 10 ms.';
    return [
      { name: delayName, help, type: 'histogram', aggregator: 'sum', values: [...values, sum, count] },
      single('gauge', 'fusegate_loop_delay_max_seconds', 'Longest delay of an event loop.', most, 'max'),
    ];
  }
}

/** Starts to watch this process; the result returns its metrics. The longest delay is since the last call. */
export function watchVitals(): () => Metric[] {
  const delay = new LoopDelay();
  return () => [...usage(), ...delay.metrics()];
}
