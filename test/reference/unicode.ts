/** Unicode 17.0 for the oracle: full case folding (CaseFolding.txt, C + F) and general categories L, N, M. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { fold, isWord } from '../../src/search/unicode.js';

const VERSION = '17.0';

/** Folder of the Unicode Character Database, which lies beside the project and not in it. */
const database = new URL(`../../../../shared/data/unicode/${VERSION}/`, import.meta.url);

/** A database file's lines without comments, fields trimmed; `undefined` where the file is absent. */
function databaseRows(name: string): string[][] | undefined {
  const path = fileURLToPath(new URL(`${name}.txt.gz`, database));
  if (!existsSync(path)) return undefined;
  return gunzipSync(new Uint8Array(readFileSync(path)))
    .toString('utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '')
    .map((line) => line.split(';').map((field) => field.trim()));
}

function codePoints(field: string): number[] {
  return field.split(' ').map((hex) => Number.parseInt(hex, 16));
}

/** Folds of the characters that change, by character. */
function foldsOf(rows: string[][]): Map<string, string> {
  const folds = new Map<string, string>();
  for (const [source = '', status = '', target = ''] of rows) {
    if (status !== 'C' && status !== 'F') continue;
    folds.set(String.fromCodePoint(...codePoints(source)), String.fromCodePoint(...codePoints(target)));
  }
  return folds;
}

/** Code points of general category L, N or M by the database's ranges. */
function wordCharactersOf(rows: string[][]): Set<number> {
  const found = new Set<number>();
  for (const [range = '', category = ''] of rows) {
    if (!/^[LNM]/.test(category)) continue;
    const [first = '', last = first] = range.split('..');
    for (let point = Number.parseInt(first, 16); point <= Number.parseInt(last, 16); point++)
      found.add(point);
  }
  return found;
}

/** Says that the oracle leans on the table that it is there to check. */
function lean(file: string): void {
  console.log(
    `No ${file}.txt of Unicode ${VERSION} beside the project: the oracle takes the service's own table.`,
  );
}

function foldByService(text: string): string {
  return Array.from(text, (character) => fold(character)).join('');
}

function isWordByService(character: string): boolean {
  return isWord(character.codePointAt(0) ?? -1);
}

/** Full case folding of a text (no Turkic rules, no normalisation). */
export const foldText: (text: string) => string = (() => {
  const rows = databaseRows('CaseFolding');
  if (rows === undefined) {
    lean('CaseFolding');
    return foldByService;
  }
  const folds = foldsOf(rows);
  return (text: string) => Array.from(text, (character) => folds.get(character) ?? character).join('');
})();

/** Whether a character (one code point) is of general category L, N or M. */
export const isWordCharacter: (character: string) => boolean = (() => {
  if (process.versions.unicode === VERSION)
    return (character: string) => /^[\p{L}\p{N}\p{M}]$/u.test(character);
  const rows = databaseRows('DerivedGeneralCategory');
  if (rows === undefined) {
    lean('DerivedGeneralCategory');
    return isWordByService;
  }
  const found = wordCharactersOf(rows);
  return (character: string) => found.has(character.codePointAt(0) ?? -1);
})();
