/** Runs `fusegate serve`: the parent of the workers and of the embedder, with its files and models. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { notices, type Notices } from '../commands/notices.js';
import type { ServeOptions } from '../commands/program.js';
import { serve, type ServeOrder, type ServeOutcome } from '../commands/serve.js';
import type { Configuration } from '../configuration.js';
import { exploringMethod, exploringModel } from '../explore/embedding.js';
import { SERVICE_VERSION } from '../info/version.js';
import { isImmediate } from '../models/embedder.js';
import { defaultModel } from '../models/modelFolder.js';
import { native } from '../native/addon.js';
import { runParent } from '../processes/parent.js';
import { parseStoreUrl } from '../store/open.js';
import { systemClock } from '../system/clock.js';
import { isRoot, wrongAccount, type StoreCommandParts } from './commandParts.js';
import { MappedFiles } from './folder.js';
import { findModels, notInstalled, unlistedModels, wrongModelName } from './models.js';

/** Time that requests in flight get to finish after a stop signal (ms). */
const drainMs = 10_000;

/** Time that requests in flight get to finish when another process takes over (ms). */
const leaveMs = 300_000;

/** Why a server with missing files does not start. */
const exploringMissing =
  `The model ${exploringModel}, which comes with Fusegate and exploring fragments needs, is not whole. ` +
  'Install Fusegate again.';

/** Name of a store, for people. */
function storeNameOf({ storeUrl }: Configuration): string {
  const parsed = parseStoreUrl(storeUrl);
  return 'wrong' in parsed ? 'no store' : parsed.location.name;
}

/** Runs the parent of the workers and of the embedder (`child.ts`). */
async function serveInProcesses(order: ServeOrder, takeOver: boolean): Promise<ServeOutcome> {
  const { configuration, log } = order;
  const found = await findModels(configuration).catch((error: unknown) =>
    unlistedModels(error, configuration),
  );
  if ('reason' in found) return { kind: 'refused', reason: found.reason };
  const { models, refused } = found;
  for (const { id, wrong } of refused) log.warn({ id, reason: wrong }, 'model is not used');
  const usual = defaultModel(models, configuration.embedModel);
  if (usual === undefined && configuration.embedModel !== null) {
    const ids = models.map(({ id }) => id);
    return { kind: 'refused', reason: notInstalled(configuration.embedModel, ids) };
  }
  const method = exploringMethod(models);
  if (method === undefined) return { kind: 'refused', reason: exploringMissing };
  const files = new MappedFiles({ configuration, models, method, log });
  return runParent({
    ...order,
    models,
    preload:
      configuration.embedPreload &&
      configuration.serve.includes('fuse') &&
      usual !== undefined &&
      !isImmediate(usual)
        ? usual
        : undefined,
    program: fileURLToPath(new URL('../child.js', import.meta.url)),
    programArguments: ['worker'],
    embedderArguments: ['embedder'],
    clock: systemClock,
    lockFile: native.lockFile,
    takeOver,
    storeName: storeNameOf(configuration),
    prepareFolder: (_, isShared) => files.prepare(isShared),
    repairFolder: (thorough) => files.repair(thorough),
    versions: { version: SERVICE_VERSION, native: native.version(), node: process.versions.node },
    drainMs,
    leaveMs,
  });
}

/** Opens a page in the browser of this machine's user. */
function openBrowser(url: string, warn: Notices['warn']): void {
  const opener = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] }[process.platform as string];
  const [command = 'xdg-open', ...args] = opener ?? [];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => warn(`No browser can be opened here. Open ${url} yourself.`));
  child.unref();
}

/** Serves as the command line says; it takes precedence over the environment. */
export function serveAs({ port, open, takeOver }: ServeOptions, parts: StoreCommandParts): Promise<number> {
  if (port !== undefined) parts.environment['PORT'] = port;
  return serve({
    environment: parts.environment,
    machine: parts.machine,
    isRoot,
    version: SERVICE_VERSION,
    readTiers: parts.readTiers,
    wrongSettings: async (partial) => [...(await wrongAccount(partial)), ...(await wrongModelName(partial))],
    run: (order) => serveInProcesses(order, takeOver),
    notices,
    ...(open ? { onReady: openBrowser } : {}),
  });
}
