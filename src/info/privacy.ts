/** `GET /privacy`: what is stored about callers, why, where and for how long. */
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import { notStored, requestLog, type PrivacyResponse, type StoredData } from '../contract/info.js';

/**
 * Answers with what is stored. `stored` has one entry for each table with data about callers, from the
 * table's own declaration.
 */
export function privacy(stored: readonly StoredData[]): Handler {
  const body: PrivacyResponse = { stored: [...stored], logged: [requestLog], not_stored: notStored };
  const answer = jsonAnswer(200, body);
  return () => answer;
}
