/**
 * The tables, by forward-only migrations in standard SQL. Each is a transaction that adds its number to
 * `fusegate_migrations`: of several processes that start together, one runs it and the others find it done.
 */
import type { Session } from './postgresSession.js';

/** Statements of each migration; its number is its index from 1. A released one never changes. */
const migrations: readonly (readonly string[])[] = [
  ['CREATE TABLE fusegate_records (key bytea PRIMARY KEY, value bytea NOT NULL)'],
];

const ledger =
  'CREATE TABLE IF NOT EXISTS fusegate_migrations ' +
  '(version integer PRIMARY KEY, applied_at timestamp with time zone NOT NULL DEFAULT CURRENT_TIMESTAMP)';

/** The schema is newer than this program; the reason is a sentence part that follows the server's name. */
export interface TooNew {
  readonly tooNew: string;
}

/** Migrates the schema. Idempotent; several processes may run it at once. */
export async function migrate(session: Session, begin: string): Promise<TooNew | undefined> {
  let version = await currentVersion(session);
  if (version > migrations.length) {
    return {
      tooNew:
        `holds Fusegate's tables in version ${version}, and this Fusegate knows up to ` +
        `${migrations.length}: ` +
        'a later Fusegate has used them. Run that version',
    };
  }
  while (version < migrations.length) {
    const statements = migrations[version] ?? [];
    version += 1;
    const record = `INSERT INTO fusegate_migrations (version) VALUES (${version})`;
    await session.run([begin, ...statements, record, 'COMMIT'].join('; '));
  }
  return undefined;
}

async function currentVersion(session: Session): Promise<number> {
  // CREATE TABLE needs a right that an operator may have revoked once the tables exist.
  const found = await session.run(
    "SELECT count(*) FROM information_schema.tables WHERE table_name = 'fusegate_migrations' " +
      'AND table_schema = current_schema()',
  );
  if (found.rows[0]?.[0] === '0') await session.run(ledger);
  const { rows } = await session.run('SELECT coalesce(max(version), 0) FROM fusegate_migrations');
  return Number(rows[0]?.[0]);
}
