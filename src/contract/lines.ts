/** Answers to lines of JSON (NDJSON): a line for each line sent, in order. */
import typia, { type tags } from 'typia';
import type { ResourceRoute } from './route.js';
import type { Integer } from './schema/tags.js';
import type { ValidationError } from './schema/validation.js';
import { wireTypes } from './schema/wireType.js';

/** Why a line could not be answered. */
export interface LineError {
  /** Number of the line, from 1; blank lines count. */
  line: number & Integer & tags.Minimum<1>;
  /** The status that it would have had as a request. */
  status: number & Integer;
  /** The sentence of that answer; for 422 every error. */
  detail: string | ValidationError[];
  /** Its code, where it has one. */
  code?: string;
  /** Path of the guide that explains it, where it has a code. */
  docs?: string;
  /** Whole seconds until the line would pass, where waiting helps. */
  retry_after?: number & Integer & tags.Minimum<1>;
}

/** The answer to a line that could not be answered. */
export interface FailedLine {
  error: LineError;
}

export const [failedLineType] = wireTypes(typia.json.schemas<[FailedLine]>());

/** Explains batches, in the descriptions of both routes. */
export const batchDescription =
  'One request per line (NDJSON), each answered with one line, in order. Answers are sent while further ' +
  'lines arrive, so read while you send. Each line counts and is charged like a single request. A line ' +
  'that cannot be answered gets `{"error": {"line", "status", "detail", "code", "docs", "retry_after"}}`, ' +
  'and the others are still answered. Blank lines are skipped.';

/** Those of a route's problems that a whole request of lines may have. */
export function batchProblems(problems: ResourceRoute['problems']): ResourceRoute['problems'] {
  return {
    401: problems[401] ?? [],
    408: problems[408] ?? [],
    415: problems[415] ?? [],
    429: ['rate_limited'],
    503: ['overloaded', 'store_unavailable'],
  };
}
