/** Makes a file's bytes, or a folder's names, durable (fsync, POSIX). */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Syncs a file or a folder. @throws Error if it cannot be opened or synced. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** The same off the event loop. It rejects if it cannot. */
export async function syncPathLater(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Replaces a file of its owner, or creates it: writes and syncs `draft`, of the same folder, and renames it.
 * Durable when it returns.
 */
export function replaceFile(path: string, draft: string, text: string): void {
  writeFileSync(draft, text, { mode: 0o600 });
  syncPath(draft);
  renameSync(draft, path);
  syncPath(dirname(path));
}

/**
 * The same with the syncs off the event loop, unless `isOutdated` says just before the file is replaced that
 * it must stay. It rejects if it cannot.
 */
export async function replaceFileLater(
  path: string,
  draft: string,
  text: string,
  isOutdated: () => boolean,
): Promise<void> {
  await writeFile(draft, text, { mode: 0o600 });
  await syncPathLater(draft);
  // Nothing of this process runs between these two lines.
  if (isOutdated()) rmSync(draft);
  else renameSync(draft, path);
  await syncPathLater(dirname(path));
}

/**
 * Creates a folder and its missing parents. All new names are durable when it returns: a synced file is lost
 * if its folder's name is lost.
 */
export function makeFolder(path: string, mode: number): void {
  const first = mkdirSync(path, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = resolve(path); made !== dirname(resolve(first)); made = dirname(made))
    syncPath(dirname(made));
}
