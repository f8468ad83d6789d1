/** An engine whose transactions fail on purpose, as disks and networks do: with or without having written. */
import type { Engine } from '../../src/store/engine.js';
import type { Unavailable } from '../../src/store/store.js';

/** What happens to one transaction. */
export type Fault = 'none' | 'failed, not written' | 'failed, but written';

const unavailable: Unavailable = { kind: 'unavailable', reason: 'A fault was injected.' };

/** The engine with a fault before each transaction that `next` names. */
export function faultyEngine(engine: Engine, next: () => Fault): Engine {
  return {
    get: (key) => engine.get(key),
    scan: (range) => engine.scan(range),
    snapshot: (use) => engine.snapshot(use),
    count: () => engine.count(),
    close: () => engine.close(),
    async transact(keys, decide) {
      const fault = next();
      if (fault === 'failed, not written') return unavailable;
      const failed = await engine.transact(keys, decide);
      return fault === 'none' ? failed : unavailable;
    },
    async removeRange(range) {
      const fault = next();
      if (fault === 'failed, not written') return unavailable;
      const removed = await engine.removeRange(range);
      return fault === 'none' ? removed : unavailable;
    },
  };
}
