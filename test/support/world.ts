/**
 * A world in which orders live, all of it made from one seed: a chain that reorganises and forgets payments,
 * a card processor whose events come twice and in any order, buyers, and the time.
 */
import assert from 'node:assert/strict';
import type { Chain } from '../../src/checkout/onchain/chain.js';
import type { NodeAnswer } from '../../src/checkout/nodeAnswer.js';
import type { CardEvent, CardSubject } from '../../src/checkout/card/cardEvents.js';
import type { FoundOutput } from '../../src/store/tables/bitcoinOrder.js';
import { systemClock, type Clock } from '../../src/system/clock.js';
import type { Randomness } from '../../src/system/randomness.js';

/** Numbers from 0 to below 1 (mulberry32): the same for the same seed. */
export class Dice {
  constructor(private state: number) {}

  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Whether something of this chance happens. */
  happens(chance: number): boolean {
    return this.next() < chance;
  }

  below(most: number): number {
    return Math.floor(this.next() * most);
  }

  pick<Value>(from: readonly Value[]): Value {
    const found = from[this.below(from.length)];
    assert.ok(found !== undefined, 'there is nothing to pick from');
    return found;
  }

  readonly bytes: Randomness = (size) => Buffer.from(Array.from({ length: size }, () => this.below(256)));
}

/** Time that passes when it is told to. */
export class Time {
  nowMs = 1_790_000_000_000;

  readonly clock: Clock = {
    ...systemClock,
    wallMs: () => this.nowMs,
    monotonicMs: () => this.nowMs,
    sleep: (delayMs) => Promise.resolve(void (this.nowMs += delayMs)),
  };
}

interface Payment {
  /** Place in the order in which payments were made, from 1. */
  readonly ordinal: number;
  readonly txid: string;
  readonly address: string;
  readonly sat: bigint;
  readonly atMs: number;
}

/** A chain: blocks of payments, and payments in none. */
export class SimulatedChain {
  private readonly blocks: Payment[][] = [];
  private waiting: Payment[] = [];
  /** Payments so far. */
  count = 0;
  /** Whether the node answers. */
  up = true;
  /** Addresses that the node's index of histories does not have yet. */
  readonly lagging = new Set<string>();

  constructor(
    private readonly dice: Dice,
    private readonly time: Time,
  ) {}

  pay(address: string, sat: bigint): void {
    this.count += 1;
    const txid = this.count.toString(16).padStart(64, '0');
    this.waiting.push({ ordinal: this.count, txid, address, sat, atMs: this.time.nowMs });
  }

  mine(): void {
    this.blocks.push(this.waiting);
    this.waiting = [];
  }

  /**
   * Replaces blocks by a longer branch, whose blocks have none of their payments; now and then one is spent
   * otherwise and never comes again.
   */
  reorganise(depth: number): void {
    const replaced = this.blocks.splice(Math.max(0, this.blocks.length - depth));
    for (const block of replaced) this.waiting.push(...block.filter(() => !this.dice.happens(0.2)));
    for (let each = 0; each <= replaced.length; each += 1) this.blocks.push([]);
  }

  /** Replaces a waiting payment by none. */
  drop(): void {
    if (this.waiting.length > 0) this.waiting.splice(this.dice.below(this.waiting.length), 1);
  }

  /** Satoshi in blocks and not, of the payments after the first `after`. */
  received(address: string, after = 0): { readonly mined: bigint; readonly all: bigint } {
    const sum = (payments: readonly Payment[]): bigint =>
      payments
        .filter((each) => each.address === address && each.ordinal > after)
        .reduce((total, { sat }) => total + sat, 0n);
    const mined = sum(this.blocks.flat());
    return { mined, all: mined + sum(this.waiting) };
  }

