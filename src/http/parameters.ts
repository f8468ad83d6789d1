/** Path and query parameters, percent-decoded (RFC 3986) as FastAPI's clients expect. */

/** Names to values, without a prototype, so that no name is special. */
export type Parameters = Readonly<Record<string, string>>;

/** Parameters of a request without any. */
export const noParameters: Parameters = Object.freeze(Object.create(null) as Record<string, string>);

const percent = '%'.charCodeAt(0);

const hexDigits = /^[\dA-Fa-f]{2}$/;

/**
 * Percent-decodes one value. A malformed escape stays as it is; bytes that are not UTF-8 become U+FFFD. It
 * decodes byte by byte: `decodeURIComponent` throws, and a head may have 30,000 values that it refuses.
 */
export function percentDecode(text: string): string {
  if (!text.includes('%')) return text;
  const bytes = Buffer.from(text);
  let end = 0;
  for (let at = 0; at < bytes.length; at += 1, end += 1) {
    const byte = bytes.readUInt8(at);
    const digits = byte === percent ? bytes.toString('latin1', at + 1, at + 3) : '';
    const isEscape = hexDigits.test(digits);
    bytes[end] = isEscape ? Number.parseInt(digits, 16) : byte;
    if (isEscape) at += 2;
  }
  return bytes.toString('utf8', 0, end);
}

function decodeQueryPart(text: string): string {
  return percentDecode(text.includes('+') ? text.replaceAll('+', ' ') : text);
}

/**
 * Parses a query string (without `?`) of `name=value` pairs: `+` is a space, the last of equal names wins.
 */
export function parseQuery(query: string): Parameters {
  if (query === '') return noParameters;
  const parameters = Object.create(null) as Record<string, string>;
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    if (equals === -1) parameters[decodeQueryPart(pair)] = '';
    else parameters[decodeQueryPart(pair.slice(0, equals))] = decodeQueryPart(pair.slice(equals + 1));
  }
  return parameters;
}
