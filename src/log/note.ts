/** Checkpoints of the log of receipts: C2SP tlog-checkpoint, signed as C2SP signed-note with Ed25519. */
import { createHash, createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';

/** Type bytes of Ed25519 keys in signed notes: a log's, and a witness' (C2SP tlog-cosignature). */
const keyTypes = { log: 1, witness: 4 } as const;

/** Kind of a key's owner. */
export type KeyKind = keyof typeof keyTypes;

/** Bytes of a seed, of a public key, of a signature and of a key's id. */
export const seedBytes = 32;
const publicBytes = 32;
export const signatureBytes = 64;
const idBytes = 4;

const signatureLine = /^\u2014 (\S+) (\S+)$/;

/** DER bytes before the raw key (RFC 8410). */
const privateHead = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicHead = Buffer.from('302a300506032b6570032100', 'hex');

/** A log's key: signs under any name. */
export interface LogKey {
  readonly publicKey: Buffer;
  readonly secret: KeyObject;
}

/** The key of a seed of 32 bytes. */
export function logKey(seed: Uint8Array): LogKey {
  const secret = createPrivateKey({ key: Buffer.concat([privateHead, seed]), format: 'der', type: 'pkcs8' });
  const der = createPublicKey(secret).export({ format: 'der', type: 'spki' });
  return { publicKey: der.subarray(publicHead.byteLength), secret };
}

/** A key that verifies a log's signatures. */
export interface VerifierKey {
  readonly name: string;
  readonly publicKey: Uint8Array;
}

function keyId({ name, publicKey }: VerifierKey, kind: KeyKind): Buffer {
  const digest = createHash('sha256').update(`${name}\n`).update(Buffer.of(keyTypes[kind])).update(publicKey);
  return digest.digest().subarray(0, idBytes);
}

/** A verifier key as text: name, key id and key. */
export function verifierText(key: VerifierKey, kind: KeyKind = 'log'): string {
  const encoded = Buffer.concat([Buffer.of(keyTypes[kind]), key.publicKey]).toString('base64');
  return `${key.name}+${keyId(key, kind).toString('hex')}+${encoded}`;
}

/** Strict base64 with padding; undefined if a text is not. */
export function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Reads a verifier key; undefined if it is not of that kind, or its id does not match. */
export function parseVerifierKey(text: string, kind: KeyKind = 'log'): VerifierKey | undefined {
  const found = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/.exec(text.trim());
  if (found === null) return undefined;
  const [name, id, encoded] = found.slice(1) as [string, string, string];
  const bytes = fromBase64(encoded);
  if (bytes?.[0] !== keyTypes[kind] || bytes.byteLength !== 1 + publicBytes) return undefined;
  const key = { name, publicKey: bytes.subarray(1) };
  return keyId(key, kind).toString('hex') === id ? key : undefined;
}

/** A state of a log: its first `size` leaves have this root. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

/** A signature line: the key's name, its id, and the bytes after it. */
export function signedLine(key: VerifierKey, kind: KeyKind, signature: Uint8Array): string {
  return `\u2014 ${key.name} ${Buffer.concat([keyId(key, kind), signature]).toString('base64')}\n`;
}

/** Signs a checkpoint; the note ends with a line feed. */
export function signCheckpoint({ origin, size, root }: Checkpoint, { publicKey, secret }: LogKey): string {
  const text = `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`;
  const key = { name: origin, publicKey };
  return `${text}\n${signedLine(key, 'log', sign(null, Buffer.from(text), secret))}`;
}

/** The text of a note and its signature lines; undefined if it is not a note. */
export function noteParts(note: string): { readonly text: string; readonly lines: string[] } | undefined {
  const end = note.lastIndexOf('\n\n');
  const lines = note.slice(end + 2).split('\n');
  return end < 0 || lines.pop() !== '' ? undefined : { text: note.slice(0, end + 1), lines };
}

/** The checkpoint of a note, signatures unchecked; undefined if it is not one. */
function checkpointOf(text: string): Checkpoint | undefined {
  const found = /^([^\n]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*$/.exec(text);
  if (found === null) return undefined;
  const [origin, size, encoded] = found.slice(1) as [string, string, string];
  const root = fromBase64(encoded);
  if (root === undefined || !Number.isSafeInteger(Number(size))) return undefined;
  return { origin, size: Number(size), root };
}

/** The bytes after the key id in a signature line; undefined if it is of another key or length. */
export function signatureOf(
  line: string,
  key: VerifierKey,
  kind: KeyKind,
  byteLength: number = signatureBytes,
): Buffer | undefined {
  const [, name, encoded = ''] = signatureLine.exec(line) ?? [];
  const bytes = fromBase64(encoded);
  if (name !== key.name || bytes?.byteLength !== idBytes + byteLength) return undefined;
  return bytes.subarray(0, idBytes).equals(keyId(key, kind)) ? bytes.subarray(idBytes) : undefined;
}

/** True if a key signed a message. */
export function isSignedBy(message: string, { publicKey }: VerifierKey, signature: Uint8Array): boolean {
  const der = Buffer.concat([publicHead, publicKey]);
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return verify(null, Buffer.from(message), key, signature);
}

/** The checkpoint of a note that a key signed under its own name; `wrong` is a sentence part. */
export function openCheckpoint(note: string, key: VerifierKey): Checkpoint | { readonly wrong: string } {
  const parts = noteParts(note);
  if (parts === undefined) return { wrong: 'is not a checkpoint' };
  const checkpoint = checkpointOf(parts.text);
  if (checkpoint === undefined) return { wrong: 'is not a checkpoint' };
  if (checkpoint.origin !== key.name) return { wrong: `is of another log, ${checkpoint.origin}` };
  const signatures = parts.lines.map((line) => signatureOf(line, key, 'log'));
  const isSigned = signatures.some((each) => each !== undefined && isSignedBy(parts.text, key, each));
  return isSigned ? checkpoint : { wrong: 'is not signed by the key' };
}
