/** Reused memory: large buffers whose pages the operating system need not clear each time. */

/** Largest buffer in the pool (bytes); larger ones are too rare to hold on to. */
const largestKept = 8 << 20;
const smallest = 1 << 16;

/** A bounded pool of buffers by size. Not shared between threads. */
export class BufferPool {
  private readonly stock = new Map<number, Buffer[]>();
  private kept = 0;

  /**
   * @param limit most bytes in the pool
   */
  constructor(private readonly limit: number) {}

  /** A buffer of at least `least` bytes, with the contents of its last use. */
  take(least: number): Buffer {
    const size = sizeFor(least);
    const buffer = this.stock.get(size)?.pop();
    if (buffer === undefined) return Buffer.allocUnsafeSlow(size);
    this.kept -= size;
    return buffer;
  }

  /** Returns a buffer that is no longer read or written. */
  give(buffer: Buffer): void {
    const size = buffer.byteLength;
    if (size < smallest || size > largestKept || this.kept + size > this.limit) return;
    const shelf = this.stock.get(size);
    if (shelf === undefined) this.stock.set(size, [buffer]);
    else shelf.push(buffer);
    this.kept += size;
  }
}

/** Powers of two up to the largest in the pool; beyond that, the requested size. */
function sizeFor(least: number): number {
  if (least > largestKept) return least;
  return Math.max(smallest, 2 ** Math.ceil(Math.log2(least)));
}
