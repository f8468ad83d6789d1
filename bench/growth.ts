/**
 * `bench growth`: the cost of exploration by the number of fragments: times of its routes one request after
 * the other, memory, start to ready, bytes on disk, and submissions beside those of an empty store, in turns.
 * Two workers, so that memory held by each is counted. The answers are compared with the exact scan, the
 * naive count of visitors, and themselves at the same position.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LeaderboardResponse } from '../src/contract/leaderboard.js';
import type { NearResponse } from '../src/contract/near.js';
import type { WalkResponse } from '../src/contract/walk.js';
import { textEmbedding } from '../src/explore/embedding.js';
import { indexedFrom } from '../src/explore/exploration.js';
import { native } from '../src/native/addon.js';
import type { Vectors } from '../src/native/index.js';
import { checkBackup, makeBackup } from '../src/store/backup.js';
import { openLmdb } from '../src/store/engines/lmdb/lmdb.js';
import { openStore } from '../src/store/open.js';
import { systemClock } from '../src/system/clock.js';
import { systemRandomness } from '../src/system/randomness.js';
import { staticMode, staticModel } from '../test/support/embedding.js';
import { growStore, growthFragment } from './growthStore.js';
import { findWrk, runWrk } from './load.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { linesPlot } from './plot.js';
import { memoryOf, type Memory, type Server } from './processes.js';
import { startFusegate } from './servers.js';
import { figure, figures, ratios, spread, type Spread } from './statistics.js';

/** What the command line may set. */
export interface GrowthOptions extends RecordOptions {
  readonly counts: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
}

/** Most time at the 99th percentile (ms), most bytes a fragment, most time to ready (s), least shares. */
const TARGETS = {
  near: 15,
  walk: 15,
  leaderboard: 5,
  bytes: 700,
  ready: 3,
  share: 0.8,
  // What docs/exploration.md says of a search and of a walk's step.
  recall: 0.95,
  stepRecall: 0.8,
} as const;

/**
 * Number of requests to a route, so many that twenty take longer than the 99th percentile; of those on a
 * fresh state, each after a submission; of answers compared with the exact ones; of results of a search; and
 * of a walk's step: those that it passes, and five to choose from.
 */
const SIZES = { requests: 2_000, fresh: 12, checked: 40, results: 10, stepResults: 15 } as const;
const CONNECTIONS = 32;
const PATIENCE_MS = 1_800_000;

/** Times of a route (ms). */
interface Times {
  readonly p50: number;
  readonly p99: number;
}

const routes = ['near', 'walk', 'graph', 'focus', 'leaderboard'] as const;
type Route = (typeof routes)[number];

/** What was measured at one count. */
interface Grown {
  readonly count: number;
  readonly times: Readonly<Record<Route, Times>>;
  /** Share of the exact neighbours that were found. */
  readonly recall: number;
  /** The same of the five nearest to a fragment, as a walk's steps ask for them. */
  readonly stepRecall: number;
  /** Memory of all processes beyond those of an empty store, without the store's file, by fragments. */
  readonly memoryBytes: number;
  /** The same of the store's file in the system's cache. */
  readonly storeCacheBytes: number;
  /** Bytes of the store's file, and of exploration's, by fragments. */
  readonly storeBytes: number;
  readonly exploredBytes: number;
  /** From the start to ready (s), and from the first start until every fragment is explored. */
  readonly readySeconds: number;
  readonly exploredSeconds: number;
  /** Megabytes a second of a backup, and of its check by its digest. */
  readonly backup: { readonly made: number; readonly checked: number };
  /** Submissions a second, with the index growing beside them, and into an empty store in turns. */
  readonly submissions: readonly number[];
  readonly empty: readonly number[];
}

const { embedText, method } = textEmbedding([staticModel], staticMode().dense);
const quiet = { error: () => undefined, warn: () => undefined, info: () => undefined };

type Ask = <Body>(path: string, query?: Readonly<Record<string, string>>) => Promise<Body>;

/** Asks over one connection that is kept. */
function askOver(url: string): Ask {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask: Ask = (path, query = {}) =>
    new Promise((resolve, reject) => {
      const request = get(`${url}${path}?${new URLSearchParams(query).toString()}`, { agent }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => {
          const text = Buffer.concat(parts).toString();
          if (response.statusCode === 200) resolve(JSON.parse(text) as never);
          else reject(new Error(`${path}: ${response.statusCode} ${text}`));
        });
      });
      request.on('error', (error) => {
        // The server closed a connection that was idle just as it was used again.
        if (request.reusedSocket) resolve(ask(path, query));
        else reject(error);
      });
    });
  return ask;
}