  /** As a node tells of it. */
  get chain(): Chain {
    const answer = <Value>(value: Value): Promise<NodeAnswer<Value>> => {
      return Promise.resolve(this.up ? { kind: 'answer', value } : { kind: 'failed', reason: 'it is down' });
    };
    return {
      network: () => answer('mainnet'),
      tip: () => answer(this.blocks.length - 1),
      used: (addresses) => answer(new Set(addresses.filter((address) => this.hasHistory(address)))),
      lookup: (address) => answer(this.outputs(address)),
      close: () => undefined,
    };
  }

  private hasHistory(address: string): boolean {
    return !this.lagging.has(address) && this.received(address).all > 0n;
  }

  private outputs(address: string): FoundOutput[] {
    const inBlocks = this.blocks.map((block, height) => {
      return { block, height, depth: this.blocks.length - height };
    });
    return [...inBlocks, { block: this.waiting, height: null, depth: 0 }].flatMap(
      ({ block, height, depth }) =>
        block
          .filter((each) => each.address === address)
          .map(({ txid, sat, atMs }) => ({ txid, vout: 0, sat, confirmations: depth, atMs, height })),
    );
  }
}

/** What a session of the processor has come to. */
export interface Session {
  readonly id: string;
  readonly intent: string;
  readonly cents: bigint;
  paid: boolean;
  refundedCents: bigint;
  dispute: 'none' | 'begun' | 'won' | 'lost';
}

/** A card processor: what happened there, and the events that tell of it, each until it was taken. */
export class SimulatedProcessor {
  readonly sessions: Session[] = [];
  private readonly untaken: CardEvent[] = [];
  private readonly taken: CardEvent[] = [];
  private count = 0;

  constructor(
    private readonly dice: Dice,
    private readonly time: Time,
  ) {}

  open(id: string, cents: bigint): void {
    this.sessions.push({ id, intent: `pi_${id}`, cents, paid: false, refundedCents: 0n, dispute: 'none' });
  }

  /** Lets something happen to a session, as it may. */
  step(): void {
    if (this.sessions.length === 0) return;
    const session = this.dice.pick(this.sessions);
    const { intent } = session;
    if (!session.paid) {
      session.paid = true;
      const paid = {
        id: session.id,
        single: true,
        payment: 'paid',
        totalCents: session.cents,
        currency: 'usd',
      } as const;
      const more = {
        intent,
        subtotalCents: null,
        discountCents: 0n,
        tier: 'developer',
        server: null,
      } as const;
      const told = { ...paid, ...more, createdAtMs: this.time.nowMs };
      this.tell({ kind: 'session', what: 'completed', session: told });
    } else if (session.dispute === 'begun') {
      session.dispute = this.dice.happens(0.5) ? 'won' : 'lost';
      this.tell({ kind: 'dispute', intent, dispute: `dp_${session.id}`, what: session.dispute });
    } else if (session.dispute === 'none' && this.dice.happens(0.3)) {
      session.dispute = 'begun';
      this.tell({ kind: 'dispute', intent, dispute: `dp_${session.id}`, what: 'begun' });
    } else if (session.refundedCents < session.cents && this.dice.happens(0.3)) {
      const rest = session.cents - session.refundedCents;
      session.refundedCents += this.dice.happens(0.5) ? rest : (rest + 1n) / 2n;
      this.tell({ kind: 'refund', intent, cents: session.refundedCents });
    }
  }

  /** An event to deliver: one that was not taken, or now and then one that was. */
  next(): CardEvent | undefined {
    if (this.taken.length > 0 && this.dice.happens(0.2)) return this.dice.pick(this.taken);
    return this.untaken.length === 0 ? undefined : this.dice.pick(this.untaken);
  }

  /** What was not taken yet. */
  get left(): readonly CardEvent[] {
    return this.untaken;
  }

  take(event: CardEvent): void {
    const at = this.untaken.indexOf(event);
    if (at >= 0) this.taken.push(...this.untaken.splice(at, 1));
  }

  private tell(subject: CardSubject): void {
    this.count += 1;
    this.untaken.push({
      id: `evt_${this.count}`,
      type: subject.kind,
      live: false,
      createdAtMs: this.time.nowMs + this.count,
      subject,
    });
  }
}
