/**
 * `bench fuse`: requests a second and server CPU a request of POST /v1/fuse against a bare echo of the same
 * bytes and against FastAPI with rank_bm25, and the native core in process against rank_bm25, bm25s and
 * tantivy. Peers take turns within one run, so that a slower minute of the machine hits all of them; ratios
 * are taken round by round.
 */
import { findPython } from '../test/support/python.js';
import { readBodies } from './bodies.js';
import type { Body } from './bodies.js';
import { checkFusegate, checkRankBm25 } from './check.js';
import { startInProcess } from './inprocess.js';
import type { InProcess } from './inprocess.js';
import { findWrk, load } from './load.js';
import type { Load } from './load.js';
import { machine, versionOf, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { startEcho, startFastapi, startFusegate } from './servers.js';
import type { Server } from './processes.js';
import { figure, figures, ratios, spread } from './statistics.js';
import type { Spread } from './statistics.js';

/** What the command line may set. */
export interface FuseOptions extends RecordOptions {
  readonly rounds: number;
  /** Seconds of load a peer, body and round. */
  readonly seconds: number;
  readonly connections: number;
  /** Only bodies whose name contains this. */
  readonly body: string;
}

/** A figure with what it has to reach; `null` where nothing is asked of it. */
interface Judged {
  readonly spread: Spread;
  readonly target: number | null;
  readonly verdict: 'pass' | 'missed' | null;
}

interface HttpFigures {
  readonly body: string;
  readonly bytes: number;
  readonly requestsPerSecond: Readonly<Record<string, Spread>>;
  readonly cpuMicroseconds: Readonly<Record<string, Spread>>;
  readonly p99Microseconds: Readonly<Record<string, Spread>>;
  readonly timesFastapi: Judged | null;
  readonly timesEchoCpu: Judged;
}

interface InProcessFigures {
  readonly body: string;
  readonly bytes: number;
  readonly microseconds: Readonly<Record<string, Spread>>;
  readonly gigabytesPerSecond: Judged;
}

/** Bodies of fewer documents than this spend more of their time in HTTP, so less is asked of them. */
const FULL_TARGET_DOCS = 100;

/** Least ratio of requests a second to FastAPI + rank_bm25. */
function fastapiTarget({ kind, docs }: Body): number | null {
  if (kind === 'written') return 40;
  if (kind !== 'ascii') return null;
  return docs >= FULL_TARGET_DOCS ? 60 : 48;
}

/** Greatest ratio of server CPU a request to the echo. */
function echoTarget({ kind }: Body): number | null {
  return kind === 'ascii' ? 5.5 : null;
}

/** Least rate (GB/s of body) of the native core. */
function nativeTarget({ kind }: Body): number | null {
  return { ascii: 0.8, cjk: 0.25, escapes: 0.25, unicode: null, written: null }[kind];
}

function judge(value: Spread, target: number | null, better: 'more' | 'less'): Judged {
  if (target === null) return { spread: value, target, verdict: null };
  const reached = better === 'more' ? value.median >= target : value.median <= target;
  return { spread: value, target, verdict: reached ? 'pass' : 'missed' };
}

/** Posts a body once and fails unless the answer is right. */
async function verify(server: Server, body: Body): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${server.url}/v1/fuse`, { method: 'POST', headers, body: body.bytes });
  const text = await answer.text();
  if (answer.status !== 200)
    throw new Error(`${server.name}: ${answer.status} to ${body.name}: ${text.slice(0, 500)}`);
  if (server.name === 'echo') {
    if (text !== new TextDecoder().decode(body.bytes)) throw new Error('the echo changes the bytes');
    return;
  }
  const check = server.name === 'FastAPI' ? checkRankBm25 : checkFusegate;
  check(body.request, JSON.parse(text));
}

function spreads<Value>(
  rounds: ReadonlyMap<string, readonly Value[]>,
  of: (value: Value) => number,
): Record<string, Spread> {
  return Object.fromEntries(Array.from(rounds, ([name, values]) => [name, spread(values.map(of))]));
}

async function measureHttp(
  servers: readonly Server[],
  body: Body,
  options: FuseOptions,
): Promise<HttpFigures> {
  const rounds = new Map<string, Load[]>(servers.map(({ name }) => [name, []]));
  const { connections } = options;
  // The slowest peer answers a handful of a thousand documents a second: a shorter run would count too few.
  const factor = body.docs >= 1000 ? 3 : 1;
  for (const server of servers) await load(server, body.path, connections, factor);
  for (let round = 0; round < options.rounds; round++) {
    for (const server of servers) {
      const run = await load(server, body.path, connections, factor * options.seconds);
      rounds.get(server.name)?.push(run);
    }
  }
  const of = (name: string, what: keyof Load): number[] => (rounds.get(name) ?? []).map((run) => run[what]);
  const rate = ratios(of('Fusegate', 'requestsPerSecond'), of('FastAPI', 'requestsPerSecond'));
  const cpu = ratios(of('Fusegate', 'cpuMicroseconds'), of('echo', 'cpuMicroseconds'));
  return {
    body: body.name,
    bytes: body.bytes.length,
    requestsPerSecond: spreads(rounds, (run) => run.requestsPerSecond),
    cpuMicroseconds: spreads(rounds, (run) => run.cpuMicroseconds),
    p99Microseconds: spreads(rounds, (run) => run.p99Microseconds),
    timesFastapi: rounds.has('FastAPI') ? judge(rate, fastapiTarget(body), 'more') : null,
    timesEchoCpu: judge(cpu, echoTarget(body), 'less'),
  };
}

async function measureInProcess(
  peers: readonly InProcess[],
  body: Body,
  options: FuseOptions,
): Promise<InProcessFigures> {
  const taking = peers.filter((peer) => peer.takes(body));
  const rounds = new Map<string, number[]>(taking.map(({ name }) => [name, []]));
  for (const peer of taking) await peer.measure(body, Math.min(1, options.seconds));
  for (let round = 0; round < options.rounds; round++) {
    for (const peer of taking) rounds.get(peer.name)?.push(await peer.measure(body, options.seconds));
  }
  const rates = (rounds.get('native core') ?? []).map((seconds) => body.bytes.length / seconds / 1e9);
  return {
    body: body.name,
    bytes: body.bytes.length,
    microseconds: spreads(rounds, (seconds) => seconds * 1e6),
    gigabytesPerSecond: judge(spread(rates), nativeTarget(body), 'more'),
  };
}

function remark({ target, verdict }: Judged, sign: string): string {
  return verdict === null || target === null ? '' : `  [target ${sign} ${target}: ${verdict}]`;
}

function printHttp(figuresOf: HttpFigures): void {
  console.log(`\n${figuresOf.body} (${figure(figuresOf.bytes)} bytes)`);
  for (const [name, rate] of Object.entries(figuresOf.requestsPerSecond)) {
    const cpu = figuresOf.cpuMicroseconds[name];
    const cpuText = cpu === undefined ? '' : `  ${figures(cpu)} µs CPU a request`;
    console.log(`  ${name.padEnd(10)} ${figures(rate)} requests/s${cpuText}`);
  }
  const { timesFastapi, timesEchoCpu } = figuresOf;
  if (timesFastapi !== null) {
    console.log(
      `  Fusegate / FastAPI, requests/s: ${figures(timesFastapi.spread)}${remark(timesFastapi, '>=')}`,
    );
  }
  console.log(
    `  Fusegate / echo, CPU a request: ${figures(timesEchoCpu.spread)}${remark(timesEchoCpu, '<=')}`,
  );
}

function printInProcess(figuresOf: InProcessFigures): void {
  console.log(`\n${figuresOf.body} in process (${figure(figuresOf.bytes)} bytes)`);
  for (const [name, time] of Object.entries(figuresOf.microseconds)) {
    const rate = figuresOf.bytes / time.median;
    console.log(`  ${name.padEnd(11)} ${figures(time)} µs a request, ${figure(rate)} MB/s`);
  }
  const { gigabytesPerSecond } = figuresOf;
  console.log(`  native core: ${figures(gigabytesPerSecond.spread)} GB/s${remark(gigabytesPerSecond, '>=')}`);
}

function httpPlot(all: readonly HttpFigures[], host: string): string {
  const series = ['echo', 'Fusegate', 'FastAPI'];
  return dotPlot({
    title: 'POST /v1/fuse: requests a second, one worker',
    subtitle: `Median and range of the rounds; echo: uWebSockets.js, FastAPI: with rank_bm25. ${host}`,
    axis: 'requests a second (logarithmic)',
    series,
    rows: all.map(({ body, requestsPerSecond, timesFastapi }) => ({
      label: body,
      values: series.map((name) => requestsPerSecond[name]),
      note: timesFastapi === null ? '' : `${figure(timesFastapi.spread.median)} × FastAPI`,
    })),
  });
}

function inProcessPlot(all: readonly InProcessFigures[], host: string): string {
  const series = ['native core', 'rank_bm25', 'bm25s', 'tantivy'];
  return dotPlot({
    title: 'One fuse request in process, bytes in to bytes out',
    subtitle: `Median and range of the rounds, one core. ${host}`,
    axis: 'microseconds a request (logarithmic)',
    series,
    rows: all.map(({ body, microseconds, gigabytesPerSecond }) => ({
      label: body,
      values: series.map((name) => microseconds[name]),
      note: `native ${figure(gigabytesPerSecond.spread.median)} GB/s`,
    })),
  });
}

/** Over HTTP, body by body. */
async function runHttp(
  bodies: readonly Body[],
  python: string | undefined,
  options: FuseOptions,
  say: (line: string) => void,
): Promise<HttpFigures[]> {
  say('Starting Fusegate, the echo and FastAPI …');
  const servers: Server[] = [];
  try {
    servers.push(await startEcho(), await startFusegate());
    if (python !== undefined) servers.push(await startFastapi(python));
    const all: HttpFigures[] = [];
    for (const [at, body] of bodies.entries()) {
      say(`HTTP ${at + 1}/${bodies.length}: ${body.name} …`);
      for (const server of servers) await verify(server, body);
      const measured = await measureHttp(servers, body, options);
      all.push(measured);
      if (!options.json) printHttp(measured);
    }
    return all;
  } finally {
    for (const server of servers) await server.stop();
  }
}

/** In process, body by body. */
async function runInProcess(
  bodies: readonly Body[],
  python: string | undefined,
  options: FuseOptions,
  say: (line: string) => void,
): Promise<InProcessFigures[]> {
  const peers = startInProcess(python, say);
  try {
    const all: InProcessFigures[] = [];
    for (const [at, body] of bodies.entries()) {
      say(`In process ${at + 1}/${bodies.length}: ${body.name} …`);
      for (const peer of peers) if (peer.takes(body)) await peer.verify(body);
      const measured = await measureInProcess(peers, body, options);
      all.push(measured);
      if (!options.json) printInProcess(measured);
    }
    return all;
  } finally {
    for (const peer of peers) await peer.stop();
  }
}

/** Runs it all, prints figures beside their targets, and writes the record; resolves to the exit code. */
export async function benchFuse(options: FuseOptions): Promise<number> {
  const say = (line: string): void => console.error(line);
  const wrk = findWrk();
  if ('missing' in wrk) {
    say(wrk.missing);
    return 1;
  }
  const modules = ['fastapi', 'uvicorn', 'uvloop', 'httptools', 'rank_bm25', 'bm25s'];
  const found = findPython(modules, 'bench/peers/requirements.txt');
  if ('missing' in found) say(`The Python peers are left out: ${found.missing}`);
  const python = 'python' in found ? found.python : undefined;
  const bodies = readBodies().filter(({ name }) => name.includes(options.body));
  if (bodies.length === 0) {
    say(`No body is named like "${options.body}".`);
    return 1;
  }
  const host = machine();
  const startedAt = new Date();
  const http = await runHttp(bodies, python, options, say);
  const inProcess = await runInProcess(bodies, python, options, say);
  const { rounds, seconds, connections } = options;
  const versions = { wrk: wrk.version, python: python === undefined ? null : versionOf(python, ['-V']) };
  const settings = { rounds, seconds, connections, cpuTime: 'utime + stime of /proc/<pid>/stat' };
  const record = { startedAt: startedAt.toISOString(), machine: host, versions, settings, http, inProcess };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  if (options.record) {
    const name = `${host.cpu}, Node ${host.node.slice(1)}`;
    const files = [
      ...writeRecord('fuse-http', startedAt, { ...record, inProcess: undefined }, httpPlot(http, name)),
      ...writeRecord(
        'fuse-inprocess',
        startedAt,
        { ...record, http: undefined },
        inProcessPlot(inProcess, name),
      ),
    ];
    for (const file of files) say(`Wrote ${file}`);
  }
  const judged = [
    ...http.flatMap(({ timesFastapi, timesEchoCpu }) => [timesFastapi, timesEchoCpu]),
    ...inProcess.map(({ gigabytesPerSecond }) => gigabytesPerSecond),
  ];
  // A target that could not be judged is not reached.
  return python === undefined || judged.some((one) => one?.verdict === 'missed') ? 2 : 0;
}
