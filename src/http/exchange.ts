/** One request and its answer on uWebSockets.js: body, handler, writing, back-pressure, abort. */
import type { Admission } from '../access/admission.js';
import { storeUnavailable } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { unmapped } from '../system/network.js';
import { bodyOf, fieldLines, lengthOf, limitLines, statusLine, timingLine } from './answer.js';
import { BodyBuffer, type BodyBudget } from './body.js';
import { crossOriginLines } from './cors.js';
import {
  answerTooLarge,
  bodyTooLarge,
  internalError,
  overloaded,
  requestTimeout,
  unsupportedEncoding,
} from './failures.js';
import { RequestHead } from './head.js';
import { isAcceptableRequestId, type RequestIds } from './identifiers.js';
import { networkOf, type Holder, type MemoryBudget, type Shortage } from './memory.js';
import type { RouteMeter } from './meters.js';
import { noParameters, parseQuery, percentDecode, type Parameters } from './parameters.js';
import type { CheckResult, ServedRoute } from './routes.js';
import type { HttpRequest, HttpResponse } from './uws.js';
import { StoreUnavailable } from '../store/store.js';

/** Times and amounts that bound a connection. */
export interface ConnectionLimits {
  /** Time limit for {@link bodyWindowBytes} more of a body (ms). */
  readonly bodyWindowMs: number;
  readonly bodyWindowBytes: number;
  /** Time limit for a client to take {@link sendWindowBytes} of an answer, while something waits (ms). */
  readonly sendWindowMs: number;
  readonly sendWindowBytes: number;
}

/** State that all exchanges of one server share. */
export interface ServerState {
  readonly clock: Clock;
  readonly log: Log;
  readonly requestIds: RequestIds;
  readonly limits: ConnectionLimits;
  readonly bodies: BodyBudget;
  /** Memory of answers that wait for their clients. */
  readonly answers: MemoryBudget;
  /** Answers of 501 and above since they were last logged, by route and status. */
  readonly failures: Map<string, number>;
  /** Exchanges whose body is still coming. */
  readonly receiving: Set<Exchange>;
  /** Exchanges whose answer waits for the client. */
  readonly sending: Set<Exchange>;
  /** Requests not yet answered in full. */
  inFlight: number;
  /** True if the server takes no new connections and ends those it has. */
  draining: boolean;
}

/** A route as an exchange needs it, made once. */
export interface MountedRoute extends ServedRoute {
  readonly meter: RouteMeter;
  /** Names of the path's parameters in order. */
  readonly parameters: readonly string[];
  /** True if this is HEAD on a GET route. */
  readonly head: boolean;
  /** Header lines that every answer of the route carries, as they follow another line's value. */
  readonly lines: string;
}

const noBytes = new Uint8Array(0);
const closeLine = '\r\nconnection: close';

/** An unread body up to this size is read and dropped, so that the connection lives; a larger one ends it. */
const droppableBytes = 65_536;

/** From this size on an answer waits for the client in our memory, not in a copy inside the server's. */
const largeAnswerBytes = 131_072;

/** Fields in which each proxy on the way adds a line or an item. */
const listedFields: ReadonlySet<string> = new Set(['x-forwarded-for', 'forwarded']);

/** A header field's value, as a handler reads it. */
function fieldOf(name: string, request: HttpRequest, response: HttpResponse): string {
  return listedFields.has(name) ? new RequestHead(request, response).allOf(name) : request.getHeader(name);
}

/** The request as its handler sees it, and the way of its answer. One object a request. */
export class Exchange implements RouteRequest {
  readonly id: string;
  readonly path: Parameters;
  readonly query: Parameters;
  readonly mayAct: boolean;
  readonly head: boolean;
  body: Uint8Array = noBytes;
  input: unknown = undefined;

