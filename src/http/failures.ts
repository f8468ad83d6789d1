/** The answers that http gives itself (RFC 9110 statuses; bodies as the contract's errors). */
import type { Answer } from '../contract/exchange.js';
import { problemOf, type HttpProblem, type Problem, type ProblemCode } from '../contract/problem.js';
import type { NamedRoute } from './nearest.js';

function failure(
  status: number,
  body: Problem | HttpProblem | { detail: 'Internal Server Error' },
  headers?: Readonly<Record<string, string>>,
): Answer {
  const answer = { status, body: { bytes: JSON.stringify(body), type: 'application/json' }, charge: 0 };
  return headers === undefined ? answer : { ...answer, headers };
}

/** A problem with a code, and the path of its guide. */
function problem(
  status: number,
  code: ProblemCode,
  detail: string,
  headers?: Readonly<Record<string, string>>,
): Answer {
  return { ...failure(status, problemOf(code, detail), headers), problem: code };
}

/** A browser gets a page in place of the answer: a cache must not show one to those who want the other. */
const byAccept = { vary: 'Accept' } as const;

/** 404: no such path. */
export const notFound = failure(404, { detail: 'Not Found' }, byAccept);

/** 404 that names the nearest route and the reference's path, if there are any. */
export function notFoundNear(nearest: NamedRoute | undefined, docs: string | undefined): Answer {
  if (nearest === undefined && docs === undefined) return notFound;
  const near = nearest === undefined ? '' : ` The nearest is ${nearest.method} ${nearest.path}.`;
  const where = docs === undefined ? '' : ` ${docs} lists all paths.`;
  const missing: HttpProblem = { detail: 'Not Found', message: `There is no such path.${near}${where}` };
  if (nearest !== undefined) missing.nearest = { method: nearest.method, path: nearest.path };
  if (docs !== undefined) missing.docs = docs;
  return failure(404, missing, byAccept);
}

/** 500: a broken invariant; the log has the cause under the request's id. */
export const internalError = failure(500, { detail: 'Internal Server Error' });

/** 408: the body came too slowly. */
export const requestTimeout = problem(
  408,
  'body_timeout',
  'The request body came too slowly. Send it again.',
);

/** 415: the body is compressed. */
export const unsupportedEncoding = problem(
  415,
  'unsupported_encoding',
  'Send the body without Content-Encoding.',
  { 'accept-encoding': 'identity' },
);

/** 503: the worker holds as many bytes of bodies as it may. */
export const overloaded = problem(
  503,
  'overloaded',
  'The server holds too many request bodies right now. Try again shortly.',
  { 'retry-after': '1' },
);

/** 503: the rest of the disk is reserved for paid data. */
export const storageReserved = problem(
  503,
  'storage_reserved',
  'The disk of this server is nearly full: the rest is kept for what was paid for. Try again later.',
  { 'retry-after': '60' },
);

/** 405 for a path with these methods; `docs`: path of the reference. */
export function methodNotAllowed(methods: readonly string[], docs?: string): Answer {
  const named =
    methods.length < 2 ? methods.join() : `${methods.slice(0, -1).join(', ')} and ${methods.at(-1)}`;
  const wrong: HttpProblem = { detail: 'Method Not Allowed', message: `This path takes ${named}.` };
  if (docs !== undefined) wrong.docs = docs;
  return failure(405, wrong, { allow: [...methods, 'OPTIONS'].join(', ') });
}

/** 400 for the lines after too many invalid ones. */
export const tooManyFailed = problem(
  400,
  'invalid_request',
  'Too many short lines failed: this one and those that follow were not answered. ' +
    'Mend the first errors, then send these lines again.',
);

/** 413 for a route whose bodies have at most `limitBytes`. */
export function bodyTooLarge(limitBytes: number): Answer {
  const detail = `The request body is larger than this path takes (${limitBytes} bytes).`;
  return problem(413, 'body_too_large', detail);
}

/** 413 for a line of a route whose lines have at most `limitBytes`. */
export function lineTooLong(limitBytes: number): Answer {
  const detail = `The line is longer than lines of this path may be (${limitBytes} bytes).`;
  return problem(413, 'body_too_large', detail);
}
