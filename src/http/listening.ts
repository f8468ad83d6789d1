/** The listening sockets of one worker: its own, or those that another process left to it. */
import { native } from '../native/addon.js';
import type { ListenSocket, TemplatedApp, Uws } from './uws.js';

/** Listening sockets that another process left, as descriptors; none: the server makes its own. */
export interface LeftSockets {
  readonly port: readonly number[];
  /** Those of the fragment door's own port. */
  readonly door: readonly number[];
}

/** Opens and closes them. */
export class Listening {
  private readonly sockets: ListenSocket[] = [];

  constructor(private readonly uws: Uws) {}

  /**
   * Has an app listen on a port, on sockets that another process left where there are any; gives the port,
   * or undefined where it cannot.
   */
  async on(
    app: TemplatedApp,
    host: string,
    port: number,
    left: readonly number[],
  ): Promise<number | undefined> {
    const opened = await (left.length === 0
      ? Promise.all([open(app, host, port, () => undefined)])
      : Promise.all(left.map((descriptor) => this.adopt(app, host, descriptor))));
    const sockets = opened.filter((socket) => socket !== undefined);
    this.sockets.push(...sockets);
    const [first] = sockets;
    if (first === undefined || sockets.length < opened.length) return undefined;
    return this.uws.us_socket_local_port(first);
  }

  /** Closes this process's descriptors of them; what another process has listens on. */
  close(): void {
    for (const socket of this.sockets.splice(0)) this.uws.us_listen_socket_close(socket);
  }

  /**
   * Listens on a socket that another process left. uWebSockets.js can only make its own: it does, on a port
   * that nobody knows, and the other takes its place under the same descriptor before the event loop, which
   * takes what it watches when it turns next, has looked at it.
   */
  private adopt(app: TemplatedApp, host: string, left: number): Promise<ListenSocket | undefined> {
    return open(app, host, 0, (socket) => native.putInPlace(left, this.uws.us_socket_local_port(socket)));
  }
}

/** Listens on a port; undefined where it cannot. `opened` is called before the event loop turns. */
function open(
  app: TemplatedApp,
  host: string,
  port: number,
  opened: (socket: ListenSocket) => void,
): Promise<ListenSocket | undefined> {
  return new Promise((resolve) => {
    app.listen(host, port, (socket) => {
      if (socket !== false) opened(socket);
      resolve(socket === false ? undefined : socket);
    });
  });
}
