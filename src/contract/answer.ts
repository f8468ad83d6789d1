/** Answers that handlers build most often. */
import type { Answer } from './exchange.js';
import { problemOf, type HttpProblem, type Problem, type ProblemCode } from './problem.js';
import { MAX_ERRORS, type ValidationError } from './schema/validation.js';

/** A JSON answer that charges nothing. */
export function jsonAnswer(status: number, json: unknown): Answer {
  return { status, body: { json }, charge: 0 };
}

/** JSON in bytes that nobody writes to any more: http sends from them. */
export function ownJson(bytes: Uint8Array, charge: number): Answer {
  return { status: 200, body: { bytes, type: 'application/json', release: () => undefined }, charge };
}

/** The 422 that lists what is wrong with a request. */
export function unprocessable(errors: readonly ValidationError[]): Answer {
  return jsonAnswer(422, { detail: errors.slice(0, MAX_ERRORS) });
}

/** A domain failure. `detail`: a sentence that says what to do. */
export function problemAnswer(status: number, code: ProblemCode, detail: string): Answer {
  return jsonAnswer(status, problemOf(code, detail));
}

/** Most bytes of an answer of `/v1/fuse` to a caller with a key: it may be in memory twice. */
export const mostKeyedAnswerBytes = 256 << 20;

/** 413 for an answer that would have more than `limitBytes`, as many as this caller may have. */
export function answerTooLarge(limitBytes: number): Answer {
  const advice =
    limitBytes < mostKeyedAnswerBytes
      ? 'that it may have without a key. Send fewer docs, set top_k, or use a key.'
      : 'that it may have. Send fewer docs, or set top_k.';
  return problemAnswer(413, 'answer_too_large', `The answer has more than the ${limitBytes} bytes ${advice}`);
}

/** 413 for highlights and explanations that would cost far more than the request's bytes. */
export const answerTooDetailed: Answer = problemAnswer(
  413,
  'answer_too_large',
  'The highlights and explanations have more than 24 bytes for each byte of the request, and 64 KiB more. ' +
    'Lower top_k, or leave explain or highlight out.',
);

/** The problem of a request that needs the store while it is unavailable: nothing was acknowledged. */
export const storeProblem: Problem = problemOf(
  'store_unavailable',
  'The store does not answer right now, so this may not have been recorded. Try again shortly.',
);

/** The answer to a request that needs the store while it is unavailable. */
export function storeUnavailable(): Answer {
  return { ...jsonAnswer(503, storeProblem), headers: { 'retry-after': '1' } };
}

/** Answer to a wrong path. */
export function notFound(): Answer {
  const problem: HttpProblem = { detail: 'Not Found' };
  return jsonAnswer(404, problem);
}

/** The answer to a client that has gone: nobody gets it. */
export const callerGone: Answer = problemAnswer(503, 'overloaded', 'The connection was closed.');
