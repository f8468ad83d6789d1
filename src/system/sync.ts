/** Makes what a path names durable (fsync, POSIX): a file's bytes, or the names in a folder. */
import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Syncs a file or a folder. @throws Error when it cannot be opened or synced. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
