/**
 * The two tokenizers of POST /v1/fuse over fully case-folded text (Unicode Standard section 3.13): `ws`,
 * maximal runs of letters, numbers and marks; `ngram`, character bigrams inside those runs.
 */
import { fold, isWord } from './unicode.js';

/** A tokenizer's name on the wire. */
export type Tokenizer = 'ws' | 'ngram';

/** The folded characters of each run, run after run. */
function runs(text: string): string[][] {
  const found: string[][] = [];
  let run: string[] = [];
  for (const character of text) {
    if (isWord(character.codePointAt(0) ?? 0)) run.push(...fold(character));
    else if (run.length > 0) {
      found.push(run);
      run = [];
    }
  }
  if (run.length > 0) found.push(run);
  return found;
}

function bigrams(run: readonly string[]): string[] {
  if (run.length === 1) return [...run];
  return run.slice(1).map((character, at) => (run[at] ?? '') + character);
}

/** A text's tokens in order. */
export function tokenize(text: string, tokenizer: Tokenizer): string[] {
  if (tokenizer === 'ws') return runs(text).map((run) => run.join(''));
  return runs(text).flatMap(bigrams);
}
