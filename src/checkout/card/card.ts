/**
 * Orders paid by card (contract, Events): sessions at Stripe, settled by webhooks alone. Events may come in
 * any order and any number of times: each takes effect once. One that comes before its order is held for it.
 */
import type { CardWebhookResponse } from '../../contract/card.js';
import type { Tier } from '../../contract/pricing.js';
import {
  beginDispute,
  bindIntent,
  endDispute,
  findCardEvent,
  findOrderOfIntent,
  heldEvents,
  holdEvent,
  putCardEvent,
  putLastEvent,
  releaseHeld,
} from '../../store/tables/cardEvents.js';
import type { CardEventRecord, HeldEvent } from '../../store/tables/cardEvents.js';
import type { CardOrder } from '../../store/tables/cardOrder.js';
import { findOrderAt, insertOrder } from '../../store/tables/orders.js';
import type { Operation } from '../../store/store.js';
import type { Clock } from '../../system/clock.js';
import type { Log } from '../../system/log.js';
import { deriveLasting } from '../../system/masterSecret.js';
import { Recent } from '../../system/shared.js';
import { apply, draftOrder, makeOrder, newOrderId } from '../order/book.js';
import type { BookParts, Effect, MadeOrder, OrderWish } from '../order/book.js';
import { cardEventTypes, readCardEvent } from './cardEvents.js';
import type { CardEvent, CardSession, CardSubject, IntentChange } from './cardEvents.js';
import { changeOf, heldOf, type Held } from './held.js';
import { faultOf, tierOf, unsoldReason, type JudgeParts, type Mismatch, type Unanswered } from './judge.js';
import { centsOf } from '../money.js';
import type { KeyEffect } from '../../store/tables/orderKind.js';
import type { OrderEvent } from '../order/orders.js';
import type { Rail, RailUnavailable, Readiness } from '../rail.js';
import type { StripeClient } from './stripe.js';

/** Results of events that change no order. */
const unchanging: ReadonlySet<CardWebhookResponse['result']> = new Set(['duplicate', 'ignored', 'mismatch']);

/** Time in which a session may be paid (ms): Stripe's minimum is 30 minutes. */
const sessionMs = 1_860_000;

/** Lifetime of the cached Stripe status (ms). */
const knownMs = 30_000;

/** Parts of the rail. */
export interface CardParts extends BookParts, JudgeParts {
  readonly clock: Clock;
  readonly stripe: StripeClient;
  /** True if events can be verified. */
  readonly webhookReady: boolean;
  /** `https://host` of this server; null: not set. */
  readonly publicUrl: string | null;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/** An order as requested; the rail itself knows the price. */
export interface CardWish extends Pick<OrderWish, 'email' | 'source' | 'segment' | 'campaign' | 'eventId'> {
  readonly tier: Tier;
}

/** An order and its payment page. */
export interface MadeCardOrder extends MadeOrder<CardOrder> {
  readonly url: string;
}

/** Outcome of an event. */
export type Settled =
  | { readonly kind: 'settled'; readonly result: CardWebhookResponse['result']; readonly mismatch?: Mismatch }
  | Unanswered;

/** Outcome of past events. `wrong`: a sentence part that says why not all were applied. */
export type CaughtUp = { readonly mismatches: readonly Mismatch[] } & (
  { readonly changed: number } | { readonly wrong: string }
);

function settled(result: CardWebhookResponse['result']): Settled {
  return { kind: 'settled', result };
}

/** An event that is judged. */
interface Judged extends CardEvent {
  /** Its record, if it was a mismatch before; undefined: it has none. */
  readonly noted: CardEventRecord | undefined;
}

/** The rail of one process. */
export class Card implements Rail<CardOrder, CardWish, MadeCardOrder> {
  private readonly readiness: Recent<Readiness>;
  private readonly offered: Recent<readonly string[]>;

  constructor(private readonly parts: CardParts) {
    this.readiness = new Recent(parts.clock, knownMs);
    this.offered = new Recent(parts.clock, knownMs);
  }

  /** Readiness for a payment; Stripe is asked at most twice a minute. */
  async check(): Promise<Readiness> {
    const { webhookReady, publicUrl, stripe, rates } = this.parts;
    if (!webhookReady) {
      return { ready: false, reason: 'Card payments cannot be settled: the webhook has no secret.' };
    }
    if (publicUrl === null) {
      return { ready: false, reason: 'Card payments need the server’s public address (PUBLIC_URL).' };
    }
    const rate = await rates.current();
    if ('reason' in rate) return { ready: false, reason: rate.reason };
    return this.readiness.of(() => stripe.check());
  }

