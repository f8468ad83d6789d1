/** Makes what a path names durable (fsync, POSIX): a file's bytes, or the names in a folder. */
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Syncs a file or a folder. @throws Error when it cannot be opened or synced. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** The same off the event loop. It rejects where it cannot. */
export async function syncPathLater(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Makes a folder and those above it that are missing. The names of all that it made are durable when it
 * returns: everything synced inside a folder is lost with the folder's own name.
 */
export function makeFolder(path: string, mode: number): void {
  const first = mkdirSync(path, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = resolve(path); made !== dirname(resolve(first)); made = dirname(made))
    syncPath(dirname(made));
}
