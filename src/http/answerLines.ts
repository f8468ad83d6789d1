/** Answers to a body's lines, buffered and written at the client's pace. */
import type { Holder } from './memory.js';
import { PaceWindow } from './paceWindow.js';
import { makeRoom, type UnsentState, type WaitingAnswer } from './unsent.js';
import type { HttpResponse } from './uws.js';

/** Bytes of one write; the server may buffer as many again for the client. */
const pieceBytes = 65_536;

const lineFeed = 0x0a;

/** The client of the answers, and its first headers. */
export interface LineReader {
  readonly response: HttpResponse;
  /** The holder of the answers' memory; known once the first answer is there. */
  readonly holder: () => Holder;
  /** Writes the head; called once, before the first piece. */
  readonly begin: () => void;
  /** Called when the client has taken everything pending. */
  readonly onDrained: () => void;
}

/** The answers of one request. While its client is slow, it holds memory and is in the server's set. */
export class AnswerLines implements WaitingAnswer {
  heldBytes = 0;
  /** Bytes of all answers. */
  bytes = 0;
  /** True once the head is written. */
  begun = false;
  /** True while the client has not taken all that was written. */
  waiting = false;
  /** Made with the first answer: a request that is refused has none. */
  private gathered = Buffer.alloc(0);
  private length = 0;
  /** Number of buffered bytes that are written already. */
  private from = 0;
  private takenBytes = 0;
  private sinceMs = 0;
  private readonly pace: PaceWindow;

  constructor(
    private readonly state: UnsentState,
    private readonly reader: LineReader,
  ) {
    const { sendWindowMs, sendWindowBytes } = state.limits;
    this.pace = new PaceWindow(sendWindowMs, sendWindowBytes, 0);
  }

  get holder(): Holder {
    return this.reader.holder();
  }

  /** True if enough is buffered to be written. */
  get isFull(): boolean {
    return this.length >= pieceBytes;
  }

  /** Adds an answer; its bytes are copied. */
  add(answer: Uint8Array | string): void {
    const needed = this.length + Buffer.byteLength(answer) + 1;
    if (needed > this.gathered.byteLength) {
      const larger = Buffer.allocUnsafe(2 * Math.max(needed, pieceBytes));
      larger.set(this.gathered.subarray(0, this.length));
      this.gathered = larger;
    }
    if (typeof answer === 'string') this.length += this.gathered.write(answer, this.length);
    else {
      this.gathered.set(answer, this.length);
      this.length += answer.byteLength;
    }
    this.gathered[this.length] = lineFeed;
    this.length += 1;
  }

  /** Writes the buffer, inside a cork; false if the client does not take all of it now. */
  flush(): boolean {
    const { response, begin } = this.reader;
    while (this.from < this.length) {
      if (!this.begun) {
        this.begun = true;
        begin();
        response.onWritable(() => this.resume());
      }
      const end = Math.min(this.from + pieceBytes, this.length);
      const taken = response.write(this.gathered.subarray(this.from, end));
      this.bytes += end - this.from;
      this.takenBytes += end - this.from;
      this.from = end;
      if (!taken) {
        this.hold();
        return false;
      }
    }
    this.release();
    this.from = this.length = 0;
    if (this.gathered.byteLength > 2 * pieceBytes) this.gathered = Buffer.allocUnsafe(2 * pieceBytes);
    return true;
  }

  bytesPerMs(nowMs: number): number {
    return this.takenBytes / Math.max(1, nowMs - this.sinceMs);
  }

  close(): void {
    this.reader.response.close();
  }

  check(nowMs: number): void {
    if (this.pace.isSlow(nowMs, this.takenBytes)) this.close();
  }

  /** Returns its memory. */
  release(): void {
    this.waiting = false;
    this.state.sending.delete(this);
    this.give();
  }

  private give(): void {
    if (this.heldBytes > 0) this.state.answers.give(this.holder, this.heldBytes);
    this.heldBytes = 0;
  }

  /**
   * Buffers the rest for the client. The server's own piece counts too, so slow clients are always checked.
   */
  private hold(): void {
    const rest = Math.max(this.length - this.from, 1);
    this.give();
    if (!makeRoom(this.state, this.holder, rest)) {
      this.close();
      return;
    }
    this.heldBytes = rest;
    this.state.answers.take(this.holder, rest);
    if (this.waiting) return;
    this.waiting = true;
    this.sinceMs = this.state.clock.monotonicMs();
    this.takenBytes = 0;
    this.pace.begin(this.sinceMs, 0);
    this.state.sending.add(this);
  }

  private resume(): boolean {
    if (this.waiting && this.flush()) this.reader.onDrained();
    return true;
  }
}
