/**
 * Order and admission of the queue. Shortest remaining time first, as long as no deadline is in danger; then
 * earliest deadline first (Liu and Layland, 1973: this order meets all deadlines if any order does).
 *
 * Round robin, one text per call, would finish calls of similar length all at the end: under overload every
 * call would be late, and none served.
 */

/** A call as the order sees it. */
export interface WaitingCall {
  /** Its deadline on the monotonic clock. */
  readonly deadlineAtMs: number;
  /** Its texts that are not sent to the embedder yet. */
  readonly left: readonly unknown[];
}

/** Part of a deadline that is left unplanned (ms), because the time of a text is an estimate. */
export function marginOf(deadlineMs: number): number {
  return deadlineMs / 10;
}

/**
 * The call whose text is next; undefined: there is none. `calls`: the earliest deadline first; `msLeft`:
 * remaining time of a call. A shorter call goes before an older one while the calls before it still meet
 * their deadlines by more than the margin. A call that cannot meet its own deadline goes last: it delays no
 * other, and uses only spare time.
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
 * True if a new call that takes `ms` meets its deadline after all calls that can meet theirs. If this was
 * true for each call when it arrived, no call is late because of another.
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
