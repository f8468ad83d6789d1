/** `GET /privacy`: what is stored about callers, why, where and for how long. */
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import {
  notStored,
  requestLog,
  requestTrace,
  type PrivacyResponse,
  type StoredData,
} from '../contract/info.js';

/**
 * Answers with what is stored. `stored` has an entry of each table that stores anything about callers, as the
 * table itself declares it. `isTraced`: requests are recorded.
 */
export function privacy(stored: readonly StoredData[], isTraced = false): Handler {
  const logged = isTraced ? [requestLog, requestTrace] : [requestLog];
  const body: PrivacyResponse = { stored: [...stored], logged, not_stored: notStored };
  const answer = jsonAnswer(200, body);
  return () => answer;
}
