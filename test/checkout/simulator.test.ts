/**
 * Orders and their store in a simulated world (test/support/world.ts), with writes that fail, whether they
 * were written or not, and a process that ends in the middle: at every write of one history, and at random
 * ones of many. Afterwards every payment has its key, no key was handed out twice, and the ledger balances.
 */
import { heldOf, type OrderRecord } from '../../src/store/tables/order.js';
import { nextAddressIndex } from '../../src/store/tables/addressIndexes.js';
import { poll } from '../../src/checkout/order/poll.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { account, tiers } from '../support/shop.js';
import { Bitcoin } from '../../src/checkout/onchain/bitcoin.js';
import { makeOrder, newOrderId, type BookParts } from '../../src/checkout/order/book.js';
import { Card } from '../../src/checkout/card/card.js';
import { rescan } from '../../src/checkout/onchain/scan.js';
import { StripeClient } from '../../src/checkout/card/stripe.js';
import { native } from '../../src/native/addon.js';
import { createStore } from '../../src/store/groupCommit.js';
import { allKeys, type KeyRecord } from '../../src/store/tables/keys.js';
import { decodeLedger, findOrder, allOrders } from '../../src/store/tables/orders.js';
import { whenUnavailable, type Store } from '../../src/store/store.js';
import { memoryFolder } from '../support/run.js';
import { faultyEngine, type Fault } from '../store/faultyEngine.js';
import { engineAt, newUnitId } from '../support/openStore.js';
import { Dice, SimulatedChain, SimulatedProcessor, Time } from '../support/world.js';
import { collect } from '../support/collect.js';

const data = memoryFolder();
const secrets = ['a-secret-of-the-tests-that-opens-nothing'] as const;
const price = 50_000;
const cents = 3_300;
const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const about = { tier: 'developer', email: null, source: null, segment: null, campaign: null } as const;
const wish = { ...about, sat: BigInt(price), termDays: 30, eventId: null } as const;

/** Of a write: what becomes of it. */
type Faults = (write: number) => Fault;

/** One process with its store, in a world; it may end at any write and begin anew. */
class Simulation {
  private readonly dice: Dice;
  private readonly time = new Time();
  private readonly chain: SimulatedChain;
  private readonly processor: SimulatedProcessor;
  private store!: Store;
  private bitcoin!: Bitcoin;
  private card!: Card;
  private ended = false;
  private settling = false;
  private sessions = 0;
  writes = 0;
  /** Raw keys that buyers hold, by order. */
  readonly held = new Map<string, string[]>();
  /** Claim tokens that buyers hold, by order. */
  private readonly claims = new Map<string, string>();
  /** Payments that were made before an on-chain order, whoever made them. */
  private readonly paymentsBefore = new Map<string, number>();
  /** Orders as they were when the last one was made: later each has the same id, rail and place. */
  private made: readonly OrderRecord[] | undefined;
  /** The first index of the store: past what strangers had paid to before. */
  private firstIndex: number | undefined;
  /** Addresses that strangers paid to: an old customer, another store on the same account. */
  private readonly strangers = new Set<string>();

  constructor(
    seed: number,
    private readonly url: string,
    private readonly faults: Faults,
  ) {
    this.dice = new Dice(seed);
    this.chain = new SimulatedChain(this.dice, this.time);
    this.processor = new SimulatedProcessor(this.dice, this.time);
  }

  /** Begins, or begins anew on what is on disk. */
  async begin(): Promise<void> {
    const engine = faultyEngine(await engineAt(this.url), () => {
      this.writes += 1;
      const fault = this.settling ? 'none' : this.faults(this.writes);
      // What failed may have been the last that the process did.
      if (fault !== 'none') this.ended = true;
      return fault;
    });
    this.store = createStore(engine, newUnitId);
    const { clock } = this.time;
    const parts: BookParts & { readonly clock: typeof clock } = {
      ...{ store: this.store, clock, randomness: this.dice.bytes },
      ...{ secrets, keyFormat: native },
    };
    this.bitcoin = new Bitcoin({
      ...parts,
      ...{ account, chain: this.chain.chain, confirmationsRequired: 2, maxUnpaidOrders: 0, log: quiet },
    });
    this.card = new Card({
      ...parts,
      // Sessions are made by the simulation: nothing is asked of the processor.
      stripe: new StripeClient({ secretKey: 'sk_test_simulated', apiBase: null }),
      rates: { current: () => Promise.resolve({ reason: 'there is none' }) },
      ...{ tiers, webhookReady: true, publicUrl: null, prices: {}, allowDiscounts: false, log: quiet },
    });
    this.ended = false;
  }

  async end(): Promise<void> {
    await this.store.close();
  }

  async run(steps: number): Promise<void> {
    await this.begin();
    for (let step = 0; step < steps; step += 1) {
      await this.step();
      if (!this.ended) continue;
      await this.end();
      await this.begin();
    }
    await this.settle();
  }

