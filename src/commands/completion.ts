/** Command line completion for bash, zsh and fish, generated from the commands. */
import type { Command } from 'commander';
import { commandsUnder, type NamedCommand } from './guide.js';

/** The supported shells. */
export const shells = ['bash', 'zsh', 'fish'] as const;

/** One shell. */
export type Shell = (typeof shells)[number];

/** Text in single quotes for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The long names of a command's options. */
function optionsOf(command: Command): string[] {
  const { options } = command;
  return [...options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long ?? []), '--help'];
}

/** The words that may follow a command. */
function wordsOf({ path, command }: NamedCommand, all: readonly NamedCommand[]): string[] {
  const depth = path === '' ? 0 : path.split(' ').length;
  const under = all.filter((each) => {
    const inside = path === '' || each.path.startsWith(`${path} `);
    return inside && each.path.split(' ').length === depth + 1;
  });
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return [...under.map((each) => each.command.name()), ...choices, ...optionsOf(command)];
}

function bash(all: readonly NamedCommand[]): string {
  const paths = all.map(({ path }) => path).filter((path) => path !== '');
  const cases = all.map(
    (each) => `    ${quoted(each.path)}) words=${quoted(wordsOf(each, all).join(' '))} ;;`,
  );
  return `# bash completion of fusegate. Made by: fusegate completion bash
_fusegate() {
  local at='' next words='' current="\${COMP_WORDS[COMP_CWORD]}" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${at:+$at }\${COMP_WORDS[i]}"
    case "$next" in
    ${paths.map(quoted).join(' | ')}) at=$next ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ "\${#COMPREPLY[@]}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _fusegate fusegate
`;
}

function zsh(all: readonly NamedCommand[]): string {
  return `#compdef fusegate
# zsh completion of fusegate. Made by: fusegate completion zsh
autoload -U +X bashcompinit && bashcompinit
${bash(all)}`;
}

function fish(all: readonly NamedCommand[]): string {
  const lines = all.flatMap((each) => {
    const { path, command } = each;
    const inside =
      path === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${path.split(' ').at(-1)}`;
    const before = path.includes(' ') ? `; and __fish_seen_subcommand_from ${path.split(' ')[0]}` : '';
    const where = `complete -c fusegate -n ${quoted(`${inside}${before}`)}`;
    const words = wordsOf(each, all).filter((word) => !word.startsWith('-'));
    const described = words.map((word) => {
      const under = command.commands.find((other) => other.name() === word);
      return `${where} -a ${quoted(word)}${under === undefined ? '' : ` -d ${quoted(under.description())}`}`;
    });
    const options = command.options.filter(({ hidden, long }) => !hidden && long !== undefined);
    const flags = options.map(({ long, description }) => {
      return `${where} -l ${quoted((long ?? '').slice(2))} -d ${quoted(description)}`;
    });
    return [...described, ...flags];
  });
  return `# fish completion of fusegate. Made by: fusegate completion fish\n${lines.join('\n')}\n`;
}

/** The script that completes the program's command line in a shell. */
export function completionScript(program: Command, shell: Shell): string {
  const all = [{ path: '', command: program }, ...commandsUnder(program)];
  return { bash, zsh, fish }[shell](all);
}
