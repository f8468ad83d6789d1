/**
 * Runs work on the event loop that may wait, such as updating an index, in pieces with rests between them.
 * While other events keep the loop busy, the work takes a fifth of the time, one piece in each turn of the
 * loop, so that no event waits for more than one piece. On an idle loop it does not rest.
 */
import { performance } from 'node:perf_hooks';
import type { Clock } from './clock.js';
import { inSlice, nextTurn } from './slices.js';

/** Share of the time that the work takes beside other events. */
const share = 0.2;

/** Other events keep the loop busy if they take more than this share of the time. */
const busyShare = 0.25;

/** Least work between two rests (ms); with less, the rests would be shorter than timers can measure. */
const workMs = 1;

/** Dependencies of a pace. */
export interface PaceParts {
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  /** Total time for which the loop has been busy (ms). */
  readonly loopBusyMs?: () => number;
}

/** The pace of one kind of work. */
export class Pace {
  /** Time that this work has taken since the last rest (ms). */
  private ownMs = 0;
  /** True if other events kept the loop busy at the last measurement. */
  private besideOthers = false;
  /** When the last rest ended (ms). */
  private restedMs: number;
  private since: { readonly nowMs: number; readonly busyMs: number };

  constructor(private readonly parts: PaceParts) {
    this.since = this.measured();
    this.restedMs = this.since.nowMs;
  }

  /** Runs a piece in a turn of the loop that has time for it; resolves after the rest that follows. */
  async run<Value>(piece: () => Value): Promise<Value> {
    const { clock } = this.parts;
    if (this.besideOthers) await nextTurn();
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
    this.besideOthers = others > busyShare * (nowMs - this.since.nowMs);
    const restMs = this.ownMs / share - (nowMs - this.restedMs);
    if (this.besideOthers && restMs > 0) await this.parts.clock.sleep(restMs);
    this.ownMs = 0;
    this.restedMs = this.parts.clock.monotonicMs();
    this.since = { nowMs, busyMs };
  }

  private measured(): { readonly nowMs: number; readonly busyMs: number } {
    const { clock, loopBusyMs = () => performance.eventLoopUtilization().active } = this.parts;
    return { nowMs: clock.monotonicMs(), busyMs: loopBusyMs() };
  }
}
