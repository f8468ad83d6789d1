/** Composition root: builds the parts, binds the handlers to them and hands both to a command. */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { refuseKey } from './access/keys.js';
import { runProgram, workerCommand } from './commands/program.js';
import { serve, type ServeOrder, type ServeOutcome } from './commands/serve.js';
import { storeCopy } from './commands/storeCopy.js';
import type { Handlers } from './contract/routes.js';
import { servedRoutes } from './http/pipeline.js';
import { createServer, type Server } from './http/server.js';
import { banner, health } from './info/banner.js';
import { limits } from './info/limits.js';
import { openapi } from './info/openapi.js';
import { privacy } from './info/privacy.js';
import { dataFolderCheck, nativeModuleCheck, ready } from './info/ready.js';
import { SERVICE_VERSION, version } from './info/version.js';
import { native } from './native/addon.js';
import { docsHandlers } from './pages/docs.js';
import { lockDataFolder } from './processes/folder.js';
import { runParent } from './processes/parent.js';
import { runWorker } from './processes/worker.js';
import { fuseHandler } from './search/fuse.js';
import { exactOffLoop } from './search/offLoop.js';
import { systemClock } from './system/clock.js';
import type { Configuration } from './system/configuration.js';
import { createLog } from './system/log.js';
import { systemRandomness } from './system/randomness.js';

/** How long requests in flight are waited for when told to stop (ms). */
const drainMs = 10_000;

/** Every route's handler, bound to its parts. */
function handlers({ dataFolder }: Configuration): Handlers {
  const checks = [dataFolderCheck(dataFolder), nativeModuleCheck(native.version, SERVICE_VERSION)];
  return {
    fuse: fuseHandler({ ...native, answerExactlyOffLoop: exactOffLoop() }),
    banner,
    health,
    ready: ready(checks),
    version: version({ native: native.version(), unicode: native.unicodeVersion() }),
    privacy: privacy([]),
    limits: limits([]),
    openapi: openapi(),
    ...docsHandlers(),
  };
}

function buildServer(configuration: Configuration): Server {
  return createServer({
    routes: servedRoutes(handlers(configuration), { checkJson: native.checkJson, refuseKey }),
    clock: systemClock,
    log: createLog(configuration.logLevel),
    randomness: systemRandomness,
  });
}

/** Runs the parent of the workers, which are this same program. */
function serveInProcesses(order: ServeOrder): Promise<ServeOutcome> {
  return runParent({
    ...order,
    program: fileURLToPath(import.meta.url),
    programArguments: [workerCommand],
    clock: systemClock,
    lockFile: native.lockFile,
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
        run: serveInProcesses,
        print: (line) => console.log(line),
        printError: (line) => console.error(line),
      }),
    storeCopy: (from, to) =>
      storeCopy(from, to, {
        clock: systemClock,
        randomness: systemRandomness,
        log: createLog('warn'),
        lockFolder: (folder) => lockDataFolder(folder, native.lockFile),
        progressTo: process.stderr,
        print: (line) => console.log(line),
        printError: (line) => console.error(line),
      }),
    work: () => runWorker(buildServer),
  });
}

// A parent starts its workers by this file; `fusegate` calls main itself.
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
