/** Refunds and disputes that came before their order, as they are stored until it is there. */
import type { CardEvent, IntentChange } from './cardEvents.js';

/** A held event as stored. */
export type Held = { readonly createdAtMs: number } & (
  | { readonly cents: string }
  | { readonly cents: null; readonly dispute: string; readonly what: 'begun' | 'won' | 'lost' }
);

/** What is stored of an event that must wait. */
export function heldOf({ createdAtMs }: CardEvent, subject: IntentChange): Held {
  return subject.kind === 'refund'
    ? { createdAtMs, cents: subject.cents.toString() }
    : { createdAtMs, cents: null, dispute: subject.dispute, what: subject.what };
}

/** What an event that waited changes. */
export function changeOf(held: Held): IntentChange {
  if (held.cents !== null) return { kind: 'refund', cents: BigInt(held.cents) };
  return { kind: 'dispute', dispute: held.dispute, what: held.what };
}
