/** Counts calls of slow work by the turns of the event loop in which they are made. */

/** Slow work, and the most calls of it in one turn. */
export interface ByTurn<Given, Value> {
  readonly work: (given: Given) => Value;
  /** Ends the count. */
  readonly most: () => number;
}

/** The same work, of which each call takes at least a millisecond. */
export function byTurn<Given, Value>(given: (what: Given) => Value): ByTurn<Given, Value> {
  const calls: number[] = [0];
  const next = (): void => {
    calls.push(0);
    beat = setImmediate(next);
  };
  let beat = setImmediate(next);
  return {
    work(what) {
      for (const begunMs = performance.now(); performance.now() - begunMs < 1;);
      calls.push((calls.pop() ?? 0) + 1);
      return given(what);
    },
    most() {
      clearImmediate(beat);
      return calls.reduce((most, each) => Math.max(most, each));
    },
  };
}
