/** Lightning orders (BOLT 11): their part of the record, and the rules of their states. */
import { there, unchanged, type OrderKind, type Transition } from './orderKind.js';
import { none, type AnyOrder, type Network } from './orderRow.js';

/** A Lightning order. */
export interface LightningOrder extends AnyOrder {
  readonly rail: 'lightning';
  readonly status: 'pending' | 'settled' | 'expired';
  readonly network: Network;
  /** The invoice. */
  readonly bolt11: string;
  readonly paidSat: bigint;
}

/** Members of a new order besides the common ones. */
export type NewLightningOrder = Pick<LightningOrder, 'network' | 'bolt11'>;

/** The invoice's state at LND. */
export interface LightningEvent {
  readonly kind: 'invoice';
  readonly state: 'open' | 'accepted' | 'settled' | 'canceled';
  readonly paidSat: bigint;
  readonly settledAtMs: number | null;
}

function invoice(
  order: LightningOrder,
  { state, paidSat, settledAtMs }: LightningEvent,
): Transition<LightningOrder> {
  if (order.status === 'settled') return unchanged(order);
  // LND settles an invoice only when the full amount has arrived; less would be a fault that must not mint.
  if (state === 'settled' && paidSat >= order.sat) {
    const late = order.status === 'expired' || (settledAtMs ?? 0) >= order.expiresAtMs;
    const settled = { ...order, status: 'settled', paidSat, late, key: 'active' } as const;
    return { order: settled, effect: { kind: 'mint' } };
  }
  if (state === 'canceled' && order.status === 'pending') {
    return { order: { ...order, status: 'expired' }, effect: undefined };
  }
  return unchanged(order);
}

/** Lightning orders. */
export const lightningKind: OrderKind<LightningOrder, LightningEvent> = {
  statuses: ['pending', 'settled', 'expired'],
  columns: ['network', 'reference', 'paid'],
  read: (row) => ({
    network: there(row, 'network', row.network),
    bolt11: there(row, 'invoice', row.reference),
    paidSat: row.paid,
  }),
  write: (order) => ({ ...none, ...order, reference: order.bolt11, paid: order.paidSat }),
  beginning: { status: 'pending', open: true, paidSat: 0n },
  unit: 'sat',
  held: ({ paidSat }) => paidSat,
  wasPaid: ({ paidSat }) => paidSat > 0n,
  events: { invoice },
  isOpen: ({ status }) => status === 'pending',
};
