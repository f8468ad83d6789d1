/**
 * Events of orders and keys for webhooks: a log, written in the units of the changes that it reports. An
 * entry holds only the id of its object, which is read when the event is sent. So no personal data is here.
 */
import { removeOldEntries } from '../entries.js';
import type { Operation, Store } from '../store.js';
import { choice, integer, table, text, type ValueOf } from '../table.js';

const eventTable = table('event', {
  type: choice('order.paid', 'key.revoked', 'key.expiring'),
  /** Id of the order or the key. */
  object: text,
  atMs: integer,
});

/** An event as stored. */
export type StoredEvent = ValueOf<typeof eventTable>;

/** Codec of an event. */
export const { encode: encodeEvent, decode: decodeEvent } = eventTable;

/** The operation that appends an event, for the unit of the change that it reports. */
export function appendEvent(event: StoredEvent): Operation {
  return { kind: 'append', log: 'events', value: encodeEvent(event) };
}

/** Removes events older than `beforeMs` at `nowMs`; resolves to their number. */
export function removeOldEvents(store: Store, beforeMs: number, nowMs: number): Promise<number> {
  return removeOldEntries(store, 'events', (value) => decodeEvent(value).atMs, beforeMs, nowMs);
}

/** Key of the note that a key's expiry was announced. It begins with the expiry, for pruning. */
function noticeKey(keyId: string, expiresAtMs: number): Buffer {
  return Buffer.concat([endKey(expiresAtMs), Buffer.from(keyId)]);
}

function endKey(atMs: number): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(BigInt(Math.max(0, Math.floor(atMs))));
  return key;
}

/** True if a key's expiry was announced. */
export async function isEndAnnounced(store: Store, keyId: string, expiresAtMs: number): Promise<boolean> {
  return (await store.get('keyNotices', noticeKey(keyId, expiresAtMs))) !== undefined;
}

/** The operations that announce a key's expiry, once: they conflict if it was announced. */
export function announceEnd(keyId: string, expiresAtMs: number, nowMs: number): Operation[] {
  return [
    { kind: 'insert', space: 'keyNotices', key: noticeKey(keyId, expiresAtMs), value: Buffer.of(1) },
    appendEvent({ type: 'key.expiring', object: keyId, atMs: Math.floor(nowMs) }),
  ];
}

/** Removes notes about expiries before `beforeMs`; resolves to their number. */
export function removeOldNotices(store: Store, beforeMs: number): Promise<number> {
  return store.prune('keyNotices', endKey(beforeMs), 1_000);
}
