/**
 * The receiving half of a request on uWebSockets.js: its head, the admission, its body. The other half
 * handles what was received and answers it.
 */
import { countedAddress } from '../access/address.js';
import type { Admission } from '../access/admission.js';
import type { Answer } from '../contract/exchange.js';
import { unmapped } from '../system/network.js';
import type { Span } from '../telemetry/tracer.js';
import { methodOf } from './spans.js';
import { bodyTooLarge, overloaded, requestTimeout, unsupportedEncoding } from './failures.js';
import { declaredLength, fieldOf, isPrefetch, readPath, RequestHead } from './head.js';
import { isAcceptableRequestId } from './identifiers.js';
import { IncomingBody } from './incoming.js';
import { networkName, type Holder } from './memory.js';
import type { MountedRoute } from './mounted.js';
import { noParameters, parseQuery, type Parameters } from './parameters.js';
import type { ServerState } from './state.js';
import type { HttpRequest, HttpResponse } from './uws.js';

const noBytes = new Uint8Array(0);

/** One request while it is received, in the form that its handler gets afterwards. */
export abstract class Reception {
  readonly id: string;
  readonly path: Parameters;
  /** The query as it was sent. */
  private readonly querySent: string;
  private queryRead: Parameters | undefined;
  readonly mayAct: boolean;
  readonly head: boolean;
  body: Uint8Array = noBytes;

  protected readonly startedMs: number;
  /** True if others wait long already: the answer is written in the next turn of the event loop. */
  protected readonly isLate: boolean;
  /** Its span; undefined: it has none. */
  protected readonly span: Span | undefined;
  protected readonly crossOrigin: boolean;
  /** The method, if the request has a span. */
  protected method = '';
  /** The Content-Length; see {@link declaredLength}. */
  protected readonly declared: number;
  protected bytesIn = 0;
  private readonly headers: readonly string[];
  /** State of the connection; `unwatched`: no callback for its end yet, as nothing is pending. */
  private connection: 'unwatched' | 'watched' | 'gone' = 'unwatched';
  /** True if the answer is counted already, and only its connection is left to close. */
  protected isOver = false;
  /** The admission; undefined if there is nothing to decide, or no decision yet. */
  private admission: Admission | 'awaited' | undefined;
  /** Work that awaits the admission. */
  private next: (() => void) | undefined;
  /** A body that arrives in several pieces. */
  private incoming: IncomingBody | undefined;
  /** True if {@link body} is in the server's receive buffer. */
  private borrowed = false;
  /** Bytes of a retained copy and what else the handler holds, counted against the worker's budget. */
  private retained = 0;
  /** Holder of this request's memory; null until first needed. */
  private heldAs: Holder | null = null;
  /** The peer's address, once read: a connection that has gone no longer has it. */
  private peerAddress: Uint8Array | undefined;
  /** Aborted when the connection closes; made when first needed. */
  private abortion: AbortController | undefined;

  /** Reads the head; `request` is valid only during this call and {@link begin}. */
  constructor(
    protected readonly server: ServerState,
    protected readonly mounted: MountedRoute,
    protected readonly response: HttpResponse,
    request: HttpRequest,
  ) {
    this.startedMs = server.clock.monotonicMs();
    server.inFlight += 1;
    this.isLate = server.turn.isLong(this.startedMs);
    this.span = server.tracer?.take(request);
    if (this.span !== undefined) this.method = methodOf(request);
    const given = request.getHeader('x-request-id');
    this.id = given !== '' && isAcceptableRequestId(given) ? given : server.requestIds();
    const { route, parameters } = mounted;
    this.path = parameters.length === 0 ? noParameters : readPath(request, parameters);
    const query = request.getQuery() as string | undefined;
    this.querySent = query ?? '';
    this.crossOrigin = route.cors && request.getHeader('origin') !== '';
    this.declared = declaredLength(request);
    this.headers =
      route.headers.length === 0 ? [] : route.headers.map((name) => fieldOf(name, request, response));
    this.head = mounted.head;
    this.mayAct = !mounted.head && (!route.acts || !isPrefetch(request));
  }

