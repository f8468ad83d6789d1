/** Composition root: builds the parts, binds the handlers to them and passes both to a command. */
import { spawn } from 'node:child_process';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { availableParallelism, hostname, tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { limitsGiven } from './access/mode.js';
import { readTiers } from './access/tiers.js';
import { addressSentence } from './checkout/onchain/freshAddresses.js';
import { addAudit, type AuditCommandParts } from './commands/audit.js';
import { addBackup } from './commands/backup.js';
import { addClick } from './commands/click.js';
import { addCorpora } from './commands/corpora.js';
import { addDoctor } from './commands/doctor.js';
import { addExports } from './commands/export.js';
import type { Called, Operator } from './commands/changes.js';
import { addForget } from './commands/forget.js';
import { addFuse, type FuseCommandParts } from './commands/fuse.js';
import { addHistory } from './commands/history.js';
import { addKeys, type KeysParts } from './commands/keys.js';
import { addModels } from './commands/models.js';
import { notices, type Notices } from './commands/notices.js';
import { addNormalize, type NormalizeCommandParts } from './commands/normalize.js';
import { addOptout } from './commands/optout.js';
import { addOrders } from './commands/orders.js';
import { runProgram, type Commands, type ServeOptions } from './commands/program.js';
import { addLog } from './commands/log.js';
import type { WalletPlace } from './commands/logStamp.js';
import { addProfiles } from './commands/profiles.js';
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
import { addWebhooks } from './commands/webhooks.js';
import { MappedFiles } from './compose/folder.js';
import {
  notInstalled,
  wrongModelName,
  shippedModels,
  findModels,
  unlistedModels,
  openSession,
  tryModel,
} from './compose/models.js';
import { getBytes, getPage } from './compose/outbound.js';
import { openExistingStore } from './compose/stores.js';
import { webhookSender } from './compose/webhooks.js';
import type { Configuration } from './configuration.js';
import { exploringMethod, exploringModel } from './explore/embedding.js';
import { descriptorLimit } from './http/connections.js';
import { loadUws } from './http/uws.js';
import { SERVICE_VERSION } from './info/version.js';
import { isImmediate } from './models/embedder.js';
import { defaultModel } from './models/modelFolder.js';
import { native } from './native/addon.js';
import { takeDataFolder } from './processes/folder.js';
import { runParent } from './processes/parent.js';
import { lowerPriority } from './processes/priority.js';
import { parseStoreUrl } from './store/open.js';
import type { Store } from './store/store.js';
import { systemClock, type Clock } from './system/clock.js';
import { createLog } from './system/log.js';
import { systemRandomness } from './system/randomness.js';
import { settingsFileVariable, usualSettingsFile } from './system/settingsFile.js';

/** Time that requests in flight get to finish after a stop signal (ms). */
const drainMs = 10_000;

/** Time that requests in flight get to finish when another process takes over (ms). */
const leaveMs = 300_000;

/** Time that the doctor waits for the server's answer (ms). */
const askMs = 5_000;

/** Errors of the key that addresses are derived from. Its arithmetic is loaded only if a key is set. */
async function wrongAccount({ btcXpub, btcNetwork }: Partial<Configuration>): Promise<string[]> {
  if (btcXpub === undefined || btcXpub === null || btcNetwork === undefined) return [];
  const { readAccount } = await import('./checkout/onchain/addresses.js');
  const read = readAccount(btcXpub, btcNetwork);
  return 'wrong' in read ? [`BTC_XPUB ${read.wrong}.`] : [];
}

/** The next address of the configured account in a store, as a sentence. */
async function addressSentenceOf(
  { btcXpub, btcNetwork }: Configuration,
  store: Store,
): Promise<string | undefined> {
  if (btcXpub === null) return undefined;
  const { readAccount } = await import('./checkout/onchain/addresses.js');
  const read = readAccount(btcXpub, btcNetwork);
  return 'account' in read ? addressSentence(store, read.account) : undefined;
}

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
    program: fileURLToPath(new URL('child.js', import.meta.url)),
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

/** The process that commands run in: its terminal, environment and clock. */
export interface Surroundings extends ReturnType<typeof terminal> {
  /** Changed by the command line, which may name a file of settings. */
  readonly environment: Record<string, string | undefined>;
  readonly clock: Clock;
  readonly progressTo: NodeJS.WriteStream;
  /** Lowers the priority of the process for good. */
  readonly lowerPriority: () => void;
}

function thisProcess(): Surroundings {
  return {
    ...terminal(),
    environment: { ...process.env },
    clock: systemClock,
    progressTo: process.stderr,
    lowerPriority,
  };
}

/** Names the file of settings: the command line's, the environment's, or the one in the working directory. */
function useSettingsFile({ environment }: Surroundings, named: string | undefined): void {
  const path = named ?? environment[settingsFileVariable] ?? '';
  if (path !== '') environment[settingsFileVariable] = resolve(path);
  else if (existsSync(usualSettingsFile)) environment[settingsFileVariable] = resolve(usualSettingsFile);
}

/** True if this process is root. */
const isRoot = process.geteuid?.() === 0;

/** Parts of the commands on the store. */
function commandParts(around: Surroundings): Surroundings & KeysParts & Pick<ServeParts, 'readTiers'> {
  return {
    ...around,
    machine: { platform: process.platform, cores: availableParallelism() },
    randomness: systemRandomness,
    openStore: openExistingStore,
    keyFormat: native,
    called: () => undefined,
    operator: operator(around.environment),
    readTiers: (configuration: TiersConfiguration) =>
      readTiers(configuration.tiersFile, limitsGiven(configuration.access.mode, configuration)),
  };
}

/** The caller of a command: the user of this process, and the one who called `sudo`. */
function operator({ SUDO_USER: caller = '' }: Readonly<Record<string, string | undefined>>): Operator {
  const user = userName();
  return { user: caller === '' || caller === user ? user : `${user} (${caller})`, host: hostname() };
}

/** Name of the user, or its number if it has no name, as in a container. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? '');
  }
}

/** Locks a data folder for a command that needs it exclusively. */
function lockFolder(folder: string): string | undefined {
  return takeDataFolder(folder, native.lockFile, () => undefined);
}

/** Dependencies of the doctor besides the store. */
const doctorParts = {
  isRoot,
  wrongAccount,
  addressSentence: addressSentenceOf,
  nativeVersion: native.version,
  nodeVersion: process.versions.node,
  loadServer: () => loadUws(),
  descriptors: () => descriptorLimit(),
  maxConnections: ({ maxConnections }: Configuration) => maxConnections,
  async get(url: string) {
    const response = await fetch(url, { signal: AbortSignal.timeout(askMs) });
    return { status: response.status, body: await response.text() };
  },
};

/** Dependencies of `fusegate fuse`. */
const fuseParts: Pick<FuseCommandParts, 'readBytes' | 'findModels' | 'openSession' | 'columns'> = {
  readBytes: (path) => (path === '-' ? buffer(process.stdin) : readFile(path)),
  findModels,
  openSession,
  columns: () => (process.stdout.isTTY ? process.stdout.columns : undefined),
};

/** Dependencies of `fusegate log` besides the store. */
const logParts = {
  tree: native,
  getBytes,
  lockFile: native.lockFile,
  openWallet: async (place: WalletPlace) => (await import('./compose/wallet.js')).openWallet(place),
  told: () =>
    new Promise<void>((done) => {
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => done());
    }),
};

