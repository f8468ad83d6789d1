/** Look-ups of open orders: of one order for its polls, and of all orders in rounds. */
import type { OrderOn, OrderRecord } from '../../store/tables/order.js';
import { findOrderOn, openOrders } from '../../store/tables/orders.js';
import { leftOut, whenUnreadable, type LeftOut } from '../../store/table.js';
import { whenUnavailable, type Fence, type Store } from '../../store/store.js';
import { timeText, type Clock } from '../../system/clock.js';
import type { Log } from '../../system/log.js';
import { Recent } from '../../system/shared.js';
import type { RoundWish } from '../rail.js';
import { isDue, isUrgent } from './orders.js';

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

/** Where the next round begins: after the last orders that an incomplete one looked up. */
interface Resumption {
  readonly urgent: string;
  readonly expired: string;
  /** True if the urgent orders before that one come after the expired ones. */
  readonly isLimited: boolean;
}

/** No id precedes the empty one. */
const fromFirst: Resumption = { urgent: '', expired: '', isLimited: false };

/** Outcome of a round of look-ups. */
export interface Round {
  /** Number of orders that were looked up. */
  readonly looked: number;
  /** Ids of those that alone could not be. */
  readonly failed: readonly string[];
}

/** The orders of a round, and how they are looked up. */
interface RoundParts<Order extends OrderRecord> {
  /** In the order of ids. */
  readonly orders: AsyncIterable<Order>;
  /** Reads an expired order again when its turn comes; undefined: it is not looked up any more. */
  readonly find: (id: string) => Promise<Order | undefined>;
  /** False if the order could not be looked up. */
  readonly lookUp: (order: Order) => Promise<boolean>;
}

/** Orders that wait for their turn; of the expired ones, which are many, only the ids. */
interface Turns<Order> {
  readonly urgent: Order[];
  readonly expired: string[];
  /** Urgent ones that come after the expired ones. */
  readonly later: Order[];
}

/**
 * Rounds of look-ups of one kind. A round takes each of its orders once: first those that await money or have
 * some, then those that expired without, of which there are thousands. If it could not look up all, the next
 * begins after the last order that it did look up, and wraps around: so a node that answers few requests is
 * asked about every order in turn. If that order was an expired one, all the others come first nevertheless.
 */
export class Rounds<Order extends OrderRecord> {
  private after = fromFirst;
  /**
   * Orders that the last complete round could not look up. True: another one was answered after it, in that
   * round or in an earlier one.
   */
  private failed: ReadonlyMap<string, boolean> = new Map();

  /** True if the last complete round could not look an order up: it is due in the next. */
  isOwed(id: string): boolean {
    return this.failed.has(id);
  }

  /**
   * Looks up orders one after the other. An order that alone cannot be looked up does not keep the others
   * waiting. The network counts as unreachable if none could be, or several in a row: undefined. If these are
   * urgent ones, which may fail alone, an expired one tells which it is.
   */
  async run({ orders, find, lookUp }: RoundParts<Order>): Promise<Round | undefined> {
    const turns = await this.turns(orders);
    const failed: Order[] = [];
    let looked = 0;
    /** Number of orders that failed before the last one that was looked up. */
    let alone = 0;
    const isInDoubt = (): boolean => failed.length - alone >= maxFailedInARow;
    for (;;) {
      const next = isInDoubt() ? turns.expired.shift() : nextOf(turns);
      if (next === undefined) break;
      const order = typeof next === 'string' ? await find(next) : next;
      if (order?.open !== true) continue;
      if (await lookUp(order)) {
        looked += 1;
        alone = failed.length;
        this.reached(order);
        continue;
      }
      failed.push(order);
      if (isInDoubt() && !isUrgent(order)) break;
    }
    const isKnown = ({ id }: Order): boolean => this.failed.get(id) === true;
    if (!isInDoubt() && failed.slice(alone).every(isKnown)) this.after = fromFirst;
    else if (looked === 0) this.passOver(failed);
    if (isInDoubt() || (looked === 0 && failed.length > 0)) return undefined;
    this.failed = new Map(failed.map((order, at) => [order.id, at < alone || isKnown(order)]));
    return { looked, failed: [...this.failed.keys()] };
  }

