/** Lightning orders as their buyers see them. */
import type { LightningOrder as LightningOrderView } from '../../contract/lightning.js';
import type { LightningOrder } from '../../store/tables/lightningOrder.js';
import { isPaid, orderView } from '../order/orderView.js';
import type { Polled } from '../order/poll.js';

/** The order as polls show it. */
export function viewLightning(polled: Polled<LightningOrder>): LightningOrderView {
  const { order } = polled;
  return {
    ...orderView(polled, `/v1/checkout/lightning/${order.place}`),
    payment_hash: order.place,
    bolt11: isPaid(order) ? null : order.bolt11,
  };
}