  /** Payment methods that Stripe offers buyers; Stripe is asked at most twice a minute. */
  methods(): Promise<readonly string[]> {
    return this.offered.of(() => this.parts.stripe.methods());
  }

  /** Makes a session and its order. The order is on disk before the buyer learns where to pay. */
  async create(wish: CardWish): Promise<MadeCardOrder | RailUnavailable> {
    const { stripe, tiers, rates, publicUrl, clock, randomness, log } = this.parts;
    const ready = await this.check();
    if (!ready.ready) return { kind: 'rail unavailable', reason: ready.reason };
    const rate = await rates.current();
    if ('reason' in rate) return { kind: 'rail unavailable', reason: rate.reason };
    const sat = tiers[wish.tier].price_sat;
    const cents = centsOf(BigInt(sat), rate.cents, BigInt(tiers.surcharge_bps));
    const id = newOrderId(randomness);
    const expiresAtMs = clock.wallMs() + sessionMs;
    const session = await stripe.createSession({
      ...{ orderId: id, tier: wish.tier, cents: Number(cents), expiresAtMs, server: this.server },
      publicUrl: publicUrl ?? '',
    });
    if (session.kind === 'failed') {
      log.warn({ reason: session.reason }, 'Stripe made no session');
      return { kind: 'rail unavailable', reason: 'The card processor made no session.' };
    }
    const order = await makeOrder(this.parts, {
      ...wish,
      ...{ id, sat: BigInt(sat), cents, place: session.value.id, rateCents: rate.cents },
      ...this.fixed(),
    });
    if (order.kind === 'taken') throw new Error('Stripe gave a session id twice');
    return { ...order, url: session.value.url };
  }

  /** The name of this server in its sessions: the same on all its machines, and after a new master secret. */
  private get server(): string {
    return deriveLasting(this.parts.secrets, 'card-sessions').toString('hex', 0, 8);
  }

  /** Members that are the same in every order on this rail. */
  private fixed() {
    return { rail: 'card', termDays: this.parts.tiers.term_days, lifeMs: sessionMs } as const;
  }

  /** Only events report payments. */
  refresh(order: CardOrder): Promise<CardOrder> {
    return Promise.resolve(order);
  }

  /** Stripe sends an event again until it is acknowledged: a look-up would find nothing more. */
  reconcile(): Promise<number> {
    return Promise.resolve(0);
  }

  /**
   * Applies the events since a time (ms since 1970), which a store that was lost may have acknowledged.
   * Resolves to the number that changed something, and to the mismatches, which a later call does not repeat.
   */
  async catchUp(fromMs: number): Promise<CaughtUp> {
    const answer = await this.parts.stripe.events(fromMs, cardEventTypes);
    if (answer.kind === 'failed') return { wrong: answer.reason, mismatches: [] };
    let changed = 0;
    const mismatches: Mismatch[] = [];
    for (const each of answer.value) {
      const event = readCardEvent(each);
      if (event === undefined) continue;
      // The operator may have served the buyers of those that the backup has already.
      const outcome = await this.settle(event, false);
      if (outcome.kind === 'unanswered') return { wrong: outcome.reason, mismatches };
      if (!unchanging.has(outcome.result)) changed += 1;
      if (outcome.mismatch !== undefined) mismatches.push(outcome.mismatch);
    }
    return { changed, mismatches };
  }

  /**
   * Applies a verified event, once. On disk when it resolves. A mismatch is judged again if it is `resent`:
   * the operator may have mended a setting since then, and sent the event again at Stripe.
   */
  async settle(received: CardEvent, resent = true): Promise<Settled> {
    const { subject } = received;
    if (subject.kind === 'other') {
      return this.note({ ...received, noted: undefined }, '', 'ignored', null);
    }
    const noted = await findCardEvent(this.parts.store, received.id);
    if (noted !== undefined && !(resent && noted.reason !== null)) return this.again(subject);
    const about = subject.kind === 'session' ? subject.session.id : subject.intent;
    const event = { ...received, noted };
    if (event.live !== this.parts.stripe.live) {
      const reason = `The event is of ${event.live ? 'live' : 'test'} mode, the server's key is not.`;
      return this.note(event, about, 'mismatch', reason);
    }
    return subject.kind === 'session'
      ? this.settleSession(event, subject)
      : this.settleIntent(event, subject);
  }

