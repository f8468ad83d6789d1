/** Child processes of the benchmarks: started on a free port, awaited, measured, ended by their own id. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectRoot } from '../test/support/python.js';

/** A running server. */
export interface Server {
  readonly name: string;
  readonly url: string;
  readonly process: ChildProcess;
  /** CPU time (s) of the process and its children so far, from `/proc/<pid>/stat`: utime + stime. */
  readonly cpuSeconds: () => number;
  /** Ids of the process and its children. */
  readonly pids: () => number[];
  readonly stop: () => Promise<void>;
}

export interface ServerStart {
  readonly name: string;
  readonly command: string;
  readonly args: (port: number) => string[];
  readonly env?: (port: number) => Record<string, string>;
  readonly cwd?: string;
  /** A path that answers once the server is ready, whatever the status. */
  readonly probe: string;
}

const READY_MS = 60_000;
const STOP_MS = 15_000;
/** The kernel's unit of utime and stime on every Linux that Node runs on: USER_HZ = 100. */
const TICKS_PER_SECOND = 100;

/** A port that nothing listens on now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

/** Fields of `/proc/<pid>/stat` after the name in parentheses, from the state on; empty when it has ended. */
function stat(pid: number): string[] {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return line.slice(line.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** A process and all that descend from it. */
function family(pid: number): number[] {
  const pids = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const children = pids.filter((other) => Number(stat(other)[1]) === pid);
  return [pid, ...children.flatMap(family)];
}

function cpuSecondsOf(pid: number): number {
  const fields = stat(pid);
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
}

/** CPU time (s) of a process and all that descend from it, so far. */
export function cpuSecondsUnder(pid: number): number {
  return family(pid).reduce((sum, each) => sum + cpuSecondsOf(each), 0);
}

async function untilReady(child: ChildProcess, url: string, heard: () => string): Promise<void> {
  const deadline = performance.now() + READY_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) break;
    try {
      await (await fetch(url)).arrayBuffer();
      return;
    } catch {
      await sleep(50);
    }
  }
  child.kill();
  throw new Error(`${url} does not answer. The server said:\n${heard()}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const limit = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(limit);
}

/** Starts a server on a free port, resolves when it answers; throws with what it printed if it does not. */
export async function startServer(start: ServerStart): Promise<Server> {
  const port = await freePort();
  const child = spawn(start.command, start.args(port), {
    cwd: start.cwd ?? projectRoot,
    env: { ...process.env, ...start.env?.(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let heard = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (heard = (heard + text).slice(-4000)));
  }
  child.once('error', (error) => (heard += error.message));
  const url = `http://127.0.0.1:${port}`;
  await untilReady(child, `${url}${start.probe}`, () => heard);
  const pids = (): number[] => (child.pid === undefined ? [] : family(child.pid));
  const cpuSeconds = (): number => (child.pid === undefined ? 0 : cpuSecondsUnder(child.pid));
  return { name: start.name, url, process: child, pids, cpuSeconds, stop: () => end(child) };
}

/** Memory of processes (bytes): shared pages count once. */
export interface Memory {
  /** Pages of the store's file: the system's cache of the disk, which it takes back when it needs room. */
  readonly ofStore: number;
  readonly others: number;
}

/** Memory of a server's processes. */
export function memoryOf(server: Server): Memory {
  const sums = { ofStore: 0, others: 0 };
  for (const pid of server.pids()) {
    let of: keyof Memory = 'others';
    for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
      if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) of = line.endsWith('/data.mdb') ? 'ofStore' : 'others';
      sums[of] += Number(/^Pss: +(\d+) kB/.exec(line)?.[1] ?? 0) * 1024;
    }
  }
  return sums;
}
