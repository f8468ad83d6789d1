/**
 * Events of orders and keys for webhooks: a log whose entries are written in the units of the changes that
 * they report. An entry names its object; the object is read when the event is sent, so that nothing about a
 * person lies here.
 */
import { removeOldEntries } from './entries.js';
import type { Operation, Store } from './store.js';
import { choice, integer, table, text, type ValueOf } from './table.js';

const eventTable = table('event', {
  type: choice('order.paid', 'key.revoked', 'key.expiring'),
  /** Id of the order or of the key. */
  object: text,
  atMs: integer,
});

/** An event as it is stored. */
export type StoredEvent = ValueOf<typeof eventTable>;

/** An event's bytes and back. */
export const { encode: encodeEvent, decode: decodeEvent } = eventTable;

/** The operation that keeps an event, for the unit of what it tells. */
export function appendEvent(event: StoredEvent): Operation {
  return { kind: 'append', log: 'events', value: encodeEvent(event) };
}

/** Removes events older than `beforeMs`; resolves to how many. */
export function removeOldEvents(store: Store, beforeMs: number): Promise<number> {
  return removeOldEntries(store, 'events', (value) => decodeEvent(value).atMs, beforeMs);
}

/** Key under which it is noted that a key's end was announced: by the end, so that old ones can go. */
function noticeKey(keyId: string, expiresAtMs: number): Buffer {
  return Buffer.concat([endKey(expiresAtMs), Buffer.from(keyId)]);
}

function endKey(atMs: number): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(BigInt(Math.max(0, Math.floor(atMs))));
  return key;
}

/** True if the end of a key was announced. */
export async function isEndAnnounced(store: Store, keyId: string, expiresAtMs: number): Promise<boolean> {
  return (await store.get('keyNotices', noticeKey(keyId, expiresAtMs))) !== undefined;
}

/** The operations that announce the end of a key, once: they conflict where it was announced. */
export function announceEnd(keyId: string, expiresAtMs: number, nowMs: number): Operation[] {
  return [
    { kind: 'insert', space: 'keyNotices', key: noticeKey(keyId, expiresAtMs), value: Buffer.of(1) },
    appendEvent({ type: 'key.expiring', object: keyId, atMs: Math.floor(nowMs) }),
  ];
}

/** Forgets the announcements of ends before `beforeMs`; resolves to how many. */
export function removeOldNotices(store: Store, beforeMs: number): Promise<number> {
  return store.prune('keyNotices', endKey(beforeMs), 1_000);
}
