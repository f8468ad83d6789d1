/** A store in memory, receivers of events, and processes that send to them and may be killed at any call. */
import { Webhooks, type Send, type WebhookParts } from '../../src/outreach/webhooks.js';
import { appendEvent, type StoredEvent } from '../../src/store/tables/events.js';
import { encodeInterest } from '../../src/store/tables/interests.js';
import { encodeLead } from '../../src/store/tables/leads.js';
import { decodeLease } from '../../src/store/leaseRecord.js';
import { StoreUnavailable, type Operation, type Outcome, type Store } from '../../src/store/store.js';
import { addWebhook, type Webhook } from '../../src/store/tables/webhooks.js';
import { secretId } from '../../src/system/masterSecret.js';
import { ReferenceStore } from '../reference/store.js';
import { viewOf } from '../reference/storeView.js';
import { newUnitId } from '../support/openStore.js';
import { HandClock } from '../support/handClock.js';

/** The master secrets of the tests. */
export const secrets = ['a master secret for tests, of no worth 0123456789'] as const;

/** One attempt as a receiver saw it. */
export interface Seen {
  readonly url: string;
  readonly atMs: number;
  readonly head: Readonly<Record<string, string>>;
  readonly body: {
    readonly type: string;
    readonly timestamp: string;
    readonly data: { readonly id: string };
  };
  readonly status: number;
}

/** Answers to an attempt: a status, with seconds to wait, or nothing. */
export type Reply = { readonly status: number; readonly retryAfterS?: number } | 'silence';

/** A process: its calls until it is killed. */
class Life {
  /** Calls left before it is killed. */
  left = Infinity;

  constructor(private readonly effectOfLast: () => boolean) {}

  /** Runs a call; the last one takes effect or not, and is never answered. */
  async call<Value>(run: () => Value): Promise<Value> {
    this.left -= 1;
    if (this.left > 0) return run();
    if (this.left === 0 && this.effectOfLast()) run();
    return new Promise(() => undefined);
  }
}

export class WebhookWorld {
  /** A world with one webhook, and a process that has begun to send to it. */
  static async sending(...webhook: Parameters<WebhookWorld['add']>): Promise<WebhookWorld> {
    const world = new WebhookWorld();
    await world.add(...webhook);
    world.start();
    await world.clock.pass(1_000);
    return world;
  }

  readonly clock = new HandClock();
  readonly seen: Seen[] = [];
  readonly warned: string[] = [];
  /** How a receiver answers. */
  reply: (url: string, body: Seen['body']) => Reply = () => ({ status: 200 });
  /** True while the processes that send get no answer from the store. */
  isStoreAway = false;
  private readonly tokens: Record<string, number> = {};
  private readonly reference = new ReferenceStore(this.tokens);
  private processes = 0;

  private commit(operations: readonly Operation[]): Outcome {
    const outcome = this.reference.commit({ id: newUnitId(), operations });
    for (const operation of operations) {
      if (outcome.kind !== 'done' || !('space' in operation) || operation.space !== 'leases') continue;
      const value = this.reference.get('leases', operation.key);
      if (value !== undefined) this.tokens[Buffer.from(operation.key).toString()] = decodeLease(value).token;
    }
    return outcome;
  }

  private storeOf(life: Life, isAway: () => boolean): Store {
    const call = <Value>(run: () => Value): Promise<Value> =>
      life.call(() => {
        if (isAway()) throw new StoreUnavailable('it is away');
        return run();
      });
    return viewOf({
      reference: () => this.reference,
      commit: (operations) => call(() => this.commit(operations)),
      read: call,
    });
  }

  /** The store as one sees it who is never killed, and always gets an answer. */
  readonly store = this.storeOf(new Life(() => true), () => false);

  private sender(life: Life): Send {
    return (url, head, text) =>
      life.call(() => {
        const body = JSON.parse(text) as Seen['body'];
        const reply = this.reply(url, body);
        const status = reply === 'silence' ? 0 : reply.status;
        this.seen.push({ url, atMs: this.clock.wallMs(), head, body, status });
        if (reply === 'silence') throw new Error('nobody is there');
        return { status, retryAfterS: reply.retryAfterS };
      });
  }

  /** Starts a process that sends. `kill`: lets it live for so many calls more. */
  start(effectOfLast: () => boolean = () => true): {
    readonly webhooks: Webhooks;
    kill: (after: number) => void;
  } {
    const life = new Life(effectOfLast);
    const say = (_: object, message: string) => void this.warned.push(message);
    const parts: WebhookParts = {
      store: this.storeOf(life, () => this.isStoreAway),
      clock: this.clock,
      randomness: (length) => Buffer.alloc(length, 127),
      secrets,
      log: { info: say, warn: say, error: say },
      holder: `process ${(this.processes += 1)}`,
      send: this.sender(life),
    };
    return { webhooks: new Webhooks(parts), kill: (after) => (life.left = after) };
  }

  /** Adds a webhook, signed for by a master secret. */
  async add(name: string, types: readonly string[] = [], secret: string = secrets[0]): Promise<Webhook> {
    const url = `https://${name}.example/events`;
    const times = { createdAtMs: this.clock.wallMs(), secretId: secretId(secret) };
    const webhook: Webhook = { id: `wh_${name}`, url, types, status: 'active', reason: null, ...times };
    await addWebhook(this.store, webhook);
    return webhook;
  }

  /** A lead comes in. Those of one id are about one object. */
  async lead(id: string, message: string): Promise<void> {
    const none = { tier: null, source: null, segment: null, campaign: null, eventId: null };
    const lead = { id, receivedAtMs: this.clock.wallMs(), email: 'a@example.com', message, ...none };
    await this.store.commit([{ kind: 'append', log: 'leads', value: encodeLead(lead) }]);
  }

  /** Interest in a delivery model comes in. */
  async interest(id: string, email: string): Promise<void> {
    const none = { cloud: null, timeline: null, compliance: null, message: null, monthlyChars: null };
    const ways = { source: null, segment: null, campaign: null, eventId: 'evt_mail' };
    const interest = { id, email, company: 'Ada & Co', deliveryModel: 'self_hosted', ...none, ...ways };
    const value = encodeInterest({ ...interest, receivedAtMs: this.clock.wallMs() });
    await this.store.commit([{ kind: 'append', log: 'interests', value }]);
  }

  /** Something happens to an order or a key. */
  async happens(type: StoredEvent['type'], object: string): Promise<void> {
    await this.store.commit([appendEvent({ type, object, atMs: this.clock.wallMs() })]);
  }
}
