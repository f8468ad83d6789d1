/** Card orders: their part of the record, and the rules of their states. Only webhooks change them. */
import { there, unchanged, type OrderKind, type Transition } from './orderKind.js';
import { none, type AnyOrder } from './orderRow.js';

/** A card order. */
export interface CardOrder extends AnyOrder {
  readonly rail: 'card';
  readonly status: 'open' | 'paid' | 'revealed' | 'expired' | 'failed' | 'refunded' | 'disputed' | 'revoked';
  /** The price. */
  readonly cents: bigint;
  /** The processor's payment intent; null: none yet. */
  readonly intent: string | null;
  readonly paidCents: bigint;
  /** Total refunded to the buyer. */
  readonly refundedCents: bigint;
  /** Ids of the open disputes; versions before format 5 recorded none. */
  readonly disputes: readonly string[];
}

/** Members of a new order besides the common ones. */
export type NewCardOrder = Pick<CardOrder, 'cents' | 'rateCents'>;

/** Events of a card order, as the processor reports them. */
export type CardEvent =
  /**
   * The processor reports the session as paid; the caller has checked amount, currency and mode.
   * `discounted`: the operator accepts less than the price.
   */
  | {
      readonly kind: 'card paid';
      readonly cents: bigint;
      readonly discounted?: boolean;
      /** The payment intent; null or absent: unchanged. */
      readonly intent?: string | null;
    }
  /** The buyer has finished, the money is pending (bank debits, for example). */
  | { readonly kind: 'card pending' }
  | { readonly kind: 'card failed' }
  | { readonly kind: 'card expired' }
  /** The total refunded so far. */
  | { readonly kind: 'card refunded'; readonly totalCents: bigint }
  /** `dispute`: its id; absent: unknown, and only the status has it. */
  | { readonly kind: 'card disputed'; readonly dispute?: string }
  | { readonly kind: 'card dispute won'; readonly dispute?: string }
  | { readonly kind: 'card dispute lost'; readonly dispute?: string };

/** An order with the payment intent that the event names. */
function withIntent(order: CardOrder, intent: string | null): CardOrder {
  return intent === null || intent === order.intent ? order : { ...order, intent };
}

/** A payment that arrives after the session failed or expired still counts: it is late, and it mints. */
function cardPaid(order: CardOrder, cents: bigint, discounted: boolean): Transition<CardOrder> {
  if (order.key !== 'none' || (cents < order.cents && !discounted)) return unchanged(order);
  const late = order.status !== 'open';
  return {
    order: { ...order, status: 'paid', paidCents: cents, late, key: 'active' },
    effect: { kind: 'mint' },
  };
}

/** A partial refund is recorded; a full one ends the key. Totals only grow. */
function cardRefunded(order: CardOrder, totalCents: bigint): Transition<CardOrder> {
  const paid = order.key === 'active' || order.key === 'suspended';
  if (!paid || totalCents <= order.refundedCents) return unchanged(order);
  const refundedCents = totalCents < order.paidCents ? totalCents : order.paidCents;
  const refunded = { ...order, refundedCents };
  if (refundedCents < order.paidCents) return { order: refunded, effect: undefined };
  return {
    order: { ...refunded, status: 'refunded', key: 'revoked', disputes: [] },
    effect: { kind: 'revoke', reason: 'the payment was refunded' },
  };
}

/** A session that ended without a payment. */
function unpaid(order: CardOrder, status: 'failed' | 'expired'): Transition<CardOrder> {
  return order.status === 'open' ? { order: { ...order, status }, effect: undefined } : unchanged(order);
}

/** True if an order is paid, and no dispute is open. */
function isUndisputed({ status }: CardOrder): boolean {
  return status === 'paid' || status === 'revealed';
}

/** A payment may have several disputes at a time; the first one suspends the key. */
function disputed(order: CardOrder, dispute: string | undefined): Transition<CardOrder> {
  const { disputes } = order;
  const isNew = dispute !== undefined && !disputes.includes(dispute);
  const begun = isNew ? [...disputes, dispute] : disputes;
  if (order.status === 'disputed' && isNew)
    return { order: { ...order, disputes: begun }, effect: undefined };
  if (!isUndisputed(order)) return unchanged(order);
  return {
    order: { ...order, status: 'disputed', key: 'suspended', disputes: begun },
    effect: { kind: 'suspend', reason: 'the payment is disputed' },
  };
}

/** The key returns once no dispute is open. */
function disputeWon(order: CardOrder, dispute: string | undefined): Transition<CardOrder> {
  if (order.status !== 'disputed') return unchanged(order);
  const disputes = order.disputes.filter((each) => each !== dispute);
  if (disputes.length > 0) return { order: { ...order, disputes }, effect: undefined };
  return {
    order: { ...order, status: order.revealedAtMs === null ? 'paid' : 'revealed', key: 'active', disputes },
    effect: { kind: 'resume' },
  };
}

/** The event of the dispute's beginning may come later. */
function disputeLost(order: CardOrder): Transition<CardOrder> {
  if (order.status !== 'disputed' && !isUndisputed(order)) return unchanged(order);
  return {
    order: { ...order, status: 'revoked', key: 'revoked', disputes: [] },
    effect: { kind: 'revoke', reason: 'the payment was taken back after a dispute' },
  };
}

/** Card orders. */
export const cardKind: OrderKind<CardOrder, CardEvent> = {
  statuses: ['open', 'paid', 'revealed', 'expired', 'refunded', 'disputed', 'revoked', 'failed'],
  columns: ['cents', 'reference', 'paid', 'refunded', 'disputes'],
  read: (row) => ({
    cents: there(row, 'price in cents', row.cents),
    intent: row.reference,
    paidCents: row.paid,
    refundedCents: row.refunded,
    disputes: row.disputes,
  }),
  write: (order) => {
    const { intent: reference, paidCents: paid, refundedCents: refunded } = order;
    return { ...none, ...order, reference, paid, refunded };
  },
  beginning: { status: 'open', open: false, intent: null, paidCents: 0n, refundedCents: 0n, disputes: [] },
  unit: 'cent',
  held: ({ paidCents, refundedCents }) => paidCents - refundedCents,
  wasPaid: ({ paidCents, refundedCents }) => paidCents > 0n || refundedCents > 0n,
  events: {
    'card paid': (order, { cents, discounted, intent }) =>
      cardPaid(withIntent(order, intent ?? null), cents, discounted === true),
    'card pending': unchanged,
    'card failed': (order) => unpaid(order, 'failed'),
    'card expired': (order) => unpaid(order, 'expired'),
    'card refunded': (order, { totalCents }) => cardRefunded(order, totalCents),
    'card disputed': (order, { dispute }) => disputed(order, dispute),
    'card dispute won': (order, { dispute }) => disputeWon(order, dispute),
    'card dispute lost': disputeLost,
  },
  isOpen: () => false,
  revealedStatus: 'revealed',
};
