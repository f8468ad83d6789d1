/**
 * Requests that a worker answers before it takes over another's connections. A process needs much longer for
 * its first requests (18 ms for the first, 0.1 ms for the hundredth), because code is compiled when it first
 * runs, and a take-over shifts a server's whole load at once. They go to a separate server, on a port and a
 * path that nobody knows: no limit, metric or log line counts them.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { ServedRoute } from '../http/routes.js';
import { createServer } from '../http/server.js';
import { systemClock } from '../system/clock.js';
import { createLog } from '../system/log.js';
import { systemRandomness } from '../system/randomness.js';

const mostRequests = 200;

const mostMs = 500;

/** A typical request: ten docs with dense scores. */
function sampleBody(): Buffer {
  const docs = Array.from({ length: 10 }, (_, at) => ({
    id: `sample-${at}`,
    text: `Sample ${at}: a light bicycle with ${at + 3} gears, a bell and two bags, for hills and for town.`,
    dense_score: 0.5 + at / 100,
  }));
  return Buffer.from(JSON.stringify({ query: 'bicycle with bags for the town', docs }));
}

/** The whole request with its head. */
function sampleRequest(path: string): Buffer {
  const body = sampleBody();
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}

/** Waits for one whole answer; resolves to true if it is a 200. @throws when the time is over */
async function answered(socket: Socket, signal: AbortSignal): Promise<boolean> {
  let text = '';
  for (;;) {
    const [piece] = (await once(socket, 'data', { signal })) as [Buffer];
    text += piece.toString('latin1');
    const end = text.indexOf('\r\n\r\n');
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
    if (end >= 0 && text.length >= end + 4 + length) return text.startsWith('HTTP/1.1 200 ');
  }
}

/** Sends requests one after the other; resolves to the number of answers. */
async function exchanges(port: number, path: string, withinMs: number): Promise<number> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const request = sampleRequest(path);
  const signal = AbortSignal.timeout(withinMs);
  let count = 0;
  try {
    await once(socket, 'connect', { signal });
    for (; count < mostRequests; count += 1) {
      socket.write(request);
      if (!(await answered(socket, signal))) break;
    }
  } catch {
    // The time is over, or the machine gives no connection: the worker serves without it.
  } finally {
    socket.destroy();
  }
  return count;
}

/** An admission that charges nobody. */
const admitted = { refusal: undefined, rateLimit: '', rateLimitPolicy: '', charge: () => undefined } as const;

/**
 * Lets the re-ranking route, if it is given, answer requests; resolves to their number. `withinMs`: time
 * after which no further one is sent (ms).
 */
export async function warmUp(routes: readonly ServedRoute[], withinMs = mostMs): Promise<number> {
  const fuse = routes.find(({ route }) => route.id === 'fuse');
  if (fuse === undefined) return 0;
  const path = `/${Buffer.from(systemRandomness(16)).toString('hex')}`;
  const server = createServer({
    routes: [{ ...fuse, route: { ...fuse.route, path }, admit: () => admitted }],
    clock: systemClock,
    log: createLog('silent'),
    randomness: systemRandomness,
  });
  try {
    const port = await server.listen('127.0.0.1', 0);
    return port === undefined ? 0 : await exchanges(port, path, withinMs);
  } finally {
    await server.drain(0);
  }
}
