/**
 * A server program for the tests, parent and worker, with routes of its own. Its parent writes
 * `listening <port> <metrics port>` once it serves.
 */
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { embed } from '../../src/compose/children.js';
import type { ServedRoute } from '../../src/http/routes.js';
import { createServer, type Server } from '../../src/http/server.js';
import { native } from '../../src/native/addon.js';
import type { Embedder } from '../../src/models/embedder.js';
import { childSink } from '../../src/processes/children.js';
import { runParent } from '../../src/processes/parent.js';
import { runWorker } from '../../src/processes/worker.js';
import { systemClock } from '../../src/system/clock.js';
import { readConfiguration, type Configuration } from '../../src/configuration.js';
import { createLog, logSink } from '../../src/system/log.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { openTiers } from '../support/access.js';
import { shippedModel } from '../support/models.js';
import { route, text } from '../http/routes.js';

/** Vectors of `?texts=` texts; what became of them. */
function embedRoute({ models, embed }: Embedder): ServedRoute {
  return {
    route: route({ id: 'embed', path: '/embed' }),
    handler: async ({ query }) => {
      const [model] = models;
      if (model === undefined) return text('no model');
      const count = Number(query['texts']);
      const texts = Array.from({ length: count }, (_, at) => Buffer.from(`text number ${at} of ${count}`));
      const outcome = await embed(model, texts, new AbortController().signal);
      return text(outcome.kind === 'vectors' ? String(outcome.vectors.length) : outcome.kind);
    },
  };
}

async function build({ logLevel }: Configuration, _: unknown, embedder: Embedder): Promise<Server> {
  if (process.env['TEST_BUILD'] === 'refuse') throw new Error('This worker cannot serve.');
  if (process.env['TEST_BUILD'] === 'hang') await new Promise(() => undefined);
  return createServer({
    routes: [
      embedRoute(embedder),
      { route: route({ id: 'pid', path: '/pid' }), handler: () => text(String(process.pid)) },
      {
        route: route({ id: 'wait', path: '/wait' }),
        handler: async (request) => {
          const { ms, file } = request.query;
          if (ms !== undefined) await systemClock.sleep(Number(ms));
          while (file !== undefined && !existsSync(file)) await systemClock.sleep(10);
          return text('waited');
        },
      },
    ],
    clock: systemClock,
    log: createLog(logLevel, childSink(format)),
    randomness: systemRandomness,
  });
}

async function parent(program: string): Promise<void> {
  const read = readConfiguration(process.env, { platform: 'linux', cores: 2 });
  if ('errors' in read) throw new Error(read.errors.join('\n'));
  const outcome = await runParent({
    program,
    programArguments: ['worker'],
    embedderArguments: ['embedder'],
    models: [await shippedModel()],
    preload: undefined,
    configuration: read.configuration,
    clock: systemClock,
    log: createLog(read.configuration.logLevel),
    logFormat: logSink(2).format,
    tiers: openTiers(),
    lockFile: native.lockFile,
    takeOver: process.env['TEST_TAKE_OVER'] === 'yes',
    storeName: read.configuration.storeUrl,
    reread: () => Promise.resolve({ errors: ['read once'] }),
    onRenewed: () => undefined,
    leaveMs: 60_000,
    prepareFolder: () => undefined,
    repairFolder: () => undefined,
    versions: { version: 'test' },
    onListening: ({ port, metricsPort }) => console.log(`listening ${port} ${metricsPort}`),
    drainMs: Number(process.env['TEST_DRAIN_MS'] ?? 1_000),
  });
  console.log(JSON.stringify(outcome));
}

const [, program = '', role, format] = process.argv;
if (import.meta.url === pathToFileURL(program).href) {
  if (role === 'worker') runWorker(build, native);
  else if (role === 'embedder') embed(format);
  else await parent(program);
}
