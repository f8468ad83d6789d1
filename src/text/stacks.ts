/**
 * Defaults of search engines for the issues of an audit. A claim cites a page only if the page states it;
 * `measured here` means that the project's tests run it, on the program or on the tokenizer itself.
 */
import {
  auditIssues,
  type AuditIssueId,
  type AuditStack,
  type AuditStacksResponse,
} from '../contract/audit.js';

/** A claim and its source, if there is one. */
type Claim = readonly [consequence: string, source: string | null];
type Claims = Readonly<Record<AuditIssueId, Claim>>;

/** An engine and what it does. */
interface Engine {
  readonly stack: string;
  readonly name: string;
  readonly analyzer: string;
  readonly claims: Claims;
}

const measured = 'measured here';
const model = 'https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2';
const bertNormalizer = 'https://huggingface.co/docs/tokenizers/api/normalizers';

const tooLong: Claim = [
  'Keyword search reads all of it. An embedding model reads its beginning only: all-MiniLM-L6-v2 ' +
    'stops after 256 word pieces, and what follows has no part in the vector.',
  model,
];

/** Duplicates and empty records, which every engine stores like any other record. */
const copies: Pick<Claims, 'exact_duplicates' | 'normalized_duplicates' | 'empty'> = {
  exact_duplicates: [
    'Stores every copy under its own id and returns each: copies take the places of other records unless ' +
      'the query groups them.',
    null,
  ],
  normalized_duplicates: [
    'Sees different texts, so that grouping by text does not put them together either.',
    null,
  ],
  empty: ['Stores and counts it, but no term leads to it.', null],
};

/**
 * An engine that makes terms of a text's words and lower-cases them, and changes nothing else. `source`:
 * where all of that is documented.
 */
function words(source: string | null): Claims {
  return {
    mojibake: ['Indexes the broken characters: nothing in the analyzer undoes a wrong encoding.', source],
    invisible_characters: [
      'Cuts the word at the character or keeps it inside: neither is the plain word.',
      source,
    ],
    mixed_script_confusables: [
      'Keeps every letter as it is: a Cyrillic а in a Latin word makes another term.',
      source,
    ],
    compatibility_forms: [
      'Lower-cases only: ligatures and fullwidth letters stay characters of their own.',
      source,
    ],
    emoji_and_symbols: ['Drops what is no letter or number: an emoji is found by nothing.', source],
    decomposed_accents: ['Does not compose: e with U+0301 is not the term that é is.', source],
    control_characters: ['Ends the word at the character: both halves are terms, the word is not.', source],
    html_residue: ['Makes terms of tag names and of the letters of character references.', source],
    unsegmented_cjk: ['Makes one term of the whole run: only the same run finds it.', source],
    over_long: tooLong,
    ...copies,
  };
}

/** An engine with Lucene's StandardTokenizer and a lower-case filter (UAX #29). */
function standard(): Claims {
  return {
    ...words(measured),
    invisible_characters: [
      'Keeps format characters such as U+00AD inside the term and ends the word at U+200B: neither is the ' +
        'plain word.',
      measured,
    ],
    emoji_and_symbols: [
      'Makes a term of each emoji and drops most symbols: the words of their names find neither.',
      measured,
    ],
    compatibility_forms: [
      'Lower-cases only: ligatures and fullwidth letters stay characters of their own. Superscripts end ' +
        'the word and are dropped.',
      measured,
    ],
    html_residue: [
      'Makes terms of tag names and references: the character filter that strips HTML is no part of the ' +
        'default analyzer.',
      measured,
    ],
    unsegmented_cjk: [
      'Makes a term of each ideograph: a word is found, and with it every text that has its ' +
        'characters apart.',
      measured,
    ],
  };
}

/** A vector store: the preprocessing of a BERT-like model, such as the one that ships. */
function vectors(): Claims {
  return {
    mojibake: ['The model reads pieces of words that mean nothing: the vector drifts from the text’s.', null],
    invisible_characters: [
      'Models with BERT’s normalizer drop them; others get pieces of a broken word.',
      null,
    ],
    mixed_script_confusables: [
      'The word falls into unknown pieces: its vector is not that of the plain word.',
      null,
    ],
    compatibility_forms: [
      'BERT’s normalizer does not fold them: fullwidth words fall into unknown pieces.',
      null,
    ],
    emoji_and_symbols: ['Emoji that the vocabulary lacks are one and the same unknown piece.', null],
    decomposed_accents: [
      'BERT’s normalizer strips accents, composed or not; models that keep case may not.',
      bertNormalizer,
    ],
    control_characters: ['BERT’s normalizer drops them.', bertNormalizer],
    html_residue: [
      'Tags take word pieces of the 256 and pull the vectors of all such records together.',
      null,
    ],
    unsegmented_cjk: [
      'BERT’s normalizer parts every ideograph: the vector is that of characters, in a model for ' +
        'English of little worth.',
      bertNormalizer,
    ],
    over_long: ['The model stops after 256 word pieces: what follows has no part in the vector.', model],
    ...copies,
  };
}

