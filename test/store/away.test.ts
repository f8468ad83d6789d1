/**
 * PostgreSQL away, silent, and back: calls fail at once while it is away and are served within a second once
 * it is back, and nothing that was acknowledged is lost or doubled.
 */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { StoreUnavailable, whenUnavailable, type Store } from '../../src/store/store.js';
import { until } from '../support/until.js';
import { newUnitId, storeAt } from '../support/openStore.js';
import { Passage } from './passage.js';
import { postgresMissing, suiteServer } from '../support/postgresServer.js';
import { retried } from './retried.js';
import { bytes, commit } from './subject.js';

describe('PostgreSQL away and back', { skip: postgresMissing() }, () => {
  const server = suiteServer();

  async function behindPassage(context: TestContext) {
    const url = await server().database();
    const passage = new Passage(server().port);
    await passage.open();
    const store = await storeAt(url.replace(`:${server().port}/`, `:${passage.port}/`));
    const direct = await storeAt(url);
    context.after(async () => {
      await Promise.all([store.close(), direct.close()]);
      await passage.close();
    });
    return { passage, store, direct, database: url.slice(url.lastIndexOf('/') + 1) };
  }

  const append = (store: Store, value: string) =>
    commit(store, { kind: 'append', log: 'leads', value: bytes(value) });

  /** Milliseconds until a call is answered; rejects as it does. */
  async function timeOf(call: () => Promise<unknown>): Promise<number> {
    const began = performance.now();
    await call();
    return performance.now() - began;
  }

  const refusedAtOnce = async (store: Store): Promise<void> => {
    const tookMs = await timeOf(async () => {
      for (let call = 0; call < 50; call += 1) {
        await assert.rejects(append(store, 'refused'), StoreUnavailable);
        await assert.rejects(store.get('keys', bytes('a')), StoreUnavailable);
      }
    });
    // A hundred calls in less time than a single one had waited.
    assert.ok(tookMs < 5_000, `${tookMs} ms`);
  };

  const isServed = async (store: Store): Promise<boolean> =>
    whenUnavailable(
      append(store, 'served').then(() => true),
      () => false,
    );

  const ways = {
    silent: [
      (passage: Passage) => {
        passage.hush();
        return Promise.resolve();
      },
      (passage: Passage) => {
        passage.speak();
        return Promise.resolve();
      },
    ],
    closed: [(passage: Passage) => passage.close(), (passage: Passage) => passage.open()],
  } as const;
  for (const [name, [leave, comeBack]] of Object.entries(ways)) {
    test(`${name}: calls fail at once, and are served when it is back`, async (context) => {
      const { passage, store, direct } = await behindPassage(context);
      await append(store, 'before');
      await leave(passage);
      const waitedMs = await Promise.all([
        timeOf(() => assert.rejects(append(store, 'lost'), StoreUnavailable)),
        timeOf(() => assert.rejects(store.get('keys', bytes('a')), StoreUnavailable)),
      ]);
      for (const ms of waitedMs) assert.ok(ms < 4_500, `${ms} ms`);
      const { taken } = passage;
      await refusedAtOnce(store);
      assert.ok(passage.taken - taken < 50, `${passage.taken - taken} connections for 100 calls`);
      await comeBack(passage);
      const backMs = await timeOf(() => until(() => isServed(store)));
      context.diagnostic(`served again after ${Math.round(backMs)} ms`);
      assert.ok(backMs < 1_000, `${backMs} ms`);
      const values = (await direct.read('leads', { after: 0, limit: 99 })).map(({ value }) =>
        Buffer.from(value).toString(),
      );
      assert.equal(values.filter((value) => value === 'before').length, 1);
      assert.equal(values.filter((value) => value === 'served').length, 1);
      assert.ok(!values.includes('refused'));
    });
  }

  test('a cut that is short is waited out, and no call fails', async (context) => {
    const { passage, store } = await behindPassage(context);
    for (let round = 0; round < 3; round += 1) {
      await passage.close();
      const calls = Promise.all([append(store, 'a'), store.get('keys', bytes('a'))]);
      await new Promise(setImmediate);
      await passage.open();
      await calls;
    }
    assert.equal(await store.last('leads'), 3);
  });

  test('writers that go on through outages: each unit is there once', async (context) => {
    const { passage, store, direct } = await behindPassage(context);
    const acknowledged = new Map<string, number>();
    const state = { over: false };
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let index = 0; !state.over; index += 1) {
        const value = `${writer}.${index}`;
        const unit = {
          id: newUnitId(),
          operations: [{ kind: 'append', log: 'leads', value: bytes(value) } as const],
        };
        const outcome = await retried(store, unit);
        if (outcome.kind === 'done') acknowledged.set(value, outcome.positions[0] ?? 0);
      }
    });
    for (const [leave, comeBack] of [ways.silent, ways.closed, ways.silent]) {
      const before = acknowledged.size;
      await until(() => acknowledged.size > before + 20);
      await leave(passage);
      await until(async () => !(await isServed(store)));
      await comeBack(passage);
    }
    const before = acknowledged.size;
    await until(() => acknowledged.size > before + 20);
    state.over = true;
    await Promise.all(writers);
    const entries = await direct.read('leads', { after: 0, limit: 100_000 });
    const written = entries.filter(({ value }) => !Buffer.from(value).equals(Buffer.from('served')));
    const found = new Map(written.map(({ position, value }) => [Buffer.from(value).toString(), position]));
    assert.equal(found.size, written.length, 'nothing is there twice');
    assert.deepEqual(found, acknowledged);
  });

  test('a server that only reads is read, and its writes fail at once', async (context) => {
    const { store, direct, database } = await behindPassage(context);
    await commit(direct, { kind: 'insert', space: 'keys', key: bytes('a'), value: bytes('x') });
    const to = async (readOnly: 'on' | 'off'): Promise<void> => {
      const set = `ALTER DATABASE ${database} SET default_transaction_read_only TO ${readOnly}`;
      const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`;
      await server().query('postgres', `${set}; ${cut}`);
    };
    await to('on');
    await assert.rejects(append(store, 'lost'), StoreUnavailable);
    const tookMs = await timeOf(async () => {
      for (let call = 0; call < 50; call += 1) {
        await assert.rejects(append(store, 'refused'), StoreUnavailable);
        assert.deepEqual(await store.get('keys', bytes('a')), bytes('x'));
      }
    });
    assert.ok(tookMs < 5_000, `${tookMs} ms`);
    await to('off');
    await until(() => isServed(store));
    // The probes leave nothing behind.
    const left = 'SELECT count(*) FROM fusegate_records WHERE get_byte(key, 0) = 0';
    assert.equal(Number((await server().query(database, left))[0]?.[0]), 0);
  });
});
