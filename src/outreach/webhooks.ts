/**
 * Sends events to webhooks: whichever process holds the lease `webhooks` polls once a second for new events
 * and for deliveries that are due. Each event is sent at least once, those about one object in order. An
 * event that a receiver does not accept is retried on the schedule of Standard Webhooks, for 75 hours.
 */
import { announceEnd, isEndAnnounced } from '../store/tables/events.js';
import { allKeys, type KeyRecord } from '../store/tables/keys.js';
import { keepLease, type LeaseKeeper } from '../store/leases.js';
import { whenUnavailable, type Fence, type Store } from '../store/store.js';
import { leftOut, whenUnreadable, type LeftOut } from '../store/table.js';
import {
  allWebhooks,
  eventLogs,
  movePlace,
  placeOf,
  settleDelivery,
  stopWebhook,
  waitingDeliveries,
  type Delivery,
  type EventLog,
  type Place,
  type Webhook,
} from '../store/tables/webhooks.js';
import { dayMs, type Clock, type Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { MasterSecrets } from '../system/masterSecret.js';
import type { Metric } from '../system/metrics.js';
import type { Randomness } from '../system/randomness.js';
import { reasonOf } from '../system/reason.js';
import { oneAtATime, type OneAtATime } from '../system/shared.js';
import { bodyOf, eventOf, readEvents, type EventType, type OutboundEvent } from './events.js';
import { messageHead } from './webhookMessage.js';

/** A receiver's answer. */
export interface Answered {
  readonly status: number;
  /** Retry-After in seconds. */
  readonly retryAfterS: number | undefined;
}

/** Sends a message; rejects if there is no answer, or if the target is not permitted. */
export type Send = (
  url: string,
  head: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
) => Promise<Answered>;

/** Dependencies of sending. */
export interface WebhookParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly secrets: MasterSecrets;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** This process' id among those that share the store. */
  readonly holder: string;
  readonly send: Send;
}

/** Interval of polling the logs of events (ms). */
const lookMs = 1_000;

/** Reason of an attempt without an answer. */
const noAnswer = 'no answer';

const leaseName = 'webhooks';
const leaseMs = 15_000;

/** Pauses after each failed attempt (s), as Standard Webhooks recommends: 75 hours in all. */
const pausesS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;

/**
 * Pauses vary by up to this share in both directions: simultaneous failures are not retried simultaneously.
 */
const jitter = 0.1;

/** Events of a log that are sent before the webhook's position is written. */
const pageEvents = 50;

/** Most concurrent requests to one webhook. */
const atOnce = 8;

/** The longest pause before an attempt (ms), Retry-After included. */
const longestPauseMs = dayMs * (1 + jitter);

/** Most pending deliveries of a webhook from one log; beyond that, the log is not read further. */
const mostWaiting = 1_000;

/** Time before a key's expiry at which it is announced (ms), and the interval of checking all keys. */
const announcedMs = 7 * dayMs;
const keysLookMs = 3_600_000;

/**
 * The expiry of an active key if it is near; undefined: it is far off, or its holder has replaced the key.
 */
function nearEnd({ status, expiresAtMs, replacedBy }: KeyRecord, nowMs: number): number | undefined {
  if (status !== 'active' || replacedBy !== null || expiresAtMs === null) return undefined;
  return expiresAtMs > nowMs && expiresAtMs - nowMs <= announcedMs ? expiresAtMs : undefined;
}

/** Outcome of an attempt. */
type Attempt =
  | { readonly kind: 'taken' }
  /** Nothing to send: the event's object was erased. */
  | { readonly kind: 'void' }
  /** The receiver wants no more events. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterS: number }
  /** This process is ending or has lost the lease. */
  | { readonly kind: 'aborted' };

/** Pending deliveries of a webhook: an upper bound of their number by log, and what they are about. */
interface Backlog {
  readonly counts: Record<EventLog, number>;
  readonly objects: Set<string>;
}

/** Number of attempts by outcome. */
type Counts = Record<'taken' | 'failed' | 'given_up', number>;

