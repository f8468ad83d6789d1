/** Which characters make a token, and full case folding, read from the generated tables (UAX #44). */
import { foldFrom, foldTo, wordEdges } from './unicodeTables.js';

/** The numbers of a list of base-36 differences. */
function numbers(deltas: string): number[] {
  let last = 0;
  return deltas.split(' ').map((delta) => (last += parseInt(delta, 36)));
}

/** The blocks of Han, kana and Hangul, as native/core/src/unicode.rs lists them. */
const cjk = new RegExp(
  '[\\u1100-\\u11ff\\u2e80-\\u2fdf\\u3005-\\u3007\\u3021-\\u3029\\u3038-\\u303b\\u3040-\\u30ff' +
    '\\u3130-\\u318f\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\ua960-\\ua97f\\uac00-\\ud7ff' +
    '\\uf900-\\ufaff\\uff66-\\uffdc\\u{1aff0}-\\u{1b16f}\\u{20000}-\\u{3ffff}]',
  'u',
);

const edges = numbers(wordEdges);
const folded = foldTo
  .split(' ')
  .map((codes) => String.fromCodePoint(...codes.split('-').map((code) => parseInt(code, 16))));
const folds = new Map(numbers(foldFrom).map((code, at) => [code, folded[at] ?? '']));

/** Whether a code point is of general category L, N or M. */
export function isWord(codePoint: number): boolean {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edges[middle] ?? 0) <= codePoint) low = middle + 1;
    else high = middle;
  }
  return low % 2 === 1;
}

/** What a character that stands in a token folds to: one to three characters. */
export function fold(character: string): string {
  return folds.get(character.codePointAt(0) ?? 0) ?? character;
}

/** Whether a text holds Han, kana or Hangul, which `ws` does not split into words. */
export function hasCjk(text: string): boolean {
  return cjk.test(text);
}
