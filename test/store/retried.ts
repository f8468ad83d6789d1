/** A unit that is sent again until the store answers. */
import type { Unit } from '../../src/store/evaluate.js';
import { StoreUnavailable, type Outcome, type Store } from '../../src/store/store.js';

/** Commits a unit under its id, again after each unknown outcome. */
export async function retried(store: Store, { operations, id }: Unit): Promise<Outcome> {
  for (;;) {
    try {
      return await store.commit(operations, id);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
}
