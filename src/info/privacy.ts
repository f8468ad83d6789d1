/** `GET /privacy`: what is kept about callers, why, where and how long. */
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import type { PrivacyResponse, StoredData } from '../contract/info.js';

/** Members of a log line about a request. */
const requestLog: StoredData = {
  what:
    'Route, status, sizes, duration and request id of requests that ended in a fault of ours (5xx); ' +
    'of every request where the operator set LOG_LEVEL to debug.',
  why: 'To run the service and find faults.',
  retention: "As long as the operator's log collector keeps standard error.",
  where: 'Standard error.',
};

const notStored = [
  'Bodies of requests and answers, but for what is listed above.',
  'Paths with their values, and queries, but for the tokens and destinations of counted links.',
  'API keys, idempotency keys and tokens of opt-out links.',
  'IP addresses, Referer and User-Agent.',
];

/**
 * Answers with what is kept. `stored` holds one entry of each table that keeps anything about callers, as the
 * table itself declares it.
 */
export function privacy(stored: readonly StoredData[]): Handler {
  const body: PrivacyResponse = { stored: [...stored], logged: [requestLog], not_stored: notStored };
  const answer = jsonAnswer(200, body);
  return () => answer;
}
