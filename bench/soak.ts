/**
 * `bench soak`: resident memory of a worker while good, bad and aborted requests run through it. Every
 * answer's status is checked. Memory must be flat: its slope after the warm-up is judged.
 */
import { readFileSync } from 'node:fs';
import { readBodies } from './bodies.js';
import { abort, open, requestBytes } from './client.js';
import type { Connection } from './client.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { linePlot } from './plot.js';
import { startFusegate } from './servers.js';
import { figure } from './statistics.js';

/** What the command line may set. */
export interface SoakOptions extends RecordOptions {
  readonly requests: number;
  readonly connections: number;
}

/** One kind of request and how often it comes. */
interface Kind {
  readonly name: string;
  readonly share: number;
  readonly bytes: Uint8Array;
  /** The status that must come, or how the request is broken off. */
  readonly outcome: number | { readonly cutAt: number; readonly afterMs: number };
}

/** Share of the samples that are warm-up: the engine grows its heap for about half a million requests. */
const WARM_UP = 0.5;
/** Growth (MiB) a million requests that counts as flat: within the spread of a settled process. */
const FLAT_MIB = 8;
/** Requests below which the slope says nothing. */
const LEAST_REQUESTS = 100_000;
const SAMPLES = 200;
const KIBIBYTE = 1024;

function bodyNamed(name: string): Uint8Array {
  const found = readBodies().find((body) => body.name === name);
  if (found === undefined) throw new Error(`bench/data lacks ${name}`);
  return found.bytes;
}

/** The mix: seven good of ten, two bad of several sorts, one broken off. */
function mix(): Kind[] {
  const [ten, hundred, escapes] = ['synthetic 10', 'synthetic 100', 'synthetic 100 escapes'].map(bodyNamed);
  if (ten === undefined || hundred === undefined || escapes === undefined) throw new Error('no bodies');
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const fuse = (body: Uint8Array, headers?: Record<string, string>): Uint8Array =>
    requestBytes('/v1/fuse', body, headers);
  const broken = ten.slice(0, -2);
  const wrongTypes = bytes('{"query":1,"docs":[{"id":1},{"text":2},"x"],"top_k":0}');
  const escapedName = bytes('{"\\u0071uery":"a","docs":[{"id":"1","text":"a","dense_score":1}]}');
  return [
    { name: 'good, 10 docs', share: 60, bytes: fuse(ten), outcome: 200 },
    { name: 'good, 100 docs', share: 6, bytes: fuse(hundred), outcome: 200 },
    { name: 'good, escapes', share: 2, bytes: fuse(escapes), outcome: 200 },
    { name: 'good, an escaped name', share: 2, bytes: fuse(escapedName), outcome: 200 },
    { name: 'bad, broken JSON', share: 7, bytes: fuse(broken), outcome: 422 },
    { name: 'bad, wrong types', share: 7, bytes: fuse(wrongTypes), outcome: 422 },
    { name: 'bad, wrong path', share: 3, bytes: requestBytes('/v1/nothing', ten), outcome: 404 },
    { name: 'bad, coding', share: 3, bytes: fuse(ten, { 'content-encoding': 'gzip' }), outcome: 415 },
    { name: 'aborted, half a body', share: 6, bytes: fuse(hundred), outcome: { cutAt: 0.5, afterMs: 2 } },
    { name: 'aborted, whole body', share: 4, bytes: fuse(hundred), outcome: { cutAt: 1, afterMs: 0 } },
  ];
}

/** Kinds in a fixed shuffled order that has each as often as its share. */
function schedule(kinds: readonly Kind[]): Kind[] {
  const cards = kinds.flatMap((kind) => Array.from({ length: kind.share }, () => kind));
  // 37 has no factor in common with their number, 100: every card comes once.
  return cards.map((_, at) => cards[(at * 37) % cards.length]).filter((kind) => kind !== undefined);
}

/** Resident memory (MiB) of some processes. */
function residentMiB(pids: readonly number[]): number {
  const each = pids.map((pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
  });
  return each.reduce((sum, kib) => sum + kib, 0) / KIBIBYTE;
}

/** Least-squares slope of y over x. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return covariance / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}

/** Sends one request and fails unless its outcome is the expected one. */
async function send(kind: Kind, port: number, connection: () => Promise<Connection>): Promise<void> {
  if (typeof kind.outcome === 'object') {
    const { cutAt, afterMs } = kind.outcome;
    await abort(port, kind.bytes.subarray(0, Math.floor(kind.bytes.length * cutAt)), afterMs);
    return;
  }
  const status = await (await connection()).exchange(kind.bytes);
  if (status !== kind.outcome) throw new Error(`${kind.name}: ${status} instead of ${kind.outcome}`);
}

/** Runs the mix over several connections, calling `sample` now and then with the requests done so far. */
async function run(options: SoakOptions, port: number, sample: (done: number) => void): Promise<void> {
  const cards = schedule(mix());
  const every = Math.max(1, Math.floor(options.requests / SAMPLES));
  let started = 0;
  let done = 0;
  const lane = async (): Promise<void> => {
    let current: Connection | undefined;
    const connection = async (): Promise<Connection> => (current ??= await open(port));
    while (started < options.requests) {
      const kind = cards[started++ % cards.length];
      if (kind === undefined) throw new Error('an empty schedule');
      await send(kind, port, connection);
      if (++done % every === 0) sample(done);
    }
    current?.close();
  };
  await Promise.all(Array.from({ length: options.connections }, lane));
}

/** Runs it, prints and judges the slope, and writes the record; resolves to the exit code. */
export async function benchSoak(options: SoakOptions): Promise<number> {
  const startedAt = new Date();
  const server = await startFusegate();
  const points: [number, number][] = [];
  try {
    // The first process is the parent; its children are the workers.
    const workers = server.pids().slice(1);
    const sample = (done: number): void => {
      const resident = residentMiB(workers);
      points.push([done, resident]);
      if (points.length % 10 === 0)
        console.error(`${figure(done)} requests: ${resident.toFixed(1)} MiB resident`);
    };
    await run(options, Number(new URL(server.url).port), sample);
    if (server.pids().slice(1).join() !== workers.join()) throw new Error('a worker ended under the load');
  } finally {
    await server.stop();
  }
  return report(options, startedAt, points);
}

function report(options: SoakOptions, startedAt: Date, points: readonly [number, number][]): number {
  const settled = points.slice(Math.floor(points.length * WARM_UP));
  const growth = slope(settled) * 1e6;
  const judgeable = options.requests >= LEAST_REQUESTS;
  const verdict = !judgeable ? 'too short to judge' : growth <= FLAT_MIB ? 'pass' : 'missed';
  const summary = `slope after warm-up: ${growth.toFixed(2)} MiB a million requests`;
  const host = machine();
  const record = { startedAt: startedAt.toISOString(), machine: host, options, growth, verdict, points };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else console.log(`${summary}  [target <= ${FLAT_MIB}: ${verdict}]`);
  if (options.record) {
    const svg = linePlot({
      title: 'Resident memory of a worker under good, bad and aborted requests',
      subtitle: `${summary}. ${host.cpu}, Node ${host.node.slice(1)}`,
      xAxis: 'requests',
      yAxis: 'MiB resident',
      points,
    });
    for (const file of writeRecord('soak', startedAt, record, svg)) console.error(`Wrote ${file}`);
  }
  return verdict === 'missed' ? 2 : 0;
}
