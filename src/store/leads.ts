/** The leads: a log of what came by POST /v1/leads (contract, LeadRequest). */
import { appendEntry, erasedFormat, keptAfter, type Kept } from './entries.js';
import { defineRecord } from './record.js';
import type { Store } from './store.js';

/** A lead as it is stored. */
export interface Lead {
  readonly id: string;
  /** Wall time (ms). */
  readonly receivedAtMs: number;
  /** As it came. */
  readonly email: string;
  readonly tier: string | null;
  readonly message: string | null;
  readonly source: string | null;
  readonly segment: string | null;
  readonly campaign: string | null;
  readonly eventId: string | null;
}

const record = defineRecord<Lead | undefined>('lead', {
  1: ({ text, textOrNull, integer }) => ({
    id: text('id'),
    receivedAtMs: integer('received_at_ms'),
    email: text('email'),
    tier: textOrNull('tier'),
    message: textOrNull('message'),
    source: textOrNull('source'),
    segment: textOrNull('segment'),
    campaign: textOrNull('campaign'),
    eventId: textOrNull('event_id'),
  }),
  [erasedFormat]: () => undefined,
});

/** A lead's bytes; undefined is an erased one. */
export function encodeLead(lead: Lead | undefined): Uint8Array {
  if (lead === undefined) return record.encode(erasedFormat, {});
  const { receivedAtMs, eventId, ...rest } = lead;
  return record.encode(1, { ...rest, received_at_ms: receivedAtMs, event_id: eventId });
}

/** The lead of an entry's bytes; undefined when it was erased. */
export const decodeLead = record.decode;

/** Appends a lead; it is on disk when this resolves. `unitId`: a retry carries the same. */
export function appendLead(store: Store, unitId: Uint8Array, lead: Lead): Promise<void> {
  return appendEntry(store, unitId, 'leads', encodeLead(lead));
}

/** The leads after a position, erased ones left out. */
export function leadsAfter(store: Store, after: number): AsyncGenerator<Kept<Lead>, void> {
  return keptAfter(store, 'leads', after, decodeLead);
}
