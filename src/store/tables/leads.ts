/** The leads: a log of the requests to POST /v1/leads (contract, LeadRequest). */
import { campaignColumns } from './campaign.js';
import { appendEntry, keptAfter, type Kept } from '../entries.js';
import type { Store } from '../store.js';
import { erasable, integer, orNull, table, text, type ValueOf } from '../table.js';

const leadTable = table('lead', {
  id: text,
  /** As received. */
  email: text,
  tier: orNull(text),
  message: orNull(text),
  ...campaignColumns,
  /** Wall time (ms). */
  receivedAtMs: integer,
  eventId: orNull(text),
});

/** A lead as stored. */
export type Lead = ValueOf<typeof leadTable>;

/** Codec of a lead; undefined is an erased one. */
export const { encode: encodeLead, decode: decodeLead } = erasable(leadTable);

/** Appends a lead; it is on disk when this resolves. `unitId`: from a caller that retries. */
export function appendLead(store: Store, unitId: Uint8Array | undefined, lead: Lead): Promise<void> {
  return appendEntry(store, unitId, 'leads', encodeLead(lead));
}

/** The leads after a position, without erased ones. */
export function leadsAfter(store: Store, after: number): AsyncGenerator<Kept<Lead>, void> {
  return keptAfter(store, 'leads', after, decodeLead);
}
