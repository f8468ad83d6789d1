/** A request's body that arrives in more than one piece. */
import type { BufferPool } from '../system/bufferPool.js';
import type { Holder, MemoryBudget } from './memory.js';

/** Sizes of the first and the second allocation, unless the body is known to be smaller. */
const firstBytes = 1 << 18;
const secondBytes = 1 << 21;

/** Memory for bodies in one worker with its limits, and the pool of buffers. */
export interface BodyBudget {
  readonly memory: MemoryBudget;
  readonly pool: BufferPool;
}

/** Outcome of appending a piece. */
export type Gathered = 'taken' | 'too_large' | 'overloaded';

/**
 * Collects one body. Memory grows with the bytes received, not with the announced length: to 256 KiB, then 2
 * MiB, then fourfold, each time at most to the announced length. Even untouched memory has a cost: each MiB
 * allocated brings the next full garbage collection nearer. Bytes count against the worker's budget as they
 * arrive, until {@link release}, because untouched memory is not physical memory yet.
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

  /** Copies one piece, as the server reuses the piece's memory afterwards. */
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

  /** Returns the memory; the body must not be read any more. */
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
