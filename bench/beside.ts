/**
 * `bench beside`: small POST /v1/fuse at seven tenths of what saturates a server, in an open loop: first
 * alone, then while the server adds fragments to exploration's index, answers walks and submissions, and is
 * backed up. What saturates it is measured in each of the two cases, since that work takes its share of the
 * cores. Two echoes then get the rate that the server had alone: a bare one, and one that computes for as
 * long as the server takes for a request. What the second one's latencies are is the machine's share: it
 * holds nothing, collects no garbage and calls nothing else.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { NearResponse } from '../src/contract/near.js';
import { openStore } from '../src/store/open.js';
import { systemClock } from '../src/system/clock.js';
import { systemRandomness } from '../src/system/randomness.js';
import { projectRoot } from '../test/support/python.js';
import { readBodies } from './bodies.js';
import { growStore, growthFragment } from './growthStore.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import type { Server } from './processes.js';
import { startEcho, startFusegate } from './servers.js';
import { figure, figures, spread } from './statistics.js';

/** What the command line may set. */
export interface BesideOptions extends RecordOptions {
  /** Fragments in the store; the index has none of them when the second measurement begins. */
  readonly fragments: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
}

/** Share of saturation; most times the median that the 99th percentile may be. */
const SHARE = 0.7;
const TARGET = 4;
/** Least share of requests sent in time: below it the rate was not kept, and the latencies say nothing. */
const KEPT = 0.99;
/** A rate (1/s) that no server reaches. */
const BEYOND_REACH = 1_000_000;
/** Pauses between walks and between submissions (ms). */
const PAUSES = { walk: 500, submission: 50 } as const;

const quiet = { error: () => undefined, warn: () => undefined, info: () => undefined };

/** A round's measurement of one case: seven tenths of saturation (1/s), and latencies (ms). */
interface Measured {
  readonly rate: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of the requests that were sent in time. */
  readonly kept: number;
}

/** What was done beside the requests of a round. */
interface Work {
  /** Fragments added to the index. */
  indexed: number;
  walks: number;
  submissions: number;
  backups: number;
}

interface Round {
  readonly alone: Measured;
  /** The bare echo at the rate of `alone`. */
  readonly echo: Measured;
  /** The echo that computes for as long as a request takes, at the rate of `alone`. */
  readonly busyEcho: Measured;
  readonly beside: Measured;
  readonly work: Work;
}

/** Sends the small request to a server at a rate (1/s) for some seconds. */
type Generator = (server: Server, rate: number, seconds: number) => Promise<Sent>;

/** What the generator prints: answers of status 200, other answers, and latencies (µs). */
interface Sent {
  readonly answers: number;
  readonly others: number;
  readonly p50: number;
  readonly p99: number;
}

/** Compiles the generator: one program of Rust without dependencies, which takes little of the processor. */
function makeGenerator(folder: string, body: string, connections: number): Generator {
  const program = join(folder, 'open_loop');
  const source = join(projectRoot, 'bench/peers/open_loop.rs');
  execFileSync('rustc', ['-O', '--edition', '2024', '-o', program, source], { stdio: 'inherit' });
  return async (server, rate, seconds) => {
    const args = [new URL(server.url).host, '/v1/fuse', body, rate, seconds, connections].map(String);
    const sent = JSON.parse((await promisify(execFile)(program, args)).stdout) as Sent;
    if (sent.others > 0 || sent.answers === 0) throw new Error(`${sent.others} requests failed`);
    return sent;
  };
}

/** Requests a second where each connection sends as soon as it has its answer: what saturates a server. */
async function saturation(send: Generator, server: Server, seconds: number): Promise<number> {
  return (await send(server, BEYOND_REACH, seconds)).answers / seconds;
}

/** Finds what saturates a server, and sends at its share. */
async function measure(send: Generator, server: Server, seconds: number): Promise<Measured> {
  const rate = Math.floor(SHARE * (await saturation(send, server, seconds)));
  return measureAt(send, server, seconds, rate);
}