/** Sentence for engines whose vendor does not document the analyzer. */
const unsaid: Pick<Claims, 'invisible_characters' | 'control_characters'> = {
  invisible_characters: ['The vendor does not say: try one of the examples.', null],
  control_characters: ['The vendor does not say: try one of the examples.', null],
};

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
    claims: standard(),
  },
  {
    stack: 'opensearch',
    name: 'OpenSearch',
    analyzer: 'standard: words by UAX #29, lower-cased.',
    claims: standard(),
  },
  {
    stack: 'solr',
    name: 'Apache Solr',
    analyzer: 'text_general: words by UAX #29, stop words (none by default), lower-cased.',
    claims: standard(),
  },
  {
    stack: 'postgres',
    name: 'PostgreSQL full-text search',
    analyzer: 'the default parser with the configuration simple; those of languages stem as well.',
    claims: {
      ...words(measured),
      html_residue: [
        'Knows tags and entities as types of their own, which the shipped configurations do not index.',
        measured,
      ],
    },
  },
  {
    stack: 'pgvector',
    name: 'pgvector',
    analyzer: 'none: it stores vectors that a model made of the texts.',
    claims: vectors(),
  },
  {
    stack: 'qdrant',
    name: 'Qdrant',
    analyzer: 'word for full-text indexes: split at what is no letter or number, lower-cased, not folded.',
    claims: {
      ...words(null),
      html_residue: ['Splits at punctuation and special characters: tag names are terms.', qdrant],
      unsegmented_cjk: [
        'Makes one term of the whole run: the multilingual tokenizer, which cuts it, has to be chosen.',
        qdrant,
      ],
    },
  },
  {
    stack: 'weaviate',
    name: 'Weaviate',
    analyzer: 'word: split at what is no letter or number, lower-cased, English stop words ignored.',
    claims: {
      ...words(null),
      html_residue: ['Keeps what is alphanumeric: tag names are terms.', weaviate],
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
      ...words(null),
      html_residue: ['Splits at punctuation: tag names are terms.', milvus],
    },
  },
  {
    stack: 'pinecone',
    name: 'Pinecone',
    analyzer: 'none for dense indexes: they hold vectors that a model made of the texts.',
    claims: vectors(),
  },
  {
    stack: 'algolia',
    name: 'Algolia',
    analyzer:
      'normalization that cannot be turned off: lower-cased, diacritics and apostrophes removed, words by ' +
      'separators.',
    claims: {
      ...words(null),
      ...unsaid,
      compatibility_forms: ['The vendor names no compatibility folding: try one of the examples.', null],
      decomposed_accents: ['Removes diacritics on both sides: the plain word finds it.', algolia],
      unsegmented_cjk: ['Cuts words by dictionaries: what they lack is found by its characters.', null],
    },
  },
  {
    stack: 'typesense',
    name: 'Typesense',
    analyzer:
      'the locale en: transliterated to ASCII, special characters removed, lower-cased, cut at spaces.',
    claims: {
      ...words(null),
      ...unsaid,
      compatibility_forms: [
        'Transliterates to ASCII on both sides: the plain word finds ligatures and fullwidth letters.',
        null,
      ],
      html_residue: ['Removes special characters: tag names run into the words beside them.', null],
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
      ...words(null),
      ...unsaid,
      compatibility_forms: [
        'Decomposes ligatures and fullwidth letters on both sides: the plain word finds them. Super- and ' +
          'subscripts end the word before that.',
        charabia,
      ],
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
    analyzer: 'OpenNLP linguistics: NFKC, accents dropped, tokens and stems by detected language.',
    claims: {
      ...words(null),
      ...unsaid,
      compatibility_forms: ['Normalizes with NFKC on both sides: the plain word finds them.', null],
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
    claims: {
      ...words(measured),
      compatibility_forms: [
        'Folds case alone, which opens ligatures: fullwidth letters and superscripts stay characters of ' +
          'their own.',
        measured,
      ],
    },
  },
];

/** Engines that match vectors, not words. */
export const vectorStacks: ReadonlySet<string> = new Set(['pgvector', 'pinecone']);

/** Engines that also match prefixes of words, or words one or two letters away. */
export const tolerantStacks: ReadonlySet<string> = new Set(['algolia', 'typesense', 'meilisearch']);

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

/** The lines of business, and the issues to check first in the texts of each. */
export const verticals: ReadonlyMap<string, readonly AuditIssueId[]> = new Map([
  ['retail', ['compatibility_forms', 'decomposed_accents', 'mojibake']],
  ['marketplace', ['html_residue', 'emoji_and_symbols', 'mixed_script_confusables', 'exact_duplicates']],
  ['travel', ['mojibake', 'decomposed_accents']],
  ['media', ['mojibake', 'mixed_script_confusables', 'html_residue']],
  ['healthcare', ['compatibility_forms', 'mojibake']],
  ['legal', ['compatibility_forms', 'invisible_characters', 'over_long']],
  ['finance', ['emoji_and_symbols', 'compatibility_forms']],
  ['education', ['compatibility_forms', 'decomposed_accents']],
  ['public_sector', ['mojibake', 'decomposed_accents', 'control_characters']],
  ['software', ['html_residue', 'control_characters', 'emoji_and_symbols']],
  ['manufacturing', ['invisible_characters', 'compatibility_forms', 'normalized_duplicates']],
  ['custom', []],
]);

/** The answer of GET /v1/audit/stacks. */
export const auditStacksResponse: AuditStacksResponse = {
  stacks: [...stacks],
  verticals: [...verticals.keys()],
};
