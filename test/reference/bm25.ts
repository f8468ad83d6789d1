/** The obvious BM25 (Lucene's idf) of terms over docs, by their own statistics or those of a collection. */
import { logarithm } from './logarithm.js';

/** Statistics of a collection. */
export interface ReferenceCorpus {
  readonly docs: number;
  readonly average_length: number;
  readonly df: Readonly<Record<string, number>>;
}

/** How often tokens are a term. */
function occurrences(term: string, tokens: readonly string[]): number {
  return tokens.filter((token) => token === term).length;
}

/** The statistics of these documents alone. */
function ownStatistics(terms: readonly string[], docs: readonly string[][]): ReferenceCorpus {
  const holding = (term: string): number => docs.filter((tokens) => tokens.includes(term)).length;
  return {
    docs: docs.length,
    average_length: docs.reduce((sum, tokens) => sum + tokens.length, 0) / docs.length,
    df: Object.fromEntries(terms.map((term) => [term, holding(term)])),
  };
}

/** What each of the query's terms brings to every document. */
export function termParts(
  query: readonly string[],
  docs: readonly string[][],
  { k1, b, corpus }: { k1: number; b: number; corpus?: ReferenceCorpus | undefined },
) {
  const statistics = corpus ?? ownStatistics(query, docs);
  const averageLength = statistics.average_length;
  const terms = Array.from(new Set(query), (term) => {
    const df = Object.hasOwn(statistics.df, term) ? (statistics.df[term] ?? 0) : 0;
    const idf = logarithm(1 + (statistics.docs - df + 0.5) / (df + 0.5));
    return { term, df, idf, weight: occurrences(term, query) * idf };
  });
  return docs.map((tokens) =>
    terms.flatMap(({ term, df, idf, weight }) => {
      const tf = occurrences(term, tokens);
      const tfPart = tf / (tf + k1 * (1 - b + (b * tokens.length) / averageLength));
      return tf === 0 ? [] : [{ term, tf, df, idf, part: weight * tfPart }];
    }),
  );
}

/** BM25 score of every document against the query, over these documents alone. */
export function bm25(query: readonly string[], docs: readonly string[][], k1: number, b: number): number[] {
  return termParts(query, docs, { k1, b }).map((terms) => terms.reduce((sum, { part }) => sum + part, 0));
}
