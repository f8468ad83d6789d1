/**
 * `bench takeover`: POST /v1/fuse of ten docs at a constant rate while server after server takes the place
 * of the one before it. Most requests go over kept connections, some over new ones. A request that is not
 * answered with 200 is a failure. Latencies count from the moment at which a request was due.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../test/support/python.js';
import { requestBytes } from './client.js';
import { machine } from './machine.js';
import type { RecordOptions } from './options.js';

/** What the command line may set. */
export interface TakeoverOptions extends RecordOptions {
  readonly takeovers: number;
  readonly rate: number;
  readonly workers: number;
  readonly connections: number;
}

/** The compiled program. */
const main = fileURLToPath(new URL('../src/main.js', import.meta.url));

/** One request of so many goes over a new connection. */
const newEvery = 10;
/** Interval at which the requests are sent that are due (ms). */
const tickMs = 2;
/** Time before the first take-over, and between the end of one and the next (ms). */
const steadyMs = 1_000;

function requestOfTenDocs(): Uint8Array {
  const docs = Array.from({ length: 10 }, (_, at) => ({
    id: String(at),
    text: `a red bike with ${at} gears and a bell, for hills and for town`,
    dense_score: 0.5 + at / 100,
  }));
  return requestBytes('/v1/fuse', Buffer.from(JSON.stringify({ query: 'red bike for town', docs })));
}

const request = requestOfTenDocs();

/** An answer: when it came, and how long after it was due (ms). */
interface Sample {
  readonly atMs: number;
  readonly tookMs: number;
}

/** Requests at a constant rate, whatever becomes of those before. */
class ConstantRate {
  readonly samples: Sample[] = [];
  readonly failures: string[] = [];
  private readonly idle: Socket[] = [];
  private readonly waiting: number[] = [];
  private sent = 0;
  private pending = 0;
  /** Connections that are kept, busy ones included. */
  private open = 0;
  private stopped = false;

  constructor(
    private readonly port: number,
    private readonly options: TakeoverOptions,
  ) {}

  /** Sends until stopped; resolves once every request was answered or has failed. */
  async run(): Promise<void> {
    const startMs = performance.now();
    while (!this.stopped) {
      const due = ((performance.now() - startMs) * this.options.rate) / 1_000;
      while (this.sent < due) this.send(startMs + (this.sent * 1_000) / this.options.rate);
      await sleep(tickMs);
    }
    while (this.pending > 0) await sleep(tickMs);
    for (const socket of this.idle.splice(0)) socket.destroy();
  }

  stop(): void {
    this.stopped = true;
  }

  private send(dueMs: number): void {
    this.sent += 1;
    this.pending += 1;
    if (this.sent % newEvery === 0) this.exchange(this.connect(), dueMs, false);
    else {
      // The one that did nothing for longest: none is ended as idle.
      const socket = this.idle.shift();
      if (socket !== undefined) this.exchange(socket, dueMs, true);
      else if (this.open < this.options.connections) this.exchange(this.connectKept(), dueMs, true);
      else this.waiting.push(dueMs);
    }
  }

  private connect(): Socket {
    return connect({ port: this.port, host: '127.0.0.1', noDelay: true });
  }

  private connectKept(): Socket {
    this.open += 1;
    return this.connect();
  }

  /** Sends one request; a kept connection waits for the next, unless the answer ends it. */
  private exchange(socket: Socket, dueMs: number, isKept: boolean): void {
    const answered = (isOver: boolean): void => {
      socket.removeAllListeners();
      socket.on('error', () => undefined);
      this.pending -= 1;
      if (isKept && !isOver) {
        const next = this.waiting.shift();
        if (next !== undefined) this.exchange(socket, next, true);
        else this.rest(socket);
        return;
      }
      socket.destroy();
      if (!isKept) return;
      this.open -= 1;
      const next = this.waiting.shift();
      if (next !== undefined) this.exchange(this.connectKept(), next, true);
    };
    const fail = (why: string): void => {
      this.failures.push(`${isKept ? 'kept' : 'new'}: ${why}`);
      answered(true);
    };
    let text = '';
    socket.on('data', (piece: Buffer) => {
      text += piece.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < end + 4 + length) return;
      const status = text.slice(9, 12);
      const atMs = performance.now();
      if (status !== '200') this.failures.push(`status ${status}`);
      else this.samples.push({ atMs, tookMs: atMs - dueMs });
      answered(/\r\nconnection: *close/i.test(text.slice(0, end)));
    });
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
    socket.on('close', () => fail('closed'));
    socket.write(request);
  }

  /** Keeps a connection that does nothing; one that the server ends then is no failure. */
  private rest(socket: Socket): void {
    const gone = (): void => {
      const at = this.idle.indexOf(socket);
      if (at >= 0) this.idle.splice(at, 1);
      socket.removeAllListeners();
      socket.on('error', () => undefined).destroy();
      this.open -= 1;
    };
    socket.on('error', gone).on('close', gone);
    this.idle.push(socket);
  }
}

