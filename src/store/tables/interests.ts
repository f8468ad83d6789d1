/** Interests in delivery models: a log of the requests to POST /v1/delivery-interest (contract). */
import { campaignColumns } from './campaign.js';
import { appendEntry, keptAfter, type Kept } from '../entries.js';
import type { Store } from '../store.js';
import { erasable, integer, orNull, table, text, type ValueOf } from '../table.js';

const interestTable = table('interest', {
  id: text,
  /** As received. */
  email: text,
  company: orNull(text),
  cloud: orNull(text),
  timeline: orNull(text),
  compliance: orNull(text),
  message: orNull(text),
  ...campaignColumns,
  /** Wall time (ms). */
  receivedAtMs: integer,
  deliveryModel: text,
  monthlyChars: orNull(text),
  eventId: orNull(text),
});

/** An interest as stored. */
export type Interest = ValueOf<typeof interestTable>;

/** Codec of an interest; undefined is an erased one. */
export const { encode: encodeInterest, decode: decodeInterest } = erasable(interestTable);

/** Appends an interest; it is on disk when this resolves. `unitId`: from a caller that retries. */
export function appendInterest(
  store: Store,
  unitId: Uint8Array | undefined,
  interest: Interest,
): Promise<void> {
  return appendEntry(store, unitId, 'interests', encodeInterest(interest));
}

/** The interests after a position, without erased ones. */
export function interestsAfter(store: Store, after: number): AsyncGenerator<Kept<Interest>, void> {
  return keptAfter(store, 'interests', after, decodeInterest);
}
