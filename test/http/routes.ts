/** Makers of routes and answers for the tests. */
import type { Answer } from '../../src/contract/exchange.js';
import type { Route } from '../../src/http/routes.js';

/** A route with everything that a test does not care about filled in. */
export function route(given: Partial<Route> & Pick<Route, 'id' | 'path'>): Route {
  const method = given.method ?? 'GET';
  return {
    method,
    body: method === 'POST',
    bodyLimit: 1 << 20,
    keylessAnswerLimit: Infinity,
    cors: false,
    acts: false,
    timed: false,
    headers: [],
    ...given,
  };
}

/** An answer of plain text. */
export function text(body: string, status = 200): Answer {
  return { status, body: { bytes: body, type: 'text/plain' }, charge: 0 };
}
