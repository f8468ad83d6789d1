/** Cosignatures of witnesses under checkpoints: C2SP tlog-cosignature with Ed25519. */
import { sign } from 'node:crypto';
import {
  isSignedBy,
  noteParts,
  signatureBytes,
  signatureOf,
  signedLine,
  type LogKey,
  type VerifierKey,
} from './note.js';

const timeBytes = 8;

/** The latest time that a Date holds (s since 1970). A witness that counts microseconds signs later ones. */
const latestS = 8_640_000_000_000n;

/**
 * The text that a witness signs: up to this time it has seen no larger and no contradicting state of the log.
 */
function statement(text: string, timeS: bigint): string {
  return `cosignature/v1\ntime ${timeS}\n${text}`;
}

/** A witness' line under the text of a checkpoint. `timeS`: the time (s since 1970). */
export function cosign(text: string, name: string, { publicKey, secret }: LogKey, timeS: number): string {
  const time = Buffer.alloc(timeBytes);
  time.writeBigUInt64BE(BigInt(timeS));
  const signature = sign(null, Buffer.from(statement(text, BigInt(timeS))), secret);
  return signedLine({ name, publicKey }, 'witness', Buffer.concat([time, signature]));
}

/** A verified line under a checkpoint. */
export interface Cosignature {
  readonly line: string;
  readonly name: string;
  /** When it was signed (s since 1970). */
  readonly timeS: number;
}

/** The cosignature of a line; undefined unless it is a valid one of the key over that text. */
export function openCosignature(text: string, line: string, key: VerifierKey): Cosignature | undefined {
  const bytes = signatureOf(line, key, 'witness', timeBytes + signatureBytes);
  if (bytes === undefined) return undefined;
  const time = bytes.readBigUInt64BE();
  if (time > latestS) return undefined;
  const isSigned = isSignedBy(statement(text, time), key, bytes.subarray(timeBytes));
  return isSigned ? { line, name: key.name, timeS: Number(time) } : undefined;
}

/** The cosignatures on a note by these keys, one per key. */
export function cosignaturesOf(note: string, keys: readonly VerifierKey[]): Cosignature[] {
  const parts = noteParts(note);
  if (parts === undefined) return [];
  return keys.flatMap((key) => {
    const found = parts.lines.map((line) => openCosignature(parts.text, line, key));
    return found.find((each) => each !== undefined) ?? [];
  });
}
