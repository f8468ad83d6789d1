/**
 * How much of a text a model of word pieces knows, the slow way: words as the uncased BERT models cut them
 * (Devlin et al. 2019), each made of pieces, the longest first. It shares nothing with the service.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../../../models/static-256/vocabulary.txt', import.meta.url));

/** The pieces of the static model that ships. */
const vocabulary: ReadonlySet<string> = new Set(readFileSync(file, 'utf8').trimEnd().split('\n'));

const ideograph = new RegExp(
  '[\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{2a6df}\\u{2a700}-\\u{2b73f}' +
    '\\u{2b740}-\\u{2b81f}\\u{2b920}-\\u{2ceaf}\\u{2f800}-\\u{2fa1f}]',
  'gu',
);

/** Marks and signs that are a word of their own. */
const punctuation = /[\p{P}$+<=>^`|~]/u;

/** The words of a text, punctuation among them. */
function words(text: string): string[] {
  const clean = text
    .replace(/[\t\n\r]/g, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd]/gu, '')
    .replace(ideograph, ' $& ')
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '');
  const small = Array.from(clean, (character) => character.toLowerCase()).join('');
  return small
    .replace(new RegExp(punctuation.source, 'gu'), ' $& ')
    .split(/\p{White_Space}+/u)
    .filter((word) => word !== '');
}

/** Number of a word's pieces; 0: it is not made of pieces. */
function pieces(word: string): number {
  const characters = Array.from(word);
  if (characters.length > 100) return 0;
  let count = 0;
  for (let from = 0; from < characters.length; count += 1) {
    const piece = (end: number): string => (from > 0 ? '##' : '') + characters.slice(from, end).join('');
    let end = characters.length;
    while (end > from && !vocabulary.has(piece(end))) end -= 1;
    if (end === from) return 0;
    from = end;
  }
  return count;
}

/** `blind`: it has words, none of them known; `dim`: it has more unknown words than known pieces. */
export function sightOf(text: string): 'clear' | 'dim' | 'blind' {
  const counts = words(text)
    .filter((word) => !punctuation.test(word))
    .map(pieces);
  const unknown = counts.filter((count) => count === 0).length;
  const known = counts.reduce((sum, count) => sum + count, 0);
  if (unknown > 0 && known === 0) return 'blind';
  return unknown > known ? 'dim' : 'clear';
}
