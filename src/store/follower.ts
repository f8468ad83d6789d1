/** Follows a log of changed names: a process loads everything in the store, and then each change. */
import type { Clock, Timer } from '../system/clock.js';
import type { Log as Logger } from '../system/log.js';
import { reasonOf } from '../system/reason.js';
import { inSlice } from '../system/slices.js';
import { lastEntry, readAfter, recordsAfter } from './entries.js';
import type { Log, Space } from './spaces.js';
import { StoreUnavailable, type LogEntry, type Store } from './store.js';
import { UnreadableRecord } from './table.js';

/** Interval of polling for changes (ms): each is known everywhere within a second. */
const lookMs = 250;

/** Records of a page while everything is loaded: one page is read in one turn of the event loop. */
const pageRecords = 16;

/** Changes that are read at once. */
const pageChanges = 500;

/** The log to follow, and what to do with the records that it is about. */
export interface FollowingParts {
  readonly store: Store;
  /** The log of changed names. */
  readonly changes: Log;
  /** The records, by name. */
  readonly space: Space;
  /** Loads what the store has under a name; undefined: nothing. False: the next call loads it again. */
  readonly take: (name: string, record: Uint8Array | undefined) => Promise<boolean>;
}

/** Loads everything, and then, with each call, what has changed since. */
export class Following {
  /** The log's last entry before the first pass, which may have ended early; null: the log was empty. */
  private first: LogEntry | null | undefined;
  /** The last entry that was read. */
  private seen: LogEntry | null | undefined;
  private last: Promise<unknown> = Promise.resolve();
  /** Names to be loaded again. */
  private readonly again = new Set<string>();
  /** Names that are loaded. */
  private readonly loaded = new Set<string>();
  /** Names that were loaded from a store that has lost changes since. */
  private readonly doubtful = new Set<string>();

  constructor(private readonly parts: FollowingParts) {}

  /**
   * Resolves when the changes stored before the call are loaded. Calls wait for each other.
   * @throws StoreUnavailable if the store does not answer; the next call goes on where this one ended.
   */
  catchUp(): Promise<void> {
    const step = this.last.then(() => this.step());
    this.last = step.catch(() => undefined);
    return step;
  }

  private async step(): Promise<void> {
    const { store, space } = this.parts;
    const failed = [...this.again];
    await (this.seen === undefined ? this.begin() : this.goOn(this.seen));
    // A change may have loaded some of them.
    for (const name of failed.filter((each) => this.again.has(each))) {
      await this.take(name, await store.get(space, Buffer.from(name)));
    }
  }

  private async take(name: string, record: Uint8Array | undefined): Promise<void> {
    // The same version may have other content now.
    if (this.doubtful.has(name) && record !== undefined) await this.parts.take(name, undefined);
    this.doubtful.delete(name);
    if (record === undefined) this.loaded.delete(name);
    else this.loaded.add(name);
    if (await this.parts.take(name, record)) this.again.delete(name);
    else this.again.add(name);
  }

  private async begin(): Promise<void> {
    const { store, changes, space } = this.parts;
    const isAgain = this.first !== undefined;
    const first = this.first === undefined ? await lastEntry(store, changes) : this.first;
    this.first = first;
    for await (const { key, value } of recordsAfter(store, space, undefined, pageRecords)) {
      await this.take(Buffer.from(key).toString(), value);
    }
    for (const name of this.doubtful) await this.take(name, undefined);
    this.seen = first;
    // Some that an unfinished pass loaded may be gone: only the log still names them.
    if (isAgain) await this.goOn(first);
  }

  private async goOn(after: LogEntry | null): Promise<void> {
    const { store, changes, space } = this.parts;
    for (let last = after; ;) {
      const page = await readAfter(store, changes, last, pageChanges);
      if (page === undefined) return this.beginAnew();
      for (const entry of page) {
        await this.take(Buffer.from(entry.value).toString(), await store.get(space, entry.value));
        this.seen = last = entry;
      }
      if (page.length < pageChanges) return;
    }
  }

  /** Loads everything anew: the store has lost changes, among them some that were loaded. */
  private async beginAnew(): Promise<void> {
    for (const name of this.loaded) this.doubtful.add(name);
    this.first = this.seen = undefined;
    await this.begin();
  }
}

/** A log to follow by polling, and how its records are read. */
export interface FollowerParts<Row> extends Omit<FollowingParts, 'take'> {
  readonly clock: Pick<Clock, 'every'>;
  readonly log: Pick<Logger, 'error'>;
  readonly decode: (record: Uint8Array) => Row;
  /** Loads what the store has under a name; undefined: nothing. */
  readonly take: (name: string, row: Row | undefined) => Promise<void> | void;
}

/** Follows changes until it is stopped. */
export class Follower<Row> {
  private readonly following: Following;
  private timer: Timer | undefined;
  /** Number of polls that run or are pending. */
  private looks = 0;
  /** Why the last poll failed, and why names could not be loaded: each reason is logged once. */
  private reason: string | undefined;
  private readonly reasons = new Map<string, string>();

  constructor(private readonly parts: FollowerParts<Row>) {
    this.following = new Following({ ...parts, take: (name, record) => this.take(name, record) });
  }

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

  /** Polls once; resolves when the changes stored before it are loaded, or cannot be read now. */
  async look(): Promise<void> {
    this.looks += 1;
    try {
      await this.following.catchUp();
      this.reason = undefined;
    } catch (error) {
      if (error instanceof StoreUnavailable) return;
      // The next poll tries again: a process that no longer followed would serve what was removed.
      const reason = reasonOf(error);
      if (reason !== this.reason) this.parts.log.error({ reason }, 'changed names could not be read');
      this.reason = reason;
    } finally {
      this.looks -= 1;
    }
  }

  /**
   * Loads one record. One that cannot be loaded is left as it was: the others must not wait for it. False:
   * the next poll tries again, as the record itself can be read.
   */
  private async take(name: string, record: Uint8Array | undefined): Promise<boolean> {
    const { log, decode, take } = this.parts;
    try {
      await take(name, record === undefined ? undefined : await inSlice(() => decode(record)));
      this.reasons.delete(name);
      return true;
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      const reason = reasonOf(error);
      const isUnreadable = error instanceof UnreadableRecord;
      if (this.reasons.get(name) !== reason) log.error({ name, reason }, 'a record is left out');
      if (isUnreadable) this.reasons.delete(name);
      else this.reasons.set(name, reason);
      return isUnreadable;
    }
  }
}
