/** A request and its response in memory, which forbid what uWebSockets.js forbids; the state around them. */
import assert from 'node:assert/strict';
import type { Admission } from '../../src/access/admission.js';
import type { Handler } from '../../src/contract/exchange.js';
import { Exchange } from '../../src/http/exchange.js';
import { MemoryBudget } from '../../src/http/memory.js';
import { RouteMeter } from '../../src/http/meters.js';
import type { MountedRoute } from '../../src/http/mounted.js';
import type { Route } from '../../src/http/routes.js';
import { Turn } from '../../src/http/turn.js';
import type { ServerState } from '../../src/http/state.js';
import type { HttpRequest, HttpResponse } from '../../src/http/uws.js';
import type { LogFields } from '../../src/system/log.js';
import { HandClock } from '../support/handClock.js';
import { WatchedPool } from '../support/watchedPool.js';
import { route } from './routes.js';

const KiB = 1_024;

/** A request's head, by its lines. */
export interface Sent {
  readonly method?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly parameters?: readonly string[];
}

/** One request's connection. Its client takes as much of a large answer as it has {@link room} for. */
export class Connection {
  status = '';
  lines = '';
  body = Buffer.alloc(0);
  /** How the response ended, if it has. */
  ended: 'with a body' | 'without a body' | 'with its last byte' | 'closed' | undefined;
  /** True if the connection takes no further request. */
  isLast = false;
  room = Infinity;
  /** How often its client's address was asked for. */
  asked = 0;
  /** Number of pieces that were written before the end. */
  writes = 0;
  /** True if the client took more of an answer than the server has heard of. */
  private hasRoom = false;
  private isHeadOver = false;
  private isCorked = true;
  /** True if the server closed it. */
  isClosed = false;
  /** True if its head is over but the server does not know. */
  private isLeftOpen = false;
  private onAborted: (() => void) | undefined;
  private onData: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined;
  private onRoom: (() => boolean) | undefined;
  /** True while the server reads nothing from the client. */
  isPaused = false;

  constructor(private readonly sent: Sent = {}) {}

  /** True if more than its head was written. */
  get isAnswered(): boolean {
    return this.ended !== undefined;
  }

  private open(): void {
    assert.equal(this.ended, undefined, 'the response has ended');
  }

  /** Checks that what is written now leaves in one piece. */
  private write(): void {
    this.open();
    assert.ok(this.isCorked, 'it is not corked');
  }

  readonly request = {
    getHeader: (name: string) => this.ofHead(this.sent.fields?.[name] ?? ''),
    getMethod: () => this.ofHead(this.sent.method ?? 'get'),
    getQuery: () => this.ofHead(this.sent.query),
    getParameter: (index: number) => this.ofHead(this.sent.parameters?.[index]),
    forEach: (each: (name: string, value: string) => void) => {
      for (const [name, value] of Object.entries(this.ofHead(this.sent.fields ?? {}))) each(name, value);
    },
  } as unknown as HttpRequest;

  readonly response: HttpResponse = {
    getRemoteAddress: () => {
      this.open();
      this.asked += 1;
      return Uint8Array.of(192, 0, 2, 1).buffer;
    },
    onAborted: (handler: () => void) => {
      this.open();
      assert.equal(this.onAborted, undefined, 'it is watched already');
      this.onAborted = handler;
    },
    onData: (handler: (chunk: ArrayBuffer, isLast: boolean) => void) => {
      this.open();
      this.onData = handler;
    },
    onWritable: (handler: () => boolean) => void (this.onRoom = handler),
    getWriteOffset: () => {
      this.open();
      return this.body.byteLength;
    },
    writeStatus: (status: string) => {
      this.write();
      this.status = status;
      return this.response;
    },
    writeHeader: (name: string, value: string) => {
      this.write();
      this.status ||= '200 OK';
      this.lines += `${name}: ${value}`;
      // A head that is over: the response stays open, for the server, until its connection is closed.
      if (value.endsWith('\r\n')) {
        this.lines = this.lines.slice(0, -2);
        this.end('without a body', true);
        this.isLeftOpen = true;
      }
      return this.response;
    },
    write: (bytes: Uint8Array) => {
      this.write();
      assert.equal(this.isPaused, false, 'whether more can be written is not heard while nothing is read');
      this.writes += 1;
      this.status ||= '200 OK';
      this.body = Buffer.concat([this.body, bytes]);
      this.room -= bytes.byteLength;
      return this.room >= 0;
    },
    end: (bytes: Uint8Array | string, isLast = false) => {
      this.write();
      this.body = Buffer.concat([this.body, Buffer.from(bytes as string)]);
      this.end('with a body', isLast);
    },
    endWithoutBody: () => {
      this.write();
      this.end('without a body', this.lines.includes('connection: close'));
    },
    tryEnd: (given: Uint8Array | string, total: number) => {
      this.write();
      const bytes = Buffer.from(given as string);
      const part = bytes.subarray(0, this.room);
      this.room -= part.byteLength;
      this.body = Buffer.concat([this.body, part]);
      const isDone = this.body.byteLength === total;
      if (isDone) this.end('with its last byte', this.lines.includes('connection: close'));
      return [part.byteLength === bytes.byteLength, isDone];
    },
    cork: (step: () => void) => {
      this.open();
      this.corked(step);
    },
    close: () => {
      this.isClosed = true;
      if (!this.isLeftOpen) this.leave();
      else this.onAborted?.();
    },
    pause: () => {
      this.open();
      assert.equal(this.isPaused, false, 'it is paused already');
      this.isPaused = true;
    },
    resume: () => {
      this.open();
      assert.equal(this.isPaused, true, 'it is not paused');
      this.isPaused = false;
      if (this.hasRoom) setImmediate(() => this.tellOfRoom());
    },
  } as unknown as HttpResponse;

