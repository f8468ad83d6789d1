/** A FreeAuditRequest's body to its report: read, checked, cut into records and audited. */
import {
  auditDefaults,
  freeAuditRequestType,
  type AuditResponse,
  type FreeAuditRequest,
} from '../contract/audit.js';
import { type CheckJson, readBody } from '../contract/schema/body.js';
import { checkBody } from '../contract/schema/validate.js';
import { type ValidationError, valueError } from '../contract/schema/validation.js';
import type { AuditOutcome } from '../native/index.js';
import { auditReport, knownStack } from './audit.js';

/** What the native module does for an audit. */
export interface AuditParts {
  readonly checkJson: CheckJson;
  readonly auditRecords: (
    records: string[],
    stack: string,
    includeText: boolean,
    threads: number,
  ) => AuditOutcome;
  readonly auditText: (
    text: string,
    format: string,
    stack: string,
    includeText: boolean,
    threads: number,
  ) => AuditOutcome;
  readonly unicodeVersion: () => string;
  readonly cldrVersion: () => string;
}

/** A report, or what is wrong with the request. */
export type AuditAnswer =
  | { readonly errors: readonly ValidationError[] }
  | {
      readonly report: AuditResponse;
      /** Name for the report's page; null where no page is asked for. */
      readonly page: { readonly company: string } | null;
    };

function outcomeOf(request: FreeAuditRequest, parts: AuditParts, threads: number): AuditOutcome {
  const includeText = request.include_text ?? auditDefaults.include_text;
  const { stack } = knownStack(request.stack);
  if (request.records != null) return parts.auditRecords(request.records, stack, includeText, threads);
  const format = request.format ?? auditDefaults.format;
  return parts.auditText(request.text ?? '', format, stack, includeText, threads);
}

/** Audits a body by so many threads. */
export function answerAudit(body: Uint8Array, parts: AuditParts, threads: number): AuditAnswer {
  const read = readBody(body, parts.checkJson);
  if (!read.ok) return { errors: read.errors };
  const checked = checkBody(freeAuditRequestType, read.value);
  if (!checked.ok) return { errors: checked.errors };
  const request = checked.value;
  const { findings, text, fault } = outcomeOf(request, parts, threads);
  if (findings == null) {
    return { errors: [valueError(['body', 'text'], fault ?? 'it cannot be read', request.text)] };
  }
  const versions = { unicode: parts.unicodeVersion(), cldr: parts.cldrVersion() };
  const report = auditReport(findings, request, versions, text ?? null);
  const { include_html: includeHtml = auditDefaults.include_html, company = auditDefaults.company } = request;
  return { report, page: includeHtml ? { company } : null };
}