  private readonly startedMs: number;
  private readonly crossOrigin: boolean;
  /** True if the body is chunked: what follows its end is never read as another request. */
  private readonly chunked: boolean;
  /** Whether the answer to a chunked request was put off. */
  private deferred = false;
  private readonly headers: readonly string[];
  /** The Content-Length; -1 when the length is not known. */
  private declared = 0;
  private gone = false;
  private answered = false;
  private watched = false;
  /** Whether {@link body} lies in the server's receive buffer. */
  private borrowed = false;
  private bytesIn = 0;
  /** Bytes of a retained copy, counted against the worker's budget. */
  private retained = 0;
  private gathered: BodyBuffer | undefined;
  private windowStartMs = 0;
  private windowBytes = 0;
  private status = 0;
  private bytesOut = 0;
  /** Rest of a large answer that the client has not taken, and its offset in the answer. */
  private unsent: Uint8Array = noBytes;
  private unsentFrom = 0;
  /** Whether a handler that gave up control may still read the body. */
  private handling = false;
  /** Decision of access; undefined where it has nothing to decide, or has not yet. */
  private admission: Admission | undefined;
  /** Whether access still decides. */
  private admitting = false;
  /** Work that waits for the decision of access. */
  private next: (() => void) | undefined;
  /** Ends when the connection goes; made when it is asked for. */
  private abortion: AbortController | undefined;
  /** Whose memory this exchange holds, once it was asked. */
  private heldAs: Holder;
  private heldKnown = false;
  /** Whether the answer's bytes never change, and are nobody's memory. */
  private immutable = false;
  /** When the rest of the answer began to wait, and how much of it was offered at the window's begin. */
  private sendingSinceMs = 0;
  private windowOffset = 0;
  /** Tells the answer's owner that its bytes are needed no more. */
  private releaseAnswer: (() => void) | undefined;

  /** Reads the head; `request` is valid only during this call and {@link begin}. */
  constructor(
    private readonly server: ServerState,
    private readonly mounted: MountedRoute,
    private readonly response: HttpResponse,
    request: HttpRequest,
  ) {
    this.startedMs = server.clock.monotonicMs();
    server.inFlight += 1;
    const given = request.getHeader('x-request-id');
    this.id = given !== '' && isAcceptableRequestId(given) ? given : server.requestIds();
    const { route, parameters } = mounted;
    this.path = parameters.length === 0 ? noParameters : readPath(request, parameters);
    const query = request.getQuery() as string | undefined;
    this.query = query === undefined || query === '' ? noParameters : parseQuery(query);
    this.crossOrigin = route.cors && request.getHeader('origin') !== '';
    this.chunked = request.getHeader('transfer-encoding') !== '';
    this.headers =
      route.headers.length === 0 ? [] : route.headers.map((name) => fieldOf(name, request, response));
    this.head = mounted.head;
    this.mayAct = !mounted.head && (!route.acts || !isPrefetch(request));
  }

  header(name: string): string {
    const value = this.headers[this.mounted.route.headers.indexOf(name)];
    if (value === undefined)
      throw new Error(`Route ${this.mounted.route.id} does not declare header ${name}`);
    return value;
  }

  get keyed(): boolean {
    return this.admission !== undefined && this.admission.address === undefined;
  }

  retain(): Uint8Array {
    if (this.borrowed) {
      this.body = new Uint8Array(this.body);
      this.borrowed = false;
      this.retained = this.body.byteLength;
      this.server.bodies.memory.take(this.holder(), this.retained);
    }
    return this.body;
  }

  peer(): Uint8Array {
    return new Uint8Array(this.response.getRemoteAddress());
  }

  aborted(): boolean {
    return this.gone;
  }

  signal(): AbortSignal {
    this.abortion ??= new AbortController();
    if (this.gone) this.abortion.abort();
    return this.abortion.signal;
  }

  /** Takes the request on: refuses it by its head, waits for its body, or has it handled. */
  begin(request: HttpRequest): void {
    const { admit } = this.mounted;
    if (admit !== undefined && !this.admit(admit(new RequestHead(request, this.response)), request)) return;
    if (this.mounted.route.body) this.receive(request);
    else this.whenAdmitted(() => this.handle());
  }

  /** True if the request goes on: its sender may call, or a store is asked while the body comes. */
  private admit(admission: Admission | Promise<Admission>, request: HttpRequest): boolean {
    if (admission instanceof Promise) {
      this.waitForAdmission(admission);
      return true;
    }
    this.admission = admission;
    if (admission.refusal === undefined) return true;
    this.refuseUnread(request, admission.refusal);
    return false;
  }

