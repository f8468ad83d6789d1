/** `fusegate backup DIR` and `fusegate restore DIR` (docs/backup.md). */
import type { Command } from 'commander';
import type { KeyFormat } from '../access/derive.js';
import type { Rails } from '../checkout/checkout.js';
import type { Recovery } from '../checkout/recover.js';
import { checkBackup, makeBackup, readManifest, restoreBackup, type Manifest } from '../store/backup.js';
import type { Progress } from '../store/copy.js';
import type { Engine, StoreLocation } from '../store/engine.js';
import { createStore } from '../store/groupCommit.js';
import { beginEntry } from '../store/tables/history.js';
import { parseStoreUrl } from '../store/open.js';
import { findSigned, writeSigned } from '../store/tables/receiptLog.js';
import { fingerprintsKey, secretsFor } from '../store/tables/secrets.js';
import { unitIds } from '../store/unitId.js';
import type { Configuration } from '../configuration.js';
import { timeText } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { changeOf } from './changes.js';
import { progressOn } from './progress.js';
import type { ServeParts } from './serve.js';
import { withConfiguration, type CommandContext, type CommandParts, type Ended } from './withStore.js';
import { whenUnavailable, type Store } from '../store/store.js';

/** Dependencies of the commands. */
export interface BackupParts extends CommandParts, Pick<ServeParts, 'readTiers'> {
  readonly version: string;
  readonly keyFormat: KeyFormat;
  readonly log: Log;
  /** Fetches a page of a rate source; rejects if it does not arrive in time. */
  readonly getPage: (url: string) => Promise<string>;
  /** Lowers the priority of this process for good. */
  readonly lowerPriority: () => void;
  /** Locks the data folder; returns a sentence if that fails. */
  readonly lockFolder: (folder: string) => string | undefined;
  /** The stream that shows progress. */
  readonly progressTo: NodeJS.WriteStream;
}

/** The configured store. */
interface Place {
  readonly configuration: Configuration;
  readonly location: StoreLocation;
}

/** Reads the configuration and runs a command on the store's place. */
function withPlace(parts: BackupParts, command: (place: Place) => Ended): Promise<number> {
  return withConfiguration(parts, async (configuration) => {
    const parsed = parseStoreUrl(configuration.storeUrl);
    if ('wrong' in parsed) return { wrong: `STORE_URL ${parsed.wrong}.` };
    return command({ configuration, location: parsed.location });
  });
}

/** Runs a step on the store's engine with a progress display, and closes both. */
async function withEngine<Result>(
  parts: BackupParts,
  { location }: Place,
  step: (engine: Engine, progress: Progress) => Promise<Result>,
): Promise<Result | { readonly wrong: string }> {
  const engine = await whenUnavailable(location.open(parts), ({ message }) => ({ wrong: message }));
  if ('wrong' in engine) return engine;
  const display = progressOn(parts.progressTo);
  try {
    return await step(engine, display.progress);
  } finally {
    display.end();
    await engine.close();
  }
}

/** An option of both commands. */
interface Json {
  readonly json?: boolean;
}

