/** `fusegate forget EMAIL`: erases what was stored about an address; its opt-out stays, as a keyed hash. */
import type { Command } from 'commander';
import { eraseEntries } from '../store/entries.js';
import { decodeInterest, encodeInterest, visitInterests } from '../store/interests.js';
import { decodeLead, encodeLead, visitLeads } from '../store/leads.js';
import { comparable, findOptout, forgetOptout } from '../store/optouts.js';
import { forgetOrderEmails, visitOrders } from '../store/orders.js';
import type { Reading } from '../store/store.js';
import { storeFailed, withStore, type CommandContext, type CommandParts } from './withStore.js';

/** What there is of an address. */
interface Found {
  readonly leads: number;
  readonly interests: number;
  /** Orders with that address. */
  readonly orders: number;
  readonly optout: 'none' | 'with address' | 'keyed hash';
}

/** White space around an address and the case of its letters make no difference. */
function normal(email: string): string {
  return comparable(email.trim());
}

async function find(context: CommandContext, email: string): Promise<Reading<Found>> {
  const { store, secrets } = context;
  let leads = 0;
  let interests = 0;
  let orders = 0;
  const count = (each: { readonly email: string }): number => (normal(each.email) === email ? 1 : 0);
  const failed =
    (await visitLeads(store, 0, (_, lead) => Promise.resolve(void (leads += count(lead))))) ??
    (await visitInterests(store, 0, (_, each) => Promise.resolve(void (interests += count(each))))) ??
    (await visitOrders(store, ({ email: given }) =>
      Promise.resolve(void (orders += count({ email: given ?? '' }))),
    ));
  if (failed !== undefined) return failed;
  const found = await findOptout(store, secrets, email);
  if (found.kind === 'unavailable') return found;
  const optout =
    found.value === undefined ? 'none' : found.value.optout.email === null ? 'keyed hash' : 'with address';
  return { kind: 'read', value: { leads, interests, orders, optout } };
}

async function erase(context: CommandContext, email: string): Promise<Reading<Found>> {
  const { store, newUnitId, secrets } = context;
  const isLead = (value: Uint8Array): boolean => normal(decodeLead(value)?.email ?? '') === email;
  const isInterest = (value: Uint8Array): boolean => normal(decodeInterest(value)?.email ?? '') === email;
  const leads = await eraseEntries(store, newUnitId, 'leads', isLead, encodeLead(undefined));
  if (leads.kind === 'unavailable') return leads;
  const gone = encodeInterest(undefined);
  const interests = await eraseEntries(store, newUnitId, 'interests', isInterest, gone);
  if (interests.kind === 'unavailable') return interests;
  const orders = await forgetOrderEmails(store, newUnitId, (each) => normal(each) === email);
  if (orders.kind === 'unavailable') return orders;
  const optout = await forgetOptout(store, newUnitId, secrets, email);
  if (optout.kind === 'unavailable') return optout;
  const value = {
    leads: leads.value,
    interests: interests.value,
    orders: orders.value,
    optout: optout.value ? 'with address' : 'none',
  } as const;
  return { kind: 'read', value };
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
    if (found.kind === 'unavailable') return storeFailed(found);
    const { value } = found;
    if (value.leads + value.interests + value.orders === 0 && value.optout !== 'with address') {
      await parts.write(`Nothing is stored about ${email}${value.optout === 'none' ? '' : kept}.\n`);
      return 0;
    }
    if (!yes) {
      if (parts.ask === undefined) return { wrong: 'Nobody can be asked here: add --yes to erase.' };
      const also = value.optout === 'with address' ? ', and the address of its opt-out' : '';
      const question = `Erase ${counted(value)} of ${email}${also}? This cannot be undone. [y/N] `;
      if (!(await parts.ask(question))) return { wrong: 'Nothing was erased.' };
    }
    const erased = await erase(context, email);
    if (erased.kind === 'unavailable') return storeFailed(erased);
    await parts.write(`Erased ${counted(erased.value)}${value.optout === 'none' ? '' : kept}.\n`);
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
