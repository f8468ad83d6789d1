/**
 * Several stores that append to one log of a PostgreSQL take turns, so that no transaction is in vain. If the
 * server does not let them take turns, they append nevertheless.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Store } from '../../src/store/store.js';
import { until } from '../support/until.js';
import { storeAt } from '../support/openStore.js';
import { postgresMissing, suiteServer } from '../support/postgresServer.js';
import { bytes } from './subject.js';

describe('turns of appending transactions', { skip: postgresMissing() }, () => {
  // The server's own work on the table gives way to a turn, and would count as in vain.
  const server = suiteServer({ autovacuum: 'off' });

  /** Appends a hundred entries by each store, eight at a time, and asks for every position once. */
  async function appendByAll(stores: readonly Store[]): Promise<void> {
    const positions: number[] = [];
    const writers = stores.flatMap((store) =>
      Array.from({ length: 8 }, async () => {
        for (let count = 0; count < 12; count += 1) {
          const outcome = await store.commit([{ kind: 'append', log: 'leads', value: bytes('x') }]);
          if (outcome.kind === 'done') positions.push(...outcome.positions);
        }
      }),
    );
    await Promise.all(writers);
    positions.sort((a, b) => a - b);
    assert.deepEqual(
      positions,
      Array.from({ length: stores.length * 96 }, (_, index) => index + 1),
    );
    await Promise.all(stores.map((store) => store.close()));
  }

  const transactions = async (database: string): Promise<readonly [done: number, undone: number]> => {
    const counts = `SELECT xact_commit, xact_rollback FROM pg_stat_database WHERE datname = '${database}'`;
    const [row = []] = await server().query('postgres', counts);
    return [Number(row[0]), Number(row[1])];
  };

  test('none of four stores has to retry, and entries of a group share one outcome', async (context) => {
    const url = await server().database();
    const database = url.slice(url.lastIndexOf('/') + 1);
    // The first makes the tables: several that do so at once get in each other's way.
    await (await storeAt(url)).close();
    // One after the other: what is in vain while several open may be counted later.
    const stores: Store[] = [];
    while (stores.length < 4) stores.push(await storeAt(url));
    const [, before] = await transactions(database);
    await appendByAll(stores);
    const kept = 'SELECT count(*) FROM fusegate_records WHERE get_byte(key, 0) = 1';
    const outcomes = Number((await server().query(database, kept))[0]?.[0]);
    // Counts are sent at a connection's end at the latest.
    await until(async () => (await transactions(database))[0] >= outcomes);
    const [done, after] = await transactions(database);
    context.diagnostic(`${done} transactions, ${after - before} undone, ${outcomes} outcomes kept for 384`);
    assert.ok(after === before, `${after - before} transactions were in vain`);
    assert.ok(outcomes < 200, `${outcomes} outcomes are kept for 384 entries`);
  });

  test('a role that may not lock the table appends without turns', async () => {
    const url = await server().database();
    const database = url.slice(url.lastIndexOf('/') + 1);
    await (await storeAt(url)).close();
    const rights = 'SELECT, INSERT, UPDATE, DELETE ON fusegate_records TO turnless';
    await server().query(
      database,
      `CREATE ROLE turnless LOGIN PASSWORD 'x'; GRANT ${rights}; ` +
        'GRANT SELECT ON fusegate_migrations TO turnless',
    );
    const turnless = url.replace(/\/\/[^@]+@/, '//turnless:x@');
    await appendByAll(await Promise.all([storeAt(turnless), storeAt(turnless)]));
  });
});
