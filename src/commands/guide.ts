/** The help of the command line: commands in groups, and an example for each. */
import type { Command } from 'commander';

/** The commands of each group. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  'Run the server:': ['serve', 'doctor'],
  'Work on files:': ['fuse', 'normalize', 'audit'],
  'Keys and orders:': ['keys', 'orders'],
  'Embedding models:': ['models'],
  'Better requests:': ['tune', 'calibrate', 'profiles', 'corpora'],
  'Mail, leads and links:': [
    'leads',
    'interests',
    'optouts',
    'optout',
    'clicks',
    'click',
    'forget',
    'webhooks',
  ],
  'Fragments and receipts:': ['receipts', 'fragments', 'log'],
  'The store:': ['backup', 'restore', 'store', 'history'],
  'This program:': ['version', 'completion', 'man'],
};

/** One example for each runnable command, by its path. */
export const examples: Readonly<Record<string, string>> = {
  serve: 'fusegate serve --port 8080 --open',
  doctor: 'fusegate doctor',
  fuse: 'fusegate fuse request.json',
  normalize: 'fusegate normalize records.txt > repaired.txt',
  audit: 'fusegate audit records.csv --stack elasticsearch --report report.html',
  'keys create': 'fusegate keys create --tier developer --note "for Ada"',
  'keys list': 'fusegate keys list --json',
  'keys show': 'fusegate keys show ID',
  'keys usage': 'fusegate keys usage --by tier',
  'keys revoke': 'fusegate keys revoke ID --reason leaked',
  'keys reissue': 'fusegate keys reissue ID',
  'orders list': 'fusegate orders list --status pending',
  'orders show': 'fusegate orders show ID',
  'orders mismatches': 'fusegate orders mismatches',
  'orders reconcile': 'fusegate orders reconcile',
  'orders rescan': 'fusegate orders rescan --from 0',
  'models list': 'fusegate models list',
  'models add': 'fusegate models add',
  'models verify': 'fusegate models verify',
  'models remove': 'fusegate models remove ID',
  'models evaluate': 'fusegate models evaluate ./collection --candidates 100',
  tune: 'fusegate tune ./collection --language english --profile shop',
  calibrate: 'fusegate calibrate ./collection --profile shop',
  'profiles put': 'fusegate profiles put shop settings.json',
  'profiles list': 'fusegate profiles list',
  'profiles show': 'fusegate profiles show shop --json',
  'profiles remove': 'fusegate profiles remove shop',
  'corpora put': 'fusegate corpora put shop products.jsonl --analyzer english',
  'corpora list': 'fusegate corpora list',
  'corpora show': 'fusegate corpora show shop --json',
  'corpora remove': 'fusegate corpora remove shop',
  'leads export': 'fusegate leads export --format csv > leads.csv',
  'interests export': 'fusegate interests export --format csv > interests.csv',
  'optouts export': 'fusegate optouts export --format csv > optouts.csv',
  'clicks export': 'fusegate clicks export --format jsonl > clicks.jsonl',
  'optout link': 'fusegate optout link ada@example.com',
  'optout check': 'fusegate optout check ada@example.com',
  'click link': 'fusegate click link https://example.com/offer --id spring',
  forget: 'fusegate forget ada@example.com',
  'webhooks add': 'fusegate webhooks add https://example.com/events --event order.paid lead.received',
  'webhooks list': 'fusegate webhooks list',
  'webhooks test': 'fusegate webhooks test ID',
  'webhooks remove': 'fusegate webhooks remove ID',
  'receipts import': 'fusegate receipts import receipts.jsonl',
  'receipts export': 'fusegate receipts export > receipts.jsonl',
  'receipts verify': 'fusegate receipts verify receipt.json',
  'fragments hide': 'fusegate fragments hide RECEIPT --reason "asked for by its author"',
  'fragments show': 'fusegate fragments show RECEIPT --reason "the author agreed"',
  'log audit': 'fusegate log audit https://fuse.example.com --since checkpoint.txt',
  'log resolve': 'fusegate log resolve --continue',
  'log stamp':
    'fusegate log stamp --lnd https://localhost:8080 --cert tls.cert --macaroon stamp.macaroon --most-sat 99',
  'log verify': 'fusegate log verify checkpoint.txt checkpoint.txt.ots --header header.txt --vkey "$VKEY"',
  'log witness': 'fusegate log witness --name witness.example/w1 --log "$VKEY" --folder witness',
  backup: 'fusegate backup /var/backups/fusegate',
  restore: 'fusegate restore /var/backups/fusegate',
  history: 'fusegate history --after 100',
  'store copy': 'fusegate store copy lmdb:./data/store file:./postgres-url',
  version: 'fusegate version',
  completion: 'fusegate completion bash > ~/.local/share/bash-completion/completions/fusegate',
  man: 'fusegate man > ~/.local/share/man/man1/fusegate.1',
};

/** A command and its path, as in `keys create`; internal commands are left out. */
export interface NamedCommand {
  readonly path: string;
  readonly command: Command;
}

/** The visible commands under a command, recursively. */
export function commandsUnder(command: Command, path = ''): NamedCommand[] {
  const shown = command.createHelp().visibleCommands(command);
  return shown
    .filter((each) => each.name() !== 'help')
    .flatMap((each) => {
      const own = path === '' ? each.name() : `${path} ${each.name()}`;
      return [{ path: own, command: each }, ...commandsUnder(each, own)];
    });
}

/** Sorts the commands into their groups, and adds the examples to their help. */
export function addGuide(program: Command): void {
  for (const [group, names] of Object.entries(groups)) {
    for (const each of program.commands) if (names.includes(each.name())) each.helpGroup(group);
  }
  for (const { path, command } of commandsUnder(program)) {
    const example = examples[path];
    if (example !== undefined) command.addHelpText('after', `\nExample:\n  ${example}`);
  }
  // The terminal's own colours; commander omits them if NO_COLOR is set or the output is not a terminal.
  const help = {
    styleTitle: (text: string) => `\u001b[1m${text}\u001b[22m`,
    styleCommandText: (text: string) => `\u001b[36m${text}\u001b[39m`,
    styleOptionText: (text: string) => `\u001b[32m${text}\u001b[39m`,
  };
  for (const command of [program, ...commandsUnder(program).map((each) => each.command)]) {
    command.configureHelp(help);
  }
}

/** The arguments that print the help of the command named after `help`; undefined: not a request for help. */
export function helpArguments(program: Command, args: readonly string[]): readonly string[] | undefined {
  const [first, ...path] = args;
  if (first !== 'help' || path.length === 0 || path.some((name) => name.startsWith('-'))) return undefined;
  let command: Command = program;
  for (const [at, name] of path.entries()) {
    const found = command.commands.find((each) => each.name() === name);
    // An unknown name gives the same error as without help.
    if (found === undefined) return path.slice(0, at + 1);
    command = found;
  }
  return [...path, '--help'];
}