/** A text to look for: words of one fragment. */
const question = (place: number): string => growthFragment(place).content.split(' ').slice(0, 8).join(' ');

function start(folder: string): Promise<Server> {
  return startFusegate({
    ...{ STORE_URL: `lmdb:${join(folder, 'store')}`, LOG_LEVEL: 'error', WORKERS: '2' },
    ...{ DOOR_SUBMISSIONS_PER_MINUTE: '0', EXPLORATIONS_PER_MINUTE: '0', DOOR_MAX_GB: '0' },
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('not every fragment came to be explored');
    await systemClock.sleep(50);
  }
}

const totalOf = async (ask: Ask): Promise<number> =>
  (await ask<NearResponse>('/graph/near', { text: 'x' })).total;

/** Bytes that files of a folder take. */
function bytesOf(folder: string, belongs: (name: string) => boolean): number {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile() && belongs(join(entry.parentPath, entry.name)));
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).blocks * 512, 0);
}

async function timed(count: number, call: (at: number) => Promise<unknown>): Promise<Times> {
  const taken: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const begun = performance.now();
    await call(at);
    taken.push(performance.now() - begun);
  }
  taken.sort((a, b) => a - b);
  const share = (part: number): number =>
    taken[Math.min(taken.length - 1, Math.floor(taken.length * part))] ?? NaN;
  return { p50: share(0.5), p99: share(0.99) };
}

