/** The listening sockets of one worker: its own, or sockets inherited from another process. */
import { native } from '../native/addon.js';
import type { ListenSocket, TemplatedApp, Uws } from './uws.js';

/** Inherited listening sockets, as descriptors; none: the server opens its own. */
export interface LeftSockets {
  readonly port: readonly number[];
  /** The sockets of the fragment door's own port. */
  readonly door: readonly number[];
}

/** Opens and closes listening sockets. */
export class Listening {
  private readonly sockets: ListenSocket[] = [];

  constructor(private readonly uws: Uws) {}

  /**
   * Makes an app listen on a port, on inherited sockets if there are any; returns the port, or undefined if
   * it cannot.
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

  /** Closes this process's descriptors of the sockets; those of other processes keep listening. */
  close(): void {
    for (const socket of this.sockets.splice(0)) this.uws.us_listen_socket_close(socket);
  }

  /**
   * Listens on an inherited socket. uWebSockets.js can only open its own. So it opens one on an unknown port,
   * and the inherited socket replaces it under the same descriptor, before the event loop first polls that
   * descriptor.
   */
  private adopt(app: TemplatedApp, host: string, left: number): Promise<ListenSocket | undefined> {
    return open(app, host, 0, (socket) => native.putInPlace(left, this.uws.us_socket_local_port(socket)));
  }
}

/** Listens on a port; undefined if it cannot. `opened` is called before the event loop's next turn. */
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
