/**
 * Turns a FreeAuditRequest's body into its report: reads it, checks it, cuts it into records and audits them.
 */
import {
  auditDefaults,
  freeAuditRequestType,
  type AuditResponse,
  type FreeAuditRequest,
} from '../contract/audit.js';
import { type BodyParts, briefBytesOffLoop, checkBytes } from '../contract/schema/bytes.js';
import { type ValidationError, valueError } from '../contract/schema/validation.js';
import type { AuditFindings, AuditOutcome, BodyAudit } from '../native/index.js';
import { auditReport, knownStack } from './audit.js';

/** Calls into the native module for an audit. */
export interface AuditParts extends BodyParts {
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
  /** Audits a schema-valid body in the thread pool; see the native module. */
  readonly auditBody: (
    body: Buffer,
    format: string,
    stack: string,
    room: number | undefined,
    threads: number,
  ) => Promise<BodyAudit>;
  readonly unicodeVersion: () => string;
  readonly cldrVersion: () => string;
}

/** A report, or the errors of the request. */
export type AuditAnswer =
  | { readonly errors: readonly ValidationError[] }
  | {
      readonly report: AuditResponse;
      /** Name for the report's page; null if no page is requested. */
      readonly page: { readonly company: string } | null;
      /**
       * If the normalized records are long: {@link headRoom} free bytes for the JSON before them, then the
       * JSON of `texts`, the member `text` and the report's closing brace. The report then has null for both.
       */
      readonly longTexts: Buffer | null;
    };

/** Free bytes before long texts: a report and its page need far fewer. */
export const headRoom = 4 << 20;

function outcomeOf(request: FreeAuditRequest, parts: AuditParts, threads: number): AuditOutcome {
  const includeText = request.include_text ?? auditDefaults.include_text;
  const { stack } = knownStack(request.stack);
  if (request.records != null) return parts.auditRecords(request.records, stack, includeText, threads);
  const format = request.format ?? auditDefaults.format;
  return parts.auditText(request.text ?? '', format, stack, includeText, threads);
}

/** The native module's result, as far as it goes into the report. */
interface Audited {
  readonly findings?: AuditFindings;
  readonly fault?: string;
  readonly texts?: string[] | null;
  readonly text?: string | null;
  readonly longTexts?: Buffer;
}

function answerOf(request: FreeAuditRequest, audited: Audited, parts: AuditParts): AuditAnswer {
  const { findings, texts, text, fault, longTexts } = audited;
  if (findings == null) {
    return { errors: [valueError(['body', 'text'], fault ?? 'it cannot be read', request.text)] };
  }
  const versions = { unicode: parts.unicodeVersion(), cldr: parts.cldrVersion() };
  const normalized = { texts: texts ?? null, text: text ?? null };
  const report = auditReport(findings, request, versions, normalized);
  const { include_html: includeHtml = auditDefaults.include_html, company = auditDefaults.company } = request;
  return { report, page: includeHtml ? { company } : null, longTexts: longTexts ?? null };
}

/** Audits a body on `threads` threads, including this one. */
export function answerAudit(body: Uint8Array, parts: AuditParts, threads: number): AuditAnswer {
  const checked = checkBytes(freeAuditRequestType, body, parts);
  if (!checked.ok) return { errors: checked.errors };
  return answerOf(checked.value, outcomeOf(checked.value, parts, threads), parts);
}

/**
 * The same in the thread pool, for a body that no one else holds: its records never become JavaScript values.
 */
export async function answerAuditOffLoop(
  body: Buffer,
  parts: AuditParts,
  threads: number,
): Promise<AuditAnswer> {
  const read = await briefBytesOffLoop(freeAuditRequestType, body, parts);
  if (!read.ok) return { errors: read.errors };
  const request = read.value.value;
  const { stack } = knownStack(request.stack);
  const format = request.format ?? auditDefaults.format;
  const room = (request.include_text ?? auditDefaults.include_text) ? headRoom : undefined;
  const { texts: json, ...audited } = await parts.auditBody(body, format, stack, room, threads);
  const normalized = JSON.parse(`{"texts":${json ?? 'null'}}`) as Pick<Audited, 'texts' | 'text'>;
  return answerOf(request, { ...audited, ...normalized }, parts);
}
