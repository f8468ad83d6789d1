/** A bounded queue of work, a few pieces at a time; work that no caller awaits any more is dropped. */

/** Why work was not done: the queue is full, or the caller has gone. */
export type NotDone = 'busy';

/** Queues work after earlier work. `signal`: aborted when the caller has gone; running work must check it. */
export type InTurn = <Value>(work: () => Promise<Value>, signal: AbortSignal) => Promise<Value | NotDone>;

/** Queued work. */
interface Waiting {
  readonly begin: () => void;
}

/** Makes a queue with at most `atOnce` running pieces, and `most` queued ones. */
export function workQueue(atOnce: number, most: number): InTurn {
  const waiting = new Set<Waiting>();
  let running = 0;
  const end = (): void => {
    running -= 1;
    const [next] = waiting;
    next?.begin();
  };
  const run = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    running += 1;
    try {
      return await work();
    } finally {
      end();
    }
  };
  return (work, signal) => {
    if (signal.aborted) return Promise.resolve('busy');
    if (running < atOnce) return run(work);
    if (waiting.size >= most) return Promise.resolve('busy');
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(entry);
        resolve('busy');
      };
      const entry: Waiting = {
        begin: () => {
          waiting.delete(entry);
          signal.removeEventListener('abort', leave);
          run(work).then(resolve, reject);
        },
      };
      waiting.add(entry);
      signal.addEventListener('abort', leave);
    });
  };
}

/** A value that several callers await; it is abandoned when the last of them has gone. */
interface Shared<Value> {
  readonly asOf: number;
  readonly value: Promise<Value | NotDone>;
  readonly abandon: AbortController;
  askers: number;
}

/** Caches the last value, by the log position that it was made for. */
export function remembered<Value>(
  make: (asOf: number, signal: AbortSignal) => Promise<Value | NotDone>,
): (asOf: number, signal: AbortSignal) => Promise<Value | NotDone> {
  let last: Shared<Value> | undefined;
  const begin = (asOf: number): Shared<Value> => {
    const abandon = new AbortController();
    const shared = { asOf, value: make(asOf, abandon.signal), abandon, askers: 0 };
    const forget = (): void => {
      if (last === shared) last = undefined;
    };
    shared.value.then((value) => {
      if (value === 'busy') forget();
    }, forget);
    abandon.signal.addEventListener('abort', forget);
    return shared;
  };
  return (asOf, signal) => {
    const shared = last?.asOf === asOf ? last : begin(asOf);
    last = shared;
    shared.askers += 1;
    signal.addEventListener('abort', () => {
      shared.askers -= 1;
      if (shared.askers === 0) shared.abandon.abort();
    });
    return shared.value;
  };
}