  /** True if an answer is known. */
  protected abstract isAnswered(): boolean;
  /** Handles the received request. */
  protected abstract handle(): void;
  /** Answers by the head alone, or before the body was read; `close`: and ends the connection. */
  abstract refuse(answer: Answer, close?: boolean): void;
  /** Answers for a thrown error. */
  protected abstract fail(error: unknown): void;
  /** Returns what the request holds, once it is answered or the connection has gone. */
  protected abstract release(): void;
  /** Called if the connection goes before the answer is complete. */
  protected abstract cutOff(): void;

  /** Parsed when it is first read: a route that reads no name spends no time on thousands of them. */
  get query(): Parameters {
    return (this.queryRead ??= parseQuery(this.querySent));
  }

  header(name: string): string {
    const value = this.headers[this.mounted.route.headers.indexOf(name)];
    if (value === undefined)
      throw new Error(`Route ${this.mounted.route.id} does not declare header ${name}`);
    return value;
  }

  /** True if the body is chunked: bytes after its end are never read as another request. */
  protected get chunked(): boolean {
    return this.declared < 0;
  }

  get keyed(): boolean {
    return this.key !== undefined;
  }

  get key(): string | undefined {
    return this.decided?.key;
  }

  /** The admission, once decided. */
  protected get decided(): Admission | undefined {
    return this.admission === 'awaited' ? undefined : this.admission;
  }

  retain(): Uint8Array {
    if (this.borrowed) {
      this.body = new Uint8Array(this.body);
      this.borrowed = false;
      this.hold(this.body.byteLength);
    }
    return this.body;
  }

  hold(bytes: number): void {
    this.retained += bytes;
    this.server.bodies.memory.take(this.holder(), bytes);
  }

  peer(): Uint8Array {
    this.peerAddress ??= new Uint8Array(this.response.getRemoteAddress());
    return this.peerAddress;
  }

  caller(): Uint8Array {
    return this.decided?.address ?? countedAddress(unmapped(this.peer()));
  }

  aborted(): boolean {
    return this.connection === 'gone';
  }

  signal(): AbortSignal {
    this.abortion ??= new AbortController();
    if (this.aborted()) this.abortion.abort();
    return this.abortion.signal;
  }

  /** Starts the request: refuses it by its head, waits for its body, or handles it. */
  begin(request: HttpRequest): void {
    const { admit } = this.mounted;
    if (admit !== undefined && !this.admit(admit(new RequestHead(request, this.response)))) return;
    if (this.mounted.route.body) this.receive(request);
    else this.whenAdmitted(() => this.handle());
  }

  /** True if the request continues: its sender is admitted, or the store is asked while the body arrives. */
  private admit(admission: Admission | Promise<Admission>): boolean {
    if (admission instanceof Promise) {
      this.waitForAdmission(admission);
      return true;
    }
    this.admission = admission;
    if (admission.refusal === undefined) return true;
    this.refuse(admission.refusal);
    return false;
  }

  private waitForAdmission(admission: Promise<Admission>): void {
    this.watch();
    this.admission = 'awaited';
    admission.then(
      (decided) => {
        this.admission = decided;
        this.cork(() => {
          if (decided.refusal !== undefined) this.refuse(decided.refusal);
          else this.next?.();
        });
      },
      (error: unknown) => this.failCorked(error),
    );
  }

  /** Runs a step at once, or when the pending admission is decided. */
  protected whenAdmitted(step: () => void): void {
    if (this.admission === 'awaited') this.next = step;
    else step();
  }

  private receive(request: HttpRequest): void {
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
    this.expectBody();
  }

  /** Receives the body as it arrives. */
  protected expectBody(): void {
    // A body with a length always begins with a piece, perhaps an empty one, so most bodies are never checked
    // for pace.
    if (this.chunked) this.incoming = this.expect();
    this.response.onData((chunk, isLast) => {
      if (!this.isAnswered() && !this.aborted() && this.next === undefined) this.take(chunk, isLast);
    });
  }

