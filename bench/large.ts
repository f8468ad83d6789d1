/**
 * `bench large`: what one request of 32 MiB, always in flight, does to small ones, by the server's own
 * histogram. The small ones come at a steady pace, so that their latency is service and not their own queue.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readBodies } from './bodies.js';
import { open, requestBytes } from './client.js';
import type { Connection } from './client.js';
import { p99, scrape } from './histogram.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { freePort } from './processes.js';
import { startFusegate } from './servers.js';
import { figure, spread } from './statistics.js';
import type { Spread } from './statistics.js';

/** What the command line may set. */
export interface LargeOptions extends RecordOptions {
  readonly seconds: number;
  readonly connections: number;
}

/** Rounds, each of an idle and a loaded half. */
const ROUNDS = 4;
/** Pause (ms) between a small answer and the next small request of a connection. */
const PAUSE_MS = 2;
const LARGE_BYTES = 32 * 2 ** 20;
/** Greatest rise (ms) of the 99th percentile. */
const TARGET_MS = 5;

/** A body of nearly the limit: the documents of a smaller one, again and again. */
function largeBody(): Uint8Array {
  const model = readBodies().find(({ name }) => name === 'synthetic 1000');
  if (model === undefined) throw new Error('bench/data lacks fuse_1000.json');
  const docs = JSON.stringify(model.request.docs).slice(1, -1);
  const repeats = Math.floor((LARGE_BYTES - 10_000) / (new TextEncoder().encode(docs).length + 1));
  const all = Array.from({ length: repeats }, () => docs).join(',');
  return new TextEncoder().encode(`{"query":${JSON.stringify(model.request.query)},"docs":[${all}]}`);
}

/** Sends a request again and again until told to stop; resolves to how often it was answered. */
async function repeat(
  connection: Connection,
  bytes: Uint8Array,
  going: () => boolean,
  pauseMs: number,
): Promise<number> {
  let answered = 0;
  while (going()) {
    const status = await connection.exchange(bytes);
    if (status !== 200) throw new Error(`status ${status}`);
    answered++;
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return answered;
}

interface Half {
  readonly p99Ms: number;
  readonly small: number;
  readonly large: number;
}

/** One half of a round: small requests for some seconds, beside large ones or alone. */
async function half(
  port: number,
  metricsUrl: string,
  options: LargeOptions,
  large: Uint8Array | undefined,
  small: Uint8Array,
): Promise<Half> {
  const before = await scrape(metricsUrl);
  const end = performance.now() + (options.seconds * 1000) / ROUNDS;
  const going = (): boolean => performance.now() < end;
  const connections = await Promise.all(Array.from({ length: options.connections + 1 }, () => open(port)));
  const [first, ...others] = connections;
  if (first === undefined) throw new Error('no connection');
  const lanes = others.map((connection) => repeat(connection, small, going, PAUSE_MS));
  const largeAnswers = large === undefined ? 0 : await repeat(first, large, going, 0);
  const smallAnswers = (await Promise.all(lanes)).reduce((sum, count) => sum + count, 0);
  for (const connection of connections) connection.close();
  const after = await scrape(metricsUrl);
  return { p99Ms: p99(before, after, largeAnswers), small: smallAnswers, large: largeAnswers };
}

/** Runs it, prints and judges the rise, and writes the record; resolves to the exit code. */
export async function benchLarge(options: LargeOptions): Promise<number> {
  const startedAt = new Date();
  const metricsPort = await freePort();
  const server = await startFusegate({ METRICS_PORT: String(metricsPort) });
  const [idle, loaded]: [Half[], Half[]] = [[], []];
  try {
    const port = Number(new URL(server.url).port);
    const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
    const smallest = readBodies()[0];
    if (smallest === undefined) throw new Error('bench/data is empty');
    const [small, large] = [smallest.bytes, largeBody()].map((body) => requestBytes('/v1/fuse', body));
    if (small === undefined || large === undefined) throw new Error('no bodies');
    console.error(`Small: ${figure(small.length)} bytes; large: ${figure(large.length)} bytes`);
    await half(port, metricsUrl, { ...options, seconds: 4 }, large, small);
    for (let round = 1; round <= ROUNDS; round++) {
      idle.push(await half(port, metricsUrl, options, undefined, small));
      loaded.push(await half(port, metricsUrl, options, large, small));
      const [quiet = NaN, busy = NaN] = [idle.at(-1)?.p99Ms, loaded.at(-1)?.p99Ms];
      const counted = `${loaded.at(-1)?.large ?? 0} large requests and ${loaded.at(-1)?.small ?? 0} small`;
      const both = `p99 ${figure(quiet)} ms idle, ${figure(busy)} ms loaded`;
      console.error(`Round ${round}/${ROUNDS}: ${both} (${counted})`);
    }
  } finally {
    await server.stop();
  }
  return report(options, startedAt, idle, loaded);
}

function report(
  options: LargeOptions,
  startedAt: Date,
  idle: readonly Half[],
  loaded: readonly Half[],
): number {
  const of = (halves: readonly Half[]): Spread => spread(halves.map(({ p99Ms }) => p99Ms));
  const rise = of(loaded).median - of(idle).median;
  const verdict = rise < TARGET_MS ? 'pass' : 'missed';
  const host = machine();
  const record = { startedAt: startedAt.toISOString(), machine: host, options, idle, loaded, rise, verdict };
  const summary = `p99 of small requests rises by ${rise.toFixed(2)} ms beside a 32 MiB request`;
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else console.log(`${summary}  [target < ${TARGET_MS}: ${verdict}]`);
  if (options.record) {
    const svg = dotPlot({
      title: 'Small fuse requests beside one of 32 MiB: 99th percentile',
      subtitle: `Server-side histogram, ${ROUNDS} rounds. ${host.cpu}, Node ${host.node.slice(1)}`,
      axis: 'milliseconds (logarithmic)',
      series: ['p99'],
      rows: [
        { label: 'idle', values: [of(idle)], note: `${figure(of(idle).median)} ms` },
        { label: 'beside 32 MiB', values: [of(loaded)], note: `${figure(of(loaded).median)} ms` },
      ],
    });
    for (const file of writeRecord('large', startedAt, record, svg)) console.error(`Wrote ${file}`);
  }
  return verdict === 'missed' ? 2 : 0;
}
