/**
 * The contract of a storage engine: an ordered map of byte strings with durable, serializable transactions.
 */
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Randomness } from '../system/randomness.js';
import type { Entry } from './store.js';

/** A record to write; `value` undefined removes it. Keys carry the byte of their space. */
export interface Write {
  readonly key: Uint8Array;
  readonly value: Uint8Array | undefined;
}

/** Reads a record inside a transaction. */
export type ReadRecord = (key: Uint8Array) => Uint8Array | undefined;

/** Keys from `from` on, before `to`, ascending. */
export interface KeyRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  readonly limit: number;
}

/** Reads the records of a range. */
export type Scan = (range: KeyRange) => Promise<readonly Entry[]>;

/**
 * A storage engine. All keys are 1 to 255 bytes, ordered by their bytes; those that begin with a zero byte
 * are the engine's own.
 */
export interface Engine {
  /**
   * True if `transact` begins another transaction after one whose outcome it does not know. What `decide`
   * writes must then tell the next call of it that the one before took effect.
   */
  readonly triesAgain: boolean;
  /** A record as the last finished transaction left it. Only what is on disk is seen. */
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  /** Records of one consistent view. Only what is on disk is seen. */
  scan(range: KeyRange): Promise<readonly Entry[]>;
  /**
   * Runs one serializable transaction: reads, has `decide` say what to write, writes, syncs. `decide` reads
   * no key but those of `keys`, is pure and may be called more than once, each time for a transaction of its
   * own; the last call is the one that counts. Resolves to undefined when the writes are on disk. After
   * `unavailable` they are there all or none; only one transaction of an engine object runs at a time.
   */
  transact(keys: () => readonly Uint8Array[], decide: (read: ReadRecord) => readonly Write[]): Promise<void>;
  /**
   * Calls `use` with a scan whose calls all read one view: the store at one moment, however long it takes and
   * whatever is written meanwhile. `use` is not called again; what it throws is thrown.
   */
  snapshot<Value>(use: (scan: Scan) => Promise<Value>): Promise<Value>;
  /** Removes records of a range, at most `limit`, in one durable transaction; returns how many. */
  removeRange(range: KeyRange): Promise<number>;
  /** Number of records there are, the engine's own left out. */
  count(): Promise<number>;
  /** Releases what the engine holds. No call is under way. */
  close(): Promise<void>;
}

/** Parts of engines and stores. */
export interface StoreParts {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
  readonly randomness: Randomness;
}

/** Why nothing can be opened at a location. The reason is a sentence. */
export interface MissingStore {
  /** `missing`: there is no store yet; `unreadable`: there may be one that this user cannot read. */
  readonly kind: 'missing' | 'unreadable';
  readonly reason: string;
}

/** Where a store is. */
export interface StoreLocation {
  /** Its URL, any folder in it absolute. It may hold a password. */
  readonly url: string;
  /** Its name for the operator, without any password. */
  readonly name: string;
  /** The folder that holds it, absolute; null: machines may share it. */
  readonly folder: string | null;
  /** Why nothing can be opened here, if that is known without opening. */
  readonly missing: () => MissingStore | undefined;
  /**
   * Opens its engine, whatever state its records are in.
   * @throws StoreUnavailable when it cannot be opened.
   */
  readonly open: (parts: StoreParts) => Promise<Engine>;
}

/** A location; or a sentence part that follows the setting's name and carries nothing of the URL. */
export type Located = { readonly location: StoreLocation } | { readonly wrong: string };

/** A kind of engine: how its stores are named in URLs. `open.ts` lists the kinds. */
export interface EngineKind {
  /** Its URL in documents. */
  readonly short: string;
  /** Its URL in messages: what a wrong one must be. */
  readonly form: string;
  /** True if machines may share its stores. */
  readonly shared: boolean;
  /** Reads a URL; undefined: it is no URL of this engine. */
  readonly locate: (url: string) => Located | undefined;
}
