/**
 * Webhooks: the target of events, the position that each has reached in the logs of events, and its
 * unfinished deliveries. The logs of events are the outbox: an event is in one of them once its change is
 * stored.
 */
import { findRecord, recordsAfter, recordsUnder, removeOver, writeOver } from '../entries.js';
import type { Fence, Operation, Store } from '../store.js';
import {
  choice,
  integer,
  orNull,
  rows,
  table,
  text,
  UnreadableRecord,
  type LeftOut,
  type ValueOf,
} from '../table.js';

/** Logs whose entries are events. */
export const eventLogs = ['events', 'leads', 'interests'] as const;

/** Name of such a log. */
export type EventLog = (typeof eventLogs)[number];

function typeOf([type]: readonly unknown[]): string {
  if (typeof type === 'string') return type;
  throw new Error('A webhook record has a type of events that is not text');
}

const webhookTable = table('webhook', {
  id: text,
  url: text,
  /** Types of the events that it gets; empty: all. */
  types: rows(typeOf, (type) => [type]),
  /** A stopped webhook gets no more events. */
  status: choice('active', 'stopped'),
  /** Why it was stopped; null while active. */
  reason: orNull(text),
  createdAtMs: integer,
  /** Id of the master secret under which its secret is derived. */
  secretId: text,
});

/** A webhook as stored. */
export type Webhook = ValueOf<typeof webhookTable>;

/** The last position of each log that a webhook has read. */
const placeTable = table('webhook place', { events: integer, leads: integer, interests: integer });

/** A record of these positions. */
export type Place = ValueOf<typeof placeTable>;

const deliveryTable = table('webhook delivery', {
  log: choice(...eventLogs),
  position: integer,
  /** The order, the key, the lead or the interest: deliveries about the same object are made in order. */
  object: text,
  /** Failed attempts. */
  attempts: integer,
  /** Time of the next attempt. */
  nextAtMs: integer,
});

/** A delivery that awaits its next attempt. */
export type Delivery = ValueOf<typeof deliveryTable>;

const separator = '/';

function deliveryKey(webhookId: string, { log, position }: Pick<Delivery, 'log' | 'position'>): Buffer {
  return Buffer.from([webhookId, log, String(position).padStart(16, '0')].join(separator));
}

/** The webhooks, in the order of ids. Those that this version cannot read go to `leftOut`, if it is given. */
export async function allWebhooks(store: Store, leftOut?: LeftOut): Promise<readonly Webhook[]> {
  const found: Webhook[] = [];
  for await (const { key, value } of recordsAfter(store, 'webhooks')) {
    try {
      found.push(webhookTable.decode(value));
    } catch (error) {
      if (leftOut === undefined || !(error instanceof UnreadableRecord)) throw error;
      leftOut(error, Buffer.from(key).toString());
    }
  }
  return found;
}

/** The webhook with this id. */
export async function findWebhook(store: Store, id: string): Promise<Webhook | undefined> {
  if (id === '' || Buffer.byteLength(id) > 64) return undefined;
  return findRecord(store, 'webhooks', Buffer.from(id), webhookTable.decode);
}

/** Stores a new webhook, which gets the events after this moment; durable when it resolves. */
export async function addWebhook(store: Store, webhook: Webhook): Promise<void> {
  const last = (log: EventLog): Promise<number> => store.last(log);
  const [events, leads, interests] = await Promise.all([last('events'), last('leads'), last('interests')]);
  const key = Buffer.from(webhook.id);
  const outcome = await store.commit([
    { kind: 'insert', space: 'webhooks', key, value: webhookTable.encode(webhook) },
    { kind: 'insert', space: 'webhookPlaces', key, value: placeTable.encode({ events, leads, interests }) },
  ]);
  if (outcome.kind !== 'done') throw new Error(`A new webhook came to ${outcome.kind}`);
}

/** Removes a webhook and its pending deliveries; false if there is none. */
export async function removeWebhook(store: Store, id: string): Promise<boolean> {
  for (;;) {
    const webhook = await findWebhook(store, id);
    if (webhook === undefined) return false;
    const key = Buffer.from(id);
    const [place, waiting] = await Promise.all([
      store.get('webhookPlaces', key),
      waitingDeliveries(store, id),
    ]);
    const outcome = await store.commit([
      removeOver('webhooks', key, webhookTable.encode(webhook)),
      // A concurrent delivery finds its position gone, and writes nothing.
      ...(place === undefined ? [] : [removeOver('webhookPlaces', key, place)]),
      ...waiting.map((each) => changeDelivery(id, each, undefined)),
    ]);
    if (outcome.kind === 'done') return true;
  }
}

/** The pending deliveries of a webhook, in the order of their logs. */
export async function waitingDeliveries(store: Store, webhookId: string): Promise<readonly Delivery[]> {
  const found: Delivery[] = [];
  const prefix = Buffer.from(`${webhookId}${separator}`);
  for await (const { value } of recordsUnder(store, 'webhookDeliveries', prefix)) {
    found.push(deliveryTable.decode(value));
  }
  return found;
}

/** The position of a webhook; undefined: it was removed. */
export function placeOf(store: Store, webhookId: string): Promise<Place | undefined> {
  return findRecord(store, 'webhookPlaces', Buffer.from(webhookId), placeTable.decode);
}

function fenced(fence: Fence): Operation {
  return { kind: 'fence', ...fence };
}

/** The operation that changes a pending delivery, or ends it. */
function changeDelivery(webhookId: string, from: Delivery, to: Delivery | undefined): Operation {
  const [key, before] = [deliveryKey(webhookId, from), deliveryTable.encode(from)];
  if (to === undefined) return removeOver('webhookDeliveries', key, before);
  return writeOver('webhookDeliveries', key, before, deliveryTable.encode(to));
}

/**
 * Advances a webhook's position, and stores the deliveries up to there that failed. False: it was removed, or
 * another process holds the lease; nothing was written.
 */
export async function movePlace(
  store: Store,
  fence: Fence,
  webhookId: string,
  { from, to, untaken }: { readonly from: Place; readonly to: Place; readonly untaken: readonly Delivery[] },
): Promise<boolean> {
  const outcome = await store.commit([
    fenced(fence),
    writeOver('webhookPlaces', Buffer.from(webhookId), placeTable.encode(from), placeTable.encode(to)),
    ...untaken.map((each): Operation => {
      const key = deliveryKey(webhookId, each);
      return { kind: 'insert', space: 'webhookDeliveries', key, value: deliveryTable.encode(each) };
    }),
  ]);
  return outcome.kind === 'done';
}

/** Writes the outcome of a pending delivery; undefined: it is finished. False as for {@link movePlace}. */
export async function settleDelivery(
  store: Store,
  fence: Fence,
  webhookId: string,
  from: Delivery,
  to: Delivery | undefined,
): Promise<boolean> {
  const outcome = await store.commit([fenced(fence), changeDelivery(webhookId, from, to)]);
  return outcome.kind === 'done';
}

/** Stops a webhook for a reason. False: it was changed or removed, or another process holds the lease. */
export async function stopWebhook(
  store: Store,
  fence: Fence,
  webhook: Webhook,
  reason: string,
): Promise<boolean> {
  const to: Webhook = { ...webhook, status: 'stopped', reason };
  const outcome = await store.commit([
    fenced(fence),
    writeOver('webhooks', Buffer.from(webhook.id), webhookTable.encode(webhook), webhookTable.encode(to)),
  ]);
  return outcome.kind === 'done';
}
