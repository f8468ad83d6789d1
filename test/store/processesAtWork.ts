/** Processes that use a store at the same time as the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { until } from '../support/until.js';

/** The program of {@link workUntilKilled}. */
const workload = fileURLToPath(new URL('workload.js', import.meta.url));

/** A process that was started, and how it ended. */
export interface Ending {
  /** Names on lines `ACK <name>` of what it printed. */
  readonly acknowledged: readonly string[];
  readonly signal: NodeJS.Signals | null;
}

/** Starts a program; it is killed when `life` resolves, which begins once it has printed something. */
export async function runUntil(args: readonly string[], life: () => Promise<unknown>): Promise<Ending> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', (data) => (printed += String(data)));
  const ended = once(child, 'close');
  await until(() => printed !== '' || child.exitCode !== null);
  await life();
  child.kill('SIGKILL');
  await ended;
  const acknowledged = [...printed.matchAll(/^ACK (\w+)\n/gm)].map(([, name]) => name ?? '');
  return { acknowledged, signal: child.signalCode };
}

/** One process at work until `life` resolves and it is killed; the names it was told are done. */
export async function workUntil(
  folder: string,
  prefix: string,
  life: () => Promise<unknown>,
): Promise<readonly string[]> {
  const { acknowledged } = await runUntil([workload, folder, prefix, '1000000', '8'], life);
  return acknowledged;
}

/** As {@link workUntil}, for so many milliseconds. */
export function workUntilKilled(folder: string, prefix: string, lifeMs: number): Promise<readonly string[]> {
  return workUntil(folder, prefix, () => pause(lifeMs));
}

/** Runs a program to its end. @throws Error when it does not end well */
export async function runToEnd(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...environment },
  });
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${child.exitCode}`);
}
