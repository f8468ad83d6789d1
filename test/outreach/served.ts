/** The compiled program with the settings of the outreach tests: its server, and its commands. */
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { fileURLToPath } from 'node:url';
import type { Ended } from '../support/here.js';
import { run, type Running } from '../support/run.js';

/** The compiled program. */
export const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** Settings of a server on the store of a folder. */
export function environmentOf(data: string): Readonly<Record<string, string>> {
  return {
    STORE_URL: `lmdb:${data}/store`,
    PUBLIC_URL: 'https://fuse.example',
    CLICK_HOSTS: 'good.example',
    LEADS_PER_MINUTE: '0',
    CLICKS_PER_MINUTE: '0',
  };
}

/** A server that listens. */
export interface Served {
  readonly server: Running;
  readonly port: number;
}

/** Starts a server; bound to the file, so that it ends with it and not with the test that started it. */
export function starter(environment: Readonly<Record<string, string>>): () => Promise<Served> {
  return AsyncResource.bind(async () => {
    const server = run(main, ['serve'], { ...environment, PORT: '0', WORKERS: '2' });
    const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
    return { server, port: Number(port) };
  });
}

/** Rows that an export printed, in JSON lines. */
export function rowsOf({ code, output }: Ended): Record<string, unknown>[] {
  assert.equal(code, 0, output);
  const lines = output.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The path and query of a link that a command printed. */
export function linkIn({ code, output }: Ended): string {
  assert.equal(code, 0, output);
  const [link = ''] = output.split('\n');
  assert.ok(link.startsWith('https://fuse.example/'), link);
  return link.slice('https://fuse.example'.length);
}

/** As a browser names itself. */
export const browser = {
  'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
};
