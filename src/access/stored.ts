/** Keys and usage from the store, and notices of every change of a key (see `src/store/tables/keys.ts`). */
import { lastEntry, readAfter } from '../store/entries.js';
import { findKey } from '../store/tables/keys.js';
import { whenUnavailable, type LogEntry, type Store } from '../store/store.js';
import { Charge, findUsage } from '../store/tables/usage.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { deriveLasting, type MasterSecrets } from '../system/masterSecret.js';
import { oneAtATime } from '../system/shared.js';
import type { Added, KeySource, UsageSource } from './keyring.js';

/** The keys of the store. */
export function storedKeys(store: Store): KeySource {
  return {
    find: (hash) => whenUnavailable(findKey(store, hash), () => 'unavailable'),
  };
}

/** The subject of a key's usage; `hash`: of the key whose limits and usage it shares. */
export function keySubject(hash: Uint8Array): Uint8Array {
  // The native module's kind of keys (`KEYS` in native/core/src/access/limits.rs).
  return Buffer.concat([Uint8Array.of(0), hash]);
}

/** A subject's id in the store: a keyed hash. */
export function usageSubject(secrets: MasterSecrets, subject: Uint8Array): Buffer {
  return deriveLasting(secrets, 'usage', Buffer.from(subject).toString('hex'));
}

/** Usage in the store, under `digest` of a subject (32 bytes): no address is stored in the clear. */
export function storedUsage(store: Store, digest: (subject: Uint8Array) => Uint8Array): UsageSource {
  return {
    load: (subject) => whenUnavailable(findUsage(store, digest(subject)), () => 'unavailable'),
    add(subject, more, mayMake) {
      const made = (): 'refused' | undefined => (mayMake?.() === false ? 'refused' : undefined);
      const charge = new Charge(store, digest(subject), more, made);
      const again = (): Promise<Added> =>
        whenUnavailable<Added, Added>(
          charge.add().then((usage) => (usage === 'refused' ? usage : usage.characters)),
          () => (charge.isUnsure ? { again } : 'unavailable'),
        );
      return again();
    },
  };
}

/**
 * Interval at which a process polls for changed keys (ms): each change is known everywhere within a second.
 */
const lookMs = 250;

/** If a poll finds this many changes, they are not reported one by one: any key may have changed. */
const pageEntries = 1_000;

/** Notices of changes. */
export interface KeyWatcher {
  readonly changed: (hash: Uint8Array) => void;
  readonly allChanged: () => void;
}

/** Time within which a change of a key is known everywhere while the store answers (ms). */
const knownMs = 1_000;

/** Parts of {@link KeyChanges}. */
export interface KeyChangesParts {
  readonly store: Pick<Store, 'last' | 'read'>;
  readonly clock: Pick<Clock, 'every' | 'monotonicMs'>;
  readonly watcher: KeyWatcher;
  /** Time for which known keys are served while the store does not answer (ms). */
  readonly graceMs: number;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/**
 * Reports every change of a key from now on, until stopped. Once the store has not answered for `graceMs`,
 * each poll reports that any key may have changed: it may have been revoked elsewhere, so it is served again
 * only after its record was read.
 */
export class KeyChanges {
  private timer: Timer | undefined;
  /** The last entry that was read; null: the log was empty. Undefined before the first poll. */
  private seen: LogEntry | null | undefined;
  /** True after a poll without an answer, until the next answer. */
  private wasAway = false;
  private readonly looks = oneAtATime(() => this.look());
  /** When the last poll that the store answered began. */
  private answeredMs: number;
  private expired = false;

  constructor(private readonly parts: KeyChangesParts) {
    this.answeredMs = parts.clock.monotonicMs();
  }

  /** Starts to poll. Keys that were read before the first poll has ended are read again. */
  start(): void {
    this.timer = this.parts.clock.every(lookMs, () => {
      this.expire();
      void this.looks.run();
    });
    void this.looks.run();
  }

  stop(): void {
    this.timer?.stop();
  }

  private expire(): void {
    const { clock, watcher, graceMs, log } = this.parts;
    if (clock.monotonicMs() - this.answeredMs <= graceMs + knownMs) return;
    watcher.allChanged();
    if (!this.expired) log.warn({ graceMs }, 'the store has not answered for KEY_GRACE: keys are refused');
    this.expired = true;
  }

  /** Polls once; if the store does not answer, the next poll makes up for it. */
  private async look(): Promise<void> {
    const beganMs = this.parts.clock.monotonicMs();
    const { seen } = this;
    const looked = seen === undefined ? this.begin() : this.goOn(seen);
    await whenUnavailable(
      looked.then(() => this.answered(beganMs)),
      () => {
        this.wasAway = true;
      },
    );
  }

  private answered(beganMs: number): void {
    this.answeredMs = beganMs;
    if (this.expired) this.parts.log.info({}, 'the store answers: keys are served again');
    this.expired = false;
  }

  private async begin(): Promise<void> {
    const { store, watcher } = this.parts;
    this.seen = await lastEntry(store, 'keyChanges');
    this.wasAway = false;
    watcher.allChanged();
  }

  /**
   * Reads on. Another server may answer, whose log ended earlier: any key may have changed then. After an
   * outage the last entry is reported again, as that server may have a new one of the same key there.
   */
  private async goOn(seen: LogEntry | null): Promise<void> {
    const page = await readAfter(this.parts.store, 'keyChanges', seen, pageEntries);
    // Reported one page a poll, the rest would take longer than a second.
    if (page === undefined || page.length === pageEntries) return this.begin();
    if (this.wasAway && seen !== null) this.parts.watcher.changed(seen.value);
    this.wasAway = false;
    for (const entry of page) {
      this.parts.watcher.changed(entry.value);
      this.seen = entry;
    }
  }
}