  /** Handles a duplicate event: applies the held events that the first delivery may have left behind. */
  private async again(subject: Exclude<CardSubject, { kind: 'other' }>): Promise<Settled> {
    const intent = subject.kind === 'session' ? subject.session.intent : subject.intent;
    await this.applyHeld(intent);
    return settled('duplicate');
  }

  private record(
    { id, type }: CardEvent,
    about: string,
    result: CardWebhookResponse['result'],
    reason: string | null,
  ): CardEventRecord {
    return { id, type, about, result, reason, atMs: this.parts.clock.wallMs() };
  }

  /** Records an event that changes no order; `more` is committed with it. */
  private async note(
    event: Judged,
    about: string,
    result: CardWebhookResponse['result'],
    reason: string | null,
    more: readonly Operation[] = [],
  ): Promise<Settled> {
    const { store, log } = this.parts;
    const record = this.record(event, about, result, reason);
    // Not the session: its id collects a key. `fusegate orders mismatches --json` shows it beside the event.
    if (reason !== null) log.error({ event: event.id, reason }, 'a card payment gave no key');
    // The record stays as it is: another process may be giving the key over it.
    if (reason !== null && event.noted?.reason === reason) return settled('mismatch');
    const noted = putCardEvent(record, event.noted);
    const outcome = await store.commit([noted, putLastEvent(record.atMs), ...more]);
    if (outcome.kind === 'conflict') return this.overtaken(event, reason);
    if (reason === null) return settled(result);
    return { kind: 'settled', result, mismatch: { kind: 'mismatch', about, reason } };
  }

  /** Handles an event that is recorded already, as by another process meanwhile. */
  private async overtaken(event: CardEvent, reason: string | null): Promise<Settled> {
    if (event.subject.kind === 'other') return settled('duplicate');
    const { reason: theirs = null } = (await findCardEvent(this.parts.store, event.id)) ?? {};
    // That process has other settings, by which the event gives no key.
    return reason === null && theirs !== null ? this.settle(event) : settled('duplicate');
  }

  private async settleSession(
    event: Judged,
    { what, session }: Extract<CardSubject, { kind: 'session' }>,
  ): Promise<Settled> {
    const { store } = this.parts;
    let order = await findOrderAt(store, 'card', session.id);
    const paid = what === 'paid later' || (what === 'completed' && session.payment !== 'unpaid');
    const unsold = paid ? unsoldReason(session) : undefined;
    if (unsold !== undefined) return this.note(event, session.id, 'mismatch', unsold);
    if (order === undefined) {
      if (!paid) return this.note(event, session.id, 'ignored', null);
      const adopted = await this.adopt(session, event.createdAtMs);
      if ('kind' in adopted) {
        return adopted.kind === 'unanswered'
          ? adopted
          : this.note(event, adopted.about, 'mismatch', adopted.reason);
      }
      order = adopted;
    }
    if (!paid) return this.unpaid(event, order, what);
    const wrong = faultOf(order, session, this.parts.allowDiscounts);
    if (wrong !== undefined) return this.note(event, session.id, 'mismatch', wrong);
    const result = await this.apply(event, order, session.id, {
      kind: 'card paid',
      cents: session.totalCents ?? 0n,
      discounted: this.parts.allowDiscounts,
      intent: session.intent,
    });
    await this.applyHeld(session.intent);
    return result;
  }

  private unpaid(event: Judged, order: CardOrder, what: string): Promise<Settled> {
    const kind = what === 'failed' ? 'card failed' : what === 'expired' ? 'card expired' : 'card pending';
    return this.apply(event, order, order.place, { kind });
  }

