/**
 * What search engines do by default to the issues of an audit, each claim with where it is documented: the
 * vendors' own pages, the Unicode annexes they follow, and the card of the model that ships.
 */
import {
  auditIssues,
  type AuditIssueId,
  type AuditStack,
  type AuditStacksResponse,
} from '../contract/audit.js';

/** A claim and its source. */
type Claim = readonly [consequence: string, source: string];
type Claims = Readonly<Record<AuditIssueId, Claim>>;

/** What a family of engines does; `page` is where the engine says what its analyzer is made of. */
interface Engine {
  readonly stack: string;
  readonly name: string;
  readonly analyzer: string;
  readonly claims: Claims;
}

const wordBoundaries = 'https://www.unicode.org/reports/tr29/#Default_Word_Boundaries';
const categories = 'https://www.unicode.org/reports/tr44/#General_Category_Values';
const lucene =
  'https://lucene.apache.org/core/9_11_0/core/org/apache/lucene/analysis/standard/StandardTokenizer.html';
const model = 'https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2';
const bertNormalizer = 'https://huggingface.co/docs/tokenizers/api/normalizers';

const tooLong: Claim = [
  'Keyword search reads all of it. An embedding model reads its beginning only: all-MiniLM-L6-v2 ' +
    'stops after ' +
    '256 word pieces, and what follows has no part in the vector.',
  model,
];

const copies = (page: string): Pick<Claims, 'exact_duplicates' | 'normalized_duplicates' | 'empty'> => ({
  exact_duplicates: [
    'Stores every copy under its own id and returns each: copies take the places of other records unless ' +
      'the query groups them.',
    page,
  ],
  normalized_duplicates: [
    'Sees different texts, so that grouping by text does not put them together either.',
    page,
  ],
  empty: ['Stores and counts it, but no term leads to it.', page],
});

/** An engine that makes terms of a text's words and lower-cases them, and does nothing else to a letter. */
function words(page: string, grouping: string): Claims {
  return {
    mojibake: ['Indexes the broken characters: nothing in the analyzer undoes a wrong encoding.', page],
    invisible_characters: [
      'Cuts the word at the character or keeps it inside: neither is the plain word.',
      page,
    ],
    mixed_script_confusables: [
      'Keeps every letter as it is: a Cyrillic а in a Latin word makes another term.',
      page,
    ],
    compatibility_forms: [
      'Lower-cases only: fullwidth letters and superscripts stay characters of their own.',
      page,
    ],
    emoji_and_symbols: ['Drops what is no letter or number: an emoji is found by nothing.', page],
    decomposed_accents: ['Does not compose: e with U+0301 is not the term that é is.', page],
    control_characters: ['Ends the word at the character: both halves are terms, the word is not.', page],
    html_residue: ['Makes terms of tag names and of the letters of character references.', page],
    unsegmented_cjk: ['Makes one term of the whole run: only the same run finds it.', page],
    over_long: tooLong,
    ...copies(grouping),
  };
}

/** An engine on Lucene's StandardTokenizer and a lower-case filter (UAX #29). */
function standard(page: string, grouping: string, html: string): Claims {
  return {
    ...words(page, grouping),
    invisible_characters: [
      'Keeps format characters such as U+00AD inside the term and ends the word at U+200B: neither is the ' +
        'plain word.',
      wordBoundaries,
    ],
    emoji_and_symbols: [
      'Makes a term of each emoji and drops most symbols: the words of their names find neither.',
      lucene,
    ],
    html_residue: [
      'Makes terms of tag names and references: the character filter that strips HTML is there, but ' +
        'not in ' +
        'the default analyzer.',
      html,
    ],
    unsegmented_cjk: [
      'Makes a term of each ideograph: a word is found, and with it every text that has its ' +
        'characters apart.',
      lucene,
    ],
  };
}

/** A store of vectors: what a model of BERT's kind, such as the one that ships, does to the text before. */
function vectors(page: string): Claims {
  return {
    mojibake: [
      'The model reads pieces of words that mean nothing: the vector drifts from the text’s.',
      model,
    ],
    invisible_characters: [
      'Models with BERT’s normalizer drop them; others get pieces of a broken word.',
      bertNormalizer,
    ],
    mixed_script_confusables: [
      'The word falls into unknown pieces: its vector is not that of the plain word.',
      model,
    ],
    compatibility_forms: [
      'BERT’s normalizer does not fold them: fullwidth words fall into unknown pieces.',
      bertNormalizer,
    ],
    emoji_and_symbols: ['Emoji that the vocabulary lacks are one and the same unknown piece.', model],
    decomposed_accents: [
      'BERT’s normalizer strips accents, composed or not; models that keep case may not.',
      bertNormalizer,
    ],
    control_characters: ['BERT’s normalizer drops them.', bertNormalizer],
    html_residue: [
      'Tags take word pieces of the 256 and pull the vectors of all such records together.',
      model,
    ],
    unsegmented_cjk: [
      'BERT’s normalizer parts every ideograph: the vector is that of characters, in a model for ' +
        'English of ' +
        'little worth.',
      bertNormalizer,
    ],
    over_long: ['The model stops after 256 word pieces: what follows has no part in the vector.', model],
    ...copies(page),
  };
}

