/** Orders paid on chain (contract, Checkout): a fresh address for each, watched through a node. */
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import {
  countUnpaid,
  insertOrder,
  nextAddressIndex,
  takeIndexes,
  visitOpenOrders,
  type OrderRecord,
} from '../store/orders.js';
import type { Fence, Reading, Unavailable } from '../store/store.js';
import type { Account } from './addresses.js';
import { draftOrder, newOrderId, type BookParts, type MadeOrder, type NewOrder } from './book.js';
import type { Chain } from './chain.js';
import type { RailUnavailable } from './lightning.js';
import { lookUpOrder } from './lookUp.js';
import type { Readiness } from './rails.js';
import { Watcher } from './watcher.js';

/** How long an order may be paid (ms). */
const orderMs = 3_600_000;

/** How long what the node said of itself is told again (ms). */
const knownMs = 3_000;

/** How long an address's look-up is told again (ms): any number of polls ask once. */
const lookedMs = 500;

/** The same where the node tells of payments by itself: polls only make up for a watcher that is gone. */
const followedMs = 5_000;

/** Orders that are made in one unit: they share the step of the account's index. */
const mostTogether = 64;

/** What the rail is made of. */
export interface BitcoinParts extends BookParts {
  readonly clock: Clock;
  readonly account: Account;
  readonly chain: Chain;
  /** Depth at which an output counts. */
  readonly confirmationsRequired: number;
  /** Most orders at once that are not paid for; 0: no limit. */
  readonly maxUnpaidOrders: number;
  readonly log: Pick<Log, 'warn' | 'debug'>;
}

/** A wish for an order, without what the rail itself knows. */
export type BitcoinWish = Omit<
  NewOrder,
  'id' | 'rail' | 'network' | 'place' | 'reference' | 'addressIndex' | 'confirmationsRequired' | 'lifeMs'
>;

/** What making an order came to. `rail busy`: as many as may be are not paid for. */
export type BitcoinMade = MadeOrder | RailUnavailable | { readonly kind: 'rail busy' } | Unavailable;

interface Waiting {
  readonly wish: BitcoinWish;
  readonly settle: (made: BitcoinMade) => void;
  readonly fail: (error: unknown) => void;
}

/** The rail of one process. */
export class Bitcoin {
  private waiting: Waiting[] = [];
  private running: Promise<void> | undefined;
  private readinessAtMs = -Infinity;
  private known: Promise<Readiness> | undefined;
  private readonly looking = new Map<string, { readonly atMs: number; readonly done: Promise<unknown> }>();

  constructor(private readonly parts: BitcoinParts) {}

  /** Whether payments would be seen; looked at every few seconds at most. */
  check(): Promise<Readiness> {
    const nowMs = this.parts.clock.monotonicMs();
    if (this.known === undefined || nowMs - this.readinessAtMs >= knownMs) {
      this.readinessAtMs = nowMs;
      this.known = this.look();
    }
    return this.known;
  }

  /**
   * Makes an order with an address that no other ever had; on disk when it resolves, before the address is
   * shown. Indexes are given out one by one in the unit that writes the orders: none is left out, none is
   * given out twice, whatever is killed.
   */
  async create(wish: BitcoinWish): Promise<BitcoinMade> {
    const ready = await this.check();
    if (!ready.ready) return { kind: 'rail unavailable', reason: ready.reason };
    return new Promise((settle, fail) => {
      this.waiting.push({ wish, settle, fail });
      this.running ??= this.run().finally(() => (this.running = undefined));
    });
  }

  /** Looks at what the node knows of an order's address, where that may have changed the order. */
  async refresh(order: OrderRecord): Promise<void> {
    if (order.open) await this.lookUpSoon(order);
  }

  /**
   * Looks every open order up. Resolves to how many; undefined: the store or the node does not answer, or the
   * lease of the fence has another holder by now.
   */
  async reconcile(fence?: Fence): Promise<number | undefined> {
    let looked = 0;
    const failed = await visitOpenOrders(this.parts.store, 'btc', (order) => {
      looked += 1;
      return this.lookUp(order, fence);
    });
    return failed === undefined ? looked : undefined;
  }

  /** Whether the node tells of payments by itself. */
  get follows(): boolean {
    return this.parts.chain.follow !== undefined;
  }

  /** Starts to watch the open orders; undefined where the node tells of nothing by itself. */
  watch(fence: Fence): Watcher | undefined {
    const { follow } = this.parts.chain;
    if (follow === undefined) return undefined;
    return new Watcher({ ...this.parts, follow, lookUp: (order) => this.lookUp(order, fence) });
  }

