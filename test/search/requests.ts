/** Random valid requests to POST /v1/fuse (contract, FuseRequest) with a dense score for every document. */
import fc from 'fast-check';
import type { ReferenceRequest } from '../reference/fuse.js';

/** Words of which texts share many, so that terms match: plain, folding, astral, marked, split by none. */
const WORDS = [
  ...['fox', 'Fox', 'FOX', 'red', 'a', 'I', 'x2', '2024', "don't", 'co-op', 'foo_bar', 'one.two@three'],
  ...[
    'Straße',
    'STRASSE',
    'ŉ',
    'ʼn',
    'İ',
    'i̇',
    'ᾳ',
    'ΑΙ',
    'ﬁne',
    'FINE',
    'ΣΊΣΥΦΟΣ',
    'σίσυφος',
    'ΐ',
    'K',
    'ſ',
  ],
  ...['Ꭰ', 'ꭰ', '𐐀𐐨', '𞤀', '𝔘nicode', '𠀋𠮷', 'Ⅷ', 'ⅷ', '½', 'x²', '１２３', '٣'],
  ...['日本語', '日本', 'カタカナ', 'ひらがな', '한국어', '한국', 'नमस्ते', 'ก็', 'عَرَبي', 'é', 'é', '\u0301'],
  ...['😀', '👩‍👩‍👧', '🇩🇪', '\u200d', '\u00ad', '\u0000', '\u2028', '"', '\\', '/', '\t', '\u007f', '\uffff'],
];

const separator = fc.constantFrom(' ', ' ', ' ', '', '-', ', ', '\n', '\u3000', '\u00a0', '。', '_');

/** A text of words of the list, now and then of any code points (no lone surrogates). */
const text = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(fc.tuple(fc.constantFrom(...WORDS), separator), { maxLength: 24 })
      .map((pairs) => pairs.flat().join('')),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 80 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 200 }) },
);

const id = fc.oneof(fc.constantFrom('a', 'b', '', '😀', '"\\'), fc.string({ unit: 'binary', maxLength: 12 }));

/** Dense scores: cosines, equal ones, zeros of both signs, whole, huge, tiny and any finite binary64. */
const denseScore = fc.oneof(
  fc.double({ min: -1, max: 1, noNaN: true }),
  fc.constantFrom(
    0,
    -0,
    1,
    -1,
    0.5,
    5e-324,
    -2.2250738585072014e-308,
    1.7976931348623157e308,
    1e21,
    1e-7,
    123456789,
  ),
  fc.integer({ min: -1000, max: 1000 }).map((whole) => whole / 1000),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

/** Weights over the whole range, so that normalising them could overflow or vanish. */
const weight = fc.oneof(
  fc.constantFrom(0, 1, 2, 0.3, 1e308, 5e-324, 1e-300),
  fc.double({ min: 0, max: 10, noNaN: true }),
);

/** A valid request whose documents all have a dense score, with any of the optional members. */
export const fuseRequest: fc.Arbitrary<ReferenceRequest> = fc.record(
  {
    query: text,
    docs: fc.array(fc.record({ id, text, dense_score: denseScore }, { noNullPrototype: true }), {
      minLength: 1,
      maxLength: 12,
    }),
    method: fc.constantFrom('maxnorm', 'rrf'),
    tokenizer: fc.constantFrom('ws', 'ngram'),
    top_k: fc.option(fc.integer({ min: 1, max: 15 })),
    weights: fc
      .record({ bm25: weight, dense: weight }, { noNullPrototype: true })
      .filter(({ bm25, dense }) => bm25 > 0 || dense > 0),
    rrf_k: fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.double({ min: 1, max: 1e6, noNaN: true })),
    k1: fc.oneof(fc.constantFrom(0, 1.2, 1e100), fc.double({ min: 0, max: 10, noNaN: true })),
    b: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
    return_text: fc.boolean(),
    explain: fc.boolean(),
  },
  { requiredKeys: ['query', 'docs'], noNullPrototype: true },
);
