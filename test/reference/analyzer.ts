/**
 * The obvious reading of a FuseRequest's `analyzer`: tokens to terms one after the other. Stems are looked up
 * among those that the Snowball project publishes; the stop words of English are written out here.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An analyzer of which every word is known here. */
export interface ReferenceAnalyzer {
  readonly stemmer?: string | null | undefined;
  readonly stopwords?: string | readonly string[] | null | undefined;
  readonly fold_accents?: boolean | undefined;
}

interface StemVector {
  readonly language: string;
  readonly word: string;
  readonly stem: string;
}

/** Words with their stems, by language. */
export const stems: readonly StemVector[] = readFileSync(join('test', 'vectors', 'stems.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as StemVector);

const known = new Map(stems.map(({ language, word, stem }) => [`${language} ${word}`, stem]));

/** Lucene's list for English. */
export const englishStopWords =
  'a an and are as at be but by for if in into is it no not of on or such that the their then there these ' +
  'they this to was will with';

/** Letters that have no decomposition. */
const PLAIN: Readonly<Record<string, string>> = {
  ...{ æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', ħ: 'h', ŧ: 't', þ: 'th', ı: 'i' },
};

function folded(token: string): string {
  const marked = token
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize('NFC');
  return Array.from(marked, (letter) => PLAIN[letter] ?? letter).join('');
}

function accented(analyzer: ReferenceAnalyzer, token: string): string {
  return analyzer.fold_accents === true ? folded(token) : token;
}

/** The term that a token stands for; '' for none. @throws Error for a word whose stem is not known */
export function formOf(analyzer: ReferenceAnalyzer, token: string): string {
  const plain = accented(analyzer, token);
  if (analyzer.stemmer == null || /\p{Nd}/u.test(plain) || Buffer.byteLength(plain) > 128) return plain;
  const stem = known.get(`${analyzer.stemmer} ${plain}`);
  if (stem === undefined) throw new Error(`no stem is known of ${plain}`);
  return stem;
}

/** The terms of a query's tokens. */
export function queryTerms(analyzer: ReferenceAnalyzer, tokens: readonly string[]): string[] {
  const { stopwords } = analyzer;
  const given = stopwords === 'english' ? englishStopWords.split(' ') : (stopwords ?? []);
  const words = Array.from(given, (word) => accented(analyzer, word));
  const form = (token: string): string => formOf(analyzer, token);
  const kept = tokens.filter((token) => !words.includes(accented(analyzer, token)));
  const terms = kept.map(form).filter((term) => term !== '');
  return terms.length > 0 ? terms : tokens.map(form).filter((term) => term !== '');
}
