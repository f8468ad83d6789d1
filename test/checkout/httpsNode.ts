/** A thin LND for the tests, over HTTPS with a certificate of its own and a macaroon. */
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { after } from 'node:test';
import { makeCertificate } from './certificate.js';

/** An answer in JSON, or lines of one that goes on; undefined: the connection is closed without one. */
export type NodeAnswer =
  { readonly status: number; readonly json: unknown } | { readonly lines: readonly string[] } | undefined;

export abstract class HttpsNode {
  private readonly server: Server;
  /** The connections that it was asked on. */
  readonly sockets = new Set<Socket>();

  protected constructor(
    readonly macaroon: string,
    private readonly certificate = makeCertificate(),
  ) {
    const { cert, key } = certificate;
    // Connections that nobody uses stay until somebody closes them.
    this.server = createServer({ cert, key, keepAliveTimeout: 0 }, (request, response) => {
      this.sockets.add(request.socket);
      void this.answer(request).then((told) => {
        if (told === undefined) {
          request.socket.destroy();
          return;
        }
        if ('lines' in told) {
          response.write(told.lines.map((line) => `${line}\n`).join(''));
          return;
        }
        response.writeHead(told.status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(told.json));
      });
    });
  }

  protected abstract answer(request: IncomingMessage): Promise<NodeAnswer>;

  /** Starts it; it ends with the tests. */
  protected async listening(): Promise<this> {
    await new Promise<void>((listening) => this.server.listen(0, '127.0.0.1', listening));
    after(() => {
      this.server.closeAllConnections();
      this.server.close();
    });
    return this;
  }

  get place(): { readonly url: string; readonly certificate: string; readonly macaroon: string } {
    const { port } = this.server.address() as AddressInfo;
    return { url: `https://127.0.0.1:${port}`, certificate: this.certificate.cert, macaroon: this.macaroon };
  }
}
