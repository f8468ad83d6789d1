/** A lease's record: its holder, its expiry, and its fencing number (format 1). */
import { integer, table, text, type ValueOf } from './table.js';

const leaseTable = table('lease', {
  /** The fencing number: grows by one with every new holder. The holder's units carry it. */
  token: integer,
  /** Name of the holder. */
  holder: text,
  /** Wall time from which another holder may take it (ms). */
  expiresAtMs: integer,
});

/** A lease as stored. */
export type LeaseRecord = ValueOf<typeof leaseTable>;

/** Codec of a lease. */
export const { encode: encodeLease, decode: decodeLease } = leaseTable;
