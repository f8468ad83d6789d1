/** Composition root: builds the parts, binds the handlers to them and hands both to a command. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAccess, keyTiers, type Access } from './access/admission.js';
import { readTiers, type Tiers } from './access/tiers.js';
import { runProgram, workerCommand } from './commands/program.js';
import { serve, type ServeOrder, type ServeOutcome } from './commands/serve.js';
import type { Handlers } from './contract/routes.js';
import { servedRoutes } from './http/pipeline.js';
import { createServer, type Server } from './http/server.js';
import { banner, health } from './info/banner.js';
import { limits, rateLimits } from './info/limits.js';
import { openapi } from './info/openapi.js';
import { privacy } from './info/privacy.js';
import { dataFolderCheck, nativeModuleCheck, ready } from './info/ready.js';
import { SERVICE_VERSION, version } from './info/version.js';
import { native } from './native/addon.js';
import { docsHandlers } from './pages/docs.js';
import { runParent } from './processes/parent.js';
import { runWorker } from './processes/worker.js';
import { fuseHandler } from './search/fuse.js';
import { exactOffLoop } from './search/offLoop.js';
import { systemClock } from './system/clock.js';
import type { Configuration } from './system/configuration.js';
import { createLog, type Log } from './system/log.js';
import { systemRandomness } from './system/randomness.js';

/** How long requests in flight are waited for when told to stop (ms). */
const drainMs = 10_000;

/** The file of the data folder that holds the machine's limits. */
const limitsFile = (dataFolder: string): string => join(dataFolder, 'limits');

/** Makes what the workers need in the data folder, which is locked. @throws Error when it cannot. */
function prepareFolder(dataFolder: string): void {
  native.createLimits(limitsFile(dataFolder), systemRandomness(16));
}

function buildAccess(configuration: Configuration, tiers: Tiers, log: Log): Access {
  return createAccess({
    native: new native.Access(limitsFile(configuration.dataFolder), keyTiers(tiers)),
    hashKey: native.hashKey,
    tiers,
    routeLimits: { leads: configuration.leadsPerMinute },
    trustedProxies: configuration.trustedProxies,
    // No operation of this version issues a key, so that there is none to find.
    keys: { find: () => Promise.resolve(undefined) },
    clock: systemClock,
    log,
  });
}

/** Every route's handler, bound to its parts. */
function handlers({ dataFolder, leadsPerMinute }: Configuration, tiers: Tiers): Handlers {
  const checks = [dataFolderCheck(dataFolder), nativeModuleCheck(native.version, SERVICE_VERSION)];
  return {
    fuse: fuseHandler({ ...native, answerExactlyOffLoop: exactOffLoop() }),
    banner,
    health,
    ready: ready(checks),
    version: version({ native: native.version(), unicode: native.unicodeVersion() }),
    privacy: privacy([]),
    limits: limits(rateLimits(tiers, { leads: leadsPerMinute })),
    openapi: openapi(),
    ...docsHandlers(),
  };
}

/** How long a store may take with what was charged last, before the process ends without it (ms). */
const lastFlushMs = 3_000;

/** The server of one worker; when it has drained, what was charged last is handed over. */
function buildServer(configuration: Configuration, tiers: Tiers): Server {
  const log = createLog(configuration.logLevel);
  const access = buildAccess(configuration, tiers, log);
  const server = createServer({
    routes: servedRoutes(handlers(configuration, tiers), { checkJson: native.checkJson, access }),
    clock: systemClock,
    log,
    randomness: systemRandomness,
  });
  return {
    listen: server.listen,
    drain: async (timeoutMs) => {
      const drained = await server.drain(timeoutMs);
      await Promise.race([access.close(), systemClock.sleep(lastFlushMs)]);
      return drained;
    },
    metrics: () => [...server.metrics(), ...access.metrics()],
  };
}

/** Runs the parent of the workers, which are this same program. */
function serveInProcesses(order: ServeOrder): Promise<ServeOutcome> {
  return runParent({
    ...order,
    program: fileURLToPath(import.meta.url),
    programArguments: [workerCommand],
    clock: systemClock,
    lockFile: native.lockFile,
    prepareFolder,
    drainMs,
  });
}

/** Runs `fusegate` with the arguments after the command's name. */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(args, {
    version: SERVICE_VERSION,
    serve: () =>
      serve({
        environment: process.env,
        machine: { platform: process.platform, cores: availableParallelism() },
        version: SERVICE_VERSION,
        readTiers: (configuration) => readTiers(configuration.tiersFile, configuration),
        run: serveInProcesses,
        print: (line) => console.log(line),
        printError: (line) => console.error(line),
      }),
    work: () => runWorker(buildServer),
  });
}

// A parent starts its workers by this file; `fusegate` calls main itself.
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
