/** A pool of buffers for tests: what was taken from it, and what is still out. */
import assert from 'node:assert/strict';
import { BufferPool } from '../../src/system/bufferPool.js';

/** A pool that fails a test which gives back what is not out. */
export class WatchedPool extends BufferPool {
  /** Bytes that were asked for, in order. */
  readonly asked: number[] = [];
  /** Bytes of the buffers that were taken for it. */
  readonly taken: number[] = [];
  readonly out = new Set<Buffer>();

  override take(least: number): Buffer {
    const buffer = super.take(least);
    this.asked.push(least);
    this.taken.push(buffer.byteLength);
    this.out.add(buffer);
    return buffer;
  }

  override give(buffer: Buffer): void {
    if (buffer.byteLength > 0) assert.ok(this.out.delete(buffer), 'a buffer comes back that is not out');
    super.give(buffer);
  }
}
