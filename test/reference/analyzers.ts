/**
 * The terms that the default analyzers of search engines make of a text, by their documented rules: the
 * obvious reading, for those that cannot be run beside the tests.
 */

/** Terms of a text, and which of its own a query needs. */
export interface ReferenceAnalyzer {
  readonly terms: (text: string) => string[];
  /** `first`: the engine drops the others, from the end, where too little has all. */
  readonly needs: 'all' | 'first' | 'any';
  /** Terms that queries leave out. */
  readonly ignored?: readonly string[];
}

const split = (text: string, separator: RegExp): string[] =>
  text.split(separator).filter((term) => term !== '');
const withoutMarks = (text: string): string => text.normalize('NFD').replaceAll(/\p{M}/gu, '');
const notAlphanumeric = /[^\p{Alphabetic}\p{N}]+/u;
const words = new Intl.Segmenter('en', { granularity: 'word' });

/** BERT's: controls dropped, accents stripped, lower-cased, cut at white space and punctuation. */
function bert(text: string): string[] {
  const cleaned = text.replaceAll(/\s/g, ' ').replaceAll(/[\p{C}\ufffd]/gu, '');
  const folded = cleaned
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase();
  return split(folded.replaceAll(/\p{Script=Han}/gu, ' $& '), /[\s\p{P}$+<=>^`|~]+/u);
}

/** Charabia's: words of UAX #29, cut at apostrophes and before inner capitals, then decomposed. */
function charabia(text: string): string[] {
  const segments = Array.from(words.segment(text), ({ segment }) => segment);
  const cut = segments.flatMap((segment) => segment.split(/['’_.,:]|(?<=\p{Ll})(?=\p{Lu})/u));
  const folded = cut.map((part) => withoutMarks(part.normalize('NFKD')).toLowerCase());
  return folded.map((part) => part.replaceAll(/[^\p{Alphabetic}\p{N}]/gu, '')).filter((term) => term !== '');
}

const english = (
  'a an and are as at be but by for if in into is it no not of on or such that the their then there these ' +
  'they this to was will with'
).split(' ');

const alphanumeric: ReferenceAnalyzer = {
  terms: (text) => split(text, notAlphanumeric).map((term) => term.toLowerCase()),
  needs: 'all',
};
const vectors: ReferenceAnalyzer = { terms: bert, needs: 'any' };

/** By the names of `GET /v1/audit/stacks`. */
export const referenceAnalyzers: Readonly<Record<string, ReferenceAnalyzer>> = {
  qdrant: alphanumeric,
  // TEXT_MATCH and BM25 both find what has any of the terms.
  milvus: { ...alphanumeric, needs: 'any' },
  weaviate: {
    terms: (text) => split(text, /[^\p{L}\p{N}]+/u).map((term) => term.toLowerCase()),
    needs: 'any',
    ignored: english,
  },
  pgvector: vectors,
  pinecone: vectors,
  algolia: {
    terms: (text) => split(withoutMarks(text.replaceAll(/['’]/g, '')).toLowerCase(), notAlphanumeric),
    needs: 'all',
  },
  typesense: {
    terms: (text) =>
      split(withoutMarks(text.normalize('NFKD')).toLowerCase(), /\s+/)
        .map((term) => term.replaceAll(/[^\p{Alphabetic}\p{N}]/gu, ''))
        .filter((term) => term !== ''),
    needs: 'first',
  },
  meilisearch: { terms: charabia, needs: 'first' },
  vespa: {
    terms: (text) => split(withoutMarks(text.normalize('NFKC')).toLowerCase(), notAlphanumeric),
    needs: 'any',
  },
};
