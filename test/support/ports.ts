/** Ports for tests, none of them fixed, so that no other program of the machine is in the way. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { probePort } from '../../src/processes/port.js';

/** A port of 127.0.0.1 that is free now, and that no outgoing connection takes. */
export async function freePort(): Promise<number> {
  const found = await probePort('127.0.0.1', 0);
  if ('refused' in found) throw new Error(found.refused);
  return found.port;
}

/** Different ports of 127.0.0.1 as {@link freePort} finds them. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

/**
 * A port of 127.0.0.1 on which nobody listens, and nobody can while this process lives: the near end of a
 * connection that it keeps.
 */
export async function closedPort(): Promise<number> {
  const far = createServer((socket) => socket.unref()).listen(0, '127.0.0.1');
  await once(far, 'listening');
  const near = connect((far.address() as AddressInfo).port, '127.0.0.1');
  await once(near, 'connect');
  far.unref();
  near.unref();
  if (near.localPort === undefined) throw new Error('a connection without a port');
  return near.localPort;
}
