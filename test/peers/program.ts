/** A server and other people's programs that use it, for the peer tests. */
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run, temporaryFolder } from '../support/run.js';
import { projectRoot } from '../support/python.js';
import { peersRequired } from './required.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** Bound to the file, so that the server ends with it and not with the hook that starts it. */
const launch = AsyncResource.bind((settings: Readonly<Record<string, string>>) =>
  run(main, ['serve'], {
    ...{ PORT: '0', WORKERS: '1', STORE_URL: `lmdb:${temporaryFolder()}/store` },
    ...settings,
  }),
);

/** Starts a server; its address. */
export async function startServer(settings: Readonly<Record<string, string>> = {}): Promise<string> {
  const [, address = ''] = await launch(settings).prints(/listens on (http:\/\/127\.0\.0\.1:\d+)/);
  return address;
}

/** Folder of a Python environment that the peer tests run in. */
export function environmentFolder(name: string): string {
  return join(process.env['FUSEGATE_PEERS_DIR'] ?? join(projectRoot, '.peers'), name);
}

/** False where a file is there, else the sentence that says how to get it, which skips a test. */
export function missingUnless(needs: string, install: string): false | string {
  const missing = existsSync(needs) ? false : `${needs} is not there. Run: ${install}`;
  if (missing !== false && peersRequired) throw new Error(missing);
  return missing;
}

/** What a program prints to standard output, and its lines of errors; it must end well. */
export async function ended(
  file: string,
  args: readonly string[],
  {
    cwd = projectRoot,
    env = {},
  }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<{ readonly out: string; readonly errors: string }> {
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (out += piece));
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (errors += piece));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  assert.equal(code, 0, `${out}\n${errors}`);
  return { out, errors };
}
