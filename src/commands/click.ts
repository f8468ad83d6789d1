/** `fusegate click link DESTINATION`: makes a counted link to a destination. */
import type { Command } from 'commander';
import { clickLink } from '../outreach/links.js';
import { withStore, type CommandParts } from './withStore.js';

function link(parts: CommandParts, destination: string, given: string | undefined): Promise<number> {
  return withStore(parts, async ({ secrets, configuration }) => {
    const id = given ?? parts.randomness(9).toString('base64url');
    const made = clickLink(secrets[0], configuration.publicUrl, destination, id);
    if ('refused' in made) return { wrong: made.refused };
    await parts.write(`${made.value}\n`);
    return 0;
  });
}

/** Adds `click link`. */
export function addClick(program: Command, parts: CommandParts): void {
  const group = program.command('click').description('counted links');
  group
    .command('link <destination>')
    .description('print a counted link to a whole http or https address')
    .option('--id <id>', 'name of the link in the click log (else a random one)')
    .allowExcessArguments(false)
    .action(async (destination: string, { id }: { readonly id?: string }) => {
      process.exitCode = await link(parts, destination, id);
    });
}
