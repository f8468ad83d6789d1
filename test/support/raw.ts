/** A client that sends the given bytes and keeps what comes back (RFC 9112 messages). */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from './until.js';

/** One response as it came. */
export interface RawResponse {
  readonly status: number;
  /** Values by lower-case name; of a repeated one all, joined by `, `. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** One connection. */
export class RawClient {
  /** Whether the server has ended the connection. */
  closed = false;
  private chunks: Buffer[] = [];
  private chunkBytes = 0;
  /** Bytes that must be there before the next response can be complete. */
  private needed = 0;

  constructor(readonly socket: Socket) {
    socket.on('data', (data) => {
      this.chunks.push(data);
      this.chunkBytes += data.length;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => (this.closed = true));
  }

  /** Bytes that came and are not yet taken as a response. */
  get received(): Buffer {
    if (this.chunks.length !== 1) this.chunks = [Buffer.concat(this.chunks)];
    return this.chunks[0] ?? Buffer.alloc(0);
  }

  /** Connects to a port of this machine. */
  static async open(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawClient(socket);
  }

  send(bytes: string | Uint8Array): this {
    this.socket.write(bytes);
    return this;
  }

  /** Waits for the next response. `bodyless`: its Content-Length is not followed by bytes (HEAD). */
  async response({ bodyless = false } = {}): Promise<RawResponse> {
    for (;;) {
      const response = this.chunkBytes >= this.needed ? this.takeResponse(bodyless) : undefined;
      if (response !== undefined) return response;
      if (this.closed) {
        const beginning = this.received.subarray(0, 300).toString('latin1');
        throw new Error(`closed after ${this.chunkBytes} bytes: ${JSON.stringify(beginning)}`);
      }
      await pause(2);
    }
  }

  /** Waits until the server ends the connection. */
  async end(): Promise<void> {
    await until(() => this.closed);
  }

  destroy(): void {
    this.socket.destroy();
  }

  private takeResponse(bodyless: boolean): RawResponse | undefined {
    const { received } = this;
    const endOfHead = received.indexOf('\r\n\r\n');
    if (endOfHead === -1) return undefined;
    const [statusLine = '', ...lines] = received.subarray(0, endOfHead).toString('latin1').split('\r\n');
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers.set(name, headers.has(name) ? `${headers.get(name) ?? ''}, ${value}` : value);
    }
    const status = Number(statusLine.split(' ')[1]);
    if (headers.get('transfer-encoding') === 'chunked') {
      const read = readChunks(received, endOfHead + 4);
      if (read === undefined) return undefined;
      this.chunks = [received.subarray(read.end)];
      this.chunkBytes = received.length - read.end;
      return { status, headers, body: read.body };
    }
    const length = bodyless ? 0 : Number(headers.get('content-length') ?? 0);
    const end = endOfHead + 4 + length;
    this.needed = end;
    if (received.length < end) return undefined;
    const body = received.subarray(endOfHead + 4, end);
    this.chunks = [received.subarray(end)];
    this.chunkBytes = received.length - end;
    this.needed = 0;
    return { status, headers, body };
  }
}

/** A body in the chunked coding (RFC 9112, 7.1), and where it ends; undefined while it is not whole. */
function readChunks(bytes: Buffer, start: number): { body: Buffer; end: number } | undefined {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const length = Number.parseInt(bytes.toString('latin1', at, line), 16);
    const end = line + 2 + length;
    if (bytes.length < end + 2) return undefined;
    if (length === 0) return { body: Buffer.concat(chunks), end: end + 2 };
    chunks.push(bytes.subarray(line + 2, end));
    at = end + 2;
  }
}

/** A request's head. */
export function head(method: string, target: string, fields: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ Host: 'localhost', ...fields }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** A request with a body and its Content-Length. */
export function post(
  target: string,
  body: string | Uint8Array,
  fields: Readonly<Record<string, string>> = {},
): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from(head('POST', target, { 'Content-Length': String(bytes.length), ...fields })),
    bytes,
  ]);
}

/** Sends one request on a connection of its own and gives its response. */
export async function exchange(port: number, request: string | Uint8Array): Promise<RawResponse> {
  const client = await RawClient.open(port);
  const bodyless = Buffer.from(request).subarray(0, 4).toString() === 'HEAD';
  const response = await client.send(request).response({ bodyless });
  client.destroy();
  return response;
}
