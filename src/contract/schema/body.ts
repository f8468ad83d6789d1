/** Reads a request body as JSON: strict RFC 8259, and the media types it may have (RFC 9110, 6839). */
import { excerptAt } from './place.js';
import type { Checked } from './validate.js';
import { type ValidationError, validationError, valueError } from './validation.js';

/** Why a body is not acceptable JSON. */
export type JsonReason =
  | 'syntax'
  | 'invalid UTF-8'
  | 'BOM'
  | 'lone surrogate'
  | 'number beyond binary64'
  | 'NaN'
  | 'Infinity'
  | 'nesting over 128';

/** Brackets that may be open at once. */
export const MAX_NESTING = 128;

/** Where (byte offset) and why a body is refused. */
export interface JsonRefusal {
  readonly offset: number;
  /** Its line, from 1, and its character in the line, from 1. */
  readonly line: number;
  readonly column: number;
  readonly reason: string;
}

/** The strict-JSON check; `null` when the bytes are acceptable. */
export type CheckJson = (body: Uint8Array) => JsonRefusal | null;

/** The one error of a body that is not acceptable JSON, with its line and column. */
export function jsonInvalid(refusal: JsonRefusal, body: Uint8Array): ValidationError {
  const { offset, reason, line, column } = refusal;
  const ctx = { error: reason, line, column, excerpt: excerptAt(body, offset) };
  return validationError('json_invalid', ['body', offset], 'JSON decode error', {}, ctx);
}

/** The error of an empty body. */
export function missingBody(): Checked<never> & { readonly ok: false } {
  return { ok: false, errors: [validationError('missing', ['body'], 'Field required', null)] };
}

/**
 * The JSON value of a body; an empty body is the error `missing`.
 *
 * @throws when `JSON.parse` refuses a body that `checkJson` accepted: a broken invariant
 */
export function readBody(body: Uint8Array, checkJson: CheckJson): Checked<unknown> {
  if (body.length === 0) return missingBody();
  const refusal = checkJson(body);
  if (refusal !== null) return { ok: false, errors: [jsonInvalid(refusal, body)] };
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return { ok: true, value: JSON.parse(text) as unknown };
}

const jsonMediaType = /^application\/(?:json|[!#$&^_.+a-z0-9-]+\+json)[ \t]*(?:;.*)?$/i;
const formMediaType = /^application\/x-www-form-urlencoded[ \t]*(?:;.*)?$/i;

/** True if a `Content-Type` names a form. */
export function isForm(contentType: string): boolean {
  return formMediaType.test(contentType.trim());
}

/**
 * The fields of a form's body (URL Standard, application/x-www-form-urlencoded), read by `parse`; the last of
 * a repeated field counts. An empty body is the error `missing`.
 */
export function readForm(
  body: Uint8Array,
  parse: (text: string) => Readonly<Record<string, string>>,
): Checked<unknown> {
  if (body.length === 0) return missingBody();
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return { ok: true, value: { ...parse(text) } };
}

/** Media types of a route besides JSON. */
export type OtherMediaType = 'none' | 'form';

/** The media type of lines of JSON. */
export const ndjson = 'application/x-ndjson';

const linesMediaType = /^application\/(?:x-ndjson|ndjson|jsonl|x-jsonlines|jsonlines)[ \t]*(?:;.*)?$/i;

/** The kinds of bodies: JSON alone, JSON or a form, lines of JSON. */
export type AcceptedBody = OtherMediaType | 'lines';

/** The media types of each besides JSON's, and those that an error names. */
const accepted: Readonly<Record<AcceptedBody, { readonly also?: RegExp; readonly named: string }>> = {
  none: { named: 'application/json' },
  form: { also: formMediaType, named: 'application/json or application/x-www-form-urlencoded' },
  lines: { also: linesMediaType, named: ndjson },
};

/**
 * The error of a `Content-Type` (`""` when absent) that may not carry a body; `null` when it may. With an
 * `Origin` the type must be sent: without a preflight, a page of another site can send a body without a type,
 * or as a form, but not as JSON.
 */
export function checkMediaType(
  contentType: string,
  hasOrigin: boolean,
  body: AcceptedBody = 'none',
): ValidationError | null {
  const given = contentType.trim();
  const { also, named } = accepted[body];
  if (jsonMediaType.test(given) || also?.test(given) === true || (given === '' && !hasOrigin)) return null;
  return valueError(['header', 'content-type'], `send Content-Type: ${named}`, contentType);
}