/** Times of requests of which each is the first of its state. */
async function timedFresh(ask: Ask, url: string, path: string): Promise<Times> {
  const taken: number[] = [];
  for (let at = 0; at < SIZES.fresh; at += 1) {
    const before = await totalOf(ask);
    const content = `${path} ${at} ${question(at)} ${systemRandomness(6).toString('hex')}`;
    const body = JSON.stringify({ title: 'Fresh', content, visitor: 'fresh' });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/dream`, { method: 'POST', headers, body });
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    await until(async () => (await totalOf(ask)) > before);
    taken.push((await timed(1, () => ask(path))).p50);
  }
  taken.sort((a, b) => a - b);
  return { p50: taken[Math.floor(taken.length / 2)] ?? NaN, p99: taken.at(-1) ?? NaN };
}

/** Times of a page of the graph's end, which nobody has asked for before. */
async function timedGraph(ask: Ask, count: number): Promise<Times> {
  const { as_of } = await ask<NearResponse>('/graph/near', { text: 'x' });
  const from = (at: number): string => `${as_of}.${Math.max(0, count - 100 * (at + 1))}`;
  return timed(20, (at) => ask('/graph', { cursor: from(at), limit: '100' }));
}

/** Share of the exact neighbours that the service finds. @throws where a similarity is wrong */
async function recallOf(ask: Ask, folder: string): Promise<number> {
  const exact = new native.Vectors(join(folder, 'vectors'), method, 0xffff_ffff);
  let [found, wanted] = [0, 0];
  for (let at = 0; at < SIZES.checked; at += 1) {
    const text = question(at * 7_919);
    const { results, as_of } = await ask<NearResponse>('/graph/near', { text, k: String(SIZES.results) });
    const { neighbours } = await exact.nearest(Number(as_of), embedText(text), SIZES.results, true, []);
    const known = new Map(neighbours.map(({ receipt, similarity }) => [receipt, similarity]));
    for (const { receipt, similarity } of results) {
      const exactly = known.get(receipt);
      if (exactly === undefined) continue;
      found += 1;
      if (Math.abs(exactly - similarity) > 1e-6) throw new Error(`${receipt} is not ${similarity} near`);
    }
    wanted += neighbours.length;
  }
  return found / wanted;
}

/** Share of the exact neighbours that a walk's step chooses among. */
async function stepRecallOf(folder: string, count: number): Promise<number> {
  const open = (from: number): Vectors => new native.Vectors(join(folder, 'vectors'), method, from);
  const [index, exact] = [open(indexedFrom), open(0xffff_ffff)];
  let [found, wanted] = [0, 0];
  for (let at = 0; at < SIZES.checked; at += 1) {
    const vector = index.vector((at * 7_919) % count);
    const ask = (of: Vectors) => of.nearest(Number.MAX_SAFE_INTEGER, vector, SIZES.stepResults, false, []);
    const receipts = new Set((await ask(index)).neighbours.map(({ receipt }) => receipt));
    const { neighbours } = await ask(exact);
    wanted += neighbours.length;
    found += neighbours.filter(({ receipt }) => receipts.has(receipt)).length;
  }
  return found / wanted;
}

/** @throws where the leaderboard is not that of the fragments, or a walk cannot be walked again */
async function check(ask: Ask, count: number): Promise<void> {
  const contents = new Map<string, number>();
  for (let place = 0; place < count; place += 1) {
    const { visitor } = growthFragment(place);
    if (visitor !== '') contents.set(visitor, (contents.get(visitor) ?? 0) + 1);
  }
  const expected = [...contents.values()].sort((a, b) => b - a).slice(0, 100);
  const { visitors } = await ask<LeaderboardResponse>('/leaderboard');
  const told = visitors.map(({ fragments }) => fragments);
  const right = visitors.every(({ visitor, fragments }) => contents.get(visitor) === fragments);
  if (!right || JSON.stringify(told) !== JSON.stringify(expected))
    throw new Error('the leaderboard is wrong');
  const walk = await ask<WalkResponse>('/walk', { seed: 'again' });
  const again = await ask<WalkResponse>('/walk', { seed: 'again', as_of: walk.as_of });
  if (JSON.stringify(walk) !== JSON.stringify(again)) throw new Error('a walk goes another way');
}

async function timesOf(ask: Ask, url: string, count: number): Promise<Grown['times']> {
  const near = await timed(SIZES.requests, (at) => ask('/graph/near', { text: question(at + 13) }));
  const walk = await timed(SIZES.requests, (at) => ask('/walk', { seed: String(at) }));
  const graph = await timedGraph(ask, count);
  const focus = await timedFresh(ask, url, '/focus');
  const leaderboard = await timedFresh(ask, url, '/leaderboard');
  return { near, walk, graph, focus, leaderboard };
}

async function fill(folder: string, from: number, to: number): Promise<void> {
  const parts = { clock: systemClock, randomness: systemRandomness, log: quiet };
  const store = await openStore(`lmdb:${join(folder, 'store')}`, parts);
  await growStore(store, from, to);
  await store.close();
}

/** Rates of a backup of a store that nobody uses. @throws where it is not what was stored */
async function backUp(folder: string): Promise<Grown['backup']> {
  const engine = await openLmdb({ folder: join(folder, 'store'), clock: systemClock, log: quiet });
  const to = join(folder, 'backup');
  try {
    const begun = performance.now();
    const outcome = await makeBackup(engine, to, { fusegate: '', made_at: '' }, () => undefined);
    const made = performance.now();
    if (outcome.kind !== 'made') throw new Error(outcome.reason);
    const { manifest } = outcome;
    const wrong = await checkBackup(
      to,
      manifest,
      () => undefined,
      () => undefined,
    );
    if (wrong !== undefined) throw new Error(wrong);
    const rate = (ms: number): number => manifest.bytes / 1e3 / ms;
    return { made: rate(made - begun), checked: rate(performance.now() - made) };
  } finally {
    await engine.close();
    rmSync(to, { recursive: true, force: true });
  }
}

/** Submissions a second into a server and into that of an empty store, in turns. */
async function submit(
  server: Server,
  empty: Server,
  { rounds, seconds }: GrowthOptions,
): Promise<Pick<Grown, 'submissions' | 'empty'>> {
  const rates = { submissions: [] as number[], empty: [] as number[] };
  const run = { script: 'door.lua', path: '/', argument: 'submit', connections: CONNECTIONS, seconds };
  for (let round = 0; round < rounds; round += 1) {
    const turns = [['submissions', server] as const, ['empty', empty] as const];
    for (const [name, to] of round % 2 === 0 ? turns : turns.reverse()) {
      const key = `${systemRandomness(4).toString('hex')}-`;
      rates[name].push((await runWrk(to, { ...run, key })).requestsPerSecond);
    }
  }
  return rates;
}

/** Servers and their folders over a run. */
interface Setting {
  readonly folder: string;
  readonly empty: Server;
  readonly emptyBytes: Memory;
}

/** Measures at a count, from the store's state at the count before. */
async function grow(setting: Setting, count: number, options: GrowthOptions): Promise<Grown> {
  const folder = join(setting.folder, String(count));
  await fill(folder, 0, count);
  const storeBytes = bytesOf(folder, () => true) / count;
  const backup = await backUp(folder);
  const begun = performance.now();
  const first = await start(folder);
  await until(async () => (await totalOf(askOver(first.url))) === count);
  const exploredSeconds = (performance.now() - begun) / 1_000;
  await first.stop();
  const again = performance.now();
  const server = await start(folder);
  try {
    const ask = askOver(server.url);
    await until(async () => (await fetch(`${server.url}/ready`)).status === 200);
    const readySeconds = (performance.now() - again) / 1_000;
    await until(async () => (await totalOf(ask)) === count);
    await check(ask, count);
    const recall = await recallOf(ask, folder);
    const stepRecall = await stepRecallOf(folder, count);
    const times = await timesOf(ask, server.url, count);
    const memory = memoryOf(server);
    const memoryBytes = (memory.others - setting.emptyBytes.others) / count;
    const storeCacheBytes = (memory.ofStore - setting.emptyBytes.ofStore) / count;
    const exploredBytes = bytesOf(folder, (name) => name.includes('vectors')) / count;
    const rates = await submit(server, setting.empty, options);
    return {
      count,
      times,
      recall,
      stepRecall,
      memoryBytes,
      storeCacheBytes,
      storeBytes,
      exploredBytes,
      readySeconds,
      exploredSeconds,
      backup,
      ...rates,
    };
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Verdicts of the targets; memory is judged where fragments outweigh what a process takes anyway. */
function judge({
  count,
  times,
  memoryBytes,
  readySeconds,
  recall,
  stepRecall,
  ...rates
}: Grown): Record<string, boolean> {
  return {
    near: times.near.p99 < TARGETS.near,
    walk: times.walk.p99 < TARGETS.walk,
    leaderboard: times.leaderboard.p99 < TARGETS.leaderboard,
    memory: count < 1_000_000 || memoryBytes <= TARGETS.bytes,
    ready: readySeconds < TARGETS.ready,
    submissions: ratios(rates.submissions, rates.empty).median >= TARGETS.share,
    recall: recall >= TARGETS.recall && stepRecall >= TARGETS.stepRecall,
  };
}

function print(grown: Grown): void {
  const { count, times, recall, memoryBytes, storeCacheBytes } = grown;
  const missed = Object.entries(judge(grown)).flatMap(([name, passed]) => (passed ? [] : [name]));
  const verdict = missed.length === 0 ? 'pass' : `missed: ${missed.join(', ')}`;
  console.log(`${count.toLocaleString('en-US')} fragments  [${verdict}]`);
  for (const route of routes) {
    const { p50, p99 } = times[route];
    console.log(`  ${route.padEnd(12)} ${figure(p50)} ms, 99th percentile ${figure(p99)} ms`);
  }
  const share: Spread = ratios(grown.submissions, grown.empty);
  console.log(`  recall ${recall.toFixed(3)}, of steps ${grown.stepRecall.toFixed(3)}`);
  console.log(`  ready in ${figure(grown.readySeconds)} s`);
  const { made, checked } = grown.backup;
  console.log(`  backup ${figure(made)} MB/s, its check ${figure(checked)} MB/s`);
  console.log(`  first start: all explored in ${figure(grown.exploredSeconds)} s`);
  const cached = `${figure(storeCacheBytes)} of the store's file in the system's cache`;
  console.log(`  memory ${figure(memoryBytes)} bytes a fragment, and ${cached}`);
  const explored = `${figure(grown.exploredBytes)} for exploration`;
  console.log(`  on disk ${figure(grown.storeBytes)} bytes a fragment, and ${explored}`);
  console.log(`  submissions ${figures(spread(grown.submissions))}/s, ${figures(share)} of an empty store's`);
}

function plot(host: ReturnType<typeof machine>, all: readonly Grown[]): string {
  return linesPlot({
    title: 'Exploration by the number of fragments',
    subtitle: `${host.cpu}, Node ${host.node.slice(1)}, 2 workers, load ${host.uptimeLoad}`,
    xAxis: 'fragments (logarithmic)',
    yAxis: 'ms at the median (logarithmic)',
    series: routes.map((name) => ({
      name,
      points: all.map(({ count, times }) => [count, times[name].p50] as const),
    })),
  });
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export async function benchGrowth(options: GrowthOptions): Promise<number> {
  const wrk = findWrk();
  if ('missing' in wrk) {
    console.error(wrk.missing);
    return 1;
  }
  const startedAt = new Date();
  const host = machine();
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-growth-'));
  const empty = await start(join(folder, 'empty'));
  const all: Grown[] = [];
  try {
    await totalOf(askOver(empty.url));
    const emptyBytes = memoryOf(empty);
    for (const count of options.counts) {
      const grown = await grow({ folder, empty, emptyBytes }, count, options);
      all.push(grown);
      if (!options.json) print(grown);
    }
  } finally {
    await empty.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  const verdicts = all.map(judge);
  const record = { startedAt: startedAt.toISOString(), machine: host, options, grown: all, verdicts };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  if (options.record) {
    for (const file of writeRecord('growth', startedAt, record, plot(host, all)))
      console.error(`Wrote ${file}`);
  }
  return verdicts.every((each) => Object.values(each).every((passed) => passed)) ? 0 : 2;
}
