/**
 * Events of the card processor's webhooks: those received with their outcomes, and those held because their
 * order was unknown.
 */
import type { CardOrder } from './cardOrder.js';
import { findRecord, recordsAfter, recordsUnder, removeOver, writeOver } from '../entries.js';
import { findOrderOn } from './orders.js';
import type { Operation, Store } from '../store.js';
import { integer, orNull, table, text, type ValueOf } from '../table.js';

const eventTable = table('card event', {
  /** The processor's id of the event. */
  id: text,
  type: text,
  /** The session or the payment intent that the event concerns. */
  about: text,
  result: text,
  /** A sentence for the operator if a payment did not mint a key; else null. */
  reason: orNull(text),
  atMs: integer,
});

/** A received event and its outcome. */
export type CardEventRecord = ValueOf<typeof eventTable>;

/**
 * The operation that records an event over `before`, its earlier record (undefined: it has none). It
 * conflicts if the event has another record by then.
 */
export function putCardEvent(event: CardEventRecord, before?: CardEventRecord): Operation {
  const from = before === undefined ? undefined : eventTable.encode(before);
  return writeOver('orderEvents', Buffer.from(event.id), from, eventTable.encode(event));
}

/** A recorded event; undefined: it is new. */
export function findCardEvent(store: Store, id: string): Promise<CardEventRecord | undefined> {
  return findRecord(store, 'orderEvents', Buffer.from(id), eventTable.decode);
}

/** The recorded events, in the order of their ids. */
export async function* allCardEvents(store: Store): AsyncGenerator<CardEventRecord, void> {
  for await (const { value } of recordsAfter(store, 'orderEvents')) yield eventTable.decode(value);
}

const lastKey = Buffer.from('card');

/** The operation that records when the last event came (ms since 1970). */
export function putLastEvent(atMs: number): Operation {
  const value = Buffer.alloc(8);
  value.writeBigUInt64BE(BigInt(atMs));
  return { kind: 'put', space: 'cardMarks', key: lastKey, value };
}

/** When the last event came (ms since 1970). */
export function lastEventMs(store: Store): Promise<number | undefined> {
  return findRecord(store, 'cardMarks', lastKey, (mark) => Number(Buffer.from(mark).readBigUInt64BE()));
}

function intentKey(intent: string): Buffer {
  return Buffer.from(`intent:${intent}`);
}

/** The operation that binds a payment intent to its order; it conflicts if the intent is already bound. */
export function bindIntent(intent: string, orderId: string): Operation {
  return { kind: 'insert', space: 'cardMarks', key: intentKey(intent), value: Buffer.from(orderId) };
}

/** The order that a payment intent paid for. */
export async function findOrderOfIntent(store: Store, intent: string): Promise<CardOrder | undefined> {
  const id = await store.get('cardMarks', intentKey(intent));
  return id === undefined ? undefined : findOrderOn(store, 'card', Buffer.from(id).toString());
}

function disputeKey(dispute: string): Buffer {
  return Buffer.from(`dispute:${dispute}`);
}

/** The operation that marks a dispute as begun; it conflicts if its end is already recorded. */
export function beginDispute(dispute: string): Operation {
  return { kind: 'insert', space: 'cardMarks', key: disputeKey(dispute), value: Buffer.from('open') };
}

/** The operation that marks a dispute as ended. */
export function endDispute(dispute: string): Operation {
  return { kind: 'put', space: 'cardMarks', key: disputeKey(dispute), value: Buffer.from('ended') };
}

/** An event that came before its order was known, as JSON. */
export interface HeldEvent {
  readonly key: Uint8Array;
  readonly bytes: Uint8Array;
  readonly json: string;
}

const heldTable = table('held card event', { json: text });

/** The operation that holds an event until the payment intent's order is known. */
export function holdEvent(intent: string, id: string, json: string): Operation {
  const key = Buffer.from(`${intent}:${id}`);
  return { kind: 'insert', space: 'heldCardEvents', key, value: heldTable.encode({ json }) };
}

/** The operation that releases a held event; it conflicts if another process has. */
export function releaseHeld({ key, bytes }: HeldEvent): Operation {
  return removeOver('heldCardEvents', key, bytes);
}

/** The held events of a payment intent. */
export async function heldEvents(store: Store, intent: string): Promise<readonly HeldEvent[]> {
  const found: HeldEvent[] = [];
  for await (const { key, value } of recordsUnder(store, 'heldCardEvents', Buffer.from(`${intent}:`))) {
    found.push({ key, bytes: value, json: heldTable.decode(value).json });
  }
  return found;
}
