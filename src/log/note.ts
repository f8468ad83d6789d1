/** Checkpoints of the log of receipts: C2SP tlog-checkpoint, signed as C2SP signed-note with Ed25519. */
import { createHash, createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';

/** Type byte of Ed25519 in a signed note. */
const ed25519 = 1;

/** Bytes of a seed, of a public key, of a signature and of a key's id. */
export const seedBytes = 32;
const publicBytes = 32;
const signatureBytes = 64;
const idBytes = 4;

/** What comes before the raw key in its DER form (RFC 8410). */
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

/** A key by which a log's signatures are checked. */
export interface VerifierKey {
  readonly name: string;
  readonly publicKey: Uint8Array;
}

function keyId({ name, publicKey }: VerifierKey): Buffer {
  const digest = createHash('sha256').update(`${name}\n`).update(Buffer.of(ed25519)).update(publicKey);
  return digest.digest().subarray(0, idBytes);
}

/** A verifier key as text: name, key id and key. */
export function verifierText(key: VerifierKey): string {
  const encoded = Buffer.concat([Buffer.of(ed25519), key.publicKey]).toString('base64');
  return `${key.name}+${keyId(key).toString('hex')}+${encoded}`;
}

/** Base64 with its padding and nothing else; undefined where a text is none. */
export function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Reads a verifier key; undefined where it is none of Ed25519, or its id is another key's. */
export function parseVerifierKey(text: string): VerifierKey | undefined {
  const [, name = '', id = '', encoded = ''] =
    /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/.exec(text.trim()) ?? [];
  const bytes = fromBase64(encoded);
  if (bytes?.[0] !== ed25519 || bytes.byteLength !== 1 + publicBytes) return undefined;
  const key = { name, publicKey: bytes.subarray(1) };
  return keyId(key).toString('hex') === id ? key : undefined;
}

/** A state of a log: its first `size` leaves have this root. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

/** Signs a checkpoint; the note ends with a line feed. */
export function signCheckpoint({ origin, size, root }: Checkpoint, { publicKey, secret }: LogKey): string {
  const text = `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`;
  const signature = sign(null, Buffer.from(text), secret);
  const line = Buffer.concat([keyId({ name: origin, publicKey }), signature]).toString('base64');
  return `${text}\n\u2014 ${origin} ${line}\n`;
}

/** The checkpoint of a note, its signatures unchecked; undefined where it is none. */
function checkpointOf(text: string): Checkpoint | undefined {
  const [, origin = '', size = '', encoded = ''] =
    /^([^\n]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*$/.exec(text) ?? [];
  const root = fromBase64(encoded);
  if (root === undefined || !Number.isSafeInteger(Number(size))) return undefined;
  return { origin, size: Number(size), root };
}

function isSigned(text: string, line: string, key: VerifierKey): boolean {
  const [, name, encoded = ''] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
  const bytes = fromBase64(encoded);
  if (name !== key.name || bytes?.byteLength !== idBytes + signatureBytes) return false;
  if (Buffer.compare(bytes.subarray(0, idBytes), keyId(key)) !== 0) return false;
  const der = Buffer.concat([publicHead, key.publicKey]);
  const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return verify(null, Buffer.from(text), publicKey, bytes.subarray(idBytes));
}

/** The checkpoint of a note that a key signed under its own name; `wrong` is a sentence part. */
export function openCheckpoint(note: string, key: VerifierKey): Checkpoint | { readonly wrong: string } {
  const end = note.lastIndexOf('\n\n');
  const text = note.slice(0, end + 1);
  const checkpoint = end < 0 ? undefined : checkpointOf(text);
  if (checkpoint === undefined) return { wrong: 'is no checkpoint' };
  if (checkpoint.origin !== key.name) return { wrong: `is of another log, ${checkpoint.origin}` };
  const lines = note.slice(end + 2).split('\n');
  if (lines.pop() !== '') return { wrong: 'does not end with a line feed' };
  if (!lines.some((line) => isSigned(text, line, key))) return { wrong: 'is not signed by the key' };
  return checkpoint;
}
