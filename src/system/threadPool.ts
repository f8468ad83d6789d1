/**
 * Work on bodies in Node's thread pool, which has four threads (libuv). Writes to the store, files and names
 * of hosts use the same ones: they must not wait until bodies of many clients are done.
 */
import { workQueue, type InTurn } from './workQueue.js';

/** Threads that work on bodies. */
const atOnce = 3;

/**
 * Runs work in the pool, in its turn; `busy`: the caller has gone meanwhile. What waits holds its body, so
 * that the memory for bodies bounds its number.
 */
export const inPool: InTurn = workQueue(atOnce, Infinity);

/** As {@link workQueue}, for work in the pool: when it is first in its own queue, it takes its turn there. */
export function poolQueue(atOnce: number, most: number): InTurn {
  const inTurn = workQueue(atOnce, most);
  return (work, signal) => inTurn(() => inPool(work, signal), signal);
}

const never = new AbortController().signal;

/** As {@link inPool}, for a caller that waits in any case. */
export function inPoolAnyway<Value>(work: () => Promise<Value>): Promise<Value> {
  // With a signal that is never aborted it is never `busy`.
  return inPool(work, never) as Promise<Value>;
}
