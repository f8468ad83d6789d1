/** Metrics of every process: processor time, memory, delay of its event loop. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { single, type Metric } from '../system/metrics.js';

/** Sampling step of the event loop's delay (ms). */
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

/**
 * Starts watching this process; the result gives its metrics. The loop's delay is that since the last call.
 */
export function watchVitals(): () => Metric[] {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  return () => {
    // The histogram holds the time between samples, so that an idle loop shows the step itself.
    const beyond = (nanoseconds: number): number =>
      Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000) : 0;
    const p99 = beyond(delay.percentile(99));
    const most = beyond(delay.max);
    delay.reset();
    return [
      ...usage(),
      single(
        'gauge',
        'fusegate_loop_delay_p99_seconds',
        'Delay of the slowest event loop, 99 %.',
        p99,
        'max',
      ),
      single('gauge', 'fusegate_loop_delay_max_seconds', 'Longest delay of an event loop.', most, 'max'),
    ];
  };
}
