/**
 * `bench batch`: queries of ten docs as lines of one POST /v1/fuse/batch, beside the same one after the
 * other by POST /v1/fuse, on one connection each. The two take turns.
 */
import { connect } from 'node:net';
import { once } from 'node:events';
import type { FuseRequest } from '../src/contract/fuse.js';
import { readBodies } from './bodies.js';
import { open, requestBytes } from './client.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import type { Server } from './processes.js';
import { startFusegate } from './servers.js';
import { figure, figures, ratios, spread } from './statistics.js';

/** What the command line may set. */
export interface BatchOptions extends RecordOptions {
  readonly rounds: number;
  readonly queries: number;
}

/** Least rate, in that of single requests. */
const TARGET = 1.3;

/** Queries of ten docs: those of the recorded body, of which each begins with another doc. */
function requests(count: number): Buffer[] {
  const body = readBodies().find(({ docs, kind }) => docs === 10 && kind === 'ascii');
  if (body === undefined) throw new Error('there is no body of ten docs');
  const { docs, ...rest } = JSON.parse(Buffer.from(body.bytes).toString()) as FuseRequest;
  return Array.from({ length: count }, (_, at) => {
    const from = at % docs.length;
    return Buffer.from(JSON.stringify({ ...rest, docs: [...docs.slice(from), ...docs.slice(0, from)] }));
  });
}

/** Answers to single requests, one after the other; resolves to the time (s) that they took. */
async function single(port: number, bodies: readonly Buffer[]): Promise<number> {
  const sent = bodies.map((body) => requestBytes('/v1/fuse', body));
  const connection = await open(port);
  const began = performance.now();
  for (const bytes of sent) {
    if ((await connection.exchange(bytes)) !== 200) throw new Error('a request failed');
  }
  const seconds = (performance.now() - began) / 1_000;
  connection.close();
  return seconds;
}

/** The same of a batch. */
async function batch(port: number, bodies: readonly Buffer[]): Promise<number> {
  const lines = Buffer.concat(bodies.flatMap((body) => [body, Buffer.from('\n')]));
  const bytes = requestBytes('/v1/fuse/batch', lines, { 'content-type': 'application/x-ndjson' });
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const pieces: Buffer[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    socket.on('error', reject).on('close', () => reject(new Error('the connection was closed')));
    socket.on('data', (piece) => {
      pieces.push(piece);
      if (piece.toString('latin1').endsWith('0\r\n\r\n')) resolve();
    });
  });
  const began = performance.now();
  socket.write(bytes);
  await ended;
  const seconds = (performance.now() - began) / 1_000;
  const answers = Buffer.concat(pieces).toString('latin1').split('"results":[').length - 1;
  if (answers !== bodies.length) throw new Error(`${answers} of ${bodies.length} were answered`);
  socket.removeAllListeners('close').destroy();
  return seconds;
}

interface Rounds {
  /** Queries a second. */
  readonly single: number[];
  readonly batch: number[];
  /** CPU of the server, µs a query. */
  readonly singleCpu: number[];
  readonly batchCpu: number[];
}

async function measure(server: Server, { rounds, queries }: BatchOptions): Promise<Rounds> {
  const bodies = requests(queries);
  const port = Number(new URL(server.url).port);
  const found: Rounds = { single: [], batch: [], singleCpu: [], batchCpu: [] };
  const take = async (name: 'single' | 'batch'): Promise<void> => {
    const cpu = server.cpuSeconds();
    const seconds = await { single, batch }[name](port, bodies);
    found[name].push(queries / seconds);
    found[`${name}Cpu`].push(((server.cpuSeconds() - cpu) * 1e6) / queries);
  };
  await single(port, bodies);
  await batch(port, bodies);
  for (const values of Object.values(found) as number[][]) values.length = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? (['single', 'batch'] as const) : (['batch', 'single'] as const)) {
      await take(name);
    }
  }
  return found;
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export async function benchBatch(options: BatchOptions): Promise<number> {
  const startedAt = new Date();
  const server = await startFusegate({ LOG_LEVEL: 'error' });
  let rounds: Rounds;
  try {
    rounds = await measure(server, options);
  } finally {
    await server.stop();
  }
  const times = ratios(rounds.batch, rounds.single);
  const passed = times.median >= TARGET;
  const host = machine();
  const record = { startedAt: startedAt.toISOString(), machine: host, options, rounds, passed };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else {
    console.log(`one by one: ${figures(spread(rounds.single))} queries of 10 docs a second`);
    console.log(`as one batch: ${figures(spread(rounds.batch))}`);
    console.log(`times one by one: ${figures(times)}  [target ${TARGET}: ${passed ? 'pass' : 'missed'}]`);
    const cpu = (values: number[]): string => figures(spread(values));
    console.log(
      `CPU of the server, µs a query: ${cpu(rounds.singleCpu)}, ${cpu(rounds.batchCpu)} in a batch`,
    );
  }
  if (options.record) {
    const row = (label: string, values: readonly number[]) => {
      const of = spread(values);
      return { label, values: [of], note: `${figure(of.median)}/s` };
    };
    const plot = dotPlot({
      title: `${options.queries} queries of 10 docs on one connection`,
      subtitle: `One worker. ${host.cpu}, Node ${host.node.slice(1)}`,
      axis: 'queries a second (logarithmic)',
      series: ['rate'],
      rows: [row('POST /v1/fuse, one by one', rounds.single), row('POST /v1/fuse/batch', rounds.batch)],
    });
    for (const file of writeRecord('batch', startedAt, record, plot)) console.error(`Wrote ${file}`);
  }
  return passed ? 0 : 2;
}
