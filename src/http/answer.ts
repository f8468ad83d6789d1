/** Turns an answer into the bytes to write: status line, header lines and body (RFC 9110, 9112). */
import { STATUS_CODES } from 'node:http';
import type { RateLimitFields } from '../access/rateLimit.js';
import type { Answer } from '../contract/exchange.js';

const statusLines = new Map(
  Object.entries(STATUS_CODES).map(([code, phrase]) => [Number(code), `${code} ${phrase ?? ''}`]),
);
const thousandths = Array.from({ length: 1000 }, (_, index) => String(index).padStart(3, '0'));
const fieldName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const fieldValue = /^[\t\x20-\x7e\x80-\uffff]*$/;

/** The status in the form of the status line: `200 OK`. */
export function statusLine(status: number): string {
  return statusLines.get(status) ?? String(status);
}

/** The body as bytes or text. */
export function bodyOf(answer: Answer): Uint8Array | string {
  return 'json' in answer.body ? JSON.stringify(answer.body.json) : answer.body.bytes;
}

/** Length in bytes of a body as sent. */
export function lengthOf(body: Uint8Array | string): number {
  return Buffer.byteLength(body);
}

/** Header lines for the media type and the handler's own fields. */
export function fieldLines(
  answer: Pick<Answer, 'body' | 'headers'>,
  always?: Readonly<Record<string, string>>,
): string {
  const type = 'json' in answer.body ? 'application/json' : answer.body.type;
  const lines = type === '' ? '' : `\r\ncontent-type: ${type}`;
  if (always !== undefined) return lines + ownLines({ ...always, ...answer.headers });
  return answer.headers === undefined ? lines : lines + ownLines(answer.headers);
}

/**
 * @throws Error if a name or value could end its line: a handler has then let a client's text into a header.
 */
function ownLines(headers: Readonly<Record<string, string>>): string {
  let lines = '';
  for (const [name, value] of Object.entries(headers)) {
    if (!fieldName.test(name) || !fieldValue.test(value))
      throw new Error(`Not a legal header field: ${name}`);
    lines += `\r\n${name}: ${value}`;
  }
  return lines;
}

/** A `Server-Timing` line (W3C Server Timing): the application's time in ms, to the microsecond. */
export function timingLine(elapsedMs: number): string {
  return `\r\nserver-timing: app;dur=${duration(elapsedMs)}`;
}

/** A `Server-Timing` line with the stages before the total, in the order in which they ended. */
export function stagesLine(stages: Iterable<readonly [string, number]>, elapsedMs: number): string {
  const each = Array.from(stages, ([name, ms]) => `${name};dur=${duration(ms)}, `);
  return `\r\nserver-timing: ${each.join('')}app;dur=${duration(elapsedMs)}`;
}

function duration(elapsedMs: number): string {
  const micros = Math.max(0, Math.round(elapsedMs * 1000));
  return `${Math.trunc(micros / 1000)}.${thousandths[micros % 1000] ?? '000'}`;
}

/** The `RateLimit` lines (draft-ietf-httpapi-ratelimit-headers) of an answer; none if no limit applies. */
export function limitLines({ rateLimit, rateLimitPolicy }: RateLimitFields): string {
  if (rateLimit === '') return '';
  return `\r\nratelimit: ${rateLimit}\r\nratelimit-policy: ${rateLimitPolicy}`;
}
