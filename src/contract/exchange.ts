/**
 * Requests and answers between http and a handler: plain values, so that no part of Fusegate but `src/http`
 * knows its HTTP server (RFC 9110 terms).
 */

/** One request, after path, method, media type, body limit and (JSON routes) the contract were checked. */
export interface RouteRequest<Input = unknown> {
  /** The request's id: the client's `X-Request-Id` where acceptable, else ours. */
  readonly id: string;
  /** Percent-decoded path parameters by name. */
  readonly path: Readonly<Record<string, string>>;
  /** Percent-decoded query parameters; of a repeated one the last value. */
  readonly query: Readonly<Record<string, string>>;
  /**
   * A request header's value by lower-case name; `""` when absent. The route declares which fields it reads;
   * asking for another is a broken invariant and throws.
   */
  header(name: string): string;
  /** True if the request carries an API key, which was accepted. */
  readonly keyed: boolean;
  /** The API key that was accepted; absent where there is none. */
  readonly key?: string | undefined;
  /**
   * The body's bytes; empty when there is none. They may lie in the server's receive buffer: a handler that
   * needs them after it first gave up control (await) calls {@link retain} before.
   */
  readonly body: Uint8Array;
  /** The body's bytes in memory of their own, which stay as they are. */
  retain(): Uint8Array;
  /** The validated JSON body of a route that declares one; `undefined` elsewhere. */
  readonly input: Input;
  /**
   * True if a route whose GET changes something may do so now: false for HEAD and for a prefetch
   * (`Sec-Purpose` or `Purpose`). Such a request gets the answer of not acting.
   */
  readonly mayAct: boolean;
  /** True if the method is HEAD: the answer's body reaches nobody. */
  readonly head: boolean;
  /**
   * The address that the request came from: 4 or 16 bytes, none where it is not known. Asked for before the
   * handler first gives up control.
   */
  peer(): Uint8Array;
  /**
   * The address of a caller without a key as limits count it, behind trusted proxies: 4 or 8 bytes, none
   * where it is not known. Asked for as {@link peer} is.
   */
  caller(): Uint8Array;
  /** True if the connection has gone: an answer would reach nobody. */
  aborted(): boolean;
  /** Told when the connection goes before the answer. */
  signal(): AbortSignal;
}

/** An answer's body: a value that http writes as JSON, or finished bytes or text with their media type. */
export type AnswerBody =
  | { readonly json: unknown }
  | {
      /**
       * Finished bytes. Without {@link release} http has copied or sent them when it returns control, so that
       * they may be reused.
       */
      readonly bytes: Uint8Array | string;
      /** Called once, when http needs the bytes no more; until then they stay as they are. */
      readonly release?: () => void;
      /** True if the bytes never change: they are sent from where they lie, to many clients at once. */
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
   * Characters (code points) that count against the caller's monthly limit, or what a route's second limit
   * counts; 0 on all but a 200.
   */
  readonly charge: number;
  /** Code of the problem that a finished body tells; one that is written as JSON is read. */
  readonly problem?: string;
}

/**
 * A handler: a plain function of the request. Its parts are bound to it in `main`. `Handler` alone takes any
 * input; `Handler<never>` is what every handler is to one who only calls it with what was checked.
 */
export type Handler<Input = unknown> = (request: RouteRequest<Input>) => Answer | Promise<Answer>;
