/** A served route: a route of the contract with its handler and the checks of its body (RFC 9110). */
import type { Head } from '../access/address.js';
import type { Admission } from '../access/admission.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { Method } from '../contract/schema/route.js';

/** A route as http needs it. */
export interface Route {
  /** Name in logs and metrics. */
  readonly id: string;
  readonly method: Method;
  /** Path template with `{name}` segments. */
  readonly path: string;
  /** True if requests have a body; on other routes it is read and discarded. */
  readonly body: boolean;
  /** Largest body in bytes; Infinity if its lines are limited instead. */
  readonly bodyLimit: number;
  /** Largest line in bytes, for a body whose lines are answered one by one; else absent. */
  readonly lineLimit?: number;
  /** Largest answer to a caller without a key (bytes); Infinity: any. */
  readonly keylessAnswerLimit: number;
  /** True if scripts of other origins may call it (Fetch standard). */
  readonly cors: boolean;
  /** True if a GET changes something: HEAD and prefetches must not. */
  readonly acts: boolean;
  /** True if answers carry `Server-Timing`. */
  readonly timed: boolean;
  /** Request header fields that the handler reads, in lower case. */
  readonly headers: readonly string[];
  /**
   * Header fields of every answer on its path, including refusals; an answer's own fields take precedence.
   */
  readonly fields?: Readonly<Record<string, string>>;
}

/** A checked request's `input`, or the answer that refuses it. */
export type CheckResult = { readonly input: unknown } | { readonly refused: Answer };

/**
 * Checks of a request's parameters and body, once the body is complete; off the event loop for a large one.
 */
export type RequestChecks = (request: Omit<RouteRequest, 'input'>) => CheckResult | Promise<CheckResult>;

/** A route, its handler and the checks that come before it. */
export interface ServedRoute {
  readonly route: Route;
  readonly handler: Handler<never>;
  /** Decides by a request's head, before anything else, if its sender is admitted. */
  readonly admit?: (head: Head) => Admission | Promise<Admission>;
  /** The answer that refuses a body for its media type (`""`: none given), or undefined. */
  readonly refuseMediaType?: (mediaType: string, crossOrigin: boolean) => Answer | undefined;
  readonly check?: RequestChecks;
  /** Writes a failure in another form than the default. `id`: the request's. */
  readonly writeFailure?: (answer: Answer, id: string) => Answer;
}
