/**
 * A request's span by OpenTelemetry's conventions for HTTP. It shows no client data: in place of the path,
 * which may hold order ids, tokens and hashes, it has the route's template. It has no query, no address and
 * no `User-Agent`.
 */
import type { Span, SpanAttributes } from '../telemetry/tracer.js';
import type { Route } from './routes.js';
import type { HttpRequest } from './uws.js';

/** Methods by which a span may be named; clients may invent others. */
const known = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE']);

/** The method of a request as the conventions name it. */
export function methodOf(request: Pick<HttpRequest, 'getMethod'>): string {
  const method = request.getMethod().toUpperCase();
  return known.has(method) ? method : '_OTHER';
}

/** Facts of an ended request. */
export interface EndedRequest {
  readonly id: string;
  readonly method: string;
  readonly route: Pick<Route, 'id' | 'path'>;
  /** 0: it was not answered. */
  readonly status: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** The connection closed before the answer was complete. */
  readonly cause?: 'aborted' | undefined;
}

/** Ends the span of a request. */
export function endRequestSpan(span: Span, ended: EndedRequest): void {
  const { id, method, route, status, bytesIn, bytesOut, cause } = ended;
  const hasFailed = status >= 500;
  const error = cause ?? (hasFailed ? String(status) : undefined);
  const attributes: SpanAttributes = {
    'http.request.method': method,
    'url.scheme': 'http',
    'network.protocol.version': '1.1',
    'http.request.body.size': bytesIn,
    'http.response.body.size': bytesOut,
    'fusegate.request.id': id,
    'fusegate.route': route.id,
    ...(route.path === '' ? {} : { 'http.route': route.path, 'url.path': route.path }),
    ...(status === 0 ? {} : { 'http.response.status_code': status }),
    ...(error === undefined ? {} : { 'error.type': error }),
  };
  span.end(attributes, hasFailed, route.path === '' ? method : `${method} ${route.path}`);
}