  private async run(): Promise<void> {
    // Wishes that come in the same turn of the event loop begin together.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const group = this.waiting.splice(0, mostTogether);
      try {
        const made = await this.makeGroup(group.map(({ wish }) => wish));
        group.forEach(({ settle }, index) => settle(made[index] ?? { kind: 'rail busy' }));
      } catch (error) {
        for (const { fail } of group) fail(error);
      }
    }
  }

  /** Makes orders in one unit; fewer than wished where the limit of unpaid ones is reached. */
  private async makeGroup(wishes: readonly BitcoinWish[]): Promise<readonly BitcoinMade[]> {
    const { store, account, chain, newUnitId } = this.parts;
    let skipped = 0;
    for (;;) {
      const index = await nextAddressIndex(store, account.digest);
      if (index.kind === 'unavailable') return wishes.map(() => index);
      const room = await this.room(wishes.length);
      if (room.kind === 'unavailable') return wishes.map(() => room);
      const { bytes } = index.value;
      const next = index.value.next + skipped;
      const made = wishes.slice(0, room.value).map((wish, at) => this.draft(wish, next + at));
      if (made.length === 0) return [];
      const prepared = await chain.prepare?.(next + made.length - 1);
      if (prepared?.kind === 'failed') return wishes.map(() => this.unusable(prepared.reason));
      const outcome = await store.commit({
        id: newUnitId(),
        operations: [
          takeIndexes(account.digest, bytes, next + made.length),
          ...made.flatMap(({ order }) => insertOrder(order)),
        ],
      });
      if (outcome.kind === 'unavailable') return wishes.map(() => outcome);
      if (outcome.kind === 'done') return made;
      if (outcome.kind === 'refused') throw new Error('A new order was refused by a fence');
      // Another process took these indexes; or an address is an order's already, as after an index that a
      // restored store has too low: then it is left out.
      skipped = outcome.operation === 0 ? 0 : skipped + 1;
    }
  }

  /**
   * How many more unpaid orders there may be. It is exact over all processes: orders are written with the
   * step of the index, so that none can come between this count and a unit that finds the index as before.
   */
  private async room(wished: number): Promise<Reading<number>> {
    const { store, maxUnpaidOrders: most } = this.parts;
    if (most === 0) return { kind: 'read', value: wished };
    const unpaid = await countUnpaid(store, 'btc', most);
    return unpaid.kind === 'unavailable' ? unpaid : { kind: 'read', value: most - unpaid.value };
  }

  private draft(wish: BitcoinWish, index: number): MadeOrder {
    const { account, confirmationsRequired, randomness } = this.parts;
    return draftOrder(this.parts, {
      ...wish,
      id: newOrderId(randomness),
      rail: 'btc',
      network: account.network,
      place: account.address(index),
      reference: null,
      addressIndex: index,
      confirmationsRequired,
      lifeMs: orderMs,
    });
  }

  /** Looks an order up, unless that was just done; a node that does not answer changes nothing. */
  private async lookUpSoon(order: OrderRecord): Promise<void> {
    const nowMs = this.parts.clock.monotonicMs();
    const toldMs = this.parts.chain.follow === undefined ? lookedMs : followedMs;
    const last = this.looking.get(order.id);
    if (last !== undefined && nowMs - last.atMs < toldMs) {
      await last.done;
      return;
    }
    for (const [id, { atMs }] of this.looking) {
      // They stand in the order of their times.
      if (nowMs - atMs < toldMs) break;
      this.looking.delete(id);
    }
    this.looking.delete(order.id);
    const done = this.lookUp(order);
    this.looking.set(order.id, { atMs: nowMs, done });
    await done;
  }

  private async lookUp(order: OrderRecord, fence?: Fence): Promise<Unavailable | undefined> {
    const outcome = await lookUpOrder({ ...this.parts, ...(fence === undefined ? {} : { fence }) }, order);
    if (outcome.kind === 'unavailable') return outcome;
    if (outcome.kind !== 'failed') return undefined;
    this.parts.log.warn({ reason: outcome.reason }, 'the Bitcoin node cannot be used');
    // Time passes all the same; but nobody knows what was paid meanwhile.
    return { kind: 'unavailable', reason: outcome.reason };
  }

  /** Tells the operator the reason, and the buyer that there is one. */
  private unusable(reason: string): RailUnavailable {
    this.parts.log.warn({ reason }, 'the Bitcoin node cannot be used');
    return { kind: 'rail unavailable', reason: 'The Bitcoin node does not answer.' };
  }

  private async look(): Promise<Readiness> {
    const { chain, account } = this.parts;
    const network = await chain.network();
    if (network.kind === 'failed') return { ready: false, reason: this.unusable(network.reason).reason };
    if (network.value === account.network) return { ready: true };
    return { ready: false, reason: `The Bitcoin node is on ${network.value}, not on ${account.network}.` };
  }
}