/** Sending during one holding of the lease. */
interface Turn {
  readonly fence: Fence;
  readonly signal: AbortSignal;
}

/** Processes items, {@link atOnce} at a time. */
async function eachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const worker = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Groups items by object, in order. */
function byObject<Item extends { readonly object: string }>(items: readonly Item[]): readonly Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(item.object, [...(groups.get(item.object) ?? []), item]);
  return [...groups.values()];
}

/** Sending to one webhook. */
class Receiver {
  readonly rounds: OneAtATime<void>;

  constructor(
    private readonly parts: WebhookParts,
    private readonly counts: Counts,
    private readonly turn: Turn,
    /** As last read. */
    public webhook: Webhook,
  ) {
    this.rounds = oneAtATime(() => this.advance());
  }

  private isOver(): boolean {
    return this.turn.signal.aborted || this.webhook.status === 'stopped';
  }

  /** Sends what is due: pending deliveries first, then new events. */
  private async advance(): Promise<void> {
    const { store } = this.parts;
    const waiting = await waitingDeliveries(store, this.webhook.id);
    const counts = { events: 0, leads: 0, interests: 0 };
    for (const { log } of waiting) counts[log] += 1;
    const backlog = { counts, objects: await this.again(waiting) };
    let place = this.isOver() ? undefined : await placeOf(store, this.webhook.id);
    for (const log of eventLogs) {
      if (place !== undefined) place = await this.readOn(log, place, backlog);
    }
  }

  /**
   * Retries pending deliveries: the first of each object, and the next ones once it is accepted. Resolves to
   * the objects that still have a pending delivery.
   */
  private async again(waiting: readonly Delivery[]): Promise<Set<string>> {
    const { store, clock, log } = this.parts;
    const blocked = new Set(waiting.map(({ object }) => object));
    await eachOf(byObject(waiting), async (deliveries) => {
      for (const delivery of deliveries) {
        const leftMs = delivery.nextAtMs - clock.wallMs();
        // A longer pause than any was planned while the clock was ahead.
        if (this.isOver() || (leftMs > 0 && leftMs <= longestPauseMs)) return;
        const event = await eventOf(store, delivery);
        const attempt: Attempt = event === undefined ? { kind: 'void' } : await this.attempt(event);
        if (attempt.kind === 'aborted' || attempt.kind === 'gone') return;
        const next = attempt.kind === 'failed' ? this.later(delivery, attempt) : undefined;
        if (attempt.kind === 'failed' && next === undefined) {
          this.counts.given_up += 1;
          const told = { webhook: this.webhook.id, event: event?.id, reason: attempt.reason };
          log.error(told, 'a webhook did not accept an event for 75 hours: it is no longer sent');
        }
        const settled = await settleDelivery(store, this.turn.fence, this.webhook.id, delivery, next);
        if (!settled || next !== undefined) return;
      }
      for (const { object } of deliveries) blocked.delete(object);
    });
    return blocked;
  }

  /** The delivery after a failed attempt; undefined: that was the last one. */
  private later(delivery: Delivery, { retryAfterS }: { readonly retryAfterS: number }): Delivery | undefined {
    const pauseS = pausesS[delivery.attempts];
    if (pauseS === undefined) return undefined;
    const [random = 0] = this.parts.randomness(1);
    const spread = 1 + jitter * (random / 127.5 - 1);
    const nextAtMs = Math.ceil(this.parts.clock.wallMs() + Math.max(pauseS * spread, retryAfterS) * 1_000);
    return { ...delivery, attempts: delivery.attempts + 1, nextAtMs };
  }

  /**
   * Sends a log's events from the webhook's position on, a page at a time, until none is left or too many are
   * pending. Resolves to the position after them; undefined: nothing more can be sent now.
   */
  private async readOn(log: EventLog, begin: Place, backlog: Backlog): Promise<Place | undefined> {
    const { store } = this.parts;
    for (let from = begin; ;) {
      if (this.isOver()) return undefined;
      // Strangers write leads: those that are refused must not hold up what was paid.
      if (backlog.counts[log] >= mostWaiting) return from;
      const { events, upTo } = await readEvents(store, log, from[log], pageEvents);
      if (upTo === from[log]) return from;
      const untaken = await this.sendPage(events, backlog.objects);
      if (this.isOver()) return undefined;
      const to: Place = { ...from, [log]: upTo };
      const moved = await movePlace(store, this.turn.fence, this.webhook.id, { from, to, untaken });
      if (!moved) return undefined;
      backlog.counts[log] += untaken.length;
      for (const { object } of untaken) backlog.objects.add(object);
      from = to;
    }
  }

