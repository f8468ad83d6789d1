/** Composition root: builds the parts, binds the handlers to them and hands both to a command. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { readTiers } from './access/tiers.js';
import { readAccount } from './checkout/addresses.js';
import { addressSentence } from './checkout/freshAddresses.js';
import { addAudit, type AuditCommandParts } from './commands/audit.js';
import { addBackup } from './commands/backup.js';
import { addClick } from './commands/click.js';
import { addDoctor } from './commands/doctor.js';
import { addExports } from './commands/export.js';
import { addForget } from './commands/forget.js';
import { addKeys, type KeysParts } from './commands/keys.js';
import { addModels } from './commands/models.js';
import { addNormalize, type NormalizeCommandParts } from './commands/normalize.js';
import { addOptout } from './commands/optout.js';
import { addOrders } from './commands/orders.js';
import { embedderCommand, runProgram, workerCommand } from './commands/program.js';
import { addReceipts } from './commands/receipts.js';
import {
  serve,
  type ServeOrder,
  type ServeOutcome,
  type ServeParts,
  type TiersConfiguration,
} from './commands/serve.js';
import { storeCopy } from './commands/storeCopy.js';
import { readLines, terminal, writeOutput } from './commands/terminal.js';
import { prepareFolder } from './compose/folder.js';
import {
  notInstalled,
  wrongModelName,
  shippedModels,
  findModels,
  unlistedModels,
  openSession,
  tryModel,
} from './compose/models.js';
import { getPage, buildServer } from './compose/server.js';
import { openExistingStore } from './compose/stores.js';
import type { Configuration } from './configuration.js';
import { exploringMethod, exploringModel } from './door/embedding.js';
import { loadHnsw } from './door/nearestIndex.js';
import { SERVICE_VERSION } from './info/version.js';
import { defaultModel } from './models/modelFolder.js';
import { native } from './native/addon.js';
import { runEmbedder } from './processes/embedderProcess.js';
import { takeDataFolder } from './processes/folder.js';
import { runParent } from './processes/parent.js';
import { runWorker } from './processes/worker.js';
import type { Store } from './store/store.js';
import { systemClock } from './system/clock.js';
import { createLog } from './system/log.js';
import { systemRandomness } from './system/randomness.js';

/** How long requests in flight are waited for when told to stop (ms). */
const drainMs = 10_000;

/** How long the doctor waits for the server's answer (ms). */
const askMs = 5_000;

/** What is wrong with the key that addresses are derived from. */
function wrongAccount({ btcXpub, btcNetwork }: Partial<Configuration>): string[] {
  if (btcXpub === undefined || btcXpub === null || btcNetwork === undefined) return [];
  const read = readAccount(btcXpub, btcNetwork);
  return 'wrong' in read ? [`BTC_XPUB ${read.wrong}.`] : [];
}

/** Where the addresses of the configured account stand in a store. */
function addressSentenceOf(
  { btcXpub, btcNetwork }: Configuration,
  store: Store,
): Promise<string> | undefined {
  const read = btcXpub === null ? undefined : readAccount(btcXpub, btcNetwork);
  return read !== undefined && 'account' in read ? addressSentence(store, read.account) : undefined;
}

/** Why a server does not start whose files are not whole. */
const exploringMissing =
  `The model ${exploringModel}, which comes with Fusegate and exploring fragments needs, is not whole. ` +
  'Install Fusegate again.';

/** Runs the parent of the workers and of the embedder, which are this same program. */
async function serveInProcesses(order: ServeOrder): Promise<ServeOutcome> {
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
  return runParent({
    ...order,
    models,
    preload: configuration.embedPreload && usual?.kind === 'onnx' ? usual : undefined,
    program: fileURLToPath(import.meta.url),
    programArguments: [workerCommand],
    embedderArguments: [embedderCommand],
    clock: systemClock,
    lockFile: native.lockFile,
    prepareFolder: () => prepareFolder({ configuration, models, method, log }),
    drainMs,
  });
}

/** What the commands on the store are made of. */
function commandParts(): KeysParts & Pick<ServeParts, 'readTiers'> {
  return {
    ...terminal(),
    environment: process.env,
    machine: { platform: process.platform, cores: availableParallelism() },
    clock: systemClock,
    randomness: systemRandomness,
    openStore: openExistingStore,
    keyFormat: native,
    readTiers: (configuration: TiersConfiguration) => readTiers(configuration.tiersFile, configuration),
  };
}

