/** Events for webhooks (Standard Webhooks): the entries of each log, and the body that is sent. */
import { createHash } from 'node:crypto';
import { entryAt } from '../store/entries.js';
import { decodeEvent, type StoredEvent } from '../store/tables/events.js';
import { decodeInterest, type Interest } from '../store/tables/interests.js';
import { findKeyById } from '../store/tables/keys.js';
import { decodeLead, type Lead } from '../store/tables/leads.js';
import { heldOf, unitOf } from '../store/tables/order.js';
import { findOrder } from '../store/tables/orders.js';
import type { Store } from '../store/store.js';
import type { Delivery, EventLog } from '../store/tables/webhooks.js';
import { timeOrNull, timeText } from '../system/clock.js';

/** Types of events that a webhook may subscribe to. */
export const eventTypes = ['order.paid', 'key.expiring', 'key.revoked', 'lead.received'] as const;

/** One of {@link eventTypes}. */
export type EventType = (typeof eventTypes)[number];

/** An event in its log. */
export interface OutboundEvent {
  readonly log: EventLog;
  readonly position: number;
  /** The same in every attempt, so that the receiver detects duplicates. */
  readonly id: string;
  readonly type: EventType;
  /** Id of the order, the key, the lead or the interest. */
  readonly object: string;
  readonly atMs: number;
  /** The event's data; undefined: the object was erased meanwhile. */
  readonly data: () => Promise<object | undefined>;
}

/** A log of people who wrote, which `fusegate forget` erases from. */
type ContactLog = Exclude<EventLog, 'events'>;

/** The event id of a log entry. */
function eventId(log: EventLog, position: number, value: Uint8Array): string {
  const digest = createHash('sha256').update(`${log} ${position} `).update(value).digest('hex');
  return `evt_${digest.slice(0, 32)}`;
}

async function orderPaid(store: Store, { object, atMs }: StoredEvent): Promise<object | undefined> {
  const order = await findOrder(store, object);
  if (order === undefined) return undefined;
  const { id, rail, tier, late, email, source, segment, campaign } = order;
  return {
    ...{
      order_id: id,
      rail,
      tier,
      amount: Number(heldOf(order)),
      unit: unitOf(order),
      paid_at: timeText(atMs),
      late,
    },
    ...{ email, source, segment, campaign, event_id: order.eventId },
  };
}

async function keyEvent(store: Store, { object }: StoredEvent): Promise<object | undefined> {
  const key = await findKeyById(store, object);
  if (key === undefined) return undefined;
  const order = await findOrder(store, key.origin);
  return {
    key_id: key.id,
    tier: key.tier,
    hint: key.hint,
    expires_at: timeOrNull(key.expiresAtMs),
    reason: key.reason,
    order_id: order?.id ?? null,
    email: order?.email ?? null,
  };
}

function leadData({ id, email, tier, message, receivedAtMs, ...rest }: Lead): object {
  const { source, segment, campaign } = rest;
  return {
    ...{ kind: 'lead', id, received_at: timeText(receivedAtMs), email, tier, message },
    ...{ source, segment, campaign, event_id: rest.eventId },
  };
}

function interestData({ id, email, message, receivedAtMs, ...rest }: Interest): object {
  const { company, cloud, timeline, compliance, source, segment, campaign } = rest;
  return {
    ...{ kind: 'interest', id, received_at: timeText(receivedAtMs), email, message },
    ...{ delivery_model: rest.deliveryModel, company, cloud, monthly_chars: rest.monthlyChars },
    ...{ timeline, compliance, source, segment, campaign, event_id: rest.eventId },
  };
}

function decodeContact(log: ContactLog, value: Uint8Array): Lead | Interest | undefined {
  return log === 'leads' ? decodeLead(value) : decodeInterest(value);
}

/** The data of a lead or an interest as they are now: it may be erased while others are sent before it. */
async function contactData(store: Store, log: ContactLog, position: number): Promise<object | undefined> {
  const entry = await entryAt(store, log, position);
  const contact = entry === undefined ? undefined : decodeContact(log, entry.value);
  if (contact === undefined) return undefined;
  return 'deliveryModel' in contact ? interestData(contact) : leadData(contact);
}

/** The event of a log entry; undefined: it was erased. */
function readEntry(
  store: Store,
  log: EventLog,
  position: number,
  value: Uint8Array,
): OutboundEvent | undefined {
  const place = { log, position, id: eventId(log, position, value) };
  if (log === 'events') {
    const event = decodeEvent(value);
    const data = () => (event.type === 'order.paid' ? orderPaid(store, event) : keyEvent(store, event));
    return { ...place, type: event.type, object: event.object, atMs: event.atMs, data };
  }
  const lead = decodeContact(log, value);
  if (lead === undefined) return undefined;
  const data = () => contactData(store, log, position);
  return { ...place, type: 'lead.received', object: lead.id, atMs: lead.receivedAtMs, data };
}

/** Events of a log after a position, and the last position read. */
export async function readEvents(
  store: Store,
  log: EventLog,
  after: number,
  limit: number,
): Promise<{ readonly events: readonly OutboundEvent[]; readonly upTo: number }> {
  const entries = await store.read(log, { after, limit });
  const events = entries.flatMap(({ position, value }) => readEntry(store, log, position, value) ?? []);
  return { events, upTo: entries.at(-1)?.position ?? after };
}

/** The event of a pending delivery; undefined: it was erased or removed. */
export async function eventOf(
  store: Store,
  { log, position }: Pick<Delivery, 'log' | 'position'>,
): Promise<OutboundEvent | undefined> {
  const entry = await entryAt(store, log, position);
  return entry === undefined ? undefined : readEntry(store, log, position, entry.value);
}

/** The body of an event's message; undefined: it was erased. */
export async function bodyOf({
  type,
  atMs,
  data,
}: Pick<OutboundEvent, 'type' | 'atMs' | 'data'>): Promise<string | undefined> {
  const told = await data();
  return told === undefined ? undefined : JSON.stringify({ type, timestamp: timeText(atMs), data: told });
}
