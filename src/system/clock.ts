/** Time for the rest of Fusegate: passed in, so that tests can set it. */
import { performance } from 'node:perf_hooks';

/** A day, in milliseconds. */
export const dayMs = 86_400_000;

/** A time as answers and receipts show it: RFC 3339 UTC with milliseconds. */
export function timeText(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

/** As {@link timeText}, of a time that may be absent. */
export function timeOrNull(wallMs: number | null | undefined): string | null {
  return wallMs == null ? null : timeText(wallMs);
}

/** The day of a time, UTC: `2026-11-21`. */
export function dateText(wallMs: number): string {
  return timeText(wallMs).slice(0, 10);
}

/** A running timer; {@link Timer.stop} ends it, and may be called more than once. */
export interface Timer {
  readonly stop: () => void;
}

/** The one source of time and timers. */
export interface Clock {
  /** Wall time in whole milliseconds since 1970-01-01T00:00:00Z. It may jump. */
  readonly wallMs: () => number;
  /** Milliseconds, with fractions, that never decrease; the zero is arbitrary. */
  readonly monotonicMs: () => number;
  /** Microseconds of the machine's monotonic clock: the same in every process, with an arbitrary zero. */
  readonly machineMicros: () => number;
  /** Calls `action` once, `delayMs` from now; keeps the process alive until then, unless stopped. */
  readonly after: (delayMs: number, action: () => void) => Timer;
  /** Calls `action` every `periodMs`. The timer alone does not keep the process alive. */
  readonly every: (periodMs: number, action: () => void) => Timer;
  /** Resolves `delayMs` from now, and keeps the process alive until then. */
  readonly sleep: (delayMs: number) => Promise<void>;
}

/** The machine's clock. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  machineMicros() {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e6 + nanoseconds / 1e3;
  },
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return { stop: () => clearTimeout(timer) };
  },
  every(periodMs, action) {
    const timer = setInterval(action, periodMs).unref();
    return { stop: () => clearInterval(timer) };
  },
  sleep: (delayMs) =>
    new Promise((resolve) => {
      setTimeout(resolve, delayMs);
    }),
};
