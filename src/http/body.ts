/** A request's body while it comes in more than one piece. */
import type { BufferPool } from '../system/bufferPool.js';

/**
 * Bytes taken at first: a client must have sent as many before memory for the rest of a large body is
 * taken.
 */
const firstBytes = 1 << 18;

/** Memory held for bodies by one worker, against its limit, and the buffers that are used again. */
export interface BodyBudget {
  held: number;
  readonly limit: number;
  readonly pool: BufferPool;
}

/** Why a piece was not taken. */
export type Gathered = 'taken' | 'too_large' | 'overloaded';

/**
 * Gathers one body. With a declared length memory is taken twice at most: up to 256 KiB, then all of it;
 * without one (chunked coding) it doubles. What is taken counts against the worker's budget until {@link
 * release}.
 */
export class BodyBuffer {
  private memory: Buffer = Buffer.alloc(0);
  private length = 0;

  /** @param declared the Content-Length, or -1 for a body of unknown length. */
  constructor(
    private readonly budget: BodyBudget,
    private readonly limit: number,
    private readonly declared: number,
  ) {}

  /** Bytes received. */
  get received(): number {
    return this.length;
  }

  /** What was received; a view, not a copy. */
  bytes(): Uint8Array {
    return this.memory.subarray(0, this.length);
  }

  /** Copies one piece, whose memory the server takes back afterwards. */
  append(piece: Uint8Array): Gathered {
    const needed = this.length + piece.byteLength;
    if (needed > this.limit) return 'too_large';
    if (needed > this.memory.byteLength && !this.grow(needed)) return 'overloaded';
    this.memory.set(piece, this.length);
    this.length = needed;
    return 'taken';
  }

  /** Gives the memory back; nobody may read the body any more. */
  release(): void {
    this.budget.held -= this.memory.byteLength;
    this.budget.pool.give(this.memory);
    this.memory = Buffer.alloc(0);
    this.length = 0;
  }

  private grow(needed: number): boolean {
    const whole = this.declared >= 0 ? this.declared : Math.min(this.limit, 2 * needed);
    const capacity = needed <= firstBytes ? Math.min(whole, firstBytes) : whole;
    if (this.budget.held + capacity > this.budget.limit) return false;
    const memory = this.budget.pool.take(Math.max(capacity, needed));
    memory.set(this.bytes());
    this.budget.held += memory.byteLength - this.memory.byteLength;
    this.budget.pool.give(this.memory);
    this.memory = memory;
    return true;
  }
}
