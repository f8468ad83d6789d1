/** `fusegate orders …`: shows orders and payments to the operator. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { btcText } from '../checkout/money.js';
import { heldOf, orderStatuses, rowOf, type OrderRecord } from '../store/tables/order.js';
import { outputRow } from '../store/tables/orderRow.js';
import { decodeLedger, findOrderNamed, allOrders } from '../store/tables/orders.js';
import { allCardEvents } from '../store/tables/cardEvents.js';
import { entriesAfter } from '../store/entries.js';
import type { KeyFormat } from '../access/derive.js';
import { timeOrNull, timeText } from '../system/clock.js';
import { createLog } from '../system/log.js';
import { printable, tableRow } from './printable.js';
import { progressOn } from './progress.js';
import { withStore, type CommandContext, type CommandParts, type Ended } from './withStore.js';

/** Dependencies of the commands besides the store. */
export interface OrdersParts extends CommandParts {
  readonly keyFormat: KeyFormat;
  /** The stream that shows progress. */
  readonly progressTo: NodeJS.WriteStream;
}

/** An option of every command. */
interface Json {
  readonly json?: boolean;
}

/** An order without its secrets, for display. */
function shown(order: OrderRecord): Readonly<Record<string, string | number | boolean | null>> {
  const { network, cents, addressIndex, refunded } = rowOf(order);
  return {
    id: order.id,
    rail: order.rail,
    tier: order.tier,
    status: order.status,
    late: order.late,
    sat: Number(order.sat),
    btc: btcText(order.sat),
    cents: cents === null ? null : Number(cents),
    created_at: timeText(order.createdAtMs),
    expires_at: timeText(order.expiresAtMs),
    network,
    place: order.place,
    address_index: addressIndex,
    received: Number(heldOf(order) + refunded),
    refunded: Number(refunded),
    email: order.email,
    source: order.source,
    segment: order.segment,
    campaign: order.campaign,
    event_id: order.eventId,
    key: order.key,
    key_id: order.keyId,
    revealed_at: timeOrNull(order.revealedAtMs),
    claimed: order.claimed,
  };
}

/** The columns of the list and their widths. */
const columns = { id: 26, rail: 9, tier: 10, status: 9, sat: 9, created_at: 24, key: 9, email: 0 } as const;

const heading = tableRow(columns, Object.fromEntries(Object.keys(columns).map((name) => [name, name])));

interface ListOptions extends Json {
  readonly status?: string;
}

async function list(parts: OrdersParts, { store }: CommandContext, { json, status }: ListOptions): Ended {
  let count = 0;
  for await (const order of allOrders(store)) {
    if (status !== undefined && order.status !== status) continue;
    if (json === true) await parts.write(`${JSON.stringify(shown(order))}\n`);
    else await parts.write(`${count === 0 ? heading : ''}${tableRow(columns, shown(order))}`);
    count += 1;
  }
  if (count === 0)
    parts.printError(status === undefined ? 'There are no orders yet.' : `No order is ${status}.`);
  return 0;
}

/** The ledger's entries of an order. */
async function ledgerOf(
  { store }: CommandContext,
  id: string,
): Promise<readonly (readonly [string, number, string, string])[]> {
  const entries: (readonly [string, number, string, string])[] = [];
  for await (const { value } of entriesAfter(store, 'ledger', 0)) {
    const { orderId, change, unit, status, atMs } = decodeLedger(value);
    if (orderId === id) entries.push([timeText(atMs), change, unit, status]);
  }
  return entries;
}

async function show(parts: OrdersParts, context: CommandContext, id: string, { json }: Json): Ended {
  const order = await findOrderNamed(context.store, id);
  if (order === undefined) return { wrong: `There is no order ${id}. See: fusegate orders list` };
  const ledger = await ledgerOf(context, order.id);
  const members = shown(order);
  const { outputs } = rowOf(order);
  if (json === true) {
    await parts.write(`${JSON.stringify({ ...members, outputs: outputs.map(outputRow), ledger })}\n`);
    return 0;
  }
  const lines = Object.entries(members).map(
    ([name, value]) => `${name.padEnd(13)} ${printable(String(value ?? '-'))}\n`,
  );
  const received = outputs.map(({ txid, vout, sat, confirmations: depth }) => {
    return `output        ${printable(txid)}:${vout} ${sat} sat, ${depth} confirmations\n`;
  });
  const moves = ledger.map(([at, change, unit, status]) => {
    return `ledger        ${at} ${change > 0 ? '+' : ''}${change} ${unit}, ${status}\n`;
  });
  await parts.write([...lines, ...received, ...moves].join(''));
  return 0;
}

