/** A store whose units are spans of the requests that commit them; nothing else of it changes. */
import type { Outcome, Store } from '../store/store.js';
import { activeSpan, recorded, type CallFacts } from '../telemetry/tracer.js';

/** A conflict is an outcome that its caller decides about, not a failure. */
function outcomeFacts({ kind }: Outcome): CallFacts {
  return { attributes: { 'fusegate.store.outcome': kind }, hasFailed: false };
}

/** Records a unit's wait and commit in the request's trace, if it has one. */
export function tracedStore(store: Store): Store {
  return {
    commit(operations, id) {
      const span = activeSpan()?.child('store commit', 'internal');
      if (span === undefined) return store.commit(operations, id);
      const count = { 'fusegate.store.operations': operations.length };
      return recorded(span, count, () => store.commit(operations, id), outcomeFacts);
    },
    newUnitId: () => store.newUnitId(),
    get: (...given) => store.get(...given),
    getMany: (...given) => store.getMany(...given),
    scan: (...given) => store.scan(...given),
    read: (...given) => store.read(...given),
    last: (...given) => store.last(...given),
    trim: (...given) => store.trim(...given),
    prune: (...given) => store.prune(...given),
    probe: () => store.probe(),
    close: () => store.close(),
  };
}
