/** How POST /v1/fuse turns texts into terms: languages with Snowball stemmers, and their stop words. */
import { type ValidationError, valueError } from './schema/validation.js';

/** Languages that have a stemmer. */
export const stemmers = [
  ...(['arabic', 'armenian', 'basque', 'catalan', 'czech', 'danish', 'dutch', 'english'] as const),
  ...(['esperanto', 'estonian', 'finnish', 'french', 'german', 'greek', 'hindi', 'hungarian'] as const),
  ...(['indonesian', 'irish', 'italian', 'lithuanian', 'nepali', 'norwegian', 'persian', 'polish'] as const),
  ...(['portuguese', 'romanian', 'russian', 'serbian', 'sesotho', 'spanish', 'swedish', 'tamil'] as const),
  ...(['turkish', 'ukrainian', 'yiddish'] as const),
] as const;

/** Languages that have a list of stop words. */
const stopLists = [
  ...(['danish', 'dutch', 'english', 'finnish', 'french', 'german', 'hungarian', 'italian'] as const),
  ...(['norwegian', 'portuguese', 'russian', 'spanish', 'swedish'] as const),
] as const;

/** Settings of an analyzer, one by one; a step whose setting is absent is skipped. */
export interface FuseAnalyzer {
  /**
   * Language whose Snowball stemmer removes the endings of words. Tokens that contain a digit are not
   * stemmed.
   */
  stemmer?: (typeof stemmers)[number] | null;
  /**
   * Words removed from the query, unless no other word would remain: a language's list (danish, dutch,
   * english, finnish, french, german, hungarian, italian, norwegian, portuguese, russian, spanish, swedish),
   * or the words themselves.
   */
  stopwords?: string | string[] | null;
  /** True: `é` counts as `e`, `ø` as `o`, `æ` as `ae`. */
  fold_accents?: boolean;
  /** True: query and texts are repaired first, as POST /v1/normalize does with `mode: "repair"`. */
  normalize?: boolean;
}

function oneOf(loc: readonly string[], value: string, allowed: readonly string[]): ValidationError[] {
  if (allowed.includes(value)) return [];
  return [valueError(['body', ...loc], `not one of ${allowed.join(', ')}`, value)];
}

/** True if an analyzer changes nothing. */
function isPlain(analyzer: string | FuseAnalyzer): boolean {
  if (typeof analyzer === 'string') return analyzer === 'plain';
  const { stemmer, stopwords, fold_accents: folds = false, normalize = false } = analyzer;
  const stops = stopwords != null && (typeof stopwords === 'string' || stopwords.some((word) => word !== ''));
  return stemmer == null && !stops && !folds && !normalize;
}

/** Errors of an analyzer that fits its schema. */
export function analyzerFaults(
  analyzer: string | FuseAnalyzer | undefined,
  tokenizer: string | undefined,
): ValidationError[] {
  if (analyzer === undefined) return [];
  const place = ['analyzer'];
  const named = typeof analyzer === 'string' ? oneOf(place, analyzer, ['plain', ...stemmers]) : [];
  const stops = typeof analyzer === 'string' ? null : analyzer.stopwords;
  const listed = typeof stops === 'string' ? oneOf([...place, 'stopwords'], stops, stopLists) : [];
  const words = 'an analyzer other than plain needs the tokenizer ws';
  const cut =
    tokenizer !== undefined && tokenizer !== 'ws' && !isPlain(analyzer)
      ? [valueError(['body', 'analyzer'], words, undefined)]
      : [];
  return [...named, ...listed, ...cut];
}
