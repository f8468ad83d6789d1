/** Look-ups of open orders: of one order for its polls, and of all orders in rounds. */
import type { OrderOn, OrderRecord } from '../../store/tables/order.js';
import { findOrder, isOn, openOrders } from '../../store/tables/orders.js';
import { whenUnavailable, type Fence, type Store } from '../../store/store.js';
import type { Clock } from '../../system/clock.js';
import type { Log } from '../../system/log.js';
import { Recent } from '../../system/shared.js';
import { isDue } from './orders.js';

/** Decides whether a poll looks its order up: true at most once per `everyMs` for each order. */
export type MayLook = (orderId: string, everyMs: number) => boolean;

/** Dependencies of look-ups on a rail. */
export interface LookUpParts<Name extends OrderRecord['rail']> {
  readonly store: Store;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly rail: Name;
  /** Lifetime of a look-up (ms): any number of polls cause one request. */
  readonly freshMs: number;
  /** True once per `everyMs` for an order, across processes; absent: no other process shares the store. */
  readonly mayLook?: MayLook;
  readonly log: Pick<Log, 'warn'>;
  /** Applies what the network knows of an order; false if it does not answer. */
  readonly lookUp: (order: OrderOn<Name>, fence?: Fence) => Promise<boolean>;
}

/** Failed look-ups in a row from which a network counts as unreachable. */
const maxFailedInARow = 3;

/**
 * Looks up orders, one after the other; `lookUp`: false if its order could not be looked up. An order that
 * alone cannot be does not keep the others waiting, but after several in a row the network counts as
 * unreachable. Resolves to their number, or to undefined if not all were looked up.
 */
export async function lookUpEach<Order>(
  orders: AsyncIterable<Order>,
  lookUp: (order: Order) => Promise<boolean>,
): Promise<number | undefined> {
  let looked = 0;
  let failedInARow = 0;
  let isComplete = true;
  for await (const order of orders) {
    if (await lookUp(order)) {
      looked += 1;
      failedInARow = 0;
      continue;
    }
    isComplete = false;
    failedInARow += 1;
    if (failedInARow === maxFailedInARow) break;
  }
  return isComplete ? looked : undefined;
}

/** The look-ups of one process. */
export class LookUps<Name extends OrderRecord['rail']> {
  private readonly looked: Recent<boolean>;

  constructor(private readonly parts: LookUpParts<Name>) {
    this.looked = new Recent(parts.clock, parts.freshMs);
  }

  /**
   * The order after a look-up, unless this process or another just made one. If the network does not answer,
   * nothing changes.
   */
  async refresh(order: OrderOn<Name>): Promise<OrderOn<Name>> {
    if (!order.open) return order;
    const { store, rail, freshMs, mayLook } = this.parts;
    const standing = this.looked.standing(order.id);
    if (standing !== undefined) await standing;
    else if (mayLook === undefined || mayLook(order.id, freshMs))
      await this.looked.of(() => this.lookUp(order), order.id);
    const now = await findOrder(store, order.id);
    return isOn(now, rail) ? now : order;
  }

  /**
   * Looks an order up; false if the network or the store does not answer, or another process holds the lease.
   */
  lookUp(order: OrderOn<Name>, fence?: Fence): Promise<boolean> {
    return whenUnavailable(this.parts.lookUp(order, fence), ({ message: reason }) => {
      // Not its id, which collects a key. `fusegate orders list` shows it beside rail and time.
      const about = { rail: order.rail, createdAt: new Date(order.createdAtMs).toISOString(), reason };
      this.parts.log.warn(about, 'an order could not be looked up');
      return false;
    });
  }

  /** A round over all open orders that are due; resolves as {@link Rail.reconcile} does. */
  reconcile(fence?: Fence, lastMs?: number): Promise<number | undefined> {
    return whenUnavailable(this.round(fence, lastMs), () => undefined);
  }

  private round(fence?: Fence, lastMs?: number): Promise<number | undefined> {
    return lookUpEach(this.due(lastMs), (order) => this.lookUp(order, fence));
  }

  private async *due(lastMs: number | undefined): AsyncGenerator<OrderOn<Name>> {
    const { store, rail, clock } = this.parts;
    const nowMs = clock.wallMs();
    for await (const order of openOrders(store, rail)) {
      if (lastMs === undefined || isDue(order, lastMs, nowMs)) yield order;
    }
  }
}
