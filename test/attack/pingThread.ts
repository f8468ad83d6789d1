/**
 * Asks a server for /health between two messages, one request after the other, and reports how long the
 * slowest took: the event loop there was blocked for about that time. It runs in a thread of its own, so that
 * other work of its process does not slow it.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { head } from '../support/raw.js';

/** Where to ask. */
export interface PingParts {
  readonly port: number;
}

/** `begin`: asks from now on; answered after the first response. `end`: answered with the longest (ms). */
export type PingOrder = 'begin' | 'end';

const request = head('GET', '/health');

/** A connection, and the signal of its end. */
interface Asked {
  readonly socket: Socket;
  readonly signal: AbortSignal;
}

/** A connection of its own each time: the server closes one that is idle. */
async function open(port: number): Promise<Asked> {
  const ended = new AbortController();
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  socket.once('close', () => ended.abort(new Error('the server closed the connection')));
  await once(socket, 'connect');
  return { socket, signal: ended.signal };
}

/** Asks once; how long the answer took (ms). @throws Error if the connection ends without one */
async function ask({ socket, signal }: Asked): Promise<number> {
  const begunMs = performance.now();
  socket.write(request);
  await once(socket, 'data', { signal });
  return performance.now() - begunMs;
}

function ping({ port }: PingParts): void {
  let current: Asked | undefined;
  let longestMs = 0;
  let asking: Promise<void> = Promise.resolve();
  const loop = async (asked: Asked): Promise<void> => {
    while (current === asked) longestMs = Math.max(longestMs, await ask(asked));
  };
  const obey = async (order: PingOrder): Promise<number> => {
    if (order === 'end') {
      const asked = current;
      current = undefined;
      await asking;
      asked?.socket.destroy();
    } else {
      const asked = await open(port);
      await ask(asked);
      [current, longestMs] = [asked, 0];
      asking = loop(asked);
    }
    return longestMs;
  };
  parentPort?.on('message', (order: PingOrder) => {
    void obey(order).then((longest) => parentPort?.postMessage(longest));
  });
}

ping(workerData as PingParts);
