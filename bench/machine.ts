/** What a record must say about the machine it was made on. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../test/support/python.js';

/** The machine, its system and the versions in use. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  readonly uptimeLoad: string;
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

function loadAverage(): string {
  try {
    return readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ');
  } catch {
    return 'unknown';
  }
}

/** The machine that this runs on, and how busy it was before. */
export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()} ${arch()} ${distribution()}`.trim(),
    node: process.version,
    uptimeLoad: loadAverage(),
  };
}

/** First line that a program prints to say its version; `undefined` where it does not start. */
export function versionOf(program: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split(
      '\n',
    )[0];
  } catch {
    return undefined;
  }
}

/** Writes a dated record and its plot to `bench/record`; returns their paths. */
export function writeRecord(name: string, at: Date, record: object, svg: string): string[] {
  const folder = join(projectRoot, 'bench/record');
  mkdirSync(folder, { recursive: true });
  const stem = join(folder, `${at.toISOString().slice(0, 10)}-${name}`);
  writeFileSync(`${stem}.json`, `${JSON.stringify(record, null, 2)}\n`);
  writeFileSync(`${stem}.svg`, svg);
  return [`${stem}.json`, `${stem}.svg`];
}
