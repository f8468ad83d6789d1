/**
 * Pending clicks: gathered in memory, written as one block about ten times a second. A redirect never waits,
 * and a crash loses less than a second of clicks.
 */
import { appendClicks, type Click } from '../store/tables/clicks.js';
import { whenUnavailable, type Store } from '../store/store.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { single, type Metric } from '../system/metrics.js';
import { oneAtATime } from '../system/shared.js';

/** Interval of writing what was gathered (ms). */
const flushMs = 100;

/** Approximate characters in one block: far below the size limit of a value, in any encoding. */
const blockCharacters = 1024 * 1024;

/** Most characters pending while the store does not answer; beyond that, the oldest clicks are dropped. */
const waitingCharacters = 16 * 1024 * 1024;

/** Most attempts to write while the process ends. */
const lastTries = 3;

/** Parts of a click log. */
export interface ClickLogParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** True if the rest of the disk is reserved: clicks are then counted, but not stored. */
  readonly isStorageReserved?: () => boolean;
  /** Counts bytes against the storing limit of an address's network; false: it is used up. */
  readonly mayStore?: (address: Uint8Array, bytes: number) => boolean;
  /** Most pending characters; default: {@link waitingCharacters}. */
  readonly limit?: number;
}

interface Block {
  readonly unitId: Uint8Array;
  readonly clicks: readonly Click[];
}

/** Gathers clicks and writes them. One object per process. */
export class ClickLog {
  private waiting: Click[] = [];
  private characters = 0;
  /** The block that is being written or retried; its unit's id makes it take effect once. */
  private block: Block | undefined;
  private readonly writing = oneAtATime(() => this.writeAll());
  private dropped = 0;
  /** Clicks that are only counted: this server did not make their token for their destination. */
  private invalid = 0;
  private unstored = 0;
  private failing = false;
  /** Started by the first click. */
  private timer: Timer | undefined;

  constructor(private readonly parts: ClickLogParts) {}

  /**
   * Adds a click from an address; returns at once. A click whose token this server did not make is counted,
   * but not stored; so is one beyond the storing limit of the address's network.
   */
  record(click: Click, address: Uint8Array = new Uint8Array(0)): void {
    if (!click.valid) {
      this.invalid += 1;
      return;
    }
    const { isStorageReserved, mayStore } = this.parts;
    if (isStorageReserved?.() === true || mayStore?.(address, sizeOf(click)) === false) {
      this.unstored += 1;
      return;
    }
    this.timer ??= this.parts.clock.every(flushMs, () => {
      if (this.block !== undefined || this.waiting.length > 0) void this.flush();
    });
    this.waiting.push(click);
    this.characters += sizeOf(click);
    if (this.characters > (this.parts.limit ?? waitingCharacters)) this.dropOldest();
  }

  /** Writes pending clicks, block by block, unless that is running; false if the store does not answer. */
  flush(): Promise<boolean> {
    return this.writing.run();
  }

  /** Writes pending clicks for the last time. */
  async close(): Promise<void> {
    this.timer?.stop();
    for (let tries = 0; tries < lastTries; tries += 1) {
      if (await this.flush()) {
        if (this.waiting.length === 0) return;
      } else await this.parts.clock.sleep(flushMs * 3);
    }
    const lost = this.waiting.length + (this.block?.clicks.length ?? 0);
    if (lost > 0) this.parts.log.error({ clicks: lost }, 'clicks could not be written and are lost');
  }

  /** Counters for the metrics page. */
  metrics(): Metric[] {
    const waiting = this.waiting.length + (this.block?.clicks.length ?? 0);
    return [
      single(
        'counter',
        'fusegate_clicks_dropped_total',
        'Clicks dropped because too many were waiting.',
        this.dropped,
      ),
      single('gauge', 'fusegate_clicks_waiting', 'Clicks not yet on disk.', waiting),
      single(
        'counter',
        'fusegate_clicks_invalid_total',
        'Clicks whose token was not made here for their destination; none is stored.',
        this.invalid,
      ),
      single(
        'counter',
        'fusegate_clicks_unstored_total',
        'Clicks that were not stored: the disk was nearly full, or their network stores too much.',
        this.unstored,
      ),
    ];
  }

  private async writeAll(): Promise<boolean> {
    while (this.block !== undefined || this.waiting.length > 0) {
      this.block ??= this.takeBlock();
      const { store } = this.parts;
      const appended = appendClicks(store, this.block.unitId, this.block.clicks);
      const told = appended.then(() => undefined);
      const reason = await whenUnavailable(told, ({ message }) => message);
      this.say(reason);
      if (reason !== undefined) return false;
      this.block = undefined;
    }
    return true;
  }

  private takeBlock(): Block {
    return { unitId: this.parts.store.newUnitId(), clicks: this.takeOldest(blockCharacters) };
  }

  /** Drops a tenth of the limit at once, so that few calls pay for moving the rest. */
  private dropOldest(): void {
    const limit = this.parts.limit ?? waitingCharacters;
    const { length } = this.takeOldest(this.characters - limit * 0.9);
    this.dropped += length;
    this.parts.log.error({ clicks: length }, 'the store does not accept clicks; the oldest are dropped');
  }

  /** Takes pending clicks up to `characters` characters, at least one. */
  private takeOldest(characters: number): readonly Click[] {
    let count = 0;
    let taken = 0;
    for (const click of this.waiting) {
      if (taken >= characters) break;
      taken += sizeOf(click);
      count += 1;
    }
    this.characters -= taken;
    return this.waiting.splice(0, count);
  }

  /** Logs once when the store stops accepting clicks, and once when it accepts them again. */
  private say(reason: string | undefined): void {
    if ((reason !== undefined) === this.failing) return;
    this.failing = reason !== undefined;
    if (this.failing) this.parts.log.error({ reason }, 'clicks wait: the store does not accept them');
    else this.parts.log.info({ dropped: this.dropped }, 'clicks are written again');
  }
}

/** Characters of a pending click, plus some for its other members. */
function sizeOf({ token, destination }: Click): number {
  return token.length + destination.length + 64;
}
