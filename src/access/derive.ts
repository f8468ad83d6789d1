/** Raw API keys. Once a key's seed is erased, nobody can derive the key again (contract, Authentication). */
import { createHmac } from 'node:crypto';

/** The native module's format of keys; see `native/core/src/access/keys.rs`. */
export interface KeyFormat {
  /** The raw key that encodes 32 bytes. */
  readonly writeKey: (bytes: Uint8Array) => string;
  /** SHA-256 of a raw key; null if the text is not a key. */
  readonly hashKey: (rawKey: string) => Uint8Array | null;
}

/** Inputs that a raw key is derived from. */
export interface KeySeed {
  /** The master secret. */
  readonly secret: string;
  /** The order's id, or a stand-in for a key that is not sold. */
  readonly orderId: string;
  /** 0 at first, and one more each time the same order's key is made again. */
  readonly generation: number;
  /** 32 random bytes, erased when the key is revealed: then nobody can derive the key again. */
  readonly seed: Uint8Array;
}

/**
 * The raw key: HMAC-SHA-256 with the master secret over purpose, order, generation and seed, joined by NUL.
 */
export function deriveKey({ secret, orderId, generation, seed }: KeySeed, format: KeyFormat): string {
  const message = Buffer.concat([Buffer.from(`fusegate-key\0${orderId}\0${generation}\0`), seed]);
  return format.writeKey(createHmac('sha256', secret).update(message).digest());
}

/** A raw key's first and last characters: enough to tell keys apart, too few to guess the rest. */
export function hintOfKey(rawKey: string): string {
  return `${rawKey.slice(0, 7)}…${rawKey.slice(-4)}`;
}
