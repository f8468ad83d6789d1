/** The poll of an order (contract, Checkout), the same on chain and over Lightning. */
import type { Handler, RouteRequest } from '../contract/exchange.js';
import type { Order } from '../contract/orders.js';
import type { OrderRecord } from '../store/orders.js';
import { checkoutAnswer, orderNotFound, pollWish } from './answers.js';
import { poll, type BookParts, type Polled, type PollWish } from './book.js';

/** Contribution of a rail. */
export interface PolledRail {
  readonly parts: BookParts;
  /** The order of a request as the store has it; undefined: there is none on this rail. */
  readonly stored: (request: RouteRequest) => Promise<OrderRecord | undefined>;
  /** Looks at what is known of an order's payment now; undefined: the rail is not set up (any more). */
  readonly refresh: ((order: OrderRecord) => Promise<void>) | undefined;
  /** What is demanded of polls without a claim token. */
  readonly demanded: Pick<PollWish, 'claimRequired' | 'bareMs'>;
  readonly answerOf: (polled: Polled) => Order;
}

/**
 * The order of a request, after a look at its payment: where the request may change something, and the rail
 * is still set up. What was paid while it was is paid all the same.
 */
async function currentOrder(
  { stored, refresh }: PolledRail,
  request: RouteRequest,
): Promise<OrderRecord | undefined> {
  const found = await stored(request);
  if (found === undefined) return found;
  if (!request.mayAct || refresh === undefined) return found;
  await refresh(found);
  return stored(request);
}

/** Polls an order, and hands out its key to the first poll after it is paid. */
export function pollRoute(rail: PolledRail): Handler {
  return async (request) => {
    const found = await currentOrder(rail, request);
    if (found === undefined) return orderNotFound();
    const polled = await poll(rail.parts, found, pollWish(request, rail.demanded));
    return checkoutAnswer(200, rail.answerOf(polled));
  };
}