/** Dependencies of `fusegate models` besides the store. */
const modelsParts = {
  ...{ shippedFolder: shippedModels, findModels, fetch, lockFile: native.lockFile, tryModel },
  evaluation: {
    ...{ ...native, openSession },
    writeFile: (path: string, text: string) => writeFileSync(path, text),
  },
};

/** Dependencies of `fusegate normalize`. */
function normalizeParts(cores: number): Omit<NormalizeCommandParts, 'printError'> {
  return {
    open: (path) =>
      path === undefined
        ? { bytes: process.stdin, size: undefined }
        : { size: fileSize(path), bytes: createReadStream(path) },
    progressTo: process.stderr.isTTY && !process.stdout.isTTY ? process.stderr : undefined,
    write: writeOutput,
    readFile: (path) => readFileSync(path, 'utf8'),
    normalizer: ({ mode, contextual, glosses }) => {
      const pairs = Object.entries(glosses).map(([surface, gloss]) => ({ surface, gloss }));
      const made = new native.TextNormalizer(mode, contextual, pairs);
      return (piece) => made.normalize(piece, cores);
    },
  };
}

/** Bytes of a file. @throws Error if it is not a file, or cannot be read */
function fileSize(path: string): number {
  const found = statSync(path);
  if (found.isDirectory()) throw new Error('it is a folder');
  return found.size;
}

