/** A clock set by hand. */
import type { Clock } from '../../src/system/clock.js';

/** Time that passes when it is told to; what is due runs in the order of its time. */
export class HandClock implements Clock {
  private nowMs = 0;
  private due: { readonly atMs: number; readonly action: () => void }[] = [];

  constructor(private startMs = 1_800_000_000_000) {}

  /** Sets the wall clock forward or back; no time passes. */
  step(ms: number): void {
    this.startMs += ms;
  }

  readonly wallMs = (): number => this.startMs + this.nowMs;
  readonly monotonicMs = (): number => this.nowMs;
  readonly machineMicros = (): number => this.nowMs * 1_000;

  /** Number of timers that run. */
  get timers(): number {
    return this.due.length;
  }

  readonly after = (delayMs: number, action: () => void) => {
    const one = { atMs: this.nowMs + delayMs, action };
    this.due.push(one);
    return { stop: () => (this.due = this.due.filter((other) => other !== one)) };
  };

  readonly every = (periodMs: number, action: () => void) => {
    let next = this.after(periodMs, () => run());
    const run = (): void => {
      next = this.after(periodMs, () => run());
      action();
    };
    return { stop: () => next.stop() };
  };

  readonly sleep = (delayMs: number): Promise<void> =>
    new Promise((resolve) => {
      this.after(delayMs, resolve);
    });

  /** Lets time pass, with what is due in it. */
  async pass(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    for (;;) {
      await new Promise(setImmediate);
      const next = this.due.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > endMs) break;
      this.due = this.due.filter((other) => other !== next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.action();
    }
    this.nowMs = endMs;
  }

  /** Lets time pass as on a machine that sleeps: what was due meanwhile runs once, afterwards. */
  leap(ms: number): void {
    this.nowMs += ms;
  }
}
