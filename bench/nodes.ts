/**
 * `bench nodes`: durable leads by one node and by two on one PostgreSQL of this machine, in turns, with what
 * they cost: statements, transactions, those that were in vain, log written, CPU of nodes and database.
 * `--against <folder>`: another built working tree takes turns with this one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../test/support/python.js';
import { PostgresServer, postgresMissing } from '../test/support/postgresServer.js';
import { findWrk, runWrk } from './load.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { cpuSecondsUnder, startServer, type Server } from './processes.js';
import { figure, figures, spread } from './statistics.js';

/** What the command line may set. */
export interface NodesOptions extends RecordOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly against: string;
}

/** Counters of a PostgreSQL, since its start. */
interface Counters {
  readonly statements: number;
  readonly transactions: number;
  /** Transactions that were rolled back. */
  readonly undone: number;
  readonly walBytes: number;
  /** CPU of all its processes (s). */
  readonly cpu: number;
}

/** One run, by lead. */
interface Run {
  readonly leadsPerSecond: number;
  readonly statements: number;
  readonly transactions: number;
  readonly undone: number;
  readonly walBytes: number;
  /** CPU of the database and of the nodes (µs). */
  readonly databaseCpu: number;
  readonly nodesCpu: number;
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
}

const MASTER_SECRET = 'a-secret-of-the-benchmark-that-opens-nothing';

/** Settings of the PostgreSQL: it counts statements. */
const counting = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_utility': 'on',
};

async function countersOf(postgres: PostgresServer, database: string): Promise<Counters> {
  const [row = []] = await postgres.query(
    'postgres',
    'SELECT (SELECT coalesce(sum(calls), 0) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid ' +
      `WHERE d.datname = '${database}'), xact_commit, xact_rollback, ` +
      "pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') FROM pg_stat_database " +
      `WHERE datname = '${database}'`,
  );
  const [statements = 0, transactions = 0, undone = 0, walBytes = 0] = row.map(Number);
  return { statements, transactions, undone, walBytes, cpu: cpuSecondsUnder(postgres.pid) };
}

function startNode(root: string, storeUrl: string, data: string): Promise<Server> {
  return startServer({
    name: 'Fusegate',
    command: process.execPath,
    args: () => [join(root, 'dist/src/main.js'), 'serve'],
    env: (port) => ({
      ...{ PORT: String(port), HOST: '127.0.0.1', WORKERS: '1', STORE_URL: storeUrl, MASTER_SECRET },
      ...{ LEADS_PER_MINUTE: '0', STORED_KB_PER_MINUTE: '0', LOG_LEVEL: 'error', EMBED_CACHE_MB: '1' },
    }),
    cwd: data,
    probe: '/health',
  });
}

/** Loads so many nodes of a working tree on a database of their own. */
async function runNodes(
  postgres: PostgresServer,
  root: string,
  count: number,
  { connections, seconds }: NodesOptions,
): Promise<Run> {
  const url = await postgres.database();
  const database = url.slice(url.lastIndexOf('/') + 1);
  const folders = Array.from({ length: count }, () => mkdtempSync(join(tmpdir(), 'fusegate-bench-')));
  const nodes: Server[] = [];
  try {
    for (const folder of folders) nodes.push(await startNode(root, url, folder));
    const before = await countersOf(postgres, database);
    const wrk = { script: 'outreach.lua', path: '/', argument: 'leads', seconds };
    const each = Math.max(1, Math.round(connections / count));
    const loads = await Promise.all(nodes.map((node) => runWrk(node, { ...wrk, connections: each })));
    // Before the nodes go, and with them the processes that PostgreSQL has for each of their connections.
    const { cpu } = await countersOf(postgres, database);
    for (const node of nodes) await node.stop();
    const after = { ...(await countersOf(postgres, database)), cpu };
    const leads = loads.reduce((sum, { requests }) => sum + requests, 0);
    const nodesCpu = loads.reduce((sum, load) => sum + load.cpuMicroseconds * load.requests, 0) / leads;
    const by = (name: keyof Counters): number => (after[name] - before[name]) / leads;
    return {
      leadsPerSecond: loads.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0),
      ...{ statements: by('statements'), transactions: by('transactions'), undone: by('undone') },
      ...{ walBytes: by('walBytes'), databaseCpu: by('cpu') * 1e6, nodesCpu },
      p50Microseconds: Math.max(...loads.map(({ p50Microseconds }) => p50Microseconds)),
      p99Microseconds: Math.max(...loads.map(({ p99Microseconds }) => p99Microseconds)),
    };
  } finally {
    for (const node of nodes) await node.stop();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }
}

