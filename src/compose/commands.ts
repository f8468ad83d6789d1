/**
 * The commands of `fusegate`, each bound to its parts. A call loads the command that it names, and not the
 * others: loading all of them takes longer than most commands do.
 */
import type { Command } from 'commander';
import type { Called } from '../commands/changes.js';
import type { Commands } from '../commands/program.js';
import { readLines } from '../commands/terminal.js';
import { SERVICE_VERSION } from '../info/version.js';
import { native } from '../native/addon.js';
import { systemClock } from '../system/clock.js';
import { createLog } from '../system/log.js';
import { systemRandomness } from '../system/randomness.js';
import {
  commandParts,
  lockFolder,
  logParts,
  thisProcess,
  useSettingsFile,
  versions,
  type StoreCommandParts,
} from './commandParts.js';
import { getBytes, getPage } from './outbound.js';

/** Adds commands, whose code is loaded, to the program. */
type Add = (program: Command, parts: StoreCommandParts) => void;

/** Commands that one function adds, by their names, and how they are loaded. */
interface Added {
  readonly names: readonly string[];
  readonly load: () => Promise<Add>;
}

const quiet = { version: SERVICE_VERSION, log: createLog('silent') };

/** The commands besides those of the program itself. */
const added: readonly Added[] = [
  { names: ['keys'], load: async () => (await import('../commands/keys.js')).addKeys },
  {
    names: ['leads', 'interests', 'optouts', 'clicks'],
    load: async () => (await import('../commands/export.js')).addExports,
  },
  { names: ['optout'], load: async () => (await import('../commands/optout.js')).addOptout },
  { names: ['click'], load: async () => (await import('../commands/click.js')).addClick },
  { names: ['forget'], load: async () => (await import('../commands/forget.js')).addForget },
  { names: ['history'], load: async () => (await import('../commands/history.js')).addHistory },
  {
    names: ['backup', 'restore'],
    async load() {
      const { addBackup } = await import('../commands/backup.js');
      return (program, parts) => addBackup(program, { ...parts, ...quiet, lockFolder, getPage });
    },
  },
  { names: ['orders'], load: async () => (await import('../commands/orders.js')).addOrders },
  {
    names: ['doctor'],
    async load() {
      const { addDoctor } = await import('../commands/doctor.js');
      const { doctorParts } = await import('./doctorParts.js');
      return (program, parts) => addDoctor(program, { ...parts, ...quiet, ...doctorParts });
    },
  },
  {
    names: ['models', 'tune', 'calibrate'],
    async load() {
      const { addModels } = await import('../commands/models.js');
      const { modelsParts } = await import('./models.js');
      return (program, parts) => addModels(program, { ...parts, ...modelsParts });
    },
  },
  {
    names: ['corpora'],
    async load() {
      const { addCorpora } = await import('../commands/corpora.js');
      const { fileSize: sizeOf, readBytes } = await import('./fileParts.js');
      return (program, parts) => addCorpora(program, { ...parts, ...native, readBytes, readLines, sizeOf });
    },
  },
  {
    names: ['profiles'],
    async load() {
      const { addProfiles } = await import('../commands/profiles.js');
      const { readBytes } = await import('./fileParts.js');
      return (program, parts) => addProfiles(program, { ...parts, ...native, readBytes });
    },
  },
  {
    names: ['receipts', 'fragments'],
    async load() {
      const { addReceipts } = await import('../commands/receipts.js');
      return (program, parts) => addReceipts(program, { ...parts, readLines, getBytes });
    },
  },
  {
    names: ['webhooks'],
    async load() {
      const { addWebhooks } = await import('../commands/webhooks.js');
      const { webhookSender: senderTo } = await import('./webhooks.js');
      return (program, parts) => addWebhooks(program, { ...parts, senderTo });
    },
  },
  {
    names: ['log'],
    async load() {
      const { addLog } = await import('../commands/log.js');
      return (program, parts) => addLog(program, { ...parts, ...logParts });
    },
  },
  {
    names: ['audit'],
    async load() {
      const { addAudit } = await import('../commands/audit.js');
      const { auditParts } = await import('./fileParts.js');
      return (program, parts) => addAudit(program, { ...parts, ...auditParts(parts.machine.cores) });
    },
  },
  {
    names: ['fuse'],
    async load() {
      const { addFuse } = await import('../commands/fuse.js');
      const { columns, readBytes } = await import('./fileParts.js');
      const { findModels, openSession } = await import('./models.js');
      const own = { columns, readBytes, findModels, openSession };
      return (program, parts) => addFuse(program, { ...parts, ...native, ...own });
    },
  },
  {
    names: ['normalize'],
    async load() {
      const { addNormalize } = await import('../commands/normalize.js');
      const { normalizeParts } = await import('./fileParts.js');
      return (program, parts) => addNormalize(program, { ...parts, ...normalizeParts(parts.machine.cores) });
    },
  },
];

/** Commands of the program itself that need none of the others. */
const alone: readonly string[] = ['serve', 'store', 'version'];

/** The commands to load for a call: those that its first word names; all of them for help and suggestions. */
function called(first: string | undefined): readonly Added[] {
  if (first === undefined) return added;
  if (alone.includes(first)) return [];
  const named = added.filter(({ names }) => names.includes(first));
  return named.length === 0 ? added : named;
}

/** The commands that a call may run, bound to their dependencies. `first`: its first word, if it has one. */
export async function commands(around = thisProcess(), first?: string): Promise<Commands> {
  let calledAs: Called | undefined;
  const parts = { ...commandParts(around), called: () => calledAs };
  const adds = await Promise.all(called(first).map(({ load }) => load()));
  return {
    version: SERVICE_VERSION,
    versions,
    write: around.write,
    useSettingsFile: (path) => useSettingsFile(around, path),
    onCalled: (command) => (calledAs = command),
    serve: async (options) => (await import('./serving.js')).serveAs(options, parts),
    storeCopy: async (from, to) =>
      (await import('../commands/storeCopy.js')).storeCopy(from, to, {
        clock: systemClock,
        randomness: systemRandomness,
        log: createLog('warn'),
        lockFolder,
        progressTo: process.stderr,
        print: (line) => console.log(line),
        printError: (line) => console.error(line),
      }),
    add: adds.map((add) => (program) => add(program, parts)),
  };
}
