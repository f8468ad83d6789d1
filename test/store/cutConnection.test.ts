/**
 * PostgreSQL when connections and servers fail: a proxy cuts the connection at chosen moments, the server is
 * killed under load. No unit is doubled, lost or misreported.
 */
import assert from 'node:assert/strict';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openStore } from '../../src/store/open.js';
import { StoreUnavailable, whenUnavailable, type Store } from '../../src/store/store.js';
import { newUnitId, storeAt, testParts } from '../support/openStore.js';
import { PostgresServer, postgresMissing, suiteServer } from '../support/postgresServer.js';
import { retried } from './retried.js';
import { bytes, commit } from './subject.js';

/** When the proxy cuts: the message with COMMIT never arrives, or its answer never comes back. */
type Cut = 'before COMMIT arrives' | 'after COMMIT, before its answer' | 'in the middle of the message';

/** Passes bytes on, and cuts the connections it is told to. */
class Proxy {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  /** Cuts that are still to come, one for each COMMIT. */
  cuts: Cut[] = [];
  made = 0;

  constructor(private readonly target: number) {
    this.server = createServer((client) => this.join(client));
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    const address = this.server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  private join(client: Socket): void {
    const upstream = connect({ host: '127.0.0.1', port: this.target });
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      this.sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    let deaf = false;
    client.on('data', (data) => {
      const cut = data.includes('COMMIT') ? this.cuts.shift() : undefined;
      if (cut === undefined) return void upstream.write(data);
      this.made += 1;
      if (cut === 'before COMMIT arrives') {
        end();
        return;
      }
      if (cut === 'in the middle of the message')
        return void upstream.write(data.subarray(0, data.length - 9), end);
      deaf = true;
      upstream.write(data);
      // The server's answer shows that the COMMIT was carried out; the client never sees it.
      upstream.once('data', end);
    });
    upstream.on('data', (data) => {
      if (!deaf) client.write(data);
    });
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

const skip = postgresMissing();

describe('PostgreSQL going away', { skip }, () => {
  const server = suiteServer();

  async function proxied(context: TestContext): Promise<{ proxy: Proxy; store: Store; direct: Store }> {
    const url = await server().database();
    const proxy = new Proxy(server().port);
    const port = await proxy.listen();
    const store = await storeAt(url.replace(`:${server().port}/`, `:${port}/`));
    const direct = await storeAt(url);
    context.after(async () => {
      await store.close();
      await direct.close();
      proxy.close();
    });
    return { proxy, store, direct };
  }

  const moments: readonly Cut[] = [
    'before COMMIT arrives',
    'after COMMIT, before its answer',
    'in the middle of the message',
  ];
  for (const moment of moments) {
    test(`a connection cut ${moment}: every unit is there once, as its outcome says`, async (context) => {
      const { proxy, store, direct } = await proxied(context);
      await commit(store, { kind: 'insert', space: 'keys', key: bytes('taken'), value: bytes('x') });
      for (let round = 0; round < 10; round += 1) {
        proxy.cuts = [moment];
        const outcomes = await Promise.all([
          commit(store, { kind: 'append', log: 'leads', value: bytes(`${round}`) }),
          commit(store, { kind: 'insert', space: 'keys', key: bytes(`${round}`), value: bytes('x') }),
          commit(store, { kind: 'insert', space: 'keys', key: bytes('taken'), value: bytes('y') }),
        ]);
        assert.deepEqual(outcomes, [
          { kind: 'done', positions: [round + 1] },
          { kind: 'done', positions: [] },
          { kind: 'conflict', operation: 0, record: bytes('x') },
        ]);
      }
      assert.equal(proxy.made, 10);
      const entries = await direct.read('leads', { after: 0, limit: 99 });
      assert.deepEqual(
        entries.map(({ value }) => Buffer.from(value).toString()),
        Array.from({ length: 10 }, (_, round) => String(round)),
      );
    });
  }

  test('a unit given up after a cut gets its first outcome when it is sent again', async (context) => {
    const { proxy, store, direct } = await proxied(context);
    const unit = {
      id: newUnitId(),
      operations: [{ kind: 'append', log: 'leads', value: bytes('x') } as const],
    };
    // More cuts than the deadline has room for; the first of them is after the COMMIT was carried out.
    proxy.cuts = ['after COMMIT, before its answer', ...Array.from({ length: 999 }, () => moments[0] as Cut)];
    await assert.rejects(store.commit(unit.operations, unit.id), StoreUnavailable);
    assert.equal(await direct.last('leads'), 1);
    await commit(direct, { kind: 'append', log: 'leads', value: bytes('y') });
    proxy.cuts = [];
    assert.deepEqual(await retried(store, unit), { kind: 'done', positions: [1] });
    assert.equal(await direct.last('leads'), 2);
  });

  test(
    'a server killed under load: what was acknowledged is there exactly once',
    { timeout: 120_000 },
    async () => {
      const url = await server().database();
      const acknowledged = new Map<string, number>();
      for (let round = 0; round < 3; round += 1) {
        const store = await storeAt(url);
        let running = true;
        const writers = Array.from({ length: 16 }, async (_, writer) => {
          for (let index = 0; running; index += 1) {
            const value = `${round}.${writer}.${index}`;
            const unit = {
              id: newUnitId(),
              operations: [{ kind: 'append', log: 'leads', value: bytes(value) } as const],
            };
            const outcome = await retried(store, unit);
            if (outcome.kind === 'done') acknowledged.set(value, outcome.positions[0] ?? 0);
          }
        });
        await pause(200 + 60 * round);
        await server().kill();
        await server().boot();
        await pause(300);
        running = false;
        await Promise.all(writers);
        await store.close();
      }
      const store = await storeAt(url);
      const entries = await store.read('leads', { after: 0, limit: 1_000_000 });
      assert.ok(entries.length > 100);
      const found = new Map(entries.map(({ position, value }) => [Buffer.from(value).toString(), position]));
      assert.equal(found.size, entries.length, 'nothing is there twice');
      assert.deepEqual(found, acknowledged);
      assert.deepEqual(entries.at(-1)?.position, entries.length, 'positions have no gap');
      await store.close();
    },
  );

  test('messages say what is wrong and never carry the password', { timeout: 60_000 }, async () => {
    const url = await server().database();
    const reasonOf = async (changed: string): Promise<string> => {
      const opened = openStore(changed, testParts).then(() => assert.fail('it opened'));
      const reason = await whenUnavailable(opened, ({ message }) => message);
      assert.ok(!reason.includes(server().password) && !reason.includes('p%3A'), reason);
      return reason;
    };
    assert.match(
      await reasonOf(url.replace('%3A', '%3B')),
      /password authentication failed for user "postgres" \(28P01\)/,
    );
    assert.match(await reasonOf(`${url}x`), /database "test_\d+x" does not exist \(3D000\)/);
    assert.match(
      await reasonOf(url.replace(`:${server().port}/`, ':1/')),
      /at 127\.0\.0\.1:1 does not answer \(.*ECONNREFUSED/,
    );
    assert.match(await reasonOf(`${url}?sslmode=verify-full`), /does not answer/);
    assert.match(
      await reasonOf(`${url}?sslmode=never`),
      /STORE_URL has an sslmode that is not one of disable, prefer/,
    );
    assert.match(await reasonOf(`${url}?pool=3`), /STORE_URL has a parameter it does not know/);
    assert.match(await reasonOf('postgres://u:p%3A@[::1/x'), /STORE_URL must be a URL such as postgres:/);
  });

  test('settings: durable even if the server’s default is not, and refused if nothing would be', async () => {
    const url = await server().database();
    const database = url.slice(url.lastIndexOf('/') + 1);
    await server().query('postgres', `ALTER DATABASE ${database} SET synchronous_commit TO off`);
    const store = await storeAt(url);
    await server().query(
      database,
      'CREATE TABLE seen (setting text); ' +
        'CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ' +
        "INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$; " +
        'CREATE TRIGGER note AFTER INSERT ON fusegate_records EXECUTE FUNCTION note()',
    );
    const outcome = await commit(store, { kind: 'append', log: 'leads', value: bytes('x') });
    assert.deepEqual(outcome, { kind: 'done', positions: [1] });
    assert.deepEqual([...(await server().query(database, 'SELECT DISTINCT setting FROM seen'))], [['on']]);
    await store.close();
    const unsafe = await PostgresServer.start({ fsync: 'off' });
    const refused = openStore(await unsafe.database(), testParts);
    await assert.rejects(refused, { name: 'StoreUnavailable', message: /runs with fsync = off/ });
    await unsafe.stop();
    const late = 'INSERT INTO fusegate_migrations (version) VALUES (99)';
    await server().query(database, late);
    const message = /in version 99, and this Fusegate knows up to 1/;
    await assert.rejects(openStore(url, testParts), { name: 'StoreUnavailable', message });
  });

  test('many that open an empty database at once create its tables once', async () => {
    const url = await server().database();
    const stores = await Promise.all(Array.from({ length: 6 }, () => storeAt(url)));
    assert.equal(await (stores[0] as Store).last('leads'), 0);
    await Promise.all(stores.map((store) => store.close()));
  });
});
