/** The store's keys as bytes: the number of a space or log, then the key or position in it. */
import { logs, spaces, type Log, type Space } from './spaces.js';
import { maxKeyBytes } from './store.js';

/** Latin-1 text of bytes: equal exactly if the bytes are, so that it can be a Map's key. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** The engine's key of a record. */
export function recordKey(space: Space, key: Uint8Array): Buffer {
  if (key.byteLength === 0 || key.byteLength > maxKeyBytes) {
    throw new Error(`A key of ${key.byteLength} bytes in ${space}`);
  }
  const bytes = Buffer.allocUnsafe(1 + key.byteLength);
  bytes[0] = spaces[space];
  bytes.set(key, 1);
  return bytes;
}

/** The engine's key of a log entry: the position is big-endian, so that keys order as positions do. */
export function logKey(log: Log, position: number): Buffer {
  const bytes = Buffer.allocUnsafe(9);
  bytes[0] = logs[log];
  bytes.writeBigUInt64BE(BigInt(position), 1);
  return bytes;
}

/** The position in a log entry's key. */
export function positionIn(key: Uint8Array): number {
  return Number(Buffer.from(key).readBigUInt64BE(1));
}

/** The key of a log's head record. */
export function headKey(log: Log): Buffer {
  return recordKey('heads', Buffer.of(logs[log]));
}

/** A count as 8 bytes, big-endian. */
export function encodeCount(count: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(count));
  return bytes;
}

/** The count that {@link encodeCount} wrote. */
export function decodeCount(bytes: Uint8Array): number {
  const count = Number(Buffer.from(bytes).readBigUInt64BE());
  if (!Number.isSafeInteger(count)) throw new Error(`A count of ${count}`);
  return count;
}

/** The first key after all keys that begin with `byte`. */
export function endOf(byte: number): Buffer {
  return Buffer.of(byte + 1);
}
