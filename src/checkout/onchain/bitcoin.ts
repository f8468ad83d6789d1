/** Orders paid on chain (contract, Checkout): a fresh address for each, watched through a node. */
import type { Clock } from '../../system/clock.js';
import type { Log } from '../../system/log.js';
import { networkNameBytes, type BtcOrder } from '../../store/tables/bitcoinOrder.js';
import { isUnpaid } from '../../store/tables/order.js';
import {
  countUnpaid,
  countUnconfirmedBy,
  insertOrder,
  unconfirmedOrdersBy,
} from '../../store/tables/orders.js';
import { nextAddressIndex, takeIndexes, type AddressIndex } from '../../store/tables/addressIndexes.js';
import { whenUnavailable, type Fence, type Operation } from '../../store/store.js';
import { oneAtATime, Recent } from '../../system/shared.js';
import type { Account } from './account.js';
import {
  apply,
  draftOrder,
  newOrderId,
  type BookParts,
  type MadeOrder,
  type OrderWish,
} from '../order/book.js';
import type { Chain } from './chain.js';
import { beginAccount, freshIndexes, maxPassedOver } from './freshAddresses.js';
import { lookUpOrder } from './lookUp.js';
import { LookUps, type MayLook } from '../order/lookUps.js';
import { nodeFault } from './nodeTrust.js';
import type { Rail, RailUnavailable, Readiness, RoundWish } from '../rail.js';
import { Watcher, watcherRounds } from './watcher.js';

/** Time in which an order may be paid (ms). */
const orderMs = 3_600_000;

/** Lifetime of the cached node status (ms). */
const knownMs = 3_000;

/** Lifetime of an address's cached look-up (ms): any number of polls cause one request. */
const lookedMs = 1_000;

/** The same if the node sends notifications: polls then only make up for a watcher that died. */
const followedMs = 5_000;

/** Share of the rail's room that the unconfirmed orders of one network may take. */
const networkShare = 0.25;

/** Time after which a network with too many orders may try again (ms). */
const networkBusyMs = 120_000;

/** Time in which a block comes, on average (ms). */
const blockMs = 600_000;

/** A limit on unconfirmed orders, and the bytes with which the names of those that it counts begin. */
interface Counted {
  readonly of: AddressBusy['of'];
  readonly name: Uint8Array;
  readonly most: number;
}

/** A limit with the orders that it counts, and when there may be fewer once that is known. */
interface Count extends Counted {
  count: number;
  untilMs?: number;
}

/** Most orders in one unit: they share one step of the account's index. */
const mostTogether = 64;

/** Interval at which an order checks whether the search of a new account has ended (ms). */
const beginPollMs = 100;

/** Checks before the order is refused: 10 s in all. */
const mostBeginPolls = 100;

const stillSearching = 'The account is being searched for earlier payments. Try again in a minute.';

const tooManyUnpaid = 'Too many on-chain orders wait for their payment.';

/** Parts of the rail. */
export interface BitcoinParts extends BookParts {
  readonly clock: Clock;
  /** See {@link LookUps}. */
  readonly mayLook?: MayLook;
  readonly account: Account;
  readonly chain: Chain;
  /** Depth at which an output counts. */
  readonly confirmationsRequired: number;
  /** Most unpaid orders at once; 0: no limit. */
  readonly maxUnpaidOrders: number;
  /** Most unpaid orders of one client address; absent or 0: no limit. */
  readonly unpaidOrdersPerAddress?: number;
  readonly log: Pick<Log, 'warn' | 'info' | 'debug'>;
}

/** An order as requested. */
export interface BitcoinWish extends OrderWish {
  /** See {@link BtcOrder.orderedBy}; absent: unknown. */
  readonly orderedBy?: Uint8Array;
}

/** The buyer's client address, or its network, has reached its limit of unconfirmed orders. */
export interface AddressBusy {
  readonly kind: 'address busy';
  readonly of: 'address' | 'network';
  /** Their number. */
  readonly unpaid: number;
  /** When there may be fewer (ms since 1970). */
  readonly untilMs: number;
}

/** Outcome of making an order. `rail busy`: the limit of unpaid orders is reached. */
export type BitcoinMade =
  MadeOrder<BtcOrder> | RailUnavailable | AddressBusy | { readonly kind: 'rail busy' };

