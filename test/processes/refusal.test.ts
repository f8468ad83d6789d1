/** A worker that cannot serve says why, and ends, even though its store is already open. */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findModels } from '../../src/compose/models.js';
import { readConfiguration } from '../../src/configuration.js';
import { openTiers } from '../support/access.js';
import { temporaryFolder } from '../support/run.js';

const program = fileURLToPath(new URL('../../src/child.js', import.meta.url));

test('a worker whose port is taken refuses and ends', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const folder = temporaryFolder();
  const environment = { STORE_URL: `lmdb:${join(folder, 'store')}`, LOG_LEVEL: 'silent' };
  const read = readConfiguration(environment, { platform: 'linux', cores: 1 });
  assert.ok(!('errors' in read), 'the settings can be used');
  const worker = fork(program, ['worker'], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  after(() => worker.kill('SIGKILL'));
  const ended = once(worker, 'exit');
  const told = once(worker, 'message');
  const { configuration } = read;
  const { models } = await findModels(configuration);
  worker.send({ kind: 'start', configuration, tiers: openTiers(), models, port, doorPort: undefined });
  assert.deepEqual(await told, [
    { kind: 'refused', reason: `A worker could not listen on ${configuration.host} port ${port}.` },
    undefined,
  ]);
  await ended;
  other.close();
});
