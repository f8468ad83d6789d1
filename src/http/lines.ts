/** Cuts an arriving body (NDJSON) into lines: the complete ones, and the start of the next. */
import type { BodyBudget } from './body.js';
import type { Holder } from './memory.js';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Why a line is missing: it is longer than allowed, or there is no memory for it. */
export type MissingLine = 'too long' | 'overloaded';

/** Bytes of a piece that are not yet part of a returned line. */
interface Piece {
  bytes: Uint8Array;
  /** True if they are in memory that the server will reuse. */
  borrowed: boolean;
}

/**
 * Cuts one body into lines. An incomplete line is held in memory that counts as its sender's; a line beyond
 * the limit is dropped as it arrives.
 */
export class Lines {
  /** Lines returned, reported as missing, or blank. */
  count = 0;
  private readonly pieces: Piece[] = [];
  /** The start of an incomplete line. */
  private beginning: Buffer = Buffer.alloc(0);
  private begun = 0;
  private missing: MissingLine | undefined;
  private ended = false;
  /** Bytes that count as the sender's. */
  private held = 0;

  constructor(
    private readonly budget: BodyBudget,
    /** Bytes of the longest line. */
    readonly limit: number,
    /** The holder of the memory; known when the first piece arrives. */
    private readonly holder: () => Holder,
  ) {}

  /** True if nothing is left that could be a line, or part of an incomplete one. */
  get isEmpty(): boolean {
    return this.pieces.length === 0;
  }

  /** Adds a piece; {@link keep} must be called before its memory is reused. */
  push(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.pieces.push({ bytes, borrowed: true });
  }

  /** The body has ended. */
  end(): void {
    this.ended = true;
  }

  /**
   * The next complete line, valid until the next call, or undefined. Blank lines are counted, not returned.
   */
  next(): Uint8Array | MissingLine | undefined {
    for (;;) {
      const line = this.nextOfAny();
      if (line === undefined || typeof line === 'string' || !isBlank(line)) return line;
    }
  }

  /** Copies the rest of a borrowed piece. */
  keep(): void {
    const last = this.pieces.at(-1);
    if (last?.borrowed !== true) return;
    this.take(last.bytes.byteLength);
    last.bytes = new Uint8Array(last.bytes);
    last.borrowed = false;
  }

  /** Returns all memory; no line is left. */
  release(): void {
    this.pieces.length = 0;
    this.give(this.held);
    this.budget.pool.give(this.beginning);
    this.beginning = Buffer.alloc(0);
    this.begun = 0;
    this.missing = undefined;
  }

  private nextOfAny(): Uint8Array | MissingLine | undefined {
    for (let piece = this.pieces[0]; piece !== undefined; piece = this.pieces[0]) {
      if (!this.hasBegun && this.skipBlank(piece)) continue;
      const { bytes } = piece;
      const end = bytes.indexOf(lineFeed);
      // First, so that bytes do not count twice while they are copied to the start of a line.
      this.drop(piece, end < 0 ? bytes.byteLength : end + 1);
      if (end < 0) {
        this.begin(bytes);
        continue;
      }
      const line = bytes.subarray(0, end);
      if (!this.hasBegun && end <= this.limit) return this.counted(line);
      this.begin(line);
      return this.finished();
    }
    return this.ended && this.hasBegun ? this.finished() : undefined;
  }

  /** True if a line has begun that is not complete, or is missing. */
  private get hasBegun(): boolean {
    return this.begun > 0 || this.missing !== undefined;
  }

  /** Drops the blank lines at the start of a piece, in one pass: a whole body may be blank. */
  private skipBlank(piece: Piece): boolean {
    const { bytes } = piece;
    let at = 0;
    for (; ; this.count += 1) {
      if (bytes[at] === lineFeed) at += 1;
      else if (bytes[at] === carriageReturn && bytes[at + 1] === lineFeed) at += 2;
      else break;
    }
    this.drop(piece, at);
    return at > 0;
  }

  /** The line that has just been completed. */
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

  /** Adds to the start of a line. */
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
    // If no memory was ever taken, its holder may no longer be available.
    if (bytes === 0) return;
    this.budget.memory.give(this.holder(), bytes);
    this.held -= bytes;
  }
}

/** True if a line has only the carriage return of a Windows line end; empty ones were skipped before. */
function isBlank(line: Uint8Array): boolean {
  return line.byteLength === 1 && line[0] === carriageReturn;
}
