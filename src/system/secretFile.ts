/** The file of the master secret: created once, durable before its first use, readable by its owner alone. */
import { closeSync, fstatSync, fsyncSync, linkSync, openSync } from 'node:fs';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSecrets, type MasterSecrets } from './masterSecret.js';
import type { Randomness } from './randomness.js';
import { codeOf, reasonOf } from './reason.js';
import { makeFolder, syncPath } from './sync.js';

/** Random bytes of a new secret. */
const secretBytes = 32;

/** The secrets, or a sentence that says why there are none. */
export type SecretsResult = { readonly secrets: MasterSecrets } | { readonly refused: string };

/** Path of a data folder's master secret, if it is not configured. */
export function secretPath(dataFolder: string): string {
  return join(dataFolder, 'master-secret');
}

/** Reads the master secrets of a data folder; undefined if there is no file. */
export function readSecretFile(dataFolder: string): SecretsResult | undefined {
  const path = secretPath(dataFolder);
  return guarded(path, () => readSecrets(path));
}

/**
 * Creates the first master secret of a data folder. Of several concurrent processes one creates the file, and
 * the others read it.
 */
export function makeSecretFile(dataFolder: string, randomness: Randomness): SecretsResult {
  const path = secretPath(dataFolder);
  return guarded(path, () => makeSecret(path, randomness) ?? readSecrets(path) ?? gone(path));
}

function guarded<Result>(path: string, step: () => Result): Result | SecretsResult {
  try {
    return step();
  } catch (error) {
    const reason = reasonOf(error);
    return { refused: `The master secret ${path} cannot be read or made (${reason}).` };
  }
}

function gone(path: string): SecretsResult {
  return { refused: `The master secret ${path} was there and is gone. Start again.` };
}

/** The file's secrets; undefined if there is no file. */
function readSecrets(path: string): SecretsResult | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    if ((fstatSync(file).mode & 0o077) !== 0) {
      return { refused: `The master secret ${path} can be read by others. Run: chmod 600 ${path}` };
    }
    const parsed = parseSecrets(readFileSync(file, 'utf8'));
    if ('value' in parsed) {
      // The process that created the file may not have synced its name yet.
      syncPath(dirname(path));
      return { secrets: parsed.value };
    }
    const restore = 'Restore it from your copy; a new one would not fit what the store holds.';
    return { refused: `The master secret ${path} ${parsed.wrong}. ${restore}` };
  } finally {
    closeSync(file);
  }
}

/**
 * Creates the file: written and synced under a temporary name, then linked, which fails if the name is taken.
 * So no process reads half a secret. Undefined if another process was first.
 */
function makeSecret(path: string, randomness: Randomness): SecretsResult | undefined {
  const folder = dirname(path);
  makeFolder(folder, 0o700);
  const draft = join(folder, `.master-secret-${randomness(8).toString('hex')}`);
  const secret = randomness(secretBytes).toString('base64url');
  writeSynced(draft, `${secret}\n`);
  try {
    linkSync(draft, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined;
    throw error;
  } finally {
    rmSync(draft);
  }
  syncPath(folder);
  return { secrets: [secret] };
}

function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
