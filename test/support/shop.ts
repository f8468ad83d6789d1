/**
 * A shop for the tests of money: a store, a clock that stands still unless it is moved, and the messages to
 * the operator. One of them serves all tests of a file, each with orders of its own.
 */
import { encodeOrder, type OrderOn, type OrderRecord } from '../../src/store/tables/order.js';
import { poll, type Polled, type PollWish } from '../../src/checkout/order/poll.js';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readTiers, type Tiers } from '../../src/access/tiers.js';
import type { Account } from '../../src/checkout/onchain/account.js';
import { readAccount } from '../../src/checkout/onchain/addresses.js';
import {
  apply,
  makeOrder,
  newOrderId,
  type BookParts,
  type MadeOrder,
  type NewOrder,
} from '../../src/checkout/order/book.js';
import type { Shop as Selling } from '../../src/checkout/orderRoutes.js';
import type { OrderEvent } from '../../src/checkout/order/orders.js';
import { notConfigured, type RailChecks } from '../../src/checkout/rail.js';
import { storeUnavailable } from '../../src/contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../../src/contract/exchange.js';
import { rails } from '../../src/contract/pricing.js';
import { native } from '../../src/native/addon.js';
import { allKeys, type KeyRecord } from '../../src/store/tables/keys.js';
import {
  decodeLedger,
  findOrder,
  isOn,
  allOrders,
  openOrders,
  type LedgerEntry,
} from '../../src/store/tables/orders.js';
import { whenUnavailable, StoreUnavailable, type Store } from '../../src/store/store.js';
import type { Clock } from '../../src/system/clock.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { FailingStore, openTestStore, request } from './serving.js';
import { Time } from './world.js';
import { collect } from './collect.js';

/** The open orders of a rail, each of which can be read. */
export function allOpen<Rail extends OrderRecord['rail']>(
  store: Store,
  rail: Rail,
): Promise<OrderOn<Rail>[]> {
  return collect(openOrders(store, rail, ({ message }) => assert.fail(message)));
}

/** The tiers that ship: 50,000, 250,000 and 2,000,000 sat, 10 % more by card, 30 days. */
export const tiers = ((): Tiers => {
  const read = readTiers(null, { anonymousRequestsPerMinute: 0, anonymousCharactersPerMonth: 0 });
  if ('errors' in read) assert.fail(read.errors.join(' '));
  return read.tiers;
})();

/** The public key of an account of mainnet (BIP 84). */
export const accountKey = ((): string => {
  const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
    readonly vectors: readonly { readonly network: string; readonly account_public: string }[];
  };
  return vectors.find(({ network }) => network === 'mainnet')?.account_public ?? '';
})();

/** That account. */
export const account = ((): Account => {
  const read = readAccount(accountKey, 'mainnet');
  if ('wrong' in read) assert.fail(read.wrong);
  return read.account;
})();

/** A wish as a buyer's request makes it, for any rail. */
export const wish = {
  tier: 'developer',
  email: 'ada@example.com',
  source: 'blog',
  segment: 'a',
  campaign: 'spring',
  eventId: 'event-1',
} as const;

/** The same with what the routes add. */
export const pricedWish = { ...wish, sat: 50_000n, termDays: 30 } as const;

/** A new order of a rail, as the rails make them. */
const drafts = {
  btc: {
    ...{ rail: 'btc', network: 'mainnet', addressIndex: 0, confirmationsRequired: 2, createdHeight: null },
    lifeMs: 3_600_000,
  },
  lightning: { rail: 'lightning', network: 'regtest', bolt11: 'lnbcrt1', lifeMs: 900_000 },
  card: { rail: 'card', cents: 3_300n, rateCents: null, lifeMs: 1_860_000 },
} as const;

/** Every rail's readiness: those that are not given are not set up. */
export function checksOf(given: Partial<RailChecks>): RailChecks {
  const none = Object.fromEntries(rails.map((rail) => [rail, () => notConfigured(rail)]));
  return { ...none, ...given } as RailChecks;
}

/** Every rail's orders for pages: nobody may order on those that are not given. */
export function ordersOf(given: Partial<Selling['orders']>): Selling['orders'] {
  const order = (): never => assert.fail('another rail was asked');
  const none = Object.fromEntries(
    rails.map((rail) => [rail, { paid: 'elsewhere', title: rail, note: '', order }]),
  );
  return { ...none, ...given } as Selling['orders'];
}

/** An order, which is one of a rail. */
export function onRail<Name extends OrderRecord['rail']>(
  order: OrderRecord | undefined,
  rail: Name,
): OrderOn<Name> {
  assert.ok(order !== undefined && isOn(order, rail));
  return order;
}

/** The columns of an order's record on disk. */
export function columnsOf(order: OrderRecord): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(encodeOrder(order).subarray(1)).toString()) as Record<string, unknown>;
}

/** What a store does between its users and itself. */
interface Between {
  /** What happens before the next commits, one each. */
  readonly beforeCommits: (() => Promise<void>)[];
  /** An operation that fails once: after how many others, and whether it did; undefined: none does. */
  fault: { left: number; met: boolean } | undefined;
}

function withFaults(store: Store, between: Between): Store {
  const unavailable = new StoreUnavailable('told to fail');
  const fails = (): boolean => {
    const { fault } = between;
    if (fault === undefined || fault.met) return false;
    fault.left -= 1;
    fault.met = fault.left < 0;
    return fault.met;
  };
  return {
    ...store,
    get: (space, key) => (fails() ? Promise.reject(unavailable) : store.get(space, key)),
    getMany: (space, keys) => (fails() ? Promise.reject(unavailable) : store.getMany(space, keys)),
    scan: (space, range) => (fails() ? Promise.reject(unavailable) : store.scan(space, range)),
    async commit(operations, unitId) {
      await between.beforeCommits.shift()?.();
      // A unit with an id is committed again.
      if (unitId === undefined && fails()) throw unavailable;
      return store.commit(operations, unitId);
    },
  };
}

