/** A request's body while it comes in more than one piece. */
import type { BufferPool } from '../system/bufferPool.js';
import type { Holder, MemoryBudget } from './memory.js';

/** Bytes taken at first, and then, where the body is not known to be smaller. */
const firstBytes = 1 << 18;
const secondBytes = 1 << 21;

/** Memory held for bodies by one worker, against its limits, and the buffers that are used again. */
export interface BodyBudget {
  readonly memory: MemoryBudget;
  readonly pool: BufferPool;
}

/** Why a piece was not taken. */
export type Gathered = 'taken' | 'too_large' | 'overloaded';

/**
 * Gathers one body. Memory grows with what was sent, not with what is announced: to 256 KiB, then 2 MiB, then
 * fourfold, each time at most to the declared length. Fresh memory is not free even where nobody writes to
 * it: every MiB of it brings the next full garbage collection nearer. Bytes count against the worker's budget
 * as they come, not as they are announced, until {@link release}: what nobody has written to is no memory
 * yet.
 */
export class BodyBuffer {
  private memory: Buffer = Buffer.alloc(0);
  private length = 0;

  /** @param declared the Content-Length, or -1 for a body of unknown length. */
  constructor(
    private readonly budget: BodyBudget,
    private readonly limit: number,
    private readonly declared: number,
    private readonly holder: Holder,
  ) {}

  /** Bytes received. */
  get received(): number {
    return this.length;
  }

  /** Bytes received; a view, not a copy. */
  bytes(): Uint8Array {
    return this.memory.subarray(0, this.length);
  }

  /** Copies one piece, whose memory the server takes back afterwards. */
  append(piece: Uint8Array): Gathered {
    const { memory } = this.budget;
    const needed = this.length + piece.byteLength;
    if (needed > this.limit) return 'too_large';
    if (memory.shortage(this.holder, piece.byteLength, this.length) !== undefined) return 'overloaded';
    if (needed > this.memory.byteLength) this.grow(needed);
    memory.take(this.holder, piece.byteLength);
    this.memory.set(piece, this.length);
    this.length = needed;
    return 'taken';
  }

  /** Gives the memory back; nobody may read the body any more. */
  release(): void {
    this.budget.memory.give(this.holder, this.length);
    this.budget.pool.give(this.memory);
    this.memory = Buffer.alloc(0);
    this.length = 0;
  }

  private grow(needed: number): void {
    const whole = this.declared >= 0 ? this.declared : this.limit;
    const capacity = needed <= firstBytes ? firstBytes : Math.max(secondBytes, 4 * needed);
    const memory = this.budget.pool.take(Math.max(needed, Math.min(whole, capacity)));
    memory.set(this.bytes());
    this.budget.pool.give(this.memory);
    this.memory = memory;
  }
}
