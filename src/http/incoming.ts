/** A body that arrives in several pieces, or without a length: its bytes, and its sender's pace. */
import { BodyBuffer, type BodyBudget, type Gathered } from './body.js';
import type { Holder } from './memory.js';
import { PaceWindow } from './paceWindow.js';

/** State that the bodies of one server share. */
export interface IncomingState {
  readonly limits: {
    /** Time limit for each further {@link bodyWindowBytes} of a body (ms). */
    readonly bodyWindowMs: number;
    readonly bodyWindowBytes: number;
  };
  readonly bodies: BodyBudget;
  /** Senders whose bodies are still arriving. */
  readonly receiving: Set<PacedSender>;
}

/** The sender of a body whose pace is checked. */
export interface PacedSender {
  /** Checks the pace; called about once a second. */
  check(nowMs: number): void;
}

/** One body. It is in the server's set until {@link end}, and holds memory until {@link release}. */
export class IncomingBody implements PacedSender {
  private buffer: BodyBuffer | undefined;
  private readonly pace: PaceWindow;

  /**
   * @param declared the Content-Length, or -1
   * @param startedMs when the request began
   * @param onSlow called once if the body is too slow
   */
  constructor(
    private readonly state: IncomingState,
    private readonly limit: number,
    private readonly declared: number,
    startedMs: number,
    private readonly onSlow: () => void,
  ) {
    const { bodyWindowMs, bodyWindowBytes } = state.limits;
    this.pace = new PaceWindow(bodyWindowMs, bodyWindowBytes, startedMs);
    state.receiving.add(this);
  }

  /** True until a piece was taken. */
  get isEmpty(): boolean {
    return this.buffer === undefined;
  }

  /** Copies one piece; its memory counts as its holder's from the first piece on. */
  append(piece: Uint8Array, holder: Holder): Gathered {
    this.buffer ??= new BodyBuffer(this.state.bodies, this.limit, this.declared, holder);
    return this.buffer.append(piece);
  }

  /** Bytes received; a view, not a copy. */
  bytes(): Uint8Array {
    return this.buffer?.bytes() ?? new Uint8Array(0);
  }

  /** Accepts no more of it. */
  end(): void {
    this.state.receiving.delete(this);
  }

  /** Returns its memory; the body must not be read any more. */
  release(): void {
    this.buffer?.release();
    this.buffer = undefined;
  }

  check(nowMs: number): void {
    if (!this.pace.isSlow(nowMs, this.buffer?.received ?? 0)) return;
    this.end();
    this.onSlow();
  }
}
