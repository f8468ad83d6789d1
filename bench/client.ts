/** A small HTTP/1.1 client over raw sockets (RFC 9112): it sends bytes as given, whole, broken or cut off. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** A request's bytes. */
export function requestBytes(
  path: string,
  body: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Uint8Array {
  const fields = { host: 'localhost', 'content-type': 'application/json', ...headers };
  const head = Object.entries({ 'content-length': String(body.length), ...fields });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines}\r\n`), body]);
}

/** One connection, one request at a time. */
export interface Connection {
  /** Sends a request and resolves to the answer's status once its whole body is here. */
  readonly exchange: (bytes: Uint8Array) => Promise<number>;
  readonly close: () => void;
}

interface Waiting {
  readonly resolve: (status: number) => void;
  readonly reject: (error: Error) => void;
}

/** Reads answers that say their length; calls `answered` for each. */
function reader(answered: (status: number) => void): (piece: Buffer) => void {
  let head = Buffer.alloc(0);
  let status = 0;
  let left = 0;
  return (piece) => {
    let rest = piece;
    if (left === 0) {
      head = Buffer.concat([head, rest]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const text = head.subarray(0, end).toString('latin1');
      status = Number(text.slice(9, 12));
      left = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
      rest = head.subarray(end + 4);
      head = Buffer.alloc(0);
    }
    left -= rest.length;
    if (left <= 0) {
      left = 0;
      answered(status);
    }
  };
}

/** Connects to a server on this machine. */
export async function open(port: number): Promise<Connection> {
  const socket = await connected(port);
  let waiting: Waiting | undefined;
  socket.on(
    'data',
    reader((status) => waiting?.resolve(status)),
  );
  const fail = (): void => waiting?.reject(new Error('the server closed the connection'));
  socket.on('error', fail).on('close', fail);
  const exchange = (bytes: Uint8Array): Promise<number> =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject };
      socket.write(bytes);
    });
  return { exchange, close: () => socket.destroy() };
}

async function connected(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** Sends the beginning of a request on a connection of its own and breaks it off some milliseconds later. */
export async function abort(port: number, beginning: Uint8Array, afterMs: number): Promise<void> {
  const socket = await connected(port);
  socket.on('error', () => undefined);
  socket.write(beginning);
  if (afterMs > 0) await sleep(afterMs);
  const closed = once(socket, 'close');
  socket.resetAndDestroy();
  await closed;
}
