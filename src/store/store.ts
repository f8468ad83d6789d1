/**
 * The store's contract, the same for every engine (`docs/store.md` explains it to operators).
 *
 * - **Durability.** A resolved `commit` that says `done` or `conflict`, and every value that a read
 *   returns, is on disk: synced, so that a power cut does not undo it. There is no weaker mode.
 * - **Atomicity.** A unit takes effect whole or not at all, at one point between call and answer; units are
 *   serializable. No read sees a part of one.
 * - **Unavailability.** A call that cannot be answered throws {@link StoreUnavailable}, which is caught only
 *   at an edge: http answers 503, a command reports it, a loop tries again later.
 * - **Retry duty.** None for `done`, `conflict` and `refused`. After `StoreUnavailable` nothing was
 *   acknowledged: the unit took effect whole or not at all. A caller that passed the unit's id may commit
 *   the same unit again for up to {@link unitMemoryMs}; it takes effect at most once, and once it has, every
 *   retry gets its first outcome.
 * - **Concurrency.** Any number of calls at once, from any number of processes on any number of machines
 *   that share the engine. Writers never block readers. Units of one process that are pending when a
 *   sync ends share the next one.
 */
import type { Log, Space } from './spaces.js';

/** Time that a unit's outcome is stored for its retries (ms). */
export const unitMemoryMs = 3_600_000;

/** Largest key in bytes. */
export const maxKeyBytes = 254;

/** Largest value in bytes. */
export const maxValueBytes = 16 * 1024 * 1024;

/** Most bytes that a unit writes and compares. */
export const maxUnitBytes = 4 * maxValueBytes;

/**
 * The engine does not answer, or could not write, or this process cannot use what it has yet: nothing was
 * acknowledged. The message is for the operator.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Commits operations as one unit: {@link Store.commit}, or more than once the same unit. */
export type Commit = (operations: readonly Operation[]) => Promise<Outcome>;

/** An answer of the store, or that of `otherwise` while the store is unavailable. */
export function whenUnavailable<Value, Other>(
  answer: Promise<Value>,
  otherwise: (failure: StoreUnavailable) => Other,
): Promise<Value | Other> {
  return answer.catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return otherwise(error);
    throw error;
  });
}

/** A record and its key. */
export interface Entry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** An entry of a log. Positions of a log begin at 1 and grow in commit order. */
export interface LogEntry {
  readonly position: number;
  readonly value: Uint8Array;
}

/** Fence of background work: its lease and fencing number. */
export interface Fence {
  readonly lease: string;
  readonly token: number;
}

/** One step of a unit. Steps see the effects of earlier ones. */
export type Operation =
  /** Writes a record that must not exist: put-if-absent. */
  | {
      readonly kind: 'insert';
      readonly space: Space;
      readonly key: Uint8Array;
      readonly value: Uint8Array;
    }
  /** Writes a record that must hold exactly the bytes `from`: compare-and-set. `to` undefined removes it. */
  | {
      readonly kind: 'replace';
      readonly space: Space;
      readonly key: Uint8Array;
      readonly from: Uint8Array;
      readonly to: Uint8Array | undefined;
    }
  /** Writes a record, whatever it held. */
  | { readonly kind: 'put'; readonly space: Space; readonly key: Uint8Array; readonly value: Uint8Array }
  /**
   * Appends to a log; the outcome has the position. `place`: a record that the position is also written to,
   * as a count of 8 bytes.
   */
  | {
      readonly kind: 'append';
      readonly log: Log;
      readonly value: Uint8Array;
      readonly place?: { readonly space: Space; readonly key: Uint8Array };
    }
  /** Replaces a log entry's value, to erase it; undefined removes it. Its position stays used. */
  | {
      readonly kind: 'amend';
      readonly log: Log;
      readonly position: number;
      readonly from: Uint8Array;
      readonly to: Uint8Array | undefined;
    }
  /** Continues only while the lease is held under this fencing number. */
  | ({ readonly kind: 'fence' } & Fence);

/** Outcome of a unit. */
export type Outcome =
  /** It took effect. `positions`: those of its appends, in order. */
  | { readonly kind: 'done'; readonly positions: readonly number[] }
  /** It did nothing: the record of `operations[operation]` did not match; `record` is its value. */
  | { readonly kind: 'conflict'; readonly operation: number; readonly record: Uint8Array | undefined }
  /** It did nothing: the lease of a `fence` is no longer held under that number. */
  | { readonly kind: 'refused'; readonly reason: 'fenced' };

/** A part of a space. Keys in ascending order of their bytes. */
export interface Range {
  /** First key; undefined: the start of the space. */
  readonly from?: Uint8Array;
  /** The key before which the range ends; undefined: the end of the space. */
  readonly to?: Uint8Array;
  /** Most entries. */
  readonly limit: number;
}

/** A part of a log. */
export interface LogRange {
  /** The last position already read; 0: from the beginning. */
  readonly after: number;
  readonly limit: number;
}

/** The store of every record of Fusegate. */
export interface Store {
  /**
   * Commits operations as one unit; the head of this file says what the outcome guarantees. `id`: from
   * {@link newUnitId}, by a caller that commits the same unit again after an unknown outcome.
   */
  commit(operations: readonly Operation[], id?: Uint8Array): Promise<Outcome>;
  /** The id of a new unit: 16 bytes. */
  newUnitId(): Uint8Array;
  /** A record; undefined if there is none. */
  get(space: Space, key: Uint8Array): Promise<Uint8Array | undefined>;
  /** As {@link get} for several keys, in their order; the records need not come from one view. */
  getMany(space: Space, keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]>;
  /** A page of a space, from one consistent view. */
  scan(space: Space, range: Range): Promise<readonly Entry[]>;
  /**
   * A page of a log. Positions are assigned inside the unit that appends: a reader that continues after the
   * last position it saw misses nothing that commits later.
   */
  read(log: Log, range: LogRange): Promise<readonly LogEntry[]>;
  /** The last position of a log; 0 if it is empty. */
  last(log: Log): Promise<number>;
  /**
   * Removes entries of a log up to a position, at most `limit` of them, in one atomic step. Returns their
   * number, or fewer if a lost answer made it retry. Idempotent.
   */
  trim(log: Log, upTo: number, limit: number): Promise<number>;
  /**
   * Removes records of a space with keys before a key, at most `limit` of them, in one atomic step. Returns
   * their number, or fewer if a lost answer made it retry. Idempotent.
   */
  prune(space: Space, before: Uint8Array, limit: number): Promise<number>;
  /** Writes and syncs a record of its own, to find out if units can be committed now. */
  probe(): Promise<void>;
  /** Closes the store after the units that are under way. */
  close(): Promise<void>;
}
