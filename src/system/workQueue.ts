/** Work a few pieces at a time: bounded, and taken away when nobody waits for it any more. */

/** Why work was not done: too much waits, or its asker has gone. */
export type NotDone = 'busy';

/** Runs work after what came before it. `signal`: its asker has gone; work that runs looks at it itself. */
export type InTurn = <Value>(work: () => Promise<Value>, signal: AbortSignal) => Promise<Value | NotDone>;

/** Work that waits. */
interface Waiting {
  readonly begin: () => void;
}

/** Makes a queue of at most `atOnce` pieces that run, and `most` that wait. */
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
      signal.addEventListener('abort', leave, { once: true });
    });
  };
}

/** A value that several askers wait for; it is given up when the last of them has gone. */
interface Shared<Value> {
  readonly asOf: number;
  readonly value: Promise<Value | NotDone>;
  readonly abandon: AbortController;
  askers: number;
}

/** An answer's part that is made once for a state of the log and repeated for that state. */
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
    signal.addEventListener(
      'abort',
      () => {
        shared.askers -= 1;
        if (shared.askers === 0) shared.abandon.abort();
      },
      { once: true },
    );
    return shared.value;
  };
}
