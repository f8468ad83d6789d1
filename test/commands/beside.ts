/** A server on a data folder, and commands beside it. */
import { fileURLToPath } from 'node:url';
import { run, type Running } from '../processes/run.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** A server that listens. */
export interface Served {
  readonly server: Running;
  readonly port: number;
}

/** Starts a server of two workers on a data folder. */
export async function serve(folder: string): Promise<Served> {
  const server = run(main, ['serve'], { STORE_URL: `lmdb:${folder}/store`, PORT: '0', WORKERS: '2' });
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  return { server, port: Number(port) };
}

/** Stops a server, and waits for its end. */
export async function stop({ server }: Pick<Served, 'server'>): Promise<void> {
  server.child.kill('SIGTERM');
  await server.ended();
}

/** Runs a command on a data folder to its end. */
export async function fusegate(
  folder: string,
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly said: string }> {
  const command = run(main, args, { STORE_URL: `lmdb:${folder}/store` });
  const { code } = await command.ended();
  return { code, said: command.output };
}
