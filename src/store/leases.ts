/**
 * Leases on the store: one holder at a time does a piece of background work. Its units carry a fencing
 * number, so a holder that has lost the lease without noticing can change nothing. Safety rests on that
 * number alone: clock skew between machines only hastens a change of holder, or delays it for the lease's
 * duration.
 */
import type { Clock, Timer } from '../system/clock.js';
import { writeOver } from './entries.js';
import { decodeLease, encodeLease, type LeaseRecord } from './leaseRecord.js';
import { whenUnavailable, type Store } from './store.js';

/** Dependencies of leases. */
export interface LeaseParts {
  readonly store: Pick<Store, 'commit' | 'get'>;
  readonly clock: Clock;
}

/** A lease that is held. */
export interface Lease {
  readonly name: string;
  readonly record: LeaseRecord;
}

/** Outcome of taking or renewing a lease. */
export type LeaseOutcome =
  | { readonly kind: 'held'; readonly lease: Lease }
  /** Another holder has it; undefined: the record is gone. */
  | { readonly kind: 'taken'; readonly record: LeaseRecord | undefined };

/** Name of a lease or a holder: up to 200 bytes of UTF-8. */
type LeaseName = string;

/** Writes `next` if the lease's record is still `bytes`; else returns the record that won. */
async function swap(
  { store }: LeaseParts,
  name: LeaseName,
  bytes: Uint8Array | undefined,
  next: LeaseRecord,
): Promise<LeaseOutcome> {
  const outcome = await store.commit([writeOver('leases', Buffer.from(name), bytes, encodeLease(next))]);
  if (outcome.kind === 'done') return { kind: 'held', lease: { name, record: next } };
  if (outcome.kind === 'refused') throw new Error('A lease was refused by a fence');
  const record = outcome.record === undefined ? undefined : decodeLease(outcome.record);
  return { kind: 'taken', record };
}

function isSame(left: LeaseRecord, right: LeaseRecord | undefined): boolean {
  return left.token === right?.token && left.expiresAtMs === right.expiresAtMs;
}

/**
 * Takes a lease that is free or expired, with a fencing number above all earlier ones. A holder that asks
 * again (it crashed, or its answer was lost) waits like any other. `dead`: a record that its holder no longer
 * renews, so that its expiry does not count.
 */
export async function acquireLease(
  parts: LeaseParts,
  name: LeaseName,
  holder: LeaseName,
  durationMs: number,
  dead?: LeaseRecord,
): Promise<LeaseOutcome> {
  const found = await parts.store.get('leases', Buffer.from(name));
  const now = parts.clock.wallMs();
  const present = found === undefined ? undefined : decodeLease(found);
  if (present !== undefined && present.expiresAtMs > now && !isSame(present, dead)) {
    return { kind: 'taken', record: present };
  }
  const token = (present?.token ?? 0) + 1;
  return swap(parts, name, found, { token, holder, expiresAtMs: now + durationMs });
}

/** Renews a lease under the same fencing number; `taken` if another holder has it by now. */
export async function renewLease(parts: LeaseParts, lease: Lease, durationMs: number): Promise<LeaseOutcome> {
  const { name, record } = lease;
  const expiresAtMs = parts.clock.wallMs() + durationMs;
  const outcome = await swap(parts, name, encodeLease(record), { ...record, expiresAtMs });
  if (outcome.kind !== 'taken' || outcome.record?.token !== record.token) return outcome;
  // An earlier renewal was written though its answer was lost: each number has only one holder.
  return { kind: 'held', lease: { name, record: outcome.record } };
}

/**
 * Releases a lease, so that another holder need not wait for its expiry. The number grows once more: units
 * with the old one are refused from now on.
 */
export async function releaseLease(parts: LeaseParts, lease: Lease): Promise<void> {
  const { token } = lease.record;
  const free = { token: token + 1, holder: '', expiresAtMs: 0 };
  await swap(parts, lease.name, encodeLease(lease.record), free);
}

/** The lease that a keeper watches over. */
export interface Kept {
  readonly name: LeaseName;
  readonly holder: LeaseName;
  /** Duration of the lease without a renewal (ms); it is renewed every third of it. */
  readonly durationMs: number;
  /** Called when the lease was taken, with the fencing number for the units of the work. */
  readonly onHeld: (token: number) => void;
  /** Called when it was lost or released. The work should end; its later commits are refused. */
  readonly onLost: () => void;
}

