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

/** Outcome of taking a data folder; reasons are sentences that say what to do. */
export type FolderOutcome =
  | { readonly kind: 'taken' }
  /** Another process has it. */
  | { readonly kind: 'held'; readonly reason: string }
  | { readonly kind: 'unusable'; readonly reason: string };

/**
 * Makes the data folder where it is missing, locks it for this process, by the file `lock`, which holds the
 * process id, and has it prepared.
 */
export function tryDataFolder(
  folder: string,
  lockFile: LockFile,
  prepare: (folder: string) => void,
): FolderOutcome {
  let holder: string | null;
  try {
    makeFolder(folder, 0o700);
    holder = lockFile(join(folder, 'lock'), String(process.pid));
    if (holder === null) prepare(folder);
  } catch (error) {
    return unusable(folder, error);
  }
  if (holder === null) return { kind: 'taken' };
  const user = /^\d+$/.test(holder) ? `process ${holder}` : 'another process';
  const advice = 'Stop that server, or set STORE_URL to another.';
  return { kind: 'held', reason: `The data folder ${folder} is in use by ${user}. ${advice}` };
}

/** The outcome for a folder that cannot be made, locked or prepared. */
export function unusable(folder: string, error: unknown): FolderOutcome & { readonly kind: 'unusable' } {
  const reason = reasonOf(error);
  return {
    kind: 'unusable',
    reason: `The data folder ${folder} cannot be used (${reason}). Set STORE_URL to one that can.`,
  };
}

/** As {@link tryDataFolder}; undefined, or the sentence that says why the folder cannot be used. */
export function takeDataFolder(
  folder: string,
  lockFile: LockFile,
  prepare: (folder: string) => void,
): string | undefined {
  const outcome = tryDataFolder(folder, lockFile, prepare);
  return outcome.kind === 'taken' ? undefined : outcome.reason;
}
