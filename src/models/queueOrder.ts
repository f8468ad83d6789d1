/**
 * Order of the queue, and its admission. Shortest remaining time first, as long as
 * nobody's deadline is in danger; earliest deadline first from then on (Liu and Layland, 1973: the order that
 * keeps all deadlines where any order does).
 *
 * Turns, a text of each call, would end calls of like length all together, at the end: with more than can be
 * done in time all of them were late, and none served.
 */

/** A call as far as the order is concerned. */
export interface WaitingCall {
  /** When its last text must be done, by the monotonic clock. */
  readonly deadlineAtMs: number;
  /** Its texts that are not given to the embedder yet. */
  readonly left: readonly unknown[];
}

/** Time that is left unplanned of a deadline (ms): how long a text takes is an estimate. */
export function marginOf(deadlineMs: number): number {
  return deadlineMs / 10;
}

/**
 * The call whose text is next; undefined: no call has one. `calls`: the earliest deadline first; `msLeft`:
 * how long the rest of a call takes. A call with less left goes before an older one while those before it
 * keep their deadlines by more than the margin. One that cannot keep its own goes last: it delays nobody, and
 * has what no other needs of the embedder's time.
 */
export function nextCall<Call extends WaitingCall>(
  calls: Iterable<Call>,
  msLeft: (call: Call) => number,
  nowMs: number,
  marginMs: number,
): Call | undefined {
  let next: Call | undefined;
  let nextMs = Infinity;
  let hopeless: Call | undefined;
  let workMs = 0;
  let slackMs = Infinity;
  for (const call of calls) {
    const [ms, untilMs] = [msLeft(call), call.deadlineAtMs - nowMs];
    if (ms > untilMs) {
      if (call.left.length > 0) hopeless ??= call;
      continue;
    }
    if (call.left.length > 0 && ms < nextMs && (next === undefined || slackMs > marginMs)) {
      [next, nextMs] = [call, ms];
    }
    workMs += ms;
    slackMs = Math.min(slackMs, untilMs - workMs);
  }
  return next ?? hopeless;
}

/**
 * True if a new call that takes `ms` can be done by its deadline when all that can keep theirs are done
 * before. Where the answer is yes for each, no call is late for another's sake.
 */
export function canBeDone<Call extends WaitingCall>(
  calls: Iterable<Call>,
  ms: number,
  msLeft: (call: Call) => number,
  nowMs: number,
  deadlineMs: number,
): boolean {
  let workMs = ms;
  for (const call of calls) {
    const left = msLeft(call);
    if (left <= call.deadlineAtMs - nowMs) workMs += left;
  }
  return workMs <= deadlineMs - marginOf(deadlineMs);
}