  private get book(): BookParts {
    const { clock } = this.time;
    return { store: this.store, clock, randomness: this.dice.bytes, secrets, keyFormat: native };
  }

  private async orders(): Promise<OrderRecord[]> {
    return collect(allOrders(this.store));
  }

  private async step(): Promise<void> {
    const { dice, chain, processor } = this;
    const orders = (this.made ??= await this.orders());
    const onChain = orders.filter(({ rail }) => rail === 'btc');
    const choice = dice.below(100);
    if (choice < 12 || orders.length === 0) await this.order();
    else if (choice < 30 && onChain.length > 0) {
      const sat = dice.pick([price, price, price, price - 1_000, 1_000, price + 7]);
      chain.pay(dice.pick(onChain).place, BigInt(sat));
    } else if (choice < 34) await this.pay();
    else if (choice < 42) chain.mine();
    else if (choice < 47) chain.reorganise(1 + dice.below(3));
    else if (choice < 50) chain.drop();
    else if (choice < 54) this.time.nowMs += dice.below(1_800_000);
    else if (choice < 57) chain.up = !chain.up;
    else if (choice < 67) processor.step();
    else if (choice < 80) await this.deliver();
    else if (choice < 88) await this.bitcoin.reconcile();
    else await this.poll(dice.pick(orders));
  }

  /** A stranger pays to one of the account's addresses, which has an order, had one or gets one some day. */
  private async pay(): Promise<void> {
    const { next } = await nextAddressIndex(this.store, account.digest);
    const address = account.address(this.dice.below(next + 4));
    this.strangers.add(address);
    this.chain.pay(address, BigInt(this.dice.pick([price, price, 1_000])));
  }

  private async order(): Promise<void> {
    this.made = undefined;
    if (this.dice.happens(0.6)) {
      const before = this.chain.count;
      // A process whose first start failed tries again.
      if ((await this.bitcoin.begin()) === undefined) return;
      this.firstIndex ??= (await nextAddressIndex(this.store, account.digest)).next;
      const made = await answered(this.bitcoin.create(wish));
      if (made?.kind === 'made') this.claims.set(made.order.id, made.claimToken);
      for (const { id } of await this.orders()) {
        if (!this.paymentsBefore.has(id)) this.paymentsBefore.set(id, before);
      }
      return;
    }
    this.sessions += 1;
    const place = `cs_test_${this.sessions}`;
    const onCard = { rail: 'card', cents: BigInt(cents), rateCents: null } as const;
    const id = newOrderId(this.dice.bytes);
    const more = { id, place, lifeMs: 1_860_000 };
    const made = await answered(makeOrder(this.book, { ...wish, ...onCard, ...more }));
    // A buyer who was given no answer pays nothing.
    if (made?.kind !== 'made') return;
    this.claims.set(id, made.claimToken);
    this.processor.open(place, BigInt(cents));
  }

  private async deliver(): Promise<void> {
    const event = this.processor.next();
    if (event === undefined) return;
    const outcome = await answered(this.card.settle(event));
    if (outcome?.kind === 'settled') this.processor.take(event);
  }

  /** Polls an order several times at once. */
  private async poll({ id }: OrderRecord): Promise<void> {
    const order = await findOrder(this.store, id);
    assert.ok(order !== undefined);
    const claim = this.dice.happens(0.5) ? (this.claims.get(id) ?? '') : '';
    const asked = { claim, claimRequired: false, mayAct: true, aborted: () => false };
    const polls = await Promise.all([1, 2, 3].map(() => answered(poll(this.book, order, asked))));
    for (const polled of polls) {
      if (polled !== undefined && polled.apiKey !== null) {
        this.held.set(id, [...(this.held.get(id) ?? []), polled.apiKey]);
      }
    }
  }

  /** Nothing fails any more: all is delivered, confirmed, looked up and polled. */
  private async settle(): Promise<void> {
    this.settling = true;
    this.chain.up = true;
    for (let block = 0; block < 10; block += 1) this.chain.mine();
    await this.bitcoin.reconcile();
    // What came to orders that were done with long ago is found by this alone.
    const { chain } = this.chain;
    const parts = { ...this.book, clock: this.time.clock, account, chain, progress: () => undefined };
    const found = await rescan(parts, 0);
    assert.ok('unowned' in found);
    for (const sentence of found.unowned) {
      assert.ok(
        [...this.strangers].some((address) => sentence.includes(address)),
        sentence,
      );
    }
    for (const event of [...this.processor.left]) {
      assert.equal((await this.card.settle(event)).kind, 'settled');
      this.processor.take(event);
    }
    for (const order of await this.orders()) await this.poll(order);
    for (const order of await this.orders()) {
      // Whoever holds the claim token is handed what nobody was.
      const asked = {
        claim: this.claims.get(order.id) ?? '',
        claimRequired: false,
        mayAct: true,
        aborted: () => false,
      };
      const polled = await poll(this.book, order, asked);
      if (polled.apiKey !== null)
        this.held.set(order.id, [...(this.held.get(order.id) ?? []), polled.apiKey]);
    }
  }

