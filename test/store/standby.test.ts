/**
 * A PostgreSQL that has become a standby, as a leader does that was cut off: it is not read, as it may lack
 * what was acknowledged last. Once it leads again it serves, and appends take turns as before.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import { whenUnavailable, type Outcome, type Store } from '../../src/store/store.js';
import { until } from '../support/until.js';
import { storeAt } from '../support/openStore.js';
import { Pooler, poolerMissing } from './pooler.js';
import { PostgresServer, postgresMissing } from '../support/postgresServer.js';
import { bytes, commit } from './subject.js';

/** Resolves once a call is refused because of the standby; fails where it is served. */
async function refusedByStandby(call: () => Promise<unknown>): Promise<void> {
  // While the breaker looks for the server, the reason may be that a probe took too long.
  await until(async () => {
    const reason = await whenUnavailable(
      call().then(() => 'served'),
      ({ message }) => message,
    );
    assert.notEqual(reason, 'served');
    return reason.includes('is a standby, which may lack the last writes');
  }, 20_000);
}

const pooled = { skip: poolerMissing() };

describe('a standby', { skip: postgresMissing() }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.stop());

  const insert = { kind: 'insert', space: 'keys', key: bytes('a'), value: bytes('x') } as const;
  const append = { kind: 'append', log: 'leads', value: bytes('x') } as const;

  /** A new database with a record and an entry. */
  async function filled(): Promise<{ readonly url: string; readonly database: string }> {
    const url = await server.database();
    const store = await storeAt(url);
    assert.deepEqual(await commit(store, insert, append), { kind: 'done', positions: [1] });
    await store.close();
    return { url, database: url.slice(url.lastIndexOf('/') + 1) };
  }

  async function opened(url: string, context: TestContext): Promise<Store> {
    const store = await storeAt(url);
    context.after(() => store.close());
    return store;
  }

  async function refusesReads(store: Store): Promise<void> {
    await refusedByStandby(() => store.get('keys', bytes('a')));
    await refusedByStandby(() => store.scan('keys', { limit: 9 }));
    // A range without records, too: what is not there may have been written to the primary.
    await refusedByStandby(() => store.read('leads', { after: 9, limit: 9 }));
  }

  const works = (call: () => Promise<unknown>): Promise<boolean> =>
    whenUnavailable(
      call().then(() => true),
      () => false,
    );

  /** Appends while another transaction has the turn; fails if the append does not wait for it. */
  async function waitsForItsTurn(store: Store, database: string): Promise<void> {
    const ofTurns = "relation = 'fusegate_migrations'::regclass AND mode = 'ShareUpdateExclusiveLock'";
    const waits =
      'DO $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND ' +
      `${ofTurns}) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$`;
    // This transaction has the turn until the append waits for it.
    const turn = `BEGIN; LOCK TABLE fusegate_migrations IN SHARE UPDATE EXCLUSIVE MODE; ${waits}; COMMIT`;
    const taken = server.query(database, `SET statement_timeout TO '20s'; ${turn}`);
    const held = `SELECT 1 FROM pg_locks WHERE granted AND ${ofTurns}`;
    await until(async () => (await server.query(database, held)).length > 0);
    const [outcome] = await Promise.all([commit(store, append), taken]);
    assert.deepEqual(outcome, { kind: 'done', positions: [2] });
  }

  test('refuses reads and writes; promoted, it serves, and appends wait for their turn', async (context) => {
    const { url, database } = await filled();
    const store = await opened(url, context);
    await server.kill();
    await server.bootAsStandby();
    await refusesReads(store);
    await refusedByStandby(() => commit(store, append));
    await refusedByStandby(() => storeAt(url));
    await server.query('postgres', 'SELECT pg_promote()');
    await until(() => works(() => store.get('keys', bytes('a'))));
    assert.deepEqual(await store.get('keys', bytes('a')), bytes('x'));
    await until(() => works(() => store.probe()));
    await waitsForItsTurn(store, database);
  });

  test('a commit is made again if its wait for the synchronous standby was cancelled', async (context) => {
    const { url } = await filled();
    const store = await opened(url, context);
    const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    const waits = async (): Promise<unknown> =>
      (await server.query('postgres', `SELECT pid ${waiting}`))[0]?.[0];
    const standbys = async (names: string): Promise<void> => {
      await server.query('postgres', `ALTER SYSTEM SET synchronous_standby_names TO '${names}'`);
      await server.query('postgres', 'SELECT pg_reload_conf()');
    };
    await standbys('absent');
    const acknowledged: Outcome[] = [];
    let before = 0;
    let outcome: Promise<number>;
    // The first may be acknowledged at once, while the server still reads its settings.
    do {
      before = acknowledged.length;
      outcome = commit(store, append).then((done) => acknowledged.push(done));
      await until(async () => acknowledged.length > before || (await waits()) !== undefined);
    } while (acknowledged.length > before);
    const first = await waits();
    await server.query('postgres', `SELECT pg_cancel_backend(pid) ${waiting}`);
    await until(async () => ![undefined, first].includes(await waits()));
    assert.equal(acknowledged.length, before);
    await standbys('');
    await outcome;
    assert.equal(acknowledged.at(-1)?.kind, 'done');
  });

  test('a session that reaches a standby refuses reads, and serves again at a primary', async (context) => {
    const { url, database } = await filled();
    // No pooler is needed to see it: a function of this database answers in the place of PostgreSQL's own.
    await server.query('postgres', `ALTER DATABASE ${database} SET search_path TO public, pg_catalog`);
    const store = await opened(url, context);
    assert.deepEqual(await store.get('keys', bytes('a')), bytes('x'));
    assert.equal(await store.get('keys', bytes('b')), undefined);
    const usual = 'pg_catalog.current_setting(name, missing)';
    const answer = `CASE name WHEN 'in_hot_standby' THEN 'on' ELSE ${usual} END`;
    await server.query(
      database,
      'CREATE FUNCTION public.current_setting(name text, missing boolean) RETURNS text LANGUAGE sql ' +
        `AS $$ SELECT ${answer} $$`,
    );
    await refusesReads(store);
    await server.query(database, 'DROP FUNCTION public.current_setting(text, boolean)');
    await until(() => works(() => store.get('keys', bytes('a'))));
    assert.equal((await store.scan('keys', { limit: 9 })).length, 1);
  });

  test('behind a pooler, too; and turns are taken afterwards', pooled, async (context) => {
    const { url, database } = await filled();
    const pooler = await Pooler.start(server);
    context.after(() => pooler.stop());
    const store = await opened(url.replace(`:${server.port}/`, `:${pooler.port}/`), context);
    assert.deepEqual(await store.get('keys', bytes('a')), bytes('x'));
    await store.probe();
    await server.kill();
    await server.bootAsStandby();
    // The sessions of the store are those from before: the pooler leads them to the standby.
    await refusedByStandby(() => commit(store, append));
    await refusesReads(store);
    await server.query('postgres', 'SELECT pg_promote()');
    await until(() => works(() => store.get('keys', bytes('a'))));
    await until(() => works(() => store.probe()));
    await waitsForItsTurn(store, database);
  });
});
