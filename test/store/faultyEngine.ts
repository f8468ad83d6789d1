/** An engine whose transactions fail on purpose, as disks and networks do: with or without having written. */
import type { Engine } from '../../src/store/engine.js';
import { StoreUnavailable } from '../../src/store/store.js';

/** What happens to one transaction. */
export type Fault = 'none' | 'failed, not written' | 'failed, but written';

const unavailable = new StoreUnavailable('A fault was injected.');

/** The engine with a fault before each transaction that `next` names. */
export function faultyEngine(engine: Engine, next: () => Fault): Engine {
  return {
    triesAgain: engine.triesAgain,
    get: (key) => engine.get(key),
    getMany: (keys) => engine.getMany(keys),
    scan: (range) => engine.scan(range),
    snapshot: (use) => engine.snapshot(use),
    count: () => engine.count(),
    close: () => engine.close(),
    async transact(keys, decide) {
      const fault = next();
      if (fault === 'failed, not written') throw unavailable;
      await engine.transact(keys, decide);
      if (fault !== 'none') throw unavailable;
    },
    async removeRange(range) {
      const fault = next();
      if (fault === 'failed, not written') throw unavailable;
      const removed = await engine.removeRange(range);
      if (fault !== 'none') throw unavailable;
      return removed;
    },
  };
}
