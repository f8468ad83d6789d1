/** The data folder, which one server at a time may use. */
import { join } from 'node:path';
import { reasonOf } from '../system/reason.js';
import { makeFolder } from '../system/sync.js';

/**
 * Takes an exclusive lock on the file at `path`, made when absent, and writes `text` into it. The lock lasts
 * until this process ends. `null` when it was taken, else the text of the present holder.
 * @throws Error when the file cannot be opened, locked or written.
 */
export type LockFile = (path: string, text: string) => string | null;

/**
 * Makes the data folder where it is missing, locks it for this process, by the file `lock`, which holds the
 * process id, and has it prepared. Returns undefined, or the sentence that says why it cannot be used.
 */
export function takeDataFolder(
  folder: string,
  lockFile: LockFile,
  prepare: (folder: string) => void,
): string | undefined {
  let holder: string | null;
  try {
    makeFolder(folder, 0o700);
    holder = lockFile(join(folder, 'lock'), String(process.pid));
    if (holder === null) prepare(folder);
  } catch (error) {
    const reason = reasonOf(error);
    return `The data folder ${folder} cannot be used (${reason}). Set STORE_URL to one that can.`;
  }
  if (holder === null) return undefined;
  const user = /^\d+$/.test(holder) ? `process ${holder}` : 'another process';
  return `The data folder ${folder} is in use by ${user}. Stop that server, or set STORE_URL to another.`;
}
