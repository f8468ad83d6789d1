/** Dependencies of the commands: the terminal, the environment, the store, the native module. */
import { existsSync } from 'node:fs';
import { availableParallelism, hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { limitsGiven } from '../access/mode.js';
import { readTiers } from '../access/tiers.js';
import type { Operator } from '../commands/changes.js';
import type { KeysParts } from '../commands/keys.js';
import type { WalletPlace } from '../commands/logStamp.js';
import type { ServeParts, TiersConfiguration } from '../commands/serve.js';
import { terminal } from '../commands/terminal.js';
import type { Configuration } from '../configuration.js';
import { SERVICE_VERSION } from '../info/version.js';
import { native } from '../native/addon.js';
import { takeDataFolder } from '../processes/folder.js';
import { lowerPriority } from '../processes/priority.js';
import { systemClock, type Clock } from '../system/clock.js';
import { systemRandomness } from '../system/randomness.js';
import { settingsFileVariable, usualSettingsFile } from '../system/settingsFile.js';
import { getBytes } from './outbound.js';

/** Errors of the key that addresses are derived from. Its arithmetic is loaded only if a key is set. */
export async function wrongAccount({ btcXpub, btcNetwork }: Partial<Configuration>): Promise<string[]> {
  if (btcXpub === undefined || btcXpub === null || btcNetwork === undefined) return [];
  const { readAccount } = await import('../checkout/onchain/addresses.js');
  const read = readAccount(btcXpub, btcNetwork);
  return 'wrong' in read ? [`BTC_XPUB ${read.wrong}.`] : [];
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
    openStore: async (configuration) => (await import('./stores.js')).openExistingStore(configuration),
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

/** Dependencies of `fusegate log` besides the store. */
export const logParts = {
  tree: native,
  getBytes,
  lockFile: native.lockFile,
  lockFolder,
  openWallet: async (place: WalletPlace) => (await import('./wallet.js')).openWallet(place),
  told: () =>
    new Promise<void>((done) => {
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => done());
    }),
};

/** Versions of the program and of the software that it runs on. */
export function versions(): string[] {
  return [
    `fusegate ${SERVICE_VERSION}`,
    `native module ${native.version()}`,
    `Unicode ${native.unicodeVersion()}, CLDR ${native.cldrVersion()}`,
    `Node ${process.versions.node} on ${process.platform}-${process.arch}`,
  ];
}
