/** The rest of a large answer that its client has not taken yet: its memory, and the reader's pace. */
import type { Clock } from '../system/clock.js';
import type { Holder, MemoryBudget, Shortage } from './memory.js';
import { PaceWindow } from './paceWindow.js';
import type { HttpResponse } from './uws.js';

/** State that the waiting answers of one server share. */
export interface UnsentState {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly limits: {
    /** Time limit for a client to take {@link sendWindowBytes} of a pending answer (ms). */
    readonly sendWindowMs: number;
    readonly sendWindowBytes: number;
  };
  /** Memory of answers that wait for their clients. */
  readonly answers: MemoryBudget;
  /** Answers that wait for their clients. */
  readonly sending: Set<WaitingAnswer>;
}

/** An answer that waits for its client. */
export interface WaitingAnswer {
  readonly holder: Holder;
  /** Bytes in memory of its own. */
  readonly heldBytes: number;
  bytesPerMs(nowMs: number): number;
  /** Ends the connection, which returns its memory. */
  close(): void;
  /** Closes the connection of a client that reads too slowly; called about once a second. */
  check(nowMs: number): void;
}

/** Owner of an answer's bytes: nobody, as they never change; the answer, until its release; the handler. */
export type Ownership = 'immutable' | 'owned' | 'lent';

/** An answer that the client has taken in part. */
interface PartlySent {
  readonly response: HttpResponse;
  /** The whole answer. */
  readonly bytes: Uint8Array;
  readonly ownership: Ownership;
  readonly holder: Holder;
  /** True if nothing is read from the connection once all is sent. */
  readonly isLast: boolean;
  /** Called when the client has taken the rest. */
  readonly onSent: () => void;
}

/** Buffers the rest of an answer for its client; undefined if there is no room for it. */
export function waitForClient(state: UnsentState, answer: PartlySent): UnsentAnswer | undefined {
  const rest = answer.bytes.byteLength - answer.response.getWriteOffset();
  if (answer.ownership !== 'immutable' && !makeRoom(state, answer.holder, rest)) return undefined;
  return new UnsentAnswer(state, answer);
}

/** Makes room for `bytes`: closes the slowest readers of the share that is used up. False: not enough. */
export function makeRoom(state: UnsentState, holder: Holder, bytes: number): boolean {
  for (;;) {
    const shortage = state.answers.shortage(holder, bytes);
    if (shortage === undefined) return true;
    const slowest = slowestReader(state, holder, shortage);
    if (slowest === undefined) return false;
    slowest.close();
  }
}

/** The slowest reader to close. A caller without a key never takes the room of one with a key. */
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

/** One answer that waits. It is in the server's set, and holds memory, until {@link release}. */
export class UnsentAnswer implements WaitingAnswer {
  readonly holder: Holder;
  readonly heldBytes: number;
  private readonly rest: Uint8Array;
  /** Offset of the rest in the answer. */
  private readonly from: number;
  private readonly length: number;
  private readonly response: HttpResponse;
  private readonly sinceMs: number;
  private readonly pace: PaceWindow;

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
    state.answers.take(holder, this.heldBytes);
    this.sinceMs = state.clock.monotonicMs();
    const { sendWindowMs, sendWindowBytes } = state.limits;
    this.pace = new PaceWindow(sendWindowMs, sendWindowBytes, this.sinceMs, this.from);
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
   * Offers more first, which also renews the server's own ten seconds for a slow client: a client must not be
   * blamed for a time in which this worker stood still.
   */
  check(nowMs: number): void {
    this.response.cork(() => void this.resume());
    // Once all is sent, the response must not be touched.
    if (!this.state.sending.has(this)) return;
    if (this.pace.isSlow(nowMs, this.response.getWriteOffset())) this.close();
  }

  /** Returns its memory. */
  release(): void {
    if (this.state.sending.delete(this)) this.state.answers.give(this.holder, this.heldBytes);
  }

  /** Sends more; false if the client still does not take all of it. */
  private resume(): boolean {
    const { response } = this;
    const { isLast, onSent } = this.answer;
    const offset = response.getWriteOffset();
    if (isLast) response.pause();
    const [ok, done] = response.tryEnd(this.rest.subarray(offset - this.from), this.length);
    if (done) onSent();
    else if (isLast) response.resume();
    return ok;
  }
}
