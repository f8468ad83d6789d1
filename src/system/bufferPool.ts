/** Memory that is used again: large buffers whose pages the operating system need not clear each time. */

/** Largest buffer that is kept (bytes); larger ones are too rare to hold on to. */
const largestKept = 8 << 20;
const smallest = 1 << 16;

/** A bounded stock of buffers by size. Not shared between threads. */
export class BufferPool {
  private readonly stock = new Map<number, Buffer[]>();
  private kept = 0;

  /** @param limit bytes that may lie in stock */
  constructor(private readonly limit: number) {}

  /** A buffer of at least `least` bytes, with whatever its last user left in it. */
  take(least: number): Buffer {
    const size = sizeFor(least);
    const buffer = this.stock.get(size)?.pop();
    if (buffer === undefined) return Buffer.allocUnsafeSlow(size);
    this.kept -= size;
    return buffer;
  }

  /** Takes a buffer back that nobody reads or writes any more. */
  give(buffer: Buffer): void {
    const size = buffer.byteLength;
    if (size < smallest || size > largestKept || this.kept + size > this.limit) return;
    const shelf = this.stock.get(size);
    if (shelf === undefined) this.stock.set(size, [buffer]);
    else shelf.push(buffer);
    this.kept += size;
  }
}

/** Powers of two up to the largest that is kept; beyond, what is asked for. */
function sizeFor(least: number): number {
  if (least > largestKept) return least;
  return Math.max(smallest, 2 ** Math.ceil(Math.log2(least)));
}
