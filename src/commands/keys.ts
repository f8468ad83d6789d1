/** `fusegate keys create|list|show|usage|revoke|reissue`: manages API keys, also while a server runs. */
import type { Command } from 'commander';
import type { KeyFormat } from '../access/derive.js';
import {
  issueKey,
  orderOf,
  reissueKey,
  revokeKey,
  type IssuedKey,
  type IssueParts,
} from '../access/issue.js';
import type { TiersResult } from '../access/tiers.js';
import { isClaim } from '../checkout/order/book.js';
import { keyInUse } from '../checkout/order/orderKeys.js';
import { reissueOrderKey } from '../checkout/order/reissue.js';
import { tiers as tierNames } from '../contract/pricing.js';
import { findKeyById, allKeys, isOver, type KeyRecord } from '../store/tables/keys.js';
import { findOrderNamed } from '../store/tables/orders.js';
import type { Configuration } from '../configuration.js';
import { addKeyUsage } from './keyUsage.js';
import { beginReveal } from './reveal.js';
import { printable, tableRow } from './printable.js';
import { withStore, type CommandContext, type CommandParts, type Ended } from './withStore.js';
import { timeOrNull, timeText } from '../system/clock.js';

/** Dependencies of the commands besides the store. */
export interface KeysParts extends CommandParts {
  readonly keyFormat: KeyFormat;
  readonly readTiers: (configuration: Configuration) => TiersResult;
}

/** An option of every command. */
interface Json {
  readonly json?: boolean;
}

const longestTermDays = 36_500;

function issueParts({ clock, randomness, keyFormat }: KeysParts, context: CommandContext): IssueParts {
  const { store, secrets } = context;
  return { store, clock, randomness, secret: secrets[0], format: keyFormat };
}

function stateOf(key: KeyRecord, nowMs: number): string {
  if (key.status !== 'active') return key.status;
  return isOver(key, nowMs) ? 'expired' : 'active';
}

/** A key without its secrets, for display. */
function shown(key: KeyRecord, nowMs: number): Readonly<Record<string, string | null>> {
  return {
    id: key.id,
    tier: key.tier,
    status: stateOf(key, nowMs),
    hint: key.hint,
    origin: key.origin,
    issued_at: timeText(key.issuedAtMs),
    expires_at: timeOrNull(key.expiresAtMs),
    changed_at: timeText(key.changedAtMs),
    reason: key.reason,
    replaces: key.replaces,
    replaced_by: key.replacedBy,
    sha256: Buffer.from(key.hash).toString('hex'),
  };
}

function issuedText({ key, rawKey }: Pick<IssuedKey, 'key' | 'rawKey'>, json: boolean): string {
  if (json) return `${JSON.stringify({ ...shown(key, key.issuedAtMs), api_key: rawKey })}\n`;
  const end = key.expiresAtMs === null ? 'without an end' : `valid until ${timeText(key.expiresAtMs)}`;
  const shownOnce = 'It is shown this once; only its hash is kept:';
  return `Key ${key.id}, tier ${key.tier}, ${end}. ${shownOnce}\n${rawKey}\n`;
}

interface CreateOptions extends Json {
  readonly tier: string;
  readonly termDays?: string;
  readonly note: string;
}

async function create(parts: KeysParts, context: CommandContext, options: CreateOptions): Ended {
  const read = parts.readTiers(context.configuration);
  if ('errors' in read) return { wrong: read.errors.join('\n') };
  const { tier, note: origin, json } = options;
  if (!tierNames.some((name) => name === tier)) {
    return { wrong: `There is no tier ${tier}. The tiers are ${tierNames.join(', ')}.` };
  }
  const { termDays: given } = options;
  const termDays = given === undefined ? read.tiers.term_days : /^\d+$/.test(given) ? Number(given) : NaN;
  if (!(termDays <= longestTermDays)) {
    return { wrong: `--term-days must be a whole number from 0 (no end) to ${longestTermDays}.` };
  }
  const text = json === true ? '{' : 'Key ';
  const unseen = await beginReveal(parts, text);
  if (unseen !== undefined) return { wrong: unseen };
  const issued = await issueKey(issueParts(parts, context), { tier, termDays, origin });
  context.named(issued.key.id);
  await parts.write(issuedText(issued, json === true).slice(text.length));
  return 0;
}

