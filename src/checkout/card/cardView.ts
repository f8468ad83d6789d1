/** Card orders as their buyers see them, by Stripe session. */
import type { CardPickupResponse } from '../../contract/card.js';
import type { Tier } from '../../contract/pricing.js';
import type { CardOrder } from '../../store/tables/cardOrder.js';
import { timeOrNull } from '../../system/clock.js';
import { keyDetail } from '../order/orderView.js';
import type { Polled } from '../order/poll.js';

/** State of a session for its buyer, and when its key was revealed (ms since 1970), if it was. */
export interface CardPickup {
  readonly pickup: CardPickupResponse;
  readonly revealedAtMs: number | null;
}

/** The state that a buyer sees, by the order's status. */
const shownStatus = {
  open: 'pending',
  paid: 'paid',
  revealed: 'paid',
  disputed: 'paid',
  expired: 'expired',
  failed: 'expired',
  refunded: 'refunded',
  revoked: 'refunded',
} as const;

/** A session without a known order (yet). */
export function unknownSession(session: string): CardPickup {
  const noKey = { api_key: null, key_status: 'none', key_detail: null, key_expires_at: null } as const;
  const pickup = { ...noKey, order_id: null, tier: null, session_id: session, status: 'pending' } as const;
  return { pickup, revealedAtMs: null };
}

/** A session's order as polls show it. */
export function viewCard(polled: Polled<CardOrder>): CardPickup {
  const { order, apiKey, keyStatus } = polled;
  const isOpen = order.status === 'open';
  const pickup: CardPickupResponse = {
    // Until it is paid, an order looks as if it did not exist.
    order_id: isOpen ? null : order.id,
    session_id: order.place,
    status: shownStatus[order.status],
    tier: isOpen ? null : (order.tier as Tier),
    api_key: apiKey,
    key_status: keyStatus,
    key_detail: keyDetail(keyStatus),
    key_expires_at: timeOrNull(polled.keyExpiresAtMs),
  };
  return { pickup, revealedAtMs: order.revealedAtMs };
}
