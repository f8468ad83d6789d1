/** `fusegate log …`: audits the public log of receipts from outside, and manages it for its operator. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Configuration } from '../configuration.js';
import { auditLog, type AuditParts } from '../log/audit.js';
import { retireKey } from '../log/keyFile.js';
import { parseVerifierKey, type VerifierKey } from '../log/note.js';
import { seenFile } from '../log/seen.js';
import { logKeyName } from '../log/settings.js';
import { keyless } from '../log/signer.js';
import { findSigned, writeSigned } from '../store/tables/receiptLog.js';
import { reasonOf } from '../system/reason.js';
import { notCosigned, readTrust, type Trust, type TrustOptions } from './logTrust.js';
import { addLogStamp, type StampCommandParts } from './logStamp.js';
import { addLogWitness, type WitnessCommandParts } from './logWitness.js';
import { progressOn } from './progress.js';
import { stripEnd } from '../system/strip.js';
import { withStore, type CommandContext } from './withStore.js';

/** Dependencies of the commands besides the store. */
export interface LogCommandParts extends StampCommandParts, WitnessCommandParts {
  readonly tree: AuditParts['tree'];
  /** The bytes of an answer with status 200. @throws Error with the reason */
  readonly getBytes: (url: string) => Promise<Buffer>;
  readonly progressTo: NodeJS.WriteStream;
  /** Locks the data folder; returns a sentence if that fails. */
  readonly lockFolder: (folder: string) => string | undefined;
}

type Ended = Promise<number | { readonly wrong: string }>;

interface AuditOptions extends TrustOptions {
  readonly since?: string;
}

/** The trusted key whose name is the log's; the first one if none is. */
async function keyOf({ keys }: Trust, fetch: AuditParts['fetch']): Promise<VerifierKey | undefined> {
  if (keys.length < 2) return keys[0];
  const [origin] = (await fetch('checkpoint')).toString().split('\n');
  return keys.find(({ name }) => name === origin) ?? keys[0];
}

async function audit(parts: LogCommandParts, place: string, options: AuditOptions): Ended {
  const display = progressOn(parts.progressTo, 'receipts');
  const trust = readTrust(options);
  if ('wrong' in trust) return trust;
  const { since } = options;
  try {
    const base = `${stripEnd(place, '/')}/`;
    const fetch = (path: string): Promise<Buffer> => parts.getBytes(base + path);
    const served = trust.keys.length > 0 ? undefined : (await fetch('log/vkey')).toString();
    const key = served === undefined ? await keyOf(trust, fetch) : parseVerifierKey(served);
    if (key === undefined) return { wrong: 'That is not a verifier key of an Ed25519 log.' };
    const progress = (leaves: number, of: number): void => display.progress('audit', leaves, of);
    const kept = since === undefined ? undefined : readFileSync(since, 'utf8');
    const outcome = await auditLog({ tree: parts.tree, fetch, progress }, key, kept);
    display.end();
    if ('wrong' in outcome) return outcome;
    const lacking = notCosigned(trust, outcome.note);
    if (lacking !== undefined) return { wrong: `The log's checkpoint ${lacking}.` };
    const { origin, size, root } = outcome.checkpoint;
    const own =
      served === undefined ? '' : ' The key came from the server itself: keep it for the next audit.';
    const cosigned = trust.policy === undefined ? '' : ' It is cosigned as the policy wants.';
    const encoded = Buffer.from(root).toString('base64');
    await parts.write(`${origin}: ${size} receipts, root ${encoded}. All hashes fit.${cosigned}${own}\n`);
    return 0;
  } catch (error) {
    return { wrong: `The log cannot be read (${reasonOf(error)}).` };
  } finally {
    display.end();
  }
}

interface ResolveOptions {
  readonly continue: boolean;
  readonly newKey: boolean;
}

/** Puts the old key aside; returns what happened to it, and where the next one comes from. */
function retire({ dataFolder, logKeySeed }: Configuration, nowMs: number): string {
  const isFile = logKeySeed === null && retireKey(dataFolder, String(nowMs));
  seenFile(dataFolder, String(process.pid)).remove();
  return isFile
    ? 'The old key was put aside. At its next start the server makes a new key and signs with it.'
    : `The old key was retired. If the server has it by ${logKeyName}, set another one before it starts.`;
}

async function resolve(parts: LogCommandParts, context: CommandContext, options: ResolveOptions): Ended {
  if (options.continue === options.newKey) return { wrong: 'Give either --continue or --new-key.' };
  const { store, configuration } = context;
  const found = await findSigned(store);
  if (found === undefined) return { wrong: 'The log of this store has no checkpoint yet.' };
  const { signed, record } = found;
  if (options.continue && !signed.restored) {
    return { wrong: 'Nothing to decide: the store was not restored since its last checkpoint.' };
  }
  // A server that runs here has the old key in memory until it ends, and would write log-seen again.
  const locked = options.newKey ? parts.lockFolder(configuration.dataFolder) : undefined;
  if (locked !== undefined) return { wrong: locked };
  const next = options.newKey ? keyless(signed) : signed;
  const outcome = await store.commit([writeSigned(record, { ...next, restored: false })]);
  if (outcome.kind !== 'done') return { wrong: 'A checkpoint was signed meanwhile. Run it again.' };
  await parts.write(
    options.newKey
      ? `${retire(configuration, parts.clock.wallMs())} Tell whoever checks this log its new verifier key ` +
          '(GET /log/vkey).\n'
      : 'Checkpoints are signed again, from the one that the store has.\n',
  );
  return 0;
}

/** Adds the commands to the program. */
export function addLog(program: Command, parts: LogCommandParts): void {
  const log = program
    .command('log')
    .description('audit a log of receipts, decide about your own, stamp it, and be a witness of others');
  log
    .command('audit <url>')
    .description('read a whole log, recompute all its hashes and compare them')
    .option('--vkey <key>', 'verifier key of the log; the server is asked where it is left out')
    .option('--policy <file>', 'policy with keys of logs and the witnesses that must have cosigned')
    .option('--since <file>', 'a checkpoint that you kept: the log must still begin with it')
    .allowExcessArguments(false)
    .action(async (url: string, options: AuditOptions) => {
      const ended = await audit(parts, url, options);
      if (typeof ended !== 'number') parts.printError(ended.wrong);
      process.exitCode = typeof ended === 'number' ? ended : 1;
    });
  addLogWitness(log, parts);
  addLogStamp(log, parts);
  log
    .command('resolve')
    .description('decide how the log continues after the store was restored or went back')
    .option('--continue', 'nothing was signed after the state that the store has', false)
    .option('--new-key', 'something may have been signed: start a new log with another key', false)
    .allowExcessArguments(false)
    .action(async (options: ResolveOptions) => {
      process.exitCode = await withStore(parts, (context) => resolve(parts, context, options));
    });
}
