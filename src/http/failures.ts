/** The answers that http gives by itself (RFC 9110 statuses; bodies as the contract's errors). */
import type { Answer } from '../contract/exchange.js';
import type { HttpProblem, Problem } from '../contract/problem.js';
import type { NamedRoute } from './nearest.js';

function failure(
  status: number,
  body: Problem | HttpProblem | { detail: string },
  headers?: Readonly<Record<string, string>>,
): Answer {
  const answer = { status, body: { bytes: JSON.stringify(body), type: 'application/json' }, charge: 0 };
  return headers === undefined ? answer : { ...answer, headers };
}

/** 404: no such path; a browser gets a page. */
export const notFound = failure(404, { detail: 'Not Found' }, { vary: 'Accept' });

/** 404 that names the nearest route and the path of the reference, where there are such. */
export function notFoundNear(nearest: NamedRoute | undefined, docs: string | undefined): Answer {
  if (nearest === undefined && docs === undefined) return notFound;
  const near = nearest === undefined ? '' : ` The nearest is ${nearest.method} ${nearest.path}.`;
  const where = docs === undefined ? '' : ` ${docs} lists all paths.`;
  const problem: HttpProblem = { detail: 'Not Found', message: `There is no such path.${near}${where}` };
  if (nearest !== undefined) problem.nearest = { method: nearest.method, path: nearest.path };
  if (docs !== undefined) problem.docs = docs;
  return failure(404, problem);
}

/** 500: a broken invariant; what broke stands in the log under the request's id. */
export const internalError = failure(500, { detail: 'Internal Server Error' });

/** 408: the body came too slowly. */
export const requestTimeout = failure(408, {
  detail: 'The request body came too slowly. Send it again.',
  code: 'body_timeout',
});

/** 415: the body is compressed. */
export const unsupportedEncoding = failure(
  415,
  { detail: 'Send the body without Content-Encoding.', code: 'unsupported_encoding' },
  { 'accept-encoding': 'identity' },
);

/** 503: the worker holds as many bytes of bodies as it may. */
export const overloaded = failure(
  503,
  { detail: 'The server holds too many request bodies right now. Try again shortly.', code: 'overloaded' },
  { 'retry-after': '1' },
);

/** 503: what is left of the disk is for what was paid for. */
export const storageReserved = failure(
  503,
  {
    detail:
      'The disk of this server is nearly full: the rest is kept for what was paid for. Try again later.',
    code: 'storage_reserved',
  },
  { 'retry-after': '60' },
);

/** 503: the fragments take as much of the disk as they may. */
export const doorFull = failure(
  503,
  {
    detail:
      'This server stores no more fragments: they take as much of its disk as its operator gives them ' +
      '(DOOR_MAX_GB). Receipts are still read and verified.',
    code: 'storage_reserved',
  },
  { 'retry-after': '3600' },
);

/** 405 for a path that takes these methods; `docs`: path of the reference. */
export function methodNotAllowed(methods: readonly string[], docs?: string): Answer {
  const named =
    methods.length < 2 ? methods.join() : `${methods.slice(0, -1).join(', ')} and ${methods.at(-1)}`;
  const problem: HttpProblem = { detail: 'Method Not Allowed', message: `This path takes ${named}.` };
  if (docs !== undefined) problem.docs = docs;
  return failure(405, problem, { allow: [...methods, 'OPTIONS'].join(', ') });
}

/** 413 for an answer that only callers with a key get. */
export function answerTooLarge(bytes: number, limitBytes: number): Answer {
  return failure(413, {
    detail:
      `The answer has ${bytes} bytes, and without a key it may have ${limitBytes}. ` +
      'Send fewer docs, set top_k, or use a key.',
    code: 'answer_too_large',
  });
}

/** 413 for a route whose bodies have at most `limitBytes`. */
export function bodyTooLarge(limitBytes: number): Answer {
  return failure(413, {
    detail: `The request body is larger than this path takes (${limitBytes} bytes).`,
    code: 'body_too_large',
  });
}

/** 413 for a line of a route whose lines have at most `limitBytes`. */
export function lineTooLong(limitBytes: number): Answer {
  return failure(413, {
    detail: `The line is longer than lines of this path may be (${limitBytes} bytes).`,
    code: 'body_too_large',
  });
}
