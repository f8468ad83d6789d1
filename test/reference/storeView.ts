/** The naive store behind the store's contract, for what runs in one process of a test. */
import type { Operation, Outcome, Store } from '../../src/store/store.js';
import { newUnitId } from '../support/openStore.js';
import type { ReferenceStore } from './store.js';

/** What a view is made of. */
export interface ViewParts {
  /** The store as it is now. */
  readonly reference: () => ReferenceStore;
  readonly commit: (operations: readonly Operation[]) => Promise<Outcome>;
  /** Runs a call that reads; a test may let it fail, or never end. */
  readonly read: <Value>(call: () => Value) => Promise<Value>;
}

/** A store that reads and commits, and does nothing else. */
export function viewOf({ reference, commit, read }: ViewParts): Store {
  const unused = (): never => {
    throw new Error('not used here');
  };
  return {
    commit,
    newUnitId,
    get: (space, key) => read(() => reference().get(space, key)),
    getMany: (space, keys) => read(() => keys.map((key) => reference().get(space, key))),
    scan: (space, { from, to, limit }) =>
      read(() =>
        reference()
          .scan(space)
          .filter(({ key }) => from === undefined || Buffer.compare(key, from) >= 0)
          .filter(({ key }) => to === undefined || Buffer.compare(key, to) < 0)
          .slice(0, limit),
      ),
    read: (log, { after, limit }) =>
      read(() =>
        reference()
          .read(log)
          .filter(({ position }) => position > after)
          .slice(0, limit),
      ),
    last: (log) => read(() => reference().last(log)),
    ...{ trim: unused, prune: unused, probe: unused, close: () => Promise.resolve() },
  };
}
