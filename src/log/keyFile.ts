/**
 * The key of the log or of a witness, in a file of its own, or the log's by a setting. Anyone who has it can
 * sign as its owner.
 */
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

function fileIn(dataFolder: string, owner: KeyFile): SecretFile<LogKey> {
  return {
    path: keyPath(dataFolder, owner),
    name: names[owner],
    parse: keyOf,
    draw: (random) => `${random(seedBytes).toString('hex')}\n`,
  };
}

/** Reads a data folder's key; creates the first one. Processes that do so at once get the same key. */
export function openKey(
  dataFolder: string,
  randomness: Randomness,
  owner: KeyFile = 'log-key',
): SecretResult<LogKey> {
  const file = fileIn(dataFolder, owner);
  return readSecretFile(file) ?? makeSecretFile(file, randomness);
}

/** The key of the log that a setting gives (hex); undefined if none does. */
export function configuredKey(seed: string | null): { readonly value: LogKey } | undefined {
  return seed === null ? undefined : { value: logKey(Buffer.from(seed, 'hex')) };
}

/** Reads a data folder's key of the log; undefined if there is none. */
export function readKey(dataFolder: string): SecretResult<LogKey> | undefined {
  return readSecretFile(fileIn(dataFolder, 'log-key'));
}

/** Reads a data folder's key where the store names the log's key already: no new one could continue it. */
export function existingKey(dataFolder: string): SecretResult<LogKey> {
  const file = fileIn(dataFolder, 'log-key');
  const missing =
    `${file.name} ${file.path} is missing, and this store's log is signed already. Put your copy there, or ` +
    'start a new log with another key: fusegate log resolve --new-key.';
  return readKey(dataFolder) ?? { refused: missing };
}

/** Renames a data folder's key to its file's name plus `suffix`. False: there is none. */
export function retireKey(dataFolder: string, suffix: string): boolean {
  const path = keyPath(dataFolder);
  try {
    renameSync(path, `${path}.${suffix}`);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return false;
  }
  syncPath(dirname(path));
  return true;
}