  private waitForAdmission(admission: Promise<Admission>): void {
    this.watch();
    this.admitting = true;
    admission.then(
      (decided) => {
        this.admitting = false;
        this.admission = decided;
        this.cork(() => {
          if (decided.refusal !== undefined) this.refuse(decided.refusal);
          else this.next?.();
        });
      },
      (error: unknown) => {
        this.admitting = false;
        this.cork(() => this.fail(error));
      },
    );
  }

  /** Takes a step at once, or, where a store is still asked about the sender, when that is known. */
  private whenAdmitted(step: () => void): void {
    if (this.admitting) this.next = step;
    else step();
  }

  /** Answers a request that no handler sees, by the head alone, whatever body it may have. */
  refuseUnread(request: HttpRequest, answer: Answer): void {
    this.declared = declaredLength(request);
    this.refuse(answer);
  }

  private receive(request: HttpRequest): void {
    this.declared = declaredLength(request);
    if (Number.isNaN(this.declared)) {
      this.watch();
      return;
    } // The parser itself answers 400 right after this.
    const refusal = this.refusalOfHead(request);
    if (refusal !== undefined) {
      this.whenAdmitted(() => this.refuse(refusal));
      return;
    }
    this.watch();
    this.windowStartMs = this.startedMs;
    // One with a length begins with a piece, if an empty one, so that most bodies never enter the set.
    if (this.declared < 0) this.server.receiving.add(this);
    this.response.onData((chunk, isLast) => {
      if (!this.answered && !this.gone && this.next === undefined) this.take(chunk, isLast);
    });
  }

  /** Why the head alone refuses the body. */
  private refusalOfHead(request: HttpRequest): Answer | undefined {
    const { route, refuseMediaType } = this.mounted;
    if (this.declared > route.bodyLimit) return bodyTooLarge(route.bodyLimit);
    const coding = request.getHeader('content-encoding');
    if (coding !== '' && coding.trim().toLowerCase() !== 'identity') return unsupportedEncoding;
    const { memory } = this.server.bodies;
    // An announcement reserves nothing: one that cannot be kept is refused before it costs anything.
    if (memory.isTight(this.declared) && memory.shortage(this.holder(), this.declared) !== undefined)
      return overloaded;
    if (refuseMediaType === undefined) return undefined;
    const mediaType = request.getHeader('content-type');
    // An Origin decides only about a body without a type, also on routes that are not open to other origins.
    return refuseMediaType(mediaType, mediaType === '' && request.getHeader('origin') !== '');
  }

  /** Takes a piece of the body. A body that comes in one piece is not copied. */
  private take(chunk: ArrayBuffer, isLast: boolean): void {
    if (isLast && this.gathered === undefined) {
      if (chunk.byteLength > this.mounted.route.bodyLimit) {
        this.refuseBody('too_large');
        return;
      }
      this.body = new Uint8Array(chunk);
      this.borrowed = true;
    } else {
      this.gathered ??= this.gather();
      const outcome = this.gathered.append(new Uint8Array(chunk));
      if (outcome !== 'taken') {
        this.refuseBody(outcome);
        return;
      }
      if (!isLast) return;
      this.body = this.gathered.bytes();
    }
    this.bytesIn = this.body.byteLength;
    if (this.gathered !== undefined || this.declared < 0) this.server.receiving.delete(this);
    if (this.admitting) this.retain();
    this.whenAdmitted(() => this.handle());
    this.borrowed = false;
  }

  /** Expects a body in several pieces, and watches its pace. */
  private gather(): BodyBuffer {
    this.server.receiving.add(this);
    return new BodyBuffer(this.server.bodies, this.mounted.route.bodyLimit, this.declared, this.holder());
  }

  private refuseBody(reason: 'too_large' | 'overloaded'): void {
    const refusal = reason === 'too_large' ? bodyTooLarge(this.mounted.route.bodyLimit) : overloaded;
    this.server.receiving.delete(this);
    this.whenAdmitted(() => this.refuse(refusal, true));
  }

  /** Checks the request, runs the handler and answers. */
  private handle(): void {
    try {
      const checked = this.mounted.check?.(this);
      const answer =
        checked instanceof Promise ? checked.then((result) => this.answer(result)) : this.answer(checked);
      if (answer instanceof Promise) this.wait(answer);
      else this.write(answer, false);
    } catch (error) {
      this.fail(error);
    }
  }

