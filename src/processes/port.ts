/** Checks if a port is free. uWebSockets.js silently shares a port with other processes. */
import { createServer, type AddressInfo } from 'node:net';

/** The port, or a sentence if it is not available. */
export type PortResult = { readonly port: number } | { readonly refused: string };

function sentence(code: string | undefined, host: string, port: number, name: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use. Stop the program that has it, or set ${name} to a free one.`;
    case 'EADDRNOTAVAIL':
      return `HOST ${host} is not an address of this machine. Set HOST to one, such as 127.0.0.1.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST ${host} is not a name that this machine knows. Set HOST to an address such as 127.0.0.1.`;
    case 'EACCES':
      return `This user may not listen on port ${port}. Set ${name} to one above 1023.`;
    default:
      return `Port ${port} on ${host} cannot be had (${code ?? 'unknown'}). Set ${name} or HOST to another.`;
  }
}

/**
 * Ports that may be chosen for 0: below those that systems use for outgoing connections (Linux from 32768,
 * macOS from 49152), one of which could take the port before the workers listen on it.
 */
const given = { least: 20_000, below: 32_000, attempts: 32 };

/** Ports that a server may want. */
const portsOfServer = 4;

/** Number of ports that this process has tried for 0. */
let tried = 0;

/**
 * A port to try for 0. Servers that start at the same time must not find the same free one, as they would
 * share it: each begins at a place of its own.
 */
function portToTry(): number {
  const place = process.pid * portsOfServer + tried;
  tried += 1;
  return given.least + (place % (given.below - given.least));
}

/** Binds `port` exclusively for a moment, then releases it; 0 finds a free one. `name` is its variable. */
export async function probePort(host: string, port: number, name = 'PORT'): Promise<PortResult> {
  for (let left = port === 0 ? given.attempts : 0; left > 0; left -= 1) {
    const found = await bound(host, portToTry());
    if (typeof found === 'number') return { port: found };
  }
  const found = await bound(host, port);
  return typeof found === 'number' ? { port: found } : { refused: sentence(found.code, host, port, name) };
}

/** The port, once it was bound and released; the error if it cannot be bound. */
function bound(host: string, port: number): Promise<number | NodeJS.ErrnoException> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', resolve);
    probe.listen({ host, port, exclusive: true }, () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => resolve(found));
    });
  });
}
