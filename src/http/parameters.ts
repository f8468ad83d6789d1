/** Path and query parameters, percent-decoded (RFC 3986) as FastAPI's clients expect. */

/** Names to values, without a prototype, so that no name is special. */
export type Parameters = Readonly<Record<string, string>>;

/** Parameters of a request without any. */
export const noParameters: Parameters = Object.freeze(Object.create(null) as Record<string, string>);

const escape = /%([0-9A-Fa-f]{2})/g;

/** Decodes escapes byte by byte: malformed ones stay as they are, invalid UTF-8 becomes U+FFFD. */
function decodeLeniently(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  const decoded = bytes.replace(escape, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(decoded, 'latin1').toString('utf8');
}

/** Percent-decodes one value. A malformed escape stays as it is; bytes that are not UTF-8 become U+FFFD. */
export function percentDecode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return decodeLeniently(text);
  }
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
