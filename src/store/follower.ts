/** Follows a log of changed names: a process loads everything in the store, and then each change. */
import type { Clock, Timer } from '../system/clock.js';
import type { Log as Logger } from '../system/log.js';
import { entriesAfter, recordsAfter } from './entries.js';
import type { Log, Space } from './spaces.js';
import { whenUnavailable, type Store } from './store.js';
import { UnreadableRecord } from './table.js';

/** Interval of polling for changes (ms): each is known everywhere within a second. */
const lookMs = 250;

/** The log to follow, and what to do with the records that it is about. */
export interface FollowerParts<Row> {
  readonly store: Store;
  readonly clock: Pick<Clock, 'every'>;
  readonly log: Pick<Logger, 'error'>;
  /** The log of changed names. */
  readonly changes: Log;
  /** The records, by name. */
  readonly space: Space;
  readonly decode: (record: Uint8Array) => Row;
  /** Loads what the store has under a name; undefined: nothing. */
  readonly take: (name: string, row: Row | undefined) => Promise<void> | void;
}

/** Follows changes until it is stopped. */
export class Follower<Row> {
  private timer: Timer | undefined;
  private seen: number | undefined;
  /** Number of polls that run or are pending, and the last of them. */
  private looks = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: FollowerParts<Row>) {}

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
    const { store, changes, space } = this.parts;
    const last = await store.last(changes);
    for await (const { key, value } of recordsAfter(store, space)) await this.take(key, value);
    this.seen = last;
  }

  private async goOn(after: number): Promise<void> {
    const { store, changes, space } = this.parts;
    for await (const { value: key, position } of entriesAfter(store, changes, after)) {
      await this.take(key, await store.get(space, key));
      this.seen = position;
    }
  }

  /** Loads one record. One that cannot be read is left as it was: the others must not wait for it. */
  private async take(key: Uint8Array, record: Uint8Array | undefined): Promise<void> {
    const { log, decode, take } = this.parts;
    const name = Buffer.from(key).toString();
    try {
      await take(name, record === undefined ? undefined : decode(record));
    } catch (error) {
      if (!(error instanceof UnreadableRecord)) throw error;
      log.error({ name, reason: error.message }, 'a record is left out');
    }
  }
}
