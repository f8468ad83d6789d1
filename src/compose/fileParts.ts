/** Dependencies of the commands that read or write files. */
import { createReadStream, createWriteStream, mkdtempSync, readFileSync } from 'node:fs';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { AuditCommandParts } from '../commands/audit.js';
import type { NormalizeCommandParts } from '../commands/normalize.js';
import { writeOutput } from '../commands/terminal.js';
import { native } from '../native/addon.js';
import { systemClock } from '../system/clock.js';

/** All bytes of a file; `-` is standard input. */
export function readBytes(path: string): Promise<Buffer> {
  return path === '-' ? buffer(process.stdin) : readFile(path);
}

/** Width of the terminal; undefined if the output goes elsewhere. */
export function columns(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns : undefined;
}

/** Dependencies of `fusegate normalize`. */
export function normalizeParts(cores: number): Omit<NormalizeCommandParts, 'printError'> {
  return {
    open: (path) =>
      path === undefined
        ? { bytes: process.stdin, size: undefined }
        : { size: fileSize(path), bytes: createReadStream(path) },
    progressTo: process.stderr.isTTY && !process.stdout.isTTY ? process.stderr : undefined,
    write: writeOutput,
    readFile: (path) => readFileSync(path, 'utf8'),
    normalizer: ({ mode, contextual, glosses }) => {
      const pairs = Object.entries(glosses).map(([surface, gloss]) => ({ surface, gloss }));
      const made = new native.TextNormalizer(mode, contextual, pairs);
      return (piece) => made.normalize(piece, cores);
    },
  };
}

/** Size of a file in bytes. @throws Error if it is not a file, or cannot be read */
export function fileSize(path: string): number {
  const found = statSync(path);
  if (found.isDirectory()) throw new Error('it is a folder');
  return found.size;
}

/** Writes standard input to a file in a new temporary folder. */
async function spoolInput(): Promise<{ readonly path: string; readonly remove: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const path = join(folder, 'input');
  try {
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }));
  } catch (error) {
    remove();
    throw error;
  }
  return { path, remove };
}

/** Dependencies of `fusegate audit`. */
export function auditParts(cores: number): Omit<AuditCommandParts, 'printError'> {
  return {
    clock: systemClock,
    cores,
    openFile: (path, format, stack) => new native.FileAudit(path, format, stack),
    sizeOf: fileSize,
    spool: spoolInput,
    writeFile: (path, text) => writeFileSync(path, text),
    versions: () => ({ unicode: native.unicodeVersion(), cldr: native.cldrVersion() }),
    print: (line) => void writeOutput(`${line}\n`),
    progressTo: process.stderr,
  };
}