/** Locks a data folder for a command that needs it alone. */
function lockFolder(folder: string): string | undefined {
  return takeDataFolder(folder, native.lockFile, () => undefined);
}

/** What the doctor looks at besides the store. */
const doctorParts = {
  wrongAccount,
  addressSentence: addressSentenceOf,
  nativeVersion: native.version,
  nodeVersion: process.versions.node,
  hasIndex: () => loadHnsw() !== undefined,
  async get(url: string) {
    const response = await fetch(url, { signal: AbortSignal.timeout(askMs) });
    return { status: response.status, body: await response.text() };
  },
};

/** What `fusegate normalize` reads and does it with. */
function normalizeParts(cores: number): Omit<NormalizeCommandParts, 'printError'> {
  return {
    input: process.stdin,
    write: writeOutput,
    readFile: (path) => readFileSync(path, 'utf8'),
    normalizer: ({ mode, contextual, glosses }) => {
      const pairs = Object.entries(glosses).map(([surface, gloss]) => ({ surface, gloss }));
      const made = new native.TextNormalizer(mode, contextual, pairs);
      return (piece) => made.normalize(piece, cores);
    },
  };
}

/** Bytes of a file. @throws Error where it is none, or cannot be read */
function fileSize(path: string): number {
  const found = statSync(path);
  if (found.isDirectory()) throw new Error('it is a folder');
  return found.size;
}

/** What `fusegate audit` reads and does it with. */
function auditParts(cores: number): Omit<AuditCommandParts, 'printError'> {
  return {
    clock: systemClock,
    cores,
    openFile: (path, format, stack) => new native.FileAudit(path, format, stack),
    sizeOf: fileSize,
    writeFile: (path, text) => writeFileSync(path, text),
    versions: () => ({ unicode: native.unicodeVersion(), cldr: native.cldrVersion() }),
    print: (line) => void writeOutput(`${line}\n`),
    progressTo: process.stderr,
  };
}

/** Runs `fusegate` with the arguments after the command's name. */
export async function main(args: readonly string[]): Promise<void> {
  const parts = commandParts();
  const more = { version: SERVICE_VERSION, log: createLog('silent') };
  await runProgram(args, {
    version: SERVICE_VERSION,
    serve: () =>
      serve({
        environment: process.env,
        machine: parts.machine,
        version: SERVICE_VERSION,
        readTiers: parts.readTiers,
        wrongSettings: async (partial) => [...wrongAccount(partial), ...(await wrongModelName(partial))],
        run: serveInProcesses,
        print: (line) => console.log(line),
        printError: (line) => console.error(line),
      }),
    storeCopy: (from, to) =>
      storeCopy(from, to, {
        clock: systemClock,
        randomness: systemRandomness,
        log: createLog('warn'),
        lockFolder,
        progressTo: process.stderr,
        print: (line) => console.log(line),
        printError: (line) => console.error(line),
      }),
    work: () => runWorker(buildServer, native.readBytesPerToken()),
    embed: () => runEmbedder({ openSession, clock: systemClock }),
    add: [
      ...[addKeys, addExports, addOptout, addClick, addForget].map(
        (add) => (program: Command) => add(program, parts),
      ),
      (program) => addBackup(program, { ...parts, ...more, lockFolder, progressTo: process.stderr }),
      (program) => addOrders(program, { ...parts, progressTo: process.stderr }),
      (program) => addDoctor(program, { ...parts, ...more, ...doctorParts, findModels, tryModel }),
      (program) =>
        addModels(program, {
          ...parts,
          shippedFolder: shippedModels,
          findModels,
          fetch,
          lockFile: native.lockFile,
          tryModel,
          evaluation: { ...native, openSession, writeFile: (path, text) => writeFileSync(path, text) },
          progressTo: process.stderr,
        }),
      (program) => addReceipts(program, { ...parts, readLines, getPage }),
      (program) => addAudit(program, { ...parts, ...auditParts(parts.machine.cores) }),
      (program) => addNormalize(program, { ...parts, ...normalizeParts(parts.machine.cores) }),
    ],
  });
}

// A parent starts its workers by this file; `fusegate` calls main itself.
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
