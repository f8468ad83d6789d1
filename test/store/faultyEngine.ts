/** An engine whose transactions fail on purpose, as disks and networks do: with or without having written. */
import type { Engine } from '../../src/store/engine.js';
import { StoreUnavailable } from '../../src/store/store.js';
import { engineOver } from './engineOver.js';

/** What happens to one transaction. */
export type Fault = 'none' | 'failed, not written' | 'failed, but written';

const unavailable = new StoreUnavailable('A fault was injected.');

/** The engine with a fault before each transaction that `next` names. */
export function faultyEngine(engine: Engine, next: () => Fault): Engine {
  return engineOver(engine, {
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
  });
}
