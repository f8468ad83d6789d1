/** 20,000 idle connections: their memory, and a customer who is served at the same time. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { head } from '../support/raw.js';
import type { Outcome } from './flood.js';
import { openFrom, processesOf, Program, startWorld } from './world.js';

const opener = fileURLToPath(new URL('opener.js', import.meta.url));

/** Connections, and the addresses that they come from: none may have more than an eighth of a worker's. */
const wanted = 20_000;
const addresses = 40;

/** Processes that open them: one may not have so many on some machines. */
const processes = 4;

/** Requests of the customer beside them. */
const asked = 400;

/** What came of it. */
export interface IdleFigures {
  /** Connections that were open at once. */
  readonly open: number;
  /** Memory for each (bytes): of the server's processes, and of the kernel for the sockets of both ends. */
  readonly bytesEach: number;
  readonly kernelBytesEach: number;
  /** Requests of a customer beside them, of {@link asked}, that were not answered with 200. */
  readonly refused: number;
  /** How long the customer waited in 99 of a hundred requests: before, and beside them (ms). */
  readonly beforeMs: number;
  readonly besideMs: number;
}

/** Memory of all processes of the server (bytes): what each alone has, and its share of what several have. */
function memoryOf(pid: number): number {
  return processesOf(pid).reduce((sum, each) => {
    const rollup = readFileSync(`/proc/${each}/smaps_rollup`, 'utf8');
    return sum + Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) * 1024;
  }, 0);
}

/** Memory of the kernel for its objects, sockets among them (bytes). */
function kernelMemory(): number {
  const meminfo = readFileSync('/proc/meminfo', 'utf8');
  return Number(/^Slab:\s+(\d+)/m.exec(meminfo)?.[1] ?? 0) * 1024;
}

/** Asks one request after the other; those that failed, and the time that 99 of a hundred took at most. */
async function customer(port: number): Promise<{ readonly refused: number; readonly p99Ms: number }> {
  const client = await openFrom(port, '127.31.0.1');
  const took: number[] = [];
  let refused = 0;
  for (let count = 0; count < asked; count += 1) {
    const begunMs = performance.now();
    const arrived = new Promise((resolve) => client.socket.once('data', resolve).once('close', resolve));
    client.send(head('GET', '/version'));
    await arrived;
    took.push(performance.now() - begunMs);
    const answer = await client.response().catch(() => undefined);
    refused += answer?.status === 200 ? 0 : 1;
  }
  client.destroy();
  took.sort((a, b) => a - b);
  return { refused, p99Ms: took[Math.floor(took.length * 0.99)] ?? 0 };
}

/** Opens them, each process a part of them; how many are open, and what closes them. */
async function openAll(port: number): Promise<{ readonly open: number; readonly close: () => void }> {
  const openers = Array.from({ length: processes }, (_, number) => {
    const own = Array.from({ length: addresses / processes }, (__, at) => `127.30.${number}.${1 + at}`);
    const args = [opener, String(port), String(wanted / processes), ...own];
    return new Program(spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] }));
  });
  const opened = await Promise.all(openers.map((each) => each.prints(/^opened (\d+)$/m)));
  const open = opened.reduce((sum, [, count]) => sum + Number(count), 0);
  return { open, close: () => openers.forEach(({ child }) => child.kill('SIGKILL')) };
}

/** Opens them against a server that may have so many, with a customer before and beside them. */
export async function measureIdle(): Promise<IdleFigures> {
  const world = await startWorld({ MAX_CONNECTIONS: '32768', PAGES_PER_MINUTE: '0' });
  try {
    const { refused: before, p99Ms: beforeMs } = await customer(world.port);
    const memory = memoryOf(world.server.pid);
    const kernel = kernelMemory();
    const { open, close } = await openAll(world.port);
    // A connection without a request is closed after ten seconds: all of this is over by then.
    const bytesEach = Math.round((memoryOf(world.server.pid) - memory) / open);
    const kernelBytesEach = Math.round((kernelMemory() - kernel) / open);
    const { refused, p99Ms: besideMs } = await customer(world.port);
    close();
    return { open, bytesEach, kernelBytesEach, refused: refused + before, beforeMs, besideMs };
  } finally {
    await world.stop();
  }
}

/** The same as rows of the attacks. */
export async function idleConnections(): Promise<(Outcome & { readonly name: string })[]> {
  const name = 'idle';
  const { open, bytesEach, refused, besideMs } = await measureIdle();
  return [
    { name, what: 'idle connections open at once', figure: open, bound: Infinity },
    { name, what: 'bytes of memory each', figure: bytesEach, bound: 16_384 },
    { name, what: `requests refused beside them, of ${2 * asked}`, figure: refused, bound: 0 },
    { name, what: 'ms of a request beside them, 99 %', figure: Math.round(besideMs * 10) / 10, bound: 50 },
  ];
}
