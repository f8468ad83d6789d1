/** Keys and usage from the store, and word of every change of a key (see `src/store/keys.ts`). */
import { findKey } from '../store/keys.js';
import { whenUnavailable, type Store } from '../store/store.js';
import { addUsage, findUsage } from '../store/usage.js';
import type { Clock, Timer } from '../system/clock.js';
import type { KeySource, UsageSource } from './keyring.js';

/** The keys of the store. */
export function storedKeys(store: Store): KeySource {
  return {
    find: (hash) => whenUnavailable(findKey(store, hash), () => 'unavailable'),
  };
}

/**
 * The usage in the store, kept under `digest` of a subject (32 bytes), so that no address lies there in the
 * clear.
 */
export function storedUsage(store: Store, digest: (subject: Uint8Array) => Uint8Array): UsageSource {
  return {
    load: (subject) => whenUnavailable(findUsage(store, digest(subject)), () => 'unavailable'),
    add(subject, more) {
      const total = addUsage(store, digest(subject), more);
      return whenUnavailable(
        total.then((usage) => usage.characters),
        () => 'unavailable',
      );
    },
  };
}

/** Interval at which a process looks for changed keys (ms): each is known everywhere within a second. */
const lookMs = 250;

/** So many keys changed at once, or more, are not told one by one: any key may have changed. */
const pageEntries = 1_000;

/** Notices of changes. */
export interface KeyWatcher {
  readonly changed: (hash: Uint8Array) => void;
  readonly allChanged: () => void;
}

/** Tells of every change of a key from now on, until stopped. */
export class KeyChanges {
  private timer: Timer | undefined;
  private seen: number | undefined;
  private looking = false;

  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'every'>,
    private readonly watcher: KeyWatcher,
  ) {}

  /** Begins to look. Keys that were read before the first look has ended are read anew. */
  start(): void {
    this.timer = this.clock.every(lookMs, () => void this.look());
    void this.look();
  }

  stop(): void {
    this.timer?.stop();
  }

  /** Looks once; a look that the store does not answer is made up for by the next. */
  private async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    try {
      const { seen } = this;
      const looked = seen === undefined ? this.begin() : this.goOn(seen);
      await whenUnavailable(looked, () => undefined);
    } finally {
      this.looking = false;
    }
  }

  private async begin(): Promise<void> {
    const last = await this.store.last('keyChanges');
    this.seen = last;
    this.watcher.allChanged();
  }

  private async goOn(seen: number): Promise<void> {
    const page = await this.store.read('keyChanges', { after: seen, limit: pageEntries });
    // The rest would be told a page a look, later than within a second.
    if (page.length === pageEntries) return this.begin();
    for (const { value, position } of page) {
      this.watcher.changed(value);
      this.seen = position;
    }
  }
}
