/** `GET /privacy`: what is kept about callers, why, where and how long. */
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import { notStored, requestLog, type PrivacyResponse, type StoredData } from '../contract/info.js';

/**
 * Answers with what is kept. `stored` holds one entry of each table that keeps anything about callers, as the
 * table itself declares it.
 */
export function privacy(stored: readonly StoredData[]): Handler {
  const body: PrivacyResponse = { stored: [...stored], logged: [requestLog], not_stored: notStored };
  const answer = jsonAnswer(200, body);
  return () => answer;
}
