/** The world of an attack: a server with its defaults, a customer of it, and what is observed of both. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { RawClient, type RawResponse } from '../support/raw.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const nodes = fileURLToPath(new URL('nodes.js', import.meta.url));

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
  /** A key that an attacker has bought. */
  readonly attackersKey: string;
  /** The path of a counted link that the operator made, with its query. */
  readonly link: string;
  readonly stop: () => Promise<void>;
}

/** A proxy of these addresses says whom it asks for, so that an attacker may have a /48. */
export const proxies = '127.99.0.0/16';

/** Starts a server with its defaults on a free port, which sells on every rail; makes a key and a link. */
export async function startWorld(more: Readonly<Record<string, string>> = {}): Promise<World> {
  const data = mkdtempSync(join(tmpdir(), 'fusegate-attack-'));
  const env = { PATH: process.env['PATH'] ?? '' };
  const rails = new Program(
    spawn(process.execPath, [nodes, data], { env, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  const [, settings = ''] = await rails.prints(/^nodes (.*)$/m);
  // The defaults of a server that sells keys: an open one does not limit fuse and normalize.
  const environment = {
    PORT: '0',
    STORE_URL: `lmdb:${data}/store`,
    PUBLIC_URL: 'https://fuse.example',
    TRUSTED_PROXIES: proxies,
    ...(JSON.parse(settings) as Record<string, string>),
    ...more,
  };
  const server = Program.start(['serve'], environment);
  const [, port] = await server.prints(/listens on http:\/\/[^:]+:(\d+)/);
  const makeKey = async (tier: string): Promise<string> => {
    const made = Program.start(['keys', 'create', '--tier', tier], environment);
    const [key] = await made.prints(/fg_[\w-]{49}/);
    await made.ended();
    return key;
  };
  const key = await makeKey('enterprise');
  const attackersKey = await makeKey('developer');
  const linked = Program.start(['click', 'link', `https://example.com/${'offer/'.repeat(10)}`], environment);
  const [, link = ''] = await linked.prints(/https:\/\/fuse\.example(\/c\/\S+)/);
  await linked.ended();
  const stop = async (): Promise<void> => {
    server.child.kill('SIGTERM');
    await server.ended();
    rails.child.kill('SIGKILL');
    rmSync(data, { recursive: true, force: true });
  };
  return { server, port: Number(port), data, key, attackersKey, link, stop };
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
export function processesOf(pid: number): number[] {
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
