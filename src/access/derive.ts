/**
 * Raw API keys, derived so that nobody can derive them again once their seed is erased (contract,
 * Authentication).
 */
import { createHmac } from 'node:crypto';

/** The native module's way of writing and reading keys; see `native/core/src/keys.rs`. */
export interface KeyFormat {
  /** The raw key of 32 bytes. */
  readonly writeKey: (bytes: Uint8Array) => string;
  /** SHA-256 of a raw key; null for what is none. */
  readonly hashKey: (rawKey: string) => Uint8Array | null;
}

/** Inputs that a raw key is derived from. */
export interface KeySeed {
  /** The master secret. */
  readonly secret: string;
  /** The order, or what stands for one. */
  readonly orderId: string;
  /** 0, and one more each time the same order's key is made again. */
  readonly generation: number;
  /** 32 random bytes, erased when the key is revealed: then nobody can derive it again. */
  readonly seed: Uint8Array;
}

/** The raw key: HMAC-SHA-256 by the master secret over purpose, order, generation and seed, NUL between. */
export function deriveKey({ secret, orderId, generation, seed }: KeySeed, format: KeyFormat): string {
  const message = Buffer.concat([Buffer.from(`fusegate-key\0${orderId}\0${generation}\0`), seed]);
  return format.writeKey(createHmac('sha256', secret).update(message).digest());
}

/** A raw key's beginning and end: enough to tell keys apart, nothing to guess the rest from. */
export function hintOfKey(rawKey: string): string {
  return `${rawKey.slice(0, 7)}…${rawKey.slice(-4)}`;
}
