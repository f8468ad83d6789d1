/** Files of secrets: each is made once, durable before its first use, and readable by its owner alone. */
import { closeSync, fstatSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Randomness } from './randomness.js';
import { codeOf, reasonOf } from './reason.js';
import { makeFolder, syncPath } from './sync.js';

/** A file of secrets. */
export interface SecretFile<Value> {
  readonly path: string;
  /** Its name in sentences, such as `The master secret`. */
  readonly name: string;
  /** The value of a file's text; `wrong`, after the name, says what is wrong with it and what to do. */
  readonly parse: (text: string) => { readonly value: Value } | { readonly wrong: string };
  /** The text of a new file. */
  readonly draw: (randomness: Randomness) => string;
}

/** The value of a file, or a sentence that says why there is none. */
export type SecretResult<Value> = { readonly value: Value } | { readonly refused: string };

/** Reads a file; undefined if there is none. */
export function readSecretFile<Value>(file: SecretFile<Value>): SecretResult<Value> | undefined {
  return guarded(file, () => read(file));
}

/** Creates a file, and reads it. Of several concurrent processes one creates it, and all read that. */
export function makeSecretFile<Value>(file: SecretFile<Value>, randomness: Randomness): SecretResult<Value> {
  return guarded(file, () => {
    make(file, randomness);
    return read(file) ?? refuse(file, 'was there and is gone. Start again.');
  });
}

function refuse({ name, path }: SecretFile<unknown>, why: string): { readonly refused: string } {
  return { refused: `${name} ${path} ${why}` };
}

function guarded<Result>(file: SecretFile<unknown>, step: () => Result) {
  try {
    return step();
  } catch (error) {
    return refuse(file, `cannot be read or made (${reasonOf(error)}).`);
  }
}

function read<Value>(file: SecretFile<Value>): SecretResult<Value> | undefined {
  const text = textOf(file);
  if (text === undefined || 'refused' in text) return text;
  const parsed = file.parse(text.value);
  if ('wrong' in parsed) return refuse(file, parsed.wrong);
  // The process that created the file has not synced its name, or not yet.
  syncPath(dirname(file.path));
  return parsed;
}

/** The text of a file that its owner alone can read; undefined if there is no file. */
function textOf(file: SecretFile<unknown>): SecretResult<string> | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file.path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    if ((fstatSync(descriptor).mode & 0o077) !== 0) {
      return refuse(file, `can be read by others. Run: chmod 600 ${file.path}`);
    }
    return { value: readFileSync(descriptor, 'utf8') };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Creates the file, unless another process was first: written and synced under a temporary name, then linked,
 * which fails if the name is taken. So no process reads half a secret. The reader syncs the name.
 */
function make({ path, draw }: SecretFile<unknown>, randomness: Randomness): void {
  makeFolder(dirname(path), 0o700);
  const draft = `${path}-${randomness(8).toString('hex')}`;
  try {
    writeFileSync(draft, draw(randomness), { mode: 0o600 });
    syncPath(draft);
    linkSync(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
