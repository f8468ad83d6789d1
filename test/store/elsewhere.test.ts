/**
 * The store's contract on a server that a URL names, of PostgreSQL or of an engine that speaks its protocol
 * (docs/scale.md). `CONFORMANCE_URL` names a database whose role may create others; each test gets its own.
 * Without it, the same is tried on PostgreSQL itself.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import postgres from 'postgres';
import { systemRandomness } from '../../src/system/randomness.js';
import { conformance } from './conformance.js';
import { storeAt } from '../support/openStore.js';
import { PostgresServer, postgresMissing } from '../support/postgresServer.js';
import { bytes, commit } from './subject.js';

const url = process.env['CONFORMANCE_URL'];

async function run(at: string, statement: string): Promise<void> {
  const sql = postgres(at, { max: 1, fetch_types: false, onnotice: () => undefined });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}

/** Databases that were made at a URL's server. */
class Databases {
  private readonly names: string[] = [];

  constructor(private readonly at: string) {}

  /** Makes an empty one; its URL. */
  async fresh(): Promise<string> {
    const name = `fusegate_${systemRandomness(8).toString('hex')}`;
    await run(this.at, `CREATE DATABASE ${name}`);
    this.names.push(name);
    const made = new URL(this.at);
    made.pathname = `/${name}`;
    return made.href;
  }

  /** Removes them. One that is still in use stays: it is the engine's to say how long a session lasts. */
  async drop(): Promise<void> {
    for (const name of this.names) await run(this.at, `DROP DATABASE ${name}`).catch(() => undefined);
  }
}

if (url !== undefined) {
  const databases = new Databases(url);
  after(() => databases.drop());
  conformance({
    name: new URL(url).host,
    skip: false,
    fresh: () => databases.fresh(),
    open: storeAt,
  });
} else {
  test('an address is enough for a store of its own', { skip: postgresMissing() }, async () => {
    const server = await PostgresServer.start();
    const databases = new Databases(server.url('postgres'));
    try {
      const urls = [await databases.fresh(), await databases.fresh()];
      for (const each of urls) {
        const store = await storeAt(each);
        const insert = { kind: 'insert', space: 'keys', key: bytes('a'), value: bytes('1') } as const;
        assert.deepEqual(await commit(store, insert), { kind: 'done', positions: [] });
        await store.close();
      }
      await databases.drop();
      const rows = await server.query(
        'postgres',
        "SELECT datname FROM pg_database WHERE datname LIKE 'fusegate%'",
      );
      assert.deepEqual([...rows], []);
    } finally {
      await server.stop();
    }
  });
}
