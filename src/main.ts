/** Composition root: binds every command to its parts, and runs the one that is called. */
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { addAudit } from './commands/audit.js';
import { addBackup } from './commands/backup.js';
import type { Called } from './commands/changes.js';
import { addClick } from './commands/click.js';
import { addCorpora } from './commands/corpora.js';
import { addDoctor } from './commands/doctor.js';
import { addExports } from './commands/export.js';
import { addForget } from './commands/forget.js';
import { addFuse } from './commands/fuse.js';
import { addHistory } from './commands/history.js';
import { addKeys } from './commands/keys.js';
import { addLog } from './commands/log.js';
import { addModels } from './commands/models.js';
import { addNormalize } from './commands/normalize.js';
import { addOptout } from './commands/optout.js';
import { addOrders } from './commands/orders.js';
import { addProfiles } from './commands/profiles.js';
import { runProgram, type Commands } from './commands/program.js';
import { addReceipts } from './commands/receipts.js';
import { storeCopy } from './commands/storeCopy.js';
import { readLines } from './commands/terminal.js';
import { addWebhooks } from './commands/webhooks.js';
import {
  auditParts,
  commandParts,
  doctorParts,
  fileSize,
  fuseParts,
  lockFolder,
  logParts,
  modelsParts,
  normalizeParts,
  thisProcess,
  useSettingsFile,
  versions,
} from './compose/commandParts.js';
import { findModels, tryModel } from './compose/models.js';
import { getPage } from './compose/outbound.js';
import { serveAs } from './compose/serving.js';
import { webhookSender } from './compose/webhooks.js';
import { SERVICE_VERSION } from './info/version.js';
import { native } from './native/addon.js';
import { systemClock } from './system/clock.js';
import { createLog } from './system/log.js';
import { systemRandomness } from './system/randomness.js';

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
