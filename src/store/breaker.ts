/**
 * A circuit breaker (Nygard, Release It!, "Circuit Breaker") for one way of using a server: while the server
 * is away, calls fail at once and one probe at a time finds out when it is back.
 *
 * A failure, or a call without an answer, begins a doubt; calls are still tried, so that a restart of a
 * second is waited out. Every answer ends the doubt. A doubt that lasts opens the breaker, and from then on
 * only a probe closes it.
 */
import type { Clock, Timer } from '../system/clock.js';

/** Times of a breaker (ms). */
export interface BreakerTimes {
  /** A call without an answer for so long begins a doubt. */
  readonly silence: number;
  /** A doubt of this length opens the breaker. */
  readonly doubt: number;
  /** Time after which the next probe does not wait for one that has no answer. */
  readonly probe: number;
  /** Pause between two probes. */
  readonly pause: number;
}

/** Outcome of a probe. */
export type Probed =
  | { readonly kind: 'works' }
  /** The server answered and refused. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'silent'; readonly reason: string };

/** Parts of a breaker. */
export interface BreakerParts {
  /** Looks for the server once, for at most `timeoutMs`. */
  readonly probe: (timeoutMs: number) => Promise<Probed>;
  /** Longest time of a probe (ms). */
  readonly longestProbe: number;
  /** The server is away: what waits for it need not wait. */
  readonly onOpen: () => void;
  /** The server answers again. */
  readonly onEnd: () => void;
  readonly times: BreakerTimes;
  readonly clock: Pick<Clock, 'after' | 'sleep'>;
}

/** A breaker. */
export class Breaker {
  /** Why the server cannot be used; undefined while nothing is wrong. */
  private doubted: string | undefined;
  /** True if a call failed in this doubt; false if calls have only been waiting. */
  private failing = false;
  private open = false;
  private stopped = false;
  private probing = false;
  /** True while a probe goes on that the next one does not wait for. */
  private lingering = false;
  private timer: Timer | undefined;

  constructor(private readonly parts: BreakerParts) {}

  /** Why calls fail at once; undefined while they are tried. */
  get refusal(): string | undefined {
    return this.open ? this.doubted : undefined;
  }

  /** True while the server answers, as far as is known. */
  get answers(): boolean {
    return this.doubted === undefined;
  }

  /** A call could not use the server. */
  failed(reason: string): void {
    this.failing = true;
    this.doubt(reason);
  }

  /** A call has waited for {@link BreakerTimes.silence}. */
  waiting(): void {
    this.doubt('does not answer (no answer in time)');
  }

  /** A call got its answer. One that was sent before the breaker opened does not close it. */
  answered(): void {
    if (!this.open) this.end();
  }

  /** Ends it: nothing is probed any more. */
  stop(): void {
    this.stopped = true;
    this.timer?.stop();
  }

  private doubt(reason: string): void {
    if (this.stopped) return;
    const begins = this.doubted === undefined;
    this.doubted = reason;
    if (!begins) return;
    this.timer = this.parts.clock.after(this.parts.times.doubt, () => {
      this.open = true;
      this.parts.onOpen();
    });
    if (!this.probing) void this.look();
  }

  private end(): void {
    this.failing = false;
    if (this.doubted === undefined) return;
    this.doubted = undefined;
    this.open = false;
    this.timer?.stop();
    this.parts.onEnd();
  }

  /** Probes until the doubt has ended. */
  private async look(): Promise<void> {
    const { clock, times } = this.parts;
    this.probing = true;
    while (!this.stopped && this.doubted !== undefined) {
      await Promise.race([this.probe(), clock.sleep(times.probe)]);
      await clock.sleep(times.pause);
    }
    this.probing = false;
  }

  /**
   * Probes once. One probe at a time may take the longest time, so that a server that has become slower is
   * found as well. Those beside it are short: one whose packets are lost does not hide a server that is back.
   */
  private async probe(): Promise<void> {
    const isLong = !this.lingering;
    if (isLong) this.lingering = true;
    const timeoutMs = isLong ? this.parts.longestProbe : this.parts.times.probe;
    const probed = await this.parts.probe(timeoutMs);
    if (isLong) this.lingering = false;
    if (this.stopped || this.doubted === undefined) return;
    // A server that refuses what a probe asks for answers all the same; calls that wait get theirs.
    if (probed.kind === 'works' || (probed.kind === 'refused' && !this.failing)) this.end();
    else this.doubted = probed.reason;
  }
}
