/** The terminal of a command: output, questions, and whether a person watches. */
import { createReadStream, fstatSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { CommandParts } from './withStore.js';

/** Writes to standard output at the reader's pace; false if it cannot be written. */
function isWritten(text: string | Uint8Array): Promise<boolean> {
  const { stdout } = process;
  if (stdout.listenerCount('error') === 0) stdout.on('error', () => process.exit(0));
  return new Promise((resolve) => {
    stdout.write(text, (error) => resolve(error == null));
  });
}

/** Writes to standard output at the reader's pace. */
export async function writeOutput(text: string | Uint8Array): Promise<void> {
  await isWritten(text);
}

/** True if standard output is the null device, which also takes the place of a closed descriptor. */
function isDiscarded(): boolean {
  try {
    const { rdev } = statSync('/dev/null');
    const own = fstatSync(1);
    return own.isCharacterDevice() && own.rdev === rdev;
  } catch {
    return false;
  }
}

/** A file's bytes, decompressed if its name ends in `.gz`. */
function bytesOf(path: string): AsyncIterable<Uint8Array> {
  const file = createReadStream(path);
  // An error of either stream ends the other, and so the loop over its bytes.
  return path.endsWith('.gz') ? pipeline(file, createGunzip(), () => undefined) : file;
}

/**
 * The lines of a file, or of standard input for `-`, as UTF-8 without line feeds. (Node's readline would also
 * end lines at U+2028, which JSON does not escape.)
 * @throws Error if it cannot be read
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  const input: AsyncIterable<Uint8Array> = path === '-' ? process.stdin : bytesOf(path);
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}

async function ask(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

/** This process's terminal. Progress is shown if standard output goes elsewhere and a person watches. */
export function terminal(): Pick<CommandParts, 'write' | 'output' | 'printError' | 'showProgress' | 'ask'> {
  let isLost = false;
  const watched = process.stderr.isTTY && !process.stdout.isTTY;
  return {
    async write(text) {
      if (!(await isWritten(text))) isLost = true;
    },
    output: { isLost: () => isLost, isDiscarded },
    printError: (line) => console.error(line),
    showProgress: watched ? (text) => void process.stderr.write(`\r\u001b[K${text}`) : undefined,
    ask: process.stdin.isTTY ? ask : undefined,
  };
}