/** Names of the cases, and the working tree and number of nodes of each. */
function casesOf({ against }: NodesOptions): ReadonlyMap<string, readonly [root: string, count: number]> {
  const own = [
    ['one node', [projectRoot, 1]],
    ['two nodes', [projectRoot, 2]],
  ] as const;
  const others = [
    ['one node of the other', [against, 1]],
    ['two nodes of the other', [against, 2]],
  ] as const;
  return new Map<string, readonly [string, number]>(against === '' ? own : [...others, ...own]);
}

/** Runs it, prints what it measured, and writes the record; resolves to the exit code. */
export async function benchNodes(options: NodesOptions): Promise<number> {
  const wrk = findWrk();
  const missing = 'missing' in wrk ? wrk.missing : postgresMissing();
  if (missing !== false) {
    console.error(missing);
    return 1;
  }
  const startedAt = new Date();
  const cases = casesOf(options);
  const runs = new Map([...cases.keys()].map((name) => [name, [] as Run[]]));
  const postgres = await PostgresServer.start(counting);
  try {
    await postgres.query('postgres', 'CREATE EXTENSION pg_stat_statements');
    for (let round = 0; round < options.rounds; round += 1) {
      for (const [name, [root, count]] of cases) {
        runs.get(name)?.push(await runNodes(postgres, root, count, options));
      }
    }
  } finally {
    await postgres.stop();
  }
  return report(options, startedAt, runs);
}

function report(options: NodesOptions, startedAt: Date, runs: ReadonlyMap<string, readonly Run[]>): number {
  const of = (name: string, value: keyof Run) => spread((runs.get(name) ?? []).map((run) => run[value]));
  const ratio = of('two nodes', 'leadsPerSecond').median / of('one node', 'leadsPerSecond').median;
  const cases = Object.fromEntries(runs);
  const record = { startedAt: startedAt.toISOString(), machine: machine(), options, ratio, cases };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else {
    for (const name of runs.keys()) console.log(lineOf(name, (value) => of(name, value)));
    const verdict = ratio >= 1 ? 'pass' : 'missed';
    console.log(`two nodes carry ${ratio.toFixed(2)} times the leads of one  [target 1.00: ${verdict}]`);
  }
  if (options.record) {
    const svg = dotPlot({
      title: 'Durable leads on one PostgreSQL of this machine',
      subtitle: `${options.connections} clients in all, one worker a node. ${machine().cpu}`,
      axis: 'leads a second (logarithmic)',
      series: ['rate'],
      rows: [...runs.keys()].map((label) => {
        const rate = of(label, 'leadsPerSecond');
        return { label, values: [rate], note: figures(rate) };
      }),
    });
    for (const file of writeRecord('nodes', startedAt, record, svg)) console.error(`Wrote ${file}`);
  }
  return ratio >= 1 ? 0 : 2;
}

function lineOf(name: string, of: (value: keyof Run) => ReturnType<typeof spread>): string {
  const median = (value: keyof Run, digits: number): string => of(value).median.toFixed(digits);
  const [database, nodes] = [figure(of('databaseCpu').median), figure(of('nodesCpu').median)];
  const rate = `${figures(of('leadsPerSecond'))} leads a second, p99 ${median('p99Microseconds', 0)} µs`;
  const transactions = `${median('transactions', 3)} transactions (${median('undone', 3)} in vain)`;
  const log = `${median('walBytes', 0)} bytes of log`;
  const cost = `${median('statements', 2)} statements, ${transactions}, ${log}`;
  return `${name}: ${rate}; a lead: ${cost}, CPU ${database} µs of the database and ${nodes} µs of nodes`;
}