/** The columns of the list and their widths. */
const columns = { id: 24, tier: 10, status: 9, expires_at: 24, hint: 12, origin: 0 } as const;

const heading = tableRow(columns, {
  id: 'id',
  tier: 'tier',
  status: 'status',
  expires_at: 'ends',
  hint: 'key',
  origin: 'for',
});

async function list(parts: KeysParts, { store }: CommandContext, { json }: Json): Ended {
  const nowMs = parts.clock.wallMs();
  let count = 0;
  for await (const key of allKeys(store)) {
    const cells = shown(key, nowMs);
    if (json === true) await parts.write(`${JSON.stringify(cells)}\n`);
    else await parts.write(`${count === 0 ? heading : ''}${tableRow(columns, cells)}`);
    count += 1;
  }
  if (count === 0) parts.printError('There are no keys yet. Make one: fusegate keys create --tier developer');
  return 0;
}

function absent(id: string): { readonly wrong: string } {
  return { wrong: `There is no key ${id}. See: fusegate keys list` };
}

async function show(parts: KeysParts, { store }: CommandContext, id: string, { json }: Json): Ended {
  const found = await findKeyById(store, id);
  if (found === undefined) return absent(id);
  const members = shown(found, parts.clock.wallMs());
  const lines = Object.entries(members).map(
    ([name, value]) => `${name.padEnd(11)} ${printable(value ?? '-')}\n`,
  );
  await parts.write(json === true ? `${JSON.stringify(members)}\n` : lines.join(''));
  return 0;
}

interface RevokeOptions extends Json {
  readonly reason: string;
}

async function revoke(
  parts: KeysParts,
  context: CommandContext,
  id: string,
  { reason, json }: RevokeOptions,
): Ended {
  const change = await revokeKey({ ...context, clock: parts.clock }, id, reason);
  if (change.kind === 'absent') return absent(id);
  if (json === true) {
    await parts.write(`${JSON.stringify(shown(change.key, parts.clock.wallMs()))}\n`);
    return 0;
  }
  const done = 'is revoked; a running server refuses it within a second';
  await parts.write(`Key ${id} ${change.kind === 'unchanged' ? 'was revoked before' : done}.\n`);
  return 0;
}

async function reissue(parts: KeysParts, context: CommandContext, id: string, { json }: Json): Ended {
  const found = await findKeyById(context.store, id);
  const isSold = (await orderOf(context.store, found)) !== undefined;
  const isUsable = found !== undefined && stateOf(found, parts.clock.wallMs()) === 'active';
  const isRefused = !isUsable || found.replacedBy !== null || isSold;
  const text = isRefused ? '' : json === true ? '{' : 'Key ';
  const unseen = await beginReveal(parts, text);
  if (unseen !== undefined) return { wrong: unseen };
  const outcome = await reissueKey(issueParts(parts, context), id);
  if (outcome.kind === 'absent') return absent(id);
  if (outcome.kind === 'unchanged') {
    const state = stateOf(outcome.key, parts.clock.wallMs());
    return { wrong: `Key ${id} is ${state} and cannot be reissued. Create another: fusegate keys create` };
  }
  if (outcome.kind === 'replaced') {
    const { by } = outcome;
    return {
      wrong: `Key ${id} was replaced by its holder. Reissue its successor: fusegate keys reissue ${by}`,
    };
  }
  if (outcome.kind === 'sold') {
    const { orderId } = outcome;
    const other = 'Who has lost that, too, gets another: fusegate keys revoke, fusegate keys create.';
    return {
      wrong: `Key ${id} was sold: fusegate keys reissue --order ${orderId} --claim TOKEN. ${other}`,
    };
  }
  const revoked = json === true ? '' : `Key ${id} is revoked.\n`;
  await parts.write(`${revoked}${issuedText(outcome, json === true)}`.slice(text.length));
  return 0;
}

