/**
 * Retries of conflicting transactions on PostgreSQL: soon while a conflict is short, rarely while it lasts.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StoreUnavailable } from '../../src/store/store.js';
import { storeAt } from '../support/openStore.js';
import { postgresMissing, suiteServer } from '../support/postgresServer.js';
import { bytes, commit } from './subject.js';

describe('conflicts on PostgreSQL', { skip: postgresMissing() }, () => {
  const server = suiteServer();

  /** A store whose first writes are all refused with a conflict; `tries` counts them. */
  async function conflicting(refused: number) {
    const url = await server().database();
    const database = url.slice(url.lastIndexOf('/') + 1);
    const store = await storeAt(url);
    await server().query(
      database,
      'CREATE SEQUENCE tries; ' +
        'CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ' +
        `IF nextval('tries') <= ${refused} THEN RAISE EXCEPTION 'refused' USING ERRCODE = '40001'; END IF; ` +
        'RETURN NULL; END $$; ' +
        'CREATE TRIGGER refuse BEFORE INSERT ON fusegate_records ' +
        'FOR EACH STATEMENT EXECUTE FUNCTION refuse()',
    );
    // The sequence counts tries that were rolled back, too.
    const tries = async (): Promise<number> =>
      Number((await server().query(database, 'SELECT last_value FROM tries'))[0]?.[0]);
    return { store, tries };
  }

  const append = { kind: 'append', log: 'leads', value: bytes('x') } as const;

  test('a unit that conflicts three times is written by the fourth try', async () => {
    const { store, tries } = await conflicting(3);
    assert.deepEqual(await commit(store, append), { kind: 'done', positions: [1] });
    assert.equal(await tries(), 4);
    await store.close();
  });

  test('a conflict that lasts is tried some twenty times a second, not hundreds', async (context) => {
    const { store, tries } = await conflicting(1_000_000);
    await assert.rejects(commit(store, append), StoreUnavailable);
    const count = await tries();
    context.diagnostic(`${count} tries in 5 s`);
    // With pauses of 8 ms at most there were 258, on a busy machine.
    assert.ok(count > 8 && count < 160, `${count} tries`);
    await store.close();
  });
});
