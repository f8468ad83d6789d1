/** The source of keys' records, and look-ups of keys that a process does not know yet. */
import type { DayUse } from '../store/tables/usage.js';

/** Members of a key's record that admission needs. */
export interface KnownKey {
  /** SHA-256 of the key's characters (32 bytes). */
  readonly hash: Uint8Array;
  readonly id: string;
  /** Name of its tier. */
  readonly tier: string;
  /** Start of its first month (ms since 1970). */
  readonly issuedAtMs: number;
  /** When it expires (ms since 1970); null: never. */
  readonly expiresAtMs: number | null;
  readonly status: 'active' | 'suspended' | 'revoked';
  /** SHA-256 of the key whose limits and usage it shares; null: it has its own. */
  readonly countedAs: Uint8Array | null;
}

/** The records of all keys. */
export interface KeySource {
  /** The latest record of the key with this SHA-256; undefined: there is none. */
  find(hash: Uint8Array): Promise<KnownKey | undefined | 'unavailable'>;
}

/** Usage of one month, and of its days. */
export interface MonthUsage {
  /** When the month began (ms since 1970). */
  readonly monthStartMs: number;
  readonly characters: number;
  /** For keys only, the oldest first. */
  readonly days: readonly DayUse[];
}

/**
 * Usage that outlives the server. A subject is one byte of kind (0: key), then the key's SHA-256 or an
 * address as limits count it (4 or 8 bytes, or none if the address is unknown).
 */
export interface UsageSource {
  /** The latest month stored. */
  load(subject: Uint8Array): Promise<MonthUsage | undefined | 'unavailable'>;
  /**
   * Adds usage to a month and to days. Resolves to the month's characters once they are durable. A subject
   * without a record gets one only if `mayMake` allows it. `unavailable`: nothing was stored.
   */
  add(subject: Uint8Array, usage: MonthUsage, mayMake?: () => boolean): Promise<Added>;
}

/** Outcome of adding usage. */
export type Added = number | 'unavailable' | 'refused' | Unsure;

/** Usage that may or may not have been stored: the source does not know. */
export interface Unsure {
  /** Retries; the usage is added once, however often this is called. */
  readonly again: () => Promise<Added>;
}

/** A look-up under way. */
interface Pending {
  /** True if the record changed while it was read. */
  stale: boolean;
  readonly found: Promise<Found>;
}

/** Result of a look-up; `known`: the key is in the process's table. */
export type Found = 'known' | 'none' | 'unavailable';

/** Look-ups of one process: each key once at a time, and never with a record that changed meanwhile. */
export class Keyring {
  private readonly pending = new Map<string, Pending>();

  constructor(
    private readonly source: KeySource,
    /** The process's table. */
    private readonly table: {
      readonly know: (key: KnownKey) => void;
      readonly forget: (hash: Uint8Array) => void;
      readonly forgetAll: () => void;
    },
  ) {}

  /** Looks a key up by its hash and adds it to the table. */
  lookUp(hash: Buffer): Promise<Found> {
    const name = hash.toString('latin1');
    const pending = this.pending.get(name);
    if (pending !== undefined) return pending.found;
    const found = this.read(name, hash).finally(() => this.pending.delete(name));
    this.pending.set(name, { stale: false, found });
    return found;
  }

  private async read(name: string, hash: Buffer): Promise<Found> {
    for (;;) {
      const found = await this.source.find(hash);
      const pending = this.pending.get(name);
      if (pending?.stale !== true) {
        if (found === undefined) return 'none';
        if (found === 'unavailable') return found;
        this.table.know(found);
        return 'known';
      }
      pending.stale = false;
    }
  }

  /** A key's record changed: it is read again before the key is used. */
  changed(hash: Uint8Array): void {
    this.table.forget(hash);
    const pending = this.pending.get(Buffer.from(hash).toString('latin1'));
    if (pending !== undefined) pending.stale = true;
  }

  /** Any record may have changed. */
  allChanged(): void {
    this.table.forgetAll();
    for (const pending of this.pending.values()) pending.stale = true;
  }
}
