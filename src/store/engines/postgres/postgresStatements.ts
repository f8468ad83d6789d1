/** Statements of the store's engine on PostgreSQL: standard SQL, except for the turn. */
import type { KeyRange, Write } from '../../engine.js';

/** Bytes of records in one INSERT message; larger writes need several. */
const messageBytes = 4 * 1024 * 1024;

/** Takes the turn among transactions that append; it ends with the transaction. */
export const takeTurn = 'LOCK TABLE fusegate_migrations IN SHARE UPDATE EXCLUSIVE MODE';

/** Bytes as a string constant in hex; `E` means the same whatever standard_conforming_strings is. */
export function literal(bytes: Uint8Array): string {
  return `E'\\\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}'`;
}

/** Selects the records of `keys`, which must not be empty. */
export function selectMany(keys: readonly Uint8Array[]): string {
  return `SELECT key, value FROM fusegate_records WHERE key IN (${keys.map(literal).join(', ')})`;
}

/** Selects and locks the records of keys, in the order of keys, so that two transactions cannot deadlock. */
export function selectLocked(keys: readonly Uint8Array[]): string {
  return `${selectMany(keys)} ORDER BY key FOR UPDATE`;
}

/** The SQL condition of a range. */
export function within({ from, to }: KeyRange): string {
  return `key >= ${literal(from)} AND key < ${literal(to)}`;
}

/** INSERTs of at most {@link messageBytes} each, unless one value is larger, and a DELETE. */
export function statementsOf(writes: readonly Write[]): string[] {
  const statements: string[] = [];
  let rows: string[] = [];
  let bytes = 0;
  const flush = (): void => {
    if (rows.length > 0) {
      statements.push(
        `INSERT INTO fusegate_records (key, value) VALUES ${rows.join(', ')} ` +
          'ON CONFLICT (key) DO UPDATE SET value = excluded.value',
      );
    }
    rows = [];
    bytes = 0;
  };
  const removed = writes.filter(({ value }) => value === undefined).map(({ key }) => literal(key));
  if (removed.length > 0)
    statements.push(`DELETE FROM fusegate_records WHERE key IN (${removed.join(', ')})`);
  for (const { key, value } of writes) {
    if (value === undefined) continue;
    if (bytes + value.byteLength > messageBytes) flush();
    rows.push(`(${literal(key)}, ${literal(value)})`);
    bytes += key.byteLength + value.byteLength;
  }
  flush();
  return statements;
}