  /** The handler's answer to a checked request, or the one that refuses it. */
  private answer(checked: CheckResult | undefined): Answer | Promise<Answer> {
    if (checked !== undefined) {
      if ('refused' in checked) return checked.refused;
      this.input = checked.input;
    }
    return this.mounted.handler(this as unknown as RouteRequest<never>);
  }

  /** The handler may read the body until its promise settles, also when the client has gone before. */
  private wait(answer: Promise<Answer>): void {
    this.watch();
    this.handling = true;
    answer.then(
      (value) => {
        this.settle(value);
        this.cork(() => this.write(value, false));
      },
      (error: unknown) => {
        this.settle(undefined);
        this.cork(() => this.fail(error));
      },
    );
  }

  /**
   * Whose memory the body and the answer are. A sender whose key is still looked up counts as one without; it
   * stays what it was at first, so that what is given back is what was taken.
   */
  private holder(): Holder {
    if (!this.heldKnown) {
      this.heldKnown = true;
      this.heldAs = this.keyed ? undefined : networkOf(this.admission?.address ?? unmapped(this.peer()));
    }
    return this.heldAs;
  }

  private settle(answer: Answer | undefined): void {
    this.handling = false;
    if (!this.gone) return;
    this.releaseBody();
    if (answer !== undefined && 'bytes' in answer.body) answer.body.release?.();
  }

  /** Runs a writing step with the connection corked, unless the client has gone meanwhile. */
  private cork(step: () => void): void {
    if (this.gone) return;
    this.response.cork(() => {
      try {
        step();
      } catch (error) {
        this.fail(error);
      }
    });
  }

  /** Answers 503 while the store is unavailable, else 500 for a broken invariant, which goes to the log. */
  private fail(error: unknown): void {
    const { id, mounted } = this;
    const unavailable = error instanceof StoreUnavailable;
    if (!unavailable) {
      this.server.log.error({ requestId: id, route: mounted.route.id, err: error }, 'request failed');
    }
    if (!this.answered && !this.gone) this.write(unavailable ? storeUnavailable() : internalError, false);
  }

  /** Answers before the body was read; a body too large ends the connection. */
  private refuse(answer: Answer, close = answer.status === 413): void {
    this.server.receiving.delete(this);
    this.write(answer, close || this.declared < 0 || this.declared > droppableBytes);
  }

  /**
   * Answers a chunked request in the next turn of the event loop. The parser reads on behind the body's end
   * in the same read, whatever the answer says; a request that it finds there while this one is unanswered
   * makes it close the connection.
   */
  private writeLater(answer: Answer, close: boolean): void {
    this.watch();
    this.answered = true;
    this.deferred = true;
    const { body } = answer;
    const lent = 'bytes' in body && body.release === undefined && typeof body.bytes !== 'string';
    const kept = lent ? { ...answer, body: { ...body, bytes: new Uint8Array(body.bytes) } } : answer;
    setImmediate(() => {
      if (this.gone) {
        if ('bytes' in body) body.release?.();
      } else this.cork(() => this.write(kept, close));
    });
  }

  private write(given: Answer, close: boolean): void {
    if (this.gone) return;
    if (this.chunked && !this.deferred) {
      this.writeLater(given, close);
      return;
    }
    const { mounted, server, admission } = this;
    const { writeFailure } = mounted;
    const answer = writeFailure === undefined || given.status < 400 ? given : writeFailure(given, this.id);
    const body = bodyOf(answer);
    const finished = 'bytes' in answer.body ? answer.body : undefined;
    this.releaseAnswer = finished?.release;
    this.immutable = finished?.immutable === true;
    const { keylessAnswerLimit } = mounted.route;
    if (keylessAnswerLimit < Infinity && admission?.address !== undefined) {
      const bytes = lengthOf(body);
      if (bytes > keylessAnswerLimit) {
        this.releaseAnswer?.();
        this.write(answerTooLarge(bytes, keylessAnswerLimit), close);
        return;
      }
    }
    const elapsedMs = server.clock.monotonicMs() - this.startedMs;
    let lines = this.id + mounted.lines + fieldLines(answer);
    if (this.crossOrigin) lines += crossOriginLines;
    if (mounted.route.timed) lines += timingLine(elapsedMs);
    if (admission !== undefined) {
      lines += limitLines(admission);
      if (answer.charge > 0) admission.charge(answer.charge);
    }
    this.answered = true;
    this.status = answer.status;
    if (answer.status !== 200) this.response.writeStatus(statusLine(answer.status));
    this.send(lines, body, close || this.chunked || server.draining, elapsedMs);
  }

