/** A lease's record: who holds it, until when, and the fencing number (format 1). */
import { integer, table, text, type ValueOf } from './table.js';

const leaseTable = table('lease', {
  /** Grows by one with every new holder; a unit of the holder carries it. */
  token: integer,
  /** Name of the holder. */
  holder: text,
  /** Wall time after which another may take it (ms). */
  expiresAtMs: integer,
});

/** A lease as it is stored. */
export type LeaseRecord = ValueOf<typeof leaseTable>;

/** A lease's bytes and back. */
export const { encode: encodeLease, decode: decodeLease } = leaseTable;
