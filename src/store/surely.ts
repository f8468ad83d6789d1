/** Commits whose outcome must not stay unknown: they hand something out once, or end what is in use. */
import type { Clock } from '../system/clock.js';
import { StoreUnavailable, type Commit, type Store } from './store.js';

/** Time for which a unit is committed again (ms): longer than a database takes to be replaced. */
const patienceMs = 20_000;

/** Pause before a unit is committed again (ms). */
const pauseMs = 250;

/**
 * Commits a unit. While the store is unavailable, the same unit is committed again: it may have taken effect
 * already. `commit` throws StoreUnavailable if the store stays unavailable, or once nobody awaits the outcome
 * (`aborted`): what the unit hands out would reach nobody. The outcome is unknown then.
 */
export function commitSurely(
  store: Pick<Store, 'commit' | 'newUnitId'>,
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  aborted: () => boolean = () => false,
): Commit {
  return async (operations) => {
    const id = store.newUnitId();
    const endMs = clock.monotonicMs() + patienceMs;
    for (;;) {
      try {
        return await store.commit(operations, id);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || clock.monotonicMs() >= endMs) throw error;
        await clock.sleep(pauseMs);
        if (aborted()) throw error;
      }
    }
  };
}
