/**
 * Those who are served while the server is attacked, in a thread of their own: a customer with a key, buyers
 * on every rail, and the operator, who watches /ready and the memory of all processes. On the message `take`
 * it reports what it has seen since the last one.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { ReadyResponse } from '../../src/contract/info.js';
import { head, post } from '../support/raw.js';
import { memoryOf } from './world.js';

/** Where the server is, and the customer's key. */
export interface CustomerParts {
  readonly port: number;
  readonly pid: number;
  readonly key: string;
}

/** Requests of one kind, and how many of them were not answered as they should be. */
interface Counted {
  asked: number;
  refused: number;
}

/** What was seen since the last time. */
export interface Seen {
  /** The customer's small requests, with how long they took (ms). */
  readonly small: Counted & { readonly tookMs: number[] };
  /** His bodies of 1.4 MB. */
  readonly large: Counted;
  /** Orders of buyers, on every rail in turn. */
  readonly orders: Counted;
  /** Looks at /ready. */
  readonly ready: Counted;
  /** Most memory of all processes (bytes). */
  memory: number;
  /** First refusals of each kind, for the operator of the test. */
  readonly notes: string[];
}

const fresh = (): Seen => ({
  small: { asked: 0, refused: 0, tookMs: [] },
  large: { asked: 0, refused: 0 },
  orders: { asked: 0, refused: 0 },
  ready: { asked: 0, refused: 0 },
  memory: 0,
  notes: [],
});

/** One client of an address; it keeps its connection as long as the server does. */
class Client {
  private socket: Socket | undefined;

  constructor(
    private readonly port: number,
    private readonly from: string,
  ) {}

  /** Status and body of the answer; status 0 where there is none. */
  async ask(request: string | Uint8Array): Promise<{ readonly status: number; readonly body: string }> {
    try {
      const isNew = this.socket === undefined;
      const socket = this.socket ?? connect({ port: this.port, host: '127.0.0.1', localAddress: this.from });
      this.socket = socket;
      if (isNew) {
        socket.setNoDelay(true);
        socket.on('error', () => undefined);
        socket.on('close', () => (this.socket = undefined));
        await once(socket, 'connect');
      }
      const answer = this.answer(socket);
      socket.write(request);
      const { status, body, closes } = await answer;
      if (closes) socket.destroy();
      // Kept alive, a connection may have been closed just as the request left: that is asked again.
      if (status === 0 && !isNew) return await this.ask(request);
      return { status, body };
    } catch {
      this.socket = undefined;
      return { status: 0, body: '' };
    }
  }

  private answer(
    socket: Socket,
  ): Promise<{ readonly status: number; readonly body: string; readonly closes: boolean }> {
    return new Promise((resolve) => {
      let bytes: Buffer = Buffer.alloc(0);
      const end = (status: number, body: string, closes: boolean): void => {
        socket.off('data', take).off('close', gone);
        resolve({ status, body, closes });
      };
      const gone = (): void => end(0, '', true);
      const take = (chunk: Buffer): void => {
        bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
        const split = bytes.indexOf('\r\n\r\n');
        if (split < 0) return;
        const lines = bytes.toString('latin1', 0, split).toLowerCase();
        const length = Number(/content-length: (\d+)/.exec(lines)?.[1] ?? 0);
        if (bytes.length < split + 4 + length) return;
        end(Number(lines.slice(9, 12)), bytes.toString('utf8', split + 4), /connection: close/.test(lines));
      };
      socket.on('data', take).on('close', gone);
    });
  }
}

const docs = Array.from({ length: 20 }, (_, at) => ({
  id: `d${at}`,
  text: `a red bike, ${at}`,
  dense_score: at / 20,
}));
const smallBody = JSON.stringify({ query: 'red bike', docs });
const largeBody = JSON.stringify({
  query: 'red bike',
  docs: docs.map((doc) => ({ ...doc, text: 'a red bike '.repeat(6_400) })),
});

function watch({ port, pid, key }: CustomerParts): void {
  let seen = fresh();
  const every = async (periodMs: number, look: () => Promise<void> | void): Promise<never> => {
    for (;;) {
      await look();
      await pause(periodMs);
    }
  };
  const count = (
    kind: 'small' | 'large' | 'orders' | 'ready',
    isGood: boolean,
    note: () => string,
  ): boolean => {
    seen[kind].asked += 1;
    if (isGood) return true;
    seen[kind].refused += 1;
    if (seen.notes.length < 5) seen.notes.push(`${kind}: ${note()}`);
    return false;
  };
  const fields = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const fuse = async (client: Client, kind: 'small' | 'large', body: string): Promise<void> => {
    const request = post('/v1/fuse', body, fields);
    const begunMs = performance.now();
    const answer = await client.ask(request);
    if (kind === 'small') seen.small.tookMs.push(performance.now() - begunMs);
    count(kind, answer.status === 200, () => `${answer.status} ${answer.body.slice(0, 200)}`);
  };
  const small = new Client(port, '127.200.0.1');
  const large = new Client(port, '127.200.0.1');
  const operator = new Client(port, '127.201.0.1');
  let orders = 0;
  const order = async (): Promise<void> => {
    const rail = ['btc', 'lightning', 'card'][orders % 3] ?? 'btc';
    const buyer = new Client(port, `127.202.0.${1 + (orders % 250)}`);
    orders += 1;
    const body = '{"tier":"growth","email":"buyer@example.com"}';
    const answer = await buyer.ask(post(`/v1/checkout/${rail}`, body, { ...fields, 'X-API-Key': key }));
    count('orders', answer.status === 200, () => `${rail} ${answer.status} ${answer.body.slice(0, 200)}`);
  };
  const ready = async (): Promise<void> => {
    const { status, body } = await operator.ask(head('GET', '/ready'));
    const isReady = status === 200 && (JSON.parse(body) as ReadyResponse).ready;
    count('ready', isReady, () => `${status} ${body.slice(0, 300)}`);
  };
  void every(25, () => fuse(small, 'small', smallBody));
  void every(700, () => fuse(large, 'large', largeBody));
  void every(1_500, order);
  void every(200, ready);
  void every(100, () => {
    seen.memory = Math.max(seen.memory, memoryOf(pid));
  });
  parentPort?.on('message', () => {
    parentPort?.postMessage(seen);
    seen = fresh();
  });
}

if (parentPort !== null) watch(workerData as CustomerParts);
