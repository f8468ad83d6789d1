/**
 * Work on the event loop that may wait, such as bringing an index up to date: pieces in slices of the loop,
 * with rests between them. While other events keep the loop busy, it takes a fifth of the time; on an idle
 * loop it does not rest.
 */
import { performance } from 'node:perf_hooks';
import type { Clock } from './clock.js';
import { inSlice } from './slices.js';

/** Share of the time that the work takes beside other events. */
const share = 0.2;

/** Share of the time from which on other events keep the loop busy. */
const busyShare = 0.25;

/** Work between two rests (ms): less would be rests of less than timers can measure. */
const workMs = 1;

/** Dependencies of a pace. */
export interface PaceParts {
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  /** Time in which the loop had something to do, so far (ms). */
  readonly loopBusyMs?: () => number;
}

/** The pace of one kind of work. */
export class Pace {
  /** Time of this work since the last rest was decided (ms). */
  private ownMs = 0;
  private since: { readonly nowMs: number; readonly busyMs: number };

  constructor(private readonly parts: PaceParts) {
    this.since = this.measured();
  }

  /** Runs a piece in a turn of the loop that has time for it; resolves after the rest that follows. */
  async run<Value>(piece: () => Value): Promise<Value> {
    const { clock } = this.parts;
    const value = await inSlice(() => {
      const begunMs = clock.monotonicMs();
      const made = piece();
      this.ownMs += clock.monotonicMs() - begunMs;
      return made;
    });
    if (this.ownMs >= workMs) await this.rest();
    return value;
  }

  private async rest(): Promise<void> {
    const { nowMs, busyMs } = this.measured();
    const others = busyMs - this.since.busyMs - this.ownMs;
    if (others > busyShare * (nowMs - this.since.nowMs)) {
      await this.parts.clock.sleep(this.ownMs * (1 / share - 1));
    }
    this.ownMs = 0;
    this.since = { nowMs, busyMs };
  }

  private measured(): { readonly nowMs: number; readonly busyMs: number } {
    const { clock, loopBusyMs = () => performance.eventLoopUtilization().active } = this.parts;
    return { nowMs: clock.monotonicMs(), busyMs: loopBusyMs() };
  }
}
