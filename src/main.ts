/** Composition root: runs the command that is called. */
import { fileURLToPath } from 'node:url';
import { runProgram } from './commands/program.js';
import { thisProcess } from './compose/commandParts.js';
import { commands } from './compose/commands.js';

/** Runs `fusegate` with the arguments after the command's name. */
export async function main(args: readonly string[]): Promise<void> {
  // The reader of the output may end first, as `head` does. A server continues without a reader.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (args.includes('serve')) return;
    if (error.code === 'EPIPE') process.exit();
    process.stderr.write(`The output cannot be written (${error.code ?? error.message}).\n`);
    process.exit(1);
  });
  await runProgram(args, await commands(thisProcess(), args[0]));
}

// `fusegate` calls main itself.
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
