/**
 * Runs commands of `fusegate` in the tests' process, where everything is loaded already: as the program does,
 * except for the process, its environment and its time.
 */
import { Writable } from 'node:stream';
import { CommanderError } from 'commander';
import { commandsUnder, helpArguments } from '../../src/commands/guide.js';
import { buildProgram } from '../../src/commands/program.js';
import { commands } from '../../src/compose/commands.js';
import { systemClock, type Clock } from '../../src/system/clock.js';

/** Outcome of a command. */
export interface Ended {
  readonly code: number | string | null | undefined;
  /** What it printed, wherever to. */
  readonly output: string;
}

/** The same of a command that ran here, which says where to. */
export interface EndedHere extends Ended {
  /** What of it went to its standard output. */
  readonly text: string;
  /** What of it went to its standard error. */
  readonly said: string;
  /** How often it lowered its priority. */
  readonly lowered: number;
}

/** No colours, whatever runs the tests. */
const plain = { getOutHasColors: () => false, getErrHasColors: () => false };

/** A stream that nobody watches. */
function streamTo(tell: (text: string) => void): NodeJS.WriteStream {
  const write = (chunk: Buffer, _: string, done: () => void): void => {
    tell(chunk.toString());
    done();
  };
  return new Writable({ write }) as unknown as NodeJS.WriteStream;
}

/** Runs `fusegate` with these arguments to its end; `serve` and its processes are the program's alone. */
export async function here(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  clock: Clock = systemClock,
): Promise<EndedHere> {
  const printed = { output: '', text: '', said: '', lowered: 0 };
  const tell = (text: string): void => {
    printed.output += text;
    printed.text += text;
  };
  const complain = (text: string): void => {
    printed.output += text;
    printed.said += text;
  };
  const around = {
    environment: { PATH: process.env['PATH'], ...environment },
    write: (text: string | Uint8Array): Promise<void> => {
      tell(Buffer.from(text).toString());
      return Promise.resolve();
    },
    printError: (line: string) => complain(`${line}\n`),
    ...{ showProgress: undefined, ask: undefined, clock, progressTo: streamTo(complain) },
    lowerPriority: () => void (printed.lowered += 1),
  };
  const program = buildProgram(await commands(around, args[0]));
  const all = [program, ...program.commands, ...commandsUnder(program).map(({ command }) => command)];
  for (const each of all) each.configureOutput({ writeOut: tell, writeErr: complain, ...plain });
  try {
    await program.parseAsync(helpArguments(program, args) ?? args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { code: error.exitCode === 0 ? 0 : 2, ...printed };
  }
  const { exitCode } = process;
  process.exitCode = undefined;
  return { code: exitCode ?? 0, ...printed };
}