  private async turns(orders: AsyncIterable<Order>): Promise<Turns<Order>> {
    const { urgent, expired, isLimited } = this.after;
    const [urgentNext, urgentBefore]: [Order[], Order[]] = [[], []];
    const [expiredNext, expiredBefore]: [string[], string[]] = [[], []];
    for await (const order of orders) {
      const { id } = order;
      if (isUrgent(order)) (id > urgent ? urgentNext : urgentBefore).push(order);
      else (id > expired ? expiredNext : expiredBefore).push(id);
    }
    const allExpired = [...expiredNext, ...expiredBefore];
    if (isLimited) return { urgent: urgentNext, expired: allExpired, later: urgentBefore };
    return { urgent: [...urgentNext, ...urgentBefore], expired: allExpired, later: [] };
  }

  private reached(order: Order): void {
    const { id } = order;
    const { expired } = this.after;
    this.after = isUrgent(order) ? { urgent: id, expired, isLimited: true } : { ...fromFirst, expired: id };
  }

  /** Each of these orders may fail alone: as no other was looked up, the next round begins after them. */
  private passOver(failed: readonly Order[]): void {
    const last = (isOne: (order: Order) => boolean): string | undefined => failed.findLast(isOne)?.id;
    const { urgent, expired } = this.after;
    this.after = {
      urgent: last(isUrgent) ?? urgent,
      expired: last((order) => !isUrgent(order)) ?? expired,
      isLimited: false,
    };
  }
}

/** Takes the next order, or its id. */
function nextOf<Order>({ urgent, expired, later }: Turns<Order>): Order | string | undefined {
  return urgent.shift() ?? expired.shift() ?? later.shift();
}

/** Logs that an order is left out of look-ups, once for each reason. */
export function orderLeftOut(log: Pick<Log, 'warn'>): LeftOut {
  return leftOut(log, 'an order is left out: nobody looks for its payment');
}

/** The look-ups of one process. */
export class LookUps<Name extends OrderRecord['rail']> {
  private readonly looked: Recent<boolean>;
  private readonly rounds = new Rounds<OrderOn<Name>>();
  private readonly leftOut: LeftOut;

  constructor(private readonly parts: LookUpParts<Name>) {
    this.leftOut = orderLeftOut(parts.log);
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

  private find(id: string): Promise<OrderOn<Name> | undefined> {
    return findOrderOn(this.parts.store, this.parts.rail, id);
  }

  /**
   * Looks an order up; false if the network or the store does not answer, or another process holds the lease.
   */
  lookUp(order: OrderOn<Name>, fence?: Fence): Promise<boolean> {
    return whenUnavailable(this.parts.lookUp(order, fence), ({ message: reason }) => {
      // Not its id, which collects a key. `fusegate orders list` shows it beside rail and time.
      const about = { rail: order.rail, createdAt: timeText(order.createdAtMs), reason };
      this.parts.log.warn(about, 'an order could not be looked up');
      return false;
    });
  }

  /** A round over all open orders that are due; resolves as {@link Rail.reconcile} does. */
  reconcile(wish: RoundWish = {}): Promise<number | undefined> {
    return whenUnavailable(this.round(wish), () => undefined);
  }

  private async round({ fence, lastMs, onFailed }: RoundWish): Promise<number | undefined> {
    const round = await this.rounds.run({
      orders: this.due(lastMs),
      find: (id) => whenUnreadable(this.find(id), this.leftOut),
      lookUp: (order) => this.lookUp(order, fence),
    });
    for (const id of round?.failed ?? []) onFailed?.(id);
    return round?.looked;
  }

  private async *due(lastMs: number | undefined): AsyncGenerator<OrderOn<Name>> {
    const { store, rail, clock } = this.parts;
    const nowMs = clock.wallMs();
    for await (const order of openOrders(store, rail, this.leftOut)) {
      const isIncluded = lastMs === undefined || isDue(order, lastMs, nowMs) || this.rounds.isOwed(order.id);
      if (isIncluded) yield order;
    }
  }
}
