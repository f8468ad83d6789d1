/** A server on a data folder, and commands that run while it serves. */
import { fileURLToPath } from 'node:url';
import { commandApart, run, type Running } from '../support/run.js';
import { here, type Ended } from '../support/here.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** A server that listens. */
export interface Served {
  readonly server: Running;
  readonly port: number;
}

/** Starts a server of two workers on a data folder; `more`: further settings. */
export async function serve(folder: string, more: Readonly<Record<string, string>> = {}): Promise<Served> {
  const given = { STORE_URL: `lmdb:${folder}/store`, PORT: '0', WORKERS: '2', ...more };
  const server = run(main, ['serve'], given);
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  return { server, port: Number(port) };
}

/** Stops a server, and waits for its end. */
export async function stop({ server }: Pick<Served, 'server'>): Promise<void> {
  server.child.kill('SIGTERM');
  await server.ended();
}

/**
 * Answers of every worker: of so many connections at once the system gives some to each. Of eight it gave all
 * to one, now and then.
 */
export function fromEveryWorker<Answer>(ask: () => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: 48 }, ask));
}

/** What became of a command. */
interface Outcome {
  readonly code: Ended['code'];
  readonly said: string;
}

/** Runs a command on a data folder to its end, where the program is loaded already. */
export async function fusegate(folder: string, ...args: readonly string[]): Promise<Outcome> {
  const { code, output } = await here(args, { STORE_URL: `lmdb:${folder}/store` });
  return { code, said: output };
}

/** The same in a process of its own: what it locks is free when it has ended. */
export async function program(folder: string, ...args: readonly string[]): Promise<Outcome> {
  const { code, output } = await commandApart(args, { STORE_URL: `lmdb:${folder}/store` });
  return { code, said: output };
}
