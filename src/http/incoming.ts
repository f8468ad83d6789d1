/** A body that comes in several pieces, or without a length: its bytes, and the pace of its sender. */
import { BodyBuffer, type BodyBudget, type Gathered } from './body.js';
import type { Holder } from './memory.js';

/** State that the bodies of one server share. */
export interface IncomingState {
  readonly limits: {
    /** Time limit for {@link bodyWindowBytes} more of a body (ms). */
    readonly bodyWindowMs: number;
    readonly bodyWindowBytes: number;
  };
  readonly bodies: BodyBudget;
  /** Bodies that are still coming. */
  readonly receiving: Set<PacedSender>;
}

/** Who sends a body at a pace that is looked at. */
export interface PacedSender {
  /** Looks at the pace; called about once a second. */
  check(nowMs: number): void;
}

/** One body. It stands in the server's set until {@link end}, and holds memory until {@link release}. */
export class IncomingBody implements PacedSender {
  private buffer: BodyBuffer | undefined;
  private windowBytes = 0;

  /**
   * @param declared the Content-Length, or -1
   * @param windowStartMs when the request began
   * @param onSlow called once when the body brings too little
   */
  constructor(
    private readonly state: IncomingState,
    private readonly limit: number,
    private readonly declared: number,
    private windowStartMs: number,
    private readonly onSlow: () => void,
  ) {
    state.receiving.add(this);
  }

  /** True while no piece was taken. */
  get isEmpty(): boolean {
    return this.buffer === undefined;
  }

  /** Copies one piece, which counts as its holder's from the first one on. */
  append(piece: Uint8Array, holder: Holder): Gathered {
    this.buffer ??= new BodyBuffer(this.state.bodies, this.limit, this.declared, holder);
    return this.buffer.append(piece);
  }

  /** Bytes received; a view, not a copy. */
  bytes(): Uint8Array {
    return this.buffer?.bytes() ?? new Uint8Array(0);
  }

  /** No more of it is taken. */
  end(): void {
    this.state.receiving.delete(this);
  }

  /** Gives its memory back; nobody may read it any more. */
  release(): void {
    this.buffer?.release();
    this.buffer = undefined;
  }

  check(nowMs: number): void {
    const { bodyWindowMs, bodyWindowBytes } = this.state.limits;
    if (nowMs - this.windowStartMs < bodyWindowMs) return;
    const received = this.buffer?.received ?? 0;
    if (received - this.windowBytes < bodyWindowBytes) {
      this.end();
      this.onSlow();
      return;
    }
    this.windowStartMs = nowMs;
    this.windowBytes = received;
  }
}