/** A shop that is open. */
export class Shop {
  readonly time = new Time();
  readonly failing: FailingStore;
  /** Sentences that the operator was told, warnings and errors. */
  readonly told: string[] = [];
  readonly log = {
    debug: () => undefined,
    info: () => undefined,
    warn: (fields: object, message?: string) => this.tell('warn', fields, message),
    error: (fields: object, message?: string) => this.tell('error', fields, message),
  };
  readonly book: BookParts & { readonly clock: Clock };
  /** What happens before the next commits, one each; it may use {@link Shop.aside}. */
  readonly beforeCommits: (() => Promise<void>)[] = [];
  fault: { left: number; met: boolean } | undefined;
  /** The same store, past {@link Shop.beforeCommits}. */
  readonly aside: BookParts & { readonly clock: Clock };

  private constructor(store: Store) {
    this.failing = new FailingStore(store);
    const { clock } = this.time;
    const parts = { clock, randomness: systemRandomness, keyFormat: native };
    const secrets = ['a-secret-of-the-tests-that-opens-nothing'] as const;
    this.aside = { ...parts, secrets, store };
    this.book = { ...this.aside, store: withFaults(this.failing.seen, this) };
  }

  /** A shop over a store, or over one of its own. */
  static async open(store?: Store): Promise<Shop> {
    return new Shop(store ?? (await openTestStore()));
  }

  private tell(level: string, fields: object, message = ''): void {
    this.told.push(`${level}: ${message} ${JSON.stringify(fields)}`);
  }

  /** What the operator was told since this was asked last. */
  said(): string {
    return this.told.splice(0).join('\n');
  }

  /**
   * Lets every operation of the store fail that a piece of work does, one in each run of it; each run begins
   * with `begin`. A run whose fault met it must say that the store does not answer; `then` looks at what is.
   */
  async eachFault<Begun>(
    begin: () => Promise<Begun>,
    work: (begun: Begun) => Promise<object>,
    then: (begun: Begun) => Promise<void> = () => Promise.resolve(),
  ): Promise<number> {
    for (let at = 0; ; at += 1) {
      const begun = await begin();
      const fault = { left: at, met: false };
      this.fault = fault;
      const outcome = await whenUnavailable(work(begun), () => undefined);
      this.fault = undefined;
      assert.equal(outcome === undefined, fault.met, `operation ${at}`);
      await then(begun);
      if (!fault.met) return at;
    }
  }

  /** An order of a rail, made here; its price is 50,000 sat or 3,300 cents. */
  async make<Name extends OrderRecord['rail']>(
    rail: Name,
    more: Partial<Extract<NewOrder, { rail: Name }>> = {},
  ): Promise<MadeOrder<OrderOn<Name>>> {
    const id = newOrderId(systemRandomness);
    const any = { ...pricedWish, id, place: `place of ${id}` };
    const order = { ...any, ...drafts[rail], ...more } as unknown as Extract<NewOrder, { rail: Name }>;
    const made = await makeOrder(this.book, order);
    if (made.kind !== 'made') assert.fail(made.kind);
    return { ...made, order: onRail(made.order, rail) };
  }

  async happened(id: string, event: OrderEvent): Promise<OrderRecord> {
    const outcome = await apply(this.book, id, event);
    if (outcome.kind !== 'changed' && outcome.kind !== 'unchanged') assert.fail(outcome.kind);
    return outcome.order;
  }

  /** An order as it is on disk. */
  async stored(id: string): Promise<OrderRecord> {
    const order = await findOrder(this.aside.store, id);
    assert.ok(order !== undefined);
    return order;
  }

  /** All orders, in the order of their ids. */
  async orders(): Promise<OrderRecord[]> {
    return collect(allOrders(this.aside.store));
  }

  /** The keys that were made of an order. */
  async keys(id: string): Promise<KeyRecord[]> {
    const found = await collect(allKeys(this.aside.store));
    return found.filter(({ origin }) => origin === id);
  }

  /** What the ledger has of an order. */
  async entries(id: string): Promise<LedgerEntry[]> {
    const entries = await this.aside.store.read('ledger', { after: 0, limit: 100_000 });
    return entries.map(({ value }) => decodeLedger(value)).filter(({ orderId }) => orderId === id);
  }

  /** What moved in the ledger for an order. */
  async ledger(id: string): Promise<number[]> {
    return (await this.entries(id)).map(({ change }) => change);
  }

  /** Polls an order as it is on disk, without a claim token unless told. */
  async polled(id: string, more: Partial<PollWish> = {}, parts: BookParts = this.book): Promise<Polled> {
    const asked = { claim: '', claimRequired: false, mayAct: true, aborted: () => false, ...more };
    const outcome = await poll(parts, await this.stored(id), asked);
    return outcome;
  }
}

/** Calls a handler as http does. */
export async function call<Input>(
  handler: Handler<Input>,
  given: Partial<RouteRequest<Input>> & { readonly input: Input },
): Promise<Answer> {
  const ask = async (): Promise<Answer> => handler(request(given));
  // As http answers what a handler throws.
  return whenUnavailable(ask(), storeUnavailable);
}

/** The JSON of an answer, whose status must be this. */
export function jsonOf(answer: Answer, status = 200): unknown {
  assert.ok('json' in answer.body);
  assert.equal(answer.status, status, JSON.stringify(answer.body.json));
  return answer.body.json;
}
