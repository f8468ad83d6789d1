/**
 * Random requests to POST /v1/fuse and random ways of writing them as JSON (RFC 8259): what a value means must
 * not depend on how it was written.
 */
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

/** Weights that stay apart from 0 or are 0, so that no part drowns in the other's rounding. */
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

/** How a body is written: each chance is a share of the places where the habit could show. */
export interface Style {
  readonly seed: number;
  /** Share of characters written as `\uXXXX`. */
  readonly escaped: number;
  /** Share of places between tokens that hold white space. */
  readonly spaced: number;
  /** Share of objects with a member that no contract knows. */
  readonly extra: number;
  /** Share of members that stand twice, the last of which is meant. */
  readonly repeated: number;
  readonly shuffled: boolean;
}

const share = fc.constantFrom(0, 0, 0.05, 0.5, 1);

export const style: fc.Arbitrary<Style> = fc.record({
  seed: fc.integer({ min: 1, max: 0x7fffffff }),
  escaped: share,
  spaced: share,
  extra: fc.constantFrom(0, 0, 0.3),
  repeated: fc.constantFrom(0, 0, 0.2),
  shuffled: fc.boolean(),
});

/** What stands where only the last member of a name, or no member at all, is read. */
const IGNORED: readonly unknown[] = [
  ...[null, true, false, -0, 1.5e300, '', '\u0000"\\', 'dense_score', '😀'],
  ...[[], {}, [[[]], { a: [1, 'x'] }], { id: 'no', text: 'no', docs: [{ dense_score: 9 }] }],
];

const SHORT_ESCAPES = new Map(
  Array.from('"\\/\b\f\n\r\t', (character, at) => [character, `\\${'"\\/bfnrt'.charAt(at)}`]),
);

/** Writes a value as JSON in a style. Equal arguments give equal bytes. */
export function writeBody(
  value: unknown,
  { seed, escaped, spaced, extra, repeated, shuffled }: Style,
): Buffer {
  let state = seed;
  // Park and Miller's minimal standard generator: enough to vary a body, and the same everywhere.
  const random = (): number => (state = (state * 48271) % 0x7fffffff) / 0x7fffffff;
  const below = (limit: number): number => Math.floor(random() * limit);
  const chance = (of: number): boolean => random() < of;

  function escape(unit: number): string {
    const hex = unit.toString(16).padStart(4, '0');
    return `\\u${chance(0.5) ? hex : hex.toUpperCase()}`;
  }

  function character(one: string): string {
    const units = Array.from({ length: one.length }, (_, at) => one.charCodeAt(at));
    const asEscapes = units.map(escape).join('');
    if (chance(escaped)) return asEscapes;
    const short = SHORT_ESCAPES.get(one);
    if (short !== undefined && (one !== '/' || chance(escaped))) return short;
    return one < ' ' ? asEscapes : one;
  }

  const string = (whole: string): string => `"${Array.from(whole, character).join('')}"`;

  const space = (): string =>
    chance(spaced) ? Array.from({ length: 1 + below(3) }, () => ' \t\n\r'.charAt(below(4))).join('') : '';

  const list = (open: string, items: string[], close: string): string =>
    `${open}${space()}${items.join(`${space()},${space()}`)}${space()}${close}`;

  /** Other spellings of the same binary64. */
  function number(of: number): string {
    const plain = Object.is(of, -0) ? '-0' : JSON.stringify(of);
    const sign = Object.is(of, -0) ? '-' : '';
    const spellings = [plain, `${sign}${of.toExponential()}`, `${sign}${of.toExponential().toUpperCase()}`];
    if (/^-?\d+$/.test(plain)) spellings.push(`${plain}.0`, `${plain}e0`, `${plain}.000E+00`);
    return chance(spaced) ? (spellings[below(spellings.length)] ?? plain) : plain;
  }

  function member([name, inside]: [string, unknown]): string {
    const write = (of: unknown): string => `${string(name)}${space()}:${space()}${any(of)}`;
    if (!chance(repeated)) return write(inside);
    return `${write(IGNORED[below(IGNORED.length)])}${space()},${space()}${write(inside)}`;
  }

  function members(of: object): string[] {
    const entries = Object.entries(of);
    if (shuffled) entries.sort(() => random() - 0.5);
    const written = entries.map(member);
    if (chance(extra)) {
      const name = ['x', '', 'Query', 'dense_scores', '__proto__', '日本', 'id\u0000'][below(7)] ?? '';
      written.splice(below(written.length + 1), 0, `${string(name)}:${any(IGNORED[below(IGNORED.length)])}`);
    }
    return written;
  }

  function any(of: unknown): string {
    if (typeof of === 'string') return string(of);
    if (typeof of === 'number') return number(of);
    if (Array.isArray(of)) return list('[', of.map(any), ']');
    if (typeof of === 'object' && of !== null) return list('{', members(of), '}');
    return JSON.stringify(of);
  }

  return Buffer.from(`${space()}${any(value)}${space()}`, 'utf8');
}
