/** The key of the log or of a witness, in a file of its own. Anyone who has it can sign as its owner. */
import { renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Randomness } from '../system/randomness.js';
import { codeOf } from '../system/reason.js';
import { makeSecretFile, readSecretFile, type SecretFile, type SecretResult } from '../system/secretFile.js';
import { syncPath } from '../system/sync.js';
import { logKey, seedBytes, type LogKey } from './note.js';

/** Names of keys in messages, by the names of their files. */
const names = { 'log-key': "The log's key", 'witness-key': "The witness's key" } as const;

/** The owner of a key, by the name of its file. */
export type KeyFile = keyof typeof names;

/** The path of a key file in a data folder. */
export function keyPath(dataFolder: string, file: KeyFile = 'log-key'): string {
  return join(dataFolder, file);
}

function keyOf(text: string): { readonly value: LogKey } | { readonly wrong: string } {
  const digits = text.trim();
  const seed = Buffer.from(digits, 'hex');
  if (seed.byteLength === seedBytes && seed.toString('hex') === digits) return { value: logKey(seed) };
  return { wrong: 'is damaged. Restore it from your copy.' };
}

/** Reads a data folder's key; creates the first one. Processes that do so at once get the same key. */
export function openKey(
  dataFolder: string,
  randomness: Randomness,
  owner: KeyFile = 'log-key',
): SecretResult<LogKey> {
  const file: SecretFile<LogKey> = {
    path: keyPath(dataFolder, owner),
    name: names[owner],
    parse: keyOf,
    draw: (random) => `${random(seedBytes).toString('hex')}\n`,
  };
  return readSecretFile(file) ?? makeSecretFile(file, randomness);
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
