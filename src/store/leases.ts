/**
 * Leases on the store's contract: one holder at a time does a piece of background work, and its units carry
 * a fencing number, so that one that has lost the lease without noticing changes nothing any more. Safety
 * rests on that number alone; clocks that differ between machines only delay or hasten a change of holder.
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

/** A lease that was taken. */
export interface Lease {
  readonly name: string;
  readonly record: LeaseRecord;
}

/** Outcome of taking or prolonging a lease. */
export type LeaseOutcome =
  | { readonly kind: 'held'; readonly lease: Lease }
  /** Another has it; undefined when the record is gone. */
  | { readonly kind: 'taken'; readonly record: LeaseRecord | undefined };

/** Name of a lease or a holder: up to 200 bytes of UTF-8. */
type LeaseName = string;

/** Writes `next` where the lease's record is `bytes`; tells who won where it is not. */
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

/**
 * Takes a lease that nobody holds or whose time is over, with a fencing number above every earlier one. A
 * holder that asks again (it crashed, or its answer was lost) waits like everybody else.
 */
export async function acquireLease(
  parts: LeaseParts,
  name: LeaseName,
  holder: LeaseName,
  durationMs: number,
): Promise<LeaseOutcome> {
  const found = await parts.store.get('leases', Buffer.from(name));
  const now = Math.floor(parts.clock.wallMs());
  const present = found === undefined ? undefined : decodeLease(found);
  if (present !== undefined && present.expiresAtMs > now) return { kind: 'taken', record: present };
  const token = (present?.token ?? 0) + 1;
  return swap(parts, name, found, { token, holder, expiresAtMs: now + durationMs });
}

/** Prolongs a lease under the same fencing number; `taken` when another has it by now. */
export async function renewLease(parts: LeaseParts, lease: Lease, durationMs: number): Promise<LeaseOutcome> {
  const { name, record } = lease;
  const expiresAtMs = Math.floor(parts.clock.wallMs()) + durationMs;
  const outcome = await swap(parts, name, encodeLease(record), { ...record, expiresAtMs });
  if (outcome.kind !== 'taken' || outcome.record?.token !== record.token) return outcome;
  // An earlier renewal was written though its answer was lost: a number has one holder only.
  return { kind: 'held', lease: { name, record: outcome.record } };
}

/**
 * Gives a lease back, so that another need not wait for its end. The number grows once more: what still
 * carries the old one is refused from now on.
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
  /** Time that the lease lasts without a renewal, which comes after a third of it (ms). */
  readonly durationMs: number;
  /** Called when the lease was taken, with the fencing number for the units of the work. */
  readonly onHeld: (token: number) => void;
  /** Called when it was lost or given back. The work should end; what it still commits is refused. */
  readonly onLost: () => void;
}

/** Takes a lease whenever it is free and keeps it. */
export interface LeaseKeeper {
  /** The fencing number while the lease is held. */
  readonly token: () => number | undefined;
  /** Ends keeping, gives the lease back, and resolves when that is done. */
  readonly stop: () => Promise<void>;
}

/** Starts a keeper, which tries at once and then every third of the lease's duration. */
export function keepLease(parts: LeaseParts, kept: Kept): LeaseKeeper {
  return new Keeper(parts, kept);
}

class Keeper implements LeaseKeeper {
  private held: { readonly lease: Lease; readonly untilMs: number } | undefined;
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
    // Where the store does not answer, the lease ends by its time.
    if (held !== undefined) await whenUnavailable(releaseLease(this.parts, held.lease), () => undefined);
  };

  /** Renews or tries to take; where the last try still waits for the store, only looks at the time. */
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
        ? await acquireLease(this.parts, name, holder, durationMs)
        : await renewLease(this.parts, held.lease, durationMs);
    if (outcome.kind === 'taken') {
      this.lose();
      return;
    }
    // Lost by time while it was being renewed, and now held again under the same number.
    const isNew = this.held === undefined;
    this.held = { lease: outcome.lease, untilMs: beganMs + durationMs };
    if (isNew) this.kept.onHeld(outcome.lease.record.token);
  }

  private lose(): void {
    if (this.held === undefined) return;
    this.held = undefined;
    this.kept.onLost();
  }
}
