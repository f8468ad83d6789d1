/** The engines on which tests of stored things run, each with a place for a store of its own. */
import { after, before } from 'node:test';
import { temporaryFolder } from '../support/run.js';
import { PostgresServer, postgresMissing } from '../support/postgresServer.js';

/** An engine. */
export interface Engine {
  readonly name: string;
  /** Why its tests do not run; false where they do. */
  readonly skip: string | false;
  /** The address of a store that is empty. */
  readonly fresh: () => Promise<string>;
}

/** Both engines; PostgreSQL runs while the tests of the file do, where it is installed. */
export function bothEngines(): readonly Engine[] {
  const missing = postgresMissing();
  let server: PostgresServer | undefined;
  before(async () => {
    if (missing === false) server = await PostgresServer.start();
  });
  after(() => server?.stop());
  return [
    { name: 'LMDB', skip: false, fresh: () => Promise.resolve(`lmdb:${temporaryFolder()}/store`) },
    {
      name: 'PostgreSQL',
      skip: missing,
      fresh: () => server?.database() ?? Promise.reject(new Error('PostgreSQL does not run')),
    },
  ];
}
