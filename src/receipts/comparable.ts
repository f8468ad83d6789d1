/**
 * The form of titles and contents that is compared for duplicates (docs/receipt.md): NFKC, format characters
 * removed, white space collapsed, case folded, all by the tables of one Unicode version.
 */
import { nfkc, readDeltas, readMapping } from './nfkc.js';
import { foldFrom, foldTo, formatEdges } from './unicodeTables.js';

const formats = formatExpression();

function formatExpression(): RegExp {
  const edges = readDeltas(formatEdges).map((code) => `\\u{${code.toString(16)}}`);
  const inside = edges.filter((_, index) => index % 2 === 0);
  const behind = readDeltas(formatEdges).filter((_, index) => index % 2 === 1);
  const ranges = inside.map((first, index) => `${first}-\\u{${((behind[index] ?? 0) - 1).toString(16)}}`);
  return new RegExp(`[${ranges.join('')}]`, 'gu');
}

const foldings = new Map(
  [...readMapping(foldFrom, foldTo)].map(([code, to]) => [
    String.fromCodePoint(code),
    String.fromCodePoint(...to),
  ]),
);

/** White_Space (UAX #44) and U+001C to U+001F. */
const spaces = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
const ascii = /^[\0-\x7f]*$/;

function collapse(text: string): string {
  const collapsed = text.replace(spaces, ' ');
  const start = collapsed.startsWith(' ') ? 1 : 0;
  return collapsed.slice(start, collapsed.endsWith(' ') ? -1 : undefined);
}

const foldable = new RegExp(`[${[...foldings.keys()].join('')}]`, 'gu');

function fold(text: string): string {
  return text.replace(foldable, (character) => foldings.get(character) ?? character);
}

/** The comparable form of an accepted title or content. */
export function comparable(text: string): string {
  if (ascii.test(text)) return collapse(text).toLowerCase();
  return fold(collapse(nfkc(text).replace(formats, '')));
}
