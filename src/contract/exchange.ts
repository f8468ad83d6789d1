/**
 * Requests and answers between http and a handler: plain values, so that no part of Fusegate but `src/http`
 * knows its HTTP server (RFC 9110 terms).
 */

/** One request, after path, method, media type, body limit and (JSON routes) the contract were checked. */
export interface RouteRequest<Input = unknown> {
  /** The request's id: the client's `X-Request-Id` if it is acceptable, else ours. */
  readonly id: string;
  /** Percent-decoded path parameters by name. */
  readonly path: Readonly<Record<string, string>>;
  /** Percent-decoded query parameters; for a repeated one, its last value. */
  readonly query: Readonly<Record<string, string>>;
  /**
   * A request header's value by lower-case name; `""` when absent. The route declares which fields it reads;
   * asking for another is a broken invariant and throws.
   */
  header(name: string): string;
  /** True if the request carries an API key that was accepted. */
  readonly keyed: boolean;
  /** The API key that was accepted; absent if there is none. */
  readonly key?: string | undefined;
  /** Most bytes of the answer: a longer one is refused. Absent: no limit. */
  readonly mostAnswerBytes?: number | undefined;
  /**
   * The body's bytes; empty when there is none. They may lie in the server's receive buffer: a handler that
   * needs them after its first `await` calls {@link retain} before it.
   */
  readonly body: Uint8Array;
  /** A copy of the body's bytes, which nobody overwrites. */
  retain(): Uint8Array;
  /** Counts bytes that the request holds besides its body, until it is answered, with those of all bodies. */
  hold(bytes: number): void;
  /** The validated JSON body of a route that declares one; `undefined` elsewhere. */
  readonly input: Input;
  /**
   * True if a route whose GET changes something may do so now: false for HEAD and for a prefetch
   * (`Sec-Purpose` or `Purpose`). Such a request is answered without the change.
   */
  readonly mayAct: boolean;
  /** True if the method is HEAD: the answer's body is not sent. */
  readonly head: boolean;
  /**
   * The address that the request came from: 4 or 16 bytes, empty if it is unknown. To be called before the
   * handler's first `await`.
   */
  peer(): Uint8Array;
  /**
   * The address by which limits count a caller without a key: the peer's, or the client's if a trusted proxy
   * forwards it. 4 or 8 bytes, empty if it is unknown. To be called before the handler's first `await`.
   */
  caller(): Uint8Array;
  /** True if the connection is closed: nobody would receive an answer. */
  aborted(): boolean;
  /** Aborted when the connection closes before the answer is sent. */
  signal(): AbortSignal;
}

/** The body's bytes that a request retains, for the native module: they are not copied again. */
export function retainedBody(request: Pick<RouteRequest, 'retain'>): Buffer {
  const { buffer, byteOffset, byteLength } = request.retain();
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** An answer's body: a value that http writes as JSON, or finished bytes or text with their media type. */
export type AnswerBody =
  | { readonly json: unknown }
  | {
      /**
       * Finished bytes. Without {@link release} http has copied or sent them when it returns control, so the
       * handler may reuse them.
       */
      readonly bytes: Uint8Array | string;
      /** Called once, when http no longer needs the bytes; until then they must not change. */
      readonly release?: () => void;
      /** True if the bytes never change: they are sent without a copy, to many clients at once. */
      readonly immutable?: true;
      /** Media type with its charset. */
      readonly type: string;
    };

/** Answer of a handler. */
export interface Answer {
  /** HTTP status. */
  readonly status: number;
  readonly body: AnswerBody;
  /** Further header fields, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Characters (code points) that count against the caller's monthly limit, or the quantity that a route's
   * second limit counts; 0 unless the status is 200.
   */
  readonly charge: number;
  /** Code of the problem in finished bytes. In a body that http writes as JSON, http finds it itself. */
  readonly problem?: string;
}

/**
 * The answer with its own copy of the bytes. A handler may lend the bytes of a buffer that its next call
 * reuses; another request may make that call before an awaited answer is read.
 */
export function ownedAnswer(answer: Answer): Answer {
  const { body } = answer;
  const isLent = 'bytes' in body && body.release === undefined && typeof body.bytes !== 'string';
  return isLent ? { ...answer, body: { ...body, bytes: new Uint8Array(body.bytes) } } : answer;
}

/**
 * A handler: a plain function of the request. Its parts are bound to it in `main`. `Handler` alone accepts
 * any input; `Handler<never>` is the type of every handler for code that only calls it with checked input.
 */
export type Handler<Input = unknown> = (request: RouteRequest<Input>) => Answer | Promise<Answer>;
