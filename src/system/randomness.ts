/** Randomness from the operating system (a cryptographically strong source), passed in where it is needed. */
import { randomBytes } from 'node:crypto';

/** Makes `count` random bytes. */
export type Randomness = (count: number) => Buffer;

/** The operating system's randomness. */
export const systemRandomness: Randomness = (count) => randomBytes(count);
