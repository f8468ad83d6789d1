/**
 * Watches the addresses of open orders, in one process at a time. An address that the node reports is looked
 * up at once, and all of them periodically: a missed hint costs minutes, not money.
 */
import type { BtcOrder } from '../../store/tables/bitcoinOrder.js';
import { nextAddressIndex } from '../../store/tables/addressIndexes.js';
import { findOrderAt, findOrderOn, openOrders } from '../../store/tables/orders.js';
import { whenUnreadable, type LeftOut } from '../../store/table.js';
import { whenUnavailable, type Store } from '../../store/store.js';
import type { Clock, Timer } from '../../system/clock.js';
import type { Log } from '../../system/log.js';
import { addressesOf, type Account } from './account.js';
import type { Chain, Following } from './chain.js';
import { orderLeftOut, Rounds } from '../order/lookUps.js';
import { isDue } from '../order/orders.js';

/** Rounds over orders that are due, that have ended, and that are paid. */
export type WatcherRounds = Readonly<Record<'due' | 'ended' | 'paid', Rounds<BtcOrder>>>;

export function watcherRounds(): WatcherRounds {
  return { due: new Rounds(), ended: new Rounds(), paid: new Rounds() };
}

/** Dependencies of a watcher. */
export interface WatcherParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'every' | 'wallMs'>;
  readonly account: Account;
  readonly log: Pick<Log, 'debug' | 'warn'>;
  readonly follow: NonNullable<Chain['follow']>;
  /** The state of its rounds, which outlives it. */
  readonly rounds: WatcherRounds;
  /**
   * Looks one order up and applies what the node knows; false if the node or the store does not answer, or
   * another process holds the lease.
   */
  readonly lookUp: (order: BtcOrder) => Promise<boolean>;
}

/** Interval at which new orders are picked up (ms). */
const newOrdersMs = 500;

/**
 * Interval of look-ups of orders whose payment vanished with a removed block (ms), and their number: a node
 * returns such payments to its pool a moment later, and btcd sends no notification of that.
 */
const lostMs = 2_000;
const lostLookUps = 30;

/** Interval at which expired orders are looked up (ms), and while the node is silent all that are due. */
const endedMs = 60_000;

/** Interval of rounds over all orders that are due (ms). */
const allMs = 600_000;

/** Watches until it is stopped. */
export class Watcher {
  private readonly following: Following;
  private readonly timers: readonly Timer[];
  private readonly leftOut: LeftOut;
  private nextIndex: number | undefined;
  /** Hints do not wait for rounds over all orders, which may take a while. */
  private readonly work: Record<'hints' | 'rounds', Promise<unknown>> = {
    hints: Promise.resolve(),
    rounds: Promise.resolve(),
  };
  private looking: Promise<void> | undefined;
  /** Addresses whose payments a removed block may have taken away, and each one's remaining look-ups. */
  private readonly lost = new Map<string, number>();
  /** Time of the last round that reached all orders that were due. */
  private dueAtMs = -Infinity;
  private failed = 0;
  private stopped = false;

  constructor(private readonly parts: WatcherParts) {
    const { clock, follow, log } = parts;
    this.leftOut = orderLeftOut(log);
    this.following = follow({
      onConnected: () => this.then('rounds', () => this.begin()),
      onAddresses: (found) => this.then('hints', () => this.touch(found)),
      onBlock: () => this.then('rounds', () => this.roundOfPaid(this.work.hints)),
      onLost: () => (this.nextIndex = undefined),
    });
    const now = (): number => clock.wallMs();
    const isOver = ({ status, expiresAtMs }: BtcOrder): boolean =>
      (status === 'pending' || status === 'underpaid') && expiresAtMs <= now();
    this.timers = [
      clock.every(newOrdersMs, () => this.addNew()),
      clock.every(lostMs, () => this.then('rounds', () => this.lookForLost())),
      clock.every(endedMs, () => {
        const isSilent = this.isSilent();
        this.then('rounds', () => (isSilent ? this.roundOfDue() : this.round('ended', isOver)));
      }),
      clock.every(allMs, () => this.then('rounds', () => this.roundOfDue())),
    ];
  }

  /** Rounds in a row that looked orders up, and for none of them had an answer of the node. */
  get failedRounds(): number {
    return this.failed;
  }

  /** True if the node sends no notifications now, or did not answer the last round. */
  private isSilent(): boolean {
    return this.nextIndex === undefined || this.failed > 0;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    for (const timer of this.timers) timer.stop();
    this.following.stop();
    await Promise.all([this.looking, this.work.hints, this.work.rounds]);
  }

  /** Queues a step: the steps of a kind run one after the other. */
  private then(kind: 'hints' | 'rounds', step: () => Promise<unknown>): void {
    const goOn = (): Promise<unknown> | undefined => (this.stopped ? undefined : step());
    // If the store fails during a step, the next round makes up for it.
    this.work[kind] = whenUnavailable(this.work[kind].then(goOn), () => undefined);
  }

