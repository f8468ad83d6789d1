/** A request's head as access reads it, while uWebSockets.js has it. */
import type { Head } from '../access/address.js';
import type { HttpRequest, HttpResponse } from './uws.js';

/** Valid only during the call in which uWebSockets.js handed the request over. */
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
