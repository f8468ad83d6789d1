/** What http serves: a route of the contract with its handler and the checks of its body (RFC 9110). */
import type { Answer, Handler } from '../contract/exchange.js';

/** A route as http needs it. */
export interface Route {
  /** Name in logs and metrics. */
  readonly id: string;
  readonly method: 'GET' | 'POST';
  /** Path template with `{name}` segments. */
  readonly path: string;
  /** `none`: a body is ignored. `raw`: the handler gets bytes. `json`: bytes and the checked value. */
  readonly body: 'json' | 'raw' | 'none';
  /** Largest body in bytes. */
  readonly bodyLimit: number;
  /** Whether scripts of other origins may call it (Fetch standard). */
  readonly cors: boolean;
  /** Whether a GET changes something: HEAD and prefetches must then not. */
  readonly acts: boolean;
  /** Whether answers carry `Server-Timing`. */
  readonly timed: boolean;
  /** Request header fields that the handler reads, in lower case. */
  readonly headers: readonly string[];
}

/** A body's checked value, or the answer that refuses it. */
export type ReadResult = { readonly input: unknown } | { readonly refused: Answer };

/** A route, its handler and the checks of its body. */
export interface ServedRoute {
  readonly route: Route;
  readonly handler: Handler;
  /** The answer that refuses a body for its media type (`""`: none given), or undefined. */
  readonly refuseMediaType?: (mediaType: string, crossOrigin: boolean) => Answer | undefined;
  /** Parses and validates the body of a `json` route. */
  readonly read?: (body: Uint8Array) => ReadResult;
}
