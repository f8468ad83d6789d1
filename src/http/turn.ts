/** Tells if the present turn of the event loop lasts long. */

/** Time from which a turn is long (ms). */
const longMs = 20;

/** Least time between two looks for the end of a turn (ms). */
const lookMs = 5;

/**
 * The turns of the event loop. All requests that a connection has sent arrive in one turn, however many they
 * are, and others wait that long. In a long turn the next answer of each connection waits for the next turn.
 * If another request follows an unanswered one, uWebSockets.js closes the connection.
 */
export class Turn {
  /** When the turn that is looked at had begun; undefined: none is. */
  private sinceMs: number | undefined;
  private nextLookMs = -Infinity;

  /** True if the turn in which a request has come at `nowMs` is long. Called for every request, in order. */
  isLong(nowMs: number): boolean {
    if (this.sinceMs !== undefined) return nowMs - this.sinceMs >= longMs;
    if (nowMs < this.nextLookMs) return false;
    setImmediate(() => (this.sinceMs = undefined));
    [this.sinceMs, this.nextLookMs] = [nowMs, nowMs + lookMs];
    return false;
  }
}
