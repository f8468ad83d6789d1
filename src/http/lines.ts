/** The lines of a body as it comes (NDJSON): those that are there, and the beginning of the next one. */
import type { BodyBudget } from './body.js';
import type { Holder } from './memory.js';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Why a line is not there: it is longer than lines may be, or there is no memory for it. */
export type MissingLine = 'too long' | 'overloaded';

/** Bytes of a piece that are not yet part of a line that was given out. */
interface Piece {
  bytes: Uint8Array;
  /** True if they lie in memory that the server takes back. */
  borrowed: boolean;
}

/**
 * Cuts one body into lines. A line is held until it is whole, in memory that counts as its sender's; what is
 * longer than a line may be is dropped as it comes.
 */
export class Lines {
  /** Lines that were given out or missed. */
  count = 0;
  private readonly pieces: Piece[] = [];
  /** The beginning of a line whose end has not come. */
  private beginning: Buffer = Buffer.alloc(0);
  private begun = 0;
  private missing: MissingLine | undefined;
  private ended = false;
  /** Bytes that count as the sender's. */
  private held = 0;

  constructor(
    private readonly budget: BodyBudget,
    private readonly limit: number,
    /** Whose memory it is, which is known when the first piece comes. */
    private readonly holder: () => Holder,
  ) {}

  /** True if nothing is left that could be a line, or a part of one that was cut. */
  get isEmpty(): boolean {
    return this.pieces.length === 0;
  }

  /** Takes a piece, which {@link keep} must follow before its memory is taken back. */
  push(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.pieces.push({ bytes, borrowed: true });
  }

  /** No more comes. */
  end(): void {
    this.ended = true;
  }

  /** The next whole line, valid until the next call here; undefined where none is there. Blank ones count. */
  next(): Uint8Array | MissingLine | undefined {
    for (;;) {
      const line = this.nextOfAny();
      if (line === undefined || typeof line === 'string' || !isBlank(line)) return line;
    }
  }

  /** Copies what is left of a borrowed piece. */
  keep(): void {
    const last = this.pieces.at(-1);
    if (last?.borrowed !== true) return;
    this.take(last.bytes.byteLength);
    last.bytes = new Uint8Array(last.bytes);
    last.borrowed = false;
  }

  /** Gives all memory back. */
  release(): void {
    this.pieces.length = 0;
    this.give(this.held);
    this.budget.pool.give(this.beginning);
    this.beginning = Buffer.alloc(0);
    this.begun = 0;
  }

  private nextOfAny(): Uint8Array | MissingLine | undefined {
    for (let piece = this.pieces[0]; piece !== undefined; piece = this.pieces[0]) {
      if (this.begun === 0 && this.missing === undefined && this.skipBlank(piece)) continue;
      const { bytes } = piece;
      const end = bytes.indexOf(lineFeed);
      if (end < 0) {
        this.begin(bytes);
        this.drop(piece, bytes.byteLength);
        continue;
      }
      const isWhole = this.begun === 0 && this.missing === undefined && end <= this.limit;
      if (!isWhole) this.begin(bytes.subarray(0, end));
      this.drop(piece, end + 1);
      return isWhole ? this.counted(bytes.subarray(0, end)) : this.finished();
    }
    if (!this.ended || (this.begun === 0 && this.missing === undefined)) return undefined;
    return this.finished();
  }

  /** Drops the blank lines that a piece begins with, in one pass: a body may be made of nothing else. */
  private skipBlank(piece: Piece): boolean {
    const { bytes } = piece;
    let at = 0;
    for (; ; this.count += 1) {
      if (bytes[at] === lineFeed) at += 1;
      else if (bytes[at] === carriageReturn && bytes[at + 1] === lineFeed) at += 2;
      else break;
    }
    if (at > 0) this.drop(piece, at);
    return at > 0;
  }

  /** The line that had begun, which is whole now. */
  private finished(): Uint8Array | MissingLine {
    const line = this.missing ?? this.beginning.subarray(0, this.begun);
    this.give(this.begun);
    this.begun = 0;
    this.missing = undefined;
    return this.counted(line);
  }

  private counted<Line>(line: Line): Line {
    this.count += 1;
    return line;
  }

  /** Adds to the beginning of a line. */
  private begin(part: Uint8Array): void {
    if (this.missing !== undefined) return;
    const needed = this.begun + part.byteLength;
    const isShort = this.budget.memory.shortage(this.holder(), part.byteLength, this.held) !== undefined;
    if (needed > this.limit || isShort) {
      this.missing = isShort ? 'overloaded' : 'too long';
      this.give(this.begun);
      this.begun = 0;
      return;
    }
    if (needed > this.beginning.byteLength) {
      const larger = this.budget.pool.take(Math.max(needed, Math.min(2 * needed, this.limit)));
      larger.set(this.beginning.subarray(0, this.begun));
      this.budget.pool.give(this.beginning);
      this.beginning = larger;
    }
    this.take(part.byteLength);
    this.beginning.set(part, this.begun);
    this.begun = needed;
  }

  /** Drops the first bytes of the first piece. */
  private drop(piece: Piece, bytes: number): void {
    if (!piece.borrowed) this.give(bytes);
    piece.bytes = piece.bytes.subarray(bytes);
    if (piece.bytes.byteLength === 0) this.pieces.shift();
  }

  private take(bytes: number): void {
    this.budget.memory.take(this.holder(), bytes);
    this.held += bytes;
  }

  private give(bytes: number): void {
    // Whose it is cannot be asked any more where nothing was ever taken.
    if (bytes === 0) return;
    this.budget.memory.give(this.holder(), bytes);
    this.held -= bytes;
  }
}

/** True if a line has nothing, or what a line feed of Windows leaves. */
function isBlank(line: Uint8Array): boolean {
  return line.byteLength === 0 || (line.byteLength === 1 && line[0] === carriageReturn);
}
