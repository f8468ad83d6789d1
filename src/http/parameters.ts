/** Path and query parameters, percent-decoded (RFC 3986) as FastAPI's clients expect. */

/** Names to values, without a prototype, so that no name is special. */
export type Parameters = Readonly<Record<string, string>>;

/** Parameters of a request without any. */
export const noParameters: Parameters = Object.freeze(Object.create(null) as Record<string, string>);

const percent = '%'.charCodeAt(0);

/** Values of the characters that are hexadecimal digits; 16: of one that is none. */
const digitValues = Uint8Array.from({ length: 128 }, (_, code) =>
  /[\dA-Fa-f]/.test(String.fromCharCode(code)) ? Number.parseInt(String.fromCharCode(code), 16) : 16,
);

/** Bytes of the escapes that are being decoded. A head is shorter, a form's fields may be longer. */
let escaped = Buffer.alloc(4_096);

/** The value of the hexadecimal digit at a place of a text; 16: there is none. */
function digitAt(text: string, at: number): number {
  return digitValues[text.charCodeAt(at)] ?? 16;
}

/** The byte of the escape at a place of a text; -1: there is none, or a malformed one. */
function escapeAt(text: string, at: number): number {
  if (text.charCodeAt(at) !== percent) return -1;
  const [high, low] = [digitAt(text, at + 1), digitAt(text, at + 2)];
  return high < 16 && low < 16 ? 16 * high + low : -1;
}

/** The text of escapes that follow each other: so many bytes of {@link escaped}. */
function decodedText(length: number): string {
  if (length > 1) return escaped.toString('utf8', 0, length);
  const byte = escaped.readUInt8();
  return byte < 128 ? String.fromCharCode(byte) : '\ufffd';
}

/**
 * Percent-decodes one value. A malformed escape stays as it is; bytes that are not UTF-8 become U+FFFD. A
 * head may have 20,000 values, so each must cost little: `decodeURIComponent` throws, and a Buffer for each
 * takes longer than all else. Text between escapes is whole characters, so a row of escapes decodes alone.
 */
export function percentDecode(text: string): string {
  let decoded = '';
  let from = 0;
  for (let at = text.indexOf('%'); at !== -1; at = text.indexOf('%', at)) {
    let [end, length] = [at, 0];
    for (let byte = escapeAt(text, end); byte !== -1; byte = escapeAt(text, end)) {
      if (length === escaped.length) escaped = Buffer.concat([escaped, Buffer.alloc(length)]);
      escaped[length] = byte;
      length += 1;
      end += 3;
    }
    if (length === 0) at += 1;
    else {
      decoded += text.slice(from, at) + decodedText(length);
      from = at = end;
    }
  }
  return decoded + text.slice(from);
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
