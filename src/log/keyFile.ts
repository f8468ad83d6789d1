/**
 * The log's key, in a file beside the master secret: made once, readable by its owner alone, never in the
 * store. Anyone who has it can sign as this log.
 */
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Randomness } from '../system/randomness.js';
import { codeOf, reasonOf } from '../system/reason.js';
import { makeFolder, syncPath } from '../system/sync.js';
import { logKey, seedBytes, type LogKey } from './note.js';

/** A key, or the sentence that says why there is none. */
export type KeyResult = { readonly key: LogKey } | { readonly refused: string };

/** The owner of a key, by the name of its file. */
export type KeyFile = 'log-key' | 'witness-key';

/** The path of a key file in a data folder. */
export function keyPath(dataFolder: string, file: KeyFile = 'log-key'): string {
  return join(dataFolder, file);
}

/** The file's key; undefined if there is no file. */
function readKey(path: string): KeyResult | undefined {
  let text: string;
  try {
    if ((statSync(path).mode & 0o077) !== 0) {
      return { refused: `The log's key ${path} can be read by others. Run: chmod 600 ${path}` };
    }
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  // The process that created the file may not have synced its name yet.
  syncPath(dirname(path));
  const seed = Buffer.from(text, 'hex');
  if (seed.byteLength === seedBytes && seed.toString('hex') === text) return { key: logKey(seed) };
  return { refused: `The log's key ${path} is damaged. Restore it from your copy.` };
}

/** Creates the file, unless another process was first; no process ever reads half a key. */
function makeKey(path: string, randomness: Randomness): void {
  makeFolder(dirname(path), 0o700);
  const draft = `${path}-${randomness(8).toString('hex')}`;
  writeFileSync(draft, `${randomness(seedBytes).toString('hex')}\n`, {
    mode: 0o600,
    flag: 'wx',
    flush: true,
  });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  syncPath(dirname(path));
}

/** Reads a data folder's key, and creates the first one. Processes that do so at once get the same key. */
export function openKey(dataFolder: string, randomness: Randomness, file: KeyFile = 'log-key'): KeyResult {
  const path = keyPath(dataFolder, file);
  try {
    const found = readKey(path);
    if (found !== undefined) return found;
    makeKey(path, randomness);
    return readKey(path) ?? { refused: `The log's key ${path} was there and is gone. Start again.` };
  } catch (error) {
    return { refused: `The log's key ${path} cannot be read or made (${reasonOf(error)}).` };
  }
}

/** Renames a data folder's key to its file's name plus `suffix`, so that a new key is made. */
export function retireKey(dataFolder: string, suffix: string): void {
  const path = keyPath(dataFolder);
  try {
    renameSync(path, `${path}.${suffix}`);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  syncPath(dirname(path));
}
