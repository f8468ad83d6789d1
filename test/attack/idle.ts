/** 20,000 connections that do nothing: their memory, and a customer beside them. */
import { setTimeout as pause } from 'node:timers/promises';
import { head } from '../http/raw.js';
import type { Outcome } from './attacks.js';
import { ask, memoryOf, openIdle, startWorld } from './world.js';

/** Connections, and the addresses that they come from: none may have more than an eighth of a worker's. */
const wanted = 20_000;
const addresses = 40;

/**
 * Opens them against a server that may have so many. What this process may open at once is less than that on
 * some machines: what was open says how many there were.
 */
export async function idleConnections(): Promise<(Outcome & { readonly name: string })[]> {
  const name = 'idle';
  const world = await startWorld({ MAX_CONNECTIONS: '32768' });
  try {
    await ask(world.port, '127.30.1.1', head('GET', '/health'));
    const before = memoryOf(world.server.pid);
    const idle = [];
    for (let at = 0; at < wanted; at += 1) {
      idle.push(openIdle(world.port, `127.30.0.${1 + (at % addresses)}`));
      if (at % 500 === 499) await pause(20);
    }
    await pause(500);
    const open = idle.filter(({ socket, closed }) => !closed() && !socket.connecting).length;
    const most = memoryOf(world.server.pid);
    let refused = 0;
    for (let count = 0; count < 50; count += 1) {
      const answer = await ask(world.port, '127.31.0.1', head('GET', '/version')).catch(() => undefined);
      refused += answer?.status === 200 ? 0 : 1;
    }
    for (const { socket } of idle) socket.destroy();
    return [
      { name, what: 'idle connections open at once', figure: open, bound: Infinity },
      { name, what: 'bytes of memory each', figure: Math.round((most - before) / open), bound: 16_384 },
      { name, what: 'requests refused beside them, of 50', figure: refused, bound: 0 },
    ];
  } finally {
    await world.stop();
  }
}
