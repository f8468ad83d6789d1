/** Events of Stripe's webhooks (Stripe API, Event object), read from the signed body. */
import { isJsonObject, type JsonObject } from '../../system/json.js';

/** A checkout session, as an event shows it. */
export interface CardSession {
  readonly id: string;
  /** True if it is paid once; false for a subscription, or a set-up of later payments. */
  readonly single: boolean;
  readonly payment: 'paid' | 'unpaid' | 'no_payment_required';
  /** Amount due, after discounts, in the currency's smallest unit. */
  readonly totalCents: bigint | null;
  /** Sum of what was sold, before discounts, without shipping and the tax that is added; null if absent. */
  readonly subtotalCents: bigint | null;
  /** Amount that discounts took off. */
  readonly discountCents: bigint;
  readonly currency: string | null;
  /** Null if nothing is to be paid. */
  readonly intent: string | null;
  /** `metadata.tier`; null if absent. */
  readonly tier: string | null;
  /** `metadata.fusegate_server`: the server that made it; null if another program did, or an old version. */
  readonly server: string | null;
  readonly createdAtMs: number;
}

/** A refund or a dispute, without its payment. */
export type IntentChange =
  /** The total refunded of a payment so far. */
  | { readonly kind: 'refund'; readonly cents: bigint }
  | { readonly kind: 'dispute'; readonly dispute: string; readonly what: 'begun' | 'won' | 'lost' };

/** Subject of an event. */
export type CardSubject =
  | {
      readonly kind: 'session';
      readonly what: 'completed' | 'paid later' | 'failed' | 'expired';
      readonly session: CardSession;
    }
  | (IntentChange & { readonly intent: string })
  /** Nothing about keys. */
  | { readonly kind: 'other' };

/** An event. */
export interface CardEvent {
  readonly id: string;
  readonly type: string;
  readonly live: boolean;
  readonly createdAtMs: number;
  readonly subject: CardSubject;
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function cents(value: unknown): bigint | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : null;
}

/** The id of an object that is given whole, or by its id alone. */
function idOf(value: unknown): string | null {
  return text(isJsonObject(value) ? value['id'] : value);
}

const sessionEvents = {
  'checkout.session.completed': 'completed',
  'checkout.session.async_payment_succeeded': 'paid later',
  'checkout.session.async_payment_failed': 'failed',
  'checkout.session.expired': 'expired',
} as const;

/** Types of the events that concern keys. */
export const cardEventTypes: readonly string[] = [
  ...Object.keys(sessionEvents),
  'charge.refunded',
  'charge.dispute.created',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.closed',
];

const other: CardSubject = { kind: 'other' };

function sessionOf(object: JsonObject): CardSession | undefined {
  const { id, payment_status: payment, created } = object;
  const { mode, metadata, total_details: details } = object;
  if (typeof id !== 'string' || typeof created !== 'number') return undefined;
  if (payment !== 'paid' && payment !== 'unpaid' && payment !== 'no_payment_required') return undefined;
  return {
    id,
    // Stripe always sends the mode. A subscription without one is known by its missing intent.
    single: mode === undefined || mode === 'payment',
    payment,
    totalCents: cents(object['amount_total']),
    subtotalCents: cents(object['amount_subtotal']),
    discountCents: (isJsonObject(details) ? cents(details['amount_discount']) : null) ?? 0n,
    currency: text(object['currency']),
    intent: idOf(object['payment_intent']),
    tier: isJsonObject(metadata) ? text(metadata['tier']) : null,
    server: isJsonObject(metadata) ? text(metadata['fusegate_server']) : null,
    createdAtMs: created * 1_000,
  };
}

function disputeOf(type: string, object: JsonObject): CardSubject {
  const [intent, dispute] = [idOf(object['payment_intent']), text(object['id'])];
  if (intent === null || dispute === null) return other;
  const { status } = object;
  if (type === 'charge.dispute.closed') {
    // A closed inquiry took no money.
    return status === 'won' || status === 'lost' ? { kind: 'dispute', intent, dispute, what: status } : other;
  }
  // An inquiry (`warning_…`) takes no money yet; if it does later, `funds_withdrawn` reports it.
  const inquiry = typeof status === 'string' && status.startsWith('warning_');
  return inquiry ? other : { kind: 'dispute', intent, dispute, what: 'begun' };
}

function subjectOf(type: string, object: JsonObject): CardSubject {
  if (Object.hasOwn(sessionEvents, type)) {
    const session = sessionOf(object);
    const what = sessionEvents[type as keyof typeof sessionEvents];
    return session === undefined ? other : { kind: 'session', what, session };
  }
  switch (type) {
    case 'charge.refunded': {
      const [intent, refunded] = [idOf(object['payment_intent']), cents(object['amount_refunded'])];
      return intent === null || refunded === null ? other : { kind: 'refund', intent, cents: refunded };
    }
    case 'charge.dispute.created':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.closed':
      return disputeOf(type, object);
    default:
      return other;
  }
}

/** Reads a verified event; undefined if it is not an event. */
export function readCardEvent(event: unknown): CardEvent | undefined {
  if (!isJsonObject(event)) return undefined;
  const { id, type, livemode: live, created } = event;
  const data = event['data'];
  if (typeof id !== 'string' || !/^[\w-]{1,100}$/.test(id) || typeof type !== 'string') return undefined;
  if (typeof live !== 'boolean' || typeof created !== 'number' || !isJsonObject(data)) return undefined;
  const object = data['object'];
  const subject = isJsonObject(object) ? subjectOf(type, object) : other;
  return { id, type, live, createdAtMs: created * 1_000, subject };
}
