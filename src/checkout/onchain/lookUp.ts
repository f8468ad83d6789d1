/** Looks up an on-chain order and applies what the node knows of its address. */
import type { BtcOrder } from '../../store/tables/bitcoinOrder.js';
import type { OrderOutcome } from '../../store/tables/orders.js';
import { applySince, type BookParts } from '../order/book.js';
import type { Failed } from '../nodeAnswer.js';
import { doubtOf, type Doubted, type NodeTrustParts } from './nodeTrust.js';

/** Outcome of a look-up; `failed`: the node did not answer, or cannot be relied on for any order. */
export type LookedUp = OrderOutcome | Doubted | Failed;

/**
 * Looks up an order that was read from the store before. Nodes take time to answer: if the order has changed
 * meanwhile, this answer may be older than that change, and the node is asked again.
 */
export async function lookUpOrder(parts: BookParts & NodeTrustParts, read: BtcOrder): Promise<LookedUp> {
  for (let order = read; ;) {
    const answer = await parts.chain.lookup(order.place);
    if (answer.kind === 'failed') return answer;
    const doubt = await doubtOf(parts, order, answer.value);
    if (doubt !== undefined) return doubt;
    const outcome = await applySince(parts, order, { kind: 'outputs', outputs: answer.value });
    if (outcome.kind !== 'moved') return outcome;
    ({ order } = outcome);
  }
}
