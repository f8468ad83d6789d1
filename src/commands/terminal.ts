/** The terminal that a command runs in: its output, its questions, and whether anybody watches. */
import { createInterface } from 'node:readline/promises';
import type { CommandParts } from './withStore.js';

/** Writes to standard output at the pace of its reader; one that has gone ends the program quietly. */
export function writeOutput(text: string | Uint8Array): Promise<void> {
  const { stdout } = process;
  if (stdout.listenerCount('error') === 0) stdout.on('error', () => process.exit(0));
  return new Promise((resolve) => {
    stdout.write(text, () => resolve());
  });
}

async function ask(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

/** This process's terminal. Progress is shown where standard output goes elsewhere and a person watches. */
export function terminal(): Pick<CommandParts, 'write' | 'printError' | 'showProgress' | 'ask'> {
  const watched = process.stderr.isTTY && !process.stdout.isTTY;
  return {
    write: writeOutput,
    printError: (line) => console.error(line),
    showProgress: watched ? (text) => void process.stderr.write(`\r\u001b[K${text}`) : undefined,
    ask: process.stdin.isTTY ? ask : undefined,
  };
}
