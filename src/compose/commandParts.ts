/** Dependencies of the commands: the terminal, files, the store, the native module. */
import { createReadStream, createWriteStream, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { availableParallelism, hostname, tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { limitsGiven } from '../access/mode.js';
import { readTiers } from '../access/tiers.js';
import { addressSentence } from '../checkout/onchain/freshAddresses.js';
import type { AuditCommandParts } from '../commands/audit.js';
import type { Operator } from '../commands/changes.js';
import type { FuseCommandParts } from '../commands/fuse.js';
import type { KeysParts } from '../commands/keys.js';
import type { WalletPlace } from '../commands/logStamp.js';
import type { NormalizeCommandParts } from '../commands/normalize.js';
import type { ServeParts, TiersConfiguration } from '../commands/serve.js';
import { terminal, writeOutput } from '../commands/terminal.js';
import type { Configuration } from '../configuration.js';
import { descriptorLimit } from '../http/connections.js';
import { loadUws } from '../http/uws.js';
import { SERVICE_VERSION } from '../info/version.js';
import { native } from '../native/addon.js';
import { takeDataFolder } from '../processes/folder.js';
import { lowerPriority } from '../processes/priority.js';
import type { Store } from '../store/store.js';
import { systemClock, type Clock } from '../system/clock.js';
import { systemRandomness } from '../system/randomness.js';
import { settingsFileVariable, usualSettingsFile } from '../system/settingsFile.js';
import { findModels, openSession, shippedModels, tryModel } from './models.js';
import { getBytes } from './outbound.js';
import { openExistingStore } from './stores.js';

/** Time that the doctor waits for the server's answer (ms). */
const askMs = 5_000;

/** Errors of the key that addresses are derived from. Its arithmetic is loaded only if a key is set. */
export async function wrongAccount({ btcXpub, btcNetwork }: Partial<Configuration>): Promise<string[]> {
  if (btcXpub === undefined || btcXpub === null || btcNetwork === undefined) return [];
  const { readAccount } = await import('../checkout/onchain/addresses.js');
  const read = readAccount(btcXpub, btcNetwork);
  return 'wrong' in read ? [`BTC_XPUB ${read.wrong}.`] : [];
}

/** The next address of the configured account in a store, as a sentence. */
async function addressSentenceOf(
  { btcXpub, btcNetwork }: Configuration,
  store: Store,
): Promise<string | undefined> {
  if (btcXpub === null) return undefined;
  const { readAccount } = await import('../checkout/onchain/addresses.js');
  const read = readAccount(btcXpub, btcNetwork);
  return 'account' in read ? addressSentence(store, read.account) : undefined;
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

export function thisProcess(): Surroundings {
  return {
    ...terminal(),
    environment: { ...process.env },
    clock: systemClock,
    progressTo: process.stderr,
    lowerPriority,
  };
}

/** Names the file of settings: the command line's, the environment's, or the one in the working directory. */
export function useSettingsFile({ environment }: Surroundings, named: string | undefined): void {
  const path = named ?? environment[settingsFileVariable] ?? '';
  if (path !== '') environment[settingsFileVariable] = resolve(path);
  else if (existsSync(usualSettingsFile)) environment[settingsFileVariable] = resolve(usualSettingsFile);
}

/** True if this process is root. */
export const isRoot = process.geteuid?.() === 0;

/** Parts of the commands on the store. */
export type StoreCommandParts = Surroundings & KeysParts & Pick<ServeParts, 'readTiers'>;

/** Binds the parts of the commands on the store to a process. */
export function commandParts(around: Surroundings): StoreCommandParts {
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
export function lockFolder(folder: string): string | undefined {
  return takeDataFolder(folder, native.lockFile, () => undefined);
}

/** Dependencies of the doctor besides the store. */
export const doctorParts = {
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
export const fuseParts: Pick<FuseCommandParts, 'readBytes' | 'findModels' | 'openSession' | 'columns'> = {
  readBytes: (path) => (path === '-' ? buffer(process.stdin) : readFile(path)),
  findModels,
  openSession,
  columns: () => (process.stdout.isTTY ? process.stdout.columns : undefined),
};

/** Dependencies of `fusegate log` besides the store. */
export const logParts = {
  tree: native,
  getBytes,
  lockFile: native.lockFile,
  openWallet: async (place: WalletPlace) => (await import('./wallet.js')).openWallet(place),
  told: () =>
    new Promise<void>((done) => {
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => done());
    }),
};

/** Dependencies of `fusegate models` besides the store. */
export const modelsParts = {
  ...{ shippedFolder: shippedModels, findModels, fetch, lockFile: native.lockFile, tryModel },
  evaluation: {
    ...{ ...native, openSession },
    writeFile: (path: string, text: string) => writeFileSync(path, text),
  },
};

/** Dependencies of `fusegate normalize`. */
export function normalizeParts(cores: number): Omit<NormalizeCommandParts, 'printError'> {
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
export function fileSize(path: string): number {
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

/** Dependencies of `fusegate audit`. */
export function auditParts(cores: number): Omit<AuditCommandParts, 'printError'> {
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
export function versions(): string[] {
  return [
    `fusegate ${SERVICE_VERSION}`,
    `native module ${native.version()}`,
    `Unicode ${native.unicodeVersion()}, CLDR ${native.cldrVersion()}`,
    `Node ${process.versions.node} on ${process.platform}-${process.arch}`,
  ];
}
