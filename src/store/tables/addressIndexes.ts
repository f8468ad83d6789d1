/** Indexes of the addresses of on-chain orders: one counter for each account. */
import { writeOver } from '../entries.js';
import type { Operation, Store } from '../store.js';

/** The counter of an account. */
export interface AddressIndex {
  /** The next index to give out; 0 if none was given out. */
  readonly next: number;
  /** Number of addresses that were skipped because they had a history. */
  readonly passedOver: number;
  /** The record as stored; undefined: the account is new to the store. */
  readonly bytes: Uint8Array | undefined;
}

/** The next index of an account's addresses. */
export async function nextAddressIndex(store: Store, account: Uint8Array): Promise<AddressIndex> {
  const reading = await store.get('addressIndexes', account);
  if (reading === undefined) return { next: 0, passedOver: 0, bytes: undefined };
  const bytes = Buffer.from(reading);
  const passedOver = bytes.length < 8 ? 0 : bytes.readUInt32BE(4);
  return { next: bytes.readUInt32BE(0), passedOver, bytes: reading };
}

/**
 * The operation that gives out an account's indexes before `next`; it conflicts if another process was first.
 * The record: `next` as four bytes, big-endian; then the number of skipped addresses in the same form, if
 * there are any.
 */
export function takeIndexes(
  account: Uint8Array,
  { bytes, passedOver }: Omit<AddressIndex, 'next'>,
  next: number,
): Operation {
  const value = Buffer.alloc(passedOver === 0 ? 4 : 8);
  value.writeUInt32BE(next);
  if (passedOver > 0) value.writeUInt32BE(passedOver, 4);
  return writeOver('addressIndexes', account, bytes, value);
}
