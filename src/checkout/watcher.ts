/**
 * Watches the addresses of open orders, in one process at a time: what the node tells of is looked up at
 * once, all of them now and then, so that a hint that was missed costs minutes and no money.
 */
import { findOrderAt, nextAddressIndex, visitOpenOrders, type OrderRecord } from '../store/orders.js';
import type { Store, Unavailable } from '../store/store.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Account } from './addresses.js';
import type { Chain, Following } from './chain.js';
import { isDue } from './orders.js';

/** What a watcher works with. */
export interface WatcherParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'every' | 'wallMs'>;
  readonly account: Account;
  readonly log: Pick<Log, 'debug'>;
  readonly follow: NonNullable<Chain['follow']>;
  /** Looks one order up and lets what the node knows happen to it. */
  readonly lookUp: (order: OrderRecord) => Promise<Unavailable | undefined>;
}

/** New orders are looked for so often (ms). */
const newOrdersMs = 500;

/** Orders whose time is over are looked for so often (ms). */
const endedMs = 60_000;

/** All are looked up so often (ms). */
const allMs = 600_000;

/** Watches until it is stopped. */
export class Watcher {
  private readonly following: Following;
  private readonly timers: readonly Timer[];
  private nextIndex: number | undefined;
  /** Hints do not wait for rounds over all orders, each of which may take a while. */
  private readonly work = { hints: Promise.resolve(), rounds: Promise.resolve() };
  private looking: Promise<void> | undefined;
  /** The last round over all orders that were due. */
  private dueAtMs = -Infinity;
  private stopped = false;

  constructor(private readonly parts: WatcherParts) {
    const { clock, follow } = parts;
    this.following = follow({
      onConnected: () => this.then('rounds', () => this.begin()),
      onAddresses: (found) => this.then('hints', () => this.touch(found)),
      onBlock: () => this.then('rounds', () => this.visit(({ outputs }) => outputs.length > 0)),
      onLost: () => (this.nextIndex = undefined),
    });
    const now = (): number => clock.wallMs();
    const isOver = ({ status, expiresAtMs }: OrderRecord): boolean =>
      (status === 'pending' || status === 'underpaid') && expiresAtMs <= now();
    this.timers = [
      clock.every(newOrdersMs, () => this.addNew()),
      clock.every(endedMs, () => this.then('rounds', () => this.visit(isOver))),
      clock.every(allMs, () => this.then('rounds', () => this.visitDue())),
    ];
  }

  async stop(): Promise<void> {
    this.stopped = true;
    for (const timer of this.timers) timer.stop();
    this.following.stop();
    await this.looking;
    await Promise.all([this.work.hints, this.work.rounds]);
  }

  /** Does one thing after the other. */
  private then(kind: 'hints' | 'rounds', step: () => Promise<void>): void {
    this.work[kind] = this.work[kind].then(() => (this.stopped ? undefined : step()));
  }

  /** The filter of a new connection, and what was missed before it. */
  private async begin(): Promise<void> {
    const { store, account, log } = this.parts;
    const index = await nextAddressIndex(store, account.digest);
    if (index.kind === 'unavailable') return;
    const addresses: string[] = [];
    await visitOpenOrders(store, 'btc', ({ place }) => {
      addresses.push(place);
      return Promise.resolve(undefined);
    });
    this.following.watch(addresses);
    this.nextIndex = index.value.next;
    this.dueAtMs = this.parts.clock.wallMs();
    await this.visit(() => true);
    log.debug({ rail: 'btc', looked: addresses.length }, 'open orders were looked up');
  }

  /** Adds the addresses of orders that were made meanwhile, in whatever process. */
  private addNew(): void {
    this.looking ??= this.lookForNew().finally(() => (this.looking = undefined));
  }

  private async lookForNew(): Promise<void> {
    const { store, account } = this.parts;
    const from = this.nextIndex;
    if (from === undefined) return;
    const index = await nextAddressIndex(store, account.digest);
    // A connection that was lost meanwhile begins anew.
    if (index.kind === 'unavailable' || this.nextIndex !== from) return;
    const count = Math.max(0, index.value.next - from);
    if (count === 0) return;
    this.nextIndex = from + count;
    const addresses = Array.from({ length: count }, (_, at) => account.address(from + at));
    this.following.watch(addresses);
    // What was paid before the filter had them.
    this.then('hints', () => this.touch(addresses));
  }

  private async touch(addresses: readonly string[]): Promise<void> {
    for (const each of addresses) {
      if (this.stopped) return;
      const order = await findOrderAt(this.parts.store, 'btc', each);
      if (order.kind === 'unavailable') return;
      if (order.value?.open === true) await this.parts.lookUp(order.value);
    }
  }

  /** Looks up the orders that are due since the last such round. */
  private async visitDue(): Promise<void> {
    const [lastMs, nowMs] = [this.dueAtMs, this.parts.clock.wallMs()];
    this.dueAtMs = nowMs;
    await this.visit((order) => isDue(order, lastMs, nowMs));
  }

  private async visit(which: (order: OrderRecord) => boolean): Promise<void> {
    await visitOpenOrders(this.parts.store, 'btc', async (order) => {
      if (this.stopped) return { kind: 'unavailable', reason: 'it is being stopped' };
      return which(order) ? this.parts.lookUp(order) : undefined;
    });
  }
}
