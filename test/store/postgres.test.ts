/** The store's contract on PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { conformance } from './conformance.js';
import { storeAt } from '../support/openStore.js';
import { PostgresServer, postgresMissing } from '../support/postgresServer.js';
import { bytes, commit } from './subject.js';

const skip = postgresMissing();
let server: PostgresServer | undefined;

before(async () => {
  if (skip === false) server = await PostgresServer.start();
});
after(() => server?.stop());

test('a store over a Unix socket, by the URL of docs/store.md', { skip }, async () => {
  const running = server ?? assert.fail('PostgreSQL does not run');
  const { password, pathname } = new URL(await running.database());
  const user = `postgres:${password}`;
  const store = await storeAt(`postgres://${user}@${pathname}?host=${running.folder}&port=${running.port}`);
  const written = await commit(store, { kind: 'append', log: 'leads', value: bytes('x') });
  assert.deepEqual(written, { kind: 'done', positions: [1] });
  await store.close();
});

conformance({
  name: 'PostgreSQL',
  skip,
  fresh: () => server?.database() ?? Promise.reject(new Error('PostgreSQL does not run')),
  open: storeAt,
});