  /** Sends new events; resolves to those that failed, and those that wait for a failed one. */
  private async sendPage(
    events: readonly OutboundEvent[],
    blocked: ReadonlySet<string>,
  ): Promise<readonly Delivery[]> {
    const { types } = this.webhook;
    const wanted = events.filter(({ type }) => types.length === 0 || types.includes(type));
    const untaken: Delivery[] = [];
    const receiver = { isSilent: false };
    await eachOf(byObject(wanted), async (about) => {
      let waits = blocked.has(about[0]?.object ?? '');
      for (const event of about) {
        const { log, position, object } = event;
        const delivery: Delivery = { log, position, object, attempts: 0, nextAtMs: 0 };
        // If a receiver does not answer, the other events of the page are not sent to it.
        const attempt = waits || receiver.isSilent ? undefined : await this.attempt(event);
        if (attempt?.kind === 'taken' || attempt?.kind === 'void') continue;
        const next = attempt?.kind === 'failed' ? this.later(delivery, attempt) : undefined;
        untaken.push(next ?? delivery);
        waits = true;
        if (attempt?.kind === 'failed' && attempt.reason === noAnswer) receiver.isSilent = true;
      }
    });
    return untaken;
  }

  private async attempt(event: OutboundEvent): Promise<Attempt> {
    const { clock, log, secrets, send } = this.parts;
    const { webhook, turn, counts } = this;
    // A later version, or a restore, may make a record readable that this version cannot read.
    const body = await whenUnreadable(bodyOf(event), ({ message: reason }) => ({ reason }));
    if (body === undefined) return { kind: 'void' };
    if (typeof body !== 'string') {
      log.error({ webhook: webhook.id, event: event.id, ...body }, 'an event waits');
      return { kind: 'failed', ...body, retryAfterS: 0 };
    }
    const head = messageHead(secrets, webhook, { id: event.id, body, nowMs: clock.wallMs() });
    if (head === undefined) {
      const reason = `This process was not given its master secret ${webhook.secretId}`;
      log.warn({ webhook: webhook.id, event: event.id, reason }, 'an event waits');
      return { kind: 'failed', reason, retryAfterS: 0 };
    }
    let answered: Answered;
    try {
      answered = await send(webhook.url, head, body, turn.signal);
    } catch (error) {
      if (turn.signal.aborted) return { kind: 'aborted' };
      counts.failed += 1;
      log.warn({ webhook: webhook.id, event: event.id, reason: reasonOf(error) }, 'a webhook did not answer');
      return { kind: 'failed', reason: noAnswer, retryAfterS: 0 };
    }
    const { status, retryAfterS = 0 } = answered;
    if (status >= 200 && status < 300) {
      counts.taken += 1;
      return { kind: 'taken' };
    }
    counts.failed += 1;
    if (status === 410) return this.stop('It answered 410: it wants no events any more.');
    log.warn({ webhook: webhook.id, event: event.id, status }, 'a webhook did not accept an event');
    return { kind: 'failed', reason: `status ${status}`, retryAfterS: Math.min(retryAfterS, dayMs / 1_000) };
  }

  private async stop(reason: string): Promise<Attempt> {
    const { store, log } = this.parts;
    const { webhook } = this;
    if (await stopWebhook(store, this.turn.fence, webhook, reason)) {
      log.error({ webhook: webhook.id, reason }, 'a webhook gets no more events');
    }
    this.webhook = { ...webhook, status: 'stopped', reason };
    return { kind: 'gone' };
  }
}