/** Sends at a rate (1/s). */
async function measureAt(send: Generator, server: Server, seconds: number, rate: number): Promise<Measured> {
  const { answers, p50, p99 } = await send(server, rate, seconds);
  return { rate, p50Ms: p50 / 1_000, p99Ms: p99 / 1_000, kept: answers / (rate * seconds) };
}

async function explored(server: Server): Promise<number> {
  const answer = await fetch(`${server.url}/graph/near?text=x`);
  return ((await answer.json()) as NearResponse).total;
}

/** Calls again and again, one after the other, until stopped; returns how to stop. */
function repeat(pauseMs: number, call: (at: number) => Promise<void>): () => Promise<void> {
  const stopped = new AbortController();
  const running = (async () => {
    for (let at = 0; !stopped.signal.aborted; at += 1) {
      await call(at);
      await systemClock.sleep(pauseMs);
    }
  })();
  return () => {
    stopped.abort();
    return running;
  };
}

async function fetched(url: string, init?: RequestInit): Promise<void> {
  const answer = await fetch(url, init);
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

/** Backs a store up with the command that an operator has. */
async function backUp(storeUrl: string, to: string): Promise<void> {
  const program = [join(projectRoot, 'fusegate.mjs'), 'backup', to];
  const child = spawn(process.execPath, program, {
    env: { ...process.env, STORE_URL: storeUrl },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the backup ended with ${code}`);
  rmSync(to, { recursive: true, force: true });
}

/** Starts everything that may happen beside the requests; `stop` resolves to what was done. */
async function startWork(server: Server, folder: string, storeUrl: string, round: number) {
  const work: Work = { indexed: 0, walks: 0, submissions: 0, backups: 0 };
  const before = await explored(server);
  const stops = [
    repeat(PAUSES.walk, async (at) => {
      await fetched(`${server.url}/walk?seed=${at}`);
      work.walks += 1;
    }),
    repeat(PAUSES.submission, async (at) => {
      const { title, content } = growthFragment(10_000_000 + at);
      const body = JSON.stringify({ title: `${round} ${at} ${title}`, content });
      const headers = { 'content-type': 'application/json' };
      await fetched(`${server.url}/dream`, { method: 'POST', headers, body });
      work.submissions += 1;
    }),
    repeat(0, async (at) => {
      await backUp(storeUrl, join(folder, `backup-${round}-${at}`));
      work.backups += 1;
    }),
  ];
  const stop = async (): Promise<Work> => {
    const after = await explored(server);
    await Promise.all(stops.map((each) => each()));
    return { ...work, indexed: after - before };
  };
  return { stop };
}

/** Uses a server that has compiled its code, and stops it. */
async function withServer<Value>(
  server: Server,
  send: Generator,
  use: (server: Server) => Promise<Value>,
): Promise<Value> {
  try {
    // The first requests compile the code.
    await saturation(send, server, 2);
    return await use(server);
  } finally {
    await server.stop();
  }
}

/** Waits until what was written and removed before is on the disk: that would go on beside a measurement. */
function settle(): void {
  execFileSync('sync');
}

/** Alone on an empty store, the echoes, then beside the work on a store that has fragments to index. */
async function playRound(
  folder: string,
  round: number,
  send: Generator,
  options: BesideOptions,
): Promise<Round> {
  const { seconds, fragments } = options;
  const own = join(folder, String(round));
  const limits = { LOG_LEVEL: 'error', DOOR_SUBMISSIONS_PER_MINUTE: '0', DOOR_MAX_GB: '0' };
  settle();
  const empty = await startFusegate(limits);
  const alone = await withServer(empty, send, (server) => measure(send, server, seconds));
  const atThatRate = (echo: Server) => measureAt(send, echo, seconds, alone.rate);
  const { echo, ownUs } = await withServer(await startEcho(), send, async (bare) => ({
    ownUs: 1e6 / (await saturation(send, bare, seconds)),
    echo: await atThatRate(bare),
  }));
  const busyUs = Math.max(0, 1e6 / (alone.rate / SHARE) - ownUs);
  const busyEcho = await withServer(await startEcho(busyUs), send, atThatRate);
  const storeUrl = `lmdb:${join(own, 'store')}`;
  const store = await openStore(storeUrl, { clock: systemClock, randomness: systemRandomness, log: quiet });
  await growStore(store, 0, fragments);
  await store.close();
  settle();
  const server = await startFusegate({ ...limits, STORE_URL: storeUrl });
  try {
    return await withServer(server, send, async () => {
      const { stop } = await startWork(server, own, storeUrl, round);
      const beside = await measure(send, server, seconds);
      return { alone, echo, busyEcho, beside, work: await stop() };
    });
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** A round's cases, what they are called, and what their rate is. */
const CASES = [
  ['alone', 'alone', `${SHARE} of what saturates`],
  ['echo', 'bare echo', 'as many as alone'],
  ['busyEcho', 'echo as busy as the server', 'as many as alone'],
  ['beside', 'beside the work', `${SHARE} of what saturates`],
] as const;

const timesOf = ({ p50Ms, p99Ms }: Measured): number => p99Ms / p50Ms;

function print(rounds: readonly Round[], passed: boolean): void {
  const shown = (of: (round: Round) => number): string => figures(spread(rounds.map(of)));
  for (const [name, label, of] of CASES) {
    const p50 = shown((round) => round[name].p50Ms);
    const p99 = shown((round) => round[name].p99Ms);
    const times = shown((round) => timesOf(round[name]));
    console.log(`${label}: ${shown((round) => round[name].rate)} requests/s, ${of}`);
    console.log(`  p50 ${p50} ms, p99 ${p99} ms: ${times} times`);
  }
  const { indexed, walks, submissions, backups } = rounds.at(-1)?.work ?? {};
  console.log(
    `  beside it, last round: ${indexed} fragments indexed, ${walks} walks, ${submissions} submissions,`,
  );
  console.log(`  ${backups} backups  [p99 at most ${TARGET} times p50: ${passed ? 'pass' : 'missed'}]`);
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export async function benchBeside(options: BesideOptions): Promise<number> {
  const body = readBodies().find(({ docs, kind }) => docs === 10 && kind === 'ascii');
  if (body === undefined) throw new Error('there is no body of ten docs');
  const startedAt = new Date();
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-bench-'));
  const rounds: Round[] = [];
  try {
    const send = makeGenerator(folder, body.path, options.connections);
    for (let round = 0; round < options.rounds; round += 1) {
      rounds.push(await playRound(folder, round, send, options));
      console.error(`Round ${round + 1} of ${options.rounds} is done`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const kept = rounds.every((round) => CASES.every(([name]) => round[name].kept >= KEPT));
  const passed = kept && spread(rounds.map(({ beside }) => timesOf(beside))).median <= TARGET;
  const host = machine();
  const record = { startedAt: startedAt.toISOString(), machine: host, options, rounds, passed };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else print(rounds, passed);
  if (options.record) {
    const row = (label: string, of: (round: Round) => number) => {
      const values = spread(rounds.map(of));
      return { label, values: [values], note: `${figure(values.median)} ms` };
    };
    const plot = dotPlot({
      title: 'Small fuse requests at seven tenths of saturation',
      subtitle: `Open loop, one worker. ${host.cpu}, Node ${host.node.slice(1)}`,
      axis: 'ms (logarithmic)',
      series: ['latency'],
      rows: CASES.flatMap(([name, label]) => [
        row(`${label}, p50`, (round) => round[name].p50Ms),
        row(`${label}, p99`, (round) => round[name].p99Ms),
      ]),
    });
    for (const file of writeRecord('beside', startedAt, record, plot)) console.error(`Wrote ${file}`);
  }
  return passed ? 0 : 2;
}
