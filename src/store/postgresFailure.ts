/** Meaning of an error of PostgreSQL, or of the connection, for a transaction (PostgreSQL, Appendix A). */
import postgres from 'postgres';
import { reasonOf } from '../system/reason.js';

/** Advice on retrying, the subject, and a sentence part for the operator. */
export interface Failure {
  /**
   * `conflict`: rolled back because of another transaction; retry at once. `outage`: the server or the
   * connection failed; retry a little later, on a new connection if this one is gone. `final`: a retry does
   * not help.
   */
  readonly kind: 'conflict' | 'outage' | 'final';
  readonly reason: string;
}

/** serialization_failure, deadlock_detected, unique_violation of a race, and tables created twice at once. */
const conflicts: ReadonlySet<string> = new Set(['40001', '40P01', '23505', '42P07', '42710']);

/**
 * statement_completion_unknown, query_canceled (the statement took too long), lock_not_available,
 * read_only_sql_transaction (the server is being replaced), and idle_in_transaction_session_timeout.
 */
const outages: ReadonlySet<string> = new Set(['40003', '57014', '55P03', '25006', '25P03']);

/** Classes: connection exceptions, insufficient resources, operator intervention, system errors. */
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
  return { kind: 'outage', reason: `does not answer (${sentenceOf(error)})` };
}

/** The SQLSTATE of an error that the server sent. */
export function codeOf(error: unknown): string | undefined {
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