const afterMismatches =
  'Mend the setting that a reason names, start the server again, and send the event again in the dashboard ' +
  'of Stripe. ' +
  'Or pay the buyer back, or make a key by hand (fusegate keys create); do only one of these.';

/** Card payments that minted no key, and why. */
async function mismatches(parts: OrdersParts, { store }: CommandContext, { json }: Json): Ended {
  let count = 0;
  for await (const { id, type, about, reason, atMs } of allCardEvents(store)) {
    if (reason === null) continue;
    // Another event of the session may have given its key since.
    const order = await findOrderNamed(store, about);
    if (order !== undefined && order.key !== 'none') continue;
    count += 1;
    const at = timeText(atMs);
    await parts.write(
      json === true
        ? `${JSON.stringify({ event: id, type, about, reason, at })}\n`
        : `${at}  ${printable(about)}  ${printable(reason)}\n`,
    );
  }
  parts.printError(count === 0 ? 'Every card payment so far has given a key.' : afterMismatches);
  return 0;
}

/** The rails; loaded only by commands that ask their nodes. */
const loadRails = (): Promise<typeof import('../checkout/checkout.js')> => import('../checkout/checkout.js');

async function reconcile(parts: OrdersParts, context: CommandContext): Ended {
  const { openRails } = await loadRails();
  const opened = await openRails({ ...parts, ...context, log: createLog('silent') });
  if ('wrong' in opened) return opened;
  try {
    const wrong: string[] = [];
    for (const [name, rail] of Object.entries(opened.rails)) {
      const looked = await rail.reconcile({
        onFailed: (id) => {
          wrong.push(`${name}: order ${id} could not be looked up.`);
        },
      });
      if (looked === undefined) wrong.push(`${name}: its node, or the store, does not answer.`);
      else await parts.write(`${name}: ${looked} open ${looked === 1 ? 'order' : 'orders'} looked up\n`);
    }
    if (Object.keys(opened.rails).length === 0) return { wrong: 'No rail is configured here.' };
    return wrong.length === 0 ? 0 : { wrong: wrong.join('\n') };
  } finally {
    opened.close();
  }
}

interface RescanOptions {
  readonly from: number;
}

async function rescanAll(parts: OrdersParts, context: CommandContext, { from }: RescanOptions): Ended {
  const [{ openRails }, { rescan }] = await Promise.all([loadRails(), import('../checkout/onchain/scan.js')]);
  const opened = await openRails({ ...parts, ...context, log: createLog('silent') });
  if ('wrong' in opened) return opened;
  const { chain } = opened.nodes;
  const display = progressOn(parts.progressTo, 'addresses');
  try {
    if (chain === undefined) return { wrong: 'On-chain payments are not configured here.' };
    const progress = (asked: number, about: number): void => display.progress('Looking up', asked, about);
    const found = await rescan({ ...parts, ...context, ...chain, progress }, from);
    display.end();
    if ('reason' in found) return { wrong: `${found.reason}. Try again.` };
    const { addresses, changed, unowned, doubted } = found;
    await parts.write(`${addresses} addresses looked up, ${changed} orders changed\n`);
    for (const sentence of unowned) await parts.write(`${sentence}\n`);
    return doubted.length === 0 ? 0 : { wrong: doubted.join('\n') };
  } finally {
    display.end();
    opened.close();
  }
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number is needed');
  return Number(text);
}

/** Adds the commands to the program. */
export function addOrders(program: Command, parts: OrdersParts): void {
  const orders = program.command('orders').description('orders and their payments');
  const add = (name: string, description: string): Command =>
    orders.command(name).description(description).allowExcessArguments(false);
  const onStore = async (run: (context: CommandContext) => Ended): Promise<void> => {
    process.exitCode = await withStore(parts, run);
  };
  add('list', 'list orders')
    .addOption(new Option('--status <status>', 'only those of a status').choices(orderStatuses))
    .option('--json', 'print JSON, one object a line')
    .action((options: ListOptions) => onStore((context) => list(parts, context, options)));
  add(
    'show <id>',
    'show one order (its id, or its session at Stripe), its payments and its entries of the ledger',
  )
    .option('--json', 'print JSON')
    .action((id: string, options: Json) => onStore((context) => show(parts, context, id, options)));
  add('mismatches', 'list card payments that gave no key, and why')
    .option('--json', 'print JSON, one object a line')
    .action((options: Json) => onStore((context) => mismatches(parts, context, options)));
  add('reconcile', 'look up every open order at its node now').action(() =>
    onStore((context) => reconcile(parts, context)),
  );
  add('rescan', 'look up every on-chain address that was ever given out, and 20 beyond')
    .option('--from <index>', 'begin with the address of this index', wholeNumber, 0)
    .action((options: RescanOptions) => onStore((context) => rescanAll(parts, context, options)));
}
