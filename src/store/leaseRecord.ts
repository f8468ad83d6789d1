/** A lease's record: who holds it, until when, and the fencing number (format 1). */
import { defineRecord } from './record.js';

/** A lease as it is stored. */
export interface LeaseRecord {
  /** Grows by one with every new holder; a unit of the holder carries it. */
  readonly token: number;
  /** Name of the holder. */
  readonly holder: string;
  /** Wall time after which another may take it (ms). */
  readonly expiresAtMs: number;
}

const record = defineRecord<LeaseRecord>('lease', {
  1: ({ integer, text }) => ({
    token: integer('token'),
    holder: text('holder'),
    expiresAtMs: integer('expires_at_ms'),
  }),
});

/** A lease's bytes. */
export function encodeLease({ token, holder, expiresAtMs }: LeaseRecord): Uint8Array {
  return record.encode(1, { token, holder, expires_at_ms: expiresAtMs });
}

/** The lease of a record's bytes. */
export const decodeLease = record.decode;
