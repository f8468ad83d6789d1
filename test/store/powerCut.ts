/** What a disk may hold after a power cut: everything synced, and any part of what was written after. */
import type { FileEvent } from './trace.js';

/** The unit in which a disk may drop, tear or reorder what was not synced. */
export const blockBytes = 4096;

/** A write cut into the blocks it touches. */
export interface Piece {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** The pieces of a write. */
export function pieces({ offset, bytes }: Piece): Piece[] {
  const cut: Piece[] = [];
  for (let at = 0; at < bytes.byteLength;) {
    const length = Math.min(blockBytes - ((offset + at) % blockBytes), bytes.byteLength - at);
    cut.push({ offset: offset + at, bytes: bytes.subarray(at, at + length) });
    at += length;
  }
  return cut;
}

/** A file with a piece written to it. */
export function laidOver(image: Buffer, { offset, bytes }: Piece): Buffer {
  const end = offset + bytes.byteLength;
  const grown =
    end <= image.byteLength ? image : Buffer.concat([image, Buffer.alloc(end - image.byteLength)]);
  bytes.copy(grown, offset);
  return grown;
}

/** A file as it may be found, and the line of the trace at which the power went. */
export interface Remains {
  readonly image: Buffer;
  /** Everything acknowledged before this line must be in the image. */
  readonly line: number;
  readonly how: string;
}

/** Chooses among `count` possibilities. */
export type Choose = (count: number) => number;

/**
 * Numbers that look random and are the same in every run (Numerical Recipes' linear congruential generator).
 */
export function generator(seed: number): Choose {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

/** What is cut: a file that held `base`, and what happened to it since. */
export interface PowerCuts {
  readonly base: Buffer;
  readonly events: readonly FileEvent[];
  readonly random: number;
  readonly choose: Choose;
}

/**
 * The remains of cuts before the first sync of `events`, after each sync and write-through, and after their
 * end: with all writes since dropped, with all of them kept, and `random` times with a random part of their
 * blocks kept in a random order.
 */
export function* powerCuts({ base, events, random, choose }: PowerCuts): Generator<Remains> {
  let durable: Buffer = base;
  let loose: Piece[] = [];
  let line = 0;
  for (const event of events) {
    if (event.kind === 'write') loose.push(...pieces(event));
    if (event.kind === 'write' && !event.synced) continue;
    // The power goes while this sync is under way: what it is to make durable may be there in part.
    yield* cuts({ durable, loose, line, random, choose });
    if (event.kind === 'sync') {
      durable = loose.reduce(laidOver, durable);
      loose = [];
    } else durable = pieces(event).reduce(laidOver, durable);
    line = event.call.ended;
  }
  yield* cuts({ durable, loose, line: Infinity, random, choose });
}

/** A moment of a file: what is safe of it, and what was written since. */
export interface Cut {
  readonly durable: Buffer;
  readonly loose: readonly Piece[];
  readonly line: number;
  readonly random: number;
  readonly choose: Choose;
}

/** What a cut at a moment may leave of a file. */
export function* cuts({ durable, loose, line, random, choose }: Cut): Generator<Remains> {
  yield { image: Buffer.from(durable), line, how: 'writes since dropped' };
  if (loose.length === 0) return;
  yield { image: loose.reduce(laidOver, Buffer.from(durable)), line, how: 'writes since kept' };
  for (let round = 0; round < random; round += 1) {
    yield { image: part(durable, loose, choose), line, how: `writes since torn and reordered, ${round}` };
  }
}

/** `durable` with a random part of `loose` laid over it in a random order. */
function part(durable: Buffer, loose: readonly Piece[], choose: Choose): Buffer {
  const left = [...loose];
  let image: Buffer = Buffer.from(durable);
  for (let kept = choose(left.length + 1); kept > 0; kept -= 1) {
    const [piece] = left.splice(choose(left.length), 1);
    if (piece !== undefined) image = laidOver(image, piece);
  }
  return image;
}
