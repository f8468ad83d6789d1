/** The server of metrics: it outlives what happens to its socket. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveMetrics } from '../../src/processes/metrics.js';
import { keptLog } from '../support/models.js';

const scrape = () => Promise.resolve({ text: () => Promise.resolve('up 1\n'), values: () => [] });

test('errors of the socket are logged, each reason once, and metrics are still served', async (context) => {
  const log = keptLog();
  const served = await serveMetrics('127.0.0.1', 0, scrape, log);
  assert.ok('server' in served);
  context.after(() => served.server.close());
  const failure = (code: string) => Object.assign(new Error('accept'), { code });
  for (const code of ['EMFILE', 'EMFILE', 'ENFILE']) served.server.emit('error', failure(code));
  assert.deepEqual(
    log.lines.map(({ fields }) => fields),
    [{ reason: 'EMFILE' }, { reason: 'ENFILE' }],
  );
  const answer = await fetch(`http://127.0.0.1:${served.port}/metrics`);
  assert.deepEqual([answer.status, await answer.text()], [200, 'up 1\n']);
});

test('a port in use is refused, without a line in the log', async (context) => {
  const log = keptLog();
  const served = await serveMetrics('127.0.0.1', 0, scrape, log);
  assert.ok('server' in served);
  context.after(() => served.server.close());
  const again = await serveMetrics('127.0.0.1', served.port, scrape, log);
  const refused = `METRICS_PORT ${served.port} on 127.0.0.1 cannot be had (EADDRINUSE).`;
  assert.deepEqual([again, log.lines], [{ refused: `${refused} Set it to a free port.` }, []]);
});
