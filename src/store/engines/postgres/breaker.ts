/**
 * A circuit breaker (Nygard, Release It!, "Circuit Breaker") for one way of using a server: while the server
 * is away, calls fail at once and one probe at a time finds out when it is back.
 *
 * A failure, or a call without an answer, starts a doubt. Calls are still tried then, so that they survive a
 * one-second restart. Any answer ends the doubt. A doubt that lasts opens the breaker; after that only a
 * probe closes it.
 */
import type { Clock, Timer } from '../../../system/clock.js';

/** Times of a breaker (ms). */
export interface BreakerTimes {
  /** A call that is unanswered for this long starts a doubt. */
  readonly silence: number;
  /** A doubt of this length opens the breaker. */
  readonly doubt: number;
  /** Time that the next probe waits for an unanswered one. */
  readonly probe: number;
  /** Pause between probes. */
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
  /** Probes the server once, for at most `timeoutMs`. */
  readonly probe: (timeoutMs: number) => Promise<Probed>;
  /** Time limit of the longest probe (ms). */
  readonly longestProbe: number;
  /** The server is away: pending calls can fail at once. */
  readonly onOpen: () => void;
  /** The server answers again. */
  readonly onEnd: () => void;
  readonly times: BreakerTimes;
  readonly clock: Pick<Clock, 'after' | 'sleep'>;
}

/** A breaker. */
export class Breaker {
  /** Why the server may be unusable; undefined: no doubt. */
  private doubted: string | undefined;
  /** True if a call failed in this doubt; false if calls have only been waiting. */
  private failing = false;
  private open = false;
  private stopped = false;
  private probing = false;
  /** True while a long probe runs; the probes beside it are short. */
  private lingering = false;
  private timer: Timer | undefined;

  constructor(private readonly parts: BreakerParts) {}

  /** Why calls fail at once; undefined while they are tried. */
  get refusal(): string | undefined {
    return this.open ? this.doubted : undefined;
  }

  /** True while there is no doubt that the server answers. */
  get answers(): boolean {
    return this.doubted === undefined;
  }

  /** A call could not use the server. */
  failed(reason: string): void {
    this.failing = true;
    this.doubt(reason);
  }

  /** A call has been unanswered for {@link BreakerTimes.silence}. */
  waiting(): void {
    this.doubt('does not answer (no answer in time)');
  }

  /** A call got its answer. An answer to a call from before the breaker opened does not close it. */
  answered(): void {
    if (!this.open) this.end();
  }

  /** Stops the breaker and its probes. */
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
   * Probes once. One probe at a time gets the longest time limit, which finds a server that has become
   * slower. The probes beside it are short, so a lost packet does not delay finding a server that is back.
   */
  private async probe(): Promise<void> {
    const isLong = !this.lingering;
    this.lingering = true;
    const timeoutMs = isLong ? this.parts.longestProbe : this.parts.times.probe;
    const probed = await this.parts.probe(timeoutMs);
    if (isLong) this.lingering = false;
    if (this.stopped || this.doubted === undefined) return;
    // A server that refuses the probe's request answers all the same; pending calls get their answers.
    if (probed.kind === 'works' || (probed.kind === 'refused' && !this.failing)) this.end();
    else this.doubted = probed.reason;
  }
}
