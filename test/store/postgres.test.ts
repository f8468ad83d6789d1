/** The store's contract on PostgreSQL. */
import { after, before } from 'node:test';
import { conformance } from './conformance.js';
import { storeAt } from '../support/openStore.js';
import { PostgresServer, postgresMissing } from '../support/postgresServer.js';

const skip = postgresMissing();
let server: PostgresServer | undefined;

before(async () => {
  if (skip === false) server = await PostgresServer.start();
});
after(() => server?.stop());

conformance({
  name: 'PostgreSQL',
  skip,
  fresh: () => server?.database() ?? Promise.reject(new Error('PostgreSQL does not run')),
  open: storeAt,
});
