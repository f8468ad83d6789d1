/** The answers that http gives by itself (RFC 9110 statuses; bodies as the contract's errors). */
import type { Answer } from '../contract/exchange.js';
import type { Problem } from '../contract/problem.js';

function failure(
  status: number,
  body: Problem | { detail: string },
  headers?: Readonly<Record<string, string>>,
): Answer {
  const answer = { status, body: { bytes: JSON.stringify(body), type: 'application/json' }, charge: 0 };
  return headers === undefined ? answer : { ...answer, headers };
}

/** 404: no such path; a browser gets a page. */
export const notFound = failure(404, { detail: 'Not Found' }, { vary: 'Accept' });

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

/** 405 for a path that knows only the methods of `allow` (`GET, HEAD`). */
export function methodNotAllowed(allow: string): Answer {
  return failure(405, { detail: 'Method Not Allowed' }, { allow });
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
