/** The data folder; one server at a time may use it. */
import { join } from 'node:path';
import { isNoRoom, reasonOf } from '../system/reason.js';
import { makeFolder } from '../system/sync.js';

/**
 * Takes an exclusive lock on the file at `path`, creating it if absent, and writes `text` into it. The lock
 * lasts until this process ends. `null` if it was taken, else the text of the current holder.
 * @throws Error if the file cannot be opened, locked or written.
 */
export type LockFile = (path: string, text: string) => string | null;

/** Outcome of taking a data folder; reasons are sentences that say what to do. */
export type FolderOutcome =
  | { readonly kind: 'taken' }
  /** Another process holds it. */
  | { readonly kind: 'held'; readonly reason: string }
  | { readonly kind: 'unusable'; readonly reason: string };

/**
 * Creates the data folder if it is missing, and locks it for this process by the file `lock`, which holds the
 * process id. Then calls `prepare`.
 */
export function tryDataFolder(
  folder: string,
  lockFile: LockFile,
  prepare: (folder: string) => void,
): FolderOutcome {
  let holder: string | null;
  try {
    makeFolder(folder, 0o700);
    holder = lockOf(folder, lockFile);
    if (holder === null) prepare(folder);
  } catch (error) {
    return unusable(folder, error);
  }
  if (holder === null) return { kind: 'taken' };
  const user = /^\d+$/.test(holder) ? `process ${holder}` : 'another process';
  const advice = 'Stop that server, or set STORE_URL to another.';
  return { kind: 'held', reason: `The data folder ${folder} is in use by ${user}. ${advice}` };
}

/** Locks a folder. A full disk has no room for the process id, but the lock holds without it. */
function lockOf(folder: string, lockFile: LockFile): string | null {
  const path = join(folder, 'lock');
  try {
    return lockFile(path, String(process.pid));
  } catch (error) {
    if (isNoRoom(error)) return lockFile(path, '');
    throw error;
  }
}

/** The outcome for a folder that cannot be created, locked or prepared. */
export function unusable(folder: string, error: unknown): FolderOutcome & { readonly kind: 'unusable' } {
  const reason = reasonOf(error);
  const advice = isNoRoom(error)
    ? 'Make room on its disk, and start again.'
    : 'Set STORE_URL to one that can.';
  return { kind: 'unusable', reason: `The data folder ${folder} cannot be used (${reason}). ${advice}` };
}

/** As {@link tryDataFolder}; undefined, or a sentence if the folder cannot be used. */
export function takeDataFolder(
  folder: string,
  lockFile: LockFile,
  prepare: (folder: string) => void,
): string | undefined {
  const outcome = tryDataFolder(folder, lockFile, prepare);
  return outcome.kind === 'taken' ? undefined : outcome.reason;
}
