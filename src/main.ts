/** Composition root: runs the command that is called. */
import { fileURLToPath } from 'node:url';
import { changeOf, type Called } from './commands/changes.js';
import { runProgram } from './commands/program.js';
import { thisProcess } from './compose/commandParts.js';
import { commands } from './compose/commands.js';

/** Runs `fusegate` with the arguments after the command's name. */
export async function main(args: readonly string[]): Promise<void> {
  let isChanging = false;
  process.stderr.on('error', () => undefined);
  // The reader of the output may end first, as `head` does. A server continues without a reader, and so does
  // a command that changes something: it ends with an error instead of halfway.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (args.includes('serve') || isChanging) return;
    if (error.code === 'EPIPE') process.exit();
    process.stderr.write(`The output cannot be written (${error.code ?? error.message}).\n`);
    process.exit(1);
  });
  const all = await commands(thisProcess(), args[0]);
  const onCalled = (called: Called): void => {
    isChanging = changeOf(called) !== undefined;
    all.onCalled(called);
  };
  await runProgram(args, { ...all, onCalled });
}

// `fusegate` calls main itself.
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
