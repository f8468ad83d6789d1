/** `fusegate keys create|list|show|revoke|reissue`: the operator's hand on API keys, also while a server runs. */
import type { Command } from 'commander';
import { issueKey, reissueKey, revokeKey, type IssuedKey, type IssueParts } from '../access/issue.js';
import { eachKey, findKeyById, type KeyRecord } from '../store/keys.js';
import type { Console } from './console.js';

/** What the commands need; made when one of them runs. */
export interface KeysParts extends IssueParts {
  /** Names of the tiers that can be issued. */
  readonly tiers: readonly string[];
  /** Days until a new key ends; 0: never. */
  readonly termDays: number;
}

/** Runs a step with its parts and lets them go; resolves to the exit code. */
export type WithParts<Parts> = (step: (parts: Parts) => Promise<number>) => Promise<void>;

function time(ms: number): string {
  return new Date(ms).toISOString();
}

function stateOf(key: KeyRecord, nowMs: number): string {
  if (key.status !== 'active') return key.status;
  return key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? 'expired' : 'active';
}

/** A key as programs read it (`--json`). */
function jsonOf(key: KeyRecord, nowMs: number): Readonly<Record<string, string | null>> {
  return {
    id: key.id,
    tier: key.tier,
    status: stateOf(key, nowMs),
    hint: key.hint,
    origin: key.origin,
    issued_at: time(key.issuedAtMs),
    expires_at: key.expiresAtMs === null ? null : time(key.expiresAtMs),
    changed_at: time(key.changedAtMs),
    reason: key.reason,
    sha256: Buffer.from(key.hash).toString('hex'),
  };
}

function printIssued({ key, rawKey }: IssuedKey, { print }: Console, json: boolean): void {
  if (json) {
    print(JSON.stringify({ ...jsonOf(key, key.issuedAtMs), api_key: rawKey }));
    return;
  }
  const end = key.expiresAtMs === null ? 'without an end' : `valid until ${time(key.expiresAtMs)}`;
  print(`Key ${key.id}, tier ${key.tier}, ${end}. It is shown this once; only its hash is kept:`);
  print(rawKey);
}

interface CreateOptions {
  readonly tier: string;
  readonly termDays?: string;
  readonly note: string;
  readonly json?: boolean;
}

async function create(options: CreateOptions, parts: KeysParts, console: Console): Promise<number> {
  if (!parts.tiers.includes(options.tier)) {
    console.printError(`There is no tier ${options.tier}. The tiers are: ${parts.tiers.join(', ')}.`);
    return 2;
  }
  const termDays = options.termDays === undefined ? parts.termDays : Number(options.termDays);
  if (!Number.isInteger(termDays) || termDays < 0 || termDays > 36_500) {
    console.printError('--term-days must be a whole number from 0 (no end) to 36500.');
    return 2;
  }
  const issued = await issueKey(parts, { tier: options.tier, termDays, origin: options.note });
  if (issued.kind === 'unavailable') return console.unavailable(issued);
  printIssued(issued, console, options.json === true);
  return 0;
}

async function list(json: boolean, parts: KeysParts, console: Console): Promise<number> {
  const nowMs = parts.clock.wallMs();
  let count = 0;
  for await (const key of eachKey(parts.store)) {
    if ('kind' in key) return console.unavailable(key);
    if (json) console.print(JSON.stringify(jsonOf(key, nowMs)));
    else {
      const end = key.expiresAtMs === null ? '-' : time(key.expiresAtMs);
      if (count === 0) console.print(row('id', 'tier', 'status', 'ends', 'key', 'origin'));
      console.print(row(key.id, key.tier, stateOf(key, nowMs), end, key.hint, key.origin));
    }
    count += 1;
  }
  if (count === 0) console.printError('There are no keys yet. Make one: fusegate keys create --tier TIER');
  return 0;
}

function row(id: string, tier: string, status: string, end: string, hint: string, origin: string): string {
  const cells = [id.padEnd(24), tier.padEnd(10), status.padEnd(9), end.padEnd(24), hint.padEnd(12), origin];
  return cells.join('  ').trimEnd();
}

async function show(id: string, json: boolean, parts: KeysParts, console: Console): Promise<number> {
  const found = await findKeyById(parts.store, id);
  if (found.kind === 'unavailable') return console.unavailable(found);
  if (found.value === undefined) return absent(id, console);
  const shown = jsonOf(found.value, parts.clock.wallMs());
  if (json) console.print(JSON.stringify(shown));
  else for (const [name, value] of Object.entries(shown)) console.print(`${name.padEnd(11)} ${value ?? '-'}`);
  return 0;
}

function absent(id: string, { printError }: Console): number {
  printError(`There is no key ${id}. See: fusegate keys list`);
  return 1;
}

async function revoke(id: string, reason: string, parts: KeysParts, console: Console): Promise<number> {
  const change = await revokeKey(parts, id, reason);
  if (change.kind === 'unavailable') return console.unavailable(change);
  if (change.kind === 'absent') return absent(id, console);
  const was = change.kind === 'unchanged';
  console.print(
    was ? `Key ${id} was revoked before.` : `Key ${id} is revoked; every worker refuses it within 1 s.`,
  );
  return 0;
}

async function reissue(id: string, json: boolean, parts: KeysParts, console: Console): Promise<number> {
  const outcome = await reissueKey(parts, id);
  if (outcome.kind === 'unavailable') return console.unavailable(outcome);
  if (outcome.kind === 'absent') return absent(id, console);
  if (outcome.kind === 'unchanged') {
    console.printError(
      `Key ${id} is revoked; a revoked key is not made anew. Make another: fusegate keys create`,
    );
    return 1;
  }
  if (!json) console.print(`Key ${id} is revoked.`);
  printIssued(outcome, console, json);
  return 0;
}

/** Adds the commands to the program. */
export function addKeysCommands(program: Command, withParts: WithParts<KeysParts>, console: Console): void {
  const keys = program.command('keys').description('make, list and end API keys');
  keys
    .command('create')
    .description('make a key and print it, once')
    .requiredOption('--tier <tier>', 'tier whose limits apply')
    .option('--term-days <days>', 'days until it ends; 0: never (default: term_days of the tiers)')
    .option('--note <text>', 'what it is for', 'operator')
    .option('--json', 'print one JSON object')
    .action((options: CreateOptions) => withParts((parts) => create(options, parts, console)));
  keys
    .command('list')
    .description('list all keys, without what opens anything')
    .option('--json', 'print one JSON object a line')
    .action((options: { json?: boolean }) =>
      withParts((parts) => list(options.json === true, parts, console)),
    );
  keys
    .command('show <id>')
    .description('show one key')
    .option('--json', 'print one JSON object')
    .action((id: string, options: { json?: boolean }) =>
      withParts((parts) => show(id, options.json === true, parts, console)),
    );
  keys
    .command('revoke <id>')
    .description('end a key for good')
    .option('--reason <text>', 'why', 'revoked by the operator')
    .action((id: string, options: { reason: string }) =>
      withParts((parts) => revoke(id, options.reason, parts, console)),
    );
  keys
    .command('reissue <id>')
    .description('end a key and print a new one of the same tier and end')
    .option('--json', 'print one JSON object')
    .action((id: string, options: { json?: boolean }) =>
      withParts((parts) => reissue(id, options.json === true, parts, console)),
    );
}
