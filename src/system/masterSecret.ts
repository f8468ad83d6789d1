/** The master secret, and what is derived from it by HMAC-SHA-256 (RFC 2104, FIPS 180-4). */
import { createHash, createHmac } from 'node:crypto';

/** Master secrets, the newest first: it makes new tokens and keys, the others still verify. */
export type MasterSecrets = readonly [string, ...string[]];

/** What a secret may be. The comma separates secrets. */
const acceptable = /^[\x21-\x2b\x2d-\x7e]{32,256}$/;

/** Reads secrets separated by commas or line ends; `wrong` says what they must be, and shows none. */
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

/**
 * HMAC-SHA-256 with the secret's ASCII bytes as its key over the UTF-8 bytes of `purpose` and `parts`, joined
 * by NUL. Each use has a purpose of its own, so that no token of one is good for another; only the last part
 * may hold a NUL, else two inputs could read alike.
 * @returns 32 bytes
 */
export function derive(secret: string, purpose: string, ...parts: readonly string[]): Buffer {
  if (parts.slice(0, -1).some((part) => part.includes('\0'))) throw new Error(`NUL in a part of ${purpose}`);
  return createHmac('sha256', secret)
    .update([purpose, ...parts].join('\0'))
    .digest();
}

/** A secret's public name: 12 hexadecimal digits that tell nothing of it. */
export function secretId(secret: string): string {
  return derive(secret, 'secret-id').toString('hex', 0, 6);
}

/** A secret's fingerprint, 32 bytes: SHA-256 of a value derived from it. */
export function secretFingerprint(secret: string): Buffer {
  return createHash('sha256').update(derive(secret, 'secret-fingerprint')).digest();
}
