/** The servers that are measured: Fusegate as a user starts it, the bare echo, and FastAPI with rank_bm25. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../test/support/python.js';
import { startServer } from './processes.js';
import type { Server } from './processes.js';

/**
 * `node fusegate.mjs serve` with one worker and a data folder of its own, which goes when it stops.
 * `root`: the program's folder.
 */
export async function startFusegate(
  environment: Record<string, string> = {},
  root = projectRoot,
): Promise<Server> {
  const data = mkdtempSync(join(tmpdir(), 'fusegate-bench-'));
  const server = await startServer({
    name: 'Fusegate',
    command: process.execPath,
    args: () => [join(root, 'fusegate.mjs'), 'serve'],
    env: (port) => ({
      ...{ PORT: String(port), HOST: '127.0.0.1', WORKERS: '1', STORE_URL: `lmdb:${join(data, 'store')}` },
      ...{ ANONYMOUS_REQUESTS_PER_MINUTE: '0', ANONYMOUS_CHARACTERS_PER_MONTH: '0', LEADS_PER_MINUTE: '0' },
      ...{
        PAGES_PER_MINUTE: '0',
        POLLS_PER_MINUTE: '0',
        EXPLORATIONS_PER_MINUTE: '0',
        CLICKS_PER_MINUTE: '0',
      },
      ...environment,
    }),
    cwd: data,
    probe: '/health',
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(data, { recursive: true, force: true });
  };
  return { ...server, stop };
}

/** uWebSockets.js answering every body with itself; `busyUs`: it computes for so long first. */
export function startEcho(busyUs = 0): Promise<Server> {
  const program = join(projectRoot, 'dist/bench/peers/echo.js');
  return startServer({
    name: 'echo',
    command: process.execPath,
    args: (port) => [program, String(port), String(busyUs)],
    probe: '/health',
  });
}

/** FastAPI + rank_bm25 under uvicorn: one worker, uvloop, httptools, no access log. */
export function startFastapi(python: string): Promise<Server> {
  const flags = ['--loop', 'uvloop', '--http', 'httptools', '--no-access-log', '--log-level', 'warning'];
  return startServer({
    name: 'FastAPI',
    command: python,
    args: (port) => ['-m', 'uvicorn', 'fastapi_app:app', '--port', String(port), '--workers', '1', ...flags],
    cwd: join(projectRoot, 'bench/peers'),
    probe: '/openapi.json',
  });
}
