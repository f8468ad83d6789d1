/** A route as the OpenAPI document describes it, and its example. */
import { ndjson, type OtherMediaType } from './body.js';
import type { ParameterPlace } from './validate.js';
import type { BodyType, WireType } from './wireType.js';

/** The form in which a request's body reaches the handler. */
export type RouteBody =
  | { readonly kind: 'none' }
  | {
      /** The handler gets the bytes, of any content and media type. */
      readonly kind: 'any';
      /** Media types that the document names; absent: any. */
      readonly types?: readonly string[];
      readonly limit: number;
    }
  | {
      /** The handler reads the bytes itself, more leniently than the type in the document. */
      readonly kind: 'own';
      readonly described: WireType;
      readonly other: OtherMediaType;
      readonly limit: number;
    }
  | {
      /** NDJSON: each line is a body of the type, which the handler gets as a request's bytes. */
      readonly kind: 'lines';
      readonly schema: BodyType;
      /** Most bytes of a line; the number of lines is not limited. */
      readonly limit: number;
    }
  | {
      /**
       * `json`: checked before the handler runs, which gets the value as `input`. `raw`: the handler gets the
       * bytes and checks them itself; only the media type is checked before.
       */
      readonly kind: 'json' | 'raw';
      readonly schema: BodyType;
      /** Media type that is accepted besides JSON. */
      readonly other: OtherMediaType;
      /** Bytes; a longer body is refused before it is read. */
      readonly limit: number;
    };

/** The form of a route's failures, if it is not the usual one. */
export interface RouteFailure {
  readonly schema: WireType;
  /** The body of a failure in the document. */
  readonly example: (status: number, detail: string, code: string) => unknown;
}

/** The body of a documented answer: JSON of a type, or a media type. */
export type RouteAnswer =
  | {
      readonly schema: WireType;
      readonly description: string;
      /** Further media types, chosen by `Accept`. */
      readonly also?: readonly string[];
      /**
       * The type of the answer to a line that could not be answered, if each line sent is answered with a
       * line.
       */
      readonly failedLine?: WireType;
    }
  | { readonly type: string; readonly description: string };

/** Header fields that an answer may have besides those of every answer. */
export type AnswerHeader =
  'server-timing' | 'ratelimit' | 'ratelimit-policy' | 'location' | 'idempotent-replayed';

/** Methods of the routes. */
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A request and the answer it gets. */
export interface Example {
  readonly request: {
    readonly method: Method;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  };
  readonly response: {
    readonly status: number;
    readonly type: string;
    /** The JSON body; absent if the body is not JSON of a fixed shape. */
    readonly body?: unknown;
  };
}

/** Members of a route that the document needs. */
export interface DescribedRoute {
  readonly method: Method;
  /** Path template; `{name}` is one segment. */
  readonly path: string;
  /** Heading in the reference page. */
  readonly tag: string;
  /** Shown beside the path. */
  readonly summary: string;
  /** The description, in Markdown. */
  readonly description: string;
  readonly body: RouteBody;
  readonly parameters: { readonly [Place in ParameterPlace]?: WireType };
  /** Answers by status, problems and 422 left out. */
  readonly answers: Readonly<Record<number, RouteAnswer>>;
  /** True if a 422 is declared. */
  readonly unprocessable: boolean;
  /** Every problem code the route may send, by status. */
  readonly problems: Readonly<Record<number, readonly string[]>>;
  readonly headers: readonly AnswerHeader[];
  /** `key`: an API key is optional. */
  readonly access?: 'public' | 'key';
  /** The form of its failures, if it is not the usual one. */
  readonly failure?: RouteFailure;
  /** True if the whole route is beyond the contract. */
  readonly extension?: boolean;
  /** True if the document lists it. */
  readonly documented: boolean;
}

const json = 'application/json';

/** Values as lines of JSON, each ended by a line feed. */
export function linesOf(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}

/** A POST of lines that is answered with a line for each. */
export function postLines(path: string, request: readonly unknown[], response: readonly unknown[]): Example {
  return {
    request: { method: 'POST', path, headers: { 'content-type': ndjson }, body: linesOf(request) },
    response: { status: 200, type: ndjson, body: linesOf(response) },
  };
}

/** A GET that is answered with a JSON body. */
export function get(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Example {
  return {
    request: { method: 'GET', path, ...(headers === undefined ? {} : { headers }) },
    response: { status: 200, type: json, body },
  };
}

/** A POST of a JSON body that is answered with another. */
export function post(path: string, request: unknown, response: unknown): Example {
  return {
    request: { method: 'POST', path, headers: { 'content-type': json }, body: request },
    response: { status: 200, type: json, body: response },
  };
}

/** A DELETE that is answered with a JSON body. */
export function remove(path: string, body: unknown): Example {
  return {
    request: { method: 'DELETE', path },
    response: { status: 200, type: json, body },
  };
}

/** A GET whose answer's body is not shown. */
export function getOther(path: string, type: string, status = 200): Example {
  return { request: { method: 'GET', path }, response: { status, type } };
}
