/** Interests in delivery models: a log of what came by POST /v1/delivery-interest (contract). */
import { appendEntry, erasedFormat, keptAfter, type Kept } from './entries.js';
import { defineRecord } from './record.js';
import type { Store } from './store.js';

/** An interest as it is stored. */
export interface Interest {
  readonly id: string;
  /** Wall time (ms). */
  readonly receivedAtMs: number;
  /** As it came. */
  readonly email: string;
  readonly deliveryModel: string;
  readonly company: string | null;
  readonly cloud: string | null;
  readonly monthlyChars: string | null;
  readonly timeline: string | null;
  readonly compliance: string | null;
  readonly message: string | null;
  readonly source: string | null;
  readonly segment: string | null;
  readonly campaign: string | null;
  readonly eventId: string | null;
}

const record = defineRecord<Interest | undefined>('interest', {
  1: ({ text, textOrNull, integer }) => ({
    id: text('id'),
    receivedAtMs: integer('received_at_ms'),
    email: text('email'),
    deliveryModel: text('delivery_model'),
    company: textOrNull('company'),
    cloud: textOrNull('cloud'),
    monthlyChars: textOrNull('monthly_chars'),
    timeline: textOrNull('timeline'),
    compliance: textOrNull('compliance'),
    message: textOrNull('message'),
    source: textOrNull('source'),
    segment: textOrNull('segment'),
    campaign: textOrNull('campaign'),
    eventId: textOrNull('event_id'),
  }),
  [erasedFormat]: () => undefined,
});

/** An interest's bytes; undefined is an erased one. */
export function encodeInterest(interest: Interest | undefined): Uint8Array {
  if (interest === undefined) return record.encode(erasedFormat, {});
  const { receivedAtMs, deliveryModel, monthlyChars, eventId, ...rest } = interest;
  return record.encode(1, {
    ...rest,
    received_at_ms: receivedAtMs,
    delivery_model: deliveryModel,
    monthly_chars: monthlyChars,
    event_id: eventId,
  });
}

/** The interest of an entry's bytes; undefined when it was erased. */
export const decodeInterest = record.decode;

/** Appends an interest; it is on disk when this resolves. `unitId`: a retry carries the same. */
export function appendInterest(store: Store, unitId: Uint8Array, interest: Interest): Promise<void> {
  return appendEntry(store, unitId, 'interests', encodeInterest(interest));
}

/** The interests after a position, erased ones left out. */
export function interestsAfter(store: Store, after: number): AsyncGenerator<Kept<Interest>, void> {
  return keptAfter(store, 'interests', after, decodeInterest);
}
