/**
 * Unicode 17.0 for the oracle: full case folding (CaseFolding.txt, statuses C and F) and general categories
 * L, N and M, from `test/vectors/unicode-17.0.json`, which {@link tableOf} makes of Unicode's own files.
 */
import { readFileSync } from 'node:fs';

/** The table as it lies in its file; code points are hexadecimal. */
export interface UnicodeTable {
  readonly version: string;
  /** Ranges of general category L, N or M, as `first-last`. */
  readonly words: readonly string[];
  /** Characters that change, as `character:fold`, the fold's characters joined by `-`. */
  readonly folds: readonly string[];
}

/** The version of the table. */
export const version = '17.0.0';

/** Where the table lies. */
export const tableFile = new URL('../../../test/vectors/unicode-17.0.json', import.meta.url);

const hex = (code: number): string => code.toString(16);
const code = (text: string): number => Number.parseInt(text, 16);

/** The fields of a Unicode data file's lines. */
function fieldsOf(text: string): string[][] {
  const lines = text.split('\n').map((line) => line.replace(/#.*/, '').trim());
  return lines.filter((line) => line !== '').map((line) => line.split(';').map((field) => field.trim()));
}

/** Ranges of the code points of a set, in hexadecimal. */
function rangesOf(codes: ReadonlySet<number>): string[] {
  const sorted = [...codes].sort((left, right) => left - right);
  const firsts = sorted.filter((one) => !codes.has(one - 1));
  const lasts = sorted.filter((one) => !codes.has(one + 1));
  return firsts.map((first, at) => `${hex(first)}-${hex(lasts[at] ?? first)}`);
}

/** The table of the texts of CaseFolding.txt and DerivedGeneralCategory.txt. */
export function tableOf(caseFolding: string, generalCategory: string): UnicodeTable {
  const words = new Set<number>();
  for (const [range = '', category = ''] of fieldsOf(generalCategory)) {
    if (!/^[LNM]/.test(category)) continue;
    const [first = '', last = first] = range.split('..');
    for (let point = code(first); point <= code(last); point++) words.add(point);
  }
  const folds = fieldsOf(caseFolding)
    .filter(([, status = '']) => ['C', 'F'].includes(status))
    .map(
      ([from = '', , to = '']) =>
        `${hex(code(from))}:${to
          .split(' ')
          .map((part) => hex(code(part)))
          .join('-')}`,
    );
  return { version, words: rangesOf(words), folds };
}

const table = JSON.parse(readFileSync(tableFile, 'utf8')) as UnicodeTable;

const wordCharacters = new Set(
  table.words.flatMap((range) => {
    const [first = 0, last = 0] = range.split('-').map(code);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  }),
);

const folds = new Map(
  table.folds.map((fold) => {
    const [from = '', to = ''] = fold.split(':');
    return [String.fromCodePoint(code(from)), String.fromCodePoint(...to.split('-').map(code))];
  }),
);

/** Full case folding of a text (no Turkic rules, no normalisation). */
export function foldText(text: string): string {
  return Array.from(text, (character) => folds.get(character) ?? character).join('');
}

/** Whether a character (one code point) is of general category L, N or M. */
export function isWordCharacter(character: string): boolean {
  return wordCharacters.has(character.codePointAt(0) ?? -1);
}
