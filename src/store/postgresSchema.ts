/**
 * The tables, by migrations that only go forward: standard SQL, each one a transaction of its own that
 * takes its number in `fusegate_migrations`, so that of several processes that start at once one runs it
 * and the others find it done.
 */
import type { Session } from './postgresSession.js';

/** Statements of each migration; its number is its place, from 1. One that was released never changes. */
const migrations: readonly (readonly string[])[] = [
  ['CREATE TABLE fusegate_records (key bytea PRIMARY KEY, value bytea NOT NULL)'],
];

const ledger =
  'CREATE TABLE IF NOT EXISTS fusegate_migrations ' +
  '(version integer PRIMARY KEY, applied_at timestamp with time zone NOT NULL DEFAULT CURRENT_TIMESTAMP)';

/** Reason why a schema is too new; a sentence part that follows the server's name. */
export interface TooNew {
  readonly tooNew: string;
}

/** Brings the schema up to date. May be repeated, and run by several processes at once. */
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
  // CREATE TABLE needs a right that an operator may have taken away once the tables are there.
  const found = await session.run(
    "SELECT count(*) FROM information_schema.tables WHERE table_name = 'fusegate_migrations' " +
      'AND table_schema = current_schema()',
  );
  if (found.rows[0]?.[0] === '0') await session.run(ledger);
  const { rows } = await session.run('SELECT coalesce(max(version), 0) FROM fusegate_migrations');
  return Number(rows[0]?.[0]);
}
