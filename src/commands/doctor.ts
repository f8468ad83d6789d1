/** `fusegate doctor`: reads the configuration and the store, and reports what is ready and what is not. */
import { rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { accessSentence } from '../access/mode.js';
import type { TiersResult } from '../access/tiers.js';
import { unfinished, type ReadyResponse } from '../contract/info.js';
import type { PricingResponse } from '../contract/pricing.js';
import type { InstalledModel } from '../models/embedder.js';
import { defaultModel, type FoundModels } from '../models/modelFolder.js';
import type { Engine, StoreLocation } from '../store/engine.js';
import { createStore } from '../store/groupCommit.js';
import { whenUnreadable } from '../store/table.js';
import { allKeys } from '../store/tables/keys.js';
import { whenUnavailable, StoreUnavailable, type Store } from '../store/store.js';
import { parseStoreUrl } from '../store/open.js';
import { unfinishedSource } from '../store/copy.js';
import { missingSecrets, secretsPlace } from '../store/tables/secrets.js';
import { unitIds } from '../store/unitId.js';
import { readConfiguration, type Configuration } from '../configuration.js';
import type { Log } from '../system/log.js';
import { reasonOf } from '../system/reason.js';
import { settingsFileVariable } from '../system/settingsFile.js';
import { syncPath } from '../system/sync.js';
import { exposures } from './exposure.js';
import { finding, type Finding } from './finding.js';
import { logKeyFindings } from './logKey.js';
import { clockFinding, filesFinding, holderOf, nodeFinding } from './machine.js';
import { printable } from './printable.js';
import type { CommandParts } from './withStore.js';

/** Dependencies of the command. */
export interface DoctorParts extends CommandParts {
  readonly version: string;
  /** True if this process is root. */
  readonly isRoot: boolean;
  /** Version of the loaded native module. */
  readonly nativeVersion: () => string;
  /** Version of Node, as in `20.1.0`. */
  readonly nodeVersion: string;
  /** Loads the HTTP server's native build. @throws Error with a sentence if none fits */
  readonly loadServer: () => unknown;
  /** Limit of open files and connections of this process. */
  readonly descriptors: () => number;
  /** Connections that a worker accepts. */
  readonly maxConnections: (configuration: Configuration) => number;
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
  readonly readTiers: (configuration: Configuration) => TiersResult;
  /** Errors of the key that addresses are derived from, a sentence each. */
  readonly wrongAccount: (partial: Partial<Configuration>) => Promise<readonly string[]>;
  /** The next address of on-chain orders, as a sentence; undefined: the rail is not configured. */
  readonly addressSentence: (configuration: Configuration, store: Store) => Promise<string | undefined>;
  /** Reads every installed or shipped model. @throws Error if a folder cannot be listed */
  readonly findModels: (configuration: Configuration) => Promise<FoundModels>;
  /** Loads a model and tries it; a sentence if that fails. */
  readonly tryModel: (model: InstalledModel) => Promise<string | undefined>;
  /** Fetches a URL; resolves to status and body, rejects if there is no answer. */
  readonly get: (url: string) => Promise<{ readonly status: number; readonly body: string }>;
}

/** The finding if a part of the store does not answer. */
function unanswered(subject: string): (failure: StoreUnavailable) => Finding {
  return ({ message }) => finding('problem', subject, message);
}

function program({ version, nativeVersion, nodeVersion, loadServer }: DoctorParts): Finding[] {
  const native = nativeVersion();
  const built =
    native === version
      ? finding('ok', 'program', `Fusegate ${version}, its native module too.`)
      : finding('problem', 'program', `The native module is version ${native}, not ${version}. Build again.`);
  return [built, nodeFinding(nodeVersion, loadServer)];
}

/** Free space below which a note is shown (bytes). */
const littleBytes = 1_000_000_000;

/** Writes a byte to a folder, and removes it: permissions alone do not show a full disk. @throws Error */
function writeByte(folder: string): void {
  const probe = join(folder, `.doctor-${process.pid}`);
  try {
    writeFileSync(probe, '\n');
    syncPath(probe);
  } finally {
    rmSync(probe, { force: true });
  }
}

function dataFolder({ dataFolder: folder }: Configuration): Finding[] {
  const subject = 'data folder';
  try {
    if (statSync(folder, { throwIfNoEntry: false }) === undefined) {
      return [finding('note', subject, `${folder} is not there yet; the first start makes it.`)];
    }
    writeByte(folder);
  } catch (error) {
    return [finding('problem', subject, `${folder} cannot be written (${reasonOf(error)}).`)];
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = `${((bavail * bsize) / 1e9).toFixed(1)} GB free`;
  return bavail * bsize < littleBytes
    ? [finding('note', subject, `${folder} can be written, but has only ${free}. Make room.`)]
    : [finding('ok', subject, `${folder} can be written, ${free}.`)];
}

function clock({ clock: { wallMs } }: DoctorParts, { dataFolder: folder }: Configuration): Finding[] {
  try {
    return [clockFinding(folder, wallMs())];
  } catch {
    // The folder cannot be read; its own finding reports that.
    return [];
  }
}

function tiers(parts: DoctorParts, configuration: Configuration): Finding[] {
  const read = parts.readTiers(configuration);
  if ('errors' in read) return read.errors.map((error) => finding('problem', 'tiers', error));
  const where = configuration.tiersFile ?? 'the included file';
  const { anonymous } = read.tiers;
  const limit = anonymous.requests_per_minute === 0 ? 'any number of' : anonymous.requests_per_minute;
  return [
    finding('ok', 'tiers', `Read from ${where}. Without a key: ${limit} requests a minute.`),
    finding('ok', 'access', accessSentence(configuration.access, anonymous)),
    finding('ok', 'serves', `${configuration.serve.join(', ')}.`),
  ];
}

/** The models: checks all of their files, and runs the default one. */
async function models(parts: DoctorParts, configuration: Configuration): Promise<Finding[]> {
  const subject = 'models';
  try {
    const { models: found, refused } = await parts.findModels(configuration);
    const broken = refused.map(({ wrong }) => finding('note', subject, wrong));
    const usual = defaultModel(found, configuration.embedModel);
    if (usual === undefined) {
      const wanted = configuration.embedModel ?? 'the model that ships';
      return [...broken, finding('problem', subject, `There is no ${wanted}. See fusegate models list.`)];
    }
    const wrong = await parts.tryModel(usual);
    if (wrong !== undefined) return [...broken, finding('problem', subject, wrong)];
    const ids = found.map(({ id }) => id).join(', ');
    return [...broken, finding('ok', subject, `${ids}; ${usual.id} for requests that name none, tried.`)];
  } catch (error) {
    return [finding('problem', subject, `They cannot be read (${reasonOf(error)}).`)];
  }
}

async function store(parts: DoctorParts, configuration: Configuration): Promise<Finding[]> {
  const parsed = parseStoreUrl(configuration.storeUrl);
  if ('wrong' in parsed) return [finding('problem', 'store', `STORE_URL ${parsed.wrong}.`)];
  const { location } = parsed;
  const missing = location.missing();
  if (missing?.kind === 'unreadable') return [finding('problem', 'store', missing.reason)];
  if (missing !== undefined) {
    return [finding('note', 'store', `${missing.reason} The first start makes it.`)];
  }
  const engine = await whenUnavailable(location.open(parts), unanswered('store'));
  if ('subject' in engine) return [engine];
  try {
    return await engineFindings(parts, configuration, location, engine);
  } finally {
    await engine.close();
  }
}

async function engineFindings(
  parts: DoctorParts,
  configuration: Configuration,
  location: StoreLocation,
  engine: Engine,
): Promise<Finding[]> {
  const unfinished = await whenUnavailable(unfinishedSource(engine), unanswered('store'));
  if (typeof unfinished === 'object') return [unfinished];
  if (unfinished !== undefined) {
    const text = `In ${location.name} is an unfinished copy or restore. Empty it and run that again.`;
    return [finding('problem', 'store', text)];
  }
  const store = createStore(engine, unitIds(parts.clock, parts.randomness));
  return [
    ...(await found('store', written(parts, location, engine))),
    ...(await found('secret', secrets(configuration, engine))),
    ...(await found('keys', keys(parts, store))),
    ...(await found('log', logKeyFindings(configuration, store))),
    ...(await found('addresses', addresses(parts, configuration, store))),
  ];
}

/** The findings of a check, or that its records cannot be read. */
async function found(subject: string, check: Promise<Finding | readonly Finding[]>): Promise<Finding[]> {
  const read = whenUnreadable(check, ({ message }) => finding('problem', subject, message));
  return [await whenUnavailable(read, unanswered(subject))].flat();
}

async function addresses(parts: DoctorParts, configuration: Configuration, store: Store): Promise<Finding[]> {
  const text = await parts.addressSentence(configuration, store);
  return text === undefined ? [] : [finding('ok', 'addresses', text)];
}

/** Writes and syncs a record, and measures the time. */
async function written(parts: DoctorParts, location: StoreLocation, engine: Engine): Promise<Finding> {
  const count = await whenUnavailable(engine.count(), () => undefined);
  const beginMs = parts.clock.monotonicMs();
  const probe = createStore(engine, unitIds(parts.clock, parts.randomness)).probe();
  const told = probe.then(() => undefined);
  const reason = await whenUnavailable(told, ({ message }) => message);
  if (reason !== undefined) {
    return finding('problem', 'store', `Nothing can be written to ${location.name} (${reason}).`);
  }
  const took = (parts.clock.monotonicMs() - beginMs).toFixed(1);
  // A large store may take too long to count.
  const records = count === undefined ? '' : `${count} records in ${location.name}; `;
  const write = count === undefined ? `A synced write to ${location.name}` : 'a synced write';
  return finding('ok', 'store', `${records}${write} took ${took} ms.`);
}

async function secrets(configuration: Configuration, engine: Engine): Promise<Finding[]> {
  const subject = 'secret';
  const missing = await missingSecrets(engine, configuration);
  if (missing.length > 0) return missing.map((text) => finding('problem', subject, text));
  const where = secretsPlace(configuration.masterSecrets, configuration.dataFolder);
  return [finding('ok', subject, `The master secret in ${where} fits the store. Backups do not have it.`)];
}

async function keys(parts: DoctorParts, store: Store): Promise<Finding> {
  const nowMs = parts.clock.wallMs();
  const counts = { active: 0, other: 0 };
  for await (const { status, expiresAtMs } of allKeys(store)) {
    const active = status === 'active' && (expiresAtMs === null || expiresAtMs > nowMs);
    counts[active ? 'active' : 'other'] += 1;
  }
  const { active, other } = counts;
  const text = `${active} active, ${other} ended or suspended.`;
  return active > 0
    ? finding('ok', 'keys', text)
    : finding('note', 'keys', `${text} Make one: fusegate keys create --tier developer`);
}

function reach({ host, publicUrl, trustedProxies }: Configuration): Finding[] {
  const found: Finding[] = [];
  if (publicUrl === null) {
    const text = 'PUBLIC_URL is not set: links in mails (opt-out, clicks) cannot be made.';
    found.push(finding('note', 'address', text));
  } else {
    found.push(finding('ok', 'address', `Clients reach Fusegate at ${publicUrl}.`));
    if (trustedProxies.length === 0) {
      const text =
        'TRUSTED_PROXIES is not set: with a proxy in front all callers without a key share one limit.';
      found.push(finding('note', 'proxies', text));
    }
  }
  if (!/^(127\.|::1$|localhost$)/.test(host)) {
    const text = `It listens on ${host} in plain HTTP: let only your TLS proxy reach it.`;
    found.push(finding('note', 'address', text));
  }
  return found;
}

/** The ways to pay, as the server reports them. */
async function rails({ get }: DoctorParts, origin: string, isServed: boolean): Promise<Finding[]> {
  if (!isServed) return [];
  const { body } = await get(`${origin}/v1/pricing`);
  const { rails: paths } = JSON.parse(body) as PricingResponse;
  return paths.map(({ rail, ready, reason }) => {
    return ready ? finding('ok', rail, 'Payments are taken.') : finding('note', rail, reason ?? 'Not ready.');
  });
}

/** The finding if the answer is not Fusegate's, or is another data folder's; undefined if it may be ours. */
function strangerAt(origin: string, dataFolder: string, body: string): Finding | undefined {
  const subject = 'server';
  if (!/^\{.*"(?:warnings|code)":/s.test(body)) {
    return finding('problem', subject, `Another program than Fusegate answers at ${origin}. Set PORT.`);
  }
  if (holderOf(dataFolder) !== null) return undefined;
  const text = `The Fusegate that answers at ${origin} is another one: none holds ${dataFolder}. Set PORT.`;
  return finding('problem', subject, text);
}

/** Longest time for which a server that is too busy for its own checks is asked again (ms). */
const busyMs = 10_000;

/** Time between two of these requests (ms). */
const againMs = 250;

/** The answer of `/ready`; asked again while only the checks have not ended. */
async function readiness({ get, clock }: DoctorParts, origin: string): ReturnType<DoctorParts['get']> {
  const endMs = clock.monotonicMs() + busyMs;
  for (;;) {
    const answer = await get(`${origin}/ready`);
    const isBusy = answer.status === 503 && answer.body.includes(`"code":"${unfinished}"`);
    if (!isBusy || clock.monotonicMs() >= endMs) return answer;
    await clock.sleep(againMs);
  }
}

/** Asks the server if it is ready. */
async function server(parts: DoctorParts, configuration: Configuration): Promise<Finding[]> {
  const subject = 'server';
  const { host, port, serve } = configuration;
  if (port === 0) return [finding('note', subject, 'PORT is 0: it cannot be asked where it listens.')];
  const reachable =
    { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host);
  const origin = `http://${reachable}:${port}`;
  try {
    const { status, body } = await readiness(parts, origin);
    const stranger = strangerAt(origin, configuration.dataFolder, body);
    if (stranger !== undefined) return [stranger];
    if (status === 200) {
      const ready = finding('ok', subject, `It answers at ${origin} and is ready.`);
      const { warnings } = JSON.parse(body) as ReadyResponse;
      const notes = warnings.map((text) => finding('note', subject, text));
      return [ready, ...notes, ...(await rails(parts, origin, serve.includes('checkout')))];
    }
    return [finding('problem', subject, `${origin}/ready answers ${status}: ${body.slice(0, 1_000)}`)];
  } catch {
    const holder = holderOf(configuration.dataFolder) ?? null;
    if (holder === null) return [finding('note', subject, `Nothing answers at ${origin}: it does not run.`)];
    const text = `Nothing answers at ${origin}, and process ${holder} holds ${configuration.dataFolder}.`;
    return [finding('note', subject, `${text} It listens elsewhere, or does not answer.`)];
  }
}

/** The file of settings, as a sentence after a blank. */
function readFrom({ environment }: DoctorParts): string {
  const path = environment[settingsFileVariable] ?? '';
  return path === '' ? '' : ` ${path} was read, too.`;
}

async function examine(parts: DoctorParts): Promise<Finding[]> {
  const read = readConfiguration(parts.environment, parts.machine);
  const warnings = read.warnings.map((text) => finding('note', 'settings', text));
  const partial = 'errors' in read ? read.partial : read.configuration;
  const wrong = [...('errors' in read ? read.errors : []), ...(await parts.wrongAccount(partial))];
  const errors = wrong.map((text) => finding('problem', 'settings', text));
  if ('errors' in read) return [...program(parts), ...warnings, ...errors];
  const { configuration } = read;
  return [
    ...program(parts),
    ...warnings,
    ...(errors.length > 0
      ? errors
      : [finding('ok', 'settings', `Every variable can be used.${readFrom(parts)}`)]),
    ...tiers(parts, configuration),
    ...dataFolder(configuration),
    ...clock(parts, configuration),
    filesFinding(parts.descriptors(), parts.maxConnections(configuration)),
    ...(await store(parts, configuration)),
    ...(await models(parts, configuration)),
    ...reach(configuration),
    ...exposures(configuration, parts.isRoot).map((text) => finding('note', 'exposure', text)),
    ...(await server(parts, configuration)),
  ];
}

function verdict(findings: readonly Finding[]): string {
  const problems = findings.filter(({ level }) => level === 'problem').length;
  if (problems === 0) return 'Fusegate is ready to serve.';
  return `Fusegate is not ready: ${problems === 1 ? 'one problem' : `${problems} problems`}.`;
}

/** Adds the command to the program. Its exit code is 1 if there is a problem. */
export function addDoctor(program: Command, parts: DoctorParts): void {
  program
    .command('doctor')
    .description('say what is ready and what is not; writes one record to the store, to see that it can')
    .option('--json', 'print JSON')
    .allowExcessArguments(false)
    .action(async ({ json }: { readonly json?: boolean }) => {
      const findings = await examine(parts);
      const ready = findings.every(({ level }) => level !== 'problem');
      const lines = findings.map(({ level, subject, text }) => {
        return `${level.padEnd(7)}  ${subject.padEnd(11)}  ${printable(text)}\n`;
      });
      await parts.write(
        json === true
          ? `${JSON.stringify({ ready, findings })}\n`
          : `${lines.join('')}\n${verdict(findings)}\n`,
      );
      process.exitCode = ready ? 0 : 1;
    });
}
