/**
 * OpenTimestamps files (`.ots`, version 1): operations that lead from the SHA-256 of a file to the Merkle
 * root of a Bitcoin block. Supports only the operations of Bitcoin stamps: append, prepend and SHA-256.
 */
import { createHash } from 'node:crypto';

/** An operation on a message. */
export type Step =
  { readonly kind: 'append' | 'prepend'; readonly bytes: Uint8Array } | { readonly kind: 'sha256' };

/** A Merkle root that a file leads to, and the height of the block that must have it. */
export interface Attested {
  readonly root: Buffer;
  readonly height: number;
}

/** First bytes of a file, followed by the version. */
const head = Buffer.concat([
  Buffer.from('\0OpenTimestamps\0\0Proof\0'),
  Buffer.from('bf89e2e884e8929401', 'hex'),
]);

const tags = { attestation: 0x00, sha256: 0x08, append: 0xf0, prepend: 0xf1, fork: 0xff } as const;

/** Type of the attestation by a block header of Bitcoin. */
const bitcoinTag = '0588960d73d71901';
const attestationTagBytes = 8;
const digestBytes = 32;

/** Greatest size of a message and a payload, greatest nesting, and the largest file that is read. */
export const mostMessageBytes = 4_096;
const mostPayloadBytes = 8_192;
const mostDepth = 256;
const mostFileBytes = 65_536;

/** SHA-256 of bytes. */
export function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** The result of an operation on a message. */
export function applied(message: Uint8Array, step: Step): Buffer {
  if (step.kind === 'sha256') return sha256(message);
  return Buffer.concat(step.kind === 'append' ? [message, step.bytes] : [step.bytes, message]);
}

/** A number as LEB128. */
function varuint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

function sized(bytes: Uint8Array): Buffer {
  return Buffer.concat([varuint(bytes.byteLength), bytes]);
}

function encoded(step: Step): Buffer {
  if (step.kind === 'sha256') return Buffer.of(tags.sha256);
  return Buffer.concat([Buffer.of(tags[step.kind]), sized(step.bytes)]);
}

/** The timestamp of a file with this content; its steps lead to the root of the block at `height`. */
export function writeTimestamp(content: Uint8Array, steps: readonly Step[], height: number): Buffer {
  const attestation = [Buffer.of(tags.attestation), Buffer.from(bitcoinTag, 'hex'), sized(varuint(height))];
  const digest = [Buffer.of(tags.sha256), sha256(content)];
  return Buffer.concat([head, ...digest, ...steps.map(encoded), ...attestation]);
}

/**
 * Thrown if bytes are not a timestamp, and caught by {@link openTimestamp}; the message is a sentence part.
 */
class Unreadable extends Error {}

/** Reads bytes from the front. */
class Reader {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  get isAtEnd(): boolean {
    return this.at === this.bytes.byteLength;
  }

  take(count: number): Buffer {
    if (count > this.bytes.byteLength - this.at) throw new Unreadable('breaks off');
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  byte(): number {
    return this.take(1)[0] ?? 0;
  }

  varuint(most: number): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (value > most || scale > most) throw new Unreadable('has a number that is too large');
      if (byte < 0x80) return value;
    }
  }

  sized(most: number): Buffer {
    return this.take(this.varuint(most));
  }
}

const mostHeight = 2 ** 32;

/** Reads the branches after a message: each is an attestation, or an operation and its branches. */
function follow(reader: Reader, message: Buffer, into: Attested[], depth: number): void {
  if (depth > mostDepth) throw new Unreadable('is nested too deeply');
  for (let isLast = false; !isLast;) {
    const first = reader.byte();
    isLast = first !== tags.fork;
    const tag = isLast ? first : reader.byte();
    if (tag === tags.attestation) {
      const kind = reader.take(attestationTagBytes).toString('hex');
      const payload = reader.sized(mostPayloadBytes);
      // Other attestations are pending calendars and other chains: a Bitcoin header proves neither.
      if (kind === bitcoinTag) into.push({ root: message, height: new Reader(payload).varuint(mostHeight) });
      continue;
    }
    const next = applied(message, stepOf(reader, tag));
    if (next.byteLength > mostMessageBytes) throw new Unreadable('has a message that is too long');
    follow(reader, next, into, depth + 1);
  }
}

function stepOf(reader: Reader, tag: number): Step {
  if (tag === tags.sha256) return { kind: 'sha256' };
  if (tag === tags.append) return { kind: 'append', bytes: reader.sized(mostMessageBytes) };
  if (tag === tags.prepend) return { kind: 'prepend', bytes: reader.sized(mostMessageBytes) };
  throw new Unreadable(`has the operation 0x${tag.toString(16)}, which is not known here`);
}

/** The blocks that a timestamp names for a file with this content; `wrong` is a sentence part. */
export function openTimestamp(
  timestamp: Buffer,
  content: Uint8Array,
): readonly Attested[] | { readonly wrong: string } {
  if (timestamp.byteLength > mostFileBytes) return { wrong: 'is too large' };
  const reader = new Reader(timestamp);
  const attested: Attested[] = [];
  try {
    if (!reader.take(head.byteLength).equals(head)) return { wrong: 'is not a timestamp (.ots, version 1)' };
    if (reader.byte() !== tags.sha256) return { wrong: 'is not of the SHA-256 of a file' };
    const digest = reader.take(digestBytes);
    if (!digest.equals(sha256(content))) return { wrong: 'is of another file' };
    follow(reader, digest, attested, 1);
    return reader.isAtEnd ? attested : { wrong: 'has data after its end' };
  } catch (error) {
    if (error instanceof Unreadable) return { wrong: error.message };
    throw error;
  }
}
