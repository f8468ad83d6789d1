/** The handlers of POST /v1/audit and GET /v1/audit/stacks: no audited data is stored. */
import { jsonAnswer, ownJson, problemAnswer, unprocessable } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { AuditResponse } from '../contract/audit.js';
import type { Clock } from '../system/clock.js';
import { answerAudit, type AuditAnswer, type AuditParts, headRoom } from '../text/auditAnswer.js';
import type { AuditOffLoop } from '../text/auditOffLoop.js';
import { auditStacksResponse } from '../text/stacks.js';
import { reportPage } from './auditReport.js';

/** Dependencies of the handler. */
export interface AuditHandlerParts extends AuditParts {
  readonly clock: Pick<Clock, 'wallMs'>;
  /** Audits a body outside the event loop. */
  readonly auditOffLoop: AuditOffLoop;
}

/** Longest body, in bytes, that is audited on the event loop: about a millisecond there, at worst five. */
export const LOOP_BODY_LIMIT = 12 * 1024;

function answerOf(answer: AuditAnswer, wallMs: number): Answer {
  if ('errors' in answer) return unprocessable(answer.errors);
  const { report, page, longTexts } = answer;
  const html = page === null ? null : reportPage(report, { company: page.company, wallMs });
  const json = { ...report, html };
  return longTexts === null ? jsonAnswer(200, json) : longAnswer(json, longTexts);
}

/** The answer if too many audits run at once. */
const auditingTooMuch: Answer = {
  ...problemAnswer(503, 'overloaded', 'Too much is audited at once right now. Try again shortly.'),
  headers: { 'retry-after': '5' },
};

const openEnd = '"texts":null,"text":null}';

/** An answer with long texts as last members; their memory is sent without a copy. */
function longAnswer(report: AuditResponse, longTexts: Buffer): Answer {
  const json = JSON.stringify(report);
  if (!json.endsWith(openEnd)) throw new Error('the texts are not the last members of a report');
  const head = Buffer.from(json.slice(0, -openEnd.length) + '"texts":');
  if (head.length > headRoom) throw new Error(`a report of ${head.length} bytes`);
  const start = headRoom - head.length;
  head.copy(longTexts, start);
  const bytes = longTexts.subarray(start);
  // Not copied: the memory belongs to this answer alone.
  return ownJson(bytes, 0);
}

/** Makes the handler of POST /v1/audit. */
export function audit(parts: AuditHandlerParts): (request: RouteRequest) => Answer | Promise<Answer> {
  return (request) => {
    const wallMs = parts.clock.wallMs();
    if (request.body.length <= LOOP_BODY_LIMIT) return answerOf(answerAudit(request.body, parts, 1), wallMs);
    return parts
      .auditOffLoop(request.retain(), request.signal())
      .then((answer) => (answer === 'busy' ? auditingTooMuch : answerOf(answer, wallMs)));
  };
}

/** Answers GET /v1/audit/stacks. */
export const auditStacks: Handler = () => jsonAnswer(200, auditStacksResponse);
