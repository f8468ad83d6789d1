/** Cryptographically strong randomness from the operating system, passed in where it is needed. */
import { randomBytes } from 'node:crypto';

/** Returns `count` random bytes. */
export type Randomness = (count: number) => Buffer;

/** The operating system's randomness. */
export const systemRandomness: Randomness = (count) => randomBytes(count);
