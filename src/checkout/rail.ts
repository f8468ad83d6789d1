/**
 * A way to pay: the interface of on-chain, Lightning and card payments for routes, pages and the upkeep. One
 * test suite runs on all three (test/checkout/railConformance.ts).
 */
import type { PaymentPath, Rail as RailName, Tier } from '../contract/pricing.js';
import type { OrderRecord } from '../store/tables/order.js';
import type { Fence } from '../store/store.js';
import type { BookParts, MadeOrder } from './order/book.js';
import { poll, type Polled, type PollRequest, type PollWish } from './order/poll.js';

/** Readiness of a rail; the reason is a sentence for buyers. */
export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** No order can be made now; the reason is a sentence for buyers. */
export interface RailUnavailable {
  readonly kind: 'rail unavailable';
  readonly reason: string;
}

/** How a round of look-ups is made. */
export interface RoundWish {
  /** The lease under which its findings are applied; absent: none. */
  readonly fence?: Fence | undefined;
  /** Time of the last round (ms since 1970): expired orders not due since are left out; absent: none. */
  readonly lastMs?: number | undefined;
  /** Told each order that alone could not be looked up; the next round tries it again. */
  readonly onFailed?: (orderId: string) => void;
}

/** A rail of one process. */
export interface Rail<Order extends OrderRecord, Wish, Made> {
  /** Readiness to receive this number of satoshi. It never throws, and answers soon. */
  check(sat: bigint): Promise<Readiness>;
  /** Makes an order. It is on disk before its buyer learns where to pay. */
  create(wish: Wish): Promise<Made | RailUnavailable>;
  /** The order after a look-up in its network, if that can change it. */
  refresh(order: Order): Promise<Order>;
  /**
   * Looks up every open order. Resolves to their number; undefined: the store or the network does not answer,
   * or another process holds the fence's lease.
   */
  reconcile(wish?: RoundWish): Promise<number | undefined>;
}

/** The readiness of a rail that the operator has not set up. */
export function notConfigured(payments: string): Extract<Readiness, { readonly ready: false }> {
  return { ready: false, reason: `${payments} are not configured on this server.` };
}

/** Orders are refused while `isStorageReserved` is true; absent: never. */
export interface StorageLimit {
  readonly isStorageReserved?: () => boolean;
}

/** Readiness of a rail for a new order, as `check` finds it if the disk has room. */
export function checkRoom(
  { isStorageReserved }: StorageLimit,
  check: () => Promise<Readiness>,
): Promise<Readiness> {
  if (isStorageReserved?.() !== true) return check();
  return Promise.resolve({ ready: false, reason: 'The server has almost no disk space left.' });
}

/** A rail that the operator has not set up, or no longer: older orders are still shown. */
export function closedRail<Order extends OrderRecord>(
  payments: string,
): Rail<Order, unknown, MadeOrder<Order>> {
  const closed = notConfigured(payments);
  return {
    check: () => Promise.resolve(closed),
    create: () => Promise.resolve({ kind: 'rail unavailable', reason: closed.reason }),
    refresh: (order) => Promise.resolve(order),
    reconcile: () => Promise.resolve(0),
  };
}

/** A rail whose orders are polled. */
export interface PolledRail<Order extends OrderRecord, View> {
  readonly parts: BookParts;
  readonly rail: Pick<Rail<Order, never, unknown>, 'refresh'>;
  /** A polled order as its buyer sees it. */
  readonly view: (polled: Polled<Order>) => View;
  /** The order at a place as stored; undefined: this rail has none there. */
  readonly find: (place: string) => Promise<Order | undefined>;
  /** Requirements for polls. */
  readonly demanded: Pick<PollWish, 'claimRequired' | 'bareMs'>;
}

/**
 * An order after a look-up of its payment, with its key for the first poll after it is paid; undefined: there
 * is none. A poll that may not change anything makes no look-up.
 */
export async function pollOrder<Order extends OrderRecord, View>(
  { parts, rail, view, find, demanded }: PolledRail<Order, View>,
  place: string,
  { claim, mayAct, aborted }: PollRequest,
): Promise<View | undefined> {
  const found = await find(place);
  if (found === undefined) return undefined;
  const order = mayAct ? await rail.refresh(found) : found;
  // Checked after the look-up, which may take a while: a key revealed to a client that has gone is lost.
  const wish = { ...demanded, claim, mayAct: mayAct && !aborted(), aborted };
  return view(await poll(parts, order, wish));
}

/** Every rail's readiness for a tier, or for the cheapest one. */
export type RailChecks = Readonly<
  Record<RailName, (tier: Tier | undefined) => Promise<Readiness> | Readiness>
>;

/** Every rail as answers show it; `tier` undefined: readiness for the cheapest tier. */
export async function paymentPaths(checks: RailChecks, tier: Tier | undefined): Promise<PaymentPath[]> {
  const rails = Object.entries(checks) as [RailName, RailChecks[RailName]][];
  return Promise.all(
    rails.map(async ([rail, check]) => {
      const readiness = await check(tier);
      return { rail, ready: readiness.ready, reason: readiness.ready ? null : readiness.reason };
    }),
  );
}
