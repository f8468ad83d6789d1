/**
 * Keeps the machine's file of vectors up to date with the log of fragments. One process at a time, the one
 * with the lock, reads new entries and appends them. The file is a cache: if it does not fit the log it is
 * rebuilt.
 */
import { kinds } from '../contract/exploration.js';
import type { ExploredFragment, VectorsState } from '../native/index.js';
import { decodeReceipt, decodeReceived, fragmentRecords } from '../store/tables/fragments.js';
import { whenUnavailable, type LogEntry, type Store } from '../store/store.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { Pace } from '../system/pace.js';

/** The writing side of the file. */
export interface WrittenVectors {
  readonly state: () => VectorsState;
  readonly append: (fragment: ExploredFragment) => boolean;
  readonly see: (position: number, receipt: string) => void;
  readonly begin: () => Promise<number>;
  readonly grow: (most: number) => Promise<boolean>;
  readonly close: () => Promise<void>;
  readonly reset: () => void;
}

/** Dependencies of following. */
export interface FollowerParts {
  readonly store: Store;
  readonly vectors: WrittenVectors;
  readonly embedText: (text: string) => Buffer;
  readonly clock: Pick<Clock, 'every' | 'monotonicMs' | 'sleep'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Takes the writer's lock for the life of this process; false if another process has it. */
  readonly takeLock: () => boolean;
}

/** Interval of polling the log (ms): new fragments can be explored within a second. */
const lookMs = 250;

/** Entries read in one step. */
const stepEntries = 100;

/** Entries whose fragments are read together. */
const readAtOnce = 20;

/** Fragments by which the index and the counts grow in one task: some milliseconds. */
const grownAtOnce = 2_000;

/** Interval at which a long round reports its progress (ms). */
const progressMs = 2_000;

/** The writer, or a process that waits for its lock. */
export interface Follower {
  /** Stops after the current step. */
  readonly stop: () => Promise<void>;
}

/** The text that a fragment's vector is made from. */
export function vectorText(fragment: {
  readonly title: string;
  readonly content: string;
  readonly mechanism: string;
}): string {
  return `${fragment.title}\n${fragment.content}\n${fragment.mechanism}`;
}

/** A kind's number; one more than the last for a fragment without a kind. */
function kindNumber(kind: string): number {
  const number = kinds.findIndex((each) => each === kind);
  return number < 0 ? kinds.length : number;
}

/** The records that log entries name; undefined if the store did not answer. */
async function recordsOf(store: Store, entries: readonly LogEntry[]): Promise<Uint8Array[] | undefined> {
  const receipts = entries.map(({ value }) => decodeReceipt(value));
  const found = await whenUnavailable(fragmentRecords(store, receipts), () => undefined);
  return found?.map((record, at) => {
    if (record === undefined) throw new Error(`The log names receipt ${receipts[at]}, which is not there`);
    return record;
  });
}

/** Appends the fragment of a log entry to the file; probes are not explored. */
function append({ vectors, embedText, log }: FollowerParts, entry: LogEntry, record: Uint8Array): void {
  const { position } = entry;
  const receipt = decodeReceipt(entry.value);
  const { receivedAt, status, visitor, content, ...fragment } = decodeReceived(record);
  if (status !== 'probe') {
    const atMs = Date.parse(receivedAt);
    const facts = { position, receipt, receivedAtMs: Number.isNaN(atMs) ? 0 : atMs, visitor, content };
    const vector = embedText(vectorText({ ...fragment, content }));
    if (!vectors.append({ ...facts, kind: kindNumber(fragment.kind), vector })) {
      log.warn({ position }, 'a fragment is left out of exploration: its id is too long');
    }
  }
  vectors.see(position, receipt);
}

/**
 * The log entries after the file's position. Undefined if the log has another receipt there: the file is of
 * another store, or the log ended earlier after a failover and gives positions out again.
 */
