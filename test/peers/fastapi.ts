/** Speaks to the FastAPI peer: one Python process, JSON lines over its standard streams. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { ValidationError } from '../../src/contract/schema/validation.js';
import { projectRoot } from '../support/python.js';

/** What the peer is asked. */
export interface PeerRequest {
  method: 'GET' | 'POST';
  path: string;
  query?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** What the peer answered; `input` is left out of its errors. */
export interface PeerAnswer {
  status: number;
  errors: ValidationError[];
}

/** The running peer. */
export interface Peer {
  /** Asks one request after another; answers come in order. */
  readonly ask: (request: PeerRequest) => Promise<PeerAnswer>;
  readonly stop: () => void;
}

function talk(child: ChildProcess): Peer {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('The peer has no standard streams');
  const waiting: { resolve: (answer: PeerAnswer) => void; reject: (reason: Error) => void }[] = [];
  const lines = createInterface({ input: stdout });
  lines.on('line', (line) => waiting.shift()?.resolve(JSON.parse(line) as PeerAnswer));
  lines.on('close', () => {
    for (const { reject } of waiting.splice(0)) reject(new Error('The peer ended before it answered'));
  });
  const next = () => new Promise<PeerAnswer>((resolve, reject) => waiting.push({ resolve, reject }));
  void next();
  const ask = ({ method, path, query = '', headers = {}, body = '' }: PeerRequest) => {
    const encoded = Buffer.from(body).toString('base64');
    stdin.write(`${JSON.stringify({ method, path, query, headers, body: encoded })}\n`);
    return next();
  };
  return { ask, stop: () => void child.kill() };
}

/** Starts the peer; its first line, which says that it is ready, is taken off before any answer. */
export function startPeer(python: string): Peer {
  return talk(
    spawn(python, [`${projectRoot}test/peers/fastapi_app.py`], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
}