/** A server, once it serves. */
async function start(
  folder: string,
  port: number,
  workers: number,
): Promise<{ child: ChildProcess; port: number }> {
  const environment = {
    ...{ PORT: String(port), WORKERS: String(workers), STORE_URL: `lmdb:${join(folder, 'store')}` },
    ...{ ACCESS: 'open', LOG_LEVEL: 'error' },
  };
  const child = spawn(process.execPath, [main, 'serve', '--take-over'], {
    cwd: folder,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  for await (const piece of child.stdout) {
    printed += String(piece);
    const found = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1];
    if (found === undefined) continue;
    child.stdout.resume();
    return { child, port: Number(found) };
  }
  throw new Error(`A server did not start:\n${printed}`);
}

function percentile(samples: readonly Sample[], share: number): number {
  const sorted = samples.map(({ tookMs }) => tookMs).sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** The figures of a run: `changes` are the moments at which a server said that it serves. */
function figuresOf(rate: ConstantRate, changes: readonly number[], starts: readonly number[]) {
  const near = (at: number, from: number, to: number): boolean => at >= from && at < to;
  const around = (from: number, to: number): Sample[] =>
    rate.samples.filter(({ atMs }) => changes.some((at) => near(atMs, at + from, at + to)));
  const inStart = rate.samples.filter(({ atMs }) =>
    starts.some((at, which) => near(atMs, at, changes[which] ?? Infinity)),
  );
  const steady = rate.samples.filter(
    ({ atMs }) => !starts.some((at, which) => near(atMs, at, (changes[which] ?? Infinity) + 500)),
  );
  const both = (samples: readonly Sample[]) => ({
    requests: samples.length,
    p50Ms: percentile(samples, 0.5),
    p99Ms: percentile(samples, 0.99),
  });
  return {
    takeovers: changes.length,
    answered: rate.samples.length,
    failed: rate.failures.length,
    failures: rate.failures.slice(0, 10),
    steady: both(steady),
    whileTheNextStarts: both(inStart),
    secondOfChange: both(around(-500, 500)),
    // Half of the second of change belongs to the start, which takes a core of its own: this is what is left.
    secondAfter: both(around(0, 1_000)),
  };
}

/** Runs it, prints and records; the exit code is 2 where a request failed. */
export async function benchTakeover(options: TakeoverOptions): Promise<number> {
  const at = new Date();
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-bench-'));
  const servers: ChildProcess[] = [];
  try {
    const { child, port } = await start(folder, 0, options.workers);
    servers.push(child);
    const rate = new ConstantRate(port, options);
    const done = rate.run();
    const [starts, changes]: [number[], number[]] = [[], []];
    for (let count = 0; count < options.takeovers; count += 1) {
      await sleep(steadyMs);
      const former = servers.at(-1);
      starts.push(performance.now());
      servers.push((await start(folder, port, options.workers)).child);
      changes.push(performance.now());
      if (former !== undefined && former.exitCode === null) await once(former, 'exit');
    }
    await sleep(steadyMs);
    rate.stop();
    await done;
    const figures = figuresOf(rate, changes, starts);
    const document = { what: 'take-overs under load', at, machine: machine(), options, ...figures };
    console.log(JSON.stringify(options.json ? document : figures, null, 2));
    if (options.record) {
      const file = join(projectRoot, 'bench/record', `${at.toISOString().slice(0, 10)}-takeover.json`);
      writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
    }
    return figures.failed === 0 ? 0 : 2;
  } finally {
    for (const server of servers) {
      if (server.exitCode !== null || server.signalCode !== null) continue;
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  }
}
