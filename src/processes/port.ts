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

/** Binds a variable's port exclusively for a moment, then releases it; port 0 finds a free one. */
export function probePort(host: string, port: number, name = 'PORT'): Promise<PortResult> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ refused: sentence(error.code, host, port, name) }),
    );
    probe.listen({ host, port, exclusive: true }, () => {
      const found = (probe.address() as AddressInfo).port;
      probe.close(() => resolve({ port: found }));
    });
  });
}
