/** Ports for tests, none of them fixed: whatever else runs on the machine, nobody is in the way. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/** A port of 127.0.0.1 that is free now. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
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
