/** Composition root: builds the parts, binds the handlers to them and hands both to a command. */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { runProgram, workerCommand } from './commands/program.js';
import { serve } from './commands/serve.js';
import { routes } from './contract/routes.js';
import { servedRoute } from './http/pipeline.js';
import { createServer, type Server } from './http/server.js';
import type { ServedRoute } from './http/routes.js';
import { native } from './native/addon.js';
import { runWorker } from './processes/worker.js';
import { fuseHandler } from './search/fuse.js';
import { systemClock } from './system/clock.js';
import type { Configuration } from './system/configuration.js';
import { createLog } from './system/log.js';
import { systemRandomness } from './system/randomness.js';

/** Every route with its handler bound to its parts. */
function handledRoutes(): ServedRoute[] {
  const { fuse, fuseAsync, checkJson } = native;
  return [servedRoute({ ...routes.fuse, id: 'fuse' }, fuseHandler({ fuse, fuseAsync, checkJson }), checkJson)];
}

function buildServer(configuration: Configuration): Server {
  return createServer({
    routes: handledRoutes(),
    clock: systemClock,
    log: createLog(configuration.logLevel),
    randomness: systemRandomness,
  });
}

/** Runs `fusegate` with the arguments after the command's name. */
export async function main(args: readonly string[]): Promise<void> {
  const version = native.version();
  await runProgram(args, {
    version,
    serve: () =>
      serve({
        environment: process.env,
        machine: { platform: process.platform, cores: availableParallelism() },
        clock: systemClock,
        version,
        lockFile: native.lockFile,
        program: fileURLToPath(import.meta.url),
        programArguments: [workerCommand],
        print: (line) => console.log(line),
        printError: (line) => console.error(line),
      }),
    work: () => runWorker(buildServer),
  });
}

// A parent starts its workers by this file; `fusegate` calls main itself.
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
