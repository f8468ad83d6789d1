/** The text around a byte of a body, for people. */

const bytesBefore = 40;
const bytesBehind = 24;

const lineFeed = 0x0a;

/** True if a byte continues a character of UTF-8 (RFC 3629). */
function goesOn(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/**
 * The text around an offset, on its line and without half characters at its ends: at most 40 bytes before and
 * 24 after it.
 */
export function excerptAt(body: Uint8Array, at: number): string {
  const offset = Math.min(at, body.length);
  let from = offset;
  while (from > 0 && offset - from < bytesBefore && body[from - 1] !== lineFeed) from -= 1;
  while (from < offset && goesOn(body[from])) from += 1;
  let to = offset;
  while (to < body.length && to - offset < bytesBehind && body[to] !== lineFeed) to += 1;
  while (to > offset && goesOn(body[to])) to -= 1;
  return Buffer.from(body.buffer, body.byteOffset + from, to - from).toString('utf8');
}