/** Orders that are not on disk yet, with the step of the index that their addresses take. */
interface Drafts {
  readonly kind: 'drafts';
  readonly made: readonly MadeOrder<BtcOrder>[];
  readonly step: Operation;
  /** The first index that was checked. */
  readonly from: number;
  readonly passedOver: number;
}

interface Waiting {
  readonly wish: BitcoinWish;
  readonly settle: (made: BitcoinMade) => void;
  readonly fail: (error: unknown) => void;
}

/** The outcome of each wish: made, or refused for its address; undefined: too many orders are unpaid. */
function outcomes(
  busy: readonly (AddressBusy | undefined)[],
  made: readonly MadeOrder<BtcOrder>[],
): readonly (BitcoinMade | undefined)[] {
  const left = [...made];
  return busy.map((refused) => refused ?? left.shift());
}

const storeDown = { ready: false, reason: 'The store is not available.' } as const;

/** The rail of one process. */
export class Bitcoin implements Rail<BtcOrder, BitcoinWish, BitcoinMade> {
  private waiting: Waiting[] = [];
  private readonly groups = oneAtATime(() => this.makeGroups());
  private readonly known: Recent<Readiness>;
  private readonly lookUps: LookUps<'btc'>;
  /** Those of every watcher: each begins where the last one ended. */
  private readonly rounds = watcherRounds();
  private begun = false;

  constructor(private readonly parts: BitcoinParts) {
    this.known = new Recent(parts.clock, knownMs);
    const freshMs = this.follows ? followedMs : lookedMs;
    const lookUp = (order: BtcOrder, fence?: Fence): Promise<boolean> => this.lookUp(order, fence);
    this.lookUps = new LookUps({ ...parts, rail: 'btc', freshMs, lookUp });
  }

  /** Readiness for a new order. The node is asked at most every few seconds. */
  async check(): Promise<Readiness> {
    if (!this.begun) {
      const begun = await this.readBegun();
      if (begun !== undefined) return { ready: false, reason: begun };
    }
    const node = await this.nodeCheck();
    if (!node.ready) return node;
    const room = await whenUnavailable(this.room(), () => undefined);
    if (room === undefined) return storeDown;
    return room > 0 ? { ready: true } : { ready: false, reason: tooManyUnpaid };
  }

  /**
   * Finds the first address to give out, if the store does not know the account yet. Resolves to 0 once it
   * does; undefined: the store or the node does not answer.
   */
  async begin(): Promise<0 | undefined> {
    if (this.begun) return 0;
    const begun = await whenUnavailable(beginAccount(this.parts), () => undefined);
    if (begun?.kind !== 'begun') {
      if (begun !== undefined) this.unusable(begun.reason);
      return undefined;
    }
    this.begun = true;
    const { next } = begun.index;
    const said = begun.searched ? 'the account was searched for earlier payments' : 'the account is known';
    this.parts.log.info({ rail: 'btc', nextIndex: next, passedOver: begun.index.passedOver }, said);
    return 0;
  }

  private nodeCheck(): Promise<Readiness> {
    return this.known.of(() => this.look());
  }

  /**
   * Makes an order with an address that no other order ever had. It is on disk when this resolves, so before
   * anyone sees the address. The unit that writes the orders also takes their indexes: a crash at any time
   * neither skips an index nor gives one out twice.
   */
  async create(wish: BitcoinWish): Promise<BitcoinMade> {
    await this.untilBegun();
    const ready = await this.nodeCheck();
    if (!ready.ready) return { kind: 'rail unavailable', reason: ready.reason };
    return new Promise((settle, fail) => {
      this.waiting.push({ wish, settle, fail });
      void this.groups.run();
    });
  }

  refresh(order: BtcOrder): Promise<BtcOrder> {
    return this.lookUps.refresh(order);
  }

  reconcile(wish?: RoundWish): Promise<number | undefined> {
    return this.lookUps.reconcile(wish);
  }

  /** True if the node sends notifications of payments. */
  get follows(): boolean {
    return this.parts.chain.follow !== undefined;
  }

  /** Starts to watch the open orders; undefined if the node sends no notifications. */
  watch(fence: Fence): Watcher | undefined {
    const { follow } = this.parts.chain;
    if (follow === undefined) return undefined;
    const lookUp = (order: BtcOrder): Promise<boolean> => this.lookUps.lookUp(order, fence);
    return new Watcher({ ...this.parts, follow, rounds: this.rounds, lookUp });
  }

