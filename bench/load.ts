/** Load by wrk: one file posted over several connections for some seconds. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../test/support/python.js';
import { versionOf } from './machine.js';
import type { Server } from './processes.js';

/** What one run measured. */
export interface Load {
  readonly requestsPerSecond: number;
  /** Requests answered. */
  readonly requests: number;
  /** Server CPU (µs) a request, utime + stime of its processes over the run. */
  readonly cpuMicroseconds: number;
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
}

/** What wrk's script prints. */
interface Summary {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50_us: number;
  readonly p99_us: number;
  readonly socket_errors: number;
  readonly bad_statuses: number;
}

/** wrk's version, or the sentence that says how to get it. */
export function findWrk(): { readonly version: string } | { readonly missing: string } {
  // It prints its version with its usage, and exits with 1; without it the line is empty.
  const version = versionOf('sh', ['-c', 'command -v wrk > /dev/null && wrk -v 2>&1 | head -n 1']);
  if (version !== undefined && version !== '') return { version };
  return {
    missing: 'The benchmark makes its load with wrk. Install it: apt-get install wrk (or brew install wrk)',
  };
}

/**
 * Runs a benchmark that needs wrk, in a folder that is removed afterwards. Resolves to the benchmark's exit
 * code; to 1, with a sentence on how to get wrk, where there is none.
 */
export async function withWrk(run: (folder: string, startedAt: Date) => Promise<number>): Promise<number> {
  const wrk = findWrk();
  if ('missing' in wrk) {
    console.error(wrk.missing);
    return 1;
  }
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-bench-'));
  try {
    return await run(folder, new Date());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Posts a file to a server's /v1/fuse. @throws as {@link runWrk} */
export function load(server: Server, path: string, connections: number, seconds: number): Promise<Load> {
  return runWrk(server, { script: 'post.lua', path: '/v1/fuse', argument: path, connections, seconds });
}

/** What wrk is to do. */
export interface WrkRun {
  /** Name of the script under `bench`. */
  readonly script: string;
  readonly path: string;
  /** The script's argument. */
  readonly argument: string;
  /** An API key for scripts that send one. */
  readonly key?: string;
  readonly connections: number;
  readonly seconds: number;
}

/**
 * Runs wrk against a server.
 *
 * @throws when a request failed: a figure made of failures is none
 */
export async function runWrk(
  server: Server,
  { script, path, argument, key, connections, seconds }: WrkRun,
): Promise<Load> {
  const flags = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '60s', '--latency'];
  const cpuBefore = server.cpuSeconds();
  const { stdout } = await promisify(execFile)('wrk', [
    ...flags,
    '-s',
    join(projectRoot, 'bench', script),
    `${server.url}${path}`,
    '--',
    argument,
    ...(key === undefined ? [] : [key]),
  ]);
  const cpu = server.cpuSeconds() - cpuBefore;
  const line = /^RESULT (.*)$/m.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`wrk printed no result:\n${stdout}`);
  const summary = JSON.parse(line) as Summary;
  if (summary.socket_errors + summary.bad_statuses > 0 || summary.requests === 0) {
    throw new Error(`${server.name} failed under load: ${line}`);
  }
  return {
    requests: summary.requests,
    requestsPerSecond: (summary.requests * 1e6) / summary.microseconds,
    cpuMicroseconds: (cpu * 1e6) / summary.requests,
    p50Microseconds: summary.p50_us,
    p99Microseconds: summary.p99_us,
  };
}
