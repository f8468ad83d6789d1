/** The manual page `fusegate.1` (man-pages(7)), generated from the commands. */
import type { Command } from 'commander';
import { commandsUnder, examples } from './guide.js';

/** Text escaped for roff: no control line, no escape, no hyphen that breaks. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1');
}

function options(command: Command): string[] {
  return command.options
    .filter(({ hidden }) => !hidden)
    .flatMap(({ flags, description }) => ['.TP', `.B ${roff(flags)}`, roff(description)]);
}

/** The page for a version. */
export function manPage(program: Command, version: string): string {
  const leaves = commandsUnder(program).filter(({ command }) => command.commands.length === 0);
  const sections = leaves.flatMap(({ path, command }) => [
    `.SS fusegate ${roff(`${path} ${command.usage()}`.trim())}`,
    `${roff(command.description())}.`,
    ...options(command),
    ...(examples[path] === undefined ? [] : ['.PP', 'Example:', '.PP', '.EX', roff(examples[path]), '.EE']),
  ]);
  return [
    `.TH FUSEGATE 1 "" "fusegate ${version}" "User Commands"`,
    '.SH NAME',
    `fusegate \\- ${roff(program.description())}`,
    '.SH SYNOPSIS',
    '.B fusegate',
    '[\\-\\-config FILE] COMMAND [ARGUMENTS]',
    '.SH OPTIONS',
    ...options(program),
    '.SH COMMANDS',
    ...sections,
    '.SH ENVIRONMENT',
    'Settings are environment variables, or names in a file of settings; docs/configuration.md lists them.',
    '.SH EXIT STATUS',
    '0: done. 1: it could not be done, and standard error says why. 2: the command line is wrong.',
    'fusegate optout check: 3 where the address has not opted out.',
    '',
  ].join('\n');
}
