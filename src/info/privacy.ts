/** `GET /privacy`: what is kept about callers, why, where and how long. */
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import type { PrivacyResponse, StoredData } from '../contract/info.js';

/** What a log line about a request holds. */
const requestLog: StoredData = {
  what: 'Route, status, sizes, duration and request id of each request.',
  why: 'To run the service and find faults.',
  retention: "As long as the operator's log collector keeps standard output.",
  where: 'Standard output.',
};

const notStored = [
  'Bodies of requests and answers.',
  'Paths with their values, and queries.',
  'API keys and tokens.',
  'Addresses, Referer and User-Agent.',
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
