/** Statistics of texts by a naive count, as the oracle of requests takes them. */
import { formOf, type ReferenceAnalyzer } from '../reference/analyzer.js';
import type { ReferenceCorpus } from '../reference/bm25.js';
import { tokenize } from '../reference/fuse.js';

/** Settings that make terms of texts. */
export interface Way {
  readonly analyzer: 'plain' | 'english';
  readonly tokenizer: 'ws' | 'ngram';
}

/** The analyzers as the oracle knows them. */
export const settings: Readonly<Record<Way['analyzer'], ReferenceAnalyzer>> = {
  plain: {},
  english: { stemmer: 'english', stopwords: 'english' },
};

/** Counts texts. */
export function counted(texts: readonly string[], { analyzer, tokenizer }: Way): ReferenceCorpus {
  const tokens = texts.map((text) => tokenize(text, tokenizer));
  const forms = tokens.map((each) => each.map((token) => formOf(settings[analyzer], token)));
  const terms = new Set(forms.flat().filter((term) => term !== ''));
  return {
    docs: texts.length,
    average_length: tokens.flat().length / texts.length,
    df: Object.fromEntries(
      Array.from(terms, (term) => [term, forms.filter((each) => each.includes(term)).length]),
    ),
  };
}
