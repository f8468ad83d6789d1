/** A request's head for access, while uWebSockets.js has it. */
import type { Head } from '../access/address.js';
import { percentDecode, type Parameters } from './parameters.js';
import type { HttpRequest, HttpResponse } from './uws.js';

/** Valid only during uWebSockets.js's callback for the request. */
export class RequestHead implements Head {
  constructor(
    private readonly request: HttpRequest,
    private readonly response: HttpResponse,
  ) {}

  field(name: string): string {
    return this.request.getHeader(name);
  }

  allOf(name: string): string {
    const values: string[] = [];
    this.request.forEach((field, value) => {
      if (field === name) values.push(value);
    });
    return values.join(', ');
  }

  peer(): Uint8Array {
    return new Uint8Array(this.response.getRemoteAddress());
  }

  isHead(): boolean {
    return this.request.getMethod() === 'head';
  }
}

/** The parts of a head that access reads, for use after uWebSockets.js has released it. */
export class KeptHead implements Head {
  private readonly fields = new Map<string, string>();

  constructor(
    request: HttpRequest,
    response: HttpResponse,
    private readonly address: Uint8Array,
  ) {
    for (const name of ['x-api-key', 'authorization']) this.fields.set(name, request.getHeader(name));
    for (const name of listedFields) this.fields.set(name, fieldOf(name, request, response));
  }

  field(name: string): string {
    const value = this.fields.get(name);
    if (value === undefined) throw new Error(`${name} is not kept of a head`);
    return value;
  }

  allOf(name: string): string {
    return this.field(name);
  }

  peer(): Uint8Array {
    return this.address;
  }

  isHead(): boolean {
    return false;
  }
}

/** Fields to which each proxy on the way adds a line or an item. */
const listedFields: ReadonlySet<string> = new Set(['x-forwarded-for', 'forwarded']);

/** A header field's value as a handler reads it. */
export function fieldOf(name: string, request: HttpRequest, response: HttpResponse): string {
  return listedFields.has(name) ? new RequestHead(request, response).allOf(name) : request.getHeader(name);
}

/** The values of a path's parameters. */
export function readPath(request: HttpRequest, names: readonly string[]): Parameters {
  const path = Object.create(null) as Record<string, string>;
  names.forEach((name, index) => (path[name] = percentDecode(request.getParameter(index) ?? '')));
  return path;
}

/** True if the request is a prefetch, made before a person asks. */
export function isPrefetch(request: HttpRequest): boolean {
  return request.getHeader('sec-purpose').includes('prefetch') || request.getHeader('purpose') === 'prefetch';
}

/** The Content-Length; -1 for a chunked body, 0 for none, NaN for one that is not a number. */
export function declaredLength(request: HttpRequest): number {
  const text = request.getHeader('content-length');
  if (text !== '') return Number(text);
  return request.getHeader('transfer-encoding') === '' ? 0 : -1;
}
