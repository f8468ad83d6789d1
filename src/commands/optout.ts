/** `fusegate optout link|check EMAIL`: makes a mail's opt-out link and headers, and checks for an opt-out. */
import type { Command } from 'commander';
import { optoutLink } from '../outreach/links.js';
import { findOptout } from '../store/tables/optouts.js';
import { timeText } from '../system/clock.js';
import { withStore, type CommandParts } from './withStore.js';

/** Exit code of `check` for an address that did not opt out. */
const notOptedOut = 3;

function link(parts: CommandParts, email: string): Promise<number> {
  return withStore(parts, async ({ secrets, configuration }) => {
    const made = optoutLink(secrets[0], configuration.publicUrl, email);
    if ('refused' in made) return { wrong: made.refused };
    await parts.write([made.value.link, ...made.value.headers, ''].join('\n'));
    return 0;
  });
}

function check(parts: CommandParts, email: string): Promise<number> {
  return withStore(parts, async ({ store, secrets }) => {
    const found = await findOptout(store, secrets, email.trim());
    if (found === undefined) {
      await parts.write('not opted out\n');
      return notOptedOut;
    }
    await parts.write(`opted out since ${timeText(found.optedOutAtMs)}\n`);
    return 0;
  });
}

/** Adds `optout link` and `optout check`. */
export function addOptout(program: Command, parts: CommandParts): void {
  const group = program.command('optout').description('opt-out links for mails, and who used them');
  group
    .command('link <email>')
    .description('print the opt-out link of an address and the header fields of RFC 8058')
    .allowExcessArguments(false)
    .action(async (email: string) => {
      process.exitCode = await link(parts, email);
    });
  group
    .command('check <email>')
    .description(`say whether an address opted out (exit code 0), or not (${notOptedOut})`)
    .allowExcessArguments(false)
    .action(async (email: string) => {
      process.exitCode = await check(parts, email);
    });
}
