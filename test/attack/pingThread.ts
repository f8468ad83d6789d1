/**
 * Asks a server for /health again and again while told to, one request after the other, and says how long the
 * longest took: for about so long the event loop there was held up. In a thread of its own, so that what else
 * its process does takes no time of it.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { head } from '../http/raw.js';

/** Where to ask. */
export interface PingParts {
  readonly port: number;
}

/** `begin`: asks from now on, told once the first answer is there. `end`: told the longest (ms). */
export type PingOrder = 'begin' | 'end';

const request = head('GET', '/health');

async function ping({ port }: PingParts): Promise<void> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  await once(socket, 'connect');
  let isAsking = false;
  const ask = async (): Promise<number> => {
    const begunMs = performance.now();
    socket.write(request);
    await once(socket, 'data');
    return performance.now() - begunMs;
  };
  let longestMs = 0;
  let asking: Promise<void> = Promise.resolve();
  const loop = async (): Promise<void> => {
    while (isAsking) longestMs = Math.max(longestMs, await ask());
  };
  const obey = async (order: PingOrder): Promise<number> => {
    isAsking = order === 'begin';
    if (order === 'end') await asking;
    else {
      longestMs = 0;
      await ask();
      asking = loop();
    }
    return longestMs;
  };
  parentPort?.on('message', (order: PingOrder) => {
    void obey(order).then((told) => parentPort?.postMessage(told));
  });
}

await ping(workerData as PingParts);
