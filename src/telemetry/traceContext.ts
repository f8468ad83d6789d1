/** The two header fields that carry a trace from program to program (W3C Trace Context). */
import { strip } from '../system/strip.js';

/** The caller's place in a trace. */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** The caller's span: 16 hex digits. */
  readonly spanId: string;
  /** True if the caller records its part. */
  readonly sampled: boolean;
}

const traceparentForm = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses `traceparent`; undefined if it is invalid. A later version may have more fields. */
export function parseTraceparent(text: string): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = traceparentForm.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Writes `traceparent` for a span that is recorded. */
export function traceparentOf(traceId: string, spanId: string): string {
  return `00-${traceId}-${spanId}-01`;
}

/** The longest `tracestate` that every implementation propagates, and the most members of one. */
const mostStateCharacters = 512;
const mostStateMembers = 32;

const stateKey = /^([a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})$/;
const stateValue = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Parses `tracestate`: its members unchanged, or `''` if it is invalid, too long, or repeats a key. */
export function readTracestate(text: string): string {
  if (text === '' || text.length > mostStateCharacters) return '';
  const members = text
    .split(',')
    .map((member) => strip(member, '\t '))
    .filter((member) => member !== '');
  const keys = new Set<string>();
  for (const member of members) {
    const at = member.indexOf('=');
    const key = member.slice(0, at);
    if (at < 0 || !stateKey.test(key) || !stateValue.test(member.slice(at + 1)) || keys.has(key)) return '';
    keys.add(key);
  }
  return members.length > mostStateMembers ? '' : members.join(',');
}