  /** Makes the order of a paid session that has none here, if it pays for a tier. */
  private async adopt(session: CardSession, paidMs: number): Promise<CardOrder | Mismatch | Unanswered> {
    const { store, tiers } = this.parts;
    const meant = await tierOf(this.parts, this.server, session, paidMs);
    if ('kind' in meant) return meant;
    const { tier, cents } = meant;
    const made = draftOrder(this.parts, {
      ...{ id: newOrderId(this.parts.randomness), tier, sat: BigInt(tiers[tier].price_sat) },
      ...{ cents, rateCents: null },
      ...{ email: null, source: null, segment: null, campaign: null, eventId: null, place: session.id },
      ...this.fixed(),
    });
    const outcome = await store.commit(insertOrder(made.order));
    if (outcome.kind === 'done') return made.order;
    // Another event of the same session was faster.
    const found = await findOrderAt(store, 'card', session.id);
    if (found === undefined) throw new Error('An order conflicts with one that is not there');
    return found;
  }

  private async settleIntent(
    event: Judged,
    subject: Extract<CardSubject, { kind: 'refund' | 'dispute' }>,
  ): Promise<Settled> {
    const { store } = this.parts;
    const order = await findOrderOfIntent(store, subject.intent);
    if (order !== undefined) return this.apply(event, order, subject.intent, orderEvent(subject));
    const held = holdEvent(subject.intent, event.id, JSON.stringify(heldOf(event, subject)));
    const noted = await this.note(event, subject.intent, 'recorded', null, [held]);
    // The order may have become known meanwhile. An event that sees it later applies what is held, too.
    await this.applyHeld(subject.intent);
    return noted;
  }

  /** Applies an event to its order, and records the event in the same unit. */
  private async apply(event: Judged, order: CardOrder, about: string, what: OrderEvent): Promise<Settled> {
    const intent = what.kind === 'card paid' ? (what.intent ?? null) : null;
    const effect: Effect = (before, key) => {
      const note = this.record(event, about, resultOf(what, key), null);
      const isBound = before.rail === 'card' && before.intent === intent;
      const bind = intent === null || isBound ? [] : [bindIntent(intent, order.id)];
      return [putCardEvent(note, event.noted), putLastEvent(note.atMs), ...bind, ...marksOf(event.subject)];
    };
    const applied = await apply(this.parts, order.id, what, effect);
    // The event was recorded meanwhile; or the dispute ended before it began, and nothing changes.
    if (applied.kind === 'refused') return this.note(event, about, 'recorded', null);
    return settled(resultOf(what, applied.key));
  }

  /** Applies the events that came before their payment intent's order was known. */
  private async applyHeld(intent: string | null): Promise<void> {
    if (intent === null) return;
    const { store } = this.parts;
    const order = await findOrderOfIntent(store, intent);
    if (order === undefined) return;
    const held = await heldEvents(store, intent);
    const inOrder = held
      .map((each) => ({ each, event: JSON.parse(each.json) as Held }))
      .sort((left, right) => left.event.createdAtMs - right.event.createdAtMs);
    for (const { each, event } of inOrder) await this.applyOne(order, each, event);
  }

  private async applyOne(order: CardOrder, each: HeldEvent, held: Held): Promise<void> {
    const change = changeOf(held);
    const effect = (): Operation[] => [releaseHeld(each), ...marksOf(change)];
    const applied = await apply(this.parts, order.id, orderEvent(change), effect);
    if (applied.kind !== 'refused') return;
    // Another process released it; or its dispute ended before it began, and nothing changes.
    await this.parts.store.commit([releaseHeld(each)]);
  }
}

/** Effect of a refund or a dispute on an order. */
function orderEvent(change: IntentChange): OrderEvent {
  if (change.kind === 'refund') return { kind: 'card refunded', totalCents: change.cents };
  const kinds = { begun: 'card disputed', won: 'card dispute won', lost: 'card dispute lost' } as const;
  return { kind: kinds[change.what], dispute: change.dispute };
}

/** The marks of a dispute's beginning or end: a dispute that has ended cannot begin again. */
function marksOf(change: CardSubject | IntentChange): Operation[] {
  if (change.kind !== 'dispute') return [];
  return [change.what === 'begun' ? beginDispute(change.dispute) : endDispute(change.dispute)];
}

/** The outcome that is reported for an event. */
function resultOf(what: OrderEvent, effect: KeyEffect | undefined): CardWebhookResponse['result'] {
  if (effect !== undefined) {
    const results = { mint: 'minted', suspend: 'suspended', resume: 'recorded', revoke: 'revoked' } as const;
    return results[effect.kind];
  }
  if (what.kind === 'card paid') return 'duplicate';
  return what.kind === 'card pending' ? 'pending' : 'recorded';
}
