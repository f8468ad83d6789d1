/** Meaning of an error of PostgreSQL, or of the connection, for a transaction (PostgreSQL, Appendix A). */
import postgres from 'postgres';
import { reasonOf } from '../../../system/reason.js';
import { StandbyError } from './postgresStandby.js';

/** Advice on retrying, and a sentence part for the operator. */
export interface Failure {
  /**
   * `conflict`: rolled back because of another transaction; retry soon. `outage`: the server or the
   * connection failed; retry a little later, on a new connection if this one is gone. `final`: a retry does
   * not help.
   */
  readonly kind: 'conflict' | 'outage' | 'final';
  readonly reason: string;
}

/** serialization_failure, deadlock_detected, unique_violation of a race, and tables created twice at once. */
const conflicts: ReadonlySet<string> = new Set(['40001', '40P01', '23505', '42P07', '42710']);

/**
 * feature_not_supported (a standby refuses SERIALIZABLE), statement_completion_unknown, lock_not_available,
 * read_only_sql_transaction (the server is being replaced), and idle_in_transaction_session_timeout.
 */
const outages: ReadonlySet<string> = new Set(['0A000', '40003', '55P03', '25006', '25P03']);

/**
 * Classes: connection exceptions, insufficient resources, operator intervention (cancels a statement that
 * took too long), system errors.
 */
const outageClasses: ReadonlySet<string> = new Set(['08', '53', '57', '58']);

/** Classifies an error. */
export function failureOf(error: unknown): Failure {
  if (error instanceof postgres.PostgresError) {
    const { code, message } = error;
    const reason = `says: ${message} (${code})`;
    if (conflicts.has(code)) return { kind: 'conflict', reason };
    if (outages.has(code) || outageClasses.has(code.slice(0, 2))) return { kind: 'outage', reason };
    return { kind: 'final', reason };
  }
  if (error instanceof StandbyError) return { kind: 'outage', reason: error.message };
  return { kind: 'outage', reason: `does not answer (${sentenceOf(error)})` };
}

/** Tries after a conflict with pauses of at most {@link shortPauseMs}: together 23 to 46 ms. */
const shortTries = 8;
const shortPauseMs = 8;

/** The longest pause after a conflict (ms). */
const longPauseMs = 64;

/**
 * The pause before the next try (ms). `attempt`: number of tries before the one that failed; `jitter`: a
 * random number from 0 to 1.
 *
 * After a conflict the pauses are short at first. With pauses of up to 100 ms one of two busy processes got
 * four fifths of the log's head, and the other waited up to 0.9 s; with the short ones they share it nearly
 * evenly. A conflict that lasts longer is with a COMMIT that waits for a standby, or for a slow disk. Each
 * try would fail until that COMMIT ends, and PostgreSQL logs it as an error, so the pauses grow.
 */
export function pauseAfter(kind: Failure['kind'], attempt: number, jitter: number): number {
  return mostPause(kind, attempt) * (0.5 + jitter / 2);
}

function mostPause(kind: Failure['kind'], attempt: number): number {
  if (kind !== 'conflict') return Math.min(10 * 2 ** attempt, 250);
  if (attempt === 0) return 0;
  if (attempt < shortTries) return Math.min(2 ** attempt, shortPauseMs);
  return Math.min(shortPauseMs * 1.5 ** (attempt - shortTries + 1), longPauseMs);
}

/** The SQLSTATE of an error that the server sent. */
export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof postgres.PostgresError ? error.code : undefined;
}

/** True if the server itself sent the error, so it does answer. */
export function isOfServer(error: unknown): boolean {
  return error instanceof postgres.PostgresError;
}

function sentenceOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(sentenceOf).join('; ');
  return reasonOf(error);
}
