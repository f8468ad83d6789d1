/** A way to a server that can be silent, as when packets are lost, and closed, as when nothing listens. */
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A way to a port of this machine. */
export class Passage {
  /** Its own port, the same as long as it lives. */
  port = 0;
  private server: Server | undefined;
  private readonly pairs = new Set<readonly [client: Socket, upstream: Socket]>();
  private isSilent = false;
  /** Connections that it took. */
  taken = 0;

  constructor(private readonly target: number) {}

  /** Lets connections through, on the port that it had before. */
  async open(): Promise<void> {
    const server = createServer((client) => this.join(client));
    await new Promise<void>((listening) => server.listen(this.port, '127.0.0.1', listening));
    const address = server.address();
    this.port = typeof address === 'object' && address !== null ? address.port : 0;
    this.server = server;
  }

  /** Refuses connections and cuts those that are there. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server?.close(resolve));
    for (const pair of this.pairs) for (const socket of pair) socket.destroy();
    await closed;
  }

  /** Passes nothing on, and keeps what comes. */
  hush(): void {
    this.isSilent = true;
    for (const pair of this.pairs) for (const socket of pair) socket.pause();
  }

  /** Passes on what it has kept, and what comes. */
  speak(): void {
    this.isSilent = false;
    for (const pair of this.pairs) for (const socket of pair) socket.resume();
  }

  private join(client: Socket): void {
    this.taken += 1;
    const upstream = connect({ host: '127.0.0.1', port: this.target });
    const pair = [client, upstream] as const;
    this.pairs.add(pair);
    const end = (): void => {
      this.pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (data) => void to.write(data));
      from.on('error', end).on('close', end);
      if (this.isSilent) from.pause();
    }
  }
}