  private ofHead<Value>(value: Value): Value {
    assert.ok(!this.isHeadOver, 'uWebSockets.js has released the request');
    return value;
  }

  private end(how: NonNullable<Connection['ended']>, isLast: boolean): void {
    this.ended = how;
    this.isLast = isLast;
  }

  /** Runs what may write: a callback of the connection, or what it is corked for. */
  private corked(step: () => void): void {
    const was = this.isCorked;
    this.isCorked = true;
    step();
    this.isCorked = was;
  }

  /** Ends the callback for the request: from now on its head is gone. */
  endOfHead(): void {
    this.isHeadOver = true;
    this.isCorked = false;
    assert.ok(this.isAnswered || this.onAborted !== undefined, 'nobody hears that the client goes');
  }

  /** A piece of the body comes, in memory that is used again for the next one. */
  piece(text: string, isLast = false): void {
    const bytes = new TextEncoder().encode(text);
    this.corked(() => this.onData?.(bytes.buffer, isLast));
    bytes.fill(0);
  }

  /** The connection ends before the answer: the client goes, or the server closes it. */
  leave(): void {
    this.open();
    this.ended = 'closed';
    this.onAborted?.();
  }

  /** The client takes more of a large answer; a server that does not read from it hears of that later. */
  take(bytes: number): void {
    this.room = bytes;
    this.hasRoom = true;
    this.tellOfRoom();
  }

  private tellOfRoom(): void {
    if (this.isPaused || this.isAnswered) return;
    this.hasRoom = false;
    this.corked(() => this.onRoom?.());
  }

  /** The value of a header line; undefined: it is absent. */
  line(name: string): string | undefined {
    return this.lines
      .split('\r\n')
      .find((each) => each.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  }
}

/** A line of the log. */
export interface Logged {
  readonly level: string;
  readonly fields: LogFields;
  readonly message: string;
}

/** The state of a server whose clock is set by hand, and what it logged. */
export function serverState(given: Partial<ServerState> = {}, isDebugging = false) {
  const logged: Logged[] = [];
  const at = (level: string) => (fields: LogFields, message: string) =>
    void logged.push({ level, fields, message });
  const clock = new HandClock();
  const server: ServerState = {
    limits: { bodyWindowMs: 100, bodyWindowBytes: 10, sendWindowMs: 100, sendWindowBytes: 10 },
    clock,
    log: {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      debugging: isDebugging,
    },
    requestIds: () => 'ours',
    turn: new Turn(),
    failures: new Map(),
    timing: 'off',
    tracer: undefined,
    inFlight: 0,
    draining: false,
    bodies: { memory: new MemoryBudget(64 * KiB), pool: new WatchedPool(0) },
    answers: new MemoryBudget(1_024 * KiB),
    receiving: new Set(),
    sending: new Set(),
    ...given,
  };
  return { server, clock, logged };
}

/** One turn of the event loop. */
export const turn = (): Promise<void> => new Promise(setImmediate);

/** What a test says of a request besides its handler. */
interface Asked {
  readonly given?: Partial<Route>;
  readonly more?: Partial<Omit<MountedRoute, 'route' | 'handler'>>;
  readonly state?: ReturnType<typeof serverState>;
  readonly sent?: Sent;
  /** Bytes of a large answer that the client takes at once. */
  readonly room?: number;
  readonly kind?: new (...parts: ConstructorParameters<typeof Exchange>) => Exchange;
}

/** A request and its exchange, before uWebSockets.js has called back for it. */
export function prepare(handler: Handler, asked: Asked = {}) {
  const { given, more, state = serverState(), sent, room = Infinity, kind = Exchange } = asked;
  const connection = new Connection(sent);
  connection.room = room;
  const mounted: MountedRoute = {
    route: route({ id: 'r', path: '/r', ...given }),
    handler,
    meter: new RouteMeter('r'),
    parameters: [],
    head: false,
    lines: '',
    ...more,
  };
  const exchange = new kind(state.server, mounted, connection.response, connection.request);
  return { connection, exchange, mounted, ...state };
}

/** Sends one request to a handler, for tests to look at what came of it. */
export function ask(handler: Handler, asked: Asked = {}) {
  const prepared = prepare(handler, asked);
  const { connection, exchange } = prepared;
  exchange.begin(connection.request);
  connection.endOfHead();
  return prepared;
}

/** The fields of requests with a body of two bytes, and with one whose length is not told. */
export const post = { method: 'post', fields: { 'content-length': '2' } };
export const chunked = { method: 'post', fields: { 'transfer-encoding': 'chunked' } };
/** A route that takes a body. */
export const toBody = { method: 'POST' } as const;

/** An admission, and what was charged to it. */
export function admission(given: Partial<Admission> = {}): {
  readonly admitted: Admission;
  readonly charged: number[];
} {
  const charged: number[] = [];
  const charge = (characters: number): void => void charged.push(characters);
  return { charged, admitted: { refusal: undefined, rateLimit: '', rateLimitPolicy: '', charge, ...given } };
}

/** A promise of an admission, and what decides it. */
export function pending() {
  let decide: (admitted: Admission) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const decided = new Promise<Admission>((resolve, reject) => {
    decide = resolve;
    fail = reject;
  });
  return { admit: () => decided, decide, fail };
}
