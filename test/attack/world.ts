/** The world of an attack: a server with its defaults, a customer beside it, and what both are seen to do. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ReadyResponse } from '../../src/contract/info.js';
import { head, post, RawClient, type RawResponse } from '../http/raw.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** A program that runs, and what it prints. */
export class Program {
  output = '';
  private closed = false;

  constructor(readonly child: ChildProcess) {
    child.on('close', () => (this.closed = true));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (data: Buffer) => (this.output += data.toString()));
    }
  }

  /** Starts one of Fusegate's commands. */
  static start(args: readonly string[], environment: Readonly<Record<string, string>>): Program {
    const env = { PATH: process.env['PATH'] ?? '', ...environment };
    return new Program(spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Waits until it has printed a match; fails where it ends first. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output);
      if (match !== null) return match;
      if (this.closed) throw new Error(`ended without ${pattern.source}:\n${this.output}`);
      await pause(5);
    }
  }

  async ended(): Promise<void> {
    if (this.child.exitCode === null) await once(this.child, 'exit');
  }
}

/** A server that is attacked. */
export interface World {
  readonly server: Program;
  readonly port: number;
  readonly data: string;
  readonly key: string;
  readonly stop: () => Promise<void>;
}

/** Starts a server with its defaults on a free port, and issues a key. */
export async function startWorld(): Promise<World> {
  const data = mkdtempSync(join(tmpdir(), 'fusegate-attack-'));
  // The defaults of a server that sells keys: an open one does not limit fuse and normalize.
  const environment = { PORT: '0', STORE_URL: `lmdb:${data}/store`, ACCESS: 'metered' };
  const server = Program.start(['serve'], environment);
  const [, port] = await server.prints(/listens on http:\/\/[^:]+:(\d+)/);
  const made = Program.start(['keys', 'create', '--tier', 'growth'], environment);
  const [key] = await made.prints(/fg_[\w-]{49}/);
  await made.ended();
  const stop = async (): Promise<void> => {
    server.child.kill('SIGTERM');
    await server.ended();
    rmSync(data, { recursive: true, force: true });
  };
  return { server, port: Number(port), data, key, stop };
}

/** A connection from an address of this machine (all of 127.0.0.0/8 is). */
export async function openFrom(port: number, from: string): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from }).setNoDelay(true);
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return new RawClient(socket);
}

/** A connection that is opened and left alone; it resolves when the server has closed it. */
export function openIdle(
  port: number,
  from: string,
): { readonly socket: Socket; readonly closed: () => boolean } {
  let closed = false;
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  socket.on('error', () => (closed = true)).on('close', () => (closed = true));
  return { socket, closed: () => closed };
}

/** Answers by status, of the same request sent so many times on one connection after the other. */
export async function statuses(
  port: number,
  from: string,
  request: string | Uint8Array,
  count: number,
): Promise<Map<number, number>> {
  const seen = new Map<number, number>();
  let client: RawClient | undefined;
  for (let at = 0; at < count; at += 1) {
    client ??= await openFrom(port, from);
    const answer = await client.send(request).response();
    seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
    if (answer.headers.get('connection') === 'close') client = undefined;
  }
  client?.destroy();
  return seen;
}

/** One request of an address on a connection of its own. */
export async function ask(port: number, from: string, request: string | Uint8Array): Promise<RawResponse> {
  const client = await openFrom(port, from);
  const answer = await client.send(request).response();
  client.destroy();
  return answer;
}

/** Processes of the server: the parent and all below it. */
function processesOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [
    pid,
    ...(children === '' ? [] : children.split(' ').flatMap((child) => processesOf(Number(child)))),
  ];
}

/** Memory of all processes of the server (bytes): what each has of its own. */
export function memoryOf(pid: number): number {
  return processesOf(pid).reduce((sum, each) => {
    const [, resident = 0, shared = 0] = readFileSync(`/proc/${each}/statm`, 'utf8').split(' ').map(Number);
    return sum + (resident - shared) * 4096;
  }, 0);
}

/** Processor time that all processes of the server have had (ms). */
export function cpuOf(pid: number): number {
  return processesOf(pid).reduce((sum, each) => {
    const [, after = ''] = readFileSync(`/proc/${each}/stat`, 'utf8').split(') ');
    const [user = 0, system = 0] = after.split(' ').slice(11, 13).map(Number);
    return sum + (user + system) * 10;
  }, 0);
}

/** Bytes of the files below a folder, as far as the disk holds them. */
export function diskOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? diskOf(path) : statSync(path).blocks * 512);
  }, 0);
}

/** What was seen of the server while it was attacked. */
export interface Seen {
  /** The customer's requests, and how many of them were not answered with 200. */
  asked: number;
  refused: number;
  /** How long they took (ms), in the order in which they came. */
  readonly tookMs: number[];
  /** Looks at /ready, and how many of them said that it is not. */
  readies: number;
  notReady: number;
  /** The longest that /ready took (ms). */
  readyMs: number;
  /** Most memory of all processes (bytes). */
  memory: number;
}

const customersBody = JSON.stringify({
  query: 'red bike',
  docs: Array.from({ length: 20 }, (_, at) => ({
    id: `d${at}`,
    text: `a red bike, ${at}`,
    dense_score: at / 20,
  })),
});

/** Looks every so often until told to end; what it looks at goes on meanwhile. */
function every(periodMs: number, look: () => Promise<void>): () => Promise<void> {
  const end = new AbortController();
  const running = (async () => {
    while (!end.signal.aborted) {
      await look();
      await pause(periodMs);
    }
  })();
  return () => {
    end.abort();
    return running;
  };
}

/** The customer's traffic, /ready and memory, watched until told to end. */
export function watch({ port, key, server }: World): {
  readonly seen: Seen;
  readonly end: () => Promise<void>;
} {
  const seen: Seen = { asked: 0, refused: 0, tookMs: [], readies: 0, notReady: 0, readyMs: 0, memory: 0 };
  const fields = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const ends = [
    every(50, async () => {
      const begunMs = performance.now();
      const answer = await ask(port, '127.200.0.1', post('/v1/fuse', customersBody, fields)).catch(
        () => undefined,
      );
      seen.asked += 1;
      if (answer?.status !== 200) {
        seen.refused += 1;
        console.error(
          `customer: ${answer === undefined ? 'no answer' : `${answer.status} ${answer.body.toString()}`}`,
        );
      }
      seen.tookMs.push(performance.now() - begunMs);
    }),
    every(200, async () => {
      const begunMs = performance.now();
      const answer = await ask(port, '127.201.0.1', head('GET', '/ready')).catch(() => undefined);
      seen.readies += 1;
      const isReady = answer !== undefined && (JSON.parse(answer.body.toString()) as ReadyResponse).ready;
      seen.notReady += isReady ? 0 : 1;
      seen.readyMs = Math.max(seen.readyMs, performance.now() - begunMs);
    }),
    every(100, () => {
      seen.memory = Math.max(seen.memory, memoryOf(server.pid));
      return Promise.resolve();
    }),
  ];
  const end = async (): Promise<void> => {
    await Promise.all(ends.map((each) => each()));
  };
  return { seen, end };
}