  /** The answer if the head alone refuses the body. */
  private refusalOfHead(request: HttpRequest): Answer | undefined {
    const { route, refuseMediaType } = this.mounted;
    if (this.declared > route.bodyLimit) return bodyTooLarge(route.bodyLimit);
    const coding = request.getHeader('content-encoding');
    if (coding !== '' && coding.trim().toLowerCase() !== 'identity') return unsupportedEncoding;
    const { memory } = this.server.bodies;
    const held = Math.min(this.declared, route.lineLimit ?? Infinity);
    // An announced length reserves nothing: a body that cannot fit is refused before it costs anything.
    if (memory.isTight(held) && memory.shortage(this.holder(), held) !== undefined) return overloaded;
    if (refuseMediaType === undefined) return undefined;
    const mediaType = request.getHeader('content-type');
    // The Origin matters only for a body without a media type, also on routes that are not open to other
    // origins.
    return refuseMediaType(mediaType, mediaType === '' && request.getHeader('origin') !== '');
  }

  /** Takes a piece of the body. A body in a single piece is not copied. */
  private take(chunk: ArrayBuffer, isLast: boolean): void {
    if (isLast && this.incoming?.isEmpty !== false) {
      if (chunk.byteLength > this.mounted.route.bodyLimit) {
        this.refuseBody('too_large');
        return;
      }
      this.body = new Uint8Array(chunk);
      this.borrowed = true;
    } else {
      this.incoming ??= this.expect();
      const outcome = this.incoming.append(new Uint8Array(chunk), this.holder());
      if (outcome !== 'taken') {
        this.refuseBody(outcome);
        return;
      }
      if (!isLast) return;
      this.body = this.incoming.bytes();
    }
    this.bytesIn = this.body.byteLength;
    this.incoming?.end();
    if (this.admission === 'awaited') this.retain();
    this.whenAdmitted(() => this.handle());
    this.borrowed = false;
  }

  /** Prepares for a body in several pieces, and answers 408 if it is too slow. */
  private expect(): IncomingBody {
    return new IncomingBody(this.server, this.mounted.route.bodyLimit, this.declared, this.startedMs, () =>
      this.whenAdmitted(() => this.cork(() => this.refuse(requestTimeout, true))),
    );
  }

  private refuseBody(reason: 'too_large' | 'overloaded'): void {
    const refusal = reason === 'too_large' ? bodyTooLarge(this.mounted.route.bodyLimit) : overloaded;
    this.incoming?.end();
    this.whenAdmitted(() => this.refuse(refusal, true));
  }

  /**
   * Holder of the memory of body and answer. A sender whose key is still being looked up counts as keyless,
   * and stays so: memory must be returned to the holder it was taken from.
   */
  protected holder(): Holder {
    if (this.heldAs === null)
      this.heldAs = this.keyed ? undefined : networkName(this.decided?.address ?? unmapped(this.peer()));
    return this.heldAs;
  }

  /** Writes with the connection corked, unless the client has gone meanwhile. */
  protected cork(step: () => void): void {
    if (this.aborted()) return;
    this.response.cork(() => {
      try {
        step();
      } catch (error) {
        this.fail(error);
      }
    });
  }

  /** Fails with the connection corked. If the client has gone, the error is only logged. */
  protected failCorked(error: unknown): void {
    if (this.aborted()) this.fail(error);
    else this.cork(() => this.fail(error));
  }

  /** Watches for the end of the connection, after which the response must not be touched. */
  protected watch(): void {
    if (this.connection !== 'unwatched') return;
    this.connection = 'watched';
    this.response.onAborted(() => {
      this.connection = 'gone';
      if (this.isOver) return;
      this.incoming?.end();
      this.abortion?.abort();
      this.mounted.meter.aborted += 1;
      this.cutOff();
      this.release();
    });
  }

  /** Accepts no more of the body. */
  protected stopReceiving(): void {
    this.incoming?.end();
  }

  protected releaseBody(): void {
    this.incoming?.release();
    if (this.retained > 0) this.server.bodies.memory.give(this.holder(), this.retained);
    this.retained = 0;
    this.body = noBytes;
  }
}
