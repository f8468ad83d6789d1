/** The rest of a large answer that its client has not taken yet: its memory, and the pace of its reader. */
import type { Clock } from '../system/clock.js';
import type { Holder, MemoryBudget, Shortage } from './memory.js';
import type { HttpResponse } from './uws.js';

/** State that the waiting answers of one server share. */
export interface UnsentState {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly limits: {
    /** Time limit for a client to take {@link sendWindowBytes} of an answer, while something waits (ms). */
    readonly sendWindowMs: number;
    readonly sendWindowBytes: number;
  };
  /** Memory of answers that wait for their clients. */
  readonly answers: MemoryBudget;
  /** Answers that wait. */
  readonly sending: Set<WaitingAnswer>;
}

/** An answer that waits for its client. */
export interface WaitingAnswer {
  readonly holder: Holder;
  /** Bytes that wait in memory of its own. */
  readonly heldBytes: number;
  bytesPerMs(nowMs: number): number;
  /** Ends the connection, which gives its memory back. */
  close(): void;
  /** Closes the connection of a client that takes too little; called about once a second. */
  check(nowMs: number): void;
}

/** Owner of an answer's bytes: nobody, as they never change; the answer, until its release; the handler. */
export type Ownership = 'immutable' | 'owned' | 'lent';

/** An answer of which the client has taken a part. */
interface PartlySent {
  readonly response: HttpResponse;
  /** All of it. */
  readonly bytes: Uint8Array;
  readonly ownership: Ownership;
  readonly holder: Holder;
  /** Called when the client has taken the rest. */
  readonly onSent: () => void;
}

/** Has the rest of an answer wait for its client; undefined where there is no room for it. */
export function waitForClient(state: UnsentState, answer: PartlySent): UnsentAnswer | undefined {
  const rest = answer.bytes.byteLength - answer.response.getWriteOffset();
  if (answer.ownership !== 'immutable' && !makeRoom(state, answer.holder, rest)) return undefined;
  return new UnsentAnswer(state, answer);
}

/** Makes room for so much: closes the slowest readers of whose part is used up. False: that is not enough. */
export function makeRoom(state: UnsentState, holder: Holder, bytes: number): boolean {
  for (;;) {
    const shortage = state.answers.shortage(holder, bytes);
    if (shortage === undefined) return true;
    const slowest = slowestReader(state, holder, shortage);
    if (slowest === undefined) return false;
    slowest.close();
  }
}

/** The slowest reader that has to go. Who has no key takes the room of nobody with one. */
function slowestReader(state: UnsentState, holder: Holder, shortage: Shortage): WaitingAnswer | undefined {
  const nowMs = state.clock.monotonicMs();
  const readers = [...state.sending].filter(({ heldBytes }) => heldBytes > 0);
  const keyless = readers.filter((each) => each.holder !== undefined);
  let among = shortage === 'network' ? readers.filter((each) => each.holder === holder) : keyless;
  if (among.length === 0 && holder === undefined) among = readers;
  const slower = (a: WaitingAnswer, b: WaitingAnswer): WaitingAnswer =>
    b.bytesPerMs(nowMs) < a.bytesPerMs(nowMs) ? b : a;
  return among.length === 0 ? undefined : among.reduce(slower);
}

/** One answer that waits. It stands in the server's set, and holds memory, until {@link release}. */
export class UnsentAnswer implements WaitingAnswer {
  readonly holder: Holder;
  readonly heldBytes: number;
  private readonly rest: Uint8Array;
  /** Offset of the rest in the answer. */
  private readonly from: number;
  private readonly length: number;
  private readonly response: HttpResponse;
  private readonly sinceMs: number;
  private windowStartMs: number;
  /** Bytes offered when the window began. */
  private windowOffset: number;

  constructor(
    private readonly state: UnsentState,
    private readonly answer: PartlySent,
  ) {
    const { response, bytes, ownership, holder } = answer;
    this.response = response;
    this.holder = holder;
    this.from = response.getWriteOffset();
    this.length = bytes.byteLength;
    const rest = bytes.subarray(this.from);
    this.heldBytes = ownership === 'immutable' ? 0 : rest.byteLength;
    this.rest = ownership === 'lent' ? new Uint8Array(rest) : rest;
    if (this.heldBytes > 0) state.answers.take(holder, this.heldBytes);
    this.sinceMs = state.clock.monotonicMs();
    this.windowStartMs = this.sinceMs;
    this.windowOffset = this.from;
    state.sending.add(this);
    response.onWritable(() => this.resume());
  }

  bytesPerMs(nowMs: number): number {
    return (this.response.getWriteOffset() - this.from) / Math.max(1, nowMs - this.sinceMs);
  }

  close(): void {
    this.response.close();
  }

  /**
   * Offers more first, which also renews the server's own ten seconds for a slow client: a client is not to
   * blame for a time in which this worker itself stood still.
   */
  check(nowMs: number): void {
    this.response.cork(() => void this.resume());
    const { sending, limits } = this.state;
    if (!sending.has(this) || nowMs - this.windowStartMs < limits.sendWindowMs) return;
    const offset = this.response.getWriteOffset();
    if (offset - this.windowOffset < limits.sendWindowBytes) {
      this.close();
      return;
    }
    this.windowStartMs = nowMs;
    this.windowOffset = offset;
  }

  /** Gives its memory back. */
  release(): void {
    if (this.state.sending.delete(this) && this.heldBytes > 0)
      this.state.answers.give(this.holder, this.heldBytes);
  }

  /** Sends more; false when the client still does not take all. */
  private resume(): boolean {
    const offset = this.response.getWriteOffset();
    const [ok, done] = this.response.tryEnd(this.rest.subarray(offset - this.from), this.length);
    if (done) this.answer.onSent();
    return ok;
  }
}
