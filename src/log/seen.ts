/**
 * The newest checkpoint that this machine signed or saw, in a file outside the store: it reveals a store that
 * was rolled back (restored from an older copy). It is written before a checkpoint is published. After a
 * crash it may therefore be ahead of the store's checkpoint, by leaves that the store has, but never behind.
 */
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../system/reason.js';
import { replaceFile, replaceFileLater, syncPath } from '../system/sync.js';

/** A state of the log. */
export interface Seen {
  readonly size: number;
  readonly root: Uint8Array;
}

/** The file's state; `wrong`: it cannot be parsed. */
export type SeenResult = Seen | undefined | { readonly wrong: string };

/** The file and its operations. */
export interface SeenFile {
  readonly read: () => SeenResult;
  /**
   * Replaces the state, unless another process has written a larger one meanwhile; durable when it resolves.
   * Writes of one process must not overlap.
   */
  readonly write: (seen: Seen) => Promise<void>;
  /** Replaces the state; durable when it returns. For a process where nothing else needs the event loop. */
  readonly writeNow: (seen: Seen) => void;
  readonly remove: () => void;
}

const form = /^(0|[1-9][0-9]{0,15}) ([0-9a-f]{64})\n$/;

function textOf({ size, root }: Seen): string {
  return `${size} ${Buffer.from(root).toString('hex')}\n`;
}

/** The file of a data folder. `own`: a name that no other process uses. */
export function seenFile(dataFolder: string, own: string, file = 'log-seen'): SeenFile {
  const path = join(dataFolder, file);
  const draft = `${path}-${own}`;
  const read = (): SeenResult => {
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
    const [, size, root] = form.exec(text) ?? [];
    if (size === undefined || root === undefined) return { wrong: `${path} is damaged` };
    return { size: Number(size), root: Buffer.from(root, 'hex') };
  };
  return {
    read,
    // Off the event loop: a busy disk takes long to sync, and the log does this twice a second.
    write: (seen) =>
      replaceFileLater(path, draft, textOf(seen), () => {
        const newest = read();
        return newest !== undefined && !('wrong' in newest) && newest.size > seen.size;
      }),
    writeNow: (seen) => replaceFile(path, draft, textOf(seen)),
    remove() {
      rmSync(path, { force: true });
      syncPath(dirname(path));
    },
  };
}