/** Writes standard input to a file in a folder of its own. */
async function spoolInput(): Promise<{ readonly path: string; readonly remove: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const path = join(folder, 'input');
  try {
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }));
  } catch (error) {
    remove();
    throw error;
  }
  return { path, remove };
}

/** Opens a page in the browser of this machine's user. */
function openBrowser(url: string, warn: Notices['warn']): void {
  const opener = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] }[process.platform as string];
  const [command = 'xdg-open', ...args] = opener ?? [];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => warn(`No browser can be opened here. Open ${url} yourself.`));
  child.unref();
}

/** Dependencies of `fusegate audit`. */
function auditParts(cores: number): Omit<AuditCommandParts, 'printError'> {
  return {
    clock: systemClock,
    cores,
    openFile: (path, format, stack) => new native.FileAudit(path, format, stack),
    sizeOf: fileSize,
    spool: spoolInput,
    writeFile: (path, text) => writeFileSync(path, text),
    versions: () => ({ unicode: native.unicodeVersion(), cldr: native.cldrVersion() }),
    print: (line) => void writeOutput(`${line}\n`),
    progressTo: process.stderr,
  };
}

/** Versions of the program and of the software that it runs on. */
function versions(): string[] {
  return [
    `fusegate ${SERVICE_VERSION}`,
    `native module ${native.version()}`,
    `Unicode ${native.unicodeVersion()}, CLDR ${native.cldrVersion()}`,
    `Node ${process.versions.node} on ${process.platform}-${process.arch}`,
  ];
}

/** Serves as the command line says; it takes precedence over the environment. */
function serveAs(
  { port, open, takeOver }: ServeOptions,
  parts: ReturnType<typeof commandParts>,
): Promise<number> {
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

/** Every command, bound to its dependencies. */
export function commands(around = thisProcess()): Commands {
  let called: Called | undefined;
  const parts = { ...commandParts(around), called: () => called };
  const more = { version: SERVICE_VERSION, log: createLog('silent') };
  return {
    version: SERVICE_VERSION,
    versions,
    write: around.write,
    useSettingsFile: (path) => useSettingsFile(around, path),
    onCalled: (command) => (called = command),
    serve: (options) => serveAs(options, parts),
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
    add: [
      ...[addKeys, addExports, addOptout, addClick, addForget, addHistory].map(
        (add) => (program: Command) => add(program, parts),
      ),
      (program) => addBackup(program, { ...parts, ...more, lockFolder }),
      (program) => addOrders(program, parts),
      (program) => addDoctor(program, { ...parts, ...more, ...doctorParts, findModels, tryModel }),
      (program) => addModels(program, { ...parts, ...modelsParts }),
      (program) =>
        addCorpora(program, {
          ...parts,
          ...native,
          readBytes: fuseParts.readBytes,
          readLines,
          sizeOf: fileSize,
        }),
      (program) => addProfiles(program, { ...parts, ...native, readBytes: fuseParts.readBytes }),
      (program) => addReceipts(program, { ...parts, readLines, getPage }),
      (program) => addWebhooks(program, { ...parts, senderTo: webhookSender }),
      (program) => addLog(program, { ...parts, ...logParts }),
      (program) => addAudit(program, { ...parts, ...auditParts(parts.machine.cores) }),
      (program) => addFuse(program, { ...parts, ...native, ...fuseParts }),
      (program) => addNormalize(program, { ...parts, ...normalizeParts(parts.machine.cores) }),
    ],
  };
}

/** Runs `fusegate` with the arguments after the command's name. */
export async function main(args: readonly string[]): Promise<void> {
  // The reader of the output may end first, as `head` does. A server goes on without a reader.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (args[0] !== 'serve') process.exit();
  });
  await runProgram(args, commands());
}

// `fusegate` calls main itself.
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