async function entriesToAppend({ store, vectors }: FollowerParts): Promise<readonly LogEntry[] | undefined> {
  const { position, lastReceipt } = vectors.state();
  if (position === 0) return store.read('fragments', { after: 0, limit: stepEntries });
  const [last, ...later] = await store.read('fragments', { after: position - 1, limit: stepEntries + 1 });
  // Of a receipt that is too long, the file has the beginning.
  const isSame = last?.position === position && decodeReceipt(last.value).startsWith(lastReceipt);
  return isSame ? later : undefined;
}

/**
 * Appends the log entries after the file's position, or starts over if the file does not belong to the log;
 * false if there are no more, or the store did not answer.
 */
async function step(parts: FollowerParts, pace: Pace): Promise<boolean> {
  const { store, vectors, log } = parts;
  const page = await entriesToAppend(parts);
  if (page === undefined) {
    log.warn({}, 'the file of vectors belongs to another store, or to a log that was lost; it is rebuilt');
    vectors.reset();
    return true;
  }
  for (let from = 0; from < page.length; from += readAtOnce) {
    const some = page.slice(from, from + readAtOnce);
    const records = await recordsOf(store, some);
    for (const [at, entry] of some.entries()) {
      const record = records?.[at];
      if (record === undefined) return false;
      await pace.run(() => append(parts, entry, record));
    }
  }
  return page.length === stepEntries;
}

/** First step of the writer: cuts off a damaged end. */
async function begin({ vectors, log }: FollowerParts): Promise<void> {
  const cut = await vectors.begin();
  if (cut > 0)
    log.warn({ fragments: cut }, 'the file of vectors was damaged; these fragments are added again');
}

class FollowingProcess implements Follower {
  private readonly timer: Timer;
  private readonly pace: Pace;
  private round: Promise<void> | undefined;
  private told: string | undefined;
  private state: 'waiting' | 'beginning' | 'writing' | 'stopped' = 'waiting';

  constructor(private readonly parts: FollowerParts) {
    this.pace = new Pace(parts);
    this.timer = parts.clock.every(lookMs, () => this.look());
    this.look();
  }

  readonly stop = async (): Promise<void> => {
    this.timer.stop();
    const wrote = this.state === 'writing';
    this.state = 'stopped';
    await this.round;
    // A file that is not closed is rebuilt after a power cut, but not otherwise.
    if (wrote) await this.parts.vectors.close().catch(() => undefined);
  };

  private look(): void {
    this.round ??= this.advance()
      .then(() => (this.told = undefined))
      .catch((error: unknown) => this.tell(String(error)))
      .finally(() => (this.round = undefined));
  }

  /** Logs why a round failed, once while the reason stays the same. */
  private tell(reason: string): void {
    if (reason === this.told) return;
    this.told = reason;
    this.parts.log.warn({ reason }, 'the file of vectors could not be updated');
  }

  private async advance(): Promise<void> {
    if (this.state === 'waiting' && this.parts.takeLock()) this.state = 'beginning';
    if (this.state === 'beginning') {
      await begin(this.parts);
      if (!this.stopped()) this.state = 'writing';
    }
    if (this.state === 'writing') await this.catchUp();
  }

  private stopped(): boolean {
    return this.state === 'stopped';
  }

  private async catchUp(): Promise<void> {
    const { clock } = this.parts;
    let toldMs = clock.monotonicMs();
    while (!this.stopped() && (await this.advanceOnce())) {
      // Lets other work of this process run.
      await clock.sleep(0);
      if (clock.monotonicMs() - toldMs < progressMs) continue;
      toldMs = clock.monotonicMs();
      await this.tellProgress();
    }
  }

  /** Reads a page of the log, and updates an index that lags; false if there is nothing left to do. */
  private async advanceOnce(): Promise<boolean> {
    const more = await whenUnavailable(step(this.parts, this.pace), () => false);
    const grown = await this.parts.vectors.grow(grownAtOnce);
    return more || !grown;
  }

  private async tellProgress(): Promise<void> {
    const { log, vectors, store } = this.parts;
    const of = await whenUnavailable(store.last('fragments'), () => null);
    log.info({ read: vectors.state().position, of }, 'reading fragments into the file of vectors');
  }
}

/** Starts to follow the log, as soon as the lock is free. */
export function followFragments(parts: FollowerParts): Follower {
  return new FollowingProcess(parts);
}
