/** The handlers of POST /v1/audit and GET /v1/audit/stacks: nothing of what is audited is kept. */
import { jsonAnswer, unprocessable } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { Clock } from '../system/clock.js';
import { answerAudit, type AuditAnswer, type AuditParts } from '../text/auditAnswer.js';
import { auditStacksResponse } from '../text/stacks.js';
import { reportPage } from './auditReport.js';

/** What the handler needs. */
export interface AuditHandlerParts extends AuditParts {
  readonly clock: Pick<Clock, 'wallMs'>;
  /** Audits a body outside the event loop. */
  readonly auditOffLoop: (body: Uint8Array) => Promise<AuditAnswer>;
}

/** Longest body, in bytes, that is audited on the event loop: about a millisecond there. */
const LOOP_BODY_LIMIT = 16 * 1024;

function answerOf(answer: AuditAnswer, wallMs: number): Answer {
  if ('errors' in answer) return unprocessable(answer.errors);
  const { report, page } = answer;
  const html = page === null ? null : reportPage(report, { company: page.company, wallMs });
  return jsonAnswer(200, { ...report, html });
}

/** Makes the handler of POST /v1/audit. */
export function audit(parts: AuditHandlerParts): (request: RouteRequest) => Answer | Promise<Answer> {
  return (request) => {
    const wallMs = parts.clock.wallMs();
    if (request.body.length <= LOOP_BODY_LIMIT) return answerOf(answerAudit(request.body, parts, 1), wallMs);
    return parts.auditOffLoop(request.retain()).then((answer) => answerOf(answer, wallMs));
  };
}

/** Answers GET /v1/audit/stacks. */
export const auditStacks: Handler = () => jsonAnswer(200, auditStacksResponse);
