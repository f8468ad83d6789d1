/** The command line: `fusegate serve`, `--version`, `--help`, and added commands (commander). */
import { Argument, Command, CommanderError, InvalidArgumentError } from 'commander';
import type { Called } from './changes.js';
import { completionScript, shells, type Shell } from './completion.js';
import { addGuide, helpArguments } from './guide.js';
import { manPage } from './manPage.js';

/** Options of `serve`. */
export interface ServeOptions {
  readonly port?: string;
  /** True if a browser opens once the server listens. */
  readonly open: boolean;
  /** True if a running server on the same data folder hands over to this one. */
  readonly takeOver: boolean;
}

/** Actions of the commands; each resolves to the exit code. */
export interface Commands {
  readonly version: string;
  /** Versions of the runtime and libraries, a line each. */
  readonly versions: () => readonly string[];
  readonly write: (text: string) => Promise<void>;
  /** Names the file of settings before a command runs; undefined: the default one, if it exists. */
  readonly useSettingsFile: (path: string | undefined) => void;
  /** Called before each command runs. */
  readonly onCalled: (called: Called) => void;
  readonly serve: (options: ServeOptions) => Promise<number>;
  /** Copies a store to another. */
  readonly storeCopy: (from: string, to: string) => Promise<number>;
  /** Functions that add further commands. */
  readonly add: readonly ((program: Command) => void)[];
}

/** Exit code of an invalid command line, as in shell builtins. */
const usageError = 2;

/** A command's path, as in `keys create`. */
function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent === null || parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`;
}

/** Adds the place of its own help to every command's errors. */
function pointToHelp(command: Command, path: string): void {
  command.showHelpAfterError(`See ${path} --help.`);
  for (const each of command.commands) pointToHelp(each, `${path} ${each.name()}`);
}

function portNumber(text: string): string {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return text;
  throw new InvalidArgumentError('A port is a whole number from 0 to 65535.');
}

function addServer(program: Command, commands: Commands): void {
  program
    .command('serve')
    .description('serve until stopped (Ctrl-C or SIGTERM)')
    .option('--port <port>', 'port to listen on, in place of PORT', portNumber)
    .option('--open', 'open the home page in a browser once it listens', false)
    .option('--take-over', 'replace the running server, which answers the requests it has and ends', false)
    .allowExcessArguments(false)
    .action(async (options: ServeOptions) => {
      process.exitCode = await commands.serve(options);
    });
}

function addStore(program: Command, commands: Commands): void {
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
}

/** Commands about the program itself: versions, completion, manual. */
function addOwn(program: Command, commands: Commands): void {
  program
    .command('version')
    .description('print the versions of Fusegate and of what it runs on')
    .allowExcessArguments(false)
    .action(() => commands.write(`${commands.versions().join('\n')}\n`));
  program
    .command('completion')
    .description('print the script that completes this command line in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .allowExcessArguments(false)
    .action((shell: Shell) => commands.write(completionScript(program, shell)));
  program
    .command('man')
    .description('print the manual page, in roff')
    .allowExcessArguments(false)
    .action(() => commands.write(manPage(program, commands.version)));
}

/** `help`, which accepts a whole path of commands. */
function helpCommand(): Command {
  return new Command('help')
    .argument('[command...]', 'the command, as in: keys create')
    .description('print help on a command')
    .helpOption(false)
    .helpGroup('This program:');
}

/** The program with all its commands; each sets the process' exit code. */
export function buildProgram(commands: Commands): Command {
  const program: Command = new Command('fusegate')
    .description('Re-ranks search candidates over HTTP by fusing BM25 with dense similarity.')
    .version(commands.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpCommand(helpCommand())
    .option('--config <file>', 'file of settings (JSON); fusegate.json where it is not given')
    .hook('preAction', (_, called) => {
      commands.useSettingsFile(program.opts<{ config?: string }>().config);
      commands.onCalled({ path: pathOf(called), args: called.args, options: called.opts() });
    })
    .addHelpText(
      'after',
      '\nExamples:\n  fusegate serve --open\n  fusegate help keys create\n' +
        '\nSettings are environment variables, or names in a file of settings: see docs/configuration.md.',
    )
    .showSuggestionAfterError()
    // Commands made after this throw, too.
    .exitOverride();
  addServer(program, commands);
  for (const add of commands.add) add(program);
  addStore(program, commands);
  addOwn(program, commands);
  addGuide(program);
  pointToHelp(program, 'fusegate');
  return program;
}

/** Runs the command that `args` (the words after `fusegate`) name and sets the exit code. */
export async function runProgram(args: readonly string[], commands: Commands): Promise<void> {
  const program = buildProgram(commands);
  try {
    await program.parseAsync(helpArguments(program, args) ?? args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : usageError;
  }
}
