/** Refunds and disputes that came before their order, as they are stored until it is there. */
import type { CardEvent, IntentChange } from './cardEvents.js';

/** A held event as stored. */
export type Held = { readonly createdAtMs: number } & (
  | { readonly cents: string }
  | { readonly cents: null; readonly dispute: string; readonly what: 'begun' | 'won' | 'lost' }
);

/** The form in which an event is stored until its order is there. */
export function heldOf({ createdAtMs }: CardEvent, subject: IntentChange): Held {
  return subject.kind === 'refund'
    ? { createdAtMs, cents: subject.cents.toString() }
    : { createdAtMs, cents: null, dispute: subject.dispute, what: subject.what };
}

/** The change that a stored event makes. */
export function changeOf(held: Held): IntentChange {
  if (held.cents !== null) return { kind: 'refund', cents: BigInt(held.cents) };
  return { kind: 'dispute', dispute: held.dispute, what: held.what };
}