const elastic = 'https://www.elastic.co/guide/en/elasticsearch/reference/current';
const opensearch = 'https://docs.opensearch.org/latest';
const solr = 'https://solr.apache.org/guide/solr/latest';
const postgresParsers = 'https://www.postgresql.org/docs/current/textsearch-parsers.html';
const qdrant = 'https://qdrant.tech/documentation/concepts/indexing/';
const weaviate = 'https://docs.weaviate.io/weaviate/tutorials/tokenization';
const milvus = 'https://milvus.io/docs/standard-analyzer.md';
const algolia =
  'https://www.algolia.com/doc/guides/managing-results/optimize-search-results/' +
  'handling-natural-languages-nlp/in-depth/normalization/';
const typesense = 'https://typesense.org/docs/guide/locale.html';
const charabia = 'https://github.com/meilisearch/charabia';
const vespa = 'https://docs.vespa.ai/en/linguistics/linguistics-opennlp.html';

const engines: readonly Engine[] = [
  {
    stack: 'elasticsearch',
    name: 'Elasticsearch',
    analyzer: 'standard: words by UAX #29, lower-cased.',
    claims: standard(
      `${elastic}/analysis-standard-analyzer.html`,
      `${elastic}/collapse-search-results.html`,
      `${elastic}/analysis-htmlstrip-charfilter.html`,
    ),
  },
  {
    stack: 'opensearch',
    name: 'OpenSearch',
    analyzer: 'standard: words by UAX #29, lower-cased.',
    claims: standard(
      `${opensearch}/analyzers/supported-analyzers/standard/`,
      `${opensearch}/search-plugins/searching-data/collapse-search/`,
      `${opensearch}/analyzers/character-filters/html-character-filter/`,
    ),
  },
  {
    stack: 'solr',
    name: 'Apache Solr',
    analyzer: 'text_general: words by UAX #29, stop words (none by default), lower-cased.',
    claims: standard(
      `${solr}/indexing-guide/tokenizers.html`,
      `${solr}/query-guide/collapse-and-expand-results.html`,
      `${solr}/indexing-guide/charfilterfactories.html`,
    ),
  },
  {
    stack: 'postgres',
    name: 'PostgreSQL full-text search',
    analyzer: 'the default parser and the configuration of the database’s language.',
    claims: {
      ...words(postgresParsers, 'https://www.postgresql.org/docs/current/textsearch-controls.html'),
      html_residue: [
        'Knows tags and entities as types of their own, which the shipped configurations do not index.',
        postgresParsers,
      ],
    },
  },
  {
    stack: 'pgvector',
    name: 'pgvector',
    analyzer: 'none: it stores vectors that a model made of the texts.',
    claims: vectors('https://github.com/pgvector/pgvector'),
  },
  {
    stack: 'qdrant',
    name: 'Qdrant',
    analyzer: 'word for full-text indexes: split at what is no letter or number, lower-cased, not folded.',
    claims: {
      ...words(qdrant, 'https://qdrant.tech/documentation/concepts/hybrid-queries/'),
      unsegmented_cjk: [
        'Makes one term of the whole run: the multilingual tokenizer, which cuts it, has to be chosen.',
        qdrant,
      ],
    },
  },
  {
    stack: 'weaviate',
    name: 'Weaviate',
    analyzer: 'word: split at what is no letter or number, lower-cased.',
    claims: {
      ...words(weaviate, 'https://docs.weaviate.io/weaviate/api/graphql/additional-operators'),
      unsegmented_cjk: [
        'Makes one term of the whole run: gse, trigram or kagome tokenization has to be chosen.',
        weaviate,
      ],
    },
  },
  {
    stack: 'milvus',
    name: 'Milvus',
    analyzer: 'standard: split at spaces and punctuation, lower-cased.',
    claims: {
      ...words(milvus, 'https://milvus.io/docs/grouping-search.md'),
      unsegmented_cjk: [
        'Is not made for it: the vendor names analyzers with dictionaries for Chinese, Japanese and Korean.',
        milvus,
      ],
    },
  },
  {
    stack: 'pinecone',
    name: 'Pinecone',
    analyzer: 'none for dense indexes: they hold vectors that a model made of the texts.',
    claims: vectors('https://docs.pinecone.io/guides/index-data/indexing-overview'),
  },
  {
    stack: 'algolia',
    name: 'Algolia',
    analyzer:
      'normalization that cannot be turned off: lower-cased, diacritics removed, words by separators.',
    claims: {
      ...words(algolia, 'https://www.algolia.com/doc/api-reference/api-parameters/distinct/'),
      compatibility_forms: ['The vendor names no compatibility folding: try one of the examples.', algolia],
      decomposed_accents: ['Removes diacritics on both sides: the plain word finds it.', algolia],
      unsegmented_cjk: ['Cuts words by dictionaries: what they lack is found by its characters.', algolia],
    },
  },
  {
    stack: 'typesense',
    name: 'Typesense',
    analyzer: 'the locale en: special characters and European diacritics removed, lower-cased.',
    claims: {
      ...words(typesense, 'https://typesense.org/docs/latest/api/search.html'),
      compatibility_forms: ['The vendor names no compatibility folding: try one of the examples.', typesense],
      decomposed_accents: [
        'Removes European diacritics in the default locale; with another locale they are kept.',
        typesense,
      ],
      unsegmented_cjk: ['Needs the field’s locale: without it the run is not cut into words.', typesense],
    },
  },
  {
    stack: 'meilisearch',
    name: 'Meilisearch',
    analyzer:
      'charabia: words by script and language, compatibility decomposition, lower-cased, marks removed.',
    claims: {
      ...words(charabia, 'https://www.meilisearch.com/docs/learn/relevancy/distinct_attribute'),
      compatibility_forms: ['Decomposes them on both sides: the plain word finds them.', charabia],
      decomposed_accents: [
        'Removes the marks of Latin letters on both sides: the plain word finds it.',
        charabia,
      ],
      unsegmented_cjk: ['Cuts Chinese with jieba and Japanese with lindera: words are found.', charabia],
    },
  },
  {
    stack: 'vespa',
    name: 'Vespa',
    analyzer: 'OpenNLP linguistics: tokens and stems by detected language, English where it is not known.',
    claims: {
      ...words(vespa, 'https://docs.vespa.ai/en/grouping.html'),
      decomposed_accents: [
        'Normalizes accents in text indexes by default: the plain word finds it.',
        'https://docs.vespa.ai/en/linguistics/linguistics.html',
      ],
      unsegmented_cjk: [
        'OpenNLP’s list of languages has none of Chinese, Japanese and Korean: they are read as English.',
        vespa,
      ],
    },
  },
  {
    stack: 'custom',
    name: 'Another engine, words by Unicode categories',
    analyzer: 'the tokenizer ws of POST /v1/fuse: runs of letters, numbers and marks, case-folded.',
    claims: words(categories, categories),
  },
];