  /** Writes the header lines in one call (they follow the first one's value) and the body. */
  private send(lines: string, body: Uint8Array | string, close: boolean, elapsedMs: number): void {
    const length = lengthOf(body);
    if (this.mounted.head || this.status === 204 || this.status === 304) {
      this.sendBodyless(lines, length, close);
    } else if (length < largeAnswerBytes) {
      this.bytesOut = length;
      this.response.writeHeader('x-request-id', lines).end(body, close);
    } else {
      this.sendLarge(close ? lines + closeLine : lines, body, length);
      return;
    }
    this.finish(elapsedMs);
  }

  /** Given any argument, `endWithoutBody` states a length of its own, so ours are lines like the others. */
  private sendBodyless(lines: string, length: number, close: boolean): void {
    const stated = this.mounted.head && this.status !== 204 ? `\r\ncontent-length: ${length}` : '';
    this.response.writeHeader('x-request-id', lines + stated + (close ? closeLine : '')).endWithoutBody();
  }

  /** Sends what the client takes at once; the rest is copied where the handler may reuse its memory. */
  private sendLarge(lines: string, body: Uint8Array | string, length: number): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    this.bytesOut = length;
    this.response.writeHeader('x-request-id', lines);
    this.watch();
    const [, done] = this.response.tryEnd(bytes, length);
    if (done) {
      this.finish();
      return;
    }
    this.unsentFrom = this.response.getWriteOffset();
    const rest = bytes.subarray(this.unsentFrom);
    this.releaseBody();
    if (!this.immutable && !this.makeRoom(rest.byteLength)) {
      this.response.close();
      return;
    }
    this.unsent = this.releaseAnswer === undefined && !this.immutable ? new Uint8Array(rest) : rest;
    if (!this.immutable) this.server.answers.take(this.holder(), rest.byteLength);
    this.windowStartMs = this.server.clock.monotonicMs();
    this.sendingSinceMs = this.windowStartMs;
    this.windowOffset = this.unsentFrom;
    this.server.sending.add(this);
    this.response.onWritable(() => this.resume());
  }

  /**
   * Makes room for an answer that waits: closes the slowest readers of whose part is used up. False when that
   * is not enough.
   */
  private makeRoom(bytes: number): boolean {
    const { answers } = this.server;
    const holder = this.holder();
    for (;;) {
      const shortage = answers.shortage(holder, bytes);
      if (shortage === undefined) return true;
      const slowest = this.slowestReader(shortage);
      if (slowest === undefined) return false;
      slowest.response.close();
    }
  }

  /** The slowest reader that has to go. Who has no key takes the room of nobody with one. */
  private slowestReader(shortage: Shortage): Exchange | undefined {
    const nowMs = this.server.clock.monotonicMs();
    const readers = [...this.server.sending].filter(({ unsentBytes }) => unsentBytes > 0);
    const keyless = readers.filter(({ heldAs }) => heldAs !== undefined);
    let among = shortage === 'network' ? readers.filter(({ heldAs }) => heldAs === this.heldAs) : keyless;
    if (among.length === 0 && this.heldAs === undefined) among = readers;
    const slower = (a: Exchange, b: Exchange): Exchange =>
      b.bytesPerMs(nowMs) < a.bytesPerMs(nowMs) ? b : a;
    return among.length === 0 ? undefined : among.reduce(slower);
  }

  /** Bytes of an answer that wait in memory of this exchange's own. */
  private get unsentBytes(): number {
    return this.immutable ? 0 : this.unsent.byteLength;
  }

  private bytesPerMs(nowMs: number): number {
    return (this.response.getWriteOffset() - this.unsentFrom) / Math.max(1, nowMs - this.sendingSinceMs);
  }

  /** Sends more of a large answer; false when the client still does not take all. */
  private resume(): boolean {
    const offset = this.response.getWriteOffset();
    const [ok, done] = this.response.tryEnd(this.unsent.subarray(offset - this.unsentFrom), this.bytesOut);
    if (done) this.finish();
    return ok;
  }

  /** Answers 408 when the body brings too little; called about once a second. */
  checkReceiving(nowMs: number): void {
    const { bodyWindowMs, bodyWindowBytes } = this.server.limits;
    if (nowMs - this.windowStartMs < bodyWindowMs) return;
    const received = this.gathered?.received ?? 0;
    if (received - this.windowBytes < bodyWindowBytes) {
      this.server.receiving.delete(this);
      this.whenAdmitted(() => this.cork(() => this.refuse(requestTimeout, true)));
      return;
    }
    this.windowStartMs = nowMs;
    this.windowBytes = received;
  }

  /**
   * Offers more of a large answer, which also renews the server's own ten seconds for a slow client, and
   * closes the connection of one that takes too little; called about once a second. The offer comes first: a
   * client is not to blame for a time in which this worker itself stood still.
   */
  checkSending(nowMs: number): void {
    this.cork(() => void this.resume());
    const { sending, limits } = this.server;
    if (!sending.has(this) || nowMs - this.windowStartMs < limits.sendWindowMs) return;
    const offset = this.response.getWriteOffset();
    if (offset - this.windowOffset < limits.sendWindowBytes) {
      this.response.close();
      return;
    }
    this.windowStartMs = nowMs;
    this.windowOffset = offset;
  }

  /** Learns when the connection goes; a response must not be touched afterwards. */
  private watch(): void {
    if (this.watched) return;
    this.watched = true;
    this.response.onAborted(() => {
      this.gone = true;
      this.server.receiving.delete(this);
      this.abortion?.abort();
      this.mounted.meter.aborted += 1;
      this.release();
    });
  }

  /** Counts and logs the answer once all of it is handed over. */
  private finish(elapsedMs = this.server.clock.monotonicMs() - this.startedMs): void {
    const { mounted, server, status, bytesIn, bytesOut } = this;
    mounted.meter.count(status, elapsedMs, bytesIn, bytesOut);
    this.release();
    // Refusals that are part of the contract come by the thousand under attack: counted, and logged together.
    if (status > 500) {
      const name = `${mounted.route.id} ${status}`;
      server.failures.set(name, (server.failures.get(name) ?? 0) + 1);
    }
    if (status !== 500 && !server.log.debugging) return;
    const fields = { requestId: this.id, route: mounted.route.id, status, ms: elapsedMs, bytesIn, bytesOut };
    if (status === 500) server.log.error(fields, 'request answered');
    else server.log.debug(fields, 'request answered');
  }

  private release(): void {
    this.server.inFlight -= 1;
    if (this.unsent !== noBytes) {
      this.server.sending.delete(this);
      if (!this.immutable) this.server.answers.give(this.heldAs, this.unsent.byteLength);
    }
    this.unsent = noBytes;
    this.releaseAnswer?.();
    this.releaseAnswer = undefined;
    if (!this.handling) this.releaseBody();
  }

  private releaseBody(): void {
    this.gathered?.release();
    this.gathered = undefined;
    this.server.bodies.memory.give(this.heldAs, this.retained);
    this.retained = 0;
    this.body = noBytes;
  }
}

function readPath(request: HttpRequest, names: readonly string[]): Parameters {
  const path = Object.create(null) as Record<string, string>;
  names.forEach((name, index) => (path[name] = percentDecode(request.getParameter(index) ?? '')));
  return path;
}

function isPrefetch(request: HttpRequest): boolean {
  return request.getHeader('sec-purpose').includes('prefetch') || request.getHeader('purpose') === 'prefetch';
}

/** The Content-Length; -1 for a chunked body, 0 for none, NaN for one that is not a number. */
function declaredLength(request: HttpRequest): number {
  const text = request.getHeader('content-length');
  if (text !== '') return Number(text);
  return request.getHeader('transfer-encoding') === '' ? 0 : -1;
}
