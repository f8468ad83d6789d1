/** `fusegate forget EMAIL`: erases data stored about an address; its opt-out stays, as a keyed hash. */
import type { Command } from 'commander';
import { eraseEntries } from '../store/entries.js';
import { decodeInterest, encodeInterest, interestsAfter } from '../store/tables/interests.js';
import { decodeLead, encodeLead, leadsAfter } from '../store/tables/leads.js';
import { comparable, findOptout, forgetOptout } from '../store/tables/optouts.js';
import { forgetOrderEmails, allOrders } from '../store/tables/orders.js';
import { withStore, type CommandContext, type CommandParts } from './withStore.js';

/** Number of entries with an address. */
interface Found {
  readonly leads: number;
  readonly interests: number;
  /** Orders with the address. */
  readonly orders: number;
  readonly optout: 'none' | 'with address' | 'keyed hash';
}

/** An address without surrounding white space, in lower case. */
function normal(email: string): string {
  return comparable(email.trim());
}

async function find(context: CommandContext, email: string): Promise<Found> {
  const { store, secrets } = context;
  let leads = 0;
  let interests = 0;
  let orders = 0;
  const count = (each: { readonly email: string }): number => (normal(each.email) === email ? 1 : 0);
  for await (const { value } of leadsAfter(store, 0)) leads += count(value);
  for await (const { value } of interestsAfter(store, 0)) interests += count(value);
  for await (const { email: given } of allOrders(store)) orders += count({ email: given ?? '' });
  const found = await findOptout(store, secrets, email);
  const optout = found === undefined ? 'none' : found.email === null ? 'keyed hash' : 'with address';
  return { leads, interests, orders, optout };
}

async function erase(context: CommandContext, email: string): Promise<Found> {
  const { store, secrets } = context;
  const isLead = (value: Uint8Array): boolean => normal(decodeLead(value)?.email ?? '') === email;
  const isInterest = (value: Uint8Array): boolean => normal(decodeInterest(value)?.email ?? '') === email;
  const leads = await eraseEntries(store, 'leads', isLead, encodeLead(undefined));
  const gone = encodeInterest(undefined);
  const interests = await eraseEntries(store, 'interests', isInterest, gone);
  const orders = await forgetOrderEmails(store, (each) => normal(each) === email);
  const optout = (await forgetOptout(store, secrets, email)) ? 'with address' : 'none';
  return { leads, interests, orders, optout };
}

function counted({ leads, interests, orders }: Found): string {
  const lead = `${leads} ${leads === 1 ? 'lead' : 'leads'}`;
  const interest = `${interests} ${interests === 1 ? 'interest' : 'interests'}`;
  if (orders === 0) return `${lead} and ${interest}`;
  return `${lead}, ${interest} and the address of ${orders} ${orders === 1 ? 'order' : 'orders'}`;
}

function forget(parts: CommandParts, given: string, yes: boolean): Promise<number> {
  return withStore(parts, async (context) => {
    const email = normal(given);
    if (email === '') return { wrong: 'An email address is needed.' };
    const found = await find(context, email);
    if (found.leads + found.interests + found.orders === 0 && found.optout !== 'with address') {
      await parts.write(`Nothing is stored about ${email}${found.optout === 'none' ? '' : kept}.\n`);
      return 0;
    }
    if (!yes) {
      if (parts.ask === undefined)
        return { wrong: 'There is no terminal to confirm on: add --yes to erase.' };
      const also = found.optout === 'with address' ? ', and the address of its opt-out' : '';
      const question = `Erase ${counted(found)} of ${email}${also}? This cannot be undone. [y/N] `;
      if (!(await parts.ask(question))) return { wrong: 'Nothing was erased.' };
    }
    const erased = await erase(context, email);
    await parts.write(`Erased ${counted(erased)}${found.optout === 'none' ? '' : kept}.\n`);
    return 0;
  });
}

const kept = '; the opt-out stays, as a keyed hash of the address';

/** Adds `forget`. */
export function addForget(program: Command, parts: CommandParts): void {
  program
    .command('forget <email>')
    .description('erase leads, interests and order emails of an address; its opt-out stays as a keyed hash')
    .option('-y, --yes', 'erase without asking', false)
    .allowExcessArguments(false)
    .action(async (email: string, { yes }: { readonly yes: boolean }) => {
      process.exitCode = await forget(parts, email, yes);
    });
}
