/**
 * Opens idle connections in a process of its own, as one process may not have so many. Arguments: a port, how
 * many, and the addresses of this machine that they come from. Prints how many are open once each is open or
 * refused, then stays until killed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../support/until.js';
import { openIdle } from './world.js';

const [, , port = '0', count = '0', ...addresses] = process.argv;
const idle: ReturnType<typeof openIdle>[] = [];
for (let at = 0; at < Number(count); at += 1) {
  idle.push(openIdle(Number(port), addresses[at % addresses.length] ?? '127.0.0.1'));
  // No more at once than the kernel keeps waiting for a server (SOMAXCONN).
  if (at % 250 === 249) await pause(10);
}
await until(() => idle.every(({ socket, closed }) => !socket.connecting || closed()));
console.log(`opened ${idle.filter(({ closed }) => !closed()).length}`);
