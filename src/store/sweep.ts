/** Removes old records, such as outcomes of units that can no longer be retried, and counts fragments. */
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { reasonOf } from '../system/reason.js';
import { oneAtATime } from '../system/shared.js';
import { keepLease, type LeaseParts } from './leases.js';
import { unitMemoryMs, type Store } from './store.js';
import { firstUnitIdOf } from './unitId.js';

/** Dependencies of the sweep. */
export interface SweepParts extends LeaseParts {
  readonly store: Pick<Store, 'commit' | 'get' | 'prune'>;
  readonly log: Pick<Log, 'warn' | 'debug'>;
  /** This process' id among those that share the store. */
  readonly holder: string;
  /** For a round: functions that each remove one kind of records past their retention, and tell how many. */
  readonly removeExpired: () => readonly (() => Promise<number>)[];
  /** Counts stored records, some of them in each call; true: there may be more to count. */
  readonly countMore: () => Promise<boolean>;
}

/** The sweep; it runs in whichever process holds its lease. */
export interface Sweep {
  readonly stop: () => Promise<void>;
}

/** Greatest clock skew between machines that share a store (ms): outcomes are stored that much longer. */
const clockDifferenceMs = 600_000;

/** Pause between two sweeps (ms). */
const periodMs = 30_000;

/** Most outcomes removed in one atomic step. */
const stepRecords = 1_000;

const leaseMs = 30_000;

/** Most that the wall clock may move against the monotonic one between two rounds (ms). */
const mostMovedMs = 300_000;

/** Pause after the clock has moved further (ms): what a wrong clock removes is lost, a right one can wait. */
const movedPauseMs = 3_600_000;

/**
 * Removes every outcome that is older than {@link unitMemoryMs} plus the clock skew, in small atomic steps;
 * returns their number. `goOn` is called before each step: false ends the sweep.
 */
export async function sweepUnits(
  { store, clock }: { readonly store: Pick<Store, 'prune'>; readonly clock: Pick<Clock, 'wallMs'> },
  goOn: () => boolean,
): Promise<number> {
  const before = firstUnitIdOf(clock.wallMs() - unitMemoryMs - clockDifferenceMs);
  let removed = 0;
  while (goOn()) {
    const step = await store.prune('units', before, stepRecords);
    removed += step;
    if (step < stepRecords) break;
  }
  return removed;
}

/** Returns a function that each round asks first: false for some time after the wall clock was moved. */
function clockWatch({ clock, log }: Pick<SweepParts, 'clock' | 'log'>): () => boolean {
  const offset = (): number => clock.wallMs() - clock.monotonicMs();
  let last = offset();
  let pausedUntilMs = -Infinity;
  return () => {
    const movedMs = Math.round(offset() - last);
    last += movedMs;
    if (Math.abs(movedMs) > mostMovedMs) {
      pausedUntilMs = clock.monotonicMs() + movedPauseMs;
      log.warn({ movedMs }, 'the clock was moved: nothing is removed for an hour');
    }
    return clock.monotonicMs() >= pausedUntilMs;
  };
}

/** Starts to sweep every {@link periodMs} while this process holds the lease `sweep`. */
export function startSweep(parts: SweepParts): Sweep {
  const { clock, holder, log } = parts;
  let timer: Timer | undefined;
  const onLost = (): void => {
    timer?.stop();
    timer = undefined;
  };
  // A kind of records that cannot be removed, or not even read, must not keep the others.
  const removed = (remove: () => Promise<number>, what: string): Promise<number> =>
    remove().catch((error: unknown) => {
      log.warn({ reason: reasonOf(error) }, `${what} could not be removed yet`);
      return 0;
    });
  const counted = (): Promise<boolean> =>
    parts.countMore().catch((error: unknown) => {
      log.warn({ reason: reasonOf(error) }, 'stored records could not be counted yet');
      return false;
    });
  const isClockSteady = clockWatch(parts);
  const rounds = oneAtATime(async () => {
    // Before the clock is asked: a count removes nothing, so that a wrong clock does no harm.
    while (timer !== undefined && (await counted()));
    if (!isClockSteady()) return;
    const swept = await removed(() => sweepUnits(parts, () => timer !== undefined), 'old unit outcomes');
    if (swept > 0) log.debug({ removed: swept }, 'old unit outcomes were removed');
    let expired = 0;
    for (const remove of timer === undefined ? [] : parts.removeExpired()) {
      if (timer !== undefined) expired += await removed(remove, 'expired records');
    }
    if (expired > 0) log.debug({ removed: expired }, 'expired records were removed');
  });
  const onHeld = (): void => {
    timer = clock.every(periodMs, () => void rounds.run());
  };
  const keeper = keepLease(parts, { name: 'sweep', holder, durationMs: leaseMs, onHeld, onLost });
  return {
    async stop() {
      onLost();
      await rounds.settled();
      await keeper.stop();
    },
  };
}