  /** Fills the filter of a new connection, and looks up what was missed before it. */
  private async begin(): Promise<void> {
    const { store, account, log } = this.parts;
    const index = await nextAddressIndex(store, account.digest);
    const addresses: string[] = [];
    const list = async (): Promise<void> => {
      for await (const { place, network } of openOrders(store, 'btc', this.leftOut)) {
        if (network === account.network) addresses.push(place);
      }
    };
    // A partial filter is better than none; the rounds look up all orders.
    await whenUnavailable(list(), () => undefined);
    this.following.watch(addresses);
    this.nextIndex = index.next;
    const nowMs = this.parts.clock.wallMs();
    if (await this.round('due', () => true)) this.dueAtMs = nowMs;
    log.debug({ rail: 'btc', looked: addresses.length }, 'open orders were looked up');
  }

  /** Adds the addresses of orders that any process made meanwhile. */
  private addNew(): void {
    this.looking ??= whenUnavailable(this.lookForNew(), () => undefined).finally(
      () => (this.looking = undefined),
    );
  }

  private async lookForNew(): Promise<void> {
    const { store, account } = this.parts;
    const from = this.nextIndex;
    if (from === undefined) return;
    const index = await nextAddressIndex(store, account.digest);
    // The connection was lost meanwhile; {@link begin} starts over.
    if (this.nextIndex !== from) return;
    const count = Math.max(0, index.next - from);
    if (count === 0) return;
    this.nextIndex = from + count;
    const indexes = Array.from({ length: count }, (_, at) => from + at);
    const addresses = await addressesOf(account, indexes);
    this.following.watch(addresses);
    // Payments may have arrived before the filter had these addresses.
    this.then('hints', () => this.touch(addresses));
  }

  private async touch(addresses: readonly string[]): Promise<void> {
    for (const each of addresses) {
      if (this.stopped) return;
      const order = await this.at(each);
      if (order?.open === true) await this.parts.lookUp(order);
    }
  }

  /** Looks up the orders that are due since the last such round; what a round did not reach stays due. */
  private async roundOfDue(): Promise<void> {
    const [lastMs, nowMs] = [this.dueAtMs, this.parts.clock.wallMs()];
    const { due } = this.parts.rounds;
    const isIncluded = (order: BtcOrder): boolean => isDue(order, lastMs, nowMs) || due.isOwed(order.id);
    if (await this.round('due', isIncluded)) this.dueAtMs = nowMs;
  }

  /**
   * Looks up the orders with payments: a block changed the payments' depths, or removed them. Look-ups that
   * began before the block must end first: they may store a payment as it was.
   */
  private async roundOfPaid(before: Promise<unknown>): Promise<void> {
    await before;
    await this.round('paid', ({ place, outputs }) => {
      if (outputs.length === 0) return false;
      this.lost.set(place, lostLookUps);
      return true;
    });
  }

  private async lookForLost(): Promise<void> {
    const { lookUp } = this.parts;
    for (const [place, left] of this.lost) {
      const order = await this.at(place);
      if (this.stopped) return;
      if (left > 0 && order?.open === true && order.outputs.length === 0) {
        this.lost.set(place, left - 1);
        await lookUp(order);
      } else this.lost.delete(place);
    }
  }

  /** Looks up orders; false if some had no turn. */
  private async round(name: keyof WatcherRounds, which: (order: BtcOrder) => boolean): Promise<boolean> {
    let failed = this.failed + 1;
    const lookUp = async (order: BtcOrder): Promise<boolean> => {
      const done = !this.stopped && (await this.parts.lookUp(order));
      // Orders of another network need no answer.
      if (done && order.network === this.parts.account.network) failed = 0;
      return done;
    };
    const rounds = this.parts.rounds[name];
    const round = await rounds.run({ orders: this.open(which), find: (id) => this.find(id), lookUp });
    // An order that alone cannot be looked up says nothing against the node, a round of none nothing for it.
    if (round === undefined || round.failed.length > 0 || failed === 0) this.failed = failed;
    return round !== undefined;
  }

  /** An order, until the watcher is stopped. */
  private async find(id: string): Promise<BtcOrder | undefined> {
    if (this.stopped) return undefined;
    return whenUnreadable(findOrderOn(this.parts.store, 'btc', id), this.leftOut);
  }

  /** The order at an address. */
  private at(address: string): Promise<BtcOrder | undefined> {
    return whenUnreadable(findOrderAt(this.parts.store, 'btc', address), this.leftOut);
  }

  /** Open orders, until the watcher is stopped. */
  private async *open(which: (order: BtcOrder) => boolean): AsyncGenerator<BtcOrder> {
    for await (const order of openOrders(this.parts.store, 'btc', this.leftOut)) {
      if (this.stopped) return;
      if (which(order)) yield order;
    }
  }
}
