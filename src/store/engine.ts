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
   * True if `transact` starts another transaction after one whose outcome it does not know. The writes of
   * `decide` must then show its next call that the earlier one took effect.
   */
  readonly triesAgain: boolean;
  /** A record as the last completed transaction left it. Reads return only data that is on disk. */
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  /** As {@link get} for several keys, in their order; the records need not come from one view. */
  getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]>;
  /** Records of one consistent view. Reads return only data that is on disk. */
  scan(range: KeyRange): Promise<readonly Entry[]>;
  /**
   * Runs one serializable transaction: reads `keys`, has `decide` choose the writes, writes, syncs. `decide`
   * reads only `keys`, is pure, and may be called more than once, each time for a new transaction; the last
   * call counts. `keys` may be called again once the transaction has waited, but not after `decide`. Resolves
   * to undefined once the writes are on disk. After StoreUnavailable all writes took effect, or none. An
   * engine object runs one transaction at a time.
   */
  transact(keys: () => readonly Uint8Array[], decide: (read: ReadRecord) => readonly Write[]): Promise<void>;
  /**
   * Calls `use` with a scan that reads one view: a snapshot of the store, however long `use` takes and
   * whatever is written meanwhile. `use` is called once; errors that it throws pass through.
   */
  snapshot<Value>(use: (scan: Scan) => Promise<Value>): Promise<Value>;
  /** Removes at most `limit` records of a range in one durable transaction; returns how many. */
  removeRange(range: KeyRange): Promise<number>;
  /** Number of records, without the engine's own. */
  count(): Promise<number>;
  /** Releases the engine's resources. No call may be under way. */
  close(): Promise<void>;
}

/** Parts of engines and stores. */
export interface StoreParts {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
  readonly randomness: Randomness;
  /** True in a server, which reads records wherever they lie; commands mostly read all of them in order. */
  readonly isServer?: boolean;
}

/** Why no store can be opened at a location. The reason is a sentence. */
export interface MissingStore {
  /** `missing`: there is no store yet; `unreadable`: there may be one that this user cannot read. */
  readonly kind: 'missing' | 'unreadable';
  readonly reason: string;
}

/** Where a store is. */
export interface StoreLocation {
  /** Its URL, with any folder made absolute. It may hold a password. */
  readonly url: string;
  /** Its name for the operator, without any password. */
  readonly name: string;
  /** Absolute path of the folder that holds it; null: machines may share it. */
  readonly folder: string | null;
  /** Why nothing can be opened here, if that is known without opening. */
  readonly missing: () => MissingStore | undefined;
  /**
   * Opens its engine, whatever the state of its records.
   * @throws StoreUnavailable if it cannot be opened.
   */
  readonly open: (parts: StoreParts) => Promise<Engine>;
}

/** A location; or a sentence part that follows the setting's name and shows nothing of the URL. */
export type Located = { readonly location: StoreLocation } | { readonly wrong: string };

/** A kind of engine: how its stores are named in URLs. `open.ts` lists the kinds. */
export interface EngineKind {
  /** Its URL in documents. */
  readonly short: string;
  /** The form of its URL for error messages. */
  readonly form: string;
  /** True if machines may share its stores. */
  readonly shared: boolean;
  /** Parses a URL; undefined: it is not a URL of this engine. */
  readonly locate: (url: string) => Located | undefined;
}
