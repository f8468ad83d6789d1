/**
 * Requests at their times, however the earlier ones go: latencies count from the moment at which a request
 * was due, so that a server that stops for a while does not hide the requests that wait.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { open, type Connection } from './client.js';

/** Times (ms) of answers, the shortest first. */
export type Times = readonly number[];

/** The time that a share of the answers did not exceed (ms). */
export function percentile(sorted: Times, share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
}

/** Most connections: requests that are due while all are busy wait for the next that is free. */
const mostConnections = 256;

/** Sends a request at a rate (1/s) for some seconds. @throws Error if an answer is not a 200 */
export async function openLoop(
  port: number,
  bytes: Uint8Array,
  rate: number,
  seconds: number,
): Promise<Times> {
  const connections: Connection[] = [];
  for (let count = 0; count < mostConnections; count += 1) connections.push(await open(port));
  const idle = [...connections];
  const times: number[] = [];
  const total = Math.floor(rate * seconds);
  const began = performance.now();
  const dueOf = (at: number): number => began + (1_000 * at) / rate;
  let sent = 0;
  const failures: unknown[] = [];
  const send = async (connection: Connection, due: number): Promise<void> => {
    if ((await connection.exchange(bytes)) !== 200) throw new Error('a request failed');
    times.push(performance.now() - due);
    idle.push(connection);
  };
  while (times.length < total && failures.length === 0) {
    for (; sent < total && dueOf(sent) <= performance.now(); sent += 1) {
      const connection = idle.pop();
      if (connection === undefined) break;
      send(connection, dueOf(sent)).catch((error: unknown) => failures.push(error));
    }
    // Up to a millisecond late: a loop without a pause would take a core from the server.
    await sleep(1);
  }
  for (const connection of connections) connection.close();
  if (failures.length > 0) throw failures[0];
  return times.sort((left, right) => left - right);
}
