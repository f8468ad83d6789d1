/** Answers that handlers build most often. */
import type { Answer } from './exchange.js';
import type { HttpProblem, Problem } from './problem.js';

/** A JSON answer that charges nothing. */
export function jsonAnswer(status: number, json: unknown): Answer {
  return { status, body: { json }, charge: 0 };
}

/** What a request gets that needs the store while it does not answer: nothing was acknowledged. */
export function storeUnavailable(): Answer {
  const problem: Problem = {
    detail: 'The store does not answer right now, so this may not have been recorded. Try again shortly.',
    code: 'store_unavailable',
  };
  return { ...jsonAnswer(503, problem), headers: { 'retry-after': '1' } };
}

/** What a wrong path gets. */
export function notFound(): Answer {
  const problem: HttpProblem = { detail: 'Not Found' };
  return jsonAnswer(404, problem);
}