  /** What must hold of every history. */
  async check(): Promise<void> {
    const orders = await this.orders();
    const keys = await collect(allKeys(this.store));
    const moved = new Map<string, number>();
    for (const { value } of await this.store.read('ledger', { after: 0, limit: 100_000 })) {
      const { orderId, change } = decodeLedger(value);
      moved.set(orderId, (moved.get(orderId) ?? 0) + change);
    }
    for (const order of orders) {
      const own = keys.filter(({ origin }) => origin === order.id);
      assert.ok(own.length <= 1, 'at most one key an order');
      const money = order.rail === 'btc' ? this.checkOnChain(order, own) : this.checkCard(order, own);
      assert.equal(moved.get(order.id) ?? 0, money, 'the ledger balances');
      this.checkHeld(order, own);
    }
    const indexes = orders.flatMap((order) => (order.rail === 'btc' ? [order.addressIndex] : []));
    assert.equal(new Set(indexes).size, indexes.length, 'every index once');
    for (let index = this.firstIndex ?? 0; index < Math.max(0, ...indexes); index += 1) {
      const used = indexes.includes(index) || this.strangers.has(account.address(index));
      assert.ok(used, `only addresses that were paid to are left out, not ${index}`);
    }
  }

  private checkOnChain(order: OrderRecord, own: readonly KeyRecord[]): number {
    const { mined, all } = this.chain.received(order.place, this.paymentsBefore.get(order.id));
    assert.equal(mined, all, 'all of it is in blocks by now');
    const paid = mined >= BigInt(price);
    assert.equal(order.status === 'confirmed', paid, `${order.status}: ${mined} of ${price}`);
    assert.equal(own[0]?.status === 'active', paid, 'paid for is a key in use');
    return Number(all);
  }

  private checkCard(order: OrderRecord, own: readonly KeyRecord[]): number {
    const session = this.processor.sessions.find(({ id }) => id === order.place);
    const paid = session?.paid === true;
    assert.equal(own.length === 1, paid);
    if (session === undefined || !paid) return 0;
    const over = session.dispute === 'lost' || session.refundedCents === session.cents;
    if (over) assert.notEqual(own[0]?.status, 'active', 'money that went back leaves no key in use');
    else assert.equal(own[0]?.status, session.dispute === 'begun' ? 'suspended' : 'active');
    return Number(heldOf(order));
  }

  private checkHeld(order: OrderRecord, own: readonly KeyRecord[]): void {
    const held = this.held.get(order.id) ?? [];
    assert.ok(held.length <= 1, 'handed out once');
    for (const raw of held) assert.deepEqual(native.hashKey(raw), Buffer.from(own[0]?.hash ?? []));
    if (held.length === 1) assert.notEqual(order.revealedAtMs, null);
    const [key] = own;
    if (key?.status === 'active') {
      assert.notEqual(order.revealedAtMs, null, 'whoever paid and asked was handed the key');
      assert.equal(order.seed, null, 'and nobody can derive it again');
    }
  }
}

/** What a caller gets; nothing while the store is unavailable, as the edges of a process answer. */
function answered<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  return whenUnavailable(answer, () => undefined);
}

let count = 0;

/** Runs a history and checks it; how many writes it made. */
async function history(seed: number, steps: number, faults: Faults): Promise<number> {
  count += 1;
  const simulation = new Simulation(seed, `lmdb:${data}/store${count}`, faults);
  await simulation.run(steps);
  await simulation.check();
  await simulation.end();
  return simulation.writes;
}

for (const kind of ['failed, not written', 'failed, but written'] as const) {
  test(`a failure at every single write of a history: ${kind}`, async () => {
    const steps = 300;
    const writes = await history(7, steps, () => 'none');
    assert.ok(writes > 40, `${writes} writes`);
    for (let at = 1; at <= writes; at += 1) {
      await history(7, steps, (write) => (write === at ? kind : 'none')).catch((error: unknown) => {
        throw new Error(`Write ${at} of ${writes}: ${String(error)}`, { cause: error });
      });
    }
  });
}

test('random histories with random failures', async () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const fate = new Dice(1_000 + seed);
    let left = 300;
    const faults: Faults = () => {
      left -= 1;
      if (left < 0 || !fate.happens(0.05)) return 'none';
      return fate.pick(['failed, not written', 'failed, but written'] as const);
    };
    await history(seed, 200, faults).catch((error: unknown) => {
      throw new Error(`Seed ${seed}: ${String(error)}`, { cause: error });
    });
  }
});
