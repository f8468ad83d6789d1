/** Follows a log of changed names: a process loads everything in the store, and then each change. */
import type { Clock, Timer } from '../system/clock.js';
import { entriesAfter } from './entries.js';
import type { Log } from './spaces.js';
import { whenUnavailable, type Store } from './store.js';

/** Interval of polling for changes (ms): each is known everywhere within a second. */
const lookMs = 250;

/** The log to follow, and the functions that load what the store has. */
export interface FollowerParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'every'>;
  /** The log of changed names. */
  readonly changes: Log;
  /** Loads everything in the store. */
  readonly takeAll: () => Promise<void>;
  /** Loads what the store now has under a changed name. */
  readonly takeChange: (name: string) => Promise<void>;
}

/** Follows changes until it is stopped. */
export class Follower {
  private timer: Timer | undefined;
  private seen: number | undefined;
  /** Number of polls that run or are pending, and the last of them. */
  private looks = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: FollowerParts) {}

  /** Loads everything, then follows; while the store does not answer, each poll tries again. */
  async start(): Promise<void> {
    this.timer = this.parts.clock.every(lookMs, () => {
      if (this.looks === 0) void this.look();
    });
    await this.look();
  }

  stop(): void {
    this.timer?.stop();
  }

  /** Polls once; resolves when the changes stored before it are loaded. */
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

  private async goOn(after: number): Promise<void> {
    const { store, changes, takeChange } = this.parts;
    for await (const { value, position } of entriesAfter(store, changes, after)) {
      await takeChange(Buffer.from(value).toString());
      this.seen = position;
    }
  }
}
