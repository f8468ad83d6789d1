/** Looks up an on-chain order and applies what the node knows of its address. */
import type { OrderRecord } from '../../store/tables/order.js';
import type { OrderOutcome } from '../../store/tables/orders.js';
import { applySince, type BookParts } from '../order/book.js';
import type { Chain } from './chain.js';

/** Outcome of a look-up; `failed`: the node did not answer. */
export type LookedUp = OrderOutcome | { readonly kind: 'failed'; readonly reason: string };

/**
 * Looks up an order that was read from the store before. Nodes take time to answer: if the order has changed
 * meanwhile, this answer may be older than that change, and the node is asked again.
 */
export async function lookUpOrder(
  parts: BookParts & { readonly chain: Chain },
  read: OrderRecord,
): Promise<LookedUp> {
  for (let order = read; ;) {
    const answer = await parts.chain.lookup(order.place);
    if (answer.kind === 'failed') return answer;
    const outcome = await applySince(parts, order, { kind: 'outputs', outputs: answer.value });
    if (outcome.kind !== 'moved') return outcome;
    ({ order } = outcome);
  }
}
