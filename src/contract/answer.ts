/** Answers that handlers build most often. */
import type { Answer } from './exchange.js';
import type { HttpProblem } from './problem.js';

/** A JSON answer that charges nothing. */
export function jsonAnswer(status: number, json: unknown): Answer {
  return { status, body: { json }, charge: 0 };
}

/** What a wrong path gets. */
export function notFound(): Answer {
  const problem: HttpProblem = { detail: 'Not Found' };
  return jsonAnswer(404, problem);
}
