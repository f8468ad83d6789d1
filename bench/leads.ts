/**
 * `bench leads`: durable POST /v1/leads and GET /c/{token} through HTTP, the store counted afterwards, beside
 * the machine's bare fdatasync in the same run and folder. Every process is killed before the entries are
 * counted; with the clicks one second after the last, which is what the click log promises. Leads are also
 * sent to a server whose store is a PostgreSQL of this machine.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../src/store/open.js';
import { PostgresServer, postgresMissing } from '../test/support/postgresServer.js';
import { clicksAfter } from '../src/store/tables/clicks.js';
import { leadsAfter } from '../src/store/tables/leads.js';
import type { Store } from '../src/store/store.js';
import { systemClock } from '../src/system/clock.js';
import { systemRandomness } from '../src/system/randomness.js';
import { runWrk, withWrk, type Load } from './load.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { startFusegate } from './servers.js';
import { figure, spread } from './statistics.js';

/** What the command line may set. */
export interface LeadsOptions extends RecordOptions {
  readonly seconds: number;
  readonly connections: number;
}

/** Least rates (1/s) that pass. */
const TARGETS = { leads: 8_000, clicks: 10_000, 'leads on PostgreSQL': 1_500 } as const;
type Kind = keyof typeof TARGETS;
/** The parts that were run. */
type Parts = Readonly<Partial<Record<Kind, Part>>>;
/** Opens what a PostgreSQL of the benchmark keeps; no secret. */
const MASTER_SECRET = 'a-secret-of-the-benchmark-that-opens-nothing';
/** How long bare fdatasync is measured (s), before and after the load. */
const SYNC_SECONDS = 1;
/** What the click log promises (ms). */
const CLICK_PROMISE_MS = 1_000;

/** One kind of load and what the store held afterwards. */
interface Part {
  readonly load: Load;
  /** Requests answered with 200 or 302. */
  readonly acknowledged: number;
  /** Different entries in the store; those in flight at the end may be there too. */
  readonly stored: number;
  /** Entries that are there more than once. */
  readonly doubled: number;
}

/** Rate (1/s) of writing 4 KiB and syncing it, one after the other. */
export function bareSyncs(folder: string): number {
  const file = openSync(join(folder, 'sync'), 'w');
  const page = Buffer.alloc(4096, 1);
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < SYNC_SECONDS * 1000) {
    writeSync(file, page, 0, page.length, (count % 1024) * page.length);
    fdatasyncSync(file);
    count += 1;
  }
  closeSync(file);
  return (count * 1000) / (performance.now() - start);
}

/** Counts the different texts among all. */
async function count(
  texts: AsyncIterable<string>,
): Promise<{ readonly stored: number; readonly doubled: number }> {
  const seen = new Set<string>();
  let all = 0;
  for await (const text of texts) {
    seen.add(text);
    all += 1;
  }
  return { stored: seen.size, doubled: all - seen.size };
}

/** What tells the entries of a log apart. */
const entries = {
  async *leads(store: Store) {
    for await (const { value } of leadsAfter(store, 0)) yield value.eventId ?? '';
  },
  async *clicks(store: Store) {
    for await (const { value } of clicksAfter(store, 0)) yield value.destination;
  },
} as const;

/** Loads a server of its own, kills it and counts what its store holds. */
async function part(
  kind: 'leads' | 'clicks',
  storeUrl: string,
  { connections, seconds }: LeadsOptions,
): Promise<Part> {
  const server = await startFusegate({ STORE_URL: storeUrl, MASTER_SECRET, LOG_LEVEL: 'error' });
  let load: Load;
  try {
    load = await runWrk(server, { script: 'outreach.lua', path: '/', argument: kind, connections, seconds });
    if (kind === 'clicks') await sleep(CLICK_PROMISE_MS);
    for (const pid of server.pids()) process.kill(pid, 'SIGKILL');
  } finally {
    await server.stop();
  }
  const log = { error: () => undefined, warn: () => undefined, info: () => undefined };
  const parts = { clock: systemClock, randomness: systemRandomness, log };
  const store = await openStore(storeUrl, parts);
  const counted = await count(entries[kind](store));
  await store.close();
  return { load, acknowledged: load.requests, ...counted };
}

