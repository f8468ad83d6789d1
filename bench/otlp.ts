/**
 * `bench otlp`: POST /v1/fuse of ten docs without a collector, with one under the default sampler, and with
 * one that gets all that a worker records. The servers take turns in one run; ratios are taken round by
 * round.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readBodies } from './bodies.js';
import { load, withWrk, type Load } from './load.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import type { Server } from './processes.js';
import { startFusegate } from './servers.js';
import { figure, figures, ratios, spread } from './statistics.js';

/** What the command line may set. */
export interface OtlpOptions extends RecordOptions {
  readonly rounds: number;
  /** Seconds of load a server and round. */
  readonly seconds: number;
  readonly connections: number;
}

/** Least rate with a collector under the default sampler, in that without one. */
const TARGET = 0.95;

/** Names of the servers. */
const kinds = ['off', 'default', 'all'] as const;
type Kind = (typeof kinds)[number];

/** A collector that takes everything, and counts the bytes. */
async function startCollector() {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (piece: Buffer) => (bytes += piece.length));
    request.on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, bytes: () => bytes, stop };
}

async function startServers(collector: string): Promise<Record<Kind, Server>> {
  const quiet = { LOG_LEVEL: 'error' };
  const sent = { ...quiet, OTEL_EXPORTER_OTLP_ENDPOINT: collector };
  return {
    off: await startFusegate(quiet),
    default: await startFusegate(sent),
    all: await startFusegate({ ...sent, OTEL_TRACES_SAMPLER: 'always_on' }),
  };
}

async function measure(
  servers: Record<Kind, Server>,
  { rounds, seconds, connections }: OtlpOptions,
): Promise<Record<Kind, Load[]>> {
  const body = readBodies().find(({ docs, kind }) => docs === 10 && kind === 'ascii');
  if (body === undefined) throw new Error('there is no body of ten docs');
  const found: Record<Kind, Load[]> = { off: [], default: [], all: [] };
  for (const kind of kinds) await load(servers[kind], body.path, connections, 1);
  for (let round = 0; round < rounds; round += 1) {
    // Another one begins each round.
    const order = kinds.map((_, at) => kinds[(at + round) % kinds.length] ?? 'off');
    for (const kind of order) found[kind].push(await load(servers[kind], body.path, connections, seconds));
  }
  return found;
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export function benchOtlp(options: OtlpOptions): Promise<number> {
  return withWrk(async (_, startedAt) => {
    const collector = await startCollector();
    const servers = await startServers(collector.url);
    let found: Record<Kind, Load[]>;
    try {
      found = await measure(servers, options);
    } finally {
      for (const server of Object.values(servers)) await server.stop();
      collector.stop();
    }
    if (collector.bytes() === 0) throw new Error('the collector got nothing');
    const rates = (kind: Kind): number[] => found[kind].map((run) => run.requestsPerSecond);
    const cpu = (kind: Kind): number[] => found[kind].map((run) => run.cpuMicroseconds);
    const times = ratios(rates('default'), rates('off'));
    const passed = times.median >= TARGET;
    const host = machine();
    const shown = {
      rates: kinds.map((kind) => [kind, rates(kind)]),
      cpu: kinds.map((kind) => [kind, cpu(kind)]),
    };
    const record = { startedAt: startedAt.toISOString(), machine: host, options, ...shown, passed };
    if (options.json) console.log(JSON.stringify(record, null, 2));
    else {
      for (const kind of kinds) {
        const rate = figures(spread(rates(kind)));
        console.log(`${kind.padEnd(8)} ${rate} requests/s, ${figures(spread(cpu(kind)))} µs CPU a request`);
      }
      console.log(`default / off: ${figures(times)}  [target ${TARGET}: ${passed ? 'pass' : 'missed'}]`);
      console.log(`all / off: ${figures(ratios(rates('all'), rates('off')))}`);
      console.log(`CPU, default / off: ${figures(ratios(cpu('default'), cpu('off')))}`);
    }
    if (options.record) {
      const row = (label: string, kind: Kind) => {
        const of = spread(rates(kind));
        return { label, values: [of], note: `${figure(of.median)}/s` };
      };
      const plot = dotPlot({
        title: 'POST /v1/fuse of 10 docs, with and without a collector',
        subtitle: `One worker. ${host.cpu}, Node ${host.node.slice(1)}`,
        axis: 'requests a second (logarithmic)',
        series: ['rate'],
        rows: [
          row('no collector', 'off'),
          row('1 % recorded', 'default'),
          row('all that fit recorded', 'all'),
        ],
      });
      for (const file of writeRecord('otlp', startedAt, record, plot)) console.error(`Wrote ${file}`);
    }
    return passed ? 0 : 2;
  });
}
