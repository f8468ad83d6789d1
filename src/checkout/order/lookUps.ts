/** Look-ups of open orders: of one order for its polls, and of all orders in rounds. */
import { wasPaid, type OrderOn, type OrderRecord } from '../../store/tables/order.js';
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

/** No id precedes the empty one. */
const fromFirst = { urgent: '', expired: '' };

/**
 * Rounds of look-ups of one kind. A round takes each of its orders once: first those that await money or have
 * some, then those that expired without, of which there are thousands. If it could not look up all, the next
 * begins after the last order that it did look up, and wraps around: so a node that answers few requests is
 * asked about every order in turn. If that order was an expired one, all the others come first nevertheless.
 */
export class Rounds<Order extends OrderRecord> {
  /** The last order of each sort that an incomplete round looked up. */
  private after = fromFirst;

  /** `find` reads an order again when its turn comes; undefined: it is not looked up any more. */
  constructor(private readonly find: (id: string) => Promise<Order | undefined>) {}

  /**
   * Looks up orders, which are given in the order of ids, one after the other; `lookUp`: false if its order
   * could not be looked up. An order that alone cannot be does not keep the others waiting, but after several
   * in a row the network counts as unreachable. Resolves to their number, or to undefined if not all were
   * looked up.
   */
  async run(
    orders: AsyncIterable<Order>,
    lookUp: (order: Order) => Promise<boolean>,
  ): Promise<number | undefined> {
    let looked = 0;
    let failedInARow = 0;
    let isComplete = true;
    for await (const order of this.inTurn(orders)) {
      if (await lookUp(order)) {
        looked += 1;
        failedInARow = 0;
        this.reached(order);
        continue;
      }
      isComplete = false;
      failedInARow += 1;
      if (failedInARow < maxFailedInARow) continue;
      // Each of these orders may fail alone: if no other was looked up, the next round begins after them.
      if (looked === 0) this.reached(order);
      return undefined;
    }
    if (!isComplete) return undefined;
    this.after = fromFirst;
    return looked;
  }

  /** The urgent orders as they are listed; of all others only the ids wait until then. */
  private async *inTurn(orders: AsyncIterable<Order>): AsyncGenerator<Order, void> {
    const { urgent, expired } = this.after;
    const [expiredNext, expiredBefore, urgentBefore]: [string[], string[], string[]] = [[], [], []];
    for await (const order of orders) {
      const { id } = order;
      if (!isUrgent(order)) (id > expired ? expiredNext : expiredBefore).push(id);
      else if (id > urgent) yield order;
      else urgentBefore.push(id);
    }
    for (const ids of [expiredNext, expiredBefore, urgentBefore]) {
      for (const id of ids) {
        const order = await this.find(id);
        if (order?.open === true) yield order;
      }
    }
  }

  private reached(order: Order): void {
    const { id } = order;
    this.after = isUrgent(order) ? { ...this.after, urgent: id } : { ...fromFirst, expired: id };
  }
}

/** True if an order awaits its payment, or has one. */
function isUrgent(order: OrderRecord): boolean {
  return order.status !== 'expired' || wasPaid(order);
}

/** The look-ups of one process. */
export class LookUps<Name extends OrderRecord['rail']> {
  private readonly looked: Recent<boolean>;
  private readonly rounds = new Rounds((id) => this.find(id));

  constructor(private readonly parts: LookUpParts<Name>) {
    this.looked = new Recent(parts.clock, parts.freshMs);
  }

  /**
   * The order after a look-up, unless this process or another just made one. If the network does not answer,
   * nothing changes.
   */
  async refresh(order: OrderOn<Name>): Promise<OrderOn<Name>> {
    if (!order.open) return order;
    const { freshMs, mayLook } = this.parts;
    const standing = this.looked.standing(order.id);
    if (standing !== undefined) await standing;
    else if (mayLook === undefined || mayLook(order.id, freshMs))
      await this.looked.of(() => this.lookUp(order), order.id);
    return (await this.find(order.id)) ?? order;
  }

  private async find(id: string): Promise<OrderOn<Name> | undefined> {
    const { store, rail } = this.parts;
    const found = await findOrder(store, id);
    return isOn(found, rail) ? found : undefined;
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
    return this.rounds.run(this.due(lastMs), (order) => this.lookUp(order, fence));
  }

  private async *due(lastMs: number | undefined): AsyncGenerator<OrderOn<Name>> {
    const { store, rail, clock } = this.parts;
    const nowMs = clock.wallMs();
    for await (const order of openOrders(store, rail)) {
      if (lastMs === undefined || isDue(order, lastMs, nowMs)) yield order;
    }
  }
}