/** Sending to all webhooks, until it is stopped. */
export class Webhooks {
  private readonly counts: Counts = { taken: 0, failed: 0, given_up: 0 };
  private readonly receivers = new Map<string, Receiver>();
  private readonly looks = oneAtATime(() => this.look());
  private readonly keyLooks = oneAtATime(() => this.announce());
  private readonly keeper: LeaseKeeper;
  private turn: (Turn & { readonly end: AbortController }) | undefined;
  private timer: Timer | undefined;
  private keysLookedMs = -Infinity;
  private readonly leftOut: LeftOut;

  constructor(private readonly parts: WebhookParts) {
    const { holder, log } = parts;
    this.leftOut = leftOut(log, 'a webhook is left out: it gets no events');
    this.keeper = keepLease(parts, {
      ...{ name: leaseName, holder, durationMs: leaseMs },
      onHeld: (token) => this.begin(token),
      onLost: () => this.end(),
    });
  }

  private begin(token: number): void {
    const end = new AbortController();
    this.turn = { fence: { lease: leaseName, token }, signal: end.signal, end };
    this.timer = this.parts.clock.every(lookMs, () => void this.reported(this.looks.run()));
    void this.reported(this.looks.run());
  }

  private end(): void {
    this.timer?.stop();
    this.turn?.end.abort();
    this.turn = undefined;
    this.receivers.clear();
  }

  /** Polls all webhooks; each has its own round, so that a slow one does not delay others. */
  private async look(): Promise<void> {
    const { turn } = this;
    const found = await whenUnavailable(allWebhooks(this.parts.store, this.leftOut), () => undefined);
    if (turn === undefined || found === undefined || turn.signal.aborted) return;
    const active = found.filter(({ status }) => status === 'active');
    for (const id of this.receivers.keys()) {
      if (active.every((webhook) => webhook.id !== id)) this.receivers.delete(id);
    }
    for (const webhook of active) {
      const receiver = this.receivers.get(webhook.id) ?? new Receiver(this.parts, this.counts, turn, webhook);
      this.receivers.set(webhook.id, receiver);
      void this.reported(receiver.rounds.run());
    }
    const wanted: EventType = 'key.expiring';
    const isWanted = active.some(({ types }) => types.length === 0 || types.includes(wanted));
    if (isWanted) void this.reported(this.keyLooks.run());
  }

  /** Logs a failed round; the next round does what is left. */
  private async reported(round: Promise<void>): Promise<void> {
    const later = ({ message: reason }: Error): void =>
      this.parts.log.warn({ reason }, 'events are sent to webhooks later');
    await whenUnreadable(whenUnavailable(round, later), later);
  }

  /** Announces near expiries of keys, once an hour. */
  private async announce(): Promise<void> {
    const { store, clock } = this.parts;
    const { turn } = this;
    if (turn === undefined || clock.monotonicMs() - this.keysLookedMs < keysLookMs) return;
    this.keysLookedMs = clock.monotonicMs();
    const nowMs = clock.wallMs();
    for await (const key of allKeys(store)) {
      const endsAtMs = nearEnd(key, nowMs);
      if (turn.signal.aborted) return;
      if (endsAtMs === undefined || (await isEndAnnounced(store, key.id, endsAtMs))) continue;
      await store.commit([{ kind: 'fence', ...turn.fence }, ...announceEnd(key.id, endsAtMs, nowMs)]);
    }
  }

  metrics(): Metric[] {
    const values = Object.entries(this.counts).map(([outcome, value]) => ({ value, labels: { outcome } }));
    return [
      {
        name: 'fusegate_webhook_attempts_total',
        help: 'Attempts to send an event to a webhook; given_up: events that no attempt delivered.',
        type: 'counter',
        aggregator: 'sum',
        values,
      },
    ];
  }

  /** Stops; interrupted deliveries are sent again by the next holder. */
  async stop(): Promise<void> {
    const rounds = [...this.receivers.values()].map(({ rounds: each }) => each.settled());
    this.end();
    await Promise.all([...rounds, this.looks.settled(), this.keyLooks.settled()]);
    await this.keeper.stop();
  }
}