  private async makeGroups(): Promise<void> {
    // Wishes of the same turn of the event loop are gathered into one group.
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

  /** Waits for a while until the process that searches a new account has finished. */
  private async untilBegun(): Promise<void> {
    for (let polls = 0; !this.begun && polls < mostBeginPolls; polls += 1) {
      if ((await this.readBegun()) === undefined) return;
      await this.parts.clock.sleep(beginPollMs);
    }
  }

  /** Undefined once the store has the account's next index; before that a sentence for the buyer. */
  private async readBegun(): Promise<string | undefined> {
    const { store, account } = this.parts;
    const index = await whenUnavailable(nextAddressIndex(store, account.digest), () => undefined);
    if (index === undefined) return storeDown.reason;
    this.begun = index.bytes !== undefined;
    return this.begun ? undefined : stillSearching;
  }

  /** Makes orders in one unit; undefined for those beyond the limit of unpaid orders. */
  private async makeGroup(wishes: readonly BitcoinWish[]): Promise<readonly (BitcoinMade | undefined)[]> {
    const { store, account } = this.parts;
    let skipped = 0;
    for (;;) {
      const index = await nextAddressIndex(store, account.digest);
      if (index.bytes === undefined) {
        return wishes.map(() => ({ kind: 'rail unavailable', reason: stillSearching }) as const);
      }
      const busy = await this.busyAddresses(wishes);
      const free = wishes.filter((_, at) => busy[at] === undefined);
      const taken = free.slice(0, await this.room());
      if (taken.length === 0) return outcomes(busy, []);
      const drafts = await this.drafts(taken, index, index.next + skipped);
      if (drafts.kind !== 'drafts') return wishes.map(() => drafts);
      const { made, step } = drafts;
      const operations = [step, ...made.flatMap(({ order }) => insertOrder(order))];
      const outcome = await store.commit(operations);
      if (outcome.kind === 'done') {
        this.reportPassedOver(drafts);
        return outcomes(busy, made);
      }
      if (outcome.kind === 'refused') throw new Error('A new order was refused by a fence');
      // Operation 0 conflicts: another process took these indexes. Any other: an order already has the
      // address, which happens if a restored store's index is too low. That address is skipped.
      skipped = outcome.operation === 0 ? 0 : skipped + 1;
    }
  }

  /** Orders from index `from` on, each with an address without history, and the step of the index. */
  private async drafts(
    wishes: readonly BitcoinWish[],
    before: AddressIndex,
    from: number,
  ): Promise<Drafts | RailUnavailable> {
    const { account, chain } = this.parts;
    const fresh = await freshIndexes(this.parts, from, wishes.length);
    if (fresh.kind === 'failed') return this.unusable(fresh.reason);
    if (fresh.kind === 'exhausted') return this.exhausted(from);
    // Read after the histories: a payment that arrives in between is in a block at or below this one.
    const tip = await chain.tip();
    if (tip.kind === 'failed') return this.unusable(tip.reason);
    const { indexes, passedOver } = fresh.value;
    const made = wishes.map((wish, at) => this.draft(wish, indexes[at] ?? from + at, tip.value));
    const next = (indexes.at(-1) ?? from) + 1;
    const counted = { bytes: before.bytes, passedOver: before.passedOver + passedOver };
    return { kind: 'drafts', made, step: takeIndexes(account.digest, counted, next), from, passedOver };
  }

  private reportPassedOver({ from, passedOver }: Drafts): void {
    if (passedOver === 0) return;
    const about = { rail: 'btc', fromIndex: from, passedOver };
    this.parts.log.warn(about, 'addresses with earlier payments were skipped');
  }

  private exhausted(from: number): RailUnavailable {
    const about = { rail: 'btc', fromIndex: from, passedOver: maxPassedOver };
    const said = 'every next address has earlier payments: give BTC_XPUB an account of its own';
    this.parts.log.warn(about, said);
    return { kind: 'rail unavailable', reason: 'No unused address is left for an order.' };
  }

  /**
   * Number of unpaid orders that may still be made; `Infinity`: there is no limit. It is exact across
   * processes: each unit with orders also steps the index, so an order made after this count makes the unit
   * conflict.
   */
  private async room(): Promise<number> {
    const { store, maxUnpaidOrders: most } = this.parts;
    return most === 0 ? Infinity : most - (await countUnpaid(store, 'btc', most));
  }

  /** Limits on the unpaid orders of a client address and of its network, with the name of each. */
  private limitsOf(orderedBy: Uint8Array): readonly Counted[] {
    const { unpaidOrdersPerAddress: most = 0, maxUnpaidOrders } = this.parts;
    if (most === 0) return [];
    const address = { of: 'address', name: orderedBy, most } as const;
    const network = { of: 'network', name: orderedBy.subarray(0, networkNameBytes) } as const;
    if (maxUnpaidOrders === 0) return [address];
    return [address, { ...network, most: Math.max(most, Math.ceil(maxUnpaidOrders * networkShare)) }];
  }

  /** For each wish why its client address may not order; exact across processes, as {@link room} is. */
  private async busyAddresses(wishes: readonly BitcoinWish[]): Promise<readonly (AddressBusy | undefined)[]> {
    const known = new Map<string, Count>();
    const busy: (AddressBusy | undefined)[] = [];
    for (const { orderedBy } of wishes) {
      const counts: Count[] = [];
      for (const limit of orderedBy === undefined ? [] : this.limitsOf(orderedBy)) {
        const name = Buffer.from(limit.name).toString('hex');
        const count = known.get(name) ?? (await this.countOf(limit));
        known.set(name, count);
        counts.push(count);
      }
      const full = counts.find(({ count, most }) => count >= most);
      if (full === undefined) {
        for (const each of counts) each.count += 1;
        busy.push(undefined);
      } else {
        const untilMs = (full.untilMs ??= await this.end(full));
        busy.push({ kind: 'address busy', of: full.of, unpaid: full.most, untilMs });
      }
    }
    return busy;
  }

  private async countOf(limit: Counted): Promise<Count> {
    return { ...limit, count: await countUnconfirmedBy(this.parts.store, limit.name, limit.most) };
  }

  /**
   * When a name may have another order (ms since 1970): when the first of an address's orders ends, or the
   * next block may confirm one. A network has too many orders to read them for each refusal.
   */
  private async end({ of, name, most }: Counted): Promise<number> {
    const { store, clock } = this.parts;
    const nowMs = clock.wallMs();
    if (of === 'network') return nowMs + networkBusyMs;
    const orders = await unconfirmedOrdersBy(store, name, most);
    const ends = orders.map((each) => (isUnpaid(each) ? each.expiresAtMs : nowMs + blockMs));
    return Math.min(nowMs + orderMs, ...ends);
  }

  private draft(wish: BitcoinWish, index: number, createdHeight: number): MadeOrder<BtcOrder> {
    const { account, confirmationsRequired, randomness } = this.parts;
    return draftOrder(this.parts, {
      ...wish,
      id: newOrderId(randomness),
      rail: 'btc',
      network: account.network,
      place: account.address(index),
      addressIndex: index,
      confirmationsRequired,
      createdHeight,
      lifeMs: orderMs,
    });
  }

  /** Applies what the node knows of an order's address; false if the node does not answer. */
  private async lookUp(order: BtcOrder, fence?: Fence): Promise<boolean> {
    if (order.network !== this.parts.account.network) {
      // Of another network, which this node does not know: it expires.
      await apply({ ...this.parts, fence }, order.id, { kind: 'time' });
      return true;
    }
    const outcome = await lookUpOrder({ ...this.parts, fence }, order);
    if (outcome.kind !== 'failed' && outcome.kind !== 'doubted') return true;
    this.parts.log.warn({ reason: outcome.reason }, 'the Bitcoin node cannot be used');
    // The order stays as it is: what was paid meanwhile is unknown.
    return false;
  }

  /** Logs the reason for the operator; the buyer only learns that there is one. */
  private unusable(reason: string): RailUnavailable {
    this.parts.log.warn({ reason }, 'the Bitcoin node cannot be used');
    return { kind: 'rail unavailable', reason: 'The Bitcoin node does not answer.' };
  }

  private async look(): Promise<Readiness> {
    const { account, store } = this.parts;
    const fault = await nodeFault(this.parts);
    if (fault !== undefined) {
      return { ready: false, reason: typeof fault === 'string' ? fault : this.unusable(fault.reason).reason };
    }
    const index = await whenUnavailable(nextAddressIndex(store, account.digest), () => undefined);
    if (index === undefined) return storeDown;
    const fresh = await freshIndexes(this.parts, index.next, 1);
    if (fresh.kind === 'answer') return { ready: true };
    const { reason } = fresh.kind === 'failed' ? this.unusable(fresh.reason) : this.exhausted(index.next);
    return { ready: false, reason };
  }
}