/** The search engines, for GET /v1/audit/stacks. */
export const stacks: readonly AuditStack[] = engines.map(({ stack, name, analyzer, claims }) => ({
  stack,
  name,
  analyzer,
  consequences: auditIssues.map((issue) => {
    const [consequence, source] = claims[issue];
    return { issue, consequence, source };
  }),
}));

/** The lines of business, and what to look at first in each. */
export const verticals: ReadonlyMap<string, string> = new Map([
  ['retail', 'sizes, fractions and units in titles (½, ″, m²), and brand names with accents'],
  ['marketplace', 'what sellers paste: HTML, emoji, letters that only look Latin'],
  ['travel', 'names of places with accents, and texts that came through several encodings'],
  ['media', 'titles in more than one script, and typographic characters of the newsroom'],
  ['healthcare', 'units, superscripts and Greek letters in dosages and findings'],
  ['legal', 'section signs, footnote numbers, and hyphenation that was pasted with the text'],
  ['finance', 'currency signs, fractions and fullwidth figures of Asian markets'],
  ['education', 'formulas, superscripts and accents that were typed as separate marks'],
  ['public_sector', 'names with accents, and texts scanned or converted from old systems'],
  ['software', 'HTML and escape sequences in tickets, and emoji in messages'],
  ['manufacturing', 'part numbers with typographic dashes and invisible characters, units'],
  ['custom', 'the issues with the largest shares above'],
]);

/** The answer of GET /v1/audit/stacks: what this installation knows. */
export const auditStacksResponse: AuditStacksResponse = {
  stacks: [...stacks],
  verticals: [...verticals.keys()],
};
