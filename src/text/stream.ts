/** Normalizes text of any length: cut after line feeds, written in order, in bounded memory. */

/** A normalized piece. */
export interface NormalizedPiece {
  readonly text: Uint8Array;
  /** Number of changes by kind, for kinds that occur. */
  readonly counts: readonly { readonly kind: string; readonly count: number }[];
  /** Offset of the first byte of the piece that is not UTF-8 (RFC 3629); null or absent if all are. */
  readonly invalidAt?: number | null | undefined;
  /** True if the glosses make the piece longer than its limit. */
  readonly tooLong: boolean;
}

/** Dependencies of a stream besides its input. */
export interface StreamParts {
  readonly normalize: (piece: Buffer) => Promise<NormalizedPiece>;
  /** Resolves when more can be written. */
  readonly write: (text: Uint8Array) => Promise<void>;
  /** Bytes that are normalized at a time; a line may exceed this. */
  readonly pieceBytes: number;
  /** Length at which a line is cut (bytes), so that memory stays bounded. */
  readonly lineBytes: number;
}

/** Outcome; `changes` is by kind. */
export type StreamOutcome =
  | { readonly kind: 'done'; readonly bytes: number; readonly changes: ReadonlyMap<string, number> }
  /** The part before the byte at `offset` is written, up to the last line feed. */
  | { readonly kind: 'not UTF-8'; readonly offset: number }
  /** The part before the byte at `offset` is written; the glosses of the rest exceed the limits. */
  | { readonly kind: 'too long'; readonly offset: number };

const LF = 0x0a;
const SPACE = 0x20;

/** The end of the last whole character; the bytes may stop inside one (UTF-8: at most 3 bytes later). */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/**
 * The place to cut the gathered bytes: after the last line feed. A line that is too long is cut after its
 * last space, or if it has none, between two characters: there the context across the cut is lost.
 */
function cutOf(gathered: Buffer, lineBytes: number): number {
  const newline = gathered.lastIndexOf(LF) + 1;
  if (newline > 0 || gathered.length < lineBytes) return newline;
  const space = gathered.lastIndexOf(SPACE) + 1;
  return space > 0 ? space : wholeCharacters(gathered);
}

/** The input's bytes in pieces that end with a line feed, except perhaps the last. */
async function* pieces(
  input: AsyncIterable<Uint8Array>,
  { pieceBytes, lineBytes }: StreamParts,
): AsyncGenerator<Buffer> {
  let gathered: Uint8Array[] = [];
  let length = 0;
  let wanted = pieceBytes;
  for await (const chunk of input) {
    gathered.push(chunk);
    length += chunk.length;
    if (length < wanted) continue;
    const whole = Buffer.concat(gathered, length);
    const cut = cutOf(whole, lineBytes);
    if (cut > 0) yield whole.subarray(0, cut);
    gathered = [whole.subarray(cut)];
    length = whole.length - cut;
    // Joined only each time its length has doubled.
    wanted = Math.max(pieceBytes, 2 * length);
  }
  if (length > 0) yield Buffer.concat(gathered, length);
}

/** The whole lines before a place. */
function linesBefore(piece: Buffer, place: number): Buffer {
  return piece.subarray(0, piece.subarray(0, place).lastIndexOf(LF) + 1);
}

/** Normalizes `input` to the end: the next piece while the last one is being written. */
export async function normalizeStream(
  input: AsyncIterable<Uint8Array>,
  parts: StreamParts,
): Promise<StreamOutcome> {
  const changes = new Map<string, number>();
  let bytes = 0;
  let writing = Promise.resolve();
  for await (const piece of pieces(input, parts)) {
    const { text, counts, invalidAt, tooLong } = await parts.normalize(piece);
    await writing;
    if (invalidAt != null) {
      const before = await parts.normalize(linesBefore(piece, invalidAt));
      if (before.tooLong) return { kind: 'too long', offset: bytes };
      await parts.write(before.text);
      return { kind: 'not UTF-8', offset: bytes + invalidAt };
    }
    if (tooLong) return { kind: 'too long', offset: bytes };
    for (const { kind, count } of counts) changes.set(kind, (changes.get(kind) ?? 0) + count);
    bytes += piece.length;
    writing = parts.write(text);
  }
  await writing;
  return { kind: 'done', bytes, changes };
}
