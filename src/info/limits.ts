/** `GET /v1/limits`: every limit in force (contract, Limits). */
import { jsonAnswer } from '../contract/answer.js';
import { MAX_NESTING } from '../contract/body.js';
import type { Handler } from '../contract/exchange.js';
import type { LimitsResponse, RateLimit } from '../contract/info.js';
import { bodyLimits, fieldLimits } from '../contract/limits.js';
import { MAX_ERRORS, MAX_INPUT_BYTES } from '../contract/validation.js';

/** Answers with the limits of the routes and types, and with the `rates` that this installation enforces. */
export function limits(rates: readonly RateLimit[]): Handler {
  const body: LimitsResponse = {
    bodies: bodyLimits(),
    fields: fieldLimits(),
    rates: [...rates],
    json_nesting: MAX_NESTING,
    validation_errors: MAX_ERRORS,
    validation_input_bytes: MAX_INPUT_BYTES,
  };
  const answer = jsonAnswer(200, body);
  return () => answer;
}
