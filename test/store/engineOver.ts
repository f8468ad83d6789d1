/** An engine of the store in which a test replaces a member or two. */
import type { Engine } from '../../src/store/engine.js';

/** The engine, with some of its members replaced. */
export function engineOver(engine: Engine, replaced: Partial<Engine>): Engine {
  return {
    triesAgain: engine.triesAgain,
    get: (key) => engine.get(key),
    getMany: (keys) => engine.getMany(keys),
    scan: (range) => engine.scan(range),
    transact: (keys, decide) => engine.transact(keys, decide),
    removeRange: (range) => engine.removeRange(range),
    snapshot: (use) => engine.snapshot(use),
    count: () => engine.count(),
    close: () => engine.close(),
    ...replaced,
  };
}
