/** The master secret, and values derived from it by HMAC-SHA-256 (RFC 2104, FIPS 180-4). */
import { createHash, createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { SecretFile } from './secretFile.js';

/** Master secrets, the newest first: it makes new tokens and keys, the older ones still verify. */
export type MasterSecrets = readonly [string, ...string[]];

/** Form of a secret; commas separate secrets. */
const acceptable = /^[\x21-\x2b\x2d-\x7e]{32,256}$/;

/** Parses secrets separated by commas or line ends; `wrong` describes their form, and shows none. */
export function parseSecrets(text: string): { readonly value: MasterSecrets } | { readonly wrong: string } {
  const [first, ...others] = text
    .split(/[,\r\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (first === undefined || ![first, ...others].every((secret) => acceptable.test(secret))) {
    return { wrong: 'must be secrets of 32 to 256 visible ASCII characters, separated by commas' };
  }
  if (new Set([first, ...others]).size !== others.length + 1) return { wrong: 'names a secret twice' };
  return { value: [first, ...others] };
}

/** Random bytes of a new secret. */
const secretBytes = 32;

/** The file of a data folder's master secrets, if they are not configured. */
export function masterSecretFile(dataFolder: string): SecretFile<MasterSecrets> {
  const restore = 'Restore it from your copy; a new one would not fit what the store holds.';
  return {
    path: join(dataFolder, 'master-secret'),
    name: 'The master secret',
    parse(text) {
      const parsed = parseSecrets(text);
      return 'wrong' in parsed ? { wrong: `${parsed.wrong}. ${restore}` } : parsed;
    },
    draw: (randomness) => `${randomness(secretBytes).toString('base64url')}\n`,
  };
}

/** Alphabets that a secret may be drawn from, and their sizes. */
const alphabets: readonly (readonly [RegExp, number])[] = [
  [/^[0-9]+$/, 10],
  [/^[0-9a-f]+$|^[0-9A-F]+$/, 16],
  [/^[a-z]+$|^[A-Z]+$/, 26],
  [/^[0-9a-z]+$|^[0-9A-Z]+$/, 36],
  [/^[A-Za-z]+$/, 52],
  [/^[0-9A-Za-z]+$/, 62],
  [/^[0-9A-Za-z+/=_-]+$/, 64],
];

/** The shortest text whose repetition gives a text. */
function unitOf(text: string): string {
  const length = (text + text).indexOf(text, 1);
  return text.slice(0, length);
}

/**
 * A simple estimate of a secret's bits: its length by the alphabet of its characters. A repeated text counts
 * once. A secret with few different characters, or with characters that mostly follow their neighbours, does
 * not count as random. This detects typed filler, not values known from elsewhere.
 */
export function strengthBits(secret: string): number {
  const unit = unitOf(secret);
  const codes = Array.from(unit, (char) => char.charCodeAt(0));
  const steps = codes.filter((code, at) => at > 0 && Math.abs(code - (codes[at - 1] ?? code)) <= 1);
  const different = new Set(codes).size;
  const alphabet = alphabets.find(([pattern]) => pattern.test(unit))?.[1] ?? 94;
  const isDrawn = different >= 8 && steps.length < unit.length / 2;
  return unit.length * Math.log2(isDrawn ? alphabet : Math.min(different, 2));
}

/**
 * HMAC-SHA-256 with the secret's ASCII bytes as key over the UTF-8 bytes of `purpose` and `parts`, joined by
 * NUL. Each use has its own purpose, so that a token of one use is invalid for another. Only the last part
 * may contain a NUL: otherwise two inputs could have the same bytes.
 * @returns 32 bytes
 */
export function derive(secret: string, purpose: string, ...parts: readonly string[]): Buffer {
  if (parts.slice(0, -1).some((part) => part.includes('\0'))) throw new Error(`NUL in a part of ${purpose}`);
  return createHmac('sha256', secret)
    .update([purpose, ...parts].join('\0'))
    .digest();
}

/** {@link derive} with the oldest secret: the value stays the same when a newer secret is put first. */
export function deriveLasting(secrets: MasterSecrets, purpose: string, ...parts: readonly string[]): Buffer {
  return derive(secrets.at(-1) ?? secrets[0], purpose, ...parts);
}

/** A secret's public id: 12 hex digits that reveal nothing of it. */
export function secretId(secret: string): string {
  return derive(secret, 'secret-id').toString('hex', 0, 6);
}

/** A secret's fingerprint, 32 bytes: SHA-256 of a value derived from it. */
export function secretFingerprint(secret: string): Buffer {
  return createHash('sha256').update(derive(secret, 'secret-fingerprint')).digest();
}