/** Takes a lease whenever it is free, and renews it. */
export interface LeaseKeeper {
  /** The fencing number while the lease is held. */
  readonly token: () => number | undefined;
  /** Stops the keeper and releases the lease; resolves when that is done. */
  readonly stop: () => Promise<void>;
}

/** Starts a keeper, which tries at once and then every third of the lease's duration. */
export function keepLease(parts: LeaseParts, kept: Kept): LeaseKeeper {
  return new Keeper(parts, kept);
}

/**
 * A process that asks for a lease only while it can do the work: it rests after it could not, so that another
 * process can. Whoever has one calls {@link ask} again after each rest.
 */
export class Candidate {
  private keeper: LeaseKeeper | undefined;
  private restsUntilMs = -Infinity;
  /** Resolves when every earlier keeper has released the lease. */
  private released: Promise<void> = Promise.resolve();

  constructor(
    private readonly parts: LeaseParts,
    private readonly kept: Kept,
  ) {}

  /** The fencing number while the lease is held. */
  token(): number | undefined {
    return this.keeper?.token();
  }

  isResting(): boolean {
    return this.parts.clock.monotonicMs() < this.restsUntilMs;
  }

  /** Asks for the lease from now on, until it rests. While it rests, does nothing. */
  ask(): void {
    if (!this.isResting()) this.keeper ??= keepLease(this.parts, this.kept);
  }

  /** Asks for the lease no more for `restMs`, and releases it. */
  rest(restMs: number): void {
    this.restsUntilMs = this.parts.clock.monotonicMs() + restMs;
    // Without its outcome, or each rest would keep those of all before it.
    this.released = Promise.all([this.released, this.keeper?.stop()]).then(() => undefined);
    this.keeper = undefined;
  }

  /** Rests for good; resolves when the lease is released, also by an earlier rest. */
  async stop(): Promise<void> {
    this.rest(Infinity);
    await this.released;
  }
}

class Keeper implements LeaseKeeper {
  private held: { readonly lease: Lease; readonly untilMs: number } | undefined;
  /** The record of another holder, as last read, and since when it has not changed (monotonic ms). */
  private other: { readonly record: LeaseRecord; readonly sinceMs: number } | undefined;
  private step: Promise<void> | undefined;
  private readonly timer: Timer;

  constructor(
    private readonly parts: LeaseParts,
    private readonly kept: Kept,
  ) {
    this.timer = parts.clock.every(kept.durationMs / 3, () => this.tick());
    this.tick();
  }

  readonly token = (): number | undefined => this.held?.lease.record.token;

  readonly stop = async (): Promise<void> => {
    this.timer.stop();
    await this.step;
    const { held } = this;
    this.lose();
    // If the store does not answer, the lease expires by itself.
    if (held !== undefined) await whenUnavailable(releaseLease(this.parts, held.lease), () => undefined);
  };

  /** Renews the lease, or tries to take it. While the last try awaits the store, only checks the expiry. */
  private tick(): void {
    if (this.held !== undefined && this.parts.clock.monotonicMs() >= this.held.untilMs) this.lose();
    this.step ??= whenUnavailable(this.advance(), () => undefined).finally(() => (this.step = undefined));
  }

  private async advance(): Promise<void> {
    const { name, holder, durationMs } = this.kept;
    const beganMs = this.parts.clock.monotonicMs();
    const { held } = this;
    const outcome =
      held === undefined
        ? await acquireLease(this.parts, name, holder, durationMs, this.dead(beganMs))
        : await renewLease(this.parts, held.lease, durationMs);
    if (outcome.kind === 'taken') {
      const { record } = outcome;
      if (record !== undefined && !isSame(record, this.other?.record))
        this.other = { record, sinceMs: beganMs };
      this.lose();
      return;
    }
    // Also new if it expired during its renewal: it is held again under the same number.
    const isNew = this.held === undefined;
    this.held = { lease: outcome.lease, untilMs: beganMs + durationMs };
    if (isNew) this.kept.onHeld(outcome.lease.record.token);
  }

  /**
   * The record that was not renewed for the lease's duration: its holder has lost it. A clock that was ahead
   * may have written its end.
   */
  private dead(nowMs: number): LeaseRecord | undefined {
    const { other } = this;
    return other !== undefined && nowMs - other.sinceMs >= this.kept.durationMs ? other.record : undefined;
  }

  private lose(): void {
    if (this.held === undefined) return;
    this.held = undefined;
    this.kept.onLost();
  }
}
