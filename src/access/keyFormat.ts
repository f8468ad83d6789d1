/** How an API key is written: `fg_`, 32 bytes as base64url (RFC 4648 §5), then a checksum of all before it. */
import { createHash, createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';

const prefix = 'fg_';

/** Characters of the checksum: CRC-32 (zlib's polynomial) in base 62, filled up with zeros. */
const checksumLength = 6;
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function checksum(text: string): string {
  let rest = crc32(text);
  let written = '';
  for (let place = 0; place < checksumLength; place += 1) {
    written = (digits[rest % 62] ?? '') + written;
    rest = Math.floor(rest / 62);
  }
  return written;
}

/** The raw key of 32 bytes: 52 characters. */
export function formatKey(bytes: Uint8Array): string {
  if (bytes.byteLength !== 32) throw new Error(`A key of ${bytes.byteLength} bytes`);
  const text = prefix + Buffer.from(bytes).toString('base64url');
  return text + checksum(text);
}

/** What is stored of a raw key: its SHA-256. */
export function hashOfKey(rawKey: string): Uint8Array {
  return createHash('sha256').update(rawKey).digest();
}

/** A raw key's beginning and end: enough to tell keys apart, nothing to guess the rest from. */
export function hintOfKey(rawKey: string): string {
  return `${rawKey.slice(0, 7)}…${rawKey.slice(-4)}`;
}

/** What a raw key is derived from. */
export interface KeySource {
  /** The master secret. */
  readonly secret: Uint8Array;
  /** The order, or what stands for one. */
  readonly orderId: string;
  /** 0, and one more each time the same order's key is made again. */
  readonly generation: number;
  /** 32 random bytes, erased when the key is revealed: then nobody can derive it again. */
  readonly seed: Uint8Array;
}

/** The raw key: HMAC-SHA-256 by the master secret over purpose, order, generation and seed, NUL between. */
export function deriveKey({ secret, orderId, generation, seed }: KeySource): string {
  const message = Buffer.concat([Buffer.from(`fusegate-key\0${orderId}\0${generation}\0`), seed]);
  return formatKey(createHmac('sha256', secret).update(message).digest());
}