function size(bytes: number): string {
  return bytes < 10_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(0)} MB`;
}

async function backup(parts: BackupParts, folder: string, place: Place, { json }: Json): Ended {
  const missing = place.location.missing();
  if (missing !== undefined) return { wrong: missing.reason };
  const made_at = timeText(parts.clock.wallMs());
  // A server on the same machine serves meanwhile.
  parts.lowerPriority();
  const outcome = await withEngine(parts, place, (engine, progress) =>
    makeBackup(engine, folder, { fusegate: parts.version, made_at }, progress),
  );
  if ('wrong' in outcome) return outcome;
  if (outcome.kind === 'failed') return { wrong: outcome.reason };
  const { manifest } = outcome;
  const told =
    `Backed up ${manifest.records} records (${size(manifest.bytes)}) of ${place.location.name} ` +
    `to ${folder}.\nThe master secret is not in it: keep a copy of that apart.`;
  await parts.write(`${json === true ? JSON.stringify({ folder, ...manifest }) : told}\n`);
  return 0;
}

/** Checks a backup, writes it to an empty engine and brings its orders up to date. */
async function fill(
  parts: BackupParts,
  folder: string,
  manifest: Manifest,
  { configuration }: Place,
  engine: Engine,
  progress: Progress,
): Promise<Told | { readonly wrong: string }> {
  let named: Uint8Array | undefined;
  const wrong = await checkBackup(folder, manifest, progress, ({ key, value }) => {
    if (fingerprintsKey.equals(key)) named = Buffer.from(value);
  });
  if (wrong !== undefined) return { wrong };
  const found = secretsFor(named, configuration);
  if ('missing' in found) return { wrong: `${found.missing.join('\n')}\nNothing was written.` };
  const [first, ...others] = found.secrets;
  const store = createStore(engine, unitIds(parts.clock, parts.randomness));
  // Without a secret no order was ever made.
  const secrets = first === undefined ? undefined : ([first, ...others] as const);
  const context = secrets && { ...parts, store, secrets, configuration, named: () => undefined };
  const unusable = context && (await wrongSetting(context));
  if (unusable !== undefined) return { wrong: `${unusable}\nNothing was written.` };
  let told: Told = { done: [], lost: [], answered: true };
  const restored = await restoreBackup(folder, manifest, engine, progress, async () => {
    await markRestored(store);
    await recordRestore(parts, store);
    if (context === undefined) return undefined;
    const outcome = await bringUpToDate(context, Date.parse(manifest.made_at), progress);
    if ('wrong' in outcome) return outcome.wrong;
    told = outcome;
    return undefined;
  });
  if (restored.kind === 'copied') return told;
  const left = restored.kind === 'failed' ? ' The store is unfinished, and no server will use it.' : '';
  return { wrong: `${restored.reason}${left}` };
}

/** Makes the log of receipts wait for the operator after a restore: it may have grown since the backup. */
async function markRestored(store: Store): Promise<void> {
  const found = await findSigned(store);
  if (found === undefined) return;
  await store.commit([writeSigned(found.record, { ...found.signed, restored: true })]);
}

/** Records the restore in the history of the restored store. */
async function recordRestore({ called, operator, clock }: BackupParts, store: Store): Promise<void> {
  const change = changeOf(called());
  if (change === undefined) return;
  const entry = await beginEntry(store, { ...change, ...operator, atMs: clock.wallMs() });
  await entry.end('done', change.object);
}

/** Says which setting of the checkout cannot be used, before hours of writing; asks no node. */
async function wrongSetting(parts: BackupParts & CommandContext): Promise<string | undefined> {
  const read = parts.readTiers(parts.configuration);
  if ('errors' in read) return read.errors.join('\n');
  const { openRails } = await import('../checkout/checkout.js');
  const opened = await openRails(parts);
  if ('wrong' in opened) return opened.wrong;
  opened.close();
  return undefined;
}

/** Updates the orders of a restored store from their nodes. */
async function bringUpToDate(
  parts: BackupParts & CommandContext,
  madeAtMs: number,
  progress: Progress,
): Promise<Told | { readonly wrong: string }> {
  const { openCard, openRails } = await import('../checkout/checkout.js');
  const { recoverCards, recoverOrders } = await import('../checkout/recover.js');
  const read = parts.readTiers(parts.configuration);
  if ('errors' in read) return { wrong: read.errors.join('\n') };
  const opened = await openRails(parts);
  if ('wrong' in opened) return opened;
  try {
    const { chain, lnd } = opened.nodes;
    const recovered = await recoverOrders({
      ...parts,
      chain,
      lnd,
      madeAtMs,
      progress: (asked, about) => progress('search chain', asked, about, 'addresses'),
    });
    const reconciled = await lookUpOpen(opened.rails);
    const { card } = await openCard({ ...parts, tiers: read.tiers });
    const cards = await recoverCards(card, madeAtMs, parts.clock.wallMs());
    const all = [recovered, reconciled, cards];
    return {
      done: all.flatMap(({ done }) => done),
      lost: all.flatMap(({ lost }) => lost),
      answered: all.every(({ answered }) => answered),
    };
  } finally {
    opened.close();
  }
}

/** Looks every open order up at its node. */
async function lookUpOpen(rails: Rails['rails']): Promise<Told> {
  const done: string[] = [];
  const lost: string[] = [];
  for (const [name, rail] of Object.entries(rails)) {
    const looked = await rail.reconcile({
      onFailed: (id) => {
        lost.push(`${name}: order ${id} could not be looked up. The server tries it again.`);
      },
    });
    if (looked === undefined) lost.push(`${name}: its node does not answer. ${later}`);
    else if (looked > 0) {
      const orders = looked === 1 ? 'order was' : 'orders were';
      done.push(`${name}: ${looked} open ${orders} looked up.`);
    }
  }
  return { done, lost, answered: lost.length === 0 };
}

/** Outcome for the orders, as sentences. */
interface Told extends Pick<Recovery, 'answered'> {
  readonly done: readonly string[];
  /** Orders that cannot be recovered, or whose state is unknown. */
  readonly lost: readonly string[];
}

const later = 'The server looks the open orders up when it starts.';

/** A restore also takes back what was erased or withheld. */
const undone =
  'What was erased, withheld or removed later is back, and removed webhooks get events again: before a ' +
  'server uses the store, run fusegate forget, fragments hide and webhooks remove again.';

/** The last sentence if a node or Stripe did not answer. */
function unfinished(folder: string): string {
  return (
    'Not everything was done, because not everybody answered. Before a server uses the store, empty it and ' +
    `run again: fusegate restore ${folder}. Or run fusegate orders reconcile later, and look for the ` +
    'payments of lost orders yourself.'
  );
}

async function restore(parts: BackupParts, folder: string, place: Place, { json }: Json): Ended {
  const read = readManifest(folder);
  if ('wrong' in read) return read;
  const locked = parts.lockFolder(place.configuration.dataFolder);
  if (locked !== undefined) return { wrong: locked };
  const outcome = await withEngine(parts, place, (engine, progress) =>
    fill(parts, folder, read.manifest, place, engine, progress),
  );
  if ('wrong' in outcome) return outcome;
  const { manifest } = read;
  const told = [
    `Restored ${manifest.records} records into ${place.location.name}.`,
    `They are as they were at ${manifest.made_at}; what was acknowledged later is not among them.`,
    undone,
    ...outcome.done,
    ...outcome.lost,
    ...(outcome.answered ? [] : [unfinished(folder)]),
  ];
  await parts.write(
    json === true ? `${JSON.stringify({ folder, ...manifest, ...outcome })}\n` : `${told.join('\n')}\n`,
  );
  return outcome.answered ? 0 : 1;
}

/** Adds the commands to the program. */
export function addBackup(program: Command, parts: BackupParts): void {
  const add = (
    name: string,
    description: string,
    run: (parts: BackupParts, folder: string, place: Place, options: Json) => Ended,
  ): void => {
    program
      .command(`${name} <folder>`)
      .description(description)
      .option('--json', 'print JSON')
      .allowExcessArguments(false)
      .action(async (folder: string, options: Json) => {
        process.exitCode = await withPlace(parts, (place) => run(parts, folder, place, options));
      });
  };
  add(
    'backup',
    'write the whole store, as it is at one moment, to a new folder, also while it serves',
    backup,
  );
  add('restore', 'write a backup to an empty store, while no server runs', restore);
}