/** Leads on a PostgreSQL that is started for it; nothing where there is none. */
async function onPostgres(options: LeadsOptions): Promise<Parts> {
  const missing = postgresMissing();
  if (missing !== false) {
    console.error(`Leads on PostgreSQL are not measured: ${missing}`);
    return {};
  }
  const postgres = await PostgresServer.start();
  try {
    return { 'leads on PostgreSQL': await part('leads', await postgres.database(), options) };
  } finally {
    await postgres.stop();
  }
}

/** What is wrong with a part, as a sentence; undefined when nothing is. */
function fault(
  kind: string,
  { acknowledged, stored, doubled }: Part,
  connections: number,
): string | undefined {
  if (doubled > 0) return `${doubled} ${kind} are there twice`;
  if (stored < acknowledged) return `${acknowledged - stored} acknowledged ${kind} are not there`;
  if (stored > acknowledged + connections) return `${stored - acknowledged} ${kind} were not acknowledged`;
  return undefined;
}

/** Runs it, prints and judges the rates, and writes the record; resolves to the exit code. */
export function benchLeads(options: LeadsOptions): Promise<number> {
  return withWrk(async (folder, startedAt) => {
    const before = bareSyncs(folder);
    const leads = await part('leads', `lmdb:${join(folder, 'leads', 'store')}`, options);
    const clicks = await part('clicks', `lmdb:${join(folder, 'clicks', 'store')}`, options);
    const postgres = await onPostgres(options);
    const syncs = [before, bareSyncs(folder)];
    return report(options, startedAt, { leads, clicks, ...postgres }, syncs);
  });
}

function report(options: LeadsOptions, startedAt: Date, parts: Parts, syncs: readonly number[]): number {
  const { json, connections } = options;
  const kinds = Object.keys(TARGETS) as Kind[];
  const verdicts = kinds.map((kind) => {
    const measured = parts[kind];
    if (measured === undefined) return { kind, wrong: undefined, verdict: 'not judged' };
    const wrong = fault(kind, measured, connections);
    const reached = measured.load.requestsPerSecond >= TARGETS[kind];
    return { kind, wrong, verdict: wrong === undefined && reached ? 'pass' : 'missed' };
  });
  const host = machine();
  const record = { startedAt: startedAt.toISOString(), machine: host, options, ...parts, syncs, verdicts };
  if (json) console.log(JSON.stringify(record, null, 2));
  else {
    console.log(`bare fdatasync of 4 KiB: ${syncs.map(figure).join(' and ')} a second, before and after`);
    for (const { kind, wrong, verdict } of verdicts) {
      const measured = parts[kind];
      console.log(measured === undefined ? `${kind}: ${verdict}` : line(kind, measured, wrong, verdict));
    }
  }
  if (options.record) {
    for (const file of writeRecord('leads', startedAt, record, plot(host, parts, syncs))) {
      console.error(`Wrote ${file}`);
    }
  }
  return verdicts.every(({ verdict }) => verdict === 'pass') ? 0 : 2;
}

function line(kind: Kind, { load, acknowledged, stored }: Part, wrong = '', verdict = ''): string {
  const rate = `${kind}: ${figure(load.requestsPerSecond)} a second`;
  const [p50, p99] = [load.p50Microseconds, load.p99Microseconds].map((each) => figure(each / 1000));
  const latency = `p50 ${p50 ?? ''} ms, p99 ${p99 ?? ''} ms`;
  const counted = `${figure(acknowledged)} acknowledged, ${figure(stored)} in the store`;
  const judged = `[target ${figure(TARGETS[kind])}: ${verdict}]`;
  return `${rate}, ${latency}; ${counted}${wrong === '' ? '' : `; ${wrong}`}  ${judged}`;
}

function plot(host: ReturnType<typeof machine>, parts: Parts, syncs: readonly number[]): string {
  const names: Readonly<Record<Kind, string>> = {
    leads: 'POST /v1/leads',
    clicks: 'GET /c/{token}',
    'leads on PostgreSQL': 'POST /v1/leads, PostgreSQL',
  };
  const measured = Object.entries(parts) as [Kind, Part][];
  const row = (label: string, values: readonly number[]) => ({
    label,
    values: [spread(values)],
    note: `${figure(spread(values).median)}/s`,
  });
  return dotPlot({
    title: 'Durable leads and logged clicks through HTTP',
    subtitle: `One worker, wrk on the same machine. ${host.cpu}, Node ${host.node.slice(1)}`,
    axis: 'per second (logarithmic)',
    series: ['rate'],
    rows: [
      row('bare fdatasync', syncs),
      ...measured.map(([kind, { load }]) => row(names[kind], [load.requestsPerSecond])),
    ],
  });
}
