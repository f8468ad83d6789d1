/** Runs the tests' server program, or any other, and watches what it prints. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { patientMs } from './until.js';

const program = fileURLToPath(new URL('../processes/program.js', import.meta.url));

function newFolder(place: string): string {
  const folder = mkdtempSync(join(place, 'fusegate-test-'));
  after(async () => {
    // A program begun after the folder was made still writes there.
    await Promise.all([...living].filter((each) => each.names(folder)).map((each) => each.kill()));
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** A new folder, removed when the tests are over. */
export function temporaryFolder(): string {
  return newFolder(tmpdir());
}

/** The file system in memory that Linux has, and the room that it must have left (bytes). */
const [memory, memoryBytes] = ['/dev/shm', 2 ** 30];

function isInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory);
    accessSync(memory, constants.W_OK);
    return bavail * bsize > memoryBytes;
  } catch {
    return false;
  }
}

/** A {@link temporaryFolder} in memory, where a sync costs nothing: for tests that ask nothing of a disk. */
export function memoryFolder(): string {
  return newFolder(isInMemory() ? memory : tmpdir());
}

/** Programs that run. */
const living = new Set<Running>();

/** A program that runs; killed when the tests are over, at the latest. */
export class Running {
  output = '';
  exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;
  readonly child: ChildProcess;
  readonly #given: string;
  /** Settles when neither it nor what it started can print any more. */
  readonly #closed: Promise<unknown>;

  /** Starts `command`, in the tests' environment and working directory unless told otherwise. */
  constructor(
    command: string,
    args: readonly string[],
    options: { env?: NodeJS.ProcessEnv; cwd?: string | undefined } = {},
  ) {
    this.child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#given = JSON.stringify([args, options]);
    this.child.stdout?.on('data', (data: Buffer) => (this.output += data.toString()));
    this.child.stderr?.on('data', (data: Buffer) => (this.output += data.toString()));
    this.child.on('exit', (code, signal) => (this.exit = { code, signal }));
    this.#closed = once(this.child, 'close').finally(() => living.delete(this));
    living.add(this);
    after(() => this.kill());
  }

  /** Whether its arguments, environment or working directory name this folder. */
  names(folder: string): boolean {
    return this.#given.includes(folder);
  }

  /** Kills it and, where the system tells of them, the programs that it started; waits for their end. */
  async kill(): Promise<void> {
    if (this.exit === undefined && this.pid > 0) for (const pid of treeOf(this.pid)) signal(pid, 'SIGKILL');
    await this.#closed;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Waits until its output matches; fails with what it printed. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    const end = performance.now() + patientMs;
    for (;;) {
      const match = pattern.exec(this.output);
      if (match !== null) return match;
      if (performance.now() > end) {
        throw new Error(`not within ${patientMs} ms: ${pattern.source}:\n${this.output}`);
      }
      if (this.exit !== undefined) {
        // What it wrote last may still be on its way.
        await this.#closed;
        const last = pattern.exec(this.output);
        if (last !== null) return last;
        throw new Error(`ended without ${pattern.source}:\n${this.output}`);
      }
      await pause(5);
    }
  }

  /** Waits until it has ended; fails with what it printed. */
  async ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const end = performance.now() + patientMs;
    while (this.exit === undefined) {
      if (performance.now() > end) throw new Error(`still runs after ${patientMs} ms:\n${this.output}`);
      await pause(5);
    }
    await pause(20);
    return this.exit;
  }
}

/** Starts a Node program with an environment of its own, in the working directory unless told otherwise. */
export function run(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  cwd?: string,
): Running {
  const env = { PATH: process.env['PATH'] ?? '', ...environment };
  return new Running(process.execPath, [file, ...args], { env, cwd });
}

/** The compiled program. */
const compiled = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** Runs a command of the program to its end, in a process of its own. `output`: all that it printed. */
export async function commandApart(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const running = run(compiled, args, environment);
  const { code } = await running.ended();
  return { code, output: running.output };
}

/** Starts the tests' server program with so few descriptors a process. */
export function runServerWithin(descriptors: number): Running {
  const env = {
    ...{ PATH: process.env['PATH'] ?? '', PORT: '0', WORKERS: '1', EMBED_CACHE_MB: '1' },
    STORE_URL: `lmdb:${temporaryFolder()}/store`,
  };
  const command = [`ulimit -n ${descriptors}; exec "$0" "$1"`, process.execPath, program];
  return new Running('bash', ['-c', ...command], { env });
}

/**
 * The setting of a server whose vectors are waited for: on a busy machine, a process of low priority gets
 * little time, and its model may take a minute to load.
 */
export const patientEmbedding = { EMBED_DEADLINE_MS: String(patientMs) };

/** Starts the tests' server program on a free port with a data folder of its own, unless told otherwise. */
export function runServer(environment: Readonly<Record<string, string>> = {}): Running {
  return run(program, [], {
    PORT: '0',
    WORKERS: '1',
    EMBED_CACHE_MB: '1',
    STORE_URL: `lmdb:${temporaryFolder()}/store`,
    ...environment,
  });
}

/** Waits until a server listens and gives its port and that of its metrics. */
export async function listening(server: Running): Promise<{ port: number; metricsPort: number }> {
  const [, port, metricsPort] = await server.prints(/listening (\d+) (\d+)/);
  return { port: Number(port), metricsPort: Number(metricsPort) };
}

/** The processes that one has started and that live (Linux tells). */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

function treeOf(pid: number): number[] {
  try {
    return [pid, ...childrenOf(pid).flatMap(treeOf)];
  } catch {
    return [pid]; // It has ended, or this is no Linux.
  }
}

/** A server's parent and its workers. */
export function processesOf({ pid }: Pick<Running, 'pid'>): number[] {
  return [pid, ...childrenOf(pid)];
}

/** Sends a signal; 0 only asks. Whether the process lives. */
function signal(pid: number, sent: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, sent);
  } catch {
    return false;
  }
}

/** Whether a process lives. */
export function lives(pid: number): boolean {
  return signal(pid, 0);
}
