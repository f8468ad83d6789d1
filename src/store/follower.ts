/** Follows a log of changed names: a process takes what the store has, and from then on what changes. */
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from './spaces.js';
import { whenUnavailable, type Store } from './store.js';

/** Interval at which a process looks for changes (ms): each is known everywhere within a second. */
const lookMs = 250;

/** Changes that are read in one look. */
const pageEntries = 100;

/** What is followed, and what a process does with it. */
export interface FollowerParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'every'>;
  /** The log of changed names. */
  readonly changes: Log;
  /** Takes all that the store has. */
  readonly takeAll: () => Promise<void>;
  /** Takes what the store has under a name that has changed. */
  readonly takeChange: (name: string) => Promise<void>;
}

/** Follows changes until it is stopped. */
export class Follower {
  private timer: Timer | undefined;
  private seen: number | undefined;
  /** Looks that are under way or wait, and the last of them. */
  private looks = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: FollowerParts) {}

  /** Loads all, and follows; a store that does not answer is asked again. */
  async start(): Promise<void> {
    this.timer = this.parts.clock.every(lookMs, () => {
      if (this.looks === 0) void this.look();
    });
    await this.look();
  }

  stop(): void {
    this.timer?.stop();
  }

  /** Looks once; resolves when all is known that was stored before the look began. */
  look(): Promise<unknown> {
    this.looks += 1;
    this.last = this.last.then(() => this.step()).finally(() => (this.looks -= 1));
    return this.last;
  }

  private step(): Promise<unknown> {
    const { seen } = this;
    return whenUnavailable(seen === undefined ? this.begin() : this.goOn(seen), () => undefined);
  }

  private async begin(): Promise<void> {
    const last = await this.parts.store.last(this.parts.changes);
    await this.parts.takeAll();
    this.seen = last;
  }

  private async goOn(seen: number): Promise<void> {
    const { store, changes, takeChange } = this.parts;
    for (const { value, position } of await store.read(changes, { after: seen, limit: pageEntries })) {
      await takeChange(Buffer.from(value).toString());
      this.seen = position;
    }
  }
}
