/** Looks up an on-chain order and applies what the node knows of its address. */
import type { BtcOrder } from '../../store/tables/bitcoinOrder.js';
import type { OrderOutcome } from '../../store/tables/orders.js';
import { applySince, type BookParts } from '../order/book.js';
import type { Chain } from './chain.js';
import type { NodeTrust } from './nodeTrust.js';

/** Outcome of a look-up; `failed`: the node did not answer, or its answer cannot be relied on. */
export type LookedUp = OrderOutcome | { readonly kind: 'failed'; readonly reason: string };

/**
 * Looks up an order that was read from the store before. Nodes take time to answer: if the order has changed
 * meanwhile, this answer may be older than that change, and the node is asked again.
 */
export async function lookUpOrder(
  parts: BookParts & { readonly chain: Chain; readonly trust: Pick<NodeTrust, 'doubt'> },
  read: BtcOrder,
): Promise<LookedUp> {
  for (let order = read; ;) {
    const answer = await parts.chain.lookup(order.place);
    if (answer.kind === 'failed') return answer;
    const doubt = await parts.trust.doubt(order, answer.value);
    if (doubt !== undefined) return { kind: 'failed', reason: doubt };
    const outcome = await applySince(parts, order, { kind: 'outputs', outputs: answer.value });
    if (outcome.kind !== 'moved') return outcome;
    ({ order } = outcome);
  }
}