interface ReissueOptions extends Json {
  readonly order?: string;
  readonly claim?: string;
  readonly force?: boolean;
}

async function reissueAny(
  parts: KeysParts,
  context: CommandContext,
  id: string | undefined,
  options: ReissueOptions,
): Ended {
  const { order, claim, force = false } = options;
  if (id !== undefined && order === undefined && claim === undefined && !force) {
    return reissue(parts, context, id, options);
  }
  if (id !== undefined || order === undefined || (claim === undefined) !== force) {
    return { wrong: 'Name a key by its id, or an order by --order and --claim (or --force).' };
  }
  const found = await findOrderNamed(context.store, order);
  const isClaimed = found !== undefined && (claim === undefined || isClaim(found, claim));
  const key = isClaimed ? await keyInUse(context, found, parts.clock.wallMs()) : undefined;
  const text = key === undefined ? '' : options.json === true ? '{' : 'The key ';
  const unseen = await beginReveal(parts, text);
  if (unseen !== undefined) return { wrong: unseen };
  const outcome = await reissueOrderKey({ ...parts, ...context }, found?.id ?? '', claim ?? null);
  if (outcome.kind === 'absent') {
    return { wrong: force ? `There is no order ${order}.` : 'There is no such order with this claim token.' };
  }
  if (outcome.kind === 'without key') {
    return { wrong: `Order ${order} is ${outcome.order.status} and has no key in use.` };
  }
  const revoked = options.json === true ? '' : `The key of order ${order} so far is revoked.\n`;
  await parts.write(`${revoked}${issuedText(outcome, options.json === true)}`.slice(text.length));
  return 0;
}

/** Adds the commands to the program. */
export function addKeys(program: Command, parts: KeysParts): void {
  const keys = program.command('keys').description('make, list and end API keys');
  const add = (name: string, description: string): Command =>
    keys
      .command(name)
      .description(description)
      .option('--json', 'print JSON, one object a line')
      .allowExcessArguments(false);
  const onStore = async (run: (context: CommandContext) => Ended): Promise<void> => {
    process.exitCode = await withStore(parts, run);
  };
  add('create', 'make a key and print it, once')
    .requiredOption('--tier <tier>', `tier whose limits apply: ${tierNames.join(', ')}`)
    .option('--term-days <days>', 'days until it ends, 0: never (default: term_days of the tiers)')
    .option('--note <text>', 'what it is for', 'operator')
    .action((options: CreateOptions) => onStore((context) => create(parts, context, options)));
  add('list', 'list all keys; the keys themselves are not shown').action((options: Json) =>
    onStore((context) => list(parts, context, options)),
  );
  add('show <id>', 'show one key').action((id: string, options: Json) =>
    onStore((context) => show(parts, context, id, options)),
  );
  addKeyUsage(keys, parts);
  add('revoke <id>', 'end a key for good')
    .option('--reason <text>', 'why', 'revoked by the operator')
    .action((id: string, options: RevokeOptions) =>
      onStore((context) => revoke(parts, context, id, options)),
    );
  add('reissue [id]', 'end a key and print a new one of the same tier and end')
    .option('--order <id>', 'the key of an order, or of a session at Stripe, whose maker lost it')
    .option('--claim <token>', 'the claim token that proves who made the order')
    .option('--force', 'in place of it: you have seen yourself whose payment it is, as at Stripe')
    .action((id: string | undefined, options: ReissueOptions) =>
      onStore((context) => reissueAny(parts, context, id, options)),
    );
}
