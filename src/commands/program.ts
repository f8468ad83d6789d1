/** The command line: `fusegate serve`, `--version`, `--help`, and what else is added (commander). */
import { Command } from 'commander';

/** What the commands do; each resolves to the exit code. */
export interface Commands {
  readonly version: string;
  /** Names the file of settings before a command runs; undefined: the usual one, where there is one. */
  readonly useSettingsFile: (path: string | undefined) => void;
  readonly serve: () => Promise<number>;
  /** Copies a store to another. */
  readonly storeCopy: (from: string, to: string) => Promise<number>;
  /** Runs one worker of a server; only a parent starts it. */
  readonly work: () => void;
  /** Runs the embedder of a server; only a parent starts it. */
  readonly embed: () => void;
  /** Each adds commands of its own. */
  readonly add: readonly ((program: Command) => void)[];
}

/** The hidden command by which a parent starts its workers. */
export const workerCommand = 'worker';

/** The hidden command by which a parent starts its embedder. */
export const embedderCommand = 'embedder';

/** Has every command's errors end with where its own help is. */
function pointToHelp(command: Command, path: string): void {
  command.showHelpAfterError(`See ${path} --help.`);
  for (const each of command.commands) pointToHelp(each, `${path} ${each.name()}`);
}

/** Runs the command that `args` (what follows `fusegate`) name and sets the exit code. */
export async function runProgram(args: readonly string[], commands: Commands): Promise<void> {
  const program: Command = new Command('fusegate')
    .description('Re-ranks search candidates over HTTP by fusing BM25 with dense similarity.')
    .version(commands.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print help on a command')
    .option('--config <file>', 'file of settings (JSON); fusegate.json where it is not given')
    .hook('preAction', () => commands.useSettingsFile(program.opts<{ config?: string }>().config))
    .addHelpText('after', '\nConfigured by environment variables: see docs/configuration.md.')
    .showSuggestionAfterError();
  program
    .command('serve')
    .description('serve until stopped (Ctrl-C or SIGTERM)')
    .allowExcessArguments(false)
    .action(async () => {
      process.exitCode = await commands.serve();
    });
  program
    .command('store')
    .description('work on the store')
    .command('copy')
    .description('copy every record of one store to another, empty one, and verify the copy')
    .argument('<from>', 'lmdb:<folder>, postgres://…, or file:<path of a file that holds the URL>')
    .argument('<to>', 'likewise')
    .allowExcessArguments(false)
    .action(async (from: string, to: string) => {
      process.exitCode = await commands.storeCopy(from, to);
    });
  for (const [name, run] of [
    [workerCommand, commands.work],
    [embedderCommand, commands.embed],
  ] as const) {
    program
      .command(name, { hidden: true })
      .allowExcessArguments(false)
      .action(() => {
        if (process.send === undefined) program.error(`error: ${name}s are started by fusegate serve.`);
        run();
      });
  }
  for (const add of commands.add) add(program);
  pointToHelp(program, 'fusegate');
  await program.parseAsync(args, { from: 'user' });
}
